#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the backend that CMake chooses for a user's toolchain file: check_chosen_target.sh <cmake> <source> <work>
# Configures with the toolchain file of examples/firmware/README.md, and with variants of it that users may have.
set -eu
cmake=$1 source=$2 work=$3
failures=0
cases=0
fail() { echo "$*"; failures=$((failures + 1)); }
rm -rf "$work"
mkdir -p "$work"
sed -n '/^<!-- file: my-board.cmake -->/,/^```$/p' "$source/examples/firmware/README.md" |
  grep '^set(' >"$work/readme.cmake"

# try <compiler> <its flags> <what CMake must print> <arguments of cmake>...
try() {
  compiler=$1 flags=$2 expected=$3
  shift 3
  command -v "$compiler-g++" >/dev/null || {
    echo "skipped: $compiler-g++ $flags: there is no such compiler"
    return 0
  }
  sed -e "s/Generic/${system:-Generic}/" -e "s/arm-none-eabi-/$compiler-/" -e "s/\(FLAGS_INIT\) \"-.*\"/\1 \"$flags\"/" "$work/readme.cmake" >"$work/user.cmake"
  try_user "$@"
}
# The same for clang, with the libraries of the compiler.
try_clang() {
  compiler=$1 flags=$2 expected=$3
  shift 3
  command -v clang++-19 >/dev/null && command -v "$compiler-g++" >/dev/null || {
    echo "skipped: clang++-19 $flags: there is no such compiler, or no $compiler-g++"
    return 0
  }
  sed -e "s/arm-none-eabi-gcc/clang-19/" -e "s/arm-none-eabi-g++/clang++-19/" \
    -e "s/\(FLAGS_INIT\) \"-.*\"/\1 \"--target=$compiler $flags\"/" "$work/readme.cmake" >"$work/user.cmake"
  try_user "$@"
}
try_user() {
  rm -rf "$work/build"
  "$cmake" -S "$source" -B "$work/build" --toolchain "$work/user.cmake" -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_BENCH=OFF \
    -DFOVEA_BUILD_EXAMPLES=OFF "$@" >"$work/log" 2>&1 || true
  cases=$((cases + 1))
  tr '\n' ' ' <"$work/log" | tr -s ' ' | grep -q -e "$expected" || {
    fail "$compiler-g++ $flags $*: should say \"$expected\", but says:"
    grep -e '^-- fovea [0-9]' -A 3 -e '^CMake Error' "$work/log" || tail -n 5 "$work/log"
  }
}

