// SPDX-License-Identifier: Apache-2.0
#include "examples/attend_sentence/naive.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attend_sentence {

void naive_attention(float* out, const float* q, const float* k, const float* v, int heads, int q_tokens, int kv_tokens,
                     int head_dim) {
  static float weight[kNaiveMaxTokens];
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < q_tokens; ++i) {
      const float* query = q + (h * q_tokens + i) * head_dim;
      float largest = -std::numeric_limits<float>::infinity();
      for (int j = 0; j < kv_tokens; ++j) {
        const float* key = k + (h * kv_tokens + j) * head_dim;
        float dot = 0.0f;
        for (int d = 0; d < head_dim; ++d) dot += query[d] * key[d];
        weight[j] = dot * scale;
        largest = std::max(largest, weight[j]);
      }
      float sum = 0.0f;
      for (int j = 0; j < kv_tokens; ++j) {
        weight[j] = std::exp(weight[j] - largest);
        sum += weight[j];
      }
      float* row = out + (h * q_tokens + i) * head_dim;
      std::fill(row, row + head_dim, 0.0f);
      for (int j = 0; j < kv_tokens; ++j) {
        const float* value = v + (h * kv_tokens + j) * head_dim;
        for (int d = 0; d < head_dim; ++d) row[d] += weight[j] / sum * value[d];
      }
    }
  }
}

}  // namespace attend_sentence
