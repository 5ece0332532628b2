# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M4 with its single-precision FPU, no operating system; tests run on QEMU's mps2-an386. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m4f
#   cmake --build build/arm-none-eabi-cortex-m4f
#   ctest --test-dir build/arm-none-eabi-cortex-m4f -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
set(FOVEA_BOARD mps2-an386)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
