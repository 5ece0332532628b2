// SPDX-License-Identifier: Apache-2.0
//
// The model computed by fovea, a token at a time, in memory of a fixed size. The state of a layer of linear attention
// does not grow with the tokens; the keys and values of softmax attention are in a cache for kTokens.
#ifndef FOVEA_EXAMPLES_HYBRID_BLOCK_BLOCK_H_
#define FOVEA_EXAMPLES_HYBRID_BLOCK_BLOCK_H_

#include "fovea/fovea.hpp"
#include "model.h"

namespace hybrid_block {

// The state of a layer of linear attention after the tokens so far.
class DeltaLayer {
 public:
  static constexpr size_t kStateBytes = FOVEA_DELTA_STATE_BYTES(1, kValueHeads, kKeyDim, kValueDim, 1);

  fovea::Status begin();
  fovea::Status step(const DeltaWeights& weights, const float (&x)[kDim], float (&y)[kDim]);

 private:
  fovea::Memory<kStateBytes> memory_;
  fovea::DeltaState state_;
  float past_[kWidth - 1][kChannels];  // inputs of the convolution
};

// A layer of softmax attention, and its cache.
class AttentionLayer {
 public:
  static constexpr size_t kCacheBytes =
      FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, kKvHeads, kTokens, kHeadDim, kHeadDim);

  fovea::Status begin();
  fovea::Status step(const AttentionWeights& weights, int64_t position, const float (&x)[kDim], float (&y)[kDim]);

 private:
  fovea::Memory<kCacheBytes> memory_;
  fovea::KvCache cache_;
  fovea::AttentionPlan plan_;
  uint64_t turns_[kRotaryDim / 2];
};

class Block {
 public:
  fovea::Status begin();
  // Runs the next token and writes the model's output for it.
  fovea::Status step(const Model& model, const float (&x)[kDim], float (&out)[kDim]);

 private:
  DeltaLayer delta_[kDeltaLayers];
  AttentionLayer attention_;
  int64_t position_ = 0;
};

}  // namespace hybrid_block

#endif  // FOVEA_EXAMPLES_HYBRID_BLOCK_BLOCK_H_
