#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds examples/firmware as its README says, with an installed fovea, and runs it in the emulator:
# check_firmware.sh <source> <work> <toolchain>...
# A toolchain is the name of a file in toolchains/, without .cmake.
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
. "$source/toolchains/commands.sh"
log=$work/log

for name in "$@"; do
  toolchain=$source/toolchains/$name.cmake
  rm -rf "${work:?}/$name"
  quietly cmake -S "$source" -B "$work/$name/fovea" --toolchain "$toolchain" -DCMAKE_BUILD_TYPE=MinSizeRel \
    -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_BENCH=OFF -DFOVEA_LEAN= --install-prefix "$work/$name/installed"
  quietly cmake --build "$work/$name/fovea" --parallel "$(nproc)" --target install
  quietly cmake -S "$source/examples/firmware" -B "$work/$name/firmware" --toolchain "$toolchain" \
    -DCMAKE_PREFIX_PATH="$work/$name/installed"
  quietly cmake --build "$work/$name/firmware"
  echo "== $name"
  # Time counts instructions, so it is the same in each run.
  FOVEA_QEMU_ARGS="-icount shift=0" cmake --build "$work/$name/firmware" --target run
done
