/* SPDX-License-Identifier: Apache-2.0
 *
 * Cortex-A, 32 bit, and Cortex-R: reset and faults. One processor runs, the others sleep.
 */
  .syntax unified
  .arm
  .section .vectors, "ax"

  .balign 32
  .global fovea_reset
fovea_vectors:
fovea_reset:
  b reset
  b undefined
  b unexpected                 /* SVC: a semihosting call that the emulator does not know */
  b prefetch_abort
  b data_abort
  b unexpected
  b unexpected                 /* IRQ */
  b unexpected                 /* FIQ */

reset:
  mrc p15, 0, r0, c0, c0, 5    /* MPIDR */
  ands r0, r0, #3
sleep:
  wfine
  bne sleep
#if __ARM_ARCH_PROFILE == 'R' && __ARM_ARCH >= 8
  mov r0, #0xd3                /* Cortex-R52 resets to hypervisor mode: supervisor mode, without interrupts */
  msr spsr_cxsf, r0
  ldr r0, =supervisor
  msr elr_hyp, r0
  eret
supervisor:
#endif
#if __ARM_ARCH_PROFILE == 'A' || __ARM_ARCH >= 8  /* on Cortex-R5 the vectors are at 0 */
  ldr r0, =fovea_vectors
  mcr p15, 0, r0, c12, c0, 0   /* VBAR */
#endif
  mrc p15, 0, r0, c1, c0, 0    /* SCTLR */
  bic r0, r0, #(1 << 13)       /* V: the vectors are where VBAR says */
  mcr p15, 0, r0, c1, c0, 0
  mrc p15, 0, r0, c1, c0, 2    /* CPACR: full access to coprocessors 10 and 11, floating point and NEON */
  orr r0, r0, #(0xf << 20)
  mcr p15, 0, r0, c1, c0, 2
  isb
  mov r0, #(1 << 30)           /* FPEXC.EN */
  vmsr fpexc, r0
  ldr sp, =stack_top
  bl fovea_memory_on
  b fovea_start

/* lr is past the instruction that faulted, by an offset that depends on the fault. r0 gets the fault's name, r1 the
 * instruction's address, r2 (the caller) 0: the interrupted mode has an lr of its own. The stack is reset. */
undefined:
  sub r1, lr, #4
  ldr r0, =undefined_text
  mov r3, #0
  b report
prefetch_abort:
  sub r1, lr, #4
  ldr r0, =prefetch_text
  mrc p15, 0, r3, c6, c0, 2    /* IFAR */
  b report
data_abort:
  sub r1, lr, #8
  ldr r0, =data_text
  mrc p15, 0, r3, c6, c0, 0    /* DFAR: the address of the access */
  b report
unexpected:
  mov r1, lr
  ldr r0, =unexpected_text
  mov r3, #0
report:
  mov r2, #0
  ldr sp, =stack_top
  b fovea_fault

  .ltorg
undefined_text: .asciz "undefined instruction"
prefetch_text: .asciz "prefetch abort"
data_text: .asciz "data abort"
unexpected_text: .asciz "unexpected exception"
