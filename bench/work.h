// SPDX-License-Identifier: Apache-2.0
//
// Counts the work of a call.
#ifndef FOVEA_BENCH_WORK_H_
#define FOVEA_BENCH_WORK_H_

#include <cstddef>
#include <cstdint>

#include "bench/cases.h"
#include "fovea/fovea.h"

namespace fovea::bench {

// What a function of sizes writes for these arguments; 0 if it refuses them.
template <class Function, class... Arguments>
size_t bytes_of(Function function, Arguments... arguments) {
  size_t bytes = 0;
  return function(arguments..., &bytes) == FOVEA_OK ? bytes : 0;
}

struct Work {
  double flops;  // of the products that are needed: a pair of query and key that limits of position hide counts 0
  double bytes;  // queries, visible keys and values, masks and outputs, each once
  double working_set_bytes;  // the same, and the workspace
  uint64_t tiles;            // query tile x key tile pairs that the plan computes
  double row_fill;           // rows / rows rounded up to whole vectors, for one key head
};

Work work_of(const Shape& shape, const fovea_attention_plan& plan);
Work work_of(const SoftmaxShape& shape);  // only bytes

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_WORK_H_
