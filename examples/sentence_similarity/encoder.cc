// SPDX-License-Identifier: Apache-2.0
#include "examples/sentence_similarity/encoder.h"

#include <algorithm>

#include "examples/sentence_similarity/rows.h"
#include "platform/platform.h"

namespace sentence_similarity {
namespace {

// Enough for weights of any format, and for products of integers and of halves. Those of f16 need less than those of f32.
constexpr size_t kMultiheadBytes =
    std::max<size_t>({FOVEA_MULTIHEAD_WORKSPACE_BYTES(kWidth, kHeads, kHeads, kHeadDim, kTokens, kTokens, FOVEA_F32),
                      FOVEA_MULTIHEAD_WORKSPACE_BYTES(kWidth, kHeads, kHeads, kHeadDim, kTokens, kTokens, FOVEA_I8),
                      FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(kWidth, kHeads, kHeads, kHeadDim, kTokens, kTokens) +
                          FOVEA_ATTENTION_I8_WORKSPACE_BYTES(kHeadDim, kHeadDim)});
constexpr size_t kLinearBytes =
    std::max<size_t>({FOVEA_LINEAR_WORKSPACE_BYTES(kHidden, FOVEA_F32), FOVEA_LINEAR_WORKSPACE_BYTES(kHidden, FOVEA_I8),
                      FOVEA_LINEAR_I8_WORKSPACE_BYTES(kHidden)});

// All activations. Arrays of one half of a layer share memory with those of the other half.
struct FeedForward {
  float hidden[kTokens][kHidden];
  alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[kLinearBytes];
};
struct Arena {
  alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char cache[FOVEA_KV_CACHE_BYTES(FOVEA_F16, FOVEA_F16, 1, kHeads, kTokens,
                                                                              kHeadDim, kHeadDim)];
  float x[kTokens][kWidth];      // the tokens
  float added[kTokens][kWidth];  // what half of a layer adds to them
  union {
    alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char attention[kMultiheadBytes];
    FeedForward feed_forward;
  };
};
alignas(FOVEA_WORKSPACE_ALIGNMENT) Arena arena;

// A linear layer in the arithmetic of the plan.
fovea_status linear(const fovea_multihead_plan& plan, float* y, uint32_t out_dim, const float* x, uint32_t in_dim,
                    uint32_t tokens, const fovea_linear_weights& weights,
                    fovea_activation_kind activation = FOVEA_ACTIVATION_IDENTITY) {
  fovea_linear_args args = {};
  args.struct_bytes = sizeof args;
  args.target = fovea_multihead_plan_desc(&plan)->attention.target;
  args.processor_features = fovea_multihead_plan_desc(&plan)->attention.processor_features;
  args.compute = fovea_multihead_plan_desc(&plan)->linear_compute;
  args.tokens = tokens;
  args.in_dim = in_dim;
  args.out_dim = out_dim;
  args.y = y;
  args.y_stride = out_dim;
  args.x = x;
  args.x_stride = in_dim;
  args.weights = weights;
  args.activation = activation;
  return fovea_linear(&args, arena.feed_forward.workspace, sizeof arena.feed_forward.workspace);
}

// x = norm(x + added): each row is scaled to mean 0 and variance 1; then each element is multiplied by a weight and added
// to a bias. x and added are [rows][kWidth].
fovea_status add_norm(const fovea_multihead_plan& plan, float* x, const float* added, const Norm& norm, uint32_t rows) {
  constexpr float kVarianceLeast = 1e-12f;  // layer_norm_eps of the model
  fovea_norm_args args = {};
  args.struct_bytes = sizeof args;
  args.target = fovea_multihead_plan_desc(&plan)->attention.target;
  args.norm = FOVEA_NORM_LAYER;
  args.epsilon = kVarianceLeast;
  args.batch = args.heads = 1;
  args.tokens = rows;
  args.dim = kWidth;
  args.y = {x, 0, 0, kWidth};
  args.x = {x, 0, 0, kWidth};
  args.residual = {added, 0, 0, kWidth};
  args.weight = norm.weight;
  args.bias = norm.bias;
  return fovea_norm(&args);
}

}  // namespace

size_t Encoder::arena_bytes() { return sizeof arena; }

fovea_status Encoder::init(const Model& model, fovea_target target, fovea_compute compute) {
  fovea_multihead_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.weight_dtype = model.dtype;
  desc.linear_compute = desc.attention.compute = compute;
  const fovea_dtype keys = compute == FOVEA_COMPUTE_I8    ? FOVEA_I8
                           : compute == FOVEA_COMPUTE_F16 ? FOVEA_F16
                                                          : FOVEA_F32;
  desc.attention.key_dtype = desc.attention.value_dtype = keys;
  desc.attention.struct_bytes = sizeof desc.attention;
  desc.attention.q_heads = desc.attention.kv_heads = kHeads;
  desc.attention.head_dim = desc.attention.value_dim = kHeadDim;
  desc.attention.max_batch = 1;
  desc.attention.max_q_tokens = desc.attention.max_kv_tokens = kTokens;
  desc.attention.target = target;
  desc.attention.processor_features = fovea::platform::processor_features();
  model_ = &model;
  const fovea_status status = fovea_multihead_plan_init(&plan_, &desc);
  return status == FOVEA_OK && keys != FOVEA_F32 ? init_cache(keys) : status;
}

fovea_status Encoder::init_cache(fovea_dtype dtype) {
  fovea_kv_cache_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.key_dtype = desc.value_dtype = dtype;
  desc.batch = 1;
  desc.kv_heads = kHeads;
  desc.head_dim = desc.value_dim = kHeadDim;
  desc.max_tokens = kTokens;
  return fovea_kv_cache_init(&cache_, &desc, arena.cache, sizeof arena.cache);
}

fovea_status Encoder::self_attention(const Layer& layer, uint32_t tokens) {
  fovea_multihead_args args = {};
  args.struct_bytes = sizeof args;
  args.attention.struct_bytes = sizeof args.attention;
  args.batch = 1;
  args.q_tokens = tokens;
  args.y = {arena.added, 0, 0, kWidth};
  args.x = {arena.x, 0, 0, kWidth};
  args.weights.qkv = layer.qkv;
  args.weights.out = layer.attention;
  if (fovea_kv_cache_arrays(&cache_)) {
    args.cache = &cache_;
    fovea_status status = fovea_kv_reset(&cache_, 0);
    if (status != FOVEA_OK) return status;
    status = fovea_multihead_append(&plan_, &cache_, &args, arena.attention, sizeof arena.attention);
    if (status != FOVEA_OK) return status;
  }
  return fovea_multihead(&plan_, &args, arena.attention, sizeof arena.attention);
}

fovea_status Encoder::encode(float (&embedding)[kWidth], const uint32_t* tokens, uint32_t count) {
  float *const x = arena.x[0], *const hidden = arena.feed_forward.hidden[0];
  for (uint32_t i = 0; i < count; ++i) take_row(arena.x[i], model_->words, tokens[i]);
  fovea_status status = add_norm(plan_, x, model_->positions, model_->embedding_norm, count);
  for (const Layer& layer : model_->layers) {
    float* const added = arena.added[0];
    if (status == FOVEA_OK) status = self_attention(layer, count);
    if (status == FOVEA_OK) status = add_norm(plan_, x, added, layer.attention_norm, count);
    if (status == FOVEA_OK) {
      status = linear(plan_, hidden, kHidden, x, kWidth, count, layer.hidden, FOVEA_ACTIVATION_GELU);
    }
    if (status == FOVEA_OK) status = linear(plan_, added, kWidth, hidden, kHidden, count, layer.out);
    if (status == FOVEA_OK) status = add_norm(plan_, x, added, layer.out_norm, count);
  }
  if (status != FOVEA_OK) return status;
  pool(embedding, x, count);
  return FOVEA_OK;
}

}  // namespace sentence_similarity
