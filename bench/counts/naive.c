/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention in its simplest form: for each query a loop over keys for scores, one for weights, one for values.
 * Compiled with -O2 in every build, so that bench/size.py can compare the library with it.
 */
#include "naive.h"

#include <math.h>

static void attend(const struct naive_call* call, const float* query, const float* keys, const float* values,
                   const float* mask, float* out) {
  const int dim = call->dim, kv_tokens = call->kv_tokens;
  float* weights = call->weights;
  const float scale = 1.0f / sqrtf((float)dim);
  float max = -INFINITY, sum = 0.0f;
  for (int j = 0; j < kv_tokens; ++j) {
    float score = 0.0f;
    for (int d = 0; d < dim; ++d) score += query[d] * keys[j * dim + d];
    weights[j] = score * scale;
    if (mask) weights[j] += mask[j];
    if (weights[j] > max) max = weights[j];
  }
  for (int j = 0; j < kv_tokens; ++j) {
    weights[j] = expf(weights[j] - max);
    sum += weights[j];
  }
  for (int e = 0; e < dim; ++e) {
    float o = 0.0f;
    for (int j = 0; j < kv_tokens; ++j) o += weights[j] * values[j * dim + e];
    out[e] = o / sum;
  }
}

void naive_attention(const struct naive_call* call) {
  for (int h = 0; h < call->heads; ++h) {
    const int first_key = h * call->kv_tokens * call->dim;
    for (int i = 0; i < call->q_tokens; ++i) {
      const int row = (h * call->q_tokens + i) * call->dim;
      attend(call, call->queries + row, call->keys + first_key, call->values + first_key,
             call->mask ? call->mask + i * call->kv_tokens : 0, call->out + row);
    }
  }
}
