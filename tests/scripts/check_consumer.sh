#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Uses the library as other projects do: check_consumer.sh <cmake> <source> <build> <work> <configuration>
# installs the build, and builds and runs the program of tests/consumer by find_package, pkg-config and add_subdirectory.
# The environment has CC, CXX and CMAKE_GENERATOR.
set -eu
cmake=$1 source=$2 build=$3 work=$4 configuration=$5
consumer=$source/tests/consumer

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/installed" --config "$configuration" >"$work/install.log"
[ -f "$work/installed/share/licenses/fovea/LICENSE" ] || {
  echo "the licence is not installed"
  exit 1
}
# An installed tree can be moved.
mv "$work/installed" "$work/prefix"

echo "== find_package(fovea), a project in C alone"
"$cmake" -S "$consumer" -B "$work/find" -DCMAKE_BUILD_TYPE="$configuration" -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/find"
"$work/find/consumer"

echo "== add_subdirectory, in a project without a configuration"
"$cmake" -S "$consumer" -B "$work/subdirectory" -DCMAKE_BUILD_TYPE= -DFOVEA_SOURCE_DIR="$source" -DFOVEA_SIMD=scalar \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
grep -q -e ' -O2 .*scalar_attention' "$work/subdirectory/compile_commands.json" || {
  echo "the library is not optimised"
  exit 1
}
"$cmake" --build "$work/subdirectory"
"$work/subdirectory/consumer"

echo "== pkg-config, in C and in C++"
if ! command -v pkg-config >/dev/null; then
  echo "skipped: there is no pkg-config"
  exit 0
fi
pc=$(find "$work/prefix" -name fovea.pc)
export PKG_CONFIG_PATH="${pc%/*}"
export LD_LIBRARY_PATH="${pc%/pkgconfig/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"  # where the build is of shared libraries
flags=$(pkg-config --cflags --libs fovea)
# shellcheck disable=SC2086  # flags, one word each
{
  "$CC" -std=c99 "$consumer/consumer.c" $flags -o "$work/consumer_c"
  "$CXX" -std=c++17 "$consumer/consumer.cc" $flags -o "$work/consumer_cc"
}
"$work/consumer_c"
"$work/consumer_cc"
