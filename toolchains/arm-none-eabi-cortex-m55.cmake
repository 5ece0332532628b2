# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M55 with Helium (MVE with floating point), no operating system; tests run on QEMU's mps3-an547. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m55
#   cmake --build build/arm-none-eabi-cortex-m55
#   ctest --test-dir build/arm-none-eabi-cortex-m55 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET helium)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")
set(FOVEA_BOARD mps3-an547)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
