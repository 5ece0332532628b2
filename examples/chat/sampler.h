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
  float temperature = 0.0f;  // 0: the token with the highest score, always
  float top_p = 1.0f;        // the most likely tokens that together have this probability are chosen from
  uint64_t seed = 0;
};

class Sampler {
 public:
  Sampler(const Sampling& sampling, fovea_target target)
      : sampling_(sampling), target_(target), state_(sampling.seed) {}

  // Scores become probabilities if they are needed. FOVEA_ERR_NUMBER where they are no numbers.
  fovea_status choose(float* scores, uint32_t count, uint32_t* token);

 private:
  double uniform();  // [0, 1)

  Sampling sampling_;
  fovea_target target_;
  uint64_t state_;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_SAMPLER_H_
