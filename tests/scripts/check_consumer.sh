#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Uses the library as other projects do: check_consumer.sh <cmake> <source> <build> <work> <configuration>
# installs the build, and builds and runs the program of tests/consumer by find_package, pkg-config and add_subdirectory.
# The environment has CC, CXX and CMAKE_GENERATOR.
# shellcheck disable=SC2086  # flags, one word each
set -eu
cmake=$1 source=$2 build=$3 work=$4 configuration=$5
consumer=$source/tests/consumer
alone="-DFOVEA_SIMD=scalar -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_BENCH=OFF -DFOVEA_BUILD_EXAMPLES=OFF"
fail() { echo "$*"; exit 1; }

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/installed" --config "$configuration" >"$work/install.log"
[ -f "$work/installed/share/licenses/fovea/LICENSE" ] || fail "the licence is not installed"
# An installed tree can be moved.
mv "$work/installed" "$work/prefix"

echo "== find_package(fovea), a project in C alone"
"$cmake" -S "$consumer" -B "$work/find" -DCMAKE_BUILD_TYPE="$configuration" -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/find"
"$work/find/consumer"

# The last level of optimisation in the command that compiles a kernel. Arguments: those of cmake for the project.
level() {
  rm -rf "$work/level"
  "$cmake" -S "$consumer" -B "$work/level" -DFOVEA_SOURCE_DIR="$source" -DFOVEA_SIMD=scalar -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" \
    >"$work/level.log"
  grep 'command.*core/attention/kernels.cc' "$work/level/compile_commands.json" | grep -o -e ' -O[^ ]*' | tail -n 1
}
# expect_level <" -O..." or none> <arguments of cmake>...
expect_level() {
  expected=$1
  shift
  found=$(level "$@")
  [ "${found:-none}" = "$expected" ] || fail "the library is compiled with${found:- no level}, not$expected: $*"
}
echo "== add_subdirectory: how the library is optimised"
if [ "$CMAKE_GENERATOR" = Ninja ] || [ "$CMAKE_GENERATOR" = "Unix Makefiles" ]; then
  expect_level " -O2" -DCMAKE_BUILD_TYPE=
  expect_level " -O2" -DCMAKE_BUILD_TYPE=Release
  expect_level " -O2" -DCMAKE_BUILD_TYPE=Debug
  expect_level " -O1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-g -O0"
  expect_level " -O1" -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-O0
  expect_level " -O1" -DCMAKE_BUILD_TYPE= -DCONSUMER_OPTIONS=-O0
  expect_level " -O0" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O0 -DFOVEA_OPTIMIZE=OFF
  expect_level none -DCMAKE_BUILD_TYPE=Debug -DFOVEA_OPTIMIZE=OFF
  expect_level " -Os" -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-Os
  expect_level " -Os" -DCMAKE_BUILD_TYPE= -DCONSUMER_OPTIONS=-Os
  expect_level " -Os" -DCMAKE_BUILD_TYPE=MinSizeRel
  expect_level " -O3" -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=-O3
else
  echo "skipped: the level of optimisation: $CMAKE_GENERATOR does not write compile_commands.json"
fi

echo "== add_subdirectory, in a project without a configuration, of unity builds"
"$cmake" -S "$consumer" -B "$work/subdirectory" -DCMAKE_BUILD_TYPE= -DFOVEA_SOURCE_DIR="$source" -DFOVEA_SIMD=scalar \
  "-DFOVEA_OPERATORS=attention;softmax" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
"$cmake" --build "$work/subdirectory"
"$work/subdirectory/consumer"

for name in int8 minimal streaming; do
  echo "== the configuration $name.h"
  "$cmake" -S "$consumer" -B "$work/$name" -DCMAKE_BUILD_TYPE=MinSizeRel -DFOVEA_SOURCE_DIR="$source" -DFOVEA_SIMD=scalar \
    -DFOVEA_OPERATORS=softmax -DFOVEA_CONFIG_HEADER="$work/prefix/include/fovea/config/$name.h"
  "$cmake" --build "$work/$name"
  "$work/$name/consumer"
done

echo "== lean configurations in one archive, one of them of a header of the user's own, without checks"
printf '#define FOVEA_CHECKS 0\n#define FOVEA_ENABLE_I4 1\n#include "fovea/config/minimal.h"\n' >"$work/own.h"
"$cmake" -S "$source" -B "$work/lean" -DCMAKE_BUILD_TYPE=MinSizeRel $alone "-DFOVEA_OPERATORS=attention;softmax" \
  -DFOVEA_LEAN="minimal;streaming;$work/own.h" --install-prefix "$work/lean/prefix" >"$work/lean.log"
