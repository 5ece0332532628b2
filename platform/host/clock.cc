// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "platform/platform.h"

namespace fovea::platform {
namespace {

enum class Source { kPerf, kTsc, kSteadyClock };

// A file that counts the cycles of the calling thread outside the kernel; -1 if the system does not allow that.
int open_cycles() {
#if defined(__linux__)
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.exclude_kernel = wanted.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
#else
  return -1;
#endif
}

uint64_t read_cycles([[maybe_unused]] int file) {
  uint64_t count = 0;
#if defined(__linux__)
  if (read(file, &count, sizeof count) != sizeof count) return 0;
#endif
  return count;
}

struct Counter {
  int file = open_cycles();
  Source source = Source::kSteadyClock;

  Counter() {
#if defined(__x86_64__) || defined(__i386__)
    source = Source::kTsc;
#endif
    const uint64_t before = file >= 0 ? read_cycles(file) : 0;
    if (file >= 0 && read_cycles(file) != before) source = Source::kPerf;  // on some machines it opens but never counts
  }
};

const Counter& counter() {
  static const Counter opened;
  return opened;
}

}  // namespace

uint64_t clock_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

uint64_t clock_ticks() {
  switch (counter().source) {
    case Source::kPerf: return read_cycles(counter().file);
#if defined(__x86_64__) || defined(__i386__)
    case Source::kTsc: return __rdtsc();
#endif
    default: return clock_ns();
  }
}

const char* clock_unit() {
  switch (counter().source) {
    case Source::kPerf: return "cycles";
    case Source::kTsc: return "ticks of the TSC";
    default: return "ns";
  }
}

const char* clock_source() {
  switch (counter().source) {
    case Source::kPerf: return "perf_event";
    case Source::kTsc: return "TSC";
    default: return "std::chrono::steady_clock";
  }
}

// The system does not say how much stack was used.
void stack_paint() {}
size_t stack_used_bytes() { return 0; }
size_t stack_in_use_bytes() { return 0; }

}  // namespace fovea::platform
