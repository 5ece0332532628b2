// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers against plain loops in double, on every target. tests/FIELDS.md says which test fails when a field is
// ignored.
#include "platform/platform.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;

struct LayerProblem {
  uint32_t batch = 2, q_tokens = 5, kv_tokens = 7;
  uint32_t q_heads = 4, kv_heads = 2, head_dim = 6, value_dim = 6;
  uint32_t d_model = 24, key_model = 24, value_model = 24;
  fovea_dtype dtype = FOVEA_F32;
  bool bias = true, packed = false;
  enum Keys { kSelf, kCross, kCrossValues } keys = kSelf;  // the last: values are not those that keys are made of
  bool no_q = false, no_k = false, no_v = false, no_out = false;  // layers that are left out, where widths allow it
  Layout order = Layout::kHeadsFirst;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  bool lengths = false, mask = false, scores = true, portable_bits = false;
  uint64_t seed = 1;

  uint32_t keys_of_call() const { return keys == kSelf ? q_tokens : kv_tokens; }
};

std::string name(const LayerProblem& p, fovea_target target) {
  Text text;
  text << "multihead " << p.batch << "x" << p.q_tokens << "x" << p.keys_of_call() << " heads " << p.q_heads << "/"
       << p.kv_heads << " d " << p.head_dim << "/" << p.value_dim << " models " << p.d_model << "/" << p.key_model
       << "/" << p.value_model << " dtype " << p.dtype << (p.bias ? " bias" : "") << (p.packed ? " packed" : "")
       << " keys " << p.keys << " without " << p.no_q << p.no_k << p.no_v << p.no_out << " " << name(p.order)
       << " causal " << p.causal << (p.lengths ? " lengths" : "") << (p.mask ? " mask" : "") << " seed " << p.seed
       << " | " << fovea_target_name(target);
  return text.str();
}

// [batch][tokens][width]: entries are what heads are to other arrays.
struct TokenArray : Array {
  TokenArray() = default;
  TokenArray(uint32_t batch, uint32_t tokens, uint32_t width, Layout order)
      : Array(FOVEA_F32, {1, batch, tokens, width}, order, Placement::kEnd) {
    std::fill_n(memory.as<float>(), memory.bytes() / sizeof(float), kNaN);
  }
  float* at(uint32_t b, uint32_t t) const { return row<float>(0, b, t); }
  fovea_in in() const { return {at(0, 0), strides.head, 0, strides.token}; }
  fovea_out out() const { return {at(0, 0), strides.head, 0, strides.token}; }
};

// Weights [out][in] as they are stored, and as numbers.
struct LayerWeights {
  Guarded data, scales, bias;
  std::vector<double> numbers, biases;
  uint32_t in = 0, out = 0;
  fovea_linear_weights view{};

  LayerWeights() = default;
  LayerWeights(uint32_t out_, uint32_t in_, fovea_dtype dtype, bool biased, uint64_t seed) : in(in_), out(out_) {
    const size_t unit = unit_size(dtype), units = row_units(dtype, in);
    const size_t scale_bytes = row_scales(dtype, in) * scale_size(dtype);
    data = Guarded(out * units * unit, unit, Placement::kEnd);
    scales = Guarded(out * scale_bytes, scale_bytes != 0 ? scale_size(dtype) : 1, Placement::kEnd);
    bias = Guarded(biased ? out * sizeof(float) : 0, sizeof(float), Placement::kEnd);
    std::vector<float> row(in);
    const float size = 1.0f / std::sqrt(float(in));
    for (uint32_t o = 0; o < out; ++o) {
      for (uint32_t i = 0; i < in; ++i) row[i] = size * random_normal(seed, uint64_t{o} * in + i);
      void* const at = data.as<char>() + o * units * unit;
      void* const scale = scales.as<char>() + o * scale_bytes;
      encode_row(dtype, row.data(), in, at, scale);
      for (uint32_t i = 0; i < in; ++i) numbers.push_back(double{element_of(dtype, at, scale, i)});
      biases.push_back(biased ? double{random_normal(seed + 1, o)} : 0.0);
      if (biased) bias.as<float>()[o] = float(biases[o]);
    }
    view.dtype = dtype;
    view.data = data.as<void>();
    view.row_stride = ptrdiff_t(units);
    if (scale_bytes != 0) view.scales = scales.as<void>();
    if (biased) view.bias = bias.as<float>();
  }

  std::vector<double> apply(const std::vector<double>& x) const {
    std::vector<double> y = biases;
    for (const auto& [o, i] : indices(out, in)) y[o] += numbers[size_t{o} * in + i] * x[i];
    return y;
  }
};

