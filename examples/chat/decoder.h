// SPDX-License-Identifier: Apache-2.0
//
// Runs a model: tokens in, scores of the next token out. Linear layers, attention, rope, normalisation and activation
// are the library's.
#ifndef FOVEA_EXAMPLES_CHAT_DECODER_H_
#define FOVEA_EXAMPLES_CHAT_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "examples/chat/cache_type.h"
#include "examples/chat/model.h"
#include "fovea/fovea.h"

namespace chat {

constexpr uint32_t kBlock = 64;  // most tokens of a run: a longer prompt takes several runs

struct Settings {
  fovea_target target = FOVEA_TARGET_BEST;
  // I8: attention, and linear layers with weights in groups, multiply integers; the bits are the same on every machine
  // with fused multiply-add. F32: all arithmetic is f32.
  fovea_compute compute = FOVEA_COMPUTE_I8;
  CacheType cache;
  uint32_t context = 2048;  // most tokens that the cache holds
  const fovea_executor* executor = nullptr;
};

class Decoder {
 public:
  // Bytes of memory that a decoder needs; 0 if the library refuses the model or the settings, or the count overflows.
  static size_t memory_bytes(const Model& model, const Settings& settings);

  // Keeps pointers to the model and the executor. Memory is aligned to FOVEA_WORKSPACE_ALIGNMENT.
  fovea_status init(const Model& model, const Settings& settings, void* memory, size_t bytes);

  // Runs 1 to kBlock more tokens, each below the vocabulary. FOVEA_ERR_FULL if the cache has no room.
  fovea_status run(const uint32_t* tokens, uint32_t count);
  // The scores of the token after token `index` of the last run: [vocabulary]. The caller may change them. Valid until
  // the next call.
  fovea_status logits(uint32_t index, float** scores);

  fovea_target target() const { return fovea_multihead_plan_desc(&plan_)->attention.target; }
  uint32_t length() const { return fovea_kv_cache_arrays(&caches_[0])->lengths[0]; }
  uint32_t room() const { return settings_.context - length(); }
  // Forgets all but the first `tokens` tokens.
  fovea_status truncate(uint32_t tokens);

  // Images of the keys and values of a layer's first tokens; FOVEA_ERR_STATE for those of another fingerprint.
  uint32_t layers() const { return model_->layers; }
  size_t image_bytes(uint32_t tokens) const;
  fovea_status write_image(uint32_t layer, uint32_t tokens, uint64_t fingerprint, void* image, size_t bytes) const;
  // Into a layer without tokens.
  fovea_status read_image(uint32_t layer, uint32_t tokens, uint64_t fingerprint, const void* image, size_t bytes);

 private:
  size_t carve(void* memory);
  size_t linear_bytes() const;
  fovea_status plan(const Model& model, const Settings& settings);
  uint32_t q_dim() const { return model_->q_heads * model_->head_dim; }
  uint32_t kv_dim() const { return model_->kv_heads * model_->head_dim; }
  fovea_status attend(const Layer& layer, fovea_kv_cache* cache, uint32_t count);
  fovea_status find_center(float* center, const fovea_rope_args& rope, uint32_t count) const;
  fovea_status feed_forward(const Layer& layer, uint32_t count);
  // y = norm(x), after x += added, unless that is null.
  fovea_status norm(float* y, float* x, const float* added, const float* weight, uint32_t count) const;
  fovea_status linear(float* y, const float* x, uint32_t inputs, uint32_t outputs, const fovea_linear_weights& weights,
                      uint32_t count) const;

  const Model* model_ = nullptr;
  Settings settings_;
  uint64_t features_ = 0;
  fovea_multihead_plan plan_ = {};
  fovea_kv_cache_desc kept_ = {};  // what each cache is for
  fovea_kv_cache caches_[kMostLayers] = {};

  // In the caller's memory.
  float* centers_ = nullptr;                                   // of centred keys: [layers][kv_dim]
  uint64_t* turns_ = nullptr;                                  // [rotary_dim / 2]
  float *x_ = nullptr, *normed_ = nullptr, *added_ = nullptr;  // [kBlock][width]
  // These share memory, one after the other: attention's arrays, [kBlock][q_dim or kv_dim], and its workspace;
  // [kBlock][hidden]; [vocabulary].
  float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *heads_ = nullptr;
  float *gate_ = nullptr, *up_ = nullptr;
  float* logits_ = nullptr;
  void *attention_ = nullptr, *linear_ = nullptr;  // workspaces
  size_t attention_bytes_ = 0, linear_bytes_ = 0;
};

}  // namespace chat

#endif  // FOVEA_EXAMPLES_CHAT_DECODER_H_