arm=arm-none-eabi
m4f="-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard"
m55="-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"
a7="-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard"
try $arm "$m4f" ": scalar for scalar alone: "
try $arm "-mcpu=cortex-m0plus -mthumb" ": scalar for scalar alone: "
try $arm "$m55" ": helium for helium alone: FOVEA_SIMD is auto, the compiler's flags offer helium"
try $arm "$a7" ": neon for neon alone: FOVEA_SIMD is auto, the compiler's flags offer neon"
try $arm "-mcpu=cortex-a7 -mfloat-abi=soft" ": scalar for scalar alone: "
try $arm "" ": neon for neon alone: " -DCMAKE_CXX_FLAGS="$a7"
# Flags on the command line replace the toolchain file's, so they must include those of the processor.
m7="-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard"
lost="-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard of .*user.cmake is lost"
try $arm "$m7" "CMAKE_CXX_FLAGS is .*$lost" -DCMAKE_CXX_FLAGS=-DFOVEA_PREFER_SIZE=0
try $arm "$m7" "CMAKE_C_FLAGS is .*$lost" -DCMAKE_C_FLAGS=-g
try $arm "$m7" "CMAKE_CXX_FLAGS is .* -mfpu=fpv5-d16 of" -DCMAKE_CXX_FLAGS="-mcpu=cortex-m7 -mthumb -mfloat-abi=hard"
try $arm "$m7" ": scalar for scalar alone: " -DCMAKE_CXX_FLAGS="$m7 -g"
try $arm "$m7" ": scalar for scalar alone: " -DFOVEA_DEFINES="FOVEA_PREFER_SIZE=0;FOVEA_ENABLE_SINKS=0"
try $arm "$m7" "FOVEA_DEFINES has FOVEA_ENABLE_SINK=0" -DFOVEA_DEFINES="FOVEA_PREFER_SIZE=0;FOVEA_ENABLE_SINK=0"
try $arm "$m7" "FOVEA_DEFINES has FOVEA_PREFER_SIZE: it must be NAME=VALUE" -DFOVEA_DEFINES=FOVEA_PREFER_SIZE
try $arm "$m7" ": scalar for scalar alone: " -DFOVEA_FEATURES="causal;i8;ring"
try $arm "$m7" "FOVEA_FEATURES has rings" -DFOVEA_FEATURES="i8;rings"
try $arm "$m7" "FOVEA_OPERATORS has warp; the operators are attention, " -DFOVEA_OPERATORS="softmax;warp"
try $arm "$m7" ": scalar for scalar alone: " -DFOVEA_CONFIG_HEADER=minimal
try $arm "$m7" "FOVEA_CONFIG_HEADER is .*warp: it must be the path of a header" -DFOVEA_CONFIG_HEADER=warp
try $arm "$m7" "FOVEA_CONFIG_HEADER is /nowhere/minimal: it must be" -DFOVEA_CONFIG_HEADER=/nowhere/minimal
# A lesser target than the flags offer is refused, unless it is asked for.
try $arm "$m55" ": scalar: FOVEA_SIMD is scalar, the compiler's flags offer helium" -DFOVEA_SIMD=scalar
try $arm "$m55" "which does not serve helium" -DFOVEA_SIMD=highway
try $arm "$m55" "which does not serve helium" -DFOVEA_SIMD=xsimd
for simd in helium highway xsimd; do try $arm "$a7" "which does not serve neon" -DFOVEA_SIMD=$simd; done
try $arm "$m4f" "which does not serve scalar" -DFOVEA_SIMD=highway
try $arm "$m55" "FOVEA_EXPECT_TARGET is scalar, but the compiler's flags offer helium" -DFOVEA_EXPECT_TARGET=scalar
try $arm "$m4f" "FOVEA_EXPECT_TARGET is helium, but the compiler's flags offer scalar" -DFOVEA_EXPECT_TARGET=helium
try $arm "$m55" "which does not serve helium" -DFOVEA_SIMD=all
system=Linux try arm-linux-gnueabihf "-march=armv7-a+fp -mfloat-abi=hard" "name no NEON, so fovea is compiled without vectors"
try aarch64-linux-gnu "-O2" ": neon for neon alone: "
try riscv64-linux-gnu "-O2" ": scalar for scalar alone: "
rvv="-march=rv64gcv_zvl256b -mrvv-vector-bits=zvl"
try_clang riscv64-linux-gnu "$rvv" ": rvv for rvv256 alone: FOVEA_SIMD is auto, the compiler's flags offer rvv256"
try_clang riscv64-linux-gnu "$rvv" "FOVEA_EXPECT_TARGET is rvv128, but the compiler's flags offer rvv256" -DFOVEA_EXPECT_TARGET=rvv128
try_clang riscv64-linux-gnu "$rvv" "which does not serve rvv256" -DFOVEA_SIMD=xsimd
try_clang riscv64-linux-gnu "-march=rv64gcv" ": scalar for scalar alone: "  # of any length
if [ "$(uname -m)" = x86_64 ]; then
  picks=": highway, scalar: FOVEA_SIMD is auto, the compiler's flags offer"
  try x86_64-linux-gnu "-O2" "$picks x86, "
  try x86_64-linux-gnu "-march=haswell" "$picks avx2, "
  try x86_64-linux-gnu "-march=skylake-avx512" "$picks avx512, "
  try x86_64-linux-gnu "-mavx2" "$picks sse4, "
  try x86_64-linux-gnu "-march=haswell" ": xsimd for avx2 alone: " -DFOVEA_EXPECT_TARGET=avx2
  try x86_64-linux-gnu "-march=nehalem" "FOVEA_EXPECT_TARGET is avx2, but the compiler's flags offer sse4" -DFOVEA_EXPECT_TARGET=avx2
  try x86_64-linux-gnu "-march=haswell" ": scalar: FOVEA_SIMD is scalar, the compiler's flags offer avx2" -DFOVEA_SIMD=scalar
fi

# Flags that CMake does not see, such as an interface target's, are refused by the sources.
if command -v $arm-g++ >/dev/null; then
  cases=$((cases + 1))
  # shellcheck disable=SC2086  # flags, one word each
  $arm-g++ -std=gnu++17 -fsyntax-only $m55 -DFOVEA_WITH_SCALAR=1 -DFOVEA_EXPECT_TARGET_SCALAR=1 -I"$source/lib/src" \
    -I"$source/lib/include" "$source/lib/src/ground/targets/registry.cc" 2>&1 | grep -q 'auto chose scalar' || fail "a scalar build with flags for Helium compiles"
else
  echo "skipped: a scalar build with flags for Helium: there is no $arm-g++"
fi
# Arithmetic that does not round to float.
if [ "$(uname -m)" = x86_64 ]; then
  for flags in "-m32" "-m32 -msse2 -mfpmath=sse"; do
    cases=$((cases + 1))
    # shellcheck disable=SC2086  # flags, one word each
    text=$(c++ -std=gnu++17 -ffreestanding -fsyntax-only $flags -I"$source/lib/src" -I"$source/lib/include" -include ground/base/arithmetic.h \
      -x c++ /dev/null 2>&1) || true
    case "$flags,$text" in
      "-m32,"*"fovea needs float arithmetic"* | *sse,) ;;
      *) fail "with $flags the compiler says: $text" ;;
    esac
  done
fi
echo "$cases cases, $failures failures"
[ $failures = 0 ]
