# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M0+, which has no FPU (a Cortex-M3: -mcpu=cortex-m3), no operating system; the library is built, and nothing is run.
# Debian's packages gcc-arm-none-eabi and libnewlib-arm-none-eabi:
#   cmake --preset arm-none-eabi-cortex-m0plus
#   cmake --build build/arm-none-eabi-cortex-m0plus
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m0plus -mthumb")
set(FOVEA_BOARD none)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
