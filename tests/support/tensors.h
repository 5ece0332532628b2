// SPDX-License-Identifier: Apache-2.0
//
// Attention over tensors of int8. The reference uses the numbers that the codes stand for.
#pragma once

#include <cstdint>
#include <cstring>

#include "support/array.h"
#include "support/guarded.h"
#include "support/problem.h"

namespace fovea_test {

struct Zeros {
  int32_t q, key, value;
};

// The number of a code.
inline float number(float scale, int32_t zero, int8_t code) { return scale * float(code - zero); }

// A code that depends only on its place; the ends of the range are frequent.
inline int8_t code_at(uint64_t seed, uint64_t index) {
  const uint64_t bits = random_bits(seed, index);
  if (bits % 16 == 0) return bits / 16 % 2 != 0 ? int8_t{-128} : int8_t{127};
  return int8_t(bits / 16 % 256 - 128);
}

// A case whose queries, keys and values are codes, with the scales and zero points of its description. Tests may change
// these before the first run: see enter().
class Tensors : public AttentionCase {
 public:
  Tensors(const Problem& p, const Zeros& zeros) : AttentionCase(p) {
    const size_t rows = size_t{p.batch} * p.q_heads * p.q_tokens;
    codes_ = Guarded(rows * p.head_dim, 1, p.placement);
    const auto dim = ptrdiff_t(p.head_dim), tokens = ptrdiff_t(p.q_tokens);
    args.q = {codes_.as<void>(), tokens * ptrdiff_t(p.q_heads) * dim, tokens * dim, dim};
    desc.q_dtype = FOVEA_I8, desc.q_scale = 0.03f, desc.key_scale = 0.011f, desc.value_scale = 0.02f;
    desc.q_zero_point = zeros.q, desc.key_zero_point = zeros.key, desc.value_zero_point = zeros.value;
    args.kv.key_scales = {}, args.kv.value_scales = {};
    enter();
  }

  // Writes all codes, and their numbers into the reference's arrays.
  void enter() const {
    const Problem& p = problem;
    for (uint32_t b = 0; b < p.batch; ++b) {
      for (const auto& [h, i] : indices(p.q_heads, p.q_tokens)) {
        const float scale = args.q_scales.data != nullptr ? *row(args.q_scales, b, h, i) : desc.q_scale;
        enter_row(row_bytes(args.q, 1, b, h, i), q(b, h, i), q(0, 0, 0), p.head_dim, scale, desc.q_zero_point,
                  p.seed + 31);
      }
      for (const auto& [h, j] : indices(p.kv_heads, p.kv_tokens)) {
        enter_row(row_bytes(args.kv.keys, 1, b, h, j), key(b, h, j), key(0, 0, 0), p.head_dim, key_scale(b, h, j),
                  desc.key_zero_point, p.seed + 32);
        enter_row(row_bytes(args.kv.values, 1, b, h, j), value(b, h, j), value(0, 0, 0), p.value_dim,
                  value_scale(b, h, j), desc.value_zero_point, p.seed + 33);
        const float* const channels = args.value_channel_scales;
        for (uint32_t e = 0; channels != nullptr && e < p.value_dim; ++e) {
          value(b, h, j)[e] *= channels[ptrdiff_t(h) * args.value_channel_stride + int(e)];
        }
      }
    }
  }

 private:
  float key_scale(uint32_t b, uint32_t h, uint32_t j) const {
    return args.kv.key_scales.data != nullptr ? *row(args.kv.key_scales, b, h, j) : desc.key_scale;
  }
  float value_scale(uint32_t b, uint32_t h, uint32_t j) const {
    return args.kv.value_scales.data != nullptr ? *row(args.kv.value_scales, b, h, j) : desc.value_scale;
  }
  // A row's content depends on the place of its numbers in their array, which begins at `first`: neither on where its
  // codes are stored, nor on where the array is.
  static void enter_row(uint8_t* codes, float* numbers, const float* first, uint32_t dim, float scale, int32_t zero,
                        uint64_t seed) {
    const auto place = uint64_t(numbers - first);
    for (uint32_t d = 0; d < dim; ++d) {
      const int8_t code = code_at(seed, place + d);
      std::memcpy(codes + d, &code, 1);
      numbers[d] = number(scale, zero, code);
    }
  }

  Guarded codes_;
};

}  // namespace fovea_test
