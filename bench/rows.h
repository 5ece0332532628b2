// SPDX-License-Identifier: Apache-2.0
//
// The timed calls of a layer's operations other than attention: normalisation, activation and the short convolution.
#ifndef FOVEA_BENCH_ROWS_H_
#define FOVEA_BENCH_ROWS_H_

#include "bench/subjects.h"
#include "bench/work.h"

namespace fovea::bench {

Work work_of(const RowsShape& shape);  // only bytes: of inputs and outputs

class RowsCall final : public Subject {
 public:
  void take(const RowsShape& shape, Arena& arena);
  fovea_status init(const RowsShape& shape, fovea_target target, Arena& arena);  // also makes a first call
  void call() override;
  void redraw(uint32_t round) override;

 private:
  void describe(fovea_target target);
  fovea_status call_once() const;

  RowsShape shape_;
  fovea_norm_args norm_ = {};
  fovea_activation_args activation_ = {};
  fovea_conv1d_args conv_ = {};
  RandomFloats x_, other_, weight_, state_;  // other_: the gate or the factor
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_ROWS_H_
