#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A build whose compiler flags give a lesser target than its toolchain file names must not compile:
# check_expected_target.sh <C++ compiler> <source> <include folder of the SIMD libraries> <backend>...
# An x86-64 compiler is set to one processor and told to expect another's target.
set -eu
compiler=$1 source=$2 include=$3
shift 3
failures=0
cases=0

# try <backend> <expected target> <compiler flags> <compiles|refuses>
try() {
  verdict=compiles
  backend=$(echo "$1" | tr '[:lower:]' '[:upper:]')
  # shellcheck disable=SC2086  # flags, one word each
  text=$("$compiler" -std=gnu++17 -fsyntax-only -Wno-psabi -DFOVEA_WITH_"$backend"=1 -DFOVEA_EXPECT_TARGET_"$2"=1 \
    -DHWY_COMPILE_ONLY_STATIC $3 -I"$source/lib/src" -I"$source/lib/include" -isystem "$include" "$source/lib/src/core/softmax/kernels.cc" 2>&1) ||
    case $text in
      *error:*"toolchain file"* | *error:*"compile with"*) verdict=refuses ;;
      *) verdict="fails in another way: $(echo "$text" | grep -m 1 'error')" ;;
    esac
  cases=$((cases + 1))
  [ "$verdict" = "$4" ] || { echo "$1 with $3, expecting $2: should say $4, but $verdict"; failures=$((failures + 1)); }
}

for backend in "$@"; do
  try "$backend" SSE4 "-march=nehalem" compiles
  try "$backend" AVX2 "-march=haswell" compiles
  try "$backend" AVX512 "-march=skylake-avx512" compiles
  try "$backend" SSE4 "-march=core2" refuses
  try "$backend" AVX2 "-march=nehalem" refuses
  try "$backend" AVX2 "-mavx2" refuses
  try "$backend" AVX512 "-march=haswell" refuses
done
echo "$cases cases, $failures failures"
[ $failures = 0 ]
