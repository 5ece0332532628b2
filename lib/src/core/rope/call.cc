// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/rope/call.h"

namespace fovea {
namespace {

// cos and sin of a token's angles for some of its pairs.
void find_angles(const RopeCall& c, int64_t position, size_t first_pair, size_t pairs, float* cos, float* sin) {
  if (const uint64_t* const turns = turns_of(c)) {
    const uint64_t forward = uint64_t(position);
    c.kernels->angles(turns + first_pair, c.inverse ? 0 - forward : forward, pairs, cos, sin);
    return;
  }
  const ptrdiff_t at = ptrdiff_t(position) * c.table_stride + ptrdiff_t(first_pair);
  for (size_t i = 0; i < pairs; ++i) {
    cos[i] = c.cos[at + ptrdiff_t(i)];
    sin[i] = c.inverse ? -c.sin[at + ptrdiff_t(i)] : c.sin[at + ptrdiff_t(i)];
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

bool rope_position(const RopeCall& c, uint32_t entry, uint32_t token, int64_t* position) {
  if (c.position_ids) {
    *position = c.position_ids[ptrdiff_t(entry) * c.position_ids_stride + ptrdiff_t(token)];
  } else if (__builtin_add_overflow(c.positions ? c.positions[entry] : 0, int64_t(token), position)) {
    return false;
  }
  return !__builtin_add_overflow(*position, c.position_offset, position);
}

void run_rope(const RopeCall& c) {
  if (c.tokens == 0) return;
  const size_t all_pairs = c.rotary_dim / 2;
  const auto turn = c.interleaved ? c.kernels->interleaved : c.kernels->half_split;
  const size_t most_tokens = all_pairs < kRopePairs ? kRopePairs / all_pairs : 1;
  float cos[kRopePairs], sin[kRopePairs];  // [tokens][pairs]

  for (uint32_t entry = 0; entry < c.batch; ++entry) {
    for (size_t first = 0; first < c.tokens; first += most_tokens) {
      RopeRows rows;
      rows.in_head_stride = c.in.head_stride, rows.in_token_stride = c.in.token_stride;
      rows.out_head_stride = c.out.head_stride, rows.out_token_stride = c.out.token_stride;
      const ptrdiff_t b = ptrdiff_t(entry), t = ptrdiff_t(first);
      rows.in = static_cast<const float*>(c.in.data) + b * c.in.batch_stride + t * c.in.token_stride;
      rows.out = static_cast<float*>(c.out.data) + b * c.out.batch_stride + t * c.out.token_stride;
      rows.heads = c.heads;
      rows.tokens = c.tokens - first < most_tokens ? c.tokens - first : most_tokens;
      rows.distance = all_pairs;
      rows.cos = cos, rows.sin = sin;
      if (c.rotary_dim < c.dim && rows.in != rows.out) copy_rest(rows, c.rotary_dim, c.dim);
      for (size_t pair = 0; pair < all_pairs; pair += kRopePairs) {
        rows.pairs = all_pairs - pair < kRopePairs ? all_pairs - pair : kRopePairs;
        for (size_t token = 0; token < rows.tokens; ++token) {
          const size_t at = token * rows.pairs;
          int64_t position;
          rope_position(c, entry, uint32_t(first + token), &position);
          find_angles(c, position, pair, rows.pairs, cos + at, sin + at);
        }
        turn(rows);
        rows.in += c.interleaved ? 2 * kRopePairs : kRopePairs;
        rows.out += c.interleaved ? 2 * kRopePairs : kRopePairs;
      }
    }
  }
}

}  // namespace fovea
