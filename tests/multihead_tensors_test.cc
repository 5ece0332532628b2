// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers whose tensors are int8, from x to y: code for code what fovea_linear and fovea_attention make of
// the same steps, and near plain loops in double.
#include "platform/platform.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;

// A tensor: f32 where scale is 0.
struct Scaled {
  float scale = 0.0f;
  int32_t zero = 0;
  fovea_dtype dtype() const { return scale != 0.0f ? FOVEA_I8 : FOVEA_F32; }
};

struct I8LayerProblem {
  const char* what = "";
  uint32_t batch = 2, q_tokens = 19, kv_tokens = 30, q_heads = 4, kv_heads = 2, head_dim = 12, d_model = 40;
  Scaled x{0.03f, 5}, q{0.04f, 3}, k{0.05f, -7}, v{0.04f, 9}, o{0.03f, -4}, y{0.025f, 11};
  fovea_compute compute = FOVEA_COMPUTE_I8;
  bool packed = false, cross = false, int_bias = false;
  Layout layout = Layout::kHeadsFirst;
};

// [batch][tokens][width] of either type: entries are what heads are to other arrays.
struct TensorArray : Array {
  TensorArray() = default;
  TensorArray(const I8LayerProblem& p, const Scaled& t, uint32_t tokens, uint32_t width)
      : Array(t.dtype(), {1, p.batch, tokens, width}, p.layout, Placement::kEnd), tensor(t) {
    std::memset(memory.as<void>(), 0x77, memory.bytes());
  }
  void fill(uint64_t seed) const {
    uint64_t index = 0;
    for (const auto& [b, t, i] : indices(shape.heads, shape.tokens, uint32_t(shape.dim))) {
      const float number = random_normal(seed, index++);
      const float code = std::nearbyint(number / tensor.scale) + float(tensor.zero);
      if (type == FOVEA_F32) row<float>(0, b, t)[i] = number;
      if (type == FOVEA_I8) row<int8_t>(0, b, t)[i] = int8_t(std::min(127.0f, std::max(-128.0f, code)));
    }
  }
  std::vector<double> numbers(uint32_t b, uint32_t t) const {
    std::vector<double> all;
    for (const float x : Array::numbers(0, b, t)) {
      all.push_back(type == FOVEA_F32 ? double{x} : double{tensor.scale} * (double{x} - tensor.zero));
    }
    return all;
  }
  fovea_in in(ptrdiff_t head_stride = 0) const { return {row(0, 0, 0), strides.head, head_stride, strides.token}; }
  fovea_out out(ptrdiff_t head_stride = 0) const { return {row(0, 0, 0), strides.head, head_stride, strides.token}; }

  Scaled tensor;
};

// int8 weights [out][in] and biases, which are integers where the input is a tensor and these are asked for.
struct I8Weights {
  std::vector<int8_t> codes;
  std::vector<float> scales, biases;
  std::vector<int32_t> int_biases;
  uint32_t in, out;
  fovea_linear_weights view{};

  I8Weights(uint32_t out_, uint32_t in_, const Scaled& x, bool int_bias, uint64_t seed) : in(in_), out(out_) {
    for (uint32_t o = 0; o < out; ++o) {
      scales.push_back((1.0f + float(o % 3)) / (200.0f * std::sqrt(float(in))));
      biases.push_back(0.5f * random_normal(seed + 1, o));
      for (uint32_t i = 0; i < in; ++i) codes.push_back(int8_t(random_bits(seed, uint64_t{o} * in + i) % 255) - 127);
    }
    view.dtype = FOVEA_I8;
    view.data = codes.data(), view.row_stride = ptrdiff_t(in), view.scales = scales.data();
    if (!int_bias || x.scale == 0.0f) {
      view.bias = biases.data();
      return;
    }
    for (uint32_t o = 0; o < out; ++o) {
      int_biases.push_back(int32_t(std::nearbyint(biases[o] / (x.scale * scales[o]))));
      biases[o] = float(int_biases[o]) * x.scale * scales[o];
    }
    view.bias_i32 = int_biases.data();
  }
  fovea_linear_weights from(uint32_t row) const {
    fovea_linear_weights w = view;
    w.data = codes.data() + size_t{row} * in;
    w.scales = scales.data() + row;
    if (w.bias) w.bias += row;
    if (w.bias_i32) w.bias_i32 += row;
    return w;
  }
  std::vector<double> apply(const std::vector<double>& x, uint32_t first, uint32_t rows) const {
    std::vector<double> y(rows);
    for (uint32_t o = first; o < first + rows; ++o) {
      for (uint32_t i = 0; i < in; ++i) y[o - first] += double{scales[o]} * codes[size_t{o} * in + i] * x[i];
      y[o - first] += double{biases[o]};
    }
    return y;
  }
};

