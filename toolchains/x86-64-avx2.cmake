# SPDX-License-Identifier: Apache-2.0
#
# x86-64 with AVX2, FMA and F16C (Intel Haswell, 2013; AMD Zen, 2017; and later). On an x86-64 machine:
#   cmake --preset x86-64-avx2 && cmake --build build/x86-64-avx2 && ctest --test-dir build/x86-64-avx2 -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/x86-64-avx2.cmake. Where the machine has no AVX2, and
# with -DFOVEA_QEMU_CPU=Haswell, the tests run under qemu-x86_64 (Debian's package qemu-user).
set(FOVEA_EXPECT_TARGET avx2)
set(FOVEA_CPU_FLAGS "-march=haswell -maes")  # g++ 12 leaves AES out of haswell, and Highway then falls back to SSSE3
include(${CMAKE_CURRENT_LIST_DIR}/common/x86-64.cmake)
