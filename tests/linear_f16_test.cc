// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with products of halves (FOVEA_COMPUTE_F16) by their definition in base.h, bit by bit, on every target
// and in both ways in which a target may multiply halves. And what becomes of numbers that f16 cannot hold.
#include "support/linear_case.h"
#include "support/operator.h"

namespace fovea_test {
namespace {

LinearProblem problem(uint32_t tokens = 5, uint32_t in_dim = 75, uint32_t out_dim = 11) {
  LinearProblem p;
  p.compute = FOVEA_COMPUTE_F16, p.dtype = FOVEA_F16, p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim;
  return p;
}

void set(const Array& array, size_t row, size_t i, float x) {
  encode_row(array.type, &x, 1, array.row(row) + i * unit_size(array.type), nullptr);
}

}  // namespace

TEST_CASE("linear f16: any two of formats, counts, strides and memory have the promised bits", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    LinearProblem p = problem();
    p.x_dtype = levels.choose({FOVEA_F32, FOVEA_F16});
    p.bias = levels.choose({LinearProblem::kNoBias, LinearProblem::kF32});
    p.activation = levels.choose({FOVEA_ACTIVATION_IDENTITY, FOVEA_ACTIVATION_RELU});
    p.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed});
    p.placement = levels.choose(kPlacements);
    p.tokens = levels.choose({0u, 1u, 2u, 3u, 7u, 8u, 9u, 16u, 17u, 25u, 49u});
    p.in_dim = levels.choose({1u, 7u, 8u, 31u, 33u, 128u, 170u}), p.out_dim = levels.choose({1u, 2u, 7u, 9u, 64u, 67u});
    p.seed = seed;
    return p;
  };
  run_array("linear f16", 9, make, [](const LinearProblem& p) {
    LinearCase test(p);
    run_each_way(test, [&](fovea_target) { CHECK(test.compare() == ""); });
  });
}

TEST_CASE("linear f16: a workspace for another machine is enough with arithmetic of halves and without", "[short]") {
  LinearCase test(problem());
  for (const fovea_target target : {FOVEA_TARGET_NEON, FOVEA_TARGET_HELIUM}) {
    const std::vector<fovea_target> all = targets();
    if (std::count(all.begin(), all.end(), target) != 0) continue;
    for (const uint32_t tokens : {1u, 8u, 16u, 100u}) {
      test.args.target = target, test.args.tokens = tokens, test.args.compute = FOVEA_COMPUTE_F16;
      const size_t bytes = bytes_of(fovea_linear_workspace_bytes, &test.args);
      // Floats of tokens and widened weights need more than halves in place.
      test.args.compute = FOVEA_COMPUTE_F32, test.args.portable_bits = 1;
      const size_t floats = bytes_of(fovea_linear_workspace_bytes, &test.args);
      CHECK((target == FOVEA_TARGET_NEON ? bytes == floats : bytes <= floats));
      CHECK((bytes > 0 || floats == 0));
    }
  }
  test.args.target = FOVEA_TARGET_BEST;
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) > 0);
}

TEST_CASE("linear f16: what f16 cannot hold becomes an infinity", "[short]") {
  LinearProblem p = problem(5, 40);
  p.bias = LinearProblem::kNoBias;
  LinearCase test(p);
  for (uint32_t i = 0; i < p.in_dim; ++i) {
    for (uint32_t t = 0; t < p.tokens; ++t) set(test.x, t, i, 1.0f);
    for (uint32_t o = 0; o < p.out_dim; ++o) set(test.w, o, i, o != 9 || i == 3 || i == 35 ? 1.0f : 0.0f);
  }
  set(test.x, 1, 3, 65519.0f);  // rounds to the largest f16
  set(test.x, 2, 3, 65520.0f);  // to infinity
  set(test.x, 3, 39, kNaN);
  set(test.x, 4, 3, 65504.0f);  // a sum of products overflows
  set(test.x, 4, 4, 65504.0f);
  set(test.w, 10, 3, -kInfinity);
  run_each_way(test, [&](fovea_target) {
    const auto y = [&](size_t t, size_t o) { return test.y.get(0, 0, t, o); };
    for (uint32_t o = 0; o < 9; ++o) {
      CHECK(y(0, o) == 40.0f);
      CHECK(y(1, o) == 65504.0f + 8.0f);  // the chain of 32 rounds down, and the next one is added in f32
      CHECK(y(2, o) == kInfinity);
      CHECK(std::isnan(y(3, o)));
      CHECK(y(4, o) == kInfinity);
    }
    CHECK(y(4, 9) == 65505.0f);
    CHECK(y(2, 10) == -kInfinity);
    CHECK(std::isnan(y(3, 10)));
  });
}

