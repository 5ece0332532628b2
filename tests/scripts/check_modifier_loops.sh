#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the compiler vectorises the loops of fovea.hpp around a lambda, also with -O2:
# check_modifier_loops.sh <C++ compiler> <source>
# ALiBi's instructions on eight floats must be in both loops, by rows and by keys.
set -eu
compiler=$1 source=$2
case $("$compiler" --version) in
  *clang*) ;;
  *)
    [ "$("$compiler" -dumpversion | cut -d . -f 1)" -ge 12 ] ||
      { echo "skipped: g++ before 12 makes no vectors of any loop with -O2"; exit 77; }
    ;;
esac
assembly=$("$compiler" -std=c++17 -O2 -mavx2 -mfma -I "$source/lib/include" -x c++ -S -o - - <<'SOURCE'
#include "fovea/fovea.hpp"
void call(const fovea_modifier& modifier);
void call_with_alibi(const float* slopes) {
  call(fovea::ScoreModifier([slopes](float score, const fovea::ScorePlace& at) {
    return score - slopes[at.head] * at.distance();
  }));
}
SOURCE
)
failures=0
for instruction in 'vpsubd|vpaddd' 'vcvtdq2ps' 'vfn?m(add|sub)[0-9]*ps'; do
  count=$(echo "$assembly" | grep -cE "($instruction).*ymm" || true)
  echo "$instruction: $count times"
  [ "$count" -ge 2 ] || failures=$((failures + 1))
done
[ $failures = 0 ]
