# SPDX-License-Identifier: Apache-2.0
#
# Cortex-A53 (64 bit) with NEON, no operating system; tests run on QEMU's virt. Debian's packages g++-aarch64-linux-gnu,
# picolibc-aarch64-linux-gnu, libstdc++-arm-none-eabi-dev (C++ headers) and, for the tests, qemu-system-arm:
#   cmake --preset aarch64-bare-cortex-a53
#   cmake --build build/aarch64-bare-cortex-a53
#   ctest --test-dir build/aarch64-bare-cortex-a53 -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file: see examples/firmware.
set(FOVEA_EXPECT_TARGET neon)
set(FOVEA_CPU_FLAGS "-mcpu=cortex-a53")
set(FOVEA_BOARD virt-cortex-a53)
include(${CMAKE_CURRENT_LIST_DIR}/common/aarch64-bare.cmake)
