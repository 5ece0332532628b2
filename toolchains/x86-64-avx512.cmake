# SPDX-License-Identifier: Apache-2.0
#
# x86-64 with AVX-512 F, BW, CD, DQ and VL (Intel Skylake-X, 2017; AMD Zen 4, 2022; and later). On an x86-64 machine:
#   cmake --preset x86-64-avx512 && cmake --build build/x86-64-avx512 && ctest --test-dir build/x86-64-avx512 -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/x86-64-avx512.cmake. The tests run only on a machine
# that has AVX-512: qemu-x86_64 does not emulate it.
set(FOVEA_EXPECT_TARGET avx512)
set(FOVEA_CPU_FLAGS "-march=skylake-avx512")
include(${CMAKE_CURRENT_LIST_DIR}/common/x86-64.cmake)
