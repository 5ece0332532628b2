// SPDX-License-Identifier: Apache-2.0
#include "examples/chat/decoder.h"

#include <algorithm>
#include <cstring>

#include "platform/platform.h"

namespace chat {
namespace {

constexpr uint64_t kRotationSeed = 1;    // any, if it stays
constexpr uint32_t kFewestForMean = 16;  // tokens of a first run whose keys have a mean that is worth subtracting

// Divides memory into arrays. Without memory it only counts the bytes; the count saturates at kTooMany.
class Carver {
 public:
  static constexpr size_t kTooMany = SIZE_MAX;

  explicit Carver(void* memory) : memory_(static_cast<unsigned char*>(memory)) {}
  size_t bytes() const { return at_; }
  void go_to(size_t at) {
    if (at_ != kTooMany) at_ = at;
  }

  void* take(size_t bytes) {
    void* const array = memory_ != nullptr ? memory_ + at_ : nullptr;
    constexpr size_t kMore = FOVEA_WORKSPACE_ALIGNMENT - 1;
    size_t end;
    if (__builtin_add_overflow(at_, bytes, &end) || __builtin_add_overflow(end, kMore, &end)) {
      at_ = kTooMany;
    } else {
      at_ = end / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
    }
    return array;
  }
  template <class T>
  T* take(size_t rows, size_t columns) {
    size_t bytes;
    if (__builtin_mul_overflow(rows, columns, &bytes) || __builtin_mul_overflow(bytes, sizeof(T), &bytes)) {
      bytes = kTooMany;
    }
    return static_cast<T*>(take(bytes));
  }

