// SPDX-License-Identifier: Apache-2.0
//
// Cortex-A, 32 and 64 bit: memory and cycles. Registers: Arm Architecture Reference Manuals for Armv7-A and A-profile.
#include "board.h"

namespace {

#if defined(__aarch64__)
constexpr int kBlocks = 512, kBlockShift = 30;  // GiB
using Descriptor = uint64_t;
// A block with the access flag: normal memory, shared and cached (byte 0 of MAIR); device memory (byte 1), never run.
constexpr Descriptor kCached = 1 | 1 << 10 | 3 << 8, kDevice = 1 | 1 << 10 | 1 << 2 | 3ull << 53;
#else
constexpr int kBlocks = 4096, kBlockShift = 20;  // MiB
using Descriptor = uint32_t;
// A section with full access: normal memory, cached, write-back (TEX 001, C, B); device memory (B), never run.
constexpr Descriptor kCached = 2 | 3 << 10 | 1 << 12 | 3 << 2, kDevice = 2 | 3 << 10 | 1 << 2 | 1 << 4;
#endif

constexpr uint64_t kRamBegin = 0x40000000, kRamEnd = 0x80000000;  // of QEMU's machine virt

[[gnu::aligned(16384), gnu::section(".before_start")]] Descriptor g_blocks[kBlocks];

}  // namespace

// Every address maps to itself, RAM is cached. Without this all memory is device memory: every access is slow, and
// unaligned vector loads fault.
extern "C" void board_memory_on() {
  for (int i = 0; i < kBlocks; ++i) {
    const uint64_t address = static_cast<uint64_t>(i) << kBlockShift;
    g_blocks[i] = static_cast<Descriptor>(address) | (address >= kRamBegin && address < kRamEnd ? kCached : kDevice);
  }
  // SCTLR: memory management, data cache and instruction cache on; unaligned accesses do not fault.
  constexpr uint32_t kOn = 1u << 0 | 1u << 2 | 1u << 12, kStrict = 1u << 1;
#if defined(__aarch64__)
  const uint64_t kinds = 0x00ff;  // MAIR: write-back, allocating; device
  // TCR: 39 bits of address, walks cached and shared, no second table, 40 bits of physical address.
  const uint64_t walk = 25 | 1u << 8 | 1u << 10 | 3u << 12 | 1u << 23 | 2ull << 32;
  __asm__ volatile("msr mair_el1, %0\n msr tcr_el1, %1\n msr ttbr0_el1, %2" : : "r"(kinds), "r"(walk), "r"(g_blocks));
  __asm__ volatile("dsb sy\n tlbi vmalle1\n ic iallu\n dsb sy\n isb" : : : "memory");
  uint64_t control;
  __asm__ volatile("mrs %0, sctlr_el1" : "=r"(control));
  control = (control | kOn) & ~uint64_t{kStrict};
  __asm__ volatile("msr sctlr_el1, %0\n isb" : : "r"(control) : "memory");
#else
  __asm__ volatile("mcr p15, 0, %0, c2, c0, 0" : : "r"(g_blocks));  // TTBR0
  __asm__ volatile("mcr p15, 0, %0, c2, c0, 2" : : "r"(0));         // TTBCR: TTBR0 alone
  __asm__ volatile("mcr p15, 0, %0, c3, c0, 0" : : "r"(1));         // DACR: domain 0, by the sections' permissions
  __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" : : "r"(0));         // TLBIALL
  __asm__ volatile("mcr p15, 0, %0, c7, c5, 0" : : "r"(0));         // ICIALLU
  __asm__ volatile("dsb\n isb" : : : "memory");
  uint32_t control;
  __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
  control = (control | kOn) & ~kStrict;
  __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n isb" : : "r"(control) : "memory");
#endif
}

namespace board {

// PMCCNTR, the cycle counter.
Cost measure(void (*work)()) {
#if defined(__aarch64__)
  __asm__ volatile("msr pmccfiltr_el0, %0" : : "r"(uint64_t{0}));            // at every exception level
  __asm__ volatile("msr pmcntenset_el0, %0" : : "r"(uint64_t{1} << 31));     // the cycle counter ...
  __asm__ volatile("msr pmcr_el0, %0\n isb" : : "r"(uint64_t{1 | 1 << 6}));  // ... runs, with 64 bits
  uint64_t before, after;
  __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(before) : : "memory");
  work();
  __asm__ volatile("isb\n mrs %0, pmccntr_el0" : "=r"(after) : : "memory");
#else
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 1" : : "r"(1u << 31));  // PMCNTENSET: the cycle counter ...
  __asm__ volatile("mcr p15, 0, %0, c9, c12, 0\n isb" : : "r"(1));   // PMCR: ... runs
  uint32_t before, after;
  __asm__ volatile("mrc p15, 0, %0, c9, c13, 0" : "=r"(before) : : "memory");
  work();
  __asm__ volatile("isb\n mrc p15, 0, %0, c9, c13, 0" : "=r"(after) : : "memory");
#endif
  return {static_cast<uint32_t>(after - before), "cycles"};
}

}  // namespace board
