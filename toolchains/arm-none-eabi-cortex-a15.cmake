# SPDX-License-Identifier: Apache-2.0
#
# Cortex-A15 with NEON, no operating system; tests run on QEMU's virt. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-a15
#   cmake --build build/arm-none-eabi-cortex-a15
#   ctest --test-dir build/arm-none-eabi-cortex-a15 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-a15 -mfpu=neon-vfpv4 -mfloat-abi=hard -mfp16-format=ieee")
set(FOVEA_BOARD virt-cortex-a15)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
