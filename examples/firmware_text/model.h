// SPDX-License-Identifier: Apache-2.0
//
// The model, a token at a time. Linear layers and attention multiply bytes, and keys and values are stored as bytes. A
// Model is all the memory that this needs in addition to the weights and some stack.
#ifndef FOVEA_EXAMPLES_FIRMWARE_TEXT_MODEL_H_
#define FOVEA_EXAMPLES_FIRMWARE_TEXT_MODEL_H_

#include "fovea/fovea.hpp"
#include "weights.h"

namespace firmware_text {

class Model {
 public:
  static constexpr size_t kCacheBytes =
      FOVEA_KV_CACHE_BYTES(FOVEA_I8, FOVEA_I8, 1, kKvHeads, kTokens, kHeadDim, kHeadDim);  // of a layer

  // Makes plans and empty caches; forgets all tokens. after: images of the first kPromptTokens tokens of kPrompt, which then come
  // before all others and are read where they are; FOVEA_ERR_LEFT_OUT where the library has no prefixes.
  fovea::Status begin(fovea::Target target = FOVEA_TARGET_BEST, uint64_t processor_features = 0,
                      const PromptImages* after = nullptr);
  // Runs the next token, a number below kWords; FOVEA_ERR_FULL after kTokens of them.
  fovea::Status step(uint32_t token);
  // The target that computes.
  fovea::Target target() const { return attention_.desc()->attention.target; }
  const fovea::KvCache& cache(uint32_t layer) const { return caches_[layer]; }
  // The score of each word as the one after the last token.
  const float (&logits() const)[kWords] { return logits_; }

 private:
  static constexpr size_t kAttentionBytes =
      FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(kDim, kQHeads, kKvHeads, kHeadDim, 1, 1) +
      FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(kHeadDim, kHeadDim, kQHeads / kKvHeads);
  static constexpr size_t kLinearBytes = FOVEA_LINEAR_I8_WORKSPACE_BYTES(kHidden);

  fovea::Status attend(uint32_t layer);
  fovea::Status think(const LayerWeights& weights);
  fovea::Status normalize(const float (&weight)[kDim]);
  template <uint32_t kRows, uint32_t kColumns>
  fovea::Status product(const Matrix<kRows, kColumns>& weights, const float* x, float* y);
  void add();

  // Shared by all calls, one after the other.
  fovea::Memory<(kAttentionBytes > kLinearBytes ? kAttentionBytes : kLinearBytes)> workspace_;
  fovea::Memory<kCacheBytes> memory_[kLayers];
  fovea::KvCache caches_[kLayers];
  fovea::Multihead attention_;  // one plan for all layers
  fovea::Target target_ = FOVEA_TARGET_BEST;
  uint64_t features_ = 0;
  uint64_t turns_[kRotaryDim / 2];
  fovea::KvPrefix prefixes_[kLayers];
  uint32_t prefix_tokens_ = 0;  // of each
  int64_t position_ = 0;        // of the next token, from the end of the prefix
  float x_[kDim];               // the token between layers
  float normed_[kDim], added_[kDim], gate_up_[2 * kHidden], logits_[kWords];
};

}  // namespace firmware_text

#endif  // FOVEA_EXAMPLES_FIRMWARE_TEXT_MODEL_H_
