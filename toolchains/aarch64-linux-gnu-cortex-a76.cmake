# SPDX-License-Identifier: Apache-2.0
#
# 64-bit Arm Linux, Cortex-A76 and later: Armv8.2-A with dot product (Raspberry Pi 5). On another machine, with Debian's packages
# g++-aarch64-linux-gnu and, for the tests, qemu-user:
#   P=aarch64-linux-gnu-cortex-a76; cmake --preset $P && cmake --build build/$P && ctest --test-dir build/$P -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/aarch64-linux-gnu-cortex-a76.cmake.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-a76")
set(FOVEA_QEMU_CPU cortex-a76 CACHE STRING "Model of processor that QEMU emulates: cortex-a76, max")
set(FOVEA_TRIPLE aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
