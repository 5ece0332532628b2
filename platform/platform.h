// SPDX-License-Identifier: Apache-2.0
//
// What tests, benchmarks and examples ask of the machine they run on. The library itself asks nothing and never
// includes this. Each kind of machine has a folder with the same file names that implements it; CMake's FOVEA_PLATFORM
// names the folder.
#ifndef FOVEA_PLATFORM_PLATFORM_H_
#define FOVEA_PLATFORM_PLATFORM_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::platform {

// ------------------------------------------------------------------------------------------------ clock

// A count that grows while the program runs, from the finest clock there is. clock_unit() says what it counts: "ns",
// "cycles" of a processor whose speed is not known, "instructions" of an emulator. Never runs backwards. Some sources
// wrap, after 2^24 ticks of SysTick or 2^32 cycles of 32-bit processors: call it at least once in that time.
uint64_t clock_ticks();
const char* clock_unit();
const char* clock_source();  // "std::chrono::steady_clock", "DWT CYCCNT", ...

// Nanoseconds since some moment before the program began; never runs backwards. 0 where no clock tells time.
uint64_t clock_ns();

// ---------------------------------------------------------------------------------------------- stack

// How many bytes of stack were in use at most since stack_paint(), or since the program began, and how many are in use
// now: the difference is what a call in between took. 0 where that is not known.
void stack_paint();
size_t stack_used_bytes();
size_t stack_in_use_bytes();

// ---------------------------------------------------------------------------------------------- console

struct Console {
  bool terminal;     // stdout is a terminal, not a file or a pipe
  bool colours;      // it shows the 256-colour escapes, and the user did not refuse (NO_COLOR, see no-color.org)
  bool unicode;      // UTF-8 may be printed: the locale does not name another encoding
  unsigned columns;  // width of the terminal; 80 where it is not known
};

Console console();

// ---------------------------------------------------------------------------------------------- threads

// How many threads this program can run at once: at least 1.
uint32_t processor_threads();

// An executor (see fovea.h) of threads that wait for tasks, asleep after some microseconds without any. The thread that
// makes a call is worker 0 and takes its part. One call at a time.
class ThreadPool {
 public:
  // threads counts the caller's too: 1 starts none. Where the system has fewer threads, the pool has fewer.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Valid as long as the pool. Its workers are the threads.
  const fovea_executor& executor() const { return executor_; }

 private:
  class Threads;
  Threads* threads_;
  fovea_executor executor_;
};

// ------------------------------------------------------------------------------------------ environment

// The target that the user wants, from the environment variable FOVEA_TARGET ("avx2", "scalar", ...). Unset or empty:
// FOVEA_TARGET_BEST. If it names no target, or one that this build or processor does not have, the function says so on
// stderr with the names that would do, and returns kNoTarget; the program should then end with kExitUsage.
fovea_target target_from_environment();
constexpr fovea_target kNoTarget = FOVEA_TARGET_IS_32_BITS;
constexpr int kExitUsage = 2;

// What the system says that the processor has, for processor_features of fovea_attention_desc: FOVEA_FEATURE_... on
// AArch64 Linux, 0 elsewhere. FOVEA_FEATURE_NEON_IN_ORDER only if all its processors run instructions in order.
uint64_t processor_features();

// The targets that this build has and a processor with these features runs, best first, without those that run the
// kernels of another: what a program goes through that shows or tests each. FOVEA_TARGET_BEST when index is out of
// range. Calls whose arguments have processor_features take all of them; others those without features.
fovea_target target_with_kernels(uint32_t index, uint64_t features = 0);

// The processor's name, from its maker or the system; "unknown processor" where there is none. Never null.
const char* processor_name();

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_PLATFORM_H_
