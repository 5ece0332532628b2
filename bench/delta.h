// SPDX-License-Identifier: Apache-2.0
//
// The timed calls of linear attention, with their state: each call continues the one before.
#ifndef FOVEA_BENCH_DELTA_H_
#define FOVEA_BENCH_DELTA_H_

#include "bench/subjects.h"
#include "bench/work.h"

namespace fovea::bench {

// Three products of head_dim x value_dim a token. A call reads and writes S; calls of one token write it only at every
// fourth token.
Work work_of(const DeltaShape& shape, size_t workspace_bytes);

class DeltaCall final : public Subject {
 public:
  void take(const DeltaShape& shape, fovea_target target, Arena& arena);
  fovea_status init(const DeltaShape& shape, fovea_target target, Arena& arena);  // also makes a first call
  void call() override;
  void redraw(uint32_t round) override;

 private:
  fovea_delta_args args_ = {};
  RandomFloats q_, k_, v_, decay_, beta_;
  size_t decay_count_ = 0, beta_count_ = 0;
  fovea_delta_state* state_ = nullptr;
  size_t state_bytes_ = 0;
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_DELTA_H_
