# SPDX-License-Identifier: Apache-2.0
#
# 64-bit RISC-V Linux with vectors (RVV 1.0) of 512 bits; a processor whose vectors have another length is refused
# by FOVEA_ERR_TARGET. clang, since g++ before 14 has no such vectors. On another machine, with Debian's packages clang-19 and
# g++-riscv64-linux-gnu (its libraries) and, for the tests, qemu-user:
#   cmake --preset riscv64-linux-gnu-rvv512 && cmake --build build/riscv64-linux-gnu-rvv512 && ctest --test-dir build/riscv64-linux-gnu-rvv512 -LE slow
# or, for a project of your own, cmake -DCMAKE_TOOLCHAIN_FILE=.../toolchains/riscv64-linux-gnu-rvv512.cmake.
set(FOVEA_EXPECT_TARGET rvv512)
set(FOVEA_CPU_FLAGS "-march=rv64gcv_zvl512b -mrvv-vector-bits=zvl")
set(FOVEA_QEMU_CPU rvv512 CACHE STRING "Model of processor that QEMU emulates: rvv128, rvv256, rvv512 or rv64, which has no vectors")
set(FOVEA_TRIPLE riscv64-linux-gnu)
set(FOVEA_CLANG ON)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
