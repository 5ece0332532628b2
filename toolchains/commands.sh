# SPDX-License-Identifier: Apache-2.0
#
# Functions of the scripts run, .ci/run and others, which include this file. In build/ is a folder for each preset.

say() { echo "== $*"; }
has() { command -v "$1" >/dev/null 2>&1; }

# quietly <command...>: its output goes to the file $log; if the command fails, the end of the log is printed.
log=build/commands.log
quietly() {
  mkdir -p "${log%/*}"
  if ! "$@" >>"$log" 2>&1; then
    tail -n 80 "$log" >&2
    say "failed: $* (all of its output: $log)" >&2
    return 1
  fi
}

# configure <preset> [arguments of cmake]. FOVEA_BUILD_TYPE is CMake's, as MinSizeRel; FOVEA_TEST_FILES, as bits_test;math_test, are
# the files of cases that are compiled, and all without it.
configure() {
  if has ninja; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
  quietly cmake --preset "$@" "-DFOVEA_TEST_FILES=${FOVEA_TEST_FILES:-}" ${FOVEA_BUILD_TYPE:+"-DCMAKE_BUILD_TYPE=$FOVEA_BUILD_TYPE"}
}

# How many compilers run at a time: one for each processor, and each 400 MB of free memory.
compilers() {
  local processors most
  processors=$(nproc 2>/dev/null || echo 2)
  most=$(awk '/^MemAvailable:/ { print int($2 / 400000) }' /proc/meminfo 2>/dev/null || echo "$processors")
  most=${most:-$processors}
  echo $((most < 1 ? 1 : most < processors ? most : processors))
}

# compile <preset> [arguments of cmake --build]: on a terminal ninja shows how far it is.
compile() {
  local building=(cmake --build "build/$1" --parallel "$(compilers)" "${@:2}")
  if [ -t 1 ] && has ninja; then
    NINJA_STATUS="[%f of %t, %e s] " "${building[@]}"
  else
    quietly "${building[@]}"
  fi
}

# tests <preset> [arguments of ctest]: runs the tests but those with the labels $without, then prints what they skipped.
without=slow
export CTEST_OUTPUT_ON_FAILURE=1
tests() {
  local status=0
  ctest --test-dir "build/$1" --label-exclude "$without" --parallel "$(nproc 2>/dev/null || echo 2)" "${@:2}" || status=$?
  python3 tests/scripts/show_skipped.py "build/$1"
  return $status
}

# The compiler's package for 32-bit x86. g++-multilib itself cannot be installed with cross compilers: it has a link more, for asm/
multilib() { echo "g++-$(g++ -dumpversion)-multilib"; }
