# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M7 with its double-precision FPU, no operating system; tests run on QEMU's mps2-an500. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m7
#   cmake --build build/arm-none-eabi-cortex-m7
#   ctest --test-dir build/arm-none-eabi-cortex-m7 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard")
set(FOVEA_BOARD mps2-an500)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
