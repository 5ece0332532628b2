// SPDX-License-Identifier: Apache-2.0
//
// The functions of a machine that tests, benchmarks and examples use. The library itself never includes this. Each kind
// of machine has a folder that implements it, with the same file names; CMake's FOVEA_PLATFORM names the folder.
#ifndef FOVEA_PLATFORM_PLATFORM_H_
#define FOVEA_PLATFORM_PLATFORM_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::platform {

// ------------------------------------------------------------------------------------------------ clock

// A count from the machine's finest clock, which never decreases. clock_unit() says what it counts: "ns", "cycles" of
// a processor whose speed is not known, "instructions" of an emulator. Some sources wrap, after 2^24 ticks of SysTick
// or 2^32 cycles of 32-bit processors: call it at least once in that time.
uint64_t clock_ticks();
const char* clock_unit();
const char* clock_source();  // "std::chrono::steady_clock", "DWT CYCCNT", ...

// Nanoseconds since a moment before the program began; never decreases. Always 0 if no clock measures time.
uint64_t clock_ns();

// ---------------------------------------------------------------------------------------------- stack

// The most bytes of stack in use since stack_paint(), or since the program began; and the bytes in use now. A call
// between needed at most the difference. 0 if not known.
void stack_paint();
size_t stack_used_bytes();
size_t stack_in_use_bytes();

// ---------------------------------------------------------------------------------------------- console

struct Console {
  bool terminal;     // stdout is a terminal, not a file or a pipe
  bool colours;      // it understands the 256-colour escapes, and NO_COLOR is not set (no-color.org)
  bool unicode;      // UTF-8 may be printed: the locale does not name another encoding
  unsigned columns;  // width of the terminal; 80 if not known
};

Console console();

// ---------------------------------------------------------------------------------------------- threads

// How many threads this program can run at once, of the processors that the system lets it use: at least 1.
uint32_t processor_threads();

// An executor (see fovea.h) of threads that wait for tasks, and sleep after some microseconds without any. The thread
// that makes a call is worker 0 and runs tasks, too. One call at a time.
class ThreadPool {
 public:
  // `threads` includes the caller's: 1 starts none. If the system refuses threads, the pool has fewer.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Valid as long as the pool. It has one worker for each thread.
  const fovea_executor& executor() const { return executor_; }

 private:
  class Threads;
  Threads* threads_;
  fovea_executor executor_;
};

// ------------------------------------------------------------------------------------------ environment

// The target that the user wants, from the environment variable FOVEA_TARGET ("avx2", "scalar", ...). Unset or empty:
// FOVEA_TARGET_BEST. If it names no target, or one that this build or processor does not have, the function prints that
// with the valid names to stderr and returns kNoTarget; the program should then end with kExitUsage.
fovea_target target_from_environment();
constexpr fovea_target kNoTarget = fovea_target(FOVEA_NO_TARGET);
constexpr int kExitUsage = 2;

// The processor's features by the system, for processor_features of fovea_attention_desc: FOVEA_FEATURE_... on AArch64
// Linux, 0 elsewhere. FOVEA_FEATURE_NEON_IN_ORDER only if all processors run instructions in order.
uint64_t processor_features();

// The targets of this build that have kernels of their own and that a processor with these features runs, best first:
// for programs that show or test each. FOVEA_TARGET_BEST if index is out of range. Only calls whose arguments have
// processor_features can use those that need features.
fovea_target target_with_kernels(uint32_t index, uint64_t features = 0);

// The processor's name, from the processor or the system; "unknown processor" if neither gives one. Never null.
const char* processor_name();

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_PLATFORM_H_
