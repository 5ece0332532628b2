// SPDX-License-Identifier: Apache-2.0
#include "support/multihead.h"

#include "platform/platform.h"
#include "support/test.h"

namespace fovea_test {

std::string name(const LayerProblem& p, fovea_target target) {
  return Text() << "multihead " << p.batch << "x" << p.q_tokens << "x" << p.keys_of_call() << " heads " << p.q_heads
                << "/" << p.kv_heads << " d " << p.head_dim << "/" << p.value_dim << " models " << p.d_model << "/"
                << p.key_model << "/" << p.value_model << " " << type_name(p.dtype) << (p.bias ? " bias" : "")
                << (p.packed ? " packed" : "") << " keys " << p.keys << " without " << p.no_q << p.no_k << p.no_v
                << p.no_out << " " << name(p.order) << " causal " << p.causal << " padding " << p.padding << " mask "
                << p.mask << " seed " << p.seed << " | " << fovea_target_name(target);
}

TokenArray::TokenArray(const LayerProblem& p, const Scaled& t, uint32_t tokens, uint32_t width)
    : Array(t.dtype(), {1, p.batch, tokens, width}, p.order, Placement::kEnd), tensor(t) {}

void TokenArray::draw(uint64_t seed) const {
  uint64_t index = 0;
  for (const auto& [b, t, i] : indices(shape.heads, shape.tokens, uint32_t(shape.dim))) {
    const float number = random_uniform(seed, index++, -2, 2);
    if (type == FOVEA_F32) row<float>(0, b, t)[i] = number;
    if (type == FOVEA_I8) row<int8_t>(0, b, t)[i] = int8_t(std::nearbyint(number / tensor.scale) + float(tensor.zero));
  }
}

std::vector<double> TokenArray::reals(uint32_t b, uint32_t t) const {
  const std::vector<float> stored = Array::numbers(0, b, t);
  std::vector<double> all(stored.begin(), stored.end());
  for (double& x : all) x = type == FOVEA_F32 ? x : double{tensor.scale} * (x - tensor.zero);
  return all;
}

LayerWeights::LayerWeights(const LayerProblem& p, const Scaled& x, uint32_t in, Parts parts, Draw bias_draw,
                           uint32_t first_bias) {
  const fovea_dtype type = p.dtype;
  const bool integers = p.int_bias && x.scale != 0.0f;
  uint32_t outputs = 0;
  for (const auto& part : parts) outputs += part.second;
  const size_t row_bytes = row_units(type, in) * unit_size(type), scale_bytes = row_scales(type, in) * scale_size(type);
  data = Guarded(outputs * row_bytes, unit_size(type), Placement::kEnd);
  scales = Guarded(outputs * scale_bytes, scale_bytes != 0 ? scale_size(type) : 1, Placement::kEnd);
  bias = Guarded(p.bias ? outputs * sizeof(float) : 0, sizeof(float), Placement::kEnd);
  std::vector<float> row(in);
  for (const auto& [draw, rows] : parts) {
    for (uint32_t r = 0; r < rows; ++r) {
      const size_t o = biases.size();
      const float size = std::ldexp(p.weight_size, -int(r % 3));
      char* const at = data.as<char>() + o * row_bytes;
      char* const scale = scales.as<char>() + o * scale_bytes;
      const auto code = [&, seed = p.seed + draw](uint32_t i) {
        return int(random_bits(seed, uint64_t{r} * in + i) % 255) - 127;
      };
      for (uint32_t i = 0; i < in; ++i) row[i] = size * float(code(i));
      encode_row(type, row.data(), in, at, scale);
      if (type == FOVEA_I8) {  // the very numbers
        std::memcpy(scale, &size, sizeof size);
        for (uint32_t i = 0; i < in; ++i) at[i] = char(code(i));
      }
      for (uint32_t i = 0; i < in; ++i) numbers.push_back(double{element_of(type, at, scale, i)});
      double b = p.bias ? random_uniform(p.seed + bias_draw, first_bias + o, -0.5f, 0.5f) : 0.0;
      const double step = double{x.scale} * double{size}, steps = integers ? std::nearbyint(b / step) : 0;
      if (integers) b = steps * step;
      if (p.bias && integers) bias.as<int32_t>()[o] = int32_t(steps);
      if (p.bias && !integers) bias.as<float>()[o] = float(b);
      biases.push_back(b);
    }
  }
  view.dtype = type, view.data = data.as<void>(), view.row_stride = ptrdiff_t(row_units(type, in));
  if (scale_bytes != 0) view.scales = scales.as<void>();
  if (p.bias && integers) view.bias_i32 = bias.as<int32_t>();
  if (p.bias && !integers) view.bias = bias.as<float>();
}

std::vector<double> LayerWeights::apply(const std::vector<double>& x) const {
  if (!view.data) return x;
  std::vector<double> y = biases;
  for (const auto& [o, i] : indices<size_t>(y.size(), x.size())) y[o] += numbers[o * x.size() + i] * x[i];
  return y;
}

namespace {
fovea_kv_cache_desc cache_of(const LayerProblem& p, fovea_kv_kind kind, fovea_dtype dtype, uint32_t tokens) {
  auto d = sized<fovea_kv_cache_desc>();
  d.kind = kind, d.key_dtype = d.value_dtype = dtype, d.max_tokens = tokens;
  d.batch = p.batch, d.kv_heads = p.kv_heads, d.head_dim = p.head_dim, d.value_dim = p.value_dim;
  if (kind == FOVEA_KV_RING) d.pinned_tokens = 1;
  if (kind == FOVEA_KV_PAGED) d.page_tokens = 3, d.pages = p.batch * ((tokens + 2) / 3);
  return d;
}
}  // namespace

LayerCache::LayerCache(const LayerProblem& p, fovea_kv_kind of_kind, fovea_dtype dtype, uint32_t tokens)
    : OwnedCache(cache_of(p, of_kind, dtype, tokens)) {
  for (uint32_t i = 0; i < pages; ++i) page_table[i] = pages - 1 - i;
}

LayerCase::LayerCase(const LayerProblem& problem)
    : p(problem),
      y(p, p.y, p.q_tokens, p.d_model),
      x(p, p.x, p.q_tokens, p.d_model),
      scores(FOVEA_F32, {p.batch, p.q_heads, p.q_tokens, p.keys_of_call()}, Layout::kHeadsFirst, Placement::kEnd) {
  x.draw(p.seed + kX);
  if (p.keys != kSelf) {
    keys = TokenArray(p, p.x, p.kv_tokens, p.key_model);
    keys.draw(p.seed + kKeyTokens);
  }
  if (p.keys == kKeysAndValues) {
    values = TokenArray(p, p.x, p.kv_tokens, p.value_model);
    values.draw(p.seed + kValueTokens);
  }
  const uint32_t q = p.q_width(), k = p.k_width(), v = p.v_width();
  if (!p.no_q) wq = LayerWeights(p, p.x, p.d_model, {{kWq, q}}, kBin, 0);
  if (!p.no_k) wk = LayerWeights(p, p.x, p.key_model, {{kWk, k}}, kBin, q);
  if (!p.no_v) wv = LayerWeights(p, p.x, p.value_model, {{kWv, v}}, kBin, q + k);
  if (!p.no_out) wo = LayerWeights(p, p.o, p.q_heads * p.value_dim, {{kWout, p.d_model}}, kBout, 0);
  if (p.packed) qkv = LayerWeights(p, p.x, p.d_model, {{kWq, q}, {kWk, k}, {kWv, v}}, kBin, 0);
  describe();
}

void LayerCase::describe() {
  const uint32_t n = p.keys_of_call();
  desc.struct_bytes = sizeof desc;
  desc.d_model = p.d_model, desc.key_model = p.key_model, desc.value_model = p.value_model;
  desc.weight_dtype = p.dtype, desc.linear_compute = p.linear_compute;
  desc.x_dtype = p.x.dtype(), desc.x_scale = p.x.scale, desc.x_zero_point = p.x.zero;
  desc.y_dtype = p.y.dtype(), desc.y_scale = p.y.scale, desc.y_zero_point = p.y.zero;
  fovea_attention_desc& d = desc.attention;
  d.struct_bytes = sizeof d, d.compute = p.compute;
  d.q_heads = p.q_heads, d.kv_heads = p.kv_heads, d.head_dim = p.head_dim, d.value_dim = p.value_dim;
  d.max_batch = std::max<uint32_t>(p.batch, 1), d.max_q_tokens = p.q_tokens, d.max_kv_tokens = n;
  d.q_dtype = p.q.dtype(), d.q_scale = p.q.scale, d.q_zero_point = p.q.zero;
  d.key_dtype = p.k.dtype(), d.key_scale = p.k.scale, d.key_zero_point = p.k.zero;
  d.value_dtype = p.v.dtype(), d.value_scale = p.v.scale, d.value_zero_point = p.v.zero;
  d.out_dtype = p.o.dtype(), d.out_scale = p.o.scale, d.out_zero_point = p.o.zero;
  d.causal = p.causal, d.portable_bits = p.portable_bits;
  d.processor_features = fovea::platform::processor_features();

  args.struct_bytes = sizeof args, args.batch = p.batch, args.q_tokens = p.q_tokens;
  args.kv_tokens = p.keys == kSelf ? 0xffffffffu : p.kv_tokens;
  args.y = y.out(), args.x = x.in();
  if (p.keys != kSelf) args.keys = keys.in();
  if (p.keys == kKeysAndValues) args.values = values.in();
  args.weights.out = wo.view;
  if (p.packed) args.weights.qkv = qkv.view;
  if (!p.packed) args.weights.q = wq.view, args.weights.k = wk.view, args.weights.v = wv.view;
  args.attention.struct_bytes = sizeof args.attention;
  rope.struct_bytes = sizeof rope, rope.layout = FOVEA_ROPE_HALF_SPLIT;
  for (uint32_t b = 0; b < p.batch; ++b) {
    const uint32_t halves = b % 3 == 1 ? n / 2 : b % 3 == 2 ? 0 : n;
    lengths.push_back(p.padding == kTail ? n - 1 - b : p.padding == kHalves ? halves : n);
  }
  if (p.padding == kTail || p.padding == kHalves) args.attention.kv_lengths = lengths.data();
  make_mask();
  args.attention.mask = mask_of_scores;
  if (p.scores) args.attention.scores = scores.out(), args.attention.scores_stage = FOVEA_SCORES_SOFTMAX;
}

// The mask of the scores and the keys that are hidden anywhere, as one: it has a batch, heads and queries only where one
// of them has.
void LayerCase::make_mask() {
  if (p.mask == kNoMask && p.padding != kAnywhere) return;
  const bool planes = p.mask == kBool3 || p.mask == kFloat3, adds = p.mask == kFloat2 || p.mask == kFloat3;
  const uint32_t n = p.keys_of_call(), batch = planes || p.padding == kAnywhere ? p.batch : 1;
  const uint32_t heads = planes ? p.q_heads : 1, queries = p.mask == kNoMask ? 1 : p.q_tokens;
  const size_t unit = adds ? sizeof(float) : 1;
  mask = Guarded(size_t{batch} * heads * queries * n * unit, unit, Placement::kEnd);
  size_t at = 0;
  for (const auto& [b, h, i, j] : indices(batch, heads, queries, n)) {
    const size_t plane = planes ? size_t{b} * heads + h : 0, index = (plane * queries + i) * n + j;
    const bool padded = p.padding == kAnywhere && random_bits(p.seed + kHidden, b * n + j) % 3 == 0;
    const bool hides = p.mask != kNoMask && random_bits(p.seed + kMaskBits, index) % 4 == 0;
    const bool hidden = j > 0 && (padded || hides);
    if (adds) mask.as<float>()[at] = hidden ? -kInfinity : random_uniform(p.seed + kMaskBits, index, -2, 2);
    if (!adds) mask.as<uint8_t>()[at] = hidden ? 0 : 1;
    ++at;
  }
  const auto row = ptrdiff_t(n), head = ptrdiff_t(queries) * row;
  mask_of_scores.kind = adds ? FOVEA_MASK_F32 : FOVEA_MASK_BYTE;
  mask_of_scores.kv_tokens = n, mask_of_scores.data = mask.as<void>();
  mask_of_scores.batch_stride = batch > 1 ? ptrdiff_t(heads) * head : 0;
  mask_of_scores.head_stride = heads > 1 ? head : 0;
  mask_of_scores.q_stride = queries > 1 ? row : 0;
}

// What the mask adds to a score.
double LayerCase::masked(uint32_t b, uint32_t h, uint32_t i, uint32_t j) const {
  const fovea_mask& m = mask_of_scores;
  const ptrdiff_t at = ptrdiff_t(b) * m.batch_stride + ptrdiff_t(h) * m.head_stride + ptrdiff_t(i) * m.q_stride + j;
  if (m.kind == FOVEA_MASK_F32) return double{mask.as<float>()[at]};
  return m.kind == FOVEA_MASK_BYTE && mask.as<uint8_t>()[at] == 0 ? double{-kInfinity} : 0.0;
}

fovea_status LayerCase::make_plan(fovea_target target) {
  desc.attention.target = target;
  const fovea_status status = fovea_multihead_plan_init(&plan, &desc);
  if (status != FOVEA_OK) return status;
  workspace = Guarded(bytes_of(fovea_multihead_workspace_bytes, &plan), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  std::memset(workspace.as<void>(), 0xff, workspace.bytes());
  return FOVEA_OK;
}

void LayerCase::plan_for(const Cache& cache, uint32_t new_tokens, fovea_target target) {
  REQUIRE(fovea_kv_describe(cache, &desc.attention) == FOVEA_OK);
  desc.attention.max_kv_tokens = cache.max_tokens, desc.max_new_tokens = new_tokens;  // of a ring too
  REQUIRE(make_plan(target) == FOVEA_OK);
}

fovea_status LayerCase::call() {
  const Guarded* const inputs[] = {&x.memory, &keys.memory, &values.memory, &mask};
  for (const Guarded* input : inputs) input->read_only(true);
  const fovea_status status = fovea_multihead(&plan, &args, workspace.as<void>(), workspace.bytes());
  for (const Guarded* input : inputs) input->read_only(false);
  return status;
}

fovea_status LayerCase::append(Cache& cache) {
  return fovea_multihead_append(&plan, cache, &args, workspace.as<void>(), workspace.bytes());
}

fovea_status LayerCase::run(fovea_target target) {
  const fovea_status status = make_plan(target);
  return status == FOVEA_OK ? call() : status;
}

void LayerCase::decode(fovea_target target, Cache& cache, uint32_t most, uint32_t (*step)(uint32_t first)) {
  desc.attention.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, desc.attention.max_q_tokens = most;
  plan_for(cache, most, target);
  y.memory.fill();
  // Weights of keys to come are not written.
  std::fill_n(scores.memory.as<float>(), scores.memory.bytes() / sizeof(float), 0.0f);
  const fovea_multihead_args all = args;
  fovea_rope_args turn = all.rope ? *all.rope : rope;
  std::vector<int64_t> positions(p.batch);
  for (uint32_t first = 0; first < p.q_tokens; first += args.q_tokens) {
    args.q_tokens = std::min(step(first), p.q_tokens - first);
    args.x.data = x.at(0, first), args.y.data = y.at(0, first);
    if (p.scores) args.attention.scores.data = scores.row(0, 0, first);
    if (all.rope) args.rope = &turn;
    args.cache = nullptr, turn.first_positions = nullptr;
    REQUIRE(append(cache) == FOVEA_OK);
    std::fill(positions.begin(), positions.end(), int64_t{first});
    args.cache = cache, turn.first_positions = positions.data();
    REQUIRE(call() == FOVEA_OK);
  }
  args = all;
}

TokenArray LayerCase::layer(const TokenArray& from, const LayerWeights& w, const Scaled& to, uint32_t width) const {
  TokenArray result(p, to, from.shape.tokens, width);
  for (uint32_t b = 0; b < p.batch; ++b) {
    auto a = sized<fovea_linear_args>();
    a.target = made(plan).attention.desc.target, a.processor_features = fovea::platform::processor_features();
    a.compute = p.linear_compute, a.tokens = from.shape.tokens;
    a.in_dim = uint32_t(from.shape.dim), a.out_dim = width;
    a.x = from.row(0, b, 0), a.x_stride = from.strides.token, a.x_dtype = from.tensor.dtype();
    if (from.tensor.scale != 0.0f) a.x_scales = &from.tensor.scale, a.x_zero_point = from.tensor.zero;
    a.y = result.row(0, b, 0), a.y_stride = result.strides.token, a.y_dtype = to.dtype();
    a.y_scale = to.scale, a.y_zero_point = to.zero, a.weights = w.view;
    if (!w.view.data) {
      for (uint32_t t = 0; t < a.tokens; ++t) {
        std::memcpy(result.row(0, b, t), from.row(0, b, t), width * unit_size(to.dtype()));
      }
      continue;
    }
    const Guarded memory(bytes_of(fovea_linear_workspace_bytes, &a), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    REQUIRE(fovea_linear(&a, memory.as<void>(), memory.bytes()) == FOVEA_OK);
  }
  return result;
}

std::vector<float> LayerCase::by_steps() const {
  const TokenArray q = layer(x, wq, p.q, p.q_width()), k = layer(key_source(), wk, p.k, p.k_width());
  const TokenArray v = layer(value_source(), wv, p.v, p.v_width());
  const TokenArray o(p, p.o, p.q_tokens, p.q_heads * p.value_dim);
  fovea_attention_args a = args.attention;
  a.batch = p.batch, a.q_tokens = p.q_tokens, a.kv_tokens = p.keys_of_call();
  a.q = q.in(p.head_dim), a.kv.keys = k.in(p.head_dim), a.kv.values = v.in(p.value_dim), a.out = o.out(p.value_dim);
  const Guarded memory(made(plan).attention.workspace_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  fovea_attention_plan attention;
  made(attention) = made(plan).attention;
  REQUIRE(fovea_attention(&attention, &a, memory.as<void>(), memory.bytes()) == FOVEA_OK);
  return layer(o, wo, p.y, p.d_model).numbers();
}

LayerAnswer LayerCase::expected() const {
  const uint32_t n = p.keys_of_call(), group = p.q_heads / p.kv_heads;
  LayerAnswer all;
  all.weights.resize(size_t{p.batch} * p.q_heads * p.q_tokens * n);
  for (uint32_t b = 0; b < p.batch; ++b) {
    std::vector<std::vector<double>> k, v;
    for (uint32_t j = 0; j < n; ++j) {
      k.push_back(wk.apply(key_source().reals(b, j)));
      v.push_back(wv.apply(value_source().reals(b, j)));
    }
    for (uint32_t i = 0; i < p.q_tokens; ++i) {
      const std::vector<double> q = wq.apply(x.reals(b, i));
      const bool last_first = p.causal == FOVEA_CAUSAL_BOTTOM_RIGHT;
      const int64_t last = last_first ? int64_t{i} + lengths[b] - p.q_tokens : int64_t{i};
      std::vector<double> o(size_t{p.q_heads} * p.value_dim);
      for (uint32_t h = 0; h < p.q_heads; ++h) {
        double* const w = &all.weights[((size_t{b} * p.q_heads + h) * p.q_tokens + i) * n];
        double sum = 0;
        for (uint32_t j = 0; j < lengths[b]; ++j) {
          if (p.causal != FOVEA_CAUSAL_NONE && j > last) continue;
          double score = 0;
          for (uint32_t d = 0; d < p.head_dim; ++d) score += q[h * p.head_dim + d] * k[j][h / group * p.head_dim + d];
          sum += w[j] = std::exp(score / std::sqrt(double(p.head_dim)) + masked(b, h, i, j));
        }
        for (uint32_t j = 0; j < n; ++j) {
          if (sum != 0) w[j] /= sum;
          for (uint32_t e = 0; e < p.value_dim; ++e) o[h * p.value_dim + e] += w[j] * v[j][h / group * p.value_dim + e];
        }
      }
      for (const double e : wo.apply(o)) all.y.push_back(e);
    }
  }
  if (!p.scores) all.weights.clear();
  return all;
}

std::string LayerCase::compare(const LayerAnswer& want, double tolerance, uint32_t columns) const {
  double largest = 0;
  for (const double e : want.y) largest = std::max(largest, std::fabs(e));
  if (largest < 0.1) return "hardly anything is in y";
  const auto differs = [](const char* what, size_t row, size_t e, double got, double wanted) {
    return Text() << what << " of row " << row << ", element " << e << ", is " << got << ", not " << wanted;
  };
  size_t row = 0;
  for (const auto& [b, i] : indices(p.batch, p.q_tokens)) {
    const std::vector<double> got = y.reals(b, i);
    for (uint32_t e = 0; e < p.d_model; ++e) {
      const double wanted = want.y[row * p.d_model + e];
      if (!close(got[e], wanted, tolerance * largest)) return differs("y", row, e, got[e], wanted);
    }
    ++row;
  }
  const size_t means = want.weights.size() < scores.rows() * scores.shape.dim ? p.q_heads : 1;  // of as many heads
  for (const auto& [b, h, i, j] : indices(p.batch, want.weights.empty() ? 0 : p.q_heads / means, p.q_tokens, columns)) {
    double got = 0;
    for (uint32_t of_mean = 0; of_mean < means; ++of_mean) got += scores.get(b, h + of_mean, i, j) / double(means);
    const size_t of_weights = (size_t{b} * p.q_heads / means + h) * p.q_tokens + i;
    const double wanted = want.weights[of_weights * p.keys_of_call() + j];
    const double allowed = std::min(multihead_tolerance(1), 2e-5 * wanted) + 1e-37;
    if (!close(got, wanted, allowed)) return differs("weights", of_weights, j, got, wanted);
  }
  return y.memory.margin_intact() && scores.memory.margin_intact() ? "" : "written outside of y or the weights";
}

}  // namespace fovea_test