class LayerCase {
 public:
  explicit LayerCase(const LayerProblem& problem) : p(problem) {
    const uint32_t keys_of_call = p.keys_of_call();
    y = TokenArray(p.batch, p.q_tokens, p.d_model, p.order);
    x = filled(p.q_tokens, p.d_model, 10);
    if (p.keys != LayerProblem::kSelf) keys = filled(p.kv_tokens, p.key_model, 11);
    if (p.keys == LayerProblem::kCrossValues) values = filled(p.kv_tokens, p.value_model, 12);
    const uint32_t widths[] = {p.q_heads * p.head_dim, p.kv_heads * p.head_dim, p.kv_heads * p.value_dim,
                               p.q_heads * p.value_dim};
    if (p.packed) {
      qkv = LayerWeights(widths[0] + widths[1] + widths[2], p.d_model, p.dtype, p.bias, p.seed + 20);
    } else {
      if (!p.no_q) wq = LayerWeights(widths[0], p.d_model, p.dtype, p.bias, p.seed + 21);
      if (!p.no_k) wk = LayerWeights(widths[1], p.key_model, p.dtype, p.bias, p.seed + 22);
      if (!p.no_v) wv = LayerWeights(widths[2], p.value_model, p.dtype, p.bias, p.seed + 23);
    }
    if (!p.no_out) wo = LayerWeights(p.d_model, widths[3], p.dtype, p.bias, p.seed + 24);

    desc.struct_bytes = sizeof desc;
    desc.d_model = p.d_model, desc.key_model = p.key_model, desc.value_model = p.value_model;
    desc.weight_dtype = p.dtype;
    fovea_attention_desc& d = desc.attention;
    d.struct_bytes = sizeof d;
    d.q_heads = p.q_heads, d.kv_heads = p.kv_heads, d.head_dim = p.head_dim, d.value_dim = p.value_dim;
    d.max_batch = std::max<uint32_t>(p.batch, 1), d.max_q_tokens = p.q_tokens, d.max_kv_tokens = keys_of_call;
    d.causal = p.causal, d.portable_bits = p.portable_bits;
    d.processor_features = fovea::platform::processor_features();

    args.struct_bytes = sizeof args, args.batch = p.batch, args.q_tokens = p.q_tokens;
    args.kv_tokens = p.keys == LayerProblem::kSelf ? 0xffffffffu : p.kv_tokens;
    args.y = y.out(), args.x = x.in();
    if (p.keys != LayerProblem::kSelf) args.keys = keys.in();
    if (p.keys == LayerProblem::kCrossValues) args.values = values.in();
    args.weights = {wq.view, wk.view, wv.view, wo.view, qkv.view};
    args.attention.struct_bytes = sizeof args.attention;
    rope.struct_bytes = sizeof rope, rope.layout = FOVEA_ROPE_HALF_SPLIT;
    for (uint32_t b = 0; b < p.batch; ++b) {
      lengths.push_back(b % 3 == 1 ? keys_of_call / 2 : b % 3 == 2 ? 0 : keys_of_call);
    }
    if (p.lengths) args.attention.kv_lengths = lengths.data();
    mask.resize(size_t{p.q_tokens} * keys_of_call);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = random_bits(p.seed + 30, i) % 3 != 0;
    if (p.mask) {
      args.attention.mask = {FOVEA_MASK_BYTE, keys_of_call, mask.data(), 0, 0, ptrdiff_t(keys_of_call), 0, nullptr, 0};
    }
    scores.resize(size_t{p.batch} * p.q_heads * p.q_tokens * keys_of_call);
    if (p.scores) {
      const auto row = ptrdiff_t(keys_of_call), tokens = ptrdiff_t(p.q_tokens);
      args.attention.scores_stage = FOVEA_SCORES_SOFTMAX;
      args.attention.scores = {scores.data(), row * tokens * ptrdiff_t(p.q_heads), row * tokens, row};
    }
  }

  // Makes a plan, and its workspace.
  fovea_status make_plan(fovea_target target) {
    desc.attention.target = target;
    const fovea_status status = fovea_multihead_plan_init(&plan, &desc);
    if (status != FOVEA_OK) return status;
    workspace = Guarded(fovea_multihead_workspace_bytes(&plan), kAlignment, Placement::kEnd);
    std::memset(workspace.as<void>(), 0xff, workspace.bytes());
    return FOVEA_OK;
  }
  // The same for a cache, to which calls append up to `new_tokens`.
  void plan_for(const fovea_kv_cache& cache, uint32_t new_tokens, fovea_target target) {
    REQUIRE(fovea_kv_describe(&cache, &desc.attention) == FOVEA_OK);
    desc.attention.max_kv_tokens = cache.max_tokens, desc.max_new_tokens = new_tokens;  // of a ring too
    REQUIRE(make_plan(target) == FOVEA_OK);
  }
  fovea_status call() { return fovea_multihead(&plan, &args, workspace.as<void>(), workspace.bytes()); }
  fovea_status append(fovea_kv_cache& cache) {
    return fovea_multihead_append(&plan, &cache, &args, workspace.as<void>(), workspace.bytes());
  }
  // From now on keys and values are those of a cache.
  void attend_to(const fovea_kv_cache& cache) { args.keys = args.values = {}, args.cache = &cache; }
  fovea_status run(fovea_target target) {
    const fovea_status status = make_plan(target);
    return status == FOVEA_OK ? call() : status;
  }

  // y as [batch][tokens][d_model].
  std::vector<float> answer() const { return y.numbers(); }

  // "" if y and the weights are those of plain loops.
  std::string compare() const {
    const uint32_t n = p.keys_of_call(), group = p.q_heads / p.kv_heads;
    const TokenArray& k_source = p.keys == LayerProblem::kSelf ? x : keys;
    const TokenArray& v_source = p.keys == LayerProblem::kCrossValues ? values : k_source;
    for (uint32_t b = 0; b < p.batch; ++b) {
      std::vector<std::vector<double>> k, v;
      for (uint32_t j = 0; j < n; ++j) {
        k.push_back(projected(1, k_source.at(b, j), k_source.shape.dim));
        v.push_back(projected(2, v_source.at(b, j), v_source.shape.dim));
      }
      const uint32_t length = p.lengths ? lengths[b] : n;
      for (uint32_t i = 0; i < p.q_tokens; ++i) {
        const std::vector<double> q = projected(0, x.at(b, i), p.d_model);
        std::vector<double> o(size_t{p.q_heads} * p.value_dim);
        for (uint32_t h = 0; h < p.q_heads; ++h) {
          std::vector<double> w(n);
          double sum = 0;
          for (uint32_t j = 0; j < length; ++j) {
            const int64_t last = p.causal == FOVEA_CAUSAL_BOTTOM_RIGHT ? int64_t{i} + length - p.q_tokens : int64_t{i};
            if (p.causal != FOVEA_CAUSAL_NONE && j > last) continue;
            if (p.mask && !mask[size_t{i} * n + j]) continue;
            double score = 0;
            for (uint32_t d = 0; d < p.head_dim; ++d) score += q[h * p.head_dim + d] * k[j][h / group * p.head_dim + d];
            w[j] = std::exp(score / std::sqrt(double(p.head_dim)));
            sum += w[j];
          }
          for (uint32_t j = 0; j < n; ++j) {
            if (sum != 0) w[j] /= sum;
            for (uint32_t e = 0; e < p.value_dim; ++e) {
              o[h * p.value_dim + e] += w[j] * v[j][h / group * p.value_dim + e];
            }
            const float got = scores[((size_t{b} * p.q_heads + h) * p.q_tokens + i) * n + j];
            if (p.scores && !close(double{got}, w[j], 2e-5 * w[j] + 1e-37)) return "a weight";
          }
        }
        const std::vector<double> wanted = p.no_out ? o : wo.apply(o);
        for (uint32_t e = 0; e < p.d_model; ++e) {
          const float got = y.at(b, i)[e];
          if (close(double{got}, wanted[e], 2e-5)) continue;
          return (Text() << "y of entry " << b << " token " << i << " element " << e << ": " << got << ", not "
                         << wanted[e])
              .str();
        }
      }
    }
    return "";
  }

