// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_LINEAR_CALL_H_
#define FOVEA_SRC_LINEAR_CALL_H_

#include "base/carver.h"
#include "fovea/fovea.h"
#include "linear/kernels.h"

namespace fovea {

// How a call is cut, by its shape and target.
struct LinearPlan {
  fovea_target target;
  uint32_t lanes;
  uint32_t tile_vectors;  // most vectors of tokens in a tile; 0 = they are few, and take no workspace
  uint32_t workers;
  size_t worker_bytes;  // of workspace
};

// The arrays of a tile of tokens: fills in the pointers of *tile, and returns where weights are widened to,
// [kLinearGrain][kLinearInputs], or null.
inline float* carve_token_tile(Carver& carver, const fovea_linear_args& args, size_t columns, TokenTile* tile) {
  tile->sums = carver.take<float>(columns, kLinearOutputs);
  tile->x = carver.take<float>(columns, args.in_dim);
  return args.weights.dtype == FOVEA_F32 ? nullptr : carver.take<float>(kLinearInputs, kLinearGrain);
}

inline CheckedSize measure_token_tile(const fovea_linear_args& args, size_t columns) {
  Carver carver(nullptr);
  TokenTile tile;
  carve_token_tile(carver, args, columns, &tile);
  return carver.slow_bytes();
}

// After every check. Fails only where an executor does.
fovea_status run_linear(const LinearPlan& plan, const fovea_linear_args& args, void* workspace);

}  // namespace fovea

#endif  // FOVEA_SRC_LINEAR_CALL_H_
