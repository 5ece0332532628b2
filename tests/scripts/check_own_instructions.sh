#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks FOVEA_DOT_HEADER and FOVEA_SIMD_HEADER: check_own_instructions.sh <source> <work> [whole]
# Files in which something is missing or wrong are refused with an error that says what. With "whole" the library as one file is
# compiled with the files of examples/own_instructions, and its self-test must have every published digest.
set -eu
source=$1 work=$2 whole=${3:-}
example=$source/examples/own_instructions
cxx=${CXX:-c++}
failures=0
cases=0
fail() { echo "$*"; failures=$((failures + 1)); }
rm -rf "$work"
mkdir -p "$work"

# The one line that a case is about, in place of that of the example: without <file> <regular expression>
without() { grep -v "$2" "$example/$1" >"$work/$1"; }
changed() { sed "$2" "$example/$1" >"$work/$1"; }

# refused <what the compiler must say> <file of the library> <flags>...; "accepted" instead of a text: no error.
refused() {
  expected=$1 file=$2
  shift 2
  cases=$((cases + 1))
  text=$("$cxx" -std=gnu++17 -fsyntax-only -DFOVEA_WITH_SCALAR=1 -I"$source/lib/src" -I"$source/lib/include" "$@" \
    "$source/lib/src/$file" 2>&1) && text="accepted $text"
  case $text in
    *"$expected"*) ;;
    *) fail "$*: expected \"$expected\", got: $(printf '%s\n' "$text" | grep -m 3 -E 'error|accepted')" ;;
  esac
}
dot="-DFOVEA_DOT_HEADER=\"$work/pretended_dot.h\""
simd="-DFOVEA_SIMD_HEADER=\"$work/pretended_simd.h\""

without pretended_dot.h "define FOVEA_DOT_TYPE"
refused "must define FOVEA_DOT_TYPE" ground/targets/registry.cc "$dot"
without pretended_dot.h "define FOVEA_DOT_ADD"
refused "must define FOVEA_DOT_ADD(x, y, sum)" ground/targets/registry.cc "$dot"
changed pretended_dot.h "s/FOVEA_DOT_TYPE uint32_t/FOVEA_DOT_TYPE uint16_t/"
refused "must have 4, 8 or 16 bytes" core/attention/plan.cc "$dot"
cp "$example/pretended_dot.h" "$example/pretended_simd.h" "$work"
refused "accepted" layers/linear/i8/kernels.cc "$dot"
refused "which this build lacks" ground/targets/registry.cc -UFOVEA_WITH_SCALAR -DFOVEA_WITH_XSIMD=1 "$dot"
refused "accepted" layers/norm/kernels.cc "$simd" -DFOVEA_SIMD_LANES=4
refused "FOVEA_SIMD_LANES must be the kLanes of FOVEA_SIMD_HEADER" layers/norm/kernels.cc "$simd"
refused "FOVEA_SIMD_LANES must be 1, 4, 8 or 16" ground/targets/registry.cc "$simd" -DFOVEA_SIMD_LANES=3
refused "of FOVEA_SIMD_HEADER have, which is not defined" ground/targets/registry.cc -DFOVEA_SIMD_LANES=4
without pretended_simd.h "VF Div("
refused "Div" layers/norm/kernels.cc "$simd" -DFOVEA_SIMD_LANES=4
# Named in the user's settings.
cp "$example/pretended_dot.h" "$work"
echo '#define FOVEA_DOT_HEADER "pretended_dot.h"' >"$work/settings.h"
refused "accepted" layers/linear/i8/kernels.cc -I"$work" "-DFOVEA_CONFIG_HEADER=\"$work/settings.h\""

if [ -n "$whole" ]; then
  cases=$((cases + 1))
  python3 "$source/platform/packages/amalgamate.py" "$work/fovea"
  cp "$example/pretended_simd.h" "$work"
  if ! { "$cxx" -std=gnu++17 -O1 -fno-exceptions -fno-rtti "$dot" "$simd" -DFOVEA_SIMD_LANES=4 -c "$work/fovea/fovea.cc" \
      -o "$work/fovea.o" &&
    cc -std=c11 -DFOVEA_SIMD_LANES=4 -I"$work" "$source/examples/selftest/main.c" "$work/fovea.o" -lm -o "$work/selftest" &&
    "$work/selftest" >"$work/selftest.txt"; }; then
    fail "the self-test of the library as one file:"
    tail -n 5 "$work/selftest.txt"
  fi
  tail -n 2 "$work/selftest.txt"
fi
echo "$cases cases, $failures failures"
[ $failures = 0 ]
