// SPDX-License-Identifier: Apache-2.0
//
// Turns on the memory management unit and the caches: every address maps to itself, RAM is cached, the rest is devices.
// While they are off all memory is device memory, where unaligned accesses fault and every access is slow. Arm
// Architecture Reference Manual Armv7-A, B3.5, short descriptors: 4096 sections of 1 MiB.
#include <cstdint>

namespace {
[[gnu::aligned(16384), gnu::section(".bss.before_start")]] uint32_t g_sections[4096];

constexpr uint32_t kSection = 2, kFullAccess = 3u << 10;
constexpr uint32_t kCached = 1u << 12 | 3u << 2;        // TEX 001, C, B: normal, write-back, write-allocate
constexpr uint32_t kDevice = 1u << 2 | 1u << 4;         // B; execute never
constexpr uint32_t kRamBegin = 0x400, kRamEnd = 0x800;  // in MiB: the machine virt's first GiB of RAM
}  // namespace

extern "C" void fovea_protect_guard() {}  // sections are larger than the guard

extern "C" void fovea_memory_on() {
  for (uint32_t i = 0; i < 4096; ++i) {
    const uint32_t kind = i >= kRamBegin && i < kRamEnd ? kCached : kDevice;
    g_sections[i] = i << 20 | kSection | kFullAccess | kind;
  }
  __asm__ volatile("mcr p15, 0, %0, c2, c0, 0" : : "r"(g_sections));  // TTBR0
  __asm__ volatile("mcr p15, 0, %0, c2, c0, 2" : : "r"(0));           // TTBCR: TTBR0 alone
  __asm__ volatile("mcr p15, 0, %0, c3, c0, 0" : : "r"(1));           // DACR: domain 0, by the sections' permissions
  __asm__ volatile("mcr p15, 0, %0, c8, c7, 0" : : "r"(0));           // TLBIALL
  __asm__ volatile("mcr p15, 0, %0, c7, c5, 0" : : "r"(0));           // ICIALLU
  __asm__ volatile("dsb\n isb" : : : "memory");
  uint32_t control;
  __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));  // SCTLR
  control |= 1u << 0 | 1u << 2 | 1u << 12;                        // memory management, data cache, instruction cache
  control &= ~(1u << 1);                                          // unaligned accesses do not fault
  __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n isb" : : "r"(control) : "memory");
}
