/* SPDX-License-Identifier: Apache-2.0
 *
 * Cortex-A, 32 bit: vectors and reset. One processor runs, the others sleep.
 */
  .syntax unified
  .arm
  .section .vectors, "ax"
  .balign 32
  .global reset
vectors:
reset:
  b begin
  .rept 7
  b failed
  .endr

begin:
  mrc p15, 0, r0, c0, c0, 5    /* MPIDR */
  ands r0, r0, #3
sleep:
  wfine
  bne sleep
  ldr r0, =vectors
  mcr p15, 0, r0, c12, c0, 0   /* VBAR */
  mrc p15, 0, r0, c1, c0, 2    /* CPACR: full access to coprocessors 10 and 11, floating point and NEON */
  orr r0, r0, #(0xf << 20)
  mcr p15, 0, r0, c1, c0, 2
  isb
  mov r0, #(1 << 30)           /* FPEXC.EN */
  vmsr fpexc, r0
  ldr sp, =stack_top
  bl board_memory_on
  b board_start

failed:
  ldr sp, =stack_top
  b board_fault
