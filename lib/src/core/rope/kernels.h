// SPDX-License-Identifier: Apache-2.0
//
// The functions of the rope kernels.
#ifndef FOVEA_SRC_ROPE_KERNELS_H_
#define FOVEA_SRC_ROPE_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/targets/choice.h"

namespace fovea {

// Most angles that a call holds on its stack at a time: one for each pair of each token. A multiple of any vector.
constexpr size_t kRopePairs = 64;

// Rows [heads][tokens]. Some pairs of each are turned, by the angles of their token. `in` and `out` point to the first
// element of the first pair, and may be equal.
struct RopeRows {
  const float* in;
  float* out;
  ptrdiff_t in_head_stride, in_token_stride, out_head_stride, out_token_stride;
  size_t heads, tokens;
  size_t pairs;      // that are turned in each row
  size_t distance;   // elements between the two of a pair, where rows are split in halves
  const float* cos;  // [tokens][pairs]
  const float* sin;  // [tokens][pairs]
};

// Functions that this build leaves out are null.
struct RopeKernels {
  // cos and sin of position * turns[i]. A turn is 2^64, so a product that wraps around is still right.
  void (*angles)(const uint64_t* turns, uint64_t position, size_t pairs, float* cos, float* sin);
  void (*half_split)(const RopeRows&);
  void (*interleaved)(const RopeRows&);
};

FOVEA_TABLES(RopeKernels, kRope, rope_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ROPE_KERNELS_H_
