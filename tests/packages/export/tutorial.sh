#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The commands of examples/export/README.md, in the folder of the tree. tests/scripts/check_pages.py compares them with the page.
set -euo pipefail
cd "$(dirname "$0")/../../.."
export CTEST_OUTPUT_ON_FAILURE=1

python3 -m venv build/export
build/export/bin/pip install '.[export]'
build/export/bin/python examples/export/keywords.py
build/export/bin/python -m fovea.export examples.export.keywords:model --calibrate build/frames.npz --arithmetic integer --name keywords --out build/keywords
cmake -S build/keywords -B build/keywords_host -DFOVEA_SOURCE=$PWD
cmake --build build/keywords_host --parallel
ctest --test-dir build/keywords_host -R keywords_test -V
cmake -S build/keywords -B build/keywords_m4f -DFOVEA_SOURCE=$PWD -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_TOOLCHAIN_FILE=$PWD/toolchains/arm-none-eabi-cortex-m4f.cmake
cmake --build build/keywords_m4f --parallel
ctest --test-dir build/keywords_m4f -R keywords_test -V

build/export/bin/python -m fovea.export examples.export.vit:model --inputs 1x3x32x32 --name vit --out build/vit
cmake -S build/vit -B build/vit_m4f -DFOVEA_SOURCE=$PWD -DCMAKE_BUILD_TYPE=MinSizeRel -DCMAKE_TOOLCHAIN_FILE=$PWD/toolchains/arm-none-eabi-cortex-m4f.cmake
cmake --build build/vit_m4f --parallel
ctest --test-dir build/vit_m4f -R vit_test -V