TEST_CASE("linear f16: every misuse is refused, and writes nothing", "[short]") {
  using A = fovea_linear_args;
  std::vector<Misuse<LinearCall>> all = {
      {"y of codes", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_I8, c.args.y_scale = 1.0f; }},
      {"weights of f32", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F32; }},
      {"weights of bf16", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_BF16; }},
      {"weights of codes", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_I8; }},
      {"x of f16 with f32 arithmetic", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.compute = FOVEA_COMPUTE_F32; }},
      {"x of f16 with integer products", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.compute = FOVEA_COMPUTE_I8; }},
      {"scales of weights", FOVEA_ERR_UNSUPPORTED, [](LinearCall& c) { c.args.weights.scales = c.bias.as<float>(); }},
      {"scales of x", FOVEA_ERR_UNSUPPORTED, [](LinearCall& c) { c.args.x_scales = c.bias.as<float>(); }},
      {"an integer bias", FOVEA_ERR_UNSUPPORTED,
       [](LinearCall& c) { c.args.weights.bias = nullptr, c.args.weights.bias_i32 = c.bias.as<int32_t>(); }},
      {"weights at an odd address", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.args.weights.data = c.w.row(0) + 1; }},
      {"x at an odd address", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.x_dtype = FOVEA_F16, c.args.x = c.x.row(0) + 1; }},
      {"y in x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y = c.x.row(0); }},
      {"a budget that is too small", FOVEA_ERR_BUDGET, [](auto& c) { c.args.workspace_budget_bytes = 64; }},
  };
  add_workspace_misuses(all);
  add_misuses(all, FOVEA_ERR_ENUM, {&A::compute}, {fovea_compute(77)});
  add_misuses(all, FOVEA_ERR_ENUM, {&A::processor_features}, {1ull << 63});
  add_misuses(all, FOVEA_ERR_UNSUPPORTED, {&A::x_dtype}, {FOVEA_BF16, FOVEA_I8});
  add_misuses(all, FOVEA_ERR_UNSUPPORTED, {&A::y_dtype}, {FOVEA_F16});
  LinearProblem p = problem();
  p.placement = Placement::kStart;
  check_refused(p, all);
}

TEST_CASE("linear f16: errors are those of chains of 32") {
  const auto check = [](double limit, uint32_t in_dim, float outlier) {
    LinearProblem p = problem(16, in_dim, 32);
    p.bias = LinearProblem::kNoBias;
    LinearCase test(p);
    const auto draw = [&](const Array& array, uint64_t seed) {
      std::vector<double> numbers;
      for (const auto& [r, i] : indices<size_t>(array.rows(), in_dim)) {
        const float number = random_normal(seed, r * in_dim + i);
        const bool large = random_uniform(seed + 7, r * in_dim + i, 0.0f, 1.0f) < 0.01f;
        numbers.push_back(double{large ? number * outlier : number});
        set(array, r, i, float(numbers.back()));
      }
      return numbers;
    };
    const std::vector<double> x = draw(test.x, 11), w = draw(test.w, 12);
    REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
    double error = 0, square = 0;
    for (const auto& [t, o] : indices<size_t>(16, 32)) {
      double want = 0;
      for (size_t i = 0; i < in_dim; ++i) want += x[t * in_dim + i] * w[o * in_dim + i];
      const double off = double{test.y.get(0, 0, t, o)} - want;
      error += off * off, square += want * want;
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