  LayerProblem p;
  fovea_multihead_desc desc{};
  fovea_multihead_plan plan{};
  fovea_multihead_args args{};
  fovea_rope_args rope{};
  TokenArray y, x, keys, values;
  LayerWeights wq, wk, wv, wo, qkv;
  std::vector<uint32_t> lengths;
  std::vector<uint8_t> mask;
  std::vector<float> scores;
  Guarded workspace;

 private:
  TokenArray filled(uint32_t tokens, uint32_t width, uint64_t stream) const {
    TokenArray array(p.batch, tokens, width, p.order);
    for (const auto& [b, t, i] : indices(p.batch, tokens, width)) {
      array.at(b, t)[i] = random_normal(p.seed + stream, (uint64_t{b} * tokens + t) * width + i);
    }
    return array;
  }

  // What becomes queries (0), keys (1) or values (2) of a token.
  std::vector<double> projected(int which, const float* token, uint32_t width) const {
    const std::vector<double> in(token, token + width);
    if (p.packed) {
      const std::vector<double> all = qkv.apply(in);
      const size_t q = size_t{p.q_heads} * p.head_dim, k = size_t{p.kv_heads} * p.head_dim;
      const size_t begin = which == 0 ? 0 : which == 1 ? q : q + k;
      const size_t end = which == 0 ? q : which == 1 ? q + k : all.size();
      return {all.begin() + ptrdiff_t(begin), all.begin() + ptrdiff_t(end)};
    }
    const LayerWeights& w = which == 0 ? wq : which == 1 ? wk : wv;
    return w.view.data ? w.apply(in) : in;
  }
};

LayerProblem make_problem(Levels& levels, uint64_t seed) {
  struct Heads {
    uint32_t q, kv, head_dim, value_dim;
  };
  LayerProblem p;
  p.seed = seed;
  p.batch = levels.choose({1u, 2u, 3u}), p.q_tokens = levels.choose({1u, 2u, 7u, 33u});
  p.kv_tokens = levels.choose({1u, 5u, 66u});
  const Heads heads = levels.choose<Heads>({{1, 1, 8, 8}, {4, 4, 6, 6}, {6, 2, 5, 9}, {8, 1, 16, 3}});
  p.q_heads = heads.q, p.kv_heads = heads.kv, p.head_dim = heads.head_dim, p.value_dim = heads.value_dim;
  p.keys = levels.choose({LayerProblem::kSelf, LayerProblem::kCross, LayerProblem::kCrossValues});
  p.d_model = levels.choose<uint32_t>({24, 7, 40});
  const uint32_t key_model = levels.choose<uint32_t>({24, 11}), value_model = levels.choose<uint32_t>({24, 13});
  p.key_model = p.keys == LayerProblem::kSelf ? p.d_model : key_model;
  p.value_model = p.keys == LayerProblem::kCrossValues ? value_model : p.key_model;
  p.dtype = levels.choose(kTypes), p.bias = levels.flag(), p.packed = levels.flag();
  if (p.packed) p.key_model = p.value_model = p.d_model;
  p.order = levels.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded});
  p.causal = levels.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT});
  p.lengths = levels.flag(), p.mask = levels.flag(), p.scores = levels.flag(), p.portable_bits = levels.flag();
  const int without = levels.choose({0, 1, 2, 3, 4, 5});
  p.no_q = without == 1 && !p.packed && p.d_model == p.q_heads * p.head_dim;
  p.no_k = without == 2 && !p.packed && p.key_model == p.kv_heads * p.head_dim;
  p.no_v = without == 3 && !p.packed && p.value_model == p.kv_heads * p.value_dim;
  p.no_out = without == 4 && p.d_model == p.q_heads * p.value_dim;
  return p;
}

// Keys and values of other models than x, more than a key tile.
LayerProblem cross_problem() {
  LayerProblem p;
  p.keys = LayerProblem::kCrossValues;
  p.key_model = 11, p.value_model = 13, p.kv_tokens = 70, p.scores = false;
  return p;
}

// The largest difference, relative to the largest number.
float difference(const std::vector<float>& got, const std::vector<float>& want) {
  float largest = 0, difference = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    difference = std::max(difference, std::fabs(got[i] - want[i]));
  }
  return difference / largest;
}

// A cache for a layer, with pages in an order of their own.
struct LayerCache {
  fovea_kv_cache cache{};
  Guarded memory;

  LayerCache(const LayerProblem& p, fovea_kv_kind kind, fovea_dtype dtype, uint32_t tokens) {
    cache.struct_bytes = sizeof cache, cache.kind = kind, cache.key_dtype = cache.value_dtype = dtype;
    cache.batch = p.batch;
    cache.kv_heads = p.kv_heads, cache.head_dim = p.head_dim, cache.value_dim = p.value_dim;
    cache.max_tokens = tokens;
    if (kind == FOVEA_KV_RING) cache.pinned_tokens = 1;
    if (kind == FOVEA_KV_PAGED) cache.page_tokens = 3, cache.pages = p.batch * ((tokens + 2) / 3);
    memory = Guarded((fovea_kv_cache_bytes(&cache) + kAlignment - 1) / kAlignment * kAlignment, kAlignment,
                     Placement::kStart);
    REQUIRE(fovea_kv_cache_init(&cache, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    for (uint32_t i = 0; i < cache.pages; ++i) cache.page_table[i] = cache.pages - 1 - i;
  }
};

}  // namespace

TEST_CASE("multihead: a block map and a modifier are those of its attention", "[short]") {
  LayerProblem p;
  p.batch = 2, p.q_tokens = 20, p.kv_tokens = 150, p.keys = LayerProblem::kCross;
  for (const fovea_target target : targets()) {
    LayerCase layer(p);
    // Keys 64 to 127 are hidden from the first eight queries, by a mask and then by a map.
    std::fill(layer.mask.begin(), layer.mask.end(), uint8_t{1});
    for (size_t i = 0; i < 8; ++i) std::fill_n(layer.mask.begin() + ptrdiff_t(i * 150 + 64), 64, uint8_t{0});
    layer.p.mask = true;
    static const uint32_t offsets[] = {0, 2, 5, 8}, blocks[] = {0, 2, 0, 1, 2, 0, 1, 2};
    const fovea_block_map map = {8, 64, offsets, 0, 0, blocks, 8};
    layer.args.attention.block_map = &map;
    REQUIRE(layer.run(target) == FOVEA_OK);
    CHECK(layer.compare() == "");

    // The function does what the mask did.
    const fovea_modifier modifier = {
        [](void*, const fovea_score_block* block) {
          for (const auto& [r, k] : indices(block->rows, block->keys)) {
            const int64_t key = block->first_key + k;
            if (block->tokens[r] >= 8 || key < 64 || key >= 128) continue;
            block->data[ptrdiff_t(r) * block->row_stride + ptrdiff_t(k) * block->key_stride] = -kInfinity;
          }
        },
        nullptr, nullptr};
    layer.args.attention.block_map = nullptr, layer.args.attention.modifier = &modifier;
    REQUIRE(layer.run(target) == FOVEA_OK);
    CHECK(layer.compare() == "");
  }
}

TEST_CASE("multihead: any two choices of shapes and options agree with plain loops", "[short][multihead]") {
  size_t without = 0;
  const size_t rows = run_array("multihead", 2, make_problem, [&](const LayerProblem& p) {
    without += p.no_q + p.no_k + p.no_v + p.no_out;
    for (const fovea_target target : targets()) {
      LayerCase test(p);
      set_current_case(name(p, target));
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.compare() == "");
      CHECK(test.workspace.margin_intact());
    }
  });
  CHECK(rows > 20);
  CHECK(without > 1);
}

