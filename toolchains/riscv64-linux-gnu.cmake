# SPDX-License-Identifier: Apache-2.0
#
# 64-bit RISC-V Linux (RV64GC), without vectors. On another machine, with Debian's packages g++-riscv64-linux-gnu and, for the
# tests, qemu-user:
#   cmake --preset riscv64-linux-gnu && cmake --build build/riscv64-linux-gnu && ctest --test-dir build/riscv64-linux-gnu -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/riscv64-linux-gnu.cmake.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-march=rv64gc")
set(FOVEA_QEMU_CPU rv64 CACHE STRING "Model of processor that QEMU emulates: rv64")
set(FOVEA_TRIPLE riscv64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
