# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M3, which has no FPU, no operating system; tests run on QEMU's mps2-an385. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m3
#   cmake --build build/arm-none-eabi-cortex-m3
#   ctest --test-dir build/arm-none-eabi-cortex-m3 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m3 -mthumb")
set(FOVEA_BOARD mps2-an385)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