TEST_CASE("multihead: layers that are left out take tokens as they are", "[short][multihead]") {
  for (const fovea_target target : targets()) {
    for (int which = 0; which < 16; ++which) {
      LayerProblem p;
      p.q_heads = p.kv_heads = 4;
      p.no_q = which & 1, p.no_k = which & 2, p.no_v = which & 4, p.no_out = which & 8;
      p.keys = which % 3 == 0 ? LayerProblem::kSelf : LayerProblem::kCross;
      p.order = which % 2 == 0 ? Layout::kPadded : Layout::kTokensFirst;
      LayerCase test(p);
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.compare() == "");
    }
  }
}

TEST_CASE("multihead: packed weights, the order of tokens and an executor change no bit", "[short][multihead]") {
  for (const fovea_target target : targets()) {
    LayerProblem p;
    p.q_tokens = 37, p.d_model = p.key_model = p.value_model = 50, p.packed = true;
    LayerCase packed(p);
    INFO(name(p, target));
    REQUIRE(packed.run(target) == FOVEA_OK);

    p.order = Layout::kTokensFirst;
    LayerCase turned(p);
    REQUIRE(turned.run(target) == FOVEA_OK);
    CHECK(same_bits(turned.answer(), packed.answer()));

    // The rows of the packed weights, one by one.
    p.order = Layout::kHeadsFirst, p.packed = false;
    LayerCase parts(p);
    const fovea_linear_weights& all = packed.args.weights.qkv;
    fovea_linear_weights* const each[] = {&parts.args.weights.q, &parts.args.weights.k, &parts.args.weights.v};
    size_t first = 0;
    for (size_t i = 0; i < 3; ++i) {
      *each[i] = all;
      each[i]->data = static_cast<const float*>(all.data) + first * p.d_model;
      each[i]->bias = all.bias + first;
      first += i == 0 ? p.q_heads * p.head_dim : p.kv_heads * p.head_dim;
    }
    parts.args.weights.out = packed.args.weights.out;
    REQUIRE(parts.run(target) == FOVEA_OK);
    CHECK(same_bits(parts.answer(), packed.answer()));

    Shuffler shuffler(3);
    parts.desc.attention.max_workers = 3, parts.args.attention.executor = shuffler.executor();
    REQUIRE(parts.run(target) == FOVEA_OK);
    CHECK(shuffler.all_tasks > 4);
    CHECK(same_bits(parts.answer(), packed.answer()));
  }
}

TEST_CASE("multihead: keys that are projected once and kept give the bits of those projected each time",
          "[short][multihead]") {
  for (const fovea_target target : targets()) {
    const LayerProblem p = cross_problem();
    LayerCase test(p);
    INFO(name(p, target));
    REQUIRE(test.run(target) == FOVEA_OK);
    for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING}) {
      LayerCache kept(p, kind, FOVEA_F32, 72);
      LayerCase again(p);
      again.plan_for(kept.cache, p.kv_tokens, target);
      REQUIRE(again.append(kept.cache) == FOVEA_OK);
      again.attend_to(kept.cache);
      for (int call = 0; call < 2; ++call) {
        REQUIRE(again.call() == FOVEA_OK);
        CHECK(same_bits(again.answer(), test.answer()));
      }
    }
  }
}

TEST_CASE("multihead: products with the rows of an int8 cache may be of integers", "[short][multihead]") {
  const LayerProblem p = cross_problem();
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_I8, 72);
    LayerCase test(p);
    test.plan_for(kept.cache, p.kv_tokens, target);
    REQUIRE(test.append(kept.cache) == FOVEA_OK);
    test.attend_to(kept.cache);
    REQUIRE(test.call() == FOVEA_OK);
    const std::vector<float> want = test.answer();
    test.desc.attention.compute = FOVEA_COMPUTE_I8;
    REQUIRE(test.run(target) == FOVEA_OK);
    INFO(fovea_target_name(target));
    CHECK(difference(test.answer(), want) > 0);
    CHECK(difference(test.answer(), want) < 0.03f);
  }
}

TEST_CASE("multihead: a cache may be rotated, if the description is; keys that are not kept may not",
          "[short][multihead]") {
  const LayerProblem p = cross_problem();
  for (const fovea_target target : targets()) {
    std::vector<float> answers[2];
    for (const fovea_rotation rotation : {FOVEA_ROTATION_NONE, FOVEA_ROTATION_BOTH}) {
      LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_F32, 72);
      kept.cache.rotation = rotation, kept.cache.rotation_seed = 5;
      LayerCase test(p);
      test.plan_for(kept.cache, p.kv_tokens, target);
      if (rotation != FOVEA_ROTATION_NONE) {
        CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
        kept.cache.rotation_seed = 6;
        CHECK(test.append(kept.cache) == FOVEA_ERR_SIZE);
        kept.cache.rotation_seed = 5, kept.cache.rotation = FOVEA_ROTATION_KEYS;
        CHECK(test.append(kept.cache) == FOVEA_ERR_SIZE);
        kept.cache.rotation = rotation;
      }
      REQUIRE(test.append(kept.cache) == FOVEA_OK);
      test.attend_to(kept.cache);
      REQUIRE(test.call() == FOVEA_OK);
      answers[rotation != FOVEA_ROTATION_NONE] = test.answer();
    }
    CHECK(difference(answers[1], answers[0]) > 0);
    CHECK(difference(answers[1], answers[0]) < 1e-5f);
  }
}

