// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXAMPLES_ATTEND_SENTENCE_NAIVE_H_
#define FOVEA_EXAMPLES_ATTEND_SENTENCE_NAIVE_H_

namespace attend_sentence {

inline constexpr int kNaiveMaxTokens = 512;

// Attention written directly from the formula, to be timed and compared with the library. All arrays
// [heads][tokens][head_dim].
void naive_attention(float* out, const float* q, const float* k, const float* v, int heads, int q_tokens, int kv_tokens,
                     int head_dim);

}  // namespace attend_sentence

#endif  // FOVEA_EXAMPLES_ATTEND_SENTENCE_NAIVE_H_
