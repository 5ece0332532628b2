// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers give what nn.MultiheadAttention of PyTorch gave: vectors/multihead.inl, which
// vectors/make_multihead.py wrote. Every vector runs on every target with weights in each format, from separate and
// from packed projections, with keys and values projected in the call and kept in a cache, and causal ones some tokens
// at a time.
#include "support/test.h"

namespace fovea_test {
namespace {

// Which inputs there are beside x; kKeys: they are the values too.
enum Source { kSelf, kKeys, kKeysAndValues };
// Added to the scores or hiding keys; 2: [q_tokens][kv_tokens], 3: [batch * heads][q_tokens][kv_tokens].
enum Mask { kNoMask, kBool2, kBool3, kFloat2, kFloat3 };
// Keys that are hidden from all queries; kTail: the last 1 + b of entry b.
enum Padding { kNoPadding, kTail, kAnywhere };
// The weights of each head, or their mean over the heads.
enum Want { kNoWeights, kHeads, kMean };

struct MultiheadVector {
  const char* name;
  uint64_t seed;
  uint32_t batch, q_tokens, kv_tokens, d_model, key_model, value_model, heads;
  Source source;
  bool bias, tokens_first, causal;
  Mask mask;
  Padding padding;
  Want want;
  const float* y;        // [batch][q_tokens][d_model]
  const float* weights;  // [batch][heads][q_tokens][kv_tokens], the mean [batch][q_tokens][kv_tokens], or null
};

#include "vectors/multihead.inl"

// What is drawn, as what is added to the vector's seed: the order is that of make_multihead.py.
enum Draw : uint64_t { kX, kKeyTokens, kValueTokens, kHidden, kMaskBits, kWq, kWk, kWv, kWout, kBin, kBout };

// How a layer is called.
enum class Form {
  kSeparate,  // three projections
  kPacked,    // one
  kCached,    // keys and values go into a cache first, and stay
};

std::string text_of(const MultiheadVector& v, fovea_dtype dtype, Form form, fovea_target target) {
  static const char* const kForms[] = {"separate", "packed", "cached"};
  Text text;
  text << "multihead: " << v.name << ", " << type_name(dtype) << " weights, " << kForms[int(form)] << " | "
       << fovea_target_name(target);
  return text.str();
}

// Weights and bias of a layer, or of some layers one behind the other, each of `rows` outputs and a seed of its own.
struct Projection {
  Guarded data, scales, bias;

  fovea_linear_weights make(fovea_dtype type, uint64_t seed, uint32_t layers, uint32_t rows, uint32_t in_dim) {
    const size_t unit = unit_size(type), outputs = size_t{layers} * rows;
    data = Guarded(outputs * in_dim * unit, unit, Placement::kEnd);
    fovea_linear_weights weights{};
    weights.dtype = type;
    weights.data = data.as<void>();
    weights.row_stride = ptrdiff_t(in_dim);
    if (type == FOVEA_I8) {
      scales = Guarded(outputs * sizeof(float), sizeof(float), Placement::kEnd);
      weights.scales = scales.as<float>();
    }
    for (size_t o = 0; o < outputs; ++o) {
      const size_t row = o % rows;
      const float scale = std::ldexp(1.0f, -8 - int(row % 3));
      if (type == FOVEA_I8) scales.as<float>()[o] = scale;
      for (size_t i = 0; i < in_dim; ++i) {
        const int code = int(random_bits(seed + o / rows, row * in_dim + i) % 255) - 127;
        const float weight = float(code) * scale;
        const size_t at = o * in_dim + i;
        if (type == FOVEA_F32) data.as<float>()[at] = weight;
        if (type == FOVEA_F16) data.as<uint16_t>()[at] = uint16_t(nearest_of(kF16, weight));
        if (type == FOVEA_BF16) data.as<uint16_t>()[at] = uint16_t(nearest_of(kBf16, weight));
        if (type == FOVEA_I8) data.as<int8_t>()[at] = int8_t(code);
      }
    }
    return weights;
  }

