# SPDX-License-Identifier: Apache-2.0
#
# Cortex-R5 with its FPU, no operating system; tests run on QEMU's versatilepb with this processor. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-r5f
#   cmake --build build/arm-none-eabi-cortex-r5f
#   ctest --test-dir build/arm-none-eabi-cortex-r5f -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-r5 -mthumb -mfpu=vfpv3-d16 -mfloat-abi=hard")
set(FOVEA_BOARD versatilepb-cortex-r5f)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
