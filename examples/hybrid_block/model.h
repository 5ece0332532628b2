// SPDX-License-Identifier: Apache-2.0
//
// The shapes and weights of a small model of four layers as in Qwen3.5 and Qwen3-Next: three of linear attention by the
// gated delta rule, then one of softmax attention; after each comes a gated layer of two products (SwiGLU).
#ifndef FOVEA_EXAMPLES_HYBRID_BLOCK_MODEL_H_
#define FOVEA_EXAMPLES_HYBRID_BLOCK_MODEL_H_

#include <cstddef>
#include <cstdint>

namespace hybrid_block {

constexpr uint32_t kLayers = 4, kDeltaLayers = 3, kDim = 32, kHidden = 64, kTokens = 48;
constexpr float kEpsilon = 1e-6f;  // of each normalisation

// Linear attention: two value heads share a head of queries and keys.
constexpr uint32_t kKeyHeads = 1, kValueHeads = 2, kKeyDim = 16, kValueDim = 16, kWidth = 4;
constexpr uint32_t kKeys = kKeyHeads * kKeyDim, kValues = kValueHeads * kValueDim;
constexpr uint32_t kChannels = 2 * kKeys + kValues;  // of the convolution: queries, keys, values

struct DeltaWeights {
  float in[kChannels][kDim], gate[kValues][kDim], beta[kValueHeads][kDim], decay[kValueHeads][kDim];
  float conv[kChannels][kWidth];
  float decay_rate[kValueHeads], decay_bias[kValueHeads];  // g = exp(-decay_rate * softplus(decay + decay_bias))
  float norm[kValueDim];
  float out[kDim][kValues];
};

// Softmax attention: two query heads share a key head. The first half of a row is rotated by its position.
constexpr uint32_t kQHeads = 2, kKvHeads = 1, kHeadDim = 16, kRotaryDim = 8;
constexpr uint32_t kQueries = kQHeads * kHeadDim, kKvs = kKvHeads * kHeadDim;

struct AttentionWeights {
  float q[kQueries][kDim], gate[kQueries][kDim], k[kKvs][kDim], v[kKvs][kDim];
  float q_norm[kHeadDim], k_norm[kHeadDim];
  float out[kDim][kQueries];
};

struct Model {
  DeltaWeights delta[kDeltaLayers];
  AttentionWeights attention;
  float norm[kLayers][kDim], mlp_norm[kLayers][kDim];
  float mlp_gate[kLayers][kHidden][kDim], mlp_up[kLayers][kHidden][kDim], mlp_down[kLayers][kDim][kHidden];
};

// The outputs of the model for all tokens, in double: plain loops over the whole sequence.
void reference(const Model& model, const float (&x)[kTokens][kDim], double (&out)[kTokens][kDim]);

}  // namespace hybrid_block

#endif  // FOVEA_EXAMPLES_HYBRID_BLOCK_MODEL_H_
