// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with products of halves (FOVEA_COMPUTE_F16) by their definition in base.h, bit by bit, on every target
// and in both ways in which a target may multiply halves. And what becomes of numbers that f16 cannot hold.
#include "platform/platform.h"
#include "simd_tests.h"
#include "support/halves.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct HalfProblem {
  uint32_t tokens = 5, in_dim = 75, out_dim = 11;
  fovea_dtype x_dtype = FOVEA_F32;
  bool bias = true, activates = false;
  Layout layout = Layout::kHeadsFirst;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const HalfProblem& p) {
  Text text;
  text << "linear f16 " << p.tokens << "x" << p.in_dim << "x" << p.out_dim << " x of " << type_name(p.x_dtype)
       << (p.bias ? " bias" : "") << (p.activates ? " relu" : "") << " " << name(p.layout) << " " << name(p.placement)
       << " seed " << p.seed;
  return text.str();
}

// Rows of numbers, f32 or f16.
struct HalfRows : Array {
  HalfRows() = default;
  HalfRows(fovea_dtype dtype, uint32_t count, uint32_t dim, const HalfProblem& p)
      : Array(dtype, {1, 1, count, dim}, p.layout, p.placement), first(row(0)), stride(strides.token) {}
  float get(size_t r, size_t i) const { return Array::get(0, 0, r, i); }
  void set(size_t r, size_t i, float x) const { encode_row(type, &x, 1, row(r) + i * unit_size(type), nullptr); }

  char* first = nullptr;
  ptrdiff_t stride = 0;
};

class HalfCase {
 public:
  explicit HalfCase(const HalfProblem& problem) : p(problem), args{} {
    x = HalfRows(p.x_dtype, p.tokens, p.in_dim, p);
    w = HalfRows(FOVEA_F16, p.out_dim, p.in_dim, p);
    y = HalfRows(FOVEA_F32, p.tokens, p.out_dim, p);
    bias = Guarded(p.out_dim * sizeof(float), sizeof(float), p.placement);
    for (const auto& [t, i] : indices<size_t>(p.tokens, p.in_dim)) x.set(t, i, random_normal(p.seed, t * 8192 + i));
    for (size_t o = 0; o < p.out_dim; ++o) {
      for (size_t i = 0; i < p.in_dim; ++i) w.set(o, i, random_normal(p.seed + 1, o * 8192 + i));
      bias.as<float>()[o] = random_normal(p.seed + 2, o);
    }
    args.struct_bytes = sizeof args, args.compute = FOVEA_COMPUTE_F16;
    args.processor_features = fovea::platform::processor_features();
    args.tokens = p.tokens, args.in_dim = p.in_dim, args.out_dim = p.out_dim;
    args.x = x.first, args.x_stride = x.stride, args.x_dtype = p.x_dtype;
    args.y = y.first, args.y_stride = y.stride, args.weights.dtype = FOVEA_F16, args.weights.data = w.first;
    args.weights.row_stride = w.stride;
    if (p.bias) args.weights.bias = bias.as<float>();
    if (p.activates) args.activation = FOVEA_ACTIVATION_RELU;
  }

  // Runs with exactly the workspace that is asked for, between guards.
  fovea_status run(fovea_target target) {
    args.target = target;
    const Guarded workspace(fovea_linear_workspace_bytes(&args), FOVEA_WORKSPACE_ALIGNMENT,
                            p.placement == Placement::kOffset ? Placement::kEnd : p.placement);
    y.memory.fill();
    for (const Guarded* input : {&x.memory, &w.memory, &bias}) input->read_only(true);
    const fovea_status status = fovea_linear(&args, workspace.as<void>(), workspace.bytes());
    for (const Guarded* input : {&x.memory, &w.memory, &bias}) input->read_only(false);
    REQUIRE(workspace.margin_intact());
    REQUIRE(y.memory.margin_intact());
    return status;
  }

