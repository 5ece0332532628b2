// SPDX-License-Identifier: Apache-2.0
//
// Turns on the memory management unit and the caches: every address maps to itself, RAM is cached, the rest is devices.
// While they are off all memory is device memory, where unaligned accesses fault and every access is slow. Arm
// Architecture Reference Manual for A-profile, D8: 39 bits of address, 4 KiB granule, 512 blocks of 1 GiB.
#include <cstdint>

namespace {
[[gnu::aligned(4096), gnu::section(".bss.before_start")]] uint64_t g_blocks[512];

constexpr uint64_t kBlock = 1, kAccessed = 1u << 10, kShared = 3u << 8;
constexpr uint64_t kCached = 0u << 2, kDevice = 1u << 2;  // bytes 0 and 1 of MAIR
constexpr uint64_t kNeverRun = 3ull << 53;
constexpr uint64_t kRam = 1;  // the machine virt's first GiB of RAM
}  // namespace

extern "C" void fovea_protect_guard() {}  // blocks are larger than the guard

extern "C" void fovea_memory_on() {
  for (uint64_t i = 0; i < 512; ++i) {
    g_blocks[i] = i << 30 | kBlock | kAccessed | (i == kRam ? kShared | kCached : kDevice | kNeverRun);
  }
  const uint64_t kinds = 0x00ff;  // 0: normal, write-back, allocating; 1: device, nGnRnE
  // T0SZ = 64 - 39; walks are cached and shared; no second table; addresses of 40 bits.
  const uint64_t walk = 25 | 1u << 8 | 1u << 10 | 3u << 12 | 1u << 23 | 2ull << 32;
  __asm__ volatile("msr mair_el1, %0" : : "r"(kinds));
  __asm__ volatile("msr tcr_el1, %0" : : "r"(walk));
  __asm__ volatile("msr ttbr0_el1, %0" : : "r"(g_blocks));
  __asm__ volatile("dsb sy\n tlbi vmalle1\n ic iallu\n dsb sy\n isb" : : : "memory");
  uint64_t control;
  __asm__ volatile("mrs %0, sctlr_el1" : "=r"(control));
  control |= 1u << 0 | 1u << 2 | 1u << 12;  // memory management, data cache, instruction cache
  control &= ~uint64_t{2};                  // unaligned accesses do not fault
  __asm__ volatile("msr sctlr_el1, %0\n isb" : : "r"(control) : "memory");
}
