# SPDX-License-Identifier: Apache-2.0
#
# As riscv64-linux-gnu-rvv256.cmake, for processors whose vectors have arithmetic of halves (Zvfh); on another one its
# instructions are illegal, and no call asks for them. The tests need QEMU 8 or later, as ./run setup qemu-new unpacks.
set(FOVEA_EXPECT_TARGET rvv256)
set(FOVEA_CPU_FLAGS "-march=rv64gcv_zvfh_zvl256b -mrvv-vector-bits=zvl")
set(FOVEA_QEMU_CPU rvv256_zvfh CACHE STRING "Model of processor that QEMU emulates: rvv256_zvfh")
set(FOVEA_TRIPLE riscv64-linux-gnu)
set(FOVEA_CLANG ON)
include(${CMAKE_CURRENT_LIST_DIR}/common/linux-gnu.cmake)