  // The output by its definition.
  float want(size_t token, size_t output) const {
    float sum = 0.0f;
    for (uint32_t i = 0; i < p.in_dim;) {
      double part = 0.0;
      const uint32_t end = std::min(p.in_dim, i + 32);
      for (; i < end; ++i) part = half_multiply_add(to_half(x.get(token, i)), double{w.get(output, i)}, part);
      sum += float(part);
    }
    if (args.weights.bias) sum += args.weights.bias[output];
    return p.activates && sum < 0.0f ? 0.0f : sum;
  }
  std::vector<float> wants() const {
    std::vector<float> all;
    for (const auto& [t, o] : indices<size_t>(p.tokens, p.out_dim)) all.push_back(want(t, o));
    return all;
  }
  std::vector<float> outputs() const { return y.numbers(); }

  HalfProblem p;
  fovea_linear_args args;
  HalfRows x, w, y;
  Guarded bias;
};

// Both ways in which each target may multiply halves.
template <class Check>
void for_each_way(HalfCase& test, const Check& check) {
  for (const fovea_target target : targets()) {
    for (const uint64_t features : {fovea::platform::processor_features(), uint64_t{0}}) {
      test.args.processor_features = features;
      INFO(name(test.p) << " | " << fovea_target_name(target));
      REQUIRE(test.run(target) == FOVEA_OK);
      check();
    }
  }
}

void check_bits(const HalfProblem& p) {
  HalfCase test(p);
  const std::vector<float> want = test.wants();
  for_each_way(test, [&] { CHECK(same_bits(test.outputs(), want)); });
}

}  // namespace

TEST_CASE("linear f16: any two of formats, counts, strides and memory have the promised bits", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    HalfProblem p;
    p.x_dtype = levels.choose({FOVEA_F32, FOVEA_F16}), p.bias = levels.flag(), p.activates = levels.flag();
    p.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed});
    p.placement = levels.choose(kPlacements);
    p.tokens = levels.choose({0u, 1u, 2u, 3u, 7u, 8u, 9u, 16u, 17u, 25u, 49u});
    p.in_dim = levels.choose({1u, 7u, 8u, 31u, 33u, 128u, 170u}), p.out_dim = levels.choose({1u, 2u, 7u, 9u, 64u, 67u});
    p.seed = seed;
    return p;
  };
  run_array("linear f16", 9, make, check_bits);
}

TEST_CASE("linear f16: budget, portable bits and tokens before a token change no bit of it", "[short]") {
  HalfProblem p;
  p.tokens = 41, p.in_dim = 140, p.out_dim = 70;
  HalfCase test(p);
  const std::vector<float> want = test.wants();
  for (const uint32_t portable : {0u, 1u}) {
    test.args.portable_bits = portable, test.args.workspace_budget_bytes = 0;
    for_each_way(test, [&] {
      CHECK(same_bits(test.outputs(), want));
      const size_t most = fovea_linear_workspace_bytes(&test.args);
      CHECK(most <= FOVEA_LINEAR_WORKSPACE_BYTES(140, FOVEA_F16));
      // The least budget that is not refused.
      size_t least = most;
      for (test.args.workspace_budget_bytes = 64; test.args.workspace_budget_bytes < most;
           test.args.workspace_budget_bytes += 64) {
        least = fovea_linear_workspace_bytes(&test.args);
        if (least != 0) break;
      }
      CHECK(least <= test.args.workspace_budget_bytes);
      CHECK(test.run(test.args.target) == FOVEA_OK);
      CHECK(same_bits(test.outputs(), want));
      test.args.workspace_budget_bytes = 0;
    });
  }
}

