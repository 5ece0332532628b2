/* SPDX-License-Identifier: Apache-2.0
 *
 * RISC-V, machine mode: reset and faults. One processor runs, the others sleep.
 */
  .option arch, +zicsr         /* names the control registers */
  .section .vectors, "ax"
  .global fovea_reset
fovea_reset:
  csrr t0, mhartid
0:
  beqz t0, 1f
  wfi
  j 0b
1:
  la t0, fault
  csrw mtvec, t0
#if defined(__riscv_flen)
  li t0, 1 << 13               /* mstatus.FS: floating point is on */
  csrs mstatus, t0
#endif
  la sp, stack_top
  la tp, thread_data_begin     /* the C library's thread-local data */
  li gp, 0                     /* unused: no address is relative to it */
  tail fovea_start

  .global fovea_protect_guard
fovea_protect_guard:           /* does nothing: a region that applies to machine mode stays locked until reset */
  ret

  .balign 4
fault:
  la a0, fault_text
  csrr a1, mepc
  mv a2, ra
  csrr a3, mtval
  la sp, stack_top
  tail fovea_fault
fault_text: .asciz "exception"
