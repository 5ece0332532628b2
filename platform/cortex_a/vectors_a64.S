/* SPDX-License-Identifier: Apache-2.0
 *
 * Cortex-A, 64 bit: reset and faults, at exception level 1. One processor runs, the others sleep.
 */
  .section .vectors, "ax"
  .global fovea_reset
fovea_reset:
  mrs x0, mpidr_el1
  and x0, x0, #0xff
0:
  cbz x0, 1f
  wfe
  b 0b
1:
  ldr x0, =fovea_vectors
  msr vbar_el1, x0
  mov x0, #(3 << 20)           /* FPEN: floating point and NEON are not trapped */
  msr cpacr_el1, x0
  isb
  ldr x0, =stack_top
  mov sp, x0
  ldr x0, =thread_data_begin   /* the C library's thread-local data: TPIDR is 16 bytes before it (ELF for AArch64) */
  sub x0, x0, #16
  msr tpidr_el0, x0
  bl fovea_memory_on
  b fovea_start

  .ltorg
  .balign 2048
fovea_vectors:
  .rept 16
  .balign 128
  b fault
  .endr

fault:
  ldr x0, =fault_text
  mrs x1, elr_el1
  mov x2, x30
  mrs x3, far_el1
  mrs x4, esr_el1
  ldr x5, =stack_top
  mov sp, x5
  b fovea_fault
  .ltorg
fault_text: .asciz "exception"
