// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next token, with the steps and the values of llama.cpp, whose penalty was 1.1 until 2024 and is 1 now: with 1
// small models repeat themselves. The same scores, options and seed give the same
// tokens on every machine whose softmax has the same bits.
#ifndef FOVEA_EXAMPLES_CHAT_SAMPLER_H_
#define FOVEA_EXAMPLES_CHAT_SAMPLER_H_

#include <cstdint>

#include "fovea/fovea.h"

namespace chat {

// Each step keeps some of the tokens that the step before it kept. The temperature comes last.
struct Sampling {
  static constexpr uint32_t kMostTopK = 256;

  float temperature = 0.8f;     // 0: always the token with the highest score
  uint32_t top_k = 40;          // the likeliest tokens: 1 to kMostTopK
  float top_p = 0.95f;          // the likeliest tokens that together have this probability
  float min_p = 0.05f;          // tokens with at least this part of the highest probability
  float repeat_penalty = 1.1f;  // divides positive scores of the last kRepeated tokens, and multiplies negative ones
  uint64_t seed = 0;
};

class Sampler {
 public:
  Sampler(const Sampling& sampling, fovea_target target)
      : sampling_(sampling), target_(target), state_(sampling.seed) {}

  // May change scores. FOVEA_ERR_NUMBER if a score is NaN or infinite.
  fovea_status choose(float* scores, uint32_t count, uint32_t* token);

 private:
  static constexpr uint32_t kRepeated = 64;

  fovea_status weigh(const float* scores, const uint32_t* tokens, uint32_t count, float scale, float* weights) const;
  double uniform();  // [0, 1)

  Sampling sampling_;
  fovea_target target_;
  uint64_t state_;
  uint32_t last_[kRepeated] = {};  // the tokens that were chosen, in a ring
  uint32_t chosen_ = 0;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_SAMPLER_H_
