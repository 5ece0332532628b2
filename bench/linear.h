// SPDX-License-Identifier: Apache-2.0
//
// The timed calls of linear layers, with their buffers.
#ifndef FOVEA_BENCH_LINEAR_H_
#define FOVEA_BENCH_LINEAR_H_

#include "bench/subjects.h"
#include "bench/work.h"

namespace fovea::bench {

Work work_of(const LinearShape& shape, size_t workspace_bytes);

class LinearCall final : public Timed {
 public:
  static size_t arena_bytes(const LinearShape& shape, fovea_target target);

  fovea_status init(const LinearShape& shape, fovea_target target, Arena& arena);  // also makes a first call
  void call() override;
  void redraw(uint32_t round) override;

  size_t workspace_bytes() const { return workspace_bytes_; }
  fovea_status status() const { return status_; }
  bool output_is_finite() const;

 private:
  void take(const LinearShape& shape, fovea_target target, Arena& arena);

  fovea_linear_args args_ = {};
  fovea_activation_args activation_ = {};  // where it is a call of its own
  bool apart_ = false;
  RandomFloats x_, bias_, scales_;
  uint32_t* weights_ = nullptr;  // the bytes of the rows, in words
  size_t words_ = 0;
  uint16_t* group_scales_ = nullptr;  // of i4
  float* y_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  fovea_status status_ = FOVEA_OK;
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_LINEAR_H_
