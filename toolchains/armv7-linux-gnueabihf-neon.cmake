# SPDX-License-Identifier: Apache-2.0
#
# 32-bit Arm Linux, Armv7-A with NEON and VFPv4 (Cortex-A7, A15, A17; any later processor in 32-bit mode). On another machine,
# with Debian's packages g++-arm-linux-gnueabihf and, for the tests, qemu-user:
#   P=armv7-linux-gnueabihf-neon; cmake --preset $P && cmake --build build/$P && ctest --test-dir build/$P -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/armv7-linux-gnueabihf-neon.cmake.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard -mfp16-format=ieee")  # Highway wants the type __fp16
set(FOVEA_QEMU_CPU cortex-a7 CACHE STRING "Model of processor that QEMU emulates: cortex-a7, cortex-a15, max")
set(FOVEA_TRIPLE arm-linux-gnueabihf)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
