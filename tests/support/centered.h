// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/array.h"
#include "support/problem.h"

namespace fovea_test {

// Integer products whose queries are codes times 1/64, so that their conversion to codes is exact, and whose keys had a
// centre subtracted. The reference uses the keys before the subtraction.
class Centered : public AttentionCase {
 public:
  explicit Centered(const Problem& p) : AttentionCase(p), center_(size_t{p.kv_heads} * p.head_dim) {
    for (size_t i = 0; i < center_.size(); ++i) center_[i] = random_uniform(8, i, -3.0f, 3.0f);
    for (uint32_t b = 0; b < p.batch; ++b) {
      for (const auto& [h, i] : indices(p.q_heads, p.q_tokens)) enter_query(b, h, i);
      for (const auto& [h, j, d] : indices(p.kv_heads, p.kv_tokens, p.head_dim)) {
        key(b, h, j)[d] += center_[size_t{h} * p.head_dim + d];
      }
    }
    args.kv.key_center = center_.data();
  }

 private:
  void enter_query(uint32_t b, uint32_t h, uint32_t i) {
    for (uint32_t d = 0; d < problem.head_dim; ++d) {
      const uint64_t place = (uint64_t{b} * 100 + h) * 1000 + uint64_t{i} * 50 + d;
      const float code = d == 0 ? 127.0f : float(int(random_bits(9, place) % 255) - 127);
      row(args.q, b, h, i)[d] = q(b, h, i)[d] = code / 64;
    }
  }
  std::vector<float> center_;
};

}  // namespace fovea_test