TEST_CASE("linear f16: a workspace for another machine is enough with its arithmetic of halves and without",
          "[short]") {
  HalfCase test{HalfProblem{}};
  for (const fovea_target target : {FOVEA_TARGET_NEON, FOVEA_TARGET_HELIUM}) {
    bool here = false;
    for (const fovea_target one : targets()) here |= one == target;
    if (here) continue;
    for (const uint32_t tokens : {1u, 8u, 16u, 100u}) {
      test.args.target = target, test.args.tokens = tokens, test.args.compute = FOVEA_COMPUTE_F16;
      const size_t bytes = fovea_linear_workspace_bytes(&test.args);
      // Floats of tokens and widened weights need more than halves in place.
      test.args.compute = FOVEA_COMPUTE_F32, test.args.portable_bits = 1;
      const size_t floats = fovea_linear_workspace_bytes(&test.args);
      CHECK((target == FOVEA_TARGET_NEON ? bytes == floats : bytes <= floats));
      CHECK((bytes > 0 || floats == 0));
    }
  }
  test.args.target = FOVEA_TARGET_BEST;
  CHECK(fovea_linear_workspace_bytes(&test.args) > 0);
}

TEST_CASE("linear f16: what f16 cannot hold becomes an infinity", "[short]") {
  HalfProblem p;
  p.in_dim = 40, p.bias = false;
  HalfCase test(p);
  for (uint32_t i = 0; i < p.in_dim; ++i) {
    for (uint32_t t = 0; t < p.tokens; ++t) test.x.set(t, i, 1.0f);
    for (uint32_t o = 0; o < p.out_dim; ++o) test.w.set(o, i, 1.0f);
  }
  test.x.set(1, 3, 65519.0f);  // rounds to the largest f16
  test.x.set(2, 3, 65520.0f);  // to infinity
  test.x.set(3, 39, kNaN);
  test.x.set(4, 3, 65504.0f);  // a sum of products overflows
  test.x.set(4, 4, 65504.0f);
  for (uint32_t i = 0; i < p.in_dim; ++i) test.w.set(9, i, i == 3 || i == 35 ? 1.0f : 0.0f);
  test.w.set(10, 3, -kInfinity);
  for_each_way(test, [&] {
    for (uint32_t o = 0; o < 9; ++o) {
      CHECK(test.y.get(0, o) == 40.0f);
      CHECK(test.y.get(1, o) == 65504.0f + 8.0f);  // the chain of 32 rounds down, and the next one is added in f32
      CHECK(test.y.get(2, o) == kInfinity);
      CHECK(std::isnan(test.y.get(3, o)));
      CHECK(test.y.get(4, o) == kInfinity);
    }
    CHECK(test.y.get(4, 9) == 65505.0f);
    CHECK(test.y.get(2, 10) == -kInfinity);
    CHECK(std::isnan(test.y.get(3, 10)));
  });
}

namespace {

// Runs tasks backwards.
int run_backwards(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
  *static_cast<size_t*>(self) = tasks;
  for (size_t i = tasks; i-- > 0;) task(arg, i, uint32_t(i % 3));
  return 0;
}

}  // namespace

TEST_CASE("linear f16: an executor changes no bit", "[short]") {
  HalfProblem p;
  p.tokens = 133, p.in_dim = 33, p.out_dim = 523;
  HalfCase test(p);
  size_t tasks = 0;
  const fovea_executor executor = {run_backwards, &tasks, 3};
  test.args.executor = &executor;
  const std::vector<float> want = test.wants();
  for_each_way(test, [&] { CHECK(same_bits(test.outputs(), want)); });
  CHECK(tasks > 3);
}

