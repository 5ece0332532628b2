// SPDX-License-Identifier: Apache-2.0
//
// The seam of the rope family.
#ifndef FOVEA_SRC_ROPE_KERNELS_H_
#define FOVEA_SRC_ROPE_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "targets/choice.h"

namespace fovea {

// Most pairs whose angles are held at a time, over all tokens: a multiple of any vector.
constexpr size_t kRopePairs = 64;

// Rows [heads][tokens] of which some pairs are turned, each token by angles of its own. `in` and `out` are the first
// element of the first pair, and may be the same place.
struct RopeRows {
  const float* in;
  float* out;
  ptrdiff_t in_head_stride, in_token_stride, out_head_stride, out_token_stride;
  size_t heads, tokens;
  size_t pairs;      // of a row, that are turned
  size_t distance;   // elements between the two of a pair, where rows are split in halves
  const float* cos;  // [tokens][pairs]
  const float* sin;  // [tokens][pairs]
};

// Null where this build leaves it out.
struct RopeKernels {
  // cos and sin of position * turns[i]. A turn is 2^64, so nothing is lost where the product wraps around.
  void (*angles)(const uint64_t* turns, uint64_t position, size_t pairs, float* cos, float* sin);
  void (*half_split)(const RopeRows&);
  void (*interleaved)(const RopeRows&);
};

FOVEA_TABLES(RopeKernels, kRope, rope_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ROPE_KERNELS_H_
