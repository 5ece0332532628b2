# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M0+ (RP2040), which has no FPU, no operating system; tests run on QEMU's mps2-an385, whose Cortex-M3 runs this code too.
# Debian's packages gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m0plus
#   cmake --build build/arm-none-eabi-cortex-m0plus
#   ctest --test-dir build/arm-none-eabi-cortex-m0plus -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m0plus -mthumb")
set(FOVEA_BOARD mps2-an385)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
