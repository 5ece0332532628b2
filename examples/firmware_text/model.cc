// SPDX-License-Identifier: Apache-2.0
#include "model.h"

namespace firmware_text {
namespace {

#define RETURN_IF_ERROR(call)                              \
  do {                                                     \
    const fovea::Status status_of_call = (call);           \
    if (status_of_call != FOVEA_OK) return status_of_call; \
  } while (false)

template <uint32_t kRows, uint32_t kColumns>
fovea_linear_weights weights_of(const Matrix<kRows, kColumns>& matrix) {
  fovea_linear_weights weights{};
  weights.dtype = FOVEA_I8;
  weights.data = matrix.codes;
  weights.row_stride = kColumns;
  weights.scales = matrix.scales;
  return weights;
}

}  // namespace

fovea::Status Model::begin(fovea::Target target, uint64_t processor_features, const PromptImages* after) {
  target_ = target, features_ = processor_features, position_ = 0;
  prefix_tokens_ = after ? kPromptTokens : 0;
  fovea::KvCacheDesc cache;
  cache.key_dtype = cache.value_dtype = FOVEA_I8;
  cache.batch = 1, cache.kv_heads = kKvHeads, cache.max_tokens = kTokens;
  cache.head_dim = cache.value_dim = kHeadDim;
  for (uint32_t i = 0; i < kLayers; ++i) {
    RETURN_IF_ERROR(caches_[i].init(cache, memory_[i]));
    if (!after) continue;
    fovea::KvImageArgs image;
    image.tokens = kPromptTokens, image.fingerprint = i;
    RETURN_IF_ERROR(fovea_kv_image_prefix(&caches_[i].get(), &image, (*after)[i], kPromptBytes, &prefixes_[i]));
  }

  fovea::MultiheadDesc desc;
  desc.d_model = kDim, desc.max_new_tokens = 1;
  desc.weight_dtype = FOVEA_I8, desc.linear_compute = FOVEA_COMPUTE_I8;
  RETURN_IF_ERROR(caches_[0].describe(desc.attention));
  desc.attention.q_heads = kQHeads, desc.attention.max_q_tokens = 1;
  desc.attention.compute = FOVEA_COMPUTE_I8, desc.attention.target = target_;
  desc.attention.processor_features = features_;
  desc.attention.max_prefix_tokens = prefix_tokens_;
  RETURN_IF_ERROR(attention_.init(desc));
  return fovea::rope_frequencies(turns_, kRopeBase);
}

fovea::Status Model::step(uint32_t token) {
  if (token >= kWords) return FOVEA_ERR_SIZE;
  for (uint32_t d = 0; d < kDim; ++d) {
    x_[d] = kWeights.words.scales[token] * static_cast<float>(kWeights.words.codes[token][d]);
  }
  for (uint32_t i = 0; i < kLayers; ++i) {
    RETURN_IF_ERROR(attend(i));
    RETURN_IF_ERROR(think(kWeights.layers[i]));
  }
  ++position_;
  RETURN_IF_ERROR(normalize(kWeights.norm));
  return product(kWeights.words, normed_, logits_);
}

// x += attention(norm(x)), over the keys and values of this token and all before it.
fovea::Status Model::attend(uint32_t layer) {
  const LayerWeights& weights = kWeights.layers[layer];
  RETURN_IF_ERROR(normalize(weights.attention_norm));
  fovea::RopeArgs rope;
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = kRotaryDim, rope.turns = turns_,
  rope.first_positions = &position_, rope.position_offset = prefix_tokens_;
  const fovea_kv_prefix* const prefix = &prefixes_[layer];
  fovea::MultiheadArgs args;
  args.batch = args.q_tokens = 1;
  args.x = fovea::tokens_of(normed_, 1, kDim);
  args.y = fovea::tokens_of(added_, 1, kDim);
  args.weights.qkv = weights_of(weights.qkv);
  args.weights.out = weights_of(weights.out);
  args.rope = &rope;
  RETURN_IF_ERROR(attention_.append(caches_[layer], args, workspace_));
  args.cache = &caches_[layer].get();
  if (prefix_tokens_ != 0) args.attention.kv.prefixes = &prefix;
  RETURN_IF_ERROR(attention_.run(args, workspace_));
  add();
  return FOVEA_OK;
}

// x += down(silu(gate(norm(x))) * up(norm(x)))
fovea::Status Model::think(const LayerWeights& weights) {
  RETURN_IF_ERROR(normalize(weights.mlp_norm));
  RETURN_IF_ERROR(product(weights.gate_up, normed_, gate_up_));
  fovea::ActivationArgs args;
  args.target = target_, args.activation = FOVEA_ACTIVATION_SILU;
  args.batch = args.heads = args.tokens = 1, args.dim = kHidden;
  args.x = fovea::tokens_of(gate_up_, 1, kHidden);
  args.y = fovea::tokens_of(gate_up_, 1, kHidden);
  args.factor = fovea::tokens_of(gate_up_ + kHidden, 1, kHidden);
  RETURN_IF_ERROR(fovea::activation(args));
  RETURN_IF_ERROR(product(weights.down, gate_up_, added_));
  add();
  return FOVEA_OK;
}

template <uint32_t kRows, uint32_t kColumns>
fovea::Status Model::product(const Matrix<kRows, kColumns>& weights, const float* x, float* y) {
  fovea::LinearArgs args;
  args.target = target_, args.processor_features = features_, args.compute = FOVEA_COMPUTE_I8;
  args.tokens = 1, args.in_dim = kColumns, args.out_dim = kRows;
  args.x = x, args.x_stride = kColumns;
  args.y = y, args.y_stride = kRows;
  args.weights = weights_of(weights);
  return fovea::linear(args, workspace_);
}

fovea::Status Model::normalize(const float (&weight)[kDim]) {
  fovea::NormArgs args;
  args.target = target_;
  args.norm = FOVEA_NORM_RMS, args.epsilon = kEpsilon, args.weight = weight;
  args.batch = args.heads = args.tokens = 1, args.dim = kDim;
  args.x = fovea::tokens_of(x_, 1, kDim);
  args.y = fovea::tokens_of(normed_, 1, kDim);
  return fovea::norm(args);
}

void Model::add() {
  for (uint32_t d = 0; d < kDim; ++d) x_[d] += added_[d];
}

}  // namespace firmware_text
