/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_BENCH_COUNTS_NAIVE_H_
#define FOVEA_BENCH_COUNTS_NAIVE_H_

/* Dense arrays: queries and outputs [heads][q_tokens][dim], keys and values [heads][kv_tokens][dim]. mask
 * [q_tokens][kv_tokens] is added to scores; null = none. weights: room for kv_tokens. */
struct naive_call {
  int heads, q_tokens, kv_tokens, dim;
  const float *queries, *keys, *values, *mask;
  float *weights, *out;
};

void naive_attention(const struct naive_call* call);

#endif /* FOVEA_BENCH_COUNTS_NAIVE_H_ */
