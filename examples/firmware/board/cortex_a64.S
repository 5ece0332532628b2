/* SPDX-License-Identifier: Apache-2.0
 *
 * Cortex-A, 64 bit: vectors and reset, at exception level 1. One processor runs, the others sleep.
 */
  .section .vectors, "ax"
  .global reset
reset:
  mrs x0, mpidr_el1
  and x0, x0, #0xff
sleep:
  cbz x0, begin
  wfe
  b sleep
begin:
  ldr x0, =vectors
  msr vbar_el1, x0
  mov x0, #(3 << 20)           /* FPEN: floating point and NEON are not trapped */
  msr cpacr_el1, x0
  isb
  ldr x0, =stack_top
  mov sp, x0
  bl board_memory_on
  b board_start
  .ltorg

  .balign 2048
vectors:
  .rept 16
  .balign 128
  b failed
  .endr
failed:
  ldr x0, =stack_top
  mov sp, x0
  b board_fault
