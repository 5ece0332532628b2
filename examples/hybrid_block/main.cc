// SPDX-License-Identifier: Apache-2.0
//
// Four layers as in Qwen3.5 and Qwen3-Next, with random weights: a token at a time from static memory, compared with
// the whole sequence in double. Exit code: 0, or 1 when an output is wrong or a call fails.
#include <cmath>
#include <cstdio>

#include "block.h"

namespace {

using namespace hybrid_block;

constexpr double kTolerance = 4e-6;  // as a fraction of the largest output

// All memory of the program except the workspace of block.cc. Nothing is allocated.
Model model;
Block block;
float inputs[kTokens][kDim];
double expected[kTokens][kDim];

// Random numbers of variance 1.
float next_number() {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f) * 1.7320508f;
}

void draw(float* x, size_t count, float size, float middle = 0) {
  for (size_t i = 0; i < count; ++i) x[i] = middle + size * next_number();
}
// Random weights for rows of kIn inputs.
template <size_t kOut, size_t kIn>
void draw(float (&weights)[kOut][kIn]) {
  draw(weights[0], kOut * kIn, 1 / std::sqrt(static_cast<float>(kIn)));
}

void draw_model() {
  for (DeltaWeights& w : model.delta) {
    draw(w.in), draw(w.gate), draw(w.beta), draw(w.decay), draw(w.conv), draw(w.out);
    draw(w.decay_rate, kValueHeads, 0.1f, 0.3f);
    draw(w.decay_bias, kValueHeads, 1.0f, -1.0f);
    draw(w.norm, kValueDim, 0.1f, 1.0f);
  }
  AttentionWeights& w = model.attention;
  draw(w.q), draw(w.gate), draw(w.k), draw(w.v), draw(w.out);
  draw(w.q_norm, kHeadDim, 0.1f, 1.0f);
  draw(w.k_norm, kHeadDim, 0.1f, 1.0f);
  draw(model.norm[0], kLayers * kDim, 0.1f, 1.0f);
  draw(model.mlp_norm[0], kLayers * kDim, 0.1f, 1.0f);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    draw(model.mlp_gate[layer]), draw(model.mlp_up[layer]), draw(model.mlp_down[layer]);
  }
  draw(inputs[0], kTokens * kDim, 1.0f);
}

int run() {
  draw_model();
  reference(model, inputs, expected);
  fovea::Status status = block.begin();
  double largest = 0, worst = 0;
  for (uint32_t t = 0; t < kTokens && status == FOVEA_OK; ++t) {
    float out[kDim] = {};
    status = block.step(model, inputs[t], out);
    for (uint32_t d = 0; d < kDim; ++d) {
      const double difference = std::fabs(static_cast<double>(out[d]) - expected[t][d]);
      if (!(difference <= worst)) worst = difference;  // a NaN too
      largest = std::fmax(largest, std::fabs(expected[t][d]));
    }
  }
  if (status != FOVEA_OK) {
    std::printf("hybrid_block: %s\n", fovea::to_string(status));
    return 1;
  }
  constexpr int layers = kLayers, tokens = kTokens, delta_layers = kDeltaLayers, cache = AttentionLayer::kCacheBytes;
  constexpr int state = DeltaLayer::kStateBytes + sizeof(float) * (kWidth - 1) * kChannels;
  std::printf("%d layers, %d tokens one at a time. Kept from token to token: %d bytes in each of %d layers of linear\n",
              layers, tokens, state, delta_layers);
  std::printf("attention, whatever the number of tokens, and %d in the cache of softmax attention.\n", cache);
  const bool right = worst <= kTolerance * largest;
  std::printf("Largest output %.3g, largest difference from plain loops in double %.2g: %s\n", largest, worst,
              right ? "right" : "WRONG");
  return right ? 0 : 1;
}

}  // namespace

int main() { return run(); }
