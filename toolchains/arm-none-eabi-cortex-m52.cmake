# SPDX-License-Identifier: Apache-2.0
#
# Cortex-M52 with Helium, no operating system; a compiler that does not know it, as g++ 12, compiles for a Cortex-M55. Tests run
# on QEMU's mps3-an547, a Cortex-M55. Debian's packages
# gcc-arm-none-eabi, libnewlib-arm-none-eabi, libstdc++-arm-none-eabi-newlib and, for the tests, qemu-system-arm:
#   cmake --preset arm-none-eabi-cortex-m52
#   cmake --build build/arm-none-eabi-cortex-m52
#   ctest --test-dir build/arm-none-eabi-cortex-m52 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET helium)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-m52 -mthumb -mfloat-abi=hard")
set(FOVEA_CPU_ELSE "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")
set(FOVEA_BOARD mps3-an547)
include(${CMAKE_CURRENT_LIST_DIR}/common/arm-none-eabi.cmake)
