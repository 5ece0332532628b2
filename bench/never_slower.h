// SPDX-License-Identifier: Apache-2.0
//
// Whether an option is slower than what it replaces. Both are timed in turn, for some rounds.
#ifndef FOVEA_BENCH_NEVER_SLOWER_H_
#define FOVEA_BENCH_NEVER_SLOWER_H_

#include <cstddef>

namespace fovea::bench {

constexpr size_t kSlowerRounds = 5;
constexpr float kSlowerNoise = 1.05f;  // times that differ by less count as equal

// The times of a call, with the option and without it: one of each for every round.
struct InTurn {
  double with_option[kSlowerRounds], without[kSlowerRounds];

  // The shortest time with the option as a multiple of the shortest without it: other programs only lengthen times.
  double ratio() const;
};

// Whether a ratio is one of an option that is slower.
bool is_slower(double ratio);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_NEVER_SLOWER_H_