TEST_CASE("multihead: a decoder, a token or more at a time, gives the bits of one call", "[short][multihead]") {
  for (const auto& [target, turned, kind] :
       every(targets_and_those_that_extend_them(), {false, true}, {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING})) {
    LayerProblem p;
    p.q_tokens = 67, p.causal = FOVEA_CAUSAL_TOP_LEFT, p.scores = false, p.portable_bits = true;
    p.packed = turned;
    uint64_t turns[3];
    REQUIRE(fovea_rope_frequencies(turns, 100.0, 0.0, p.head_dim) == FOVEA_OK);
    auto rope = sized<fovea_rope_args>();
    rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.turns = turns;
    LayerCase whole(p);
    if (turned) whole.args.rope = &rope;
    INFO(name(p, target) << " cache of kind " << kind << (turned ? " rope" : ""));
    REQUIRE(whole.run(target) == FOVEA_OK);
    if (!turned) CHECK(whole.compare() == "");
    const std::vector<float> wanted = whole.answer();

    LayerCase decoder(p);
    LayerCache kept(p, kind, FOVEA_F32, 70);
    decoder.desc.attention.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, decoder.desc.attention.max_q_tokens = 5;
    decoder.plan_for(kept.cache, 5, target);
    int64_t positions[2];
    for (uint32_t t = 0; t < p.q_tokens; t += decoder.args.q_tokens) {
      decoder.args.q_tokens = std::min<uint32_t>(t % 4 == 3 ? 5 : 1, p.q_tokens - t);
      decoder.args.x.data = decoder.x.at(0, t), decoder.args.y.data = decoder.y.at(0, t);
      decoder.args.cache = nullptr, decoder.args.rope = turned ? &rope : nullptr;
      rope.positions = nullptr;
      REQUIRE(decoder.append(kept.cache) == FOVEA_OK);
      positions[0] = positions[1] = t, rope.positions = positions;
      decoder.args.cache = &kept.cache;
      REQUIRE(decoder.call() == FOVEA_OK);
    }
    CHECK(same_bits(decoder.answer(), wanted));
    CHECK(decoder.workspace.margin_intact());
  }
}

TEST_CASE("multihead: rope turns queries and keys as fovea_rope_f32 does, and no values", "[short][multihead]") {
  for (const fovea_target target : targets()) {
    LayerProblem p;
    p.q_heads = p.kv_heads = 4, p.no_q = p.no_k = true, p.scores = false, p.portable_bits = true;
    p.causal = FOVEA_CAUSAL_TOP_LEFT;
    uint64_t turns[3];
    REQUIRE(fovea_rope_frequencies(turns, 100.0, 0.0, p.head_dim) == FOVEA_OK);
    LayerCase test(p), by_hand(p);
    test.rope.turns = turns, test.args.rope = &test.rope;
    INFO(name(p, target));
    REQUIRE(test.run(target) == FOVEA_OK);

    const TokenArray turned(p.batch, p.q_tokens, p.d_model, p.order);
    fovea_rope_args rope = test.rope;
    rope.target = target;  // some fuse multiply-adds
    rope.batch = p.batch, rope.heads = p.q_heads, rope.tokens = p.q_tokens, rope.dim = p.head_dim;
    rope.in = test.x.in(), rope.out = turned.out();
    rope.in.head_stride = rope.out.head_stride = ptrdiff_t(p.head_dim);
    REQUIRE(fovea_rope_f32(&rope) == FOVEA_OK);
    by_hand.args.x = by_hand.args.keys = turned.in();
    by_hand.args.values = test.x.in();
    by_hand.args.kv_tokens = p.q_tokens;
    REQUIRE(by_hand.run(target) == FOVEA_OK);
    CHECK(same_bits(test.answer(), by_hand.answer()));
  }
}

TEST_CASE("multihead: key_mass is the sum of the weights, and overlaps no array of the layer", "[short][multihead]") {
  const LayerProblem p;
  const uint32_t keys = p.keys_of_call(), group = p.q_heads / p.kv_heads, last = 2;
  const auto head = ptrdiff_t(keys);
  for (const fovea_target target : targets()) {
    LayerCase test(p);
    INFO(name(p, target));
    std::vector<float> mass(size_t{p.batch} * p.kv_heads * keys);
    fovea_out& out = test.args.attention.key_mass;
    const fovea_out valid = {mass.data(), head * ptrdiff_t(p.kv_heads), head, 0};
    out = valid;
    test.desc.attention.key_mass_queries = last;
    REQUIRE(test.run(target) == FOVEA_OK);
    for (size_t row = 0; row < mass.size(); ++row) {
      const size_t j = row % keys, kv_head = row / keys % p.kv_heads, b = row / keys / p.kv_heads;
      double sum = 0;
      for (size_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        for (size_t i = p.q_tokens - last; i < p.q_tokens; ++i) {
          sum += double{test.scores[((b * p.q_heads + h) * p.q_tokens + i) * keys + j]};
        }
      }
      CHECK(std::abs(double{mass[row]} - sum) < 1e-6);
    }
    const std::vector<float> answer = test.answer();
    const fovea_multihead_weights& w = test.args.weights;
    const void* const taken[] = {test.args.x.data, test.args.y.data, w.q.data,
                                 w.out.data,       w.out.bias,       test.workspace.as<void>()};
    for (const void* const data : taken) {
      out.data = const_cast<void*>(data);
      CHECK(test.call() == FOVEA_ERR_OVERLAP);
    }
    CHECK(same_bits(test.answer(), answer));
  }
}

