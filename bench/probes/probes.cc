// SPDX-License-Identifier: Apache-2.0
#include "bench/probes/probes.h"

#include <algorithm>
#include <initializer_list>

#include "bench/fma_probe/measure.h"
#include "bench/machine.h"
#include "bench/probes/kernels.h"

namespace fovea::bench {
namespace {

constexpr double kRunNs =
    250e3;  // the least time of a run; short, so that most runs end before another program is scheduled
constexpr int kMostRuns = 31, kFewestRuns = 9;
constexpr double kEnoughNs = 30e6;

// Median time of once(), in ns.
template <class Once>
double median_ns(const Once& once, Clock clock_ns) {
  const auto time_ns = [&](uint64_t times) {
    const uint64_t begin = clock_ns();
    for (uint64_t i = 0; i < times; ++i) once();
    return static_cast<double>(clock_ns() - begin);
  };
  uint64_t times = 1;
  for (double took = time_ns(times); took < kRunNs; took = time_ns(times)) times *= 2;
  double runs[kMostRuns], total = 0;
  int count = 0;
  while (count < kMostRuns && (count < kFewestRuns || total < kEnoughNs)) total += runs[count++] = time_ns(times);
  std::nth_element(runs, runs + count / 2, runs + count);
  return runs[count / 2] / static_cast<double>(times);
}

// Bytes that fit in this level and not in the one below it. The last cache is shared, so only a part of it is used.
size_t probe_bytes(Level level) {
  const size_t l1 = cache_bytes(1), l2 = cache_bytes(2), l3 = cache_bytes(3);
  size_t bytes = 0;
  switch (level) {
    case kL1: bytes = l1 / 2; break;
    case kL2: bytes = l2 ? std::max(l2 / 2, 2 * l1) : 0; break;
    case kL3: bytes = l3 ? std::max(l3 / 4, 2 * l2) : 0; break;
    case kDram: bytes = std::max<size_t>(4 * std::max(l2, l3), size_t{1} << 20); break;
    case kLevels: break;
  }
  return bytes / kReadGrain * kReadGrain;
}

}  // namespace

const char* name(Level level) {
  constexpr const char* kNames[] = {"l1", "l2", "l3", "dram", "?"};
  return kNames[level];
}

Level level_of(size_t working_set_bytes) {
  for (const Level level : {kL1, kL2, kL3}) {
    if (working_set_bytes <= cache_bytes(level + 1)) return level;
  }
  return kDram;
}

size_t read_probe_bytes() { return probe_bytes(kDram); }

double read_gbps(Level level, void* memory, Clock clock_ns, const fovea_executor* executor) {
  if (executor && level < kL3) return executor->workers * read_gbps(level, memory, clock_ns);
  const size_t parts = executor ? executor->workers : 1;
  const size_t bytes = probe_bytes(level) / parts / kReadGrain * kReadGrain;
  if (!bytes) return 0.0;
  struct Reader {
    unsigned char* memory;
    size_t bytes;
    volatile uint64_t result;
    static void read_part(void* self, size_t index, uint32_t) {
      Reader& reader = *static_cast<Reader*>(self);
      reader.result = read_all(reader.memory + index * reader.bytes, reader.bytes);
    }
  } reader = {static_cast<unsigned char*>(memory), bytes, 0};
  // The best of several: at times DRAM is read at half speed for some tens of milliseconds (seen on Zen 5).
  constexpr int kTries = 4;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double ns = median_ns(
        [&] {
          if (!executor) return Reader::read_part(&reader, 0, 0);
          executor->run(executor->self, parts, Reader::read_part, &reader);
        },
        clock_ns);
    best = std::max(best, static_cast<double>(parts * bytes) / ns);
  }
  return best;
}

double exp_geps(fovea_target target, Clock clock_ns) {
  const ExpLoop loop = exp_loop(target);
  if (!loop) return 0.0;
  constexpr size_t kCount = 2048;
  alignas(64) static float in[kCount], out[kCount];
  for (size_t i = 0; i < kCount; ++i) in[i] = -static_cast<float>(i % 97) * 0.13f;
  volatile float result = 0.0f;
  const double ns = median_ns(
      [&] {
        loop(out, in, kCount);
        result = out[kCount - 1];
      },
      clock_ns);
  return kCount / ns;
}

double integer_gops(fovea_target target, Clock clock_ns) {
  const IntegerLoop loop = integer_loop(target);
  return loop.run ? median_gflops(loop.run, loop.operations_a_round, clock_ns) : 0.0;
}

double timer_overhead_ns(Clock clock_ns) {
  return median_ns([&] { (void)clock_ns(); }, clock_ns);
}

fovea_target probe_target(fovea_target target, unsigned lanes) {
  const bool extends = target >= FOVEA_TARGET_AVX512_VNNI && target <= FOVEA_TARGET_NEON_IN_ORDER_I8MM;
  if (target != FOVEA_TARGET_XSIMD && !extends) return target;
#if defined(__aarch64__)
  return lanes == 4 ? FOVEA_TARGET_NEON : FOVEA_TARGET_SCALAR;
#else
  return lanes == 16  ? FOVEA_TARGET_AVX512
         : lanes == 8 ? FOVEA_TARGET_AVX2
         : lanes == 4 ? FOVEA_TARGET_SSE4
                      : FOVEA_TARGET_SCALAR;
#endif
}

}  // namespace fovea::bench
