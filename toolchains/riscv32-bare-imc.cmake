# SPDX-License-Identifier: Apache-2.0
#
# 32-bit RISC-V without floating-point registers (RV32IMC: ESP32-C3, CH32V, GD32VF), no operating system; tests run on QEMU's virt.
# Debian's packages gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf, libstdc++-arm-none-eabi-dev (C++ headers) and, for the
# tests, qemu-system-misc:
#   cmake --preset riscv32-bare-imc
#   cmake --build build/riscv32-bare-imc
#   ctest --test-dir build/riscv32-bare-imc -LE slow
# or, for firmware of your own, CMAKE_TOOLCHAIN_FILE is this file.
set(FOVEA_EXPECT_TARGET scalar)
set(FOVEA_CPU_FLAGS "-march=rv32imc -mabi=ilp32")
set(FOVEA_BOARD virt-riscv32)
include(${CMAKE_CURRENT_LIST_DIR}/common/riscv-bare.cmake)