TEST_CASE("multihead: linear layers with products of integers or halves are those of fovea_linear, bit for bit",
          "[short][multihead]") {
  for (const fovea_dtype dtype : {FOVEA_I8, FOVEA_I4, FOVEA_Q4_1, FOVEA_F16}) {
    for (const uint32_t q_tokens : {2u, 21u, 22u}) {
      const fovea_compute compute = dtype == FOVEA_F16 ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_I8;
      const bool packed = dtype == FOVEA_I8 && q_tokens != 21;
      LayerProblem p;
      p.batch = 1, p.q_tokens = q_tokens, p.dtype = dtype, p.packed = packed, p.scores = false;
      p.portable_bits = true;
      LayerCase test(p);
      test.desc.linear_compute = compute;
      const auto project = [&](const fovea_linear_weights& w, const float* x, uint32_t in_dim, uint32_t out_dim) {
        std::vector<float> y(size_t{q_tokens} * out_dim);
        auto a = sized<fovea_linear_args>();
        a.target = test.plan.attention.desc.target;
        a.processor_features = fovea::platform::processor_features();
        a.compute = compute, a.tokens = q_tokens, a.in_dim = in_dim, a.out_dim = out_dim;
        a.x = x, a.x_stride = in_dim, a.y = y.data(), a.y_stride = out_dim;
        a.weights = w;
        const Guarded workspace(fovea_linear_workspace_bytes(&a), kAlignment, Placement::kEnd);
        REQUIRE(fovea_linear(&a, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
        return y;
      };
      for (const fovea_target target : targets_and_those_that_extend_them()) {
        INFO(name(p, target));
        REQUIRE(test.run(target) == FOVEA_OK);
        const uint32_t q_width = p.q_heads * p.head_dim, k_width = p.kv_heads * p.head_dim;
        const auto part = [&](const LayerWeights& alone, uint32_t first) {
          if (!packed) return alone.view;
          fovea_linear_weights rows = test.qkv.view;
          rows.data = static_cast<const int8_t*>(rows.data) + ptrdiff_t(first) * rows.row_stride;
          rows.scales = static_cast<const float*>(rows.scales) + first;
          rows.bias += first;
          return rows;
        };
        const float* const x = test.x.at(0, 0);
        const std::vector<float> q = project(part(test.wq, 0), x, p.d_model, q_width);
        const std::vector<float> k = project(part(test.wk, q_width), x, p.d_model, k_width);
        const std::vector<float> v = project(part(test.wv, q_width + k_width), x, p.d_model, k_width);
        std::vector<float> o(size_t{q_tokens} * q_width);
        auto a = sized<fovea_attention_args>();
        a.batch = 1, a.q_tokens = a.kv_tokens = q_tokens;
        const auto head = ptrdiff_t(p.head_dim), q_token = head * ptrdiff_t(p.q_heads),
                   k_token = head * ptrdiff_t(p.kv_heads);
        a.q = {q.data(), 0, head, q_token};
        a.kv.keys = {k.data(), 0, head, k_token};
        a.kv.values = {v.data(), 0, head, k_token};
        a.out = {o.data(), 0, head, q_token};
        const Guarded workspace(test.plan.attention.workspace_bytes, kAlignment, Placement::kEnd);
        REQUIRE(fovea_attention(&test.plan.attention, &a, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
        CHECK(same_bits(test.answer(), project(test.wo.view, o.data(), q_width, p.d_model)));
      }
    }
  }
}

TEST_CASE("multihead: the workspace is what a plan says, on every target, and the macro is not less",
          "[short][multihead]") {
  for (const uint32_t head_dim : {1u, 17u, 64u}) {
    LayerProblem p;
    p.head_dim = p.value_dim = head_dim, p.d_model = p.key_model = p.value_model = 100;
    LayerCase test(p);
    for (const fovea_target target : targets()) {
      REQUIRE(test.run(target) == FOVEA_OK);
      const size_t bytes = fovea_multihead_workspace_bytes(&test.plan);
      CHECK(bytes == fovea_multihead_workspace_bytes_for(&test.desc, target));
      CHECK(bytes <= fovea_multihead_workspace_bytes_for(&test.desc, FOVEA_TARGET_BEST));
      CHECK(bytes <= FOVEA_MULTIHEAD_WORKSPACE_BYTES(100, p.q_heads, p.kv_heads, head_dim, p.batch * p.q_tokens,
                                                     p.batch * p.q_tokens, FOVEA_F32));
      CHECK(fovea_multihead(&test.plan, &test.args, test.workspace.as<void>(), bytes - 1) == FOVEA_ERR_WORKSPACE);
    }
  }
  for (const auto& [head_dim, d_model, q_tokens, new_tokens, dtype] :
       every({1u, 17u, 64u}, {1u, 100u, 700u}, {1u, 5u, 33u, 200u}, {1u, 60u},
             {FOVEA_F32, FOVEA_F16, FOVEA_I8, FOVEA_Q4_0})) {
    auto d = sized<fovea_multihead_desc>();
    d.attention.struct_bytes = sizeof d.attention;
    d.attention.q_heads = 4, d.attention.kv_heads = 2, d.attention.head_dim = d.attention.value_dim = head_dim;
    d.attention.max_batch = 2, d.attention.max_q_tokens = q_tokens, d.attention.max_kv_tokens = 60;
    d.attention.portable_bits = q_tokens == 5, d.max_new_tokens = new_tokens;
    d.d_model = d_model, d.key_model = 30, d.weight_dtype = dtype;
    INFO("head_dim " << head_dim << " d_model " << d_model << " queries " << q_tokens << " keys " << new_tokens);
    const size_t most = FOVEA_MULTIHEAD_WORKSPACE_BYTES(std::max<uint32_t>(d_model, 30), 4, 2, head_dim, 2 * q_tokens,
                                                        2 * new_tokens, dtype);
    for (const fovea_target target : targets()) {
      const size_t bytes = fovea_multihead_workspace_bytes_for(&d, target);
      CHECK(bytes > 0);
      CHECK(bytes <= most);
      fovea_multihead_desc halves = d;
      halves.linear_compute = FOVEA_COMPUTE_F16;
      CHECK(fovea_multihead_workspace_bytes_for(&halves, target) <= most);  // 0 where weights are not halves
      if (dtype < FOVEA_I8) continue;
      fovea_multihead_desc integers = d;
      integers.linear_compute = FOVEA_COMPUTE_I8;
      const size_t integer_bytes = fovea_multihead_workspace_bytes_for(&integers, target);
      CHECK(integer_bytes > 0);
      CHECK(integer_bytes <= FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(std::max<uint32_t>(d_model, 30), 4, 2, head_dim,
                                                                2 * q_tokens, 2 * new_tokens));
    }
  }
  // Of a ring with any number of tokens, new ones are as many as there is room for.
  auto ring = sized<fovea_multihead_desc>();
  ring.attention.struct_bytes = sizeof ring.attention;
  ring.attention.q_heads = ring.attention.kv_heads = ring.attention.head_dim = ring.attention.value_dim = 8;
  ring.attention.max_batch = ring.attention.max_q_tokens = 1, ring.attention.max_kv_tokens = 1u << 30;
  ring.attention.kv_kind = FOVEA_KV_RING, ring.attention.ring_tokens = 24, ring.attention.hide_gone = 1;
  fovea_multihead_plan plan{};
  REQUIRE(fovea_multihead_plan_init(&plan, &ring) == FOVEA_OK);
  CHECK(plan.desc.max_new_tokens == 24);
  CHECK(fovea_multihead_workspace_bytes(nullptr) == 0);
  const fovea_multihead_plan no_plan{};
  CHECK(fovea_multihead_workspace_bytes(&no_plan) == 0);
  CHECK(fovea_multihead_workspace_bytes_for(nullptr, FOVEA_TARGET_BEST) == 0);
}

TEST_CASE("multihead: every misuse has its status, and nothing is written", "[short][multihead]") {
  LayerProblem p;
  p.keys = LayerProblem::kCross;
  const auto plan_status = [&](void (*change)(fovea_multihead_desc&)) {
    LayerCase test(p);
    change(test.desc);
    return fovea_multihead_plan_init(&test.plan, &test.desc);
  };
  CHECK(fovea_multihead_plan_init(nullptr, nullptr) == FOVEA_ERR_NULL);
  CHECK(plan_status([](auto& d) { d.struct_bytes -= 4; }) == FOVEA_ERR_STRUCT);
  CHECK(plan_status([](auto& d) { d.attention.struct_bytes -= 4; }) == FOVEA_ERR_STRUCT);
  CHECK(plan_status([](auto& d) { d.weight_dtype = kNoType; }) == FOVEA_ERR_ENUM);
  CHECK(plan_status([](auto& d) { d.weight_dtype = FOVEA_Q4_1; }) == FOVEA_OK);
  CHECK(plan_status([](auto& d) { d.attention.key_dtype = FOVEA_Q4_1; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.linear_compute = fovea_compute(77); }) == FOVEA_ERR_ENUM);
  CHECK(plan_status([](auto& d) { d.linear_compute = FOVEA_COMPUTE_F16; }) == FOVEA_ERR_UNSUPPORTED);  // of f32
  CHECK(plan_status([](auto& d) { d.linear_compute = FOVEA_COMPUTE_F16, d.weight_dtype = FOVEA_BF16; }) ==
        FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.linear_compute = FOVEA_COMPUTE_F16, d.weight_dtype = FOVEA_F16; }) == FOVEA_OK);
  CHECK(plan_status([](auto& d) { d.linear_compute = FOVEA_COMPUTE_I8; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.attention.q_dtype = FOVEA_F16; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.attention.out_dtype = FOVEA_BF16; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.attention.kv_kind = FOVEA_KV_LOAD; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(plan_status([](auto& d) { d.attention.kv_heads = 3; }) == FOVEA_ERR_HEADS);
  CHECK(plan_status([](auto& d) { d.attention.head_dim = 1u << 30; }) == FOVEA_ERR_SIZE);
  CHECK(plan_status([](auto& d) { d.attention.max_batch = 0xffffffffu, d.attention.max_q_tokens = 1u << 28; }) ==
        FOVEA_ERR_SIZE);

  const Misuse<LayerCase> misuses[] = {
      {"plan", FOVEA_ERR_PLAN, [](auto& c) { c.plan.magic ^= 1; }},
      {"struct_bytes", FOVEA_ERR_STRUCT, [](auto& c) { c.args.struct_bytes += 4; }},
      {"attention.struct_bytes", FOVEA_ERR_STRUCT, [](auto& c) { c.args.attention.struct_bytes = 0; }},
      {"batch", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.batch; }},
      {"q_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.q_tokens; }},
      {"kv_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.kv_tokens; }},
      {"values without keys of as many", FOVEA_ERR_SIZE,
       [](auto& c) {
         c.args.keys = {};
         c.args.values = c.keys.in();
         c.args.kv_tokens = c.p.q_tokens - 1;
       }},
      {"x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }},
      {"y", FOVEA_ERR_NULL, [](auto& c) { c.args.y.data = nullptr; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.token_stride = 1; }},
      {"x's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.x.token_stride = 0; }},
      {"x's alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.x.data = static_cast<const char*>(c.args.x.data) + 1; }},
      {"x's strides", FOVEA_ERR_SIZE, [](auto& c) { c.args.x.token_stride = PTRDIFF_MAX / 2; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y.data = const_cast<void*>(c.args.x.data); }},
      {"y over weights", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.weights.k.data = static_cast<char*>(c.args.y.data); }},
      {"y over a bias", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.weights.out.bias = static_cast<float*>(c.args.y.data); }},
      {"scores over keys", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.attention.scores.data = const_cast<void*>(c.args.keys.data); }},
      {"workspace over x", FOVEA_ERR_OVERLAP, [](LayerCase& c) { c.args.x.data = c.workspace.as<float>(); }},
      {"lengths in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) { c.args.attention.kv_lengths = c.workspace.as<uint32_t>(); }},
      {"positions in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) { c.args.attention.positions = c.workspace.as<int64_t>(); }},
      {"slopes in y", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.attention.alibi_slopes = static_cast<float*>(c.args.y.data); }},
      {"sinks in y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.attention.sinks = static_cast<float*>(c.args.y.data); }},
      {"a score vector in y", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.attention.score_vector = static_cast<float*>(c.args.y.data); }},
      {"a mask in y", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.attention.mask = {FOVEA_MASK_F32, 2, c.args.y.data, 0, 0, 0, 0, nullptr, 0}; }},
      {"a mask in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) {
         c.args.attention.mask = {FOVEA_MASK_BYTE, 2, c.workspace.as<void>(), 0, 0, 0, 0, nullptr, 0};
       }},
      {"a block map in y", FOVEA_ERR_OVERLAP,
       [](auto& c) {
         static fovea_block_map map;
         map = {1, 64, static_cast<uint32_t*>(c.args.y.data), 0, 0, nullptr, 0};
         c.args.attention.block_map = &map;
       }},
      {"a block map's blocks in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) {
         static const uint32_t offsets[16] = {};
         static fovea_block_map map;
         map = {1, 64, offsets, 0, 0, c.workspace.as<uint32_t>(), 1};
         c.args.attention.block_map = &map;
       }},
      {"rope's turns in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) {
         c.rope.turns = c.workspace.as<uint64_t>();
         c.args.rope = &c.rope;
       }},
      {"rope's positions in the workspace", FOVEA_ERR_OVERLAP,
       [](LayerCase& c) {
         c.rope.positions = c.workspace.as<int64_t>();
         c.args.rope = &c.rope;
       }},
      {"rope's table in y", FOVEA_ERR_OVERLAP,
       [](auto& c) {
         c.rope.cos = c.rope.sin = static_cast<float*>(c.args.y.data);
         c.rope.table_positions = 2, c.args.rope = &c.rope;
       }},
      {"a bias of no layer", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.k.data = nullptr; }},
      {"both kinds of weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.qkv = c.args.weights.q; }},
      {"weights of another type", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.v.dtype = FOVEA_F16; }},
      {"scales of f32", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.v.scales = c.args.weights.v.bias; }},
      {"no weights for other widths", FOVEA_ERR_SIZE, [](auto& c) { c.args.weights.k = {}; }},
      {"slow workspace", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.slow_workspace_bytes = 64; }},
      {"ragged", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.q_offsets = c.lengths.data(); }},
      {"executor", FOVEA_ERR_CAPACITY,
       [](auto& c) {
         static const fovea_executor two = {[](void*, size_t, void (*)(void*, size_t, uint32_t), void*) { return 0; },
                                            nullptr, 2};
         c.args.attention.executor = &two;
       }},
      {"lengths", FOVEA_ERR_LENGTH,
       [](auto& c) {
         c.lengths[1] = 8;
         c.args.attention.kv_lengths = c.lengths.data();
       }},
      {"score_vector", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.score_vector = c.args.weights.q.bias; }},
      {"rope", FOVEA_ERR_STRUCT,
       [](auto& c) {
         static const fovea_rope_args none{};
         c.args.rope = &none;
       }},
  };
  for (const auto& misuse : misuses) {
    INFO(misuse.what);
    LayerCase test(p);
    REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
    std::fill_n(test.y.memory.as<float>(), test.y.memory.bytes() / 4, 7.0f);
    test.scores.assign(test.scores.size(), 7.0f);
    misuse.change(test);
    CHECK(test.call() == misuse.want);
    const std::vector<float> y = test.answer();
    CHECK(std::count(y.begin(), y.end(), 7.0f) == ptrdiff_t(y.size()));
    CHECK(std::count(test.scores.begin(), test.scores.end(), 7.0f) == ptrdiff_t(test.scores.size()));
  }

  LayerCase test(p);
  REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
  void* const workspace = test.workspace.as<void>();
  const size_t bytes = test.workspace.bytes();
  CHECK(fovea_multihead(nullptr, &test.args, workspace, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, nullptr, workspace, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, &test.args, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, &test.args, static_cast<char*>(workspace) + 4, bytes) == FOVEA_ERR_ALIGNMENT);

  // A prompt of many tokens into a cache by a plan for one at a time, with fields that it does not look at; and scores
  // of as many keys as the cache holds, with y right behind them.
  {
    LayerProblem one = p;
    one.batch = 1, one.keys = LayerProblem::kSelf, one.q_tokens = 5;
    LayerCase decoder(one);
    LayerCache cache(one, FOVEA_KV_STRIDED, FOVEA_F32, 64);
    decoder.desc.attention.max_q_tokens = 1;
    decoder.plan_for(cache.cache, 8, FOVEA_TARGET_BEST);
    const fovea_kv_cache unused{};
    decoder.args.cache = &unused;
    decoder.args.attention.q_offsets = decoder.lengths.data();
    CHECK(decoder.append(cache.cache) == FOVEA_OK);
    decoder.args.attention.q_offsets = nullptr, decoder.args.cache = &cache.cache;
    CHECK(decoder.call() == FOVEA_ERR_CAPACITY);
    decoder.args.q_tokens = 1;
    std::vector<float> outputs(size_t{one.q_heads} * 5 + one.d_model);
    decoder.args.attention.scores = {outputs.data(), 0, 5, 5};
    decoder.args.y.data = outputs.data() + one.q_heads * 5;
    CHECK(decoder.call() == FOVEA_OK);
    decoder.args.y.data = outputs.data() + one.q_heads * 5 - 1;
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);

    // What was subtracted from keys is read, too.
    decoder.args.attention.scores = {}, decoder.args.attention.scores_stage = FOVEA_SCORES_NONE;
    decoder.args.y.data = outputs.data() + one.q_heads * 5;
    Guarded room(size_t{one.kv_heads} * one.head_dim * sizeof(float), sizeof(float), Placement::kEnd);
    std::memset(room.as<void>(), 0, room.bytes());
    cache.cache.key_center = room.as<float>();
    CHECK(decoder.call() == FOVEA_OK);
    cache.cache.key_center = decoder.workspace.as<float>();
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);
    CHECK(decoder.append(cache.cache) == FOVEA_ERR_OVERLAP);
    cache.cache.key_center = static_cast<float*>(decoder.args.y.data);
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);
  }

  // Caches.
  CHECK(fovea_multihead_append(&test.plan, nullptr, &test.args, workspace, bytes) == FOVEA_ERR_NULL);
  auto none = sized<fovea_kv_cache>();
  CHECK(test.append(none) == FOVEA_ERR_PLAN);
  LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_F32, 10);
  CHECK(fovea_multihead_append(&test.plan, &kept.cache, &test.args, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead_append(&test.plan, &kept.cache, &test.args, workspace, bytes - 1) == FOVEA_ERR_WORKSPACE);
  REQUIRE(test.append(kept.cache) == FOVEA_OK);
  CHECK(test.append(kept.cache) == FOVEA_ERR_FULL);
  CHECK(kept.cache.lengths[0] == p.kv_tokens);
  test.args.cache = &kept.cache;
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);  // keys besides
  test.args.keys = {};
  CHECK(test.call() == FOVEA_OK);
  fovea_kv_cache latent = kept.cache;
  latent.values_in_keys = 1;
  test.args.cache = &latent;
  CHECK(test.call() == FOVEA_ERR_SIZE);
  CHECK(test.append(latent) == FOVEA_ERR_SIZE);
  test.args.cache = &kept.cache;
  test.args.attention.kv_lengths = test.lengths.data();
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
  test.args.attention.kv_lengths = nullptr;
  const LayerCache narrow(p, FOVEA_KV_STRIDED, FOVEA_F16, 10);
  test.args.cache = &narrow.cache;
  CHECK(test.call() == FOVEA_ERR_SIZE);
  test.desc.attention.key_dtype = test.desc.attention.value_dtype = FOVEA_F16;
  REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
  test.args.cache = nullptr;  // projected keys are f32
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
}

}  // namespace fovea_test
