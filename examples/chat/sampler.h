// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next token. The same scores, options and seed give the same tokens on every machine whose softmax has the
// same bits.
#ifndef FOVEA_EXAMPLES_CHAT_SAMPLER_H_
#define FOVEA_EXAMPLES_CHAT_SAMPLER_H_

#include <cstdint>

#include "fovea/fovea.h"

namespace chat {

struct Sampling {
  float temperature = 0.0f;  // 0: always the token with the highest score
  float top_p = 1.0f;        // chooses among the most likely tokens that together have this probability
  uint64_t seed = 0;
};

class Sampler {
 public:
  Sampler(const Sampling& sampling, fovea_target target)
      : sampling_(sampling), target_(target), state_(sampling.seed) {}

  // May replace scores by probabilities. FOVEA_ERR_NUMBER if a score is NaN or infinite.
  fovea_status choose(float* scores, uint32_t count, uint32_t* token);

 private:
  double uniform();  // [0, 1)

  Sampling sampling_;
  fovea_target target_;
  uint64_t state_;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_SAMPLER_H_
