// SPDX-License-Identifier: Apache-2.0
#include "block.h"

#include <cmath>

#include "platform/platform.h"

namespace hybrid_block {
namespace {

#define RETURN_IF_ERROR(call)                              \
  do {                                                     \
    const fovea::Status status_of_call = (call);           \
    if (status_of_call != FOVEA_OK) return status_of_call; \
  } while (false)

// One workspace for the calls of all layers, one after the other.
constexpr size_t larger(size_t a, size_t b) { return a > b ? a : b; }
fovea::Memory<larger(
    FOVEA_LINEAR_WORKSPACE_BYTES(kHidden, FOVEA_F32),
    larger(FOVEA_DELTA_WORKSPACE_BYTES(kKeyDim, 1), FOVEA_ATTENTION_KV_WORKSPACE_BYTES(kHeadDim, kHeadDim)))>
    workspace;

// y = weights x
template <size_t kOut, size_t kIn>
fovea::Status product(const float (&weights)[kOut][kIn], const float* x, float* y) {
  fovea::LinearArgs args;
  args.tokens = 1, args.in_dim = kIn, args.out_dim = kOut;
  args.x = x, args.x_stride = kIn;
  args.y = y, args.y_stride = kOut;
  args.weights = fovea::linear_weights(weights[0], kIn);
  args.processor_features = fovea::platform::processor_features();
  return fovea::linear(args, workspace);
}

// Rows of one token: [heads][dim].
template <class Args>
Args rows(float* y, const float* x, uint32_t heads, uint32_t dim) {
  Args args;
  args.batch = args.tokens = 1, args.heads = heads, args.dim = dim;
  args.x = fovea::tokens_first(x, 1, heads, dim);
  args.y = fovea::tokens_first(y, 1, heads, dim);
  return args;
}

fovea::Status normalize(float* y, const float* x, uint32_t heads, uint32_t dim, const float* weight,
                        const float* gate = nullptr) {
  auto args = rows<fovea::NormArgs>(y, x, heads, dim);
  args.norm = weight ? FOVEA_NORM_RMS : FOVEA_NORM_L2;
  args.epsilon = kEpsilon;
  args.weight = weight;
  if (gate) args.gate = fovea::tokens_first(gate, 1, heads, dim), args.gate_activation = FOVEA_ACTIVATION_SILU;
  return fovea::norm(args);
}

// y = activation(x) * factor
fovea::Status activate(float* y, const float* x, uint32_t dim, fovea_activation_kind activation, const float* factor) {
  auto args = rows<fovea::ActivationArgs>(y, x, 1, dim);
  args.activation = activation;
  if (factor) args.factor = fovea::tokens_first(factor, 1, 1, dim);
  return fovea::activation(args);
}

// Rotates the heads of one token by its position, in place.
fovea::Status turn(float* x, uint32_t heads, const uint64_t* turns, int64_t position) {
  fovea::RopeArgs args;
  args.batch = args.tokens = 1, args.heads = heads, args.dim = kHeadDim, args.rotary_dim = kRotaryDim;
  args.layout = FOVEA_ROPE_HALF_SPLIT, args.turns = turns, args.position_offset = position;
  args.x = fovea::tokens_first(x, 1, heads, kHeadDim);
  args.y = fovea::tokens_first(x, 1, heads, kHeadDim);
  return fovea::rope(args);
}

}  // namespace

fovea::Status DeltaLayer::begin() {
  for (auto& inputs : past_) {
    for (float& x : inputs) x = 0;
  }
  return state_.begin(memory_, 1, kValueHeads, kKeyDim, kValueDim);
}

fovea::Status DeltaLayer::step(const DeltaWeights& w, const float (&x)[kDim], float (&y)[kDim]) {
  float mixed[kChannels], gate[kValues], beta[kValueHeads], decay[kValueHeads], out[kValues];
  RETURN_IF_ERROR(product(w.in, x, mixed));
  RETURN_IF_ERROR(product(w.gate, x, gate));
  RETURN_IF_ERROR(product(w.beta, x, beta));
  RETURN_IF_ERROR(product(w.decay, x, decay));

  fovea::Conv1dArgs conv;
  conv.batch = conv.tokens = 1, conv.channels = kChannels, conv.kernel_size = kWidth, conv.silu = 1;
  conv.x = conv.y = mixed;
  conv.x_token_stride = conv.y_token_stride = kChannels, conv.x_channel_stride = conv.y_channel_stride = 1;
  conv.weight = w.conv[0], conv.weight_stride = kWidth;
  conv.state = past_[0];
  RETURN_IF_ERROR(fovea::conv1d(conv));

  RETURN_IF_ERROR(normalize(mixed, mixed, 2 * kKeyHeads, kKeyDim, nullptr));
  RETURN_IF_ERROR(activate(beta, beta, kValueHeads, FOVEA_ACTIVATION_SIGMOID, nullptr));
  for (uint32_t h = 0; h < kValueHeads; ++h) {
    decay[h] = -w.decay_rate[h] * std::log1p(std::exp(decay[h] + w.decay_bias[h]));
  }

  fovea::DeltaArgs args;
  args.rule = FOVEA_DELTA_RULE_GATED_DELTA;
  args.batch = args.tokens = 1;
  args.q_heads = args.k_heads = kKeyHeads, args.v_heads = kValueHeads;
  args.head_dim = kKeyDim, args.value_dim = kValueDim, args.decay_dim = 1;
  args.q = fovea::tokens_first(mixed, 1, kKeyHeads, kKeyDim);
  args.k = fovea::tokens_first(mixed + kKeys, 1, kKeyHeads, kKeyDim);
  args.v = fovea::tokens_first(mixed + 2 * kKeys, 1, kValueHeads, kValueDim);
  args.decay = fovea::tokens_first(decay, 1, kValueHeads, 1);
  args.beta = fovea::tokens_first(beta, 1, kValueHeads, 1);
  args.out = fovea::tokens_first(out, 1, kValueHeads, kValueDim);
  RETURN_IF_ERROR(state_.run(args, workspace));

  RETURN_IF_ERROR(normalize(out, out, kValueHeads, kValueDim, w.norm, gate));
  return product(w.out, out, y);
}

fovea::Status AttentionLayer::begin() {
  fovea::KvCacheDesc cache;
  cache.batch = 1, cache.kv_heads = kKvHeads, cache.max_tokens = kTokens;
  cache.head_dim = cache.value_dim = kHeadDim;
  RETURN_IF_ERROR(cache_.init(cache, memory_));
  fovea::AttentionDesc desc;
  RETURN_IF_ERROR(cache_.describe(desc));
  desc.q_heads = kQHeads, desc.max_batch = desc.max_q_tokens = 1;
  desc.processor_features = fovea::platform::processor_features();
  RETURN_IF_ERROR(plan_.init(desc));
  return fovea::rope_frequencies(turns_);
}

fovea::Status AttentionLayer::step(const AttentionWeights& w, int64_t position, const float (&x)[kDim],
                                   float (&y)[kDim]) {
  float q[kQueries], gate[kQueries], k[kKvs], v[kKvs], out[kQueries];
  RETURN_IF_ERROR(product(w.q, x, q));
  RETURN_IF_ERROR(product(w.gate, x, gate));
  RETURN_IF_ERROR(product(w.k, x, k));
  RETURN_IF_ERROR(product(w.v, x, v));
  RETURN_IF_ERROR(normalize(q, q, kQHeads, kHeadDim, w.q_norm));
  RETURN_IF_ERROR(normalize(k, k, kKvHeads, kHeadDim, w.k_norm));

  RETURN_IF_ERROR(turn(q, kQHeads, turns_, position));
  RETURN_IF_ERROR(turn(k, kKvHeads, turns_, position));

  fovea::KvAppendArgs append;
  append.batch = append.tokens = 1;
  append.keys = fovea::tokens_first(k, 1, kKvHeads, kHeadDim);
  append.values = fovea::tokens_first(v, 1, kKvHeads, kHeadDim);
  RETURN_IF_ERROR(cache_.append(append));
  fovea::AttentionArgs args;
  args.batch = args.q_tokens = 1;
  args.q = fovea::tokens_first(q, 1, kQHeads, kHeadDim);
  args.out = fovea::tokens_first(out, 1, kQHeads, kHeadDim);
  RETURN_IF_ERROR(cache_.attach(args));
  RETURN_IF_ERROR(plan_.run(args, workspace));

  RETURN_IF_ERROR(activate(out, gate, kQueries, FOVEA_ACTIVATION_SIGMOID, out));
  return product(w.out, out, y);
}

fovea::Status Block::begin() {
  position_ = 0;
  for (DeltaLayer& layer : delta_) RETURN_IF_ERROR(layer.begin());
  return attention_.begin();
}

fovea::Status Block::step(const Model& model, const float (&x)[kDim], float (&out)[kDim]) {
  for (uint32_t d = 0; d < kDim; ++d) out[d] = x[d];
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    float normed[kDim], added[kDim], gate[kHidden], up[kHidden];
    RETURN_IF_ERROR(normalize(normed, out, 1, kDim, model.norm[layer]));
    if (layer < kDeltaLayers) {
      RETURN_IF_ERROR(delta_[layer].step(model.delta[layer], normed, added));
    } else {
      RETURN_IF_ERROR(attention_.step(model.attention, position_, normed, added));
    }
    for (uint32_t d = 0; d < kDim; ++d) out[d] += added[d];
    RETURN_IF_ERROR(normalize(normed, out, 1, kDim, model.mlp_norm[layer]));
    RETURN_IF_ERROR(product(model.mlp_gate[layer], normed, gate));
    RETURN_IF_ERROR(product(model.mlp_up[layer], normed, up));
    RETURN_IF_ERROR(activate(up, gate, kHidden, FOVEA_ACTIVATION_SILU, up));
    RETURN_IF_ERROR(product(model.mlp_down[layer], up, added));
    for (uint32_t d = 0; d < kDim; ++d) out[d] += added[d];
  }
  ++position_;
  return FOVEA_OK;
}

}  // namespace hybrid_block
