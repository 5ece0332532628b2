// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "rope/call.h"

namespace fovea {
namespace {

// cos and sin of a token's angles for some of its pairs.
void find_angles(const fovea_rope_args& a, int64_t position, size_t first_pair, size_t pairs,
                 const RopeKernels& kernels, float* cos, float* sin) {
  if (const uint64_t* const turns = turns_of(a)) {
    const uint64_t forward = uint64_t(position);
    kernels.angles(turns + first_pair, a.inverse ? 0 - forward : forward, pairs, cos, sin);
    return;
  }
  const ptrdiff_t at = ptrdiff_t(position) * a.table_stride + ptrdiff_t(first_pair);
  for (size_t i = 0; i < pairs; ++i) {
    cos[i] = a.cos[at + ptrdiff_t(i)];
    sin[i] = a.inverse ? -a.sin[at + ptrdiff_t(i)] : a.sin[at + ptrdiff_t(i)];
  }
}

// Copies the elements after those that are turned.
void copy_rest(const RopeRows& rows, size_t rotary_dim, size_t dim) {
  for (size_t head = 0; head < rows.heads; ++head) {
    for (size_t token = 0; token < rows.tokens; ++token) {
      const float* in = rows.in + ptrdiff_t(head) * rows.in_head_stride + ptrdiff_t(token) * rows.in_token_stride;
      float* out = rows.out + ptrdiff_t(head) * rows.out_head_stride + ptrdiff_t(token) * rows.out_token_stride;
      __builtin_memcpy(out + rotary_dim, in + rotary_dim, (dim - rotary_dim) * sizeof(float));
    }
  }
}

}  // namespace

void run_rope(const fovea_rope_args& a, const RopeKernels& kernels) {
  if (a.heads == 0 || a.tokens == 0) return;
  const size_t rotary_dim = a.rotary_dim ? a.rotary_dim : a.dim;
  const size_t all_pairs = rotary_dim / 2;
  const bool interleaved = a.layout == FOVEA_ROPE_INTERLEAVED;
  const auto turn = interleaved ? kernels.interleaved : kernels.half_split;
  const size_t most_tokens = all_pairs < kRopePairs ? kRopePairs / all_pairs : 1;
  float cos[kRopePairs], sin[kRopePairs];  // [tokens][pairs]

  for (uint32_t entry = 0; entry < a.batch; ++entry) {
    for (size_t first = 0; first < a.tokens; first += most_tokens) {
      RopeRows rows;
      rows.in_head_stride = a.in.head_stride, rows.in_token_stride = a.in.token_stride;
      rows.out_head_stride = a.out.head_stride, rows.out_token_stride = a.out.token_stride;
      const ptrdiff_t b = ptrdiff_t(entry), t = ptrdiff_t(first);
      rows.in = static_cast<const float*>(a.in.data) + b * a.in.batch_stride + t * a.in.token_stride;
      rows.out = static_cast<float*>(a.out.data) + b * a.out.batch_stride + t * a.out.token_stride;
      rows.heads = a.heads;
      rows.tokens = a.tokens - first < most_tokens ? a.tokens - first : most_tokens;
      rows.distance = all_pairs;
      rows.cos = cos, rows.sin = sin;
      if (rotary_dim < a.dim && rows.in != rows.out) copy_rest(rows, rotary_dim, a.dim);
      for (size_t pair = 0; pair < all_pairs; pair += kRopePairs) {
        rows.pairs = all_pairs - pair < kRopePairs ? all_pairs - pair : kRopePairs;
        for (size_t token = 0; token < rows.tokens; ++token) {
          const size_t at = token * rows.pairs;
          int64_t position;
          rope_position(a, entry, uint32_t(first + token), &position);
          find_angles(a, position, pair, rows.pairs, kernels, cos + at, sin + at);
        }
        turn(rows);
        rows.in += interleaved ? 2 * kRopePairs : kRopePairs;
        rows.out += interleaved ? 2 * kRopePairs : kRopePairs;
      }
    }
  }
}

}  // namespace fovea
