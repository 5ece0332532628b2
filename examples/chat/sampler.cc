// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/sampler.h"

#include <algorithm>

namespace chat {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
double Sampler::uniform() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t x = state_;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53;
}

// The softmax of the scores of these tokens, times `scale`.
fovea_status Sampler::weigh(const float* scores, const uint32_t* tokens, uint32_t count, float scale,
                            float* weights) const {
  for (uint32_t i = 0; i < count; ++i) weights[i] = scores[tokens[i]];
  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args;
  args.target = target_;
  args.y = weights;
  args.x = weights;
  args.y_axis_stride = args.x_axis_stride = 1;
  args.outer = args.inner = 1;
  args.axis = count;
  args.scale = scale;
  return fovea_softmax(&args);
}

fovea_status Sampler::choose(float* scores, uint32_t count, uint32_t* token) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!(scores[i] - scores[i] == 0.0f)) return FOVEA_ERR_NUMBER;
  }
  const uint32_t* const last = last_ + std::min(chosen_, kRepeated);
  for (const uint32_t* each = last_; each != last; ++each) {
    if (std::find(each + 1, last, *each) != last) continue;  // once for each token
    float& score = scores[*each];
    score = score > 0.0f ? score / sampling_.repeat_penalty : score * sampling_.repeat_penalty;
  }

  // The likeliest tokens in their order, of equal ones the first.
  uint32_t tokens[Sampling::kMostTopK] = {}, kept = 0;
  const uint32_t most = sampling_.temperature == 0.0f ? 1 : sampling_.top_k;
  for (uint32_t i = 0; i < count; ++i) {
    if (kept == most && !(scores[i] > scores[tokens[kept - 1]])) continue;
    uint32_t at = kept < most ? kept++ : most - 1;
    for (; at != 0 && scores[i] > scores[tokens[at - 1]]; --at) tokens[at] = tokens[at - 1];
    tokens[at] = i;
  }
  uint32_t choice = 0;
  if (sampling_.temperature != 0.0f) {
    float weights[Sampling::kMostTopK];
    fovea_status status = weigh(scores, tokens, kept, 1.0f, weights);
    double sum = double{weights[0]};
    uint32_t more = 1;
    while (more < kept && sum < double{sampling_.top_p} && weights[more] >= sampling_.min_p * weights[0]) {
      sum += double{weights[more++]};
    }
    if (status == FOVEA_OK) status = weigh(scores, tokens, more, 1.0f / sampling_.temperature, weights);
    if (status != FOVEA_OK) return status;
    for (double left = uniform() - double{weights[0]}; left >= 0.0 && choice + 1 < more;) {
      left -= double{weights[++choice]};
    }
  }
  *token = tokens[choice];
  last_[chosen_++ % kRepeated] = *token;
  return FOVEA_OK;
}

}  // namespace chat