  const float* make_bias(uint64_t seed, uint32_t first, uint32_t count) {
    bias = Guarded(count * sizeof(float), sizeof(float), Placement::kEnd);
    for (uint32_t o = 0; o < count; ++o) bias.as<float>()[o] = random_uniform(seed, first + o, -0.5f, 0.5f);
    return bias.as<float>();
  }
};

// A vector's buffers, description and arguments.
class MultiheadCase {
 public:
  MultiheadCase(const MultiheadVector& vector, fovea_dtype dtype, Form form)
      : v(vector), dtype_(dtype), form_(form), desc{}, args{} {
    desc.struct_bytes = sizeof desc;
    desc.d_model = v.d_model, desc.key_model = v.key_model, desc.value_model = v.value_model;
    desc.weight_dtype = dtype;
    fovea_attention_desc& heads = desc.attention;
    heads.struct_bytes = sizeof heads, heads.q_heads = heads.kv_heads = v.heads;
    heads.head_dim = heads.value_dim = v.d_model / v.heads;
    heads.max_batch = v.batch, heads.max_q_tokens = v.q_tokens, heads.max_kv_tokens = v.kv_tokens;
    heads.causal = v.causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;

    args.struct_bytes = sizeof args;
    args.batch = v.batch, args.q_tokens = v.q_tokens, args.kv_tokens = v.kv_tokens;
    args.attention.struct_bytes = sizeof args.attention;
    describe(&args.y, &y_, v.q_tokens, v.d_model);
    make_input(&args.x, &x_, kX, v.q_tokens, v.d_model);
    if (v.source != kSelf) make_input(&args.keys, &keys_, kKeyTokens, v.kv_tokens, v.key_model);
    if (v.source == kKeysAndValues) make_input(&args.values, &values_, kValueTokens, v.kv_tokens, v.value_model);
    make_weights();
    make_mask();
    if (v.padding == kTail) {
      for (uint32_t b = 0; b < v.batch; ++b) lengths_.push_back(v.kv_tokens - 1 - b);
      if (form != Form::kCached) args.attention.kv_lengths = lengths_.data();
    }
    if (v.want != kNoWeights) {
      scores_ = floats(size_t{v.batch} * v.heads * v.q_tokens * v.kv_tokens);
      const auto row = ptrdiff_t(v.kv_tokens), head = ptrdiff_t(v.q_tokens) * row;
      args.attention.scores = {scores_.as<float>(), ptrdiff_t(v.heads) * head, head, row};
      args.attention.scores_stage = FOVEA_SCORES_SOFTMAX;
    }
  }

  // "" or what is wrong.
  std::string run(fovea_target target) {
    const std::string full_name = text_of(v, dtype_, form_, target);
    set_current_case(full_name);
    desc.attention.target = target;
    fovea_multihead_plan plan{};
    fovea_status status = fovea_multihead_plan_init(&plan, &desc);
    if (status != FOVEA_OK) return full_name + ": plan: " + fovea_status_string(status);
    const Guarded workspace(fovea_multihead_workspace_bytes(&plan), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    y_.fill();
    scores_.fill();
    for (const Guarded* input : {&x_, &keys_, &values_, &mask_}) input->read_only(true);
    if (form_ == Form::kCached) {
      make_cache();
      status = fovea_multihead_append(&plan, &cache_, &args, workspace.as<void>(), workspace.bytes());
      for (uint32_t b = 0; b < lengths_.size(); ++b) REQUIRE(fovea_kv_truncate(&cache_, b, lengths_[b]) == FOVEA_OK);
      attach_cache();
    }
    if (status == FOVEA_OK) status = fovea_multihead(&plan, &args, workspace.as<void>(), workspace.bytes());
    for (const Guarded* input : {&x_, &keys_, &values_, &mask_}) input->read_only(false);
    if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);
    if (!workspace.margin_intact()) return full_name + ": written outside of the workspace";
    const std::string wrong = compare();
    return wrong.empty() ? "" : full_name + ": " + wrong;
  }