"$cmake" --build "$work/lean" --parallel "$(nproc)" --target install >>"$work/lean.log"
"$cmake" -S "$source/tests/lean" -B "$work/lean/program" -DCMAKE_PREFIX_PATH="$work/lean/prefix"
"$cmake" --build "$work/lean/program"
"$work/lean/program/fovea_lean"
# A program that uses one has that one's functions and no others. By CMake, by a header, by pkg-config.
uses_own_alone() {
  "$1"
  nm "$1" | grep -q ' T fovea_own_softmax$' && ! nm "$1" | grep ' T fovea_softmax$' || fail "$1 is not linked with the configuration own alone"
}
"$cmake" -S "$consumer" -B "$work/lean/own" -DCMAKE_PREFIX_PATH="$work/lean/prefix" -DCONSUMER_LIBRARY=fovea::own
"$cmake" --build "$work/lean/own"
uses_own_alone "$work/lean/own/consumer"
archive=$(find "$work/lean/prefix" -name libfovea.a)
"$CC" -std=c99 -include fovea/lean/own.h "$consumer/consumer.c" -I"$work/lean/prefix/include" "$archive" -o "$work/lean/consumer_h"
uses_own_alone "$work/lean/consumer_h"
"$CC" -std=c99 -DFOVEA_USE=own "$consumer/consumer.c" -I"$work/lean/prefix/include" "$archive" -o "$work/lean/consumer_d"
uses_own_alone "$work/lean/consumer_d"

echo "== macros that FOVEA_DEFINES names, for the library and for those who link it"
"$cmake" -S "$source" -B "$work/defines" $alone -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DFOVEA_DEFINES='FOVEA_ENABLE_SINKS=0;FOVEA_CODE_SECTION=".fast"' >"$work/defines.log"
# has_both <file>: it names both macros.
has_both() {
  for define in FOVEA_ENABLE_SINKS=0 'FOVEA_CODE_SECTION=.*\.fast'; do
    grep -q "$define" "$1" || fail "$1 does not have $define of FOVEA_DEFINES"
  done
}
has_both "$work/defines/lib/fovea.pc"
has_both "$(find "$work/defines" -path '*Export*' -name foveaTargets.cmake)"
has_both "$work/defines/compile_commands.json"

echo "== operators: one that is left out is missing by its name, to the linker and to find_package"
"$cmake" -S "$source" -B "$work/softmax" $alone -DFOVEA_OPERATORS=softmax --install-prefix "$work/softmax/prefix" >"$work/softmax.log"
"$cmake" --build "$work/softmax" --target install >>"$work/softmax.log"
finds() { # <components>
  rm -rf "$work/softmax/find"
  "$cmake" -S "$consumer" -B "$work/softmax/find" -DCMAKE_PREFIX_PATH="$work/softmax/prefix" -DCONSUMER_COMPONENTS="$1" >"$work/find.log" 2>&1
}
finds softmax && "$cmake" --build "$work/softmax/find" >>"$work/find.log"
"$work/softmax/find/consumer"
if "$cmake" --build "$work/softmax/find" --target consumer_attention >"$work/link.log" 2>&1 || ! grep -q 'undefined.*fovea_attention' "$work/link.log"; then
  fail "a library of softmax alone links a program with attention, or does not name what is missing: $work/link.log"
fi
if finds "softmax;attention" || ! grep -q 'built without attention (FOVEA_OPERATORS)' "$work/find.log"; then
  fail "find_package takes a library without attention: $work/find.log"
fi

echo "== FetchContent, as the page of packages has it"
mkdir "$work/fetch"
ln -s "$source" "$work/fetch/fovea"
{
  printf 'cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES C CXX)\nadd_executable(app %s)\n' "$consumer/consumer.c"
  sed -n '/^```cmake/,/^```$/{/^```/!p}' "$source/platform/packages/README.md"
} >"$work/fetch/CMakeLists.txt"
"$cmake" -S "$work/fetch" -B "$work/fetch/build" -DFOVEA_SIMD=scalar >"$work/fetch.log"
"$cmake" --build "$work/fetch/build" >>"$work/fetch.log"
"$work/fetch/build/app"

echo "== pkg-config, in C and in C++"
if ! command -v pkg-config >/dev/null; then
  echo "skipped: a project by pkg-config: there is no pkg-config"
  exit 0
fi
pc=$(find "$work/prefix" -name fovea.pc)
export PKG_CONFIG_PATH="${pc%/*}"
export LD_LIBRARY_PATH="${pc%/pkgconfig/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # if the build has shared libraries
flags=$(pkg-config --cflags --libs fovea)
{
  "$CC" -std=c99 "$consumer/consumer.c" $flags -o "$work/consumer_c"
  "$CXX" -std=c++17 "$consumer/consumer.cc" $flags -o "$work/consumer_cc"
}
"$work/consumer_c"
"$work/consumer_cc"
