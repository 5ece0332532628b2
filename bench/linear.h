// SPDX-License-Identifier: Apache-2.0
//
// The timed calls of linear layers, with their buffers.
#ifndef FOVEA_BENCH_LINEAR_H_
#define FOVEA_BENCH_LINEAR_H_

#include "bench/subjects.h"
#include "bench/work.h"

namespace fovea::bench {

Work work_of(const LinearShape& shape, size_t workspace_bytes);

class LinearCall final : public Subject {
 public:
  void take(const LinearShape& shape, fovea_target target, Arena& arena);
  fovea_status init(const LinearShape& shape, fovea_target target, Arena& arena);  // also makes a first call
  void call() override;
  void redraw(uint32_t round) override;

 private:
  fovea_linear_args args_ = {};
  fovea_activation_args activation_ = {};  // where it is a call of its own
  bool apart_ = false;
  RandomFloats x_, bias_, scales_;
  uint32_t* weights_ = nullptr;  // the bytes of the rows, in words
  size_t words_ = 0;
  uint16_t* group_scales_ = nullptr;  // of i4
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_LINEAR_H_