class I8LayerCase {
 public:
  explicit I8LayerCase(const I8LayerProblem& problem)
      : p(problem),
        q_width(p.q_heads * p.head_dim),
        k_width(p.kv_heads * p.head_dim),
        x(p, p.x, p.q_tokens, p.d_model),
        y(p, p.y, p.q_tokens, p.d_model),
        qkv(q_width + 2 * k_width, p.d_model, p.x, p.int_bias, 50),
        wo(p.d_model, q_width, p.o, p.int_bias, 60) {
    x.fill(1);
    if (p.cross) {
      keys = TensorArray(p, p.x, p.kv_tokens, p.d_model);
      keys.fill(2);
    }
    desc.struct_bytes = sizeof desc, desc.d_model = p.d_model, desc.weight_dtype = FOVEA_I8;
    desc.linear_compute = FOVEA_COMPUTE_I8;
    desc.x_dtype = p.x.dtype(), desc.x_scale = p.x.scale, desc.x_zero = p.x.zero;
    desc.y_dtype = p.y.dtype(), desc.y_scale = p.y.scale, desc.y_zero = p.y.zero;
    fovea_attention_desc& d = desc.attention;
    d.struct_bytes = sizeof d, d.compute = p.compute;
    d.q_heads = p.q_heads, d.kv_heads = p.kv_heads, d.head_dim = d.value_dim = p.head_dim;
    d.max_batch = p.batch, d.max_q_tokens = p.q_tokens, d.max_kv_tokens = kv_tokens();
    d.q_dtype = p.q.dtype(), d.q_scale = p.q.scale, d.q_zero = p.q.zero;
    d.key_dtype = p.k.dtype(), d.key_scale = p.k.scale, d.key_zero = p.k.zero;
    d.value_dtype = p.v.dtype(), d.value_scale = p.v.scale, d.value_zero = p.v.zero;
    d.out_dtype = p.o.dtype(), d.out_scale = p.o.scale, d.out_zero = p.o.zero;
    d.processor_features = fovea::platform::processor_features();
    args.struct_bytes = sizeof args;
    args.batch = p.batch, args.q_tokens = p.q_tokens, args.kv_tokens = p.kv_tokens;
    args.y = y.out(), args.x = x.in();
    if (p.cross) args.keys = keys.in();
    if (p.packed) {
      args.weights.qkv = qkv.view;
    } else {
      args.weights.q = qkv.view, args.weights.k = qkv.from(q_width), args.weights.v = qkv.from(q_width + k_width);
    }
    args.weights.out = wo.view, args.attention.struct_bytes = sizeof args.attention;
  }

  uint32_t kv_tokens() const { return p.cross ? p.kv_tokens : p.q_tokens; }

  fovea_status run(fovea_target target) {
    desc.attention.target = target;
    const fovea_status status = fovea_multihead_plan_init(&plan, &desc);
    if (status != FOVEA_OK) return status;
    workspace = Guarded(fovea_multihead_workspace_bytes(&plan), kAlignment, Placement::kEnd);
    std::memset(workspace.as<void>(), 0xff, workspace.bytes());
    return fovea_multihead(&plan, &args, workspace.as<void>(), workspace.bytes());
  }