TEST_CASE("linear f16: every misuse is refused, and writes nothing", "[short]") {
  const std::vector<Misuse<HalfCase>> all = {
      {"an unknown compute", FOVEA_ERR_ENUM, [](auto& c) { c.args.compute = fovea_compute(77); }},
      {"an unknown feature", FOVEA_ERR_ENUM, [](auto& c) { c.args.processor_features = 1ull << 63; }},
      {"x of bf16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.x_dtype = FOVEA_BF16; }},
      {"x of codes", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.x_dtype = FOVEA_I8; }},
      {"y of f16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_F16; }},
      {"y of codes", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_I8, c.args.y_scale = 1.0f; }},
      {"weights of f32", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F32; }},
      {"weights of bf16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_BF16; }},
      {"weights of codes", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_I8; }},
      {"x of f16 with f32 arithmetic", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.compute = FOVEA_COMPUTE_F32; }},
      {"x of f16 with integer products", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.compute = FOVEA_COMPUTE_I8; }},
      {"scales of weights", FOVEA_ERR_UNSUPPORTED, [](HalfCase& c) { c.args.weights.scales = c.bias.as<float>(); }},
      {"scales of x", FOVEA_ERR_UNSUPPORTED, [](HalfCase& c) { c.args.x_scales = c.bias.as<float>(); }},
      {"an integer bias", FOVEA_ERR_UNSUPPORTED,
       [](HalfCase& c) { c.args.weights.bias = nullptr, c.args.weights.bias_i32 = c.bias.as<int32_t>(); }},
      {"weights at an odd address", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.args.weights.data = c.w.first + 1; }},
      {"x at an odd address", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.x = c.x.first + 1; }},
      {"y in x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y = c.x.first; }},
      {"a budget that is too small", FOVEA_ERR_BUDGET, [](auto& c) { c.args.workspace_budget_bytes = 64; }},
  };
  for (const auto& misuse : all) {
    HalfCase test{HalfProblem{}};
    misuse.change(test);
    INFO(misuse.what);
    alignas(FOVEA_WORKSPACE_ALIGNMENT) static char workspace[1 << 15];
    test.y.memory.fill();
    CHECK(fovea_linear(&test.args, workspace, sizeof workspace) == misuse.want);
    CHECK(test.y.memory.untouched());
  }
  HalfCase small{HalfProblem{}};
  CHECK(fovea_linear(&small.args, nullptr, 0) == FOVEA_ERR_NULL);
  const size_t bytes = fovea_linear_workspace_bytes(&small.args);
  REQUIRE(bytes > 64);
  const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  CHECK(fovea_linear(&small.args, workspace.as<void>(), bytes - 64) == FOVEA_ERR_WORKSPACE);
}

TEST_CASE("linear f16: errors are those of chains of 32") {
  const auto check = [](double limit, uint32_t in_dim, float outlier) {
    HalfProblem p;
    p.tokens = 16, p.in_dim = in_dim, p.out_dim = 32, p.bias = false;
    HalfCase test(p);
    std::vector<double> x(size_t{16} * in_dim), w(size_t{32} * in_dim);
    const auto draw = [&](uint64_t seed, size_t at) {
      const float v = random_normal(seed, at);
      return random_uniform(seed + 7, at, 0.0f, 1.0f) < 0.01f ? v * outlier : v;
    };
    for (size_t k = 0; k < x.size(); ++k) {
      const float v = draw(11, k);
      x[k] = double{v}, test.x.set(k / in_dim, k % in_dim, v);
    }
    for (size_t k = 0; k < w.size(); ++k) {
      const float v = draw(12, k);
      w[k] = double{v}, test.w.set(k / in_dim, k % in_dim, v);
    }
    REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
    double error = 0, square = 0;
    for (const auto& [t, o] : indices<size_t>(16, 32)) {
      double want = 0;
      for (size_t i = 0; i < in_dim; ++i) want += x[t * in_dim + i] * w[o * in_dim + i];
      error += (double{test.y.get(t, o)} - want) * (double{test.y.get(t, o)} - want);
      square += want * want;
    }
    INFO(error / square);
    CHECK(error / square <= limit);
    CHECK(error / square >= limit / 4);
  };
  check(1.0e-6, 768, 1.0f);
  check(1.0e-6, 4096, 1.0f);
  check(1.0e-6, 768, 10.0f);
}

}  // namespace fovea_test
