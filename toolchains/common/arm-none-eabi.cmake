# SPDX-License-Identifier: Apache-2.0
#
# Included by ../arm-none-eabi-*.cmake, which set FOVEA_EXPECT_TARGET, FOVEA_CPU_FLAGS and FOVEA_BOARD: 32-bit Arm without an
# operating system, GCC with newlib.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(FOVEA_TRIPLE arm-none-eabi)
include(${CMAKE_CURRENT_LIST_DIR}/bare-metal.cmake)