  // y of the same steps, each called by itself.
  std::vector<float> by_steps() const {
    const TensorArray& from = p.cross ? keys : x;
    const TensorArray q(p, p.q, p.q_tokens, q_width), k(p, p.k, kv_tokens(), k_width), v(p, p.v, kv_tokens(), k_width),
        o(p, p.o, p.q_tokens, q_width), made(p, p.y, p.q_tokens, p.d_model);
    linear(x, p.q_tokens, qkv.view, q);
    linear(from, kv_tokens(), qkv.from(q_width), k);
    linear(from, kv_tokens(), qkv.from(q_width + k_width), v);
    auto a = sized<fovea_attention_args>();
    a.batch = p.batch, a.q_tokens = p.q_tokens, a.kv_tokens = kv_tokens();
    a.q = q.in(p.head_dim), a.kv.keys = k.in(p.head_dim), a.kv.values = v.in(p.head_dim);
    a.out = o.out(p.head_dim);
    const Guarded memory(plan.attention.workspace_bytes, kAlignment, Placement::kEnd);
    REQUIRE(fovea_attention(&plan.attention, &a, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    linear(o, p.q_tokens, wo.view, made);
    return made.Array::numbers();
  }

  // The largest difference of y from plain loops in double, in which nothing between x and y is rounded.
  double largest_error(double* largest) const {
    const TensorArray& from = p.cross ? keys : x;
    const uint32_t n = kv_tokens(), group = p.q_heads / p.kv_heads;
    double error = 0;
    *largest = 0;
    for (uint32_t b = 0; b < p.batch; ++b) {
      std::vector<std::vector<double>> k, v;
      for (uint32_t j = 0; j < n; ++j) {
        k.push_back(qkv.apply(from.numbers(b, j), q_width, k_width));
        v.push_back(qkv.apply(from.numbers(b, j), q_width + k_width, k_width));
      }
      for (uint32_t i = 0; i < p.q_tokens; ++i) {
        const std::vector<double> q = qkv.apply(x.numbers(b, i), 0, q_width), got = y.numbers(b, i);
        std::vector<double> o(q_width);
        for (uint32_t h = 0; h < p.q_heads; ++h) {
          std::vector<double> w(n);
          double sum = 0;
          for (uint32_t j = 0; j < n; ++j) {
            double score = 0;
            for (uint32_t e = 0; e < p.head_dim; ++e) score += q[h * p.head_dim + e] * k[j][h / group * p.head_dim + e];
            w[j] = std::exp(score / std::sqrt(double(p.head_dim)));
            sum += w[j];
          }
          for (const auto& [j, e] : indices(n, p.head_dim)) {
            o[h * p.head_dim + e] += w[j] / sum * v[j][h / group * p.head_dim + e];
          }
        }
        const std::vector<double> wanted = wo.apply(o, 0, p.d_model);
        for (uint32_t e = 0; e < p.d_model; ++e) {
          *largest = std::max(*largest, std::fabs(wanted[e]));
          error = std::max(error, std::fabs(got[e] - wanted[e]));
        }
      }
    }
    return error;
  }

  I8LayerProblem p;
  uint32_t q_width, k_width;
  TensorArray x, y, keys;
  I8Weights qkv, wo;
  fovea_multihead_desc desc{};
  fovea_multihead_plan plan{};
  fovea_multihead_args args{};
  Guarded workspace;

 private:
  void linear(const TensorArray& from, uint32_t tokens, const fovea_linear_weights& w, const TensorArray& to) const {
    for (uint32_t b = 0; b < p.batch; ++b) {
      auto a = sized<fovea_linear_args>();
      a.target = plan.attention.desc.target;
      a.processor_features = fovea::platform::processor_features();
      a.compute = FOVEA_COMPUTE_I8, a.tokens = tokens, a.in_dim = uint32_t(from.shape.dim),
      a.out_dim = uint32_t(to.shape.dim);
      a.x = from.row(0, b, 0), a.x_stride = from.strides.token, a.x_dtype = from.tensor.dtype();
      if (from.tensor.scale != 0.0f) a.x_scales = &from.tensor.scale, a.x_zero = from.tensor.zero;
      a.y = to.row(0, b, 0), a.y_stride = to.strides.token, a.y_dtype = to.tensor.dtype();
      a.y_scale = to.tensor.scale, a.y_zero = to.tensor.zero, a.weights = w;
      const Guarded memory(fovea_linear_workspace_bytes(&a), kAlignment, Placement::kEnd);
      REQUIRE(fovea_linear(&a, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    }
  }
};

std::vector<I8LayerProblem> problems() {
  std::vector<I8LayerProblem> all;
  const auto add = [&](const char* what, void (*change)(I8LayerProblem&)) {
    I8LayerProblem p;
    p.what = what;
    change(p);
    all.push_back(p);
  };
  add("bytes from end to end", [](I8LayerProblem&) {});
  add("integer biases", [](auto& p) { p.int_bias = true; });
  add("packed weights, three scales", [](auto& p) { p.packed = true; });
  add("packed weights, one scale", [](auto& p) { p.packed = p.int_bias = true, p.k = p.v = p.q; });
  add("packed weights, two zero points", [](auto& p) { p.packed = true, p.k = p.v = p.q, p.v.zero = 4; });
  add("keys of another sequence", [](auto& p) { p.cross = p.packed = true; });
  add("tokens first", [](auto& p) { p.layout = Layout::kTokensFirst, p.packed = true; });
  add("rows apart", [](auto& p) { p.layout = Layout::kPadded, p.int_bias = true; });
  add("few tokens", [](auto& p) { p.batch = 1, p.q_tokens = 2; });
  add("x f32", [](auto& p) { p.x = {}; });
  add("y f32", [](auto& p) { p.y = {}; });
  add("queries f32", [](auto& p) { p.q = {}, p.k.zero = 0; });
  add("outputs of heads f32", [](auto& p) { p.o = {}, p.int_bias = true; });
  add("x and y f32", [](auto& p) { p.x = p.y = {}, p.layout = Layout::kPadded; });
  add("attention f32", [](auto& p) {
    p.q = p.k = p.v = p.o = {}, p.packed = true;
    p.compute = FOVEA_COMPUTE_F32;
  });
  return all;
}

}  // namespace

TEST_CASE("multihead tensors: a layer of bytes is its steps, code for code, and near plain loops in double",
          "[short][multihead]") {
  for (const I8LayerProblem& p : problems()) {
    I8LayerCase test(p);
    double largest = 0;
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      INFO(p.what << " | " << fovea_target_name(target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.workspace.margin_intact());
      CHECK(test.y.Array::numbers() == test.by_steps());
      const double error = test.largest_error(&largest);
      CHECK(largest > 1);
      CHECK(error < 0.05 * largest);
    }
  }
}

TEST_CASE("multihead tensors: layers that are left out pass codes through", "[short][multihead]") {
  I8LayerProblem p;
  p.kv_heads = p.q_heads, p.d_model = p.q_heads * p.head_dim, p.q = p.k = p.v = p.x, p.y = p.o;
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    I8LayerCase test(p);
    INFO(fovea_target_name(target));
    test.args.weights = {};
    REQUIRE(test.run(target) == FOVEA_OK);
    const TensorArray out(p, p.o, p.q_tokens, p.d_model);
    auto a = sized<fovea_attention_args>();
    a.batch = p.batch, a.q_tokens = a.kv_tokens = p.q_tokens;
    a.q = a.kv.keys = a.kv.values = test.x.in(p.head_dim);
    a.out = out.out(p.head_dim);
    const Guarded memory(test.plan.attention.workspace_bytes, kAlignment, Placement::kEnd);
    REQUIRE(fovea_attention(&test.plan.attention, &a, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    CHECK(test.y.Array::numbers() == out.Array::numbers());

    // Codes of one tensor are not those of another.
    for (float fovea_multihead_desc::*scale : {&fovea_multihead_desc::x_scale, &fovea_multihead_desc::y_scale}) {
      I8LayerCase other(p);
      other.args.weights = {};
      other.desc.*scale *= 2.0f;
      CHECK(other.run(target) == FOVEA_ERR_UNSUPPORTED);
    }
  }
}

TEST_CASE("multihead tensors: projections of bytes take a byte an element of the workspace", "[short][multihead]") {
  const I8LayerProblem p;
  I8LayerCase test(p);
  const size_t rows = size_t{p.batch} * p.q_tokens, elements = rows * 2 * (p.q_heads + p.kv_heads) * p.head_dim;
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    REQUIRE(test.run(target) == FOVEA_OK);
    const size_t projections = test.plan.workspace_bytes - test.plan.shared_bytes;
    CHECK(projections >= elements);
    CHECK(projections < elements + 4 * kAlignment);
    CHECK(test.plan.workspace_bytes <=
          FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(p.d_model, p.q_heads, p.kv_heads, p.head_dim, rows, rows) +
              FOVEA_I8_WORKSPACE_BYTES(p.head_dim, p.head_dim));
  }
}

TEST_CASE("multihead tensors: every misuse has its status, and nothing is written", "[short][multihead]") {
  const fovea_status kUnsupported = FOVEA_ERR_UNSUPPORTED, kNumber = FOVEA_ERR_NUMBER;
  const Misuse<I8LayerCase> misuses[] = {
      {"x_dtype", FOVEA_ERR_ENUM, [](auto& c) { c.desc.x_dtype = kNoType; }},
      {"y_dtype", FOVEA_ERR_ENUM, [](auto& c) { c.desc.y_dtype = kNoType; }},
      {"x of f16", kUnsupported, [](auto& c) { c.desc.x_dtype = FOVEA_F16, c.desc.x_scale = 0, c.desc.x_zero = 0; }},
      {"y of I4", kUnsupported, [](auto& c) { c.desc.y_dtype = FOVEA_I4; }},
      {"no x_scale", kUnsupported, [](auto& c) { c.desc.x_scale = 0; }},  // beside a zero point
      {"no x_scale, no x_zero", kNumber, [](auto& c) { c.desc.x_scale = 0, c.desc.x_zero = 0; }},
      {"no y_scale, no y_zero", kNumber, [](auto& c) { c.desc.y_scale = 0, c.desc.y_zero = 0; }},
      {"x_scale below 0", kNumber, [](auto& c) { c.desc.x_scale = -1; }},
      {"x_scale NaN", kNumber, [](auto& c) { c.desc.x_scale = kNaN; }},
      {"y_scale infinite", kNumber, [](auto& c) { c.desc.y_scale = INFINITY; }},
      {"y_scale subnormal", kNumber, [](auto& c) { c.desc.y_scale = 1e-40f; }},
      {"x_zero", kNumber, [](auto& c) { c.desc.x_zero = 128; }},
      {"y_zero", kNumber, [](auto& c) { c.desc.y_zero = -129; }},
      {"a scale of f32 x", kUnsupported, [](auto& c) { c.desc.x_dtype = FOVEA_F32; }},
      {"a zero point of f32 y", kUnsupported, [](auto& c) { c.desc.y_dtype = FOVEA_F32, c.desc.y_scale = 0; }},
      {"f32 linear layers", kUnsupported, [](auto& c) { c.desc.linear_compute = FOVEA_COMPUTE_F32; }},
      {"f32 linear layers beside keys of one scale", kUnsupported,
       [](auto& c) {
         c.desc.linear_compute = FOVEA_COMPUTE_F32;
         c.desc.x_dtype = c.desc.y_dtype = c.desc.attention.q_dtype = c.desc.attention.out_dtype = FOVEA_F32;
         c.desc.x_scale = c.desc.y_scale = c.desc.attention.q_scale = c.desc.attention.out_scale = 0;
         c.desc.x_zero = c.desc.y_zero = c.desc.attention.q_zero = c.desc.attention.out_zero = 0;
         c.desc.attention.key_zero = 0;
       }},
      {"queries with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.q_scale = 0, c.desc.attention.q_zero = 0; }},
      {"keys with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.key_scale = 0, c.desc.attention.key_zero = 0; }},
      {"values with a scale a row", kUnsupported,
       [](auto& c) { c.desc.attention.value_scale = 0, c.desc.attention.value_zero = 0; }},
      {"out_scale", kNumber, [](auto& c) { c.desc.attention.out_scale = 0, c.desc.attention.out_zero = 0; }},
      {"rope", kUnsupported,
       [](auto& c) {
         static fovea_rope_args rope;
         rope.struct_bytes = sizeof rope;
         c.args.rope = &rope;
       }},
      {"bias_i32 of f32 x", kUnsupported,
       [](auto& c) {
         static const int32_t biases[200] = {};
         static const float x[2 * 19 * 40] = {};
         c.desc.x_dtype = FOVEA_F32, c.desc.x_scale = 0, c.desc.x_zero = 0, c.args.x.data = x;
         c.args.weights.q.bias = nullptr, c.args.weights.q.bias_i32 = biases;
       }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y.data = const_cast<void*>(c.args.x.data); }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.token_stride = 1; }},
  };
  for (const auto& misuse : misuses) {
    INFO(misuse.what);
    I8LayerCase test{I8LayerProblem{}};
    misuse.change(test);
    std::memset(test.y.memory.as<void>(), 7, test.y.memory.bytes());
    CHECK(test.run(FOVEA_TARGET_BEST) == misuse.want);
    const char* const y = test.y.memory.as<char>();
    CHECK(std::count(y, y + test.y.memory.bytes(), 7) == ptrdiff_t(test.y.memory.bytes()));
  }
}

TEST_CASE("multihead tensors: x of bytes is projected into a cache, which has scales of its own",
          "[short][multihead]") {
  I8LayerProblem p;
  p.k = p.v = p.o = {}, p.compute = FOVEA_COMPUTE_F32, p.q = {};
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    I8LayerCase whole(p), kept(p);
    REQUIRE(whole.run(target) == FOVEA_OK);
    auto cache = sized<fovea_kv_cache>();
    cache.batch = p.batch, cache.kv_heads = p.kv_heads, cache.head_dim = cache.value_dim = p.head_dim;
    cache.max_tokens = p.q_tokens;
    const Guarded memory((fovea_kv_cache_bytes(&cache) + kAlignment - 1) / kAlignment * kAlignment, kAlignment,
                         Placement::kStart);
    REQUIRE(fovea_kv_cache_init(&cache, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    kept.desc.attention.target = target;
    REQUIRE(fovea_multihead_plan_init(&kept.plan, &kept.desc) == FOVEA_OK);
    const Guarded workspace(fovea_multihead_workspace_bytes(&kept.plan), kAlignment, Placement::kEnd);
    REQUIRE(fovea_multihead_append(&kept.plan, &cache, &kept.args, workspace.as<void>(), workspace.bytes()) ==
            FOVEA_OK);
    kept.args.cache = &cache;
    REQUIRE(fovea_multihead(&kept.plan, &kept.args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
    CHECK(kept.y.Array::numbers() == whole.y.Array::numbers());

    I8LayerProblem scaled = p;
    scaled.k = I8LayerProblem{}.k, scaled.k.zero = 0;
    I8LayerCase refused(scaled);
    cache.key_dtype = FOVEA_I8;
    refused.desc.attention.target = target;
    REQUIRE(fovea_multihead_plan_init(&refused.plan, &refused.desc) == FOVEA_OK);
    const Guarded larger(fovea_multihead_workspace_bytes(&refused.plan), kAlignment, Placement::kEnd);
    CHECK(fovea_multihead_append(&refused.plan, &cache, &refused.args, larger.as<void>(), larger.bytes()) ==
          FOVEA_ERR_UNSUPPORTED);
  }
}

}  // namespace fovea_test