  // The same as a decoder does it, `step` tokens at a time, from the keys and values of those before in a cache.
  std::string decode(fovea_target target, uint32_t step) {
    const std::string full_name = text_of(v, dtype_, form_, target) + ", some tokens at a time";
    set_current_case(full_name);
    desc.attention.target = target, desc.attention.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    desc.attention.max_q_tokens = desc.max_new_tokens = step;
    fovea_multihead_plan plan{};
    REQUIRE(fovea_multihead_plan_init(&plan, &desc) == FOVEA_OK);
    const Guarded workspace(fovea_multihead_workspace_bytes(&plan), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    y_.fill();
    // Weights of keys to come are not written.
    std::fill_n(scores_.as<float>(), scores_.bytes() / sizeof(float), 0.0f);
    make_cache();
    const fovea_multihead_args all = args;
    for (uint32_t first = 0; first < v.q_tokens; first += step) {
      args.q_tokens = std::min(step, v.q_tokens - first);
      skip(&args.x, all.x, first);
      skip(&args.y, all.y, first);
      if (v.want != kNoWeights) skip(&args.attention.scores, all.attention.scores, first);
      args.cache = nullptr;
      REQUIRE(fovea_multihead_append(&plan, &cache_, &args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
      args.cache = &cache_;
      REQUIRE(fovea_multihead(&plan, &args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
    }
    args = all;
    const std::string wrong = compare();
    return wrong.empty() ? "" : full_name + ": " + wrong;
  }

 private:
  static Guarded floats(size_t count) { return Guarded(count * sizeof(float), sizeof(float), Placement::kEnd); }

  template <class Array>
  static void skip(Array* part, const Array& all, uint32_t tokens) {
    using Float = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(all.data)>>, const float, float>;
    part->data = static_cast<Float*>(all.data) + ptrdiff_t(tokens) * all.token_stride;
  }

  // An array [batch][tokens][model], or with the tokens first.
  template <class Array>
  void describe(Array* array, Guarded* buffer, uint32_t tokens, uint32_t model) {
    *buffer = floats(size_t{v.batch} * tokens * model);
    const auto m = ptrdiff_t(model);
    array->data = buffer->as<float>();
    array->batch_stride = v.tokens_first ? m : ptrdiff_t(tokens) * m;
    array->token_stride = v.tokens_first ? ptrdiff_t(v.batch) * m : m;
  }

  // Numbers are drawn in the order [batch][tokens][model], whichever is first in memory.
  void make_input(fovea_in* array, Guarded* buffer, Draw draw, uint32_t tokens, uint32_t model) {
    describe(array, buffer, tokens, model);
    size_t index = 0;
    for (const auto& [b, t] : indices(v.batch, tokens)) {
      float* row = buffer->as<float>() + ptrdiff_t(b) * array->batch_stride + ptrdiff_t(t) * array->token_stride;
      for (uint32_t e = 0; e < model; ++e) row[e] = random_uniform(v.seed + draw, index++, -2, 2);
    }
  }

  void make_weights() {
    const uint32_t d = v.d_model;
    fovea_multihead_weights& w = args.weights;
    if (form_ == Form::kPacked) {
      w.qkv = q_.make(dtype_, v.seed + kWq, 3, d, d);
      if (v.bias) w.qkv.bias = q_.make_bias(v.seed + kBin, 0, 3 * d);
    } else {
      w.q = q_.make(dtype_, v.seed + kWq, 1, d, d);
      w.k = k_.make(dtype_, v.seed + kWk, 1, d, v.key_model);
      w.v = v_.make(dtype_, v.seed + kWv, 1, d, v.value_model);
      if (v.bias) {
        w.q.bias = q_.make_bias(v.seed + kBin, 0, d);
        w.k.bias = k_.make_bias(v.seed + kBin, d, d);
        w.v.bias = v_.make_bias(v.seed + kBin, 2 * d, d);
      }
    }
    w.out = out_.make(dtype_, v.seed + kWout, 1, d, d);
    if (v.bias) w.out.bias = out_.make_bias(v.seed + kBout, 0, d);
  }

  bool hidden_by_padding(uint32_t b, uint32_t j) const {
    return v.padding == kAnywhere && j > 0 && random_bits(v.seed + kHidden, b * v.kv_tokens + j) % 3 == 0;
  }

  // The mask of the scores and the keys that are hidden anywhere, as one: it has a batch, heads and queries only where
  // one of them has.
  void make_mask() {
    if (v.mask == kNoMask && v.padding != kAnywhere) return;
    const bool planes = v.mask == kBool3 || v.mask == kFloat3, adds = v.mask == kFloat2 || v.mask == kFloat3;
    const uint32_t batch = planes || v.padding == kAnywhere ? v.batch : 1, heads = planes ? v.heads : 1;
    const uint32_t queries = v.mask == kNoMask ? 1 : v.q_tokens;
    const size_t unit = adds ? sizeof(float) : 1;
    mask_ = Guarded(size_t{batch} * heads * queries * v.kv_tokens * unit, unit, Placement::kEnd);
    size_t at = 0;
    for (const auto& [b, h, i] : indices(batch, heads, queries)) {
      for (uint32_t j = 0; j < v.kv_tokens; ++j, ++at) {
        const size_t plane = planes ? size_t{b} * heads + h : 0, index = (plane * queries + i) * v.kv_tokens + j;
        const uint64_t bits = random_bits(v.seed + kMaskBits, index);
        const bool hidden = hidden_by_padding(b, j) || (v.mask != kNoMask && j > 0 && bits % 4 == 0);
        if (!adds) mask_.as<uint8_t>()[at] = hidden ? 0 : 1;
        if (adds) mask_.as<float>()[at] = hidden ? -INFINITY : random_uniform(v.seed + kMaskBits, index, -2, 2);
      }
    }
    const auto row = ptrdiff_t(v.kv_tokens), head = ptrdiff_t(queries) * row;
    args.attention.mask = {adds ? FOVEA_MASK_F32 : FOVEA_MASK_BYTE,
                           v.kv_tokens,
                           mask_.as<void>(),
                           batch > 1 ? ptrdiff_t(heads) * head : 0,
                           heads > 1 ? head : 0,
                           queries > 1 ? row : 0,
                           0,
                           nullptr,
                           0};
  }

  // An empty cache for all keys.
  void make_cache() {
    cache_ = {};
    cache_.struct_bytes = sizeof cache_;
    cache_.batch = v.batch, cache_.kv_heads = v.heads, cache_.max_tokens = v.kv_tokens;
    cache_.head_dim = cache_.value_dim = v.d_model / v.heads;
    cache_memory_ = Guarded(fovea_kv_cache_bytes(&cache_), FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    REQUIRE(fovea_kv_cache_init(&cache_, cache_memory_.as<void>(), cache_memory_.bytes()) == FOVEA_OK);
    args.cache = nullptr;
  }

  // Attends to the cache, whose longest entry may have lost padded keys at its end.
  void attach_cache() {
    if (!lengths_.empty() && v.mask != kNoMask) args.attention.mask.kv_tokens = columns();
    args.keys = args.values = {};
    args.cache = &cache_;
  }

  // Keys of the longest entry.
  uint32_t columns() const {
    return lengths_.empty() || form_ != Form::kCached ? v.kv_tokens
                                                      : *std::max_element(lengths_.begin(), lengths_.end());
  }

  std::string compare() const {
    const size_t rows = size_t{v.batch} * v.q_tokens, heads = v.heads, row = v.kv_tokens;
    double largest = 0;
    for (size_t i = 0; i < rows * v.d_model; ++i) largest = std::max(largest, std::fabs(double(v.y[i])));
    for (const auto& [b, i] : indices(v.batch, v.q_tokens)) {
      const float* got = y_.as<float>() + b * args.y.batch_stride + i * args.y.token_stride;
      const float* want = v.y + (size_t{b} * v.q_tokens + i) * v.d_model;
      for (uint32_t e = 0; e < v.d_model; ++e) {
        if (!close(got[e], want[e], multihead_tolerance(largest))) return differs("y", b, i, e, got[e], want[e]);
      }
      for (uint32_t j = 0; v.want != kNoWeights && j < columns(); ++j) {
        double mean = 0;
        for (size_t h = 0; h < heads; ++h) {
          const size_t at = ((b * heads + h) * v.q_tokens + i) * row + j;
          const float weight = scores_.as<float>()[at];
          mean += double(weight) / double(heads);
          if (v.want == kMean || close(weight, v.weights[at], multihead_tolerance(1))) continue;
          return differs("weight", b, i, j, weight, v.weights[at]);
        }
        const float want_mean = v.weights[(size_t{b} * v.q_tokens + i) * row + j];
        if (v.want == kMean && !close(mean, want_mean, multihead_tolerance(1))) {
          return differs("mean weight", b, i, j, mean, want_mean);
        }
      }
    }
    return y_.margin_intact() && scores_.margin_intact() ? "" : "written outside of y or the weights";
  }

  static std::string differs(const char* what, uint32_t b, uint32_t i, uint32_t e, double got, float want) {
    Text text;
    text << what << "[" << b << "][" << i << "][" << e << "] is " << got << ", want " << want;
    return text.str();
  }

  const MultiheadVector& v;
  const fovea_dtype dtype_;
  const Form form_;
  fovea_multihead_desc desc;
  fovea_multihead_args args;
  Projection q_, k_, v_, out_;
  Guarded x_, keys_, values_, mask_, y_, scores_, cache_memory_;
  std::vector<uint32_t> lengths_;  // of the padded keys [batch]; empty = all are there
  fovea_kv_cache cache_{};
};

constexpr fovea_dtype kWeightTypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8};

void run_on_all_targets(Form form) {
  for (const MultiheadVector& v : kMultiheadVectors) {
    if (form == Form::kPacked && (v.key_model != v.d_model || v.value_model != v.d_model)) continue;
    for (const fovea_dtype dtype : kWeightTypes) {
      for (const fovea_target target : targets()) {
        MultiheadCase test(v, dtype, form);
        CHECK(test.run(target) == "");
      }
    }
  }
}

}  // namespace

TEST_CASE("multihead: separate projections give PyTorch's answers", "[short]") { run_on_all_targets(Form::kSeparate); }

TEST_CASE("multihead: packed projections give PyTorch's answers", "[short]") { run_on_all_targets(Form::kPacked); }

TEST_CASE("multihead: keys and values kept in a cache give PyTorch's answers", "[short]") {
  run_on_all_targets(Form::kCached);
}

TEST_CASE("multihead: causal layers give PyTorch's answers some tokens at a time", "[short]") {
  size_t vectors = 0;
  for (const MultiheadVector& v : kMultiheadVectors) {
    if (!v.causal || v.padding != kNoPadding) continue;
    ++vectors;
    for (const auto& [dtype, form] : every(kWeightTypes, {Form::kSeparate, Form::kPacked})) {
      for (const auto& [target, step] : every(targets(), {1u, 3u})) {
        MultiheadCase test(v, dtype, form);
        CHECK(test.decode(target, step) == "");
      }
    }
  }
  CHECK(vectors >= 2);
}

}  // namespace fovea_test