 private:
  unsigned char* memory_;
  size_t at_ = 0;
};

bool in_groups(fovea_dtype dtype) { return dtype >= FOVEA_Q8_0; }

fovea_linear_args linear_args(const Settings& settings, uint64_t features, const fovea_linear_weights& weights,
                              uint32_t inputs, uint32_t outputs, uint32_t tokens) {
  fovea_linear_args args = {};
  args.struct_bytes = sizeof args;
  args.target = settings.target;
  args.processor_features = features;
  const bool integers = settings.compute == FOVEA_COMPUTE_I8 && in_groups(weights.dtype);
  args.compute = integers ? FOVEA_COMPUTE_I8 : FOVEA_COMPUTE_F32;
  args.tokens = tokens;
  args.in_dim = inputs;
  args.out_dim = outputs;
  args.y_stride = outputs;
  args.x_stride = inputs;
  args.weights = weights;
  args.executor = settings.executor;
  return args;
}

fovea_kv_image_args image_args(uint32_t layer, uint32_t tokens, uint64_t fingerprint) {
  fovea_kv_image_args args = {};
  args.struct_bytes = sizeof args;
  args.tokens = tokens;
  args.fingerprint = fingerprint + layer;
  return args;
}

}  // namespace

size_t Decoder::memory_bytes(const Model& model, const Settings& settings) {
  Decoder decoder;
  if (decoder.plan(model, settings) != FOVEA_OK) return 0;
  const size_t bytes = decoder.carve(nullptr);
  return bytes != Carver::kTooMany ? bytes : 0;
}

fovea_status Decoder::plan(const Model& model, const Settings& settings) {
  model_ = &model;
  settings_ = settings;
  features_ = fovea::platform::processor_features();
  fovea_multihead_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.d_model = q_dim();
  desc.key_model = desc.value_model = kv_dim();
  desc.max_new_tokens = kBlock;
  fovea_attention_desc& d = desc.attention;
  d.struct_bytes = sizeof d;
  d.q_heads = model.q_heads;
  d.kv_heads = model.kv_heads;
  d.head_dim = d.value_dim = model.head_dim;
  d.max_batch = 1;
  d.max_q_tokens = kBlock;
  d.max_kv_tokens = settings.context;
  d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  d.key_dtype = d.value_dtype = settings.cache.dtype;
  d.hadamard = settings.cache.hadamard, d.hadamard_seed = kRotationSeed;
  d.compute = settings.compute;
  d.target = settings.target;
  d.processor_features = features_;
  d.max_workers = settings.executor != nullptr ? settings.executor->workers : 1;
  kept_ = {};
  kept_.struct_bytes = sizeof kept_;
  kept_.key_dtype = kept_.value_dtype = settings.cache.dtype;
  kept_.hadamard = settings.cache.hadamard, kept_.hadamard_seed = kRotationSeed;
  kept_.batch = 1;
  kept_.kv_heads = model.kv_heads;
  kept_.head_dim = kept_.value_dim = model.head_dim;
  kept_.max_tokens = settings.context;
  return fovea_multihead_plan_init(&plan_, &desc);
}

size_t Decoder::carve(void* memory) {
  const Model& m = *model_;
  Carver carver(memory);
  centers_ = settings_.cache.centered ? carver.take<float>(m.layers, kv_dim()) : nullptr;
  for (uint32_t i = 0; i < m.layers; ++i) {
    if (centers_ != nullptr) kept_.key_center = centers_ + size_t{i} * kv_dim();
    size_t bytes = Carver::kTooMany;  // remains where the cache is refused
    fovea_kv_cache_bytes(&kept_, &bytes);
    void* const rows = carver.take(bytes);
    if (memory != nullptr) fovea_kv_cache_init(&caches_[i], &kept_, rows, bytes);  // cannot fail: planned so
  }
  turns_ = carver.take<uint64_t>(1, m.rotary_dim / 2);
  x_ = carver.take<float>(kBlock, m.width);
  normed_ = carver.take<float>(kBlock, m.width);
  added_ = carver.take<float>(kBlock, m.width);

  linear_bytes_ = linear_bytes();
  linear_ = carver.take(linear_bytes_);

  const size_t shared = carver.bytes();  // shared by attention, the feed-forward half and the scores, in turn
  q_ = carver.take<float>(kBlock, q_dim());
  k_ = carver.take<float>(kBlock, kv_dim());
  v_ = carver.take<float>(kBlock, kv_dim());
  heads_ = carver.take<float>(kBlock, q_dim());
  fovea_multihead_workspace_bytes(&plan_, &attention_bytes_);
  attention_ = carver.take(attention_bytes_);
  const size_t end = carver.bytes();
  carver.go_to(shared);
  logits_ = carver.take<float>(1, m.vocabulary);
  const size_t scores_end = carver.bytes();
  carver.go_to(shared);
  gate_ = carver.take<float>(kBlock, m.hidden);
  up_ = carver.take<float>(kBlock, m.hidden);
  return std::max({end, scores_end, carver.bytes()});
}

// The most that a linear layer needs.
size_t Decoder::linear_bytes() const {
  const Model& m = *model_;
  size_t bytes = 0;
  const auto serve = [&](const fovea_linear_weights& weights, uint32_t inputs, uint32_t outputs, uint32_t tokens) {
    const fovea_linear_args args = linear_args(settings_, features_, weights, inputs, outputs, tokens);
    size_t needed = 0;
    fovea_linear_workspace_bytes(&args, &needed);
    bytes = std::max(bytes, needed);
  };
  for (uint32_t i = 0; i < m.layers; ++i) {
    const Layer& layer = m.layer[i];
    serve(layer.q, m.width, q_dim(), kBlock);
    serve(layer.k, m.width, kv_dim(), kBlock);
    serve(layer.v, m.width, kv_dim(), kBlock);
    serve(layer.out, q_dim(), m.width, kBlock);
    serve(layer.gate, m.width, m.hidden, kBlock);
    serve(layer.up, m.width, m.hidden, kBlock);
    serve(layer.down, m.hidden, m.width, kBlock);
  }
  serve(m.output, m.width, m.vocabulary, 1);
  return bytes;
}

fovea_status Decoder::init(const Model& model, const Settings& settings, void* memory, size_t bytes) {
  const fovea_status status = plan(model, settings);
  if (status != FOVEA_OK) return status;
  const size_t needed = carve(nullptr);
  if (needed > bytes || needed == Carver::kTooMany) return FOVEA_ERR_WORKSPACE;
  carve(memory);
  const fovea_status turned = fovea_rope_frequencies(turns_, model.rope_base, 0, model.rotary_dim);
  for (uint32_t i = 0; model.rope_factors != nullptr && i < model.rotary_dim / 2; ++i) {
    turns_[i] = static_cast<uint64_t>(static_cast<double>(turns_[i]) / static_cast<double>(model.rope_factors[i]));
  }
  return turned;
}

fovea_status Decoder::norm(float* y, float* x, const float* added, const float* weight, uint32_t count) const {
  const auto width = static_cast<ptrdiff_t>(model_->width);
  fovea_norm_args args = {};
  args.struct_bytes = sizeof args;
  args.target = settings_.target;
  args.epsilon = model_->epsilon;
  args.batch = args.heads = 1;
  args.tokens = count;
  args.dim = model_->width;
  args.y = {y, 0, 0, width};
  args.x = {x, 0, 0, width};
  args.weight = weight;
  if (added) args.residual = {added, 0, 0, width}, args.sum = {x, 0, 0, width};
  return fovea_norm(&args);
}

fovea_status Decoder::linear(float* y, const float* x, uint32_t inputs, uint32_t outputs,
                             const fovea_linear_weights& weights, uint32_t count) const {
  fovea_linear_args args = linear_args(settings_, features_, weights, inputs, outputs, count);
  args.y = y;
  args.x = x;
  return fovea_linear(&args, linear_, linear_bytes_);
}

// The mean of the keys in k_, turned and rotated as the cache stores them, of each head. The first token is left out: its
// keys are many times as large as the others. Writes to heads_.
fovea_status Decoder::find_center(float* center, const fovea_rope_args& rope, uint32_t count) const {
  std::fill_n(center, kv_dim(), 0.0f);
  if (count < kFewestForMean) return FOVEA_OK;
  const auto head = static_cast<ptrdiff_t>(model_->head_dim), token = static_cast<ptrdiff_t>(kv_dim());
  fovea_rope_args turn = rope;
  turn.target = settings_.target;
  turn.batch = 1;
  turn.heads = model_->kv_heads;
  turn.tokens = count;
  turn.dim = model_->head_dim;
  turn.y = {heads_, 0, head, token};
  turn.x = {k_, 0, head, token};
  fovea_status status = fovea_rope(&turn);
  fovea_hadamard_args rotate = {};
  rotate.struct_bytes = sizeof rotate;
  rotate.target = settings_.target;
  rotate.batch = 1;
  rotate.heads = model_->kv_heads;
  rotate.tokens = count;
  rotate.dim = model_->head_dim;
  rotate.seed = kRotationSeed;
  rotate.y = turn.y;
  rotate.x = {heads_, 0, head, token};
  if (status == FOVEA_OK) status = fovea_hadamard(&rotate);
  const fovea_in keys = {heads_ + kv_dim(), 0, head, token};
  uint64_t tokens = 0;
  if (status != FOVEA_OK) return status;
  return fovea_kv_center(center, &tokens, &keys, 1, model_->kv_heads, count - 1, model_->head_dim);
}

// Attention's half of a layer. Writes to added_ what is added to the tokens. The linear layers are calls of their own,
// because files may have a format for each.
fovea_status Decoder::attend(const Layer& layer, fovea_kv_cache* cache, uint32_t count) {
  const uint32_t width = model_->width;
  fovea_status status = linear(q_, normed_, width, q_dim(), layer.q, count);
  if (status == FOVEA_OK) status = linear(k_, normed_, width, kv_dim(), layer.k, count);
  if (status == FOVEA_OK) status = linear(v_, normed_, width, kv_dim(), layer.v, count);
  if (status != FOVEA_OK) return status;
  const int64_t first = fovea_kv_cache_arrays(cache)->lengths[0];
  fovea_rope_args rope = {};
  rope.struct_bytes = sizeof rope;
  rope.layout = model_->rope_layout;
  rope.rotary_dim = model_->rotary_dim;
  rope.turns = turns_;
  rope.first_positions = &first;
  if (centers_ != nullptr && first == 0) {
    status = find_center(centers_ + static_cast<size_t>(cache - caches_) * kv_dim(), rope, count);
    if (status != FOVEA_OK) return status;
  }
  const auto q_stride = static_cast<ptrdiff_t>(q_dim()), kv_stride = static_cast<ptrdiff_t>(kv_dim());
  fovea_multihead_args args = {};
  args.struct_bytes = sizeof args;
  args.attention.struct_bytes = sizeof args.attention;
  args.attention.executor = settings_.executor;
  args.batch = 1;
  args.q_tokens = args.kv_tokens = count;
  args.y = {heads_, 0, 0, q_stride};
  args.x = {q_, 0, 0, q_stride};
  args.keys = {k_, 0, 0, kv_stride};
  args.values = {v_, 0, 0, kv_stride};
  args.rope = &rope;
  status = fovea_multihead_append(&plan_, cache, &args, attention_, attention_bytes_);
  if (status != FOVEA_OK) return status;
  args.keys = args.values = {};
  args.cache = cache;
  status = fovea_multihead(&plan_, &args, attention_, attention_bytes_);
  return status == FOVEA_OK ? linear(added_, heads_, q_dim(), width, layer.out, count) : status;
}

// The other half: SwiGLU (Shazeer, arXiv 2002.05202).
fovea_status Decoder::feed_forward(const Layer& layer, uint32_t count) {
  const uint32_t width = model_->width, hidden = model_->hidden;
  fovea_status status = linear(gate_, normed_, width, hidden, layer.gate, count);
  if (status == FOVEA_OK) status = linear(up_, normed_, width, hidden, layer.up, count);
  if (status != FOVEA_OK) return status;
  const auto stride = static_cast<ptrdiff_t>(hidden);
  fovea_activation_args args = {};
  args.struct_bytes = sizeof args;
  args.target = settings_.target;
  args.activation = FOVEA_ACTIVATION_SILU;
  args.batch = args.heads = 1;
  args.tokens = count;
  args.dim = hidden;
  args.y = {gate_, 0, 0, stride};
  args.x = {gate_, 0, 0, stride};
  args.factor = {up_, 0, 0, stride};
  status = fovea_activation(&args);
  return status == FOVEA_OK ? linear(added_, gate_, hidden, width, layer.down, count) : status;
}

fovea_status Decoder::run(const uint32_t* tokens, uint32_t count) {
  if (count > room()) return FOVEA_ERR_FULL;
  const fovea_status taken = take_rows(x_, model_->embeddings, model_->width, model_->vocabulary, tokens, count);
  if (taken != FOVEA_OK) return taken;
  for (uint32_t i = 0; i < model_->layers; ++i) {
    const Layer& layer = model_->layer[i];
    // Each half of a layer adds what the half before it computed.
    fovea_status status = norm(normed_, x_, i > 0 ? added_ : nullptr, layer.attention_norm, count);
    if (status == FOVEA_OK) status = attend(layer, &caches_[i], count);
    if (status == FOVEA_OK) status = norm(normed_, x_, added_, layer.hidden_norm, count);
    if (status == FOVEA_OK) status = feed_forward(layer, count);
    if (status != FOVEA_OK) return status;
  }
  for (size_t i = 0; i < size_t{count} * model_->width; ++i) x_[i] += added_[i];
  return FOVEA_OK;
}

fovea_status Decoder::logits(uint32_t index, float** scores) {
  *scores = logits_;
  const fovea_status status = norm(normed_, x_ + size_t{index} * model_->width, nullptr, model_->output_norm, 1);
  if (status != FOVEA_OK) return status;
  return linear(logits_, normed_, model_->width, model_->vocabulary, model_->output, 1);
}

fovea_status Decoder::truncate(uint32_t tokens) {
  for (uint32_t i = 0; i < model_->layers; ++i) {
    const fovea_status status = fovea_kv_truncate(&caches_[i], 0, tokens);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

size_t Decoder::image_bytes(uint32_t tokens) const {
  size_t bytes = 0;
  fovea_kv_image_bytes(&caches_[0], tokens, &bytes);
  return bytes;
}

fovea_status Decoder::write_image(uint32_t layer, uint32_t tokens, uint64_t fingerprint, void* image,
                                  size_t bytes) const {
  const fovea_kv_image_args args = image_args(layer, tokens, fingerprint);
  return fovea_kv_export(&caches_[layer], &args, image, bytes);
}

fovea_status Decoder::read_image(uint32_t layer, uint32_t tokens, uint64_t fingerprint, const void* image,
                                 size_t bytes) {
  const fovea_kv_image_args args = image_args(layer, tokens, fingerprint);
  const size_t center_bytes = sizeof(float) * kv_dim(), aligned = (center_bytes + 63) / 64 * 64;
  if (centers_ != nullptr && bytes >= aligned) {  // the image ends with its centre
    std::memcpy(centers_ + size_t{layer} * kv_dim(), static_cast<const char*>(image) + bytes - aligned, center_bytes);
  }
  return fovea_kv_import(&caches_[layer], &args, image, bytes);
}

}  // namespace chat
