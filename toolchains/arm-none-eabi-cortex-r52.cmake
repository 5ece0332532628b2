# SPDX-License-Identifier: Apache-2.0
#
# Cortex-R52 with NEON, no operating system; tests run on mps3-an536 of QEMU 9 or later (./run setup qemu-new). Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-r52
#   cmake --build build/arm-none-eabi-cortex-r52
#   ctest --test-dir build/arm-none-eabi-cortex-r52 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-r52 -mfpu=neon-fp-armv8 -mfloat-abi=hard -mfp16-format=ieee")
set(FOVEA_BOARD mps3-an536)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
