#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds fuzzers by tests/fuzz/oss-fuzz/build.sh, as OSS-Fuzz does but with this machine's clang 19, and runs each for some seconds
# on its corpus: check_oss_fuzz.sh <source> <work> [fuzzer]...    without names: all, which takes long
set -eu
source=$(cd "$1" && pwd) work=$2
shift 2
mkdir -p "$work/out" "$work/work"
flags="-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address -fsanitize=fuzzer-no-link"
FOVEA_SOURCE=$source SRC=$(dirname "$source") OUT=$work/out WORK=$work/work CC=clang-19 CXX=clang++-19 CFLAGS=$flags CXXFLAGS=$flags \
  LIB_FUZZING_ENGINE=-fsanitize=fuzzer FOVEA_FUZZERS="$*" "$source/tests/fuzz/oss-fuzz/build.sh"
for fuzzer in "$work"/out/*_fuzz; do
  name=$(basename "$fuzzer")
  [ -s "$work/out/${name}_seed_corpus.zip" ] && [ -s "$work/out/$name.options" ]
  mkdir -p "$work/corpus/$name"
  python3 -m zipfile -e "$work/out/${name}_seed_corpus.zip" "$work/corpus/$name"
  "$fuzzer" -max_total_time=5 -max_len=512 "$work/corpus/$name" >"$work/$name.log" 2>&1 ||
    { tail -n 20 "$work/$name.log"; exit 1; }
  echo "$name: $(grep -c . "$work/$name.log") lines, $(find "$work/corpus/$name" -type f | wc -l) inputs"
done
