# SPDX-License-Identifier: Apache-2.0
#
# 64-bit Arm Linux, any Armv8-A processor (Cortex-A53 and later). On another machine, with Debian's packages
# g++-aarch64-linux-gnu and, for the tests, qemu-user:
#   cmake --preset aarch64-linux-gnu && cmake --build build/aarch64-linux-gnu && ctest --test-dir build/aarch64-linux-gnu -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/aarch64-linux-gnu.cmake.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-march=armv8-a")
set(FOVEA_QEMU_CPU cortex-a53 CACHE STRING "Model of processor that QEMU emulates: cortex-a53, cortex-a76, max")
set(FOVEA_TRIPLE aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
