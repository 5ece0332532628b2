// SPDX-License-Identifier: Apache-2.0
//
// Normalisation and activation against double, on every target.
#include "simd_tests.h"
#include "support/activations.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct RowsProblem {
  uint32_t batch = 2, heads = 3, tokens = 2, dim = 37;
  Layout layout = Layout::kHeadsFirst;
  Placement placement = Placement::kEnd;

  Array array(fovea_dtype type = FOVEA_F32) const {
    return Array(type, {batch, heads, tokens, dim}, layout, placement);
  }
  Array drawn(uint64_t seed, fovea_dtype type = FOVEA_F32) const {
    Array rows = array(type);
    rows.draw(seed, 2);
    return rows;
  }
  // Sets what calls on such rows have in common.
  template <class Args>
  Args args(fovea_target target) const {
    Args a = sized<Args>();
    a.target = target, a.batch = batch, a.heads = heads, a.tokens = tokens, a.dim = dim;
    return a;
  }
};

// How much rounding to a format may change a number.
double rounding(fovea_dtype dtype, double x) {
  return dtype == FOVEA_F32 ? 0 : std::fabs(x) * (dtype == FOVEA_F16 ? 0x1p-11 : 0x1p-8) + 0x1p-25;
}

bool reads_alpha(fovea_activation_kind kind) {
  return kind == FOVEA_ACTIVATION_SILU || kind == FOVEA_ACTIVATION_SIGMOID;
}

enum SumPlace { kNoResidual, kNoSum, kOwnSum, kSumIsResidual, kSumIsX };

struct NormOptions {
  fovea_norm_kind norm = FOVEA_NORM_RMS;
  bool weight = true, bias = false, per_head = false, in_place = false;
  float offset = 0, epsilon = 1e-5f;
  bool gated = false;
  fovea_norm_gate order = FOVEA_NORM_GATE_AFTER;
  fovea_activation_kind activation = FOVEA_ACTIVATION_SILU;
  SumPlace sum = kNoResidual;
  fovea_dtype x_dtype = FOVEA_F32, y_dtype = FOVEA_F32, residual_dtype = FOVEA_F32;
};

// What double says of a row, to which the residual was added; and how large its error may be, in 1e-6.
std::vector<double> normalised(const NormOptions& o, std::vector<double> y, const float* weight, const float* bias,
                               const float* gate, std::vector<double>* error) {
  const size_t dim = y.size();
  error->assign(dim, 0);
  for (size_t d = 0; gate && o.order == FOVEA_NORM_GATE_BEFORE && d < dim; ++d) {
    const double g = activated(o.activation, double(gate[d]));
    (*error)[d] = stated_error(o.activation, double(gate[d]), g) * std::fabs(y[d]) * 1e6;
    y[d] *= g;
  }
  double mean = 0, sum = 0;
  for (const double e : y) mean += o.norm == FOVEA_NORM_LAYER ? e / double(dim) : 0;
  for (const double e : y) sum += (e - mean) * (e - mean);
  const double root = std::sqrt((o.norm == FOVEA_NORM_L2 ? sum : sum / double(dim)) + double(o.epsilon));
  for (size_t d = 0; d < dim; ++d) {
    const double n = (y[d] - mean) / root;
    // What was added to x, a gate before and the mean are rounded, and then divided by the root.
    double off =
        (*error)[d] / root + 1.2 * std::fabs(n) + 0.25 * (std::fabs(mean) + (o.sum == kNoResidual ? 0 : 4)) / root;
    y[d] = n;
    if (weight) {
      const double w = double(weight[d]) + double(o.offset);
      y[d] *= w, off *= std::fabs(w);
    }
    if (bias) y[d] += double(bias[d]), off += 0.2 * std::fabs(y[d]);
    if (gate && o.order == FOVEA_NORM_GATE_AFTER) {
      const double g = activated(o.activation, double(gate[d]));
      off = off * std::fabs(g) + stated_error(o.activation, double(gate[d]), g) * std::fabs(y[d]) * 1e6;
      y[d] *= g, off += 0.3 * std::fabs(y[d]);
    }
    (*error)[d] = 1e-6 * off + rounding(o.y_dtype, y[d]) + 1e-37;
  }
  return y;
}

// Empty, or what is wrong.
std::string check_norm(const RowsProblem& p, const NormOptions& o, fovea_target target) {
  const RowsProblem lists = {1, o.per_head ? p.heads : 1, 1, p.dim, p.layout, p.placement};
  const Array x = p.drawn(5, o.x_dtype), gate = p.drawn(6, o.x_dtype), y = p.array(o.y_dtype);
  const Array weight = lists.drawn(7), bias = lists.drawn(4);
  const Array residual = p.drawn(3, o.residual_dtype), sum = p.array(o.residual_dtype);
  const std::vector<float> before = x.numbers(), residuals = residual.numbers(), gates = gate.numbers();
  const Array& to = o.in_place ? x : y;
  const Array& sum_to = o.sum == kSumIsX ? x : o.sum == kSumIsResidual ? residual : sum;
  auto a = p.args<fovea_norm_args>(target);
  a.norm = o.norm, a.epsilon = o.epsilon;
  a.x_dtype = o.x_dtype, a.y_dtype = o.y_dtype, a.residual_dtype = o.residual_dtype;
  a.x = x.in(), a.y = to.out(), a.weight_head_stride = o.per_head ? weight.strides.head : 0;
  if (o.weight) a.weight = weight.row<float>(0, 0, 0), a.weight_offset = o.offset;
  if (o.bias) a.bias = bias.row<float>(0, 0, 0);
  if (o.gated) a.gate = gate.in(), a.gate_order = o.order, a.gate_activation = o.activation;
  if (o.sum != kNoResidual) a.residual = residual.in();
  if (o.sum > kNoSum) a.sum = sum_to.out();
  const std::string text =
      Text() << "norm " << int(o.norm) << " " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim << " "
             << name(p.layout) << (o.weight ? " weight" : "") << (o.bias ? " bias" : "") << (o.gated ? " gate" : "")
             << (o.in_place ? " in place" : "") << " sum " << int(o.sum) << " " << type_name(o.x_dtype) << " "
             << type_name(o.y_dtype) << " " << type_name(o.residual_dtype) << " | " << fovea_target_name(target);
  set_current_case(text);
  if (!o.in_place && o.sum != kSumIsX) x.memory.read_only(true);
  if (o.sum != kSumIsResidual) residual.memory.read_only(true);
  const fovea_status status = fovea_norm(&a);
  x.memory.read_only(false), residual.memory.read_only(false);
  if (status != FOVEA_OK) return text + ": " + fovea_status_string(status);
  for (const Array* const array : {&x, &y, &residual, &sum}) {
    if (!array->memory.margin_intact()) return text + ": bytes next to an array were written";
  }
  std::vector<double> sums, wants, errors;
  for (size_t row = 0; row < before.size(); row += p.dim) {
    const size_t of_head = o.per_head ? row / p.dim / p.tokens % p.heads : 0;
    std::vector<double> v(before.begin() + ptrdiff_t(row), before.begin() + ptrdiff_t(row + p.dim)), error;
    for (size_t d = 0; o.sum != kNoResidual && d < p.dim; ++d) v[d] += double(residuals[row + d]);
    const auto want =
        normalised(o, v, o.weight ? weight.row<float>(0, of_head, 0) : nullptr,
                   o.bias ? bias.row<float>(0, of_head, 0) : nullptr, o.gated ? &gates[row] : nullptr, &error);
    sums.insert(sums.end(), v.begin(), v.end()), wants.insert(wants.end(), want.begin(), want.end());
    errors.insert(errors.end(), error.begin(), error.end());
  }
  std::string wrong = compare_rows(to, [&](size_t row, size_t d, double* allowed) {
    *allowed = errors[row * p.dim + d];
    return wants[row * p.dim + d];
  });
  if (wrong.empty() && o.sum > kNoSum) {
    wrong = compare_rows(sum_to, [&](size_t row, size_t d, double* allowed) {
      const double want = sums[row * p.dim + d];
      *allowed = rounding(o.residual_dtype, want) * 1.01 + 1e-7 * std::fabs(want);
      return want;
    });
  }
  return wrong.empty() ? "" : text + ": " + wrong;
}

struct ActivationOptions {
  fovea_activation_kind kind = FOVEA_ACTIVATION_SILU;
  float alpha = 0;
  bool factor = false;
  int place_of_y = 0;  // its own, x, factor
  fovea_dtype x_dtype = FOVEA_F32, y_dtype = FOVEA_F32;
};

std::string check_activation(const RowsProblem& p, const ActivationOptions& o, fovea_target target) {
  const Array x = p.drawn(8, o.x_dtype), factor = p.drawn(9, o.x_dtype), y = p.array(o.y_dtype);
  const std::vector<float> xs = x.numbers(), factors = factor.numbers();
  const Array& to = o.place_of_y == 0 ? y : o.place_of_y == 1 ? x : factor;
  auto a = p.args<fovea_activation_args>(target);
  a.activation = o.kind, a.alpha = o.alpha, a.x_dtype = o.x_dtype, a.y_dtype = o.y_dtype;
  a.x = x.in(), a.y = to.out();
  if (o.factor) a.factor = factor.in();
  const std::string text = Text() << "activation " << int(o.kind) << " of " << p.dim << " " << type_name(o.x_dtype)
                                  << " to " << type_name(o.y_dtype) << " | " << fovea_target_name(target);
  set_current_case(text);
  const fovea_status status = fovea_activation(&a);
  if (status != FOVEA_OK) return text + ": " + fovea_status_string(status);
  const std::string wrong = compare_rows(to, [&](size_t row, size_t d, double* allowed) {
    const size_t i = row * p.dim + d;
    const double e = double(xs[i]);
    const double exact = activated(o.kind, e, double(o.alpha == 0 ? 1 : o.alpha));
    const double times = o.factor ? double(factors[i]) : 1, want = exact * times;
    *allowed = stated_error(o.kind, e, exact) * std::fabs(times) + 1.1e-6 * std::fabs(want) +
               rounding(o.y_dtype, want) * 1.01 + 1e-36;
    return want;
  });
  return wrong.empty() ? "" : text + ": " + wrong;
}

}  // namespace

TEST_CASE("norm: rows of any size have their root, epsilon counts, and zeros stay zeros", "[short]") {
  for (const fovea_target target : targets()) {
    for (const auto& [size, epsilon] : every({1e-30f, 1e-16f, 1e-12f, 1.0f, 3e6f, 1e18f}, {0.0f, 1e-6f, 4.0f})) {
      if (epsilon == 0.0f && size < 1e-16f) continue;  // squares vanish, or are flushed to 0
      float x[20], y[20];
      for (size_t i = 0; i < 20; ++i) x[i] = size * random_normal(3, i);
      auto a = one_row<fovea_norm_args>(target, 20, x, y);
      a.epsilon = epsilon;
      REQUIRE(fovea_norm(&a) == FOVEA_OK);
      NormOptions o;
      o.epsilon = epsilon;
      std::vector<double> error;
      const auto want = normalised(o, std::vector<double>(x, x + 20), nullptr, nullptr, nullptr, &error);
      bool right = true;
      for (size_t i = 0; i < 20; ++i) {
        right = right && std::fabs(double(y[i]) - want[i]) <= 1.2e-6 * std::fabs(want[i]) + 1e-37;
      }
      CHECK(right);
    }
    const float rows[3][4] = {{0, 0, -0.0f, 0}, {1, kNaN, 2, 3}, {1, kInfinity, 2, 3}};
    float y[3][4];
    auto a = sized<fovea_norm_args>();
    a.target = target, a.batch = a.heads = 1, a.tokens = 3, a.dim = 4;
    a.x = {rows, 0, 0, 4}, a.y = {y, 0, 0, 4};
    REQUIRE(fovea_norm(&a) == FOVEA_OK);
    for (const float e : y[0]) CHECK(e == 0.0f);
    for (const float e : y[1]) CHECK(e != e);
    CHECK(y[2][0] == 0.0f);
    CHECK(y[2][1] != y[2][1]);

    const float bias[4] = {0.5f, -3, 0, 1e-20f}, alone[3][4] = {{0, 0, 0, 0}, {3e19f, -1, 2, 3}, {1, kInfinity, 2, 3}};
    a.x.data = alone, a.bias = bias;
    REQUIRE(fovea_norm(&a) == FOVEA_OK);
    for (int row : {0, 1}) CHECK(std::memcmp(y[row], bias, sizeof bias) == 0);
    CHECK(y[2][0] == bias[0]);
    CHECK(y[2][1] != y[2][1]);
  }
}

TEST_CASE("norm: any two of kinds, formats, residuals, sums, gates and memory agree with double", "[short]") {
  struct Choice {
    RowsProblem p;
    NormOptions o;
  };
  const auto make = [](Levels& levels, uint64_t seed) {
    RowsProblem p;
    NormOptions o;
    o.norm = levels.choose({FOVEA_NORM_RMS, FOVEA_NORM_L2, FOVEA_NORM_LAYER});
    p.dim = levels.choose({1u, 7u, 15u, 16u, 63u, 64u, 65u, 128u, 200u, 1000u});
    o.x_dtype = levels.choose(kFloatTypes), o.y_dtype = levels.choose(kFloatTypes);
    o.residual_dtype = levels.choose(kFloatTypes);
    o.sum = levels.choose({kNoResidual, kNoSum, kOwnSum, kSumIsResidual, kSumIsX});
    if (o.sum == kSumIsX) o.x_dtype = o.residual_dtype;
    o.gated = levels.flag(), o.order = levels.choose({FOVEA_NORM_GATE_BEFORE, FOVEA_NORM_GATE_AFTER});
    o.activation = kActivations[seed % std::size(kActivations)];
    p.layout = levels.choose(kOutputLayouts), p.placement = levels.choose(kPlacements);
    const int lists = levels.choose({0, 1, 2, 3});
    o.weight = lists > 0, o.bias = lists > 1, o.per_head = lists == 3;
    o.offset = levels.flag() && o.weight ? 1.0f : 0.0f;
    o.in_place = levels.flag() && o.x_dtype == o.y_dtype && o.sum != kSumIsX;
    // One element is its own mean, and what is left of it, rounding.
    if (p.dim == 1 && o.norm == FOVEA_NORM_LAYER) o.gated = false;
    return Choice{p, o};
  };
  run_array("norm", 11, make, [](const Choice& c) {
    for (const fovea_target target : targets()) CHECK(check_norm(c.p, c.o, target) == "");
  });
}

TEST_CASE("norm: a layer normalisation keeps its error for any mean, and constant rows are the bias", "[short]") {
  for (const fovea_target target : targets()) {
    for (const auto& [mean, dim, outliers] :
         every({0.0f, 1.0f, -300.0f, 1e5f}, {8u, 100u, 768u, 4100u}, {false, true})) {
      std::vector<float> x(dim), y(dim);
      for (size_t i = 0; i < dim; ++i) x[i] = mean + (outliers && i < dim / 8 ? 1000.0f : random_normal(3, i));
      auto a = one_row<fovea_norm_args>(target, dim, x.data(), y.data());
      a.norm = FOVEA_NORM_LAYER, a.epsilon = 1e-5f;
      REQUIRE(fovea_norm(&a) == FOVEA_OK);
      double true_mean = 0, variance = 0;
      for (const float e : x) true_mean += double(e) / dim;
      for (const float e : x) variance += (double(e) - true_mean) * (double(e) - true_mean);
      const double root = std::sqrt(variance / dim + 1e-5);
      double worst = 0;  // of what layers.h states
      for (size_t i = 0; i < dim; ++i) {
        const double want = (double(x[i]) - true_mean) / root;
        const double stated = ((std::fabs(want) + 1) * (dim / 16.0 + 16) + 2 * std::fabs(true_mean) / root) * 0x1p-24;
        worst = std::max(worst, std::fabs(double(y[i]) - want) / stated);
      }
      INFO(fovea_target_name(target) << " " << mean << " " << dim << " " << outliers << " " << worst);
      CHECK(worst < 1);
    }
    const float weight[3] = {2, 3, 4}, bias[3] = {-1, 0, 0.3f};
    for (const float epsilon : {0.0f, 1e-5f}) {
      const float rows[5][3] = {
          {0.1f, 0.1f, 0.1f}, {1e30f, 1e30f, 1e30f}, {1, kNaN, 2}, {1, 2, kInfinity}, {3e30f, -1e30f, 0}};
      float y[5][3];
      auto a = sized<fovea_norm_args>();
      a.target = target, a.norm = FOVEA_NORM_LAYER, a.epsilon = epsilon;
      a.batch = a.heads = 1, a.tokens = 5, a.dim = 3;
      a.x = {rows, 0, 0, 3}, a.y = {y, 0, 0, 3}, a.weight = weight, a.bias = bias;
      REQUIRE(fovea_norm(&a) == FOVEA_OK);
      for (int row : {0, 1}) CHECK(std::memcmp(y[row], bias, sizeof bias) == 0);
      CHECK((y[4][0] == bias[0] || y[4][0] != y[4][0]));
      for (const auto& [row, d] : indices(2, 3)) CHECK(y[2 + row][d] != y[2 + row][d]);
    }
  }
}

TEST_CASE("norm: rows of other formats, residuals and gates have the bits of the same steps in f32", "[short]") {
  constexpr uint32_t kDim = 301;
  for (const auto& [target, kind] : every(targets(), {FOVEA_NORM_RMS, FOVEA_NORM_L2, FOVEA_NORM_LAYER})) {
    RowsProblem p;
    p.batch = p.heads = 1, p.tokens = 2, p.dim = kDim;
    const Array x = p.drawn(11, FOVEA_F16), residual = p.drawn(12, FOVEA_BF16), y = p.array(FOVEA_BF16);
    auto a = p.args<fovea_norm_args>(target);
    a.norm = kind, a.epsilon = 1e-6f;
    a.x = x.in(), a.x_dtype = FOVEA_F16, a.y = y.out(), a.y_dtype = FOVEA_BF16;
    a.residual = residual.in(), a.residual_dtype = FOVEA_BF16;
    REQUIRE(fovea_norm(&a) == FOVEA_OK);
    for (uint32_t t = 0; t < 2; ++t) {
      std::vector<float> v = x.numbers(0, 0, t), want(kDim);
      const auto r = residual.numbers(0, 0, t);
      for (size_t d = 0; d < kDim; ++d) v[d] += r[d];
      auto b = one_row<fovea_norm_args>(target, kDim, v.data(), want.data());
      b.norm = kind, b.epsilon = 1e-6f;
      REQUIRE(fovea_norm(&b) == FOVEA_OK);
      for (size_t d = 0; d < kDim; ++d) REQUIRE(y.row<uint16_t>(0, 0, t)[d] == nearest_of(kBf16, want[d]));
    }
  }
}

TEST_CASE("activation: any strides, counts and options agree with double", "[short]") {
  struct Choice {
    Placement placement;
    fovea_dtype x, y;
    bool factor;
    int place_of_y;  // where the types are the same
    float alpha;     // where it is read
  };
  const Choice choices[] = {
      {Placement::kEnd, FOVEA_F32, FOVEA_F32, false, 0, 0},
      {Placement::kOffset, FOVEA_F32, FOVEA_F32, true, 1, -1.7f},
      {Placement::kEnd, FOVEA_F16, FOVEA_F16, true, 2, -1.7f},
      {Placement::kOffset, FOVEA_BF16, FOVEA_BF16, false, 1, 0},
      {Placement::kEnd, FOVEA_F16, FOVEA_F32, true, 0, 0},
      {Placement::kOffset, FOVEA_F32, FOVEA_BF16, false, 0, -1.7f},
      {Placement::kEnd, FOVEA_BF16, FOVEA_F16, true, 0, 0},
  };
  for (const auto& [target, layout, dim, kind, c] :
       every(targets(), kOutputLayouts, {1u, 7u, 64u, 131u}, kActivations, choices)) {
    RowsProblem p;
    p.dim = dim, p.layout = layout, p.placement = c.placement;
    CHECK(check_activation(p, {kind, reads_alpha(kind) ? c.alpha : 0, c.factor, c.place_of_y, c.x, c.y}, target) == "");
  }
}

TEST_CASE("activation: every function keeps its stated error, and is exact where it says so", "[short]") {
  for (const auto& [target, kind] : every(targets(), kActivations)) {
    std::vector<float> x(4001), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = (float(i) - 2000) * 0.0061f;
    x.insert(x.end(), {-80.0f, -13.1f, -9.0f, 30.0f, 1e20f, 1e-20f, -1e-20f});
    y.resize(x.size());
    auto a = one_row<fovea_activation_args>(target, x.size(), x.data(), y.data());
    a.activation = kind;
    REQUIRE(fovea_activation(&a) == FOVEA_OK);
    double worst = 0;  // of what layers.h states
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = double(x[i]), want = activated(kind, e);
      const double stated = e > 1e19 ? 1e-7 * std::fabs(want) : stated_error(kind, e, want);
      worst = std::max(worst, std::fabs(double(y[i]) - want) - stated - 2e-37);
    }
    INFO(fovea_target_name(target) << " " << int(kind));
    CHECK(worst <= 0);
    const float edges[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN, 100.0f, -100.0f};
    float got[7];
    a.dim = 7, a.x.data = edges, a.y.data = got;
    REQUIRE(fovea_activation(&a) == FOVEA_OK);
    const bool saturates = kind == FOVEA_ACTIVATION_SIGMOID || kind == FOVEA_ACTIVATION_TANH;
    const float above = saturates ? 1.0f : kind == FOVEA_ACTIVATION_RELU6 ? 6.0f : kInfinity;
    const float below = kind == FOVEA_ACTIVATION_TANH ? -1.0f : kind == FOVEA_ACTIVATION_IDENTITY ? -kInfinity : 0.0f;
    CHECK(got[0] == (kind == FOVEA_ACTIVATION_SIGMOID ? 0.5f : 0.0f));
    CHECK(got[1] == got[0]);
    CHECK(got[2] == above);
    CHECK((kind == FOVEA_ACTIVATION_SILU ? got[3] != got[3] : got[3] == below));
    CHECK(got[4] != got[4]);
    CHECK(got[5] == std::min(above, 100.0f));
    if (kind != FOVEA_ACTIVATION_SIGMOID) CHECK(got[6] == std::max(below, -100.0f));
  }
}

TEST_CASE("activation: the rounding of alpha x adds no more than its size times 2^-24", "[short]") {
  for (const auto& [target, alpha, activation] :
       every(targets(), {1.0f, 1.702f, -0.3f, 1e3f}, {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_SIGMOID})) {
    std::vector<float> x(3001), y(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = (float(i) * 0.0317f - 86.0f) / alpha;
    auto a = one_row<fovea_activation_args>(target, x.size(), x.data(), y.data());
    a.activation = activation, a.alpha = alpha;
    REQUIRE(fovea_activation(&a) == FOVEA_OK);
    double worst = 0;  // of what is stated in fovea.h
    for (size_t i = 0; i < x.size(); ++i) {
      const double z = double(alpha) * double(x[i]);
      const double want = activated(activation, double(x[i]), double(alpha));
      if (flushes_subnormals(target) && std::fabs(want) < double{std::numeric_limits<float>::min()}) continue;
      const double stated = 4e-7 + (alpha == 1.0f ? 0.0 : std::fabs(z) * 0x1p-24);
      worst = std::max(worst, std::fabs(double(y[i]) - want) / (stated * std::fabs(want)));
    }
    CHECK(worst < 1);
  }
}

TEST_CASE("norm: every misuse has its status, and nothing is written", "[short]") {
  static float x[96], y[96], weight[8], gate[96];
  using A = fovea_norm_args;
  std::vector<Misuse<A>> misuses = {
      {"an offset of no weight", FOVEA_ERR_NULL, [](auto& a) { a.weight = nullptr, a.weight_offset = 1; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& a) { a.y.data = x + 1; }},
      {"y over the weight", FOVEA_ERR_OVERLAP, [](auto& a) { a.weight = y; }},
      {"y is the gate", FOVEA_ERR_OVERLAP, [](auto& a) { a.gate.data = y; }},
      {"y over the bias", FOVEA_ERR_OVERLAP, [](auto& a) { a.bias = y; }},
      {"a sum of no residual", FOVEA_ERR_NULL, [](auto& a) { a.sum = a.y; }},
      {"y is the sum", FOVEA_ERR_OVERLAP, [](auto& a) { a.residual = a.x, a.sum = a.y; }},
      {"the sum is the gate", FOVEA_ERR_OVERLAP, [](auto& a) { a.residual = a.x, a.sum = {gate, 48, 24, 8}; }},
      {"the sum over the residual", FOVEA_ERR_OVERLAP,
       [](auto& a) { a.residual = {x, 48, 24, 8}, a.sum = {x, 48, 24, 7}, a.dim = 7; }},
      {"y is x of another size", FOVEA_ERR_OVERLAP, [](auto& a) { a.x.data = y, a.x_dtype = FOVEA_F16; }},
  };
  const auto make = [] {
    auto a = sized<fovea_norm_args>();
    a.batch = 2, a.heads = 2, a.tokens = 3, a.dim = 8;
    a.x = {x, 48, 24, 8}, a.y = {y, 48, 24, 8}, a.gate = {gate, 48, 24, 8}, a.weight = weight;
    std::fill(std::begin(y), std::end(y), 7.0f);
    return a;
  };
  add_misuses(misuses);
  add_misuse(misuses, FOVEA_ERR_STRIDE, &A::y, [](auto& array) { array.token_stride = 3; });
  add_misuses(misuses, FOVEA_ERR_ENUM, {&A::norm}, {fovea_norm_kind(3)});
  add_misuses(misuses, FOVEA_ERR_ENUM, {&A::x_dtype}, {kNoType});
  add_misuses(misuses, FOVEA_ERR_UNSUPPORTED, {&A::x_dtype, &A::y_dtype, &A::residual_dtype}, {FOVEA_I8, FOVEA_Q8_0});
  add_misuses(misuses, FOVEA_ERR_ENUM, {&A::gate_order}, {fovea_norm_gate(2)});
  add_misuses(misuses, FOVEA_ERR_ENUM, {&A::gate_activation}, {fovea_activation_kind(9)});
  add_misuses(misuses, FOVEA_ERR_DIM, {&A::dim}, {0});
  add_misuses(misuses, FOVEA_ERR_NUMBER, {&A::epsilon}, {-1e-6f});
  add_misuses(misuses, FOVEA_ERR_NUMBER, {&A::epsilon, &A::weight_offset}, {kNaN, kInfinity});
  add_arrays(misuses, &A::x, &A::y);
  check_refused(
      misuses, make, [](const auto& a) { return fovea_norm(&a); },
      [](const auto&) { return std::count(y, y + 96, 7.0f) == 96; });
  CHECK(fovea_norm(nullptr) == FOVEA_ERR_NULL);
}

TEST_CASE("activation: every misuse has its status, and nothing is written", "[short]") {
  static float x[96], y[96], factor[96];
  using A = fovea_activation_args;
  std::vector<Misuse<A>> misuses = {
      {"activation", FOVEA_ERR_ENUM, [](auto& a) { a.activation = fovea_activation_kind(9); }},
      {"x_dtype", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.x_dtype = FOVEA_I4; }},
      {"y_dtype", FOVEA_ERR_ENUM, [](auto& a) { a.y_dtype = kNoType; }},
      {"alpha of another", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.activation = FOVEA_ACTIVATION_RELU, a.alpha = 1; }},
      {"dim", FOVEA_ERR_DIM, [](auto& a) { a.dim = 0; }},
      {"alpha", FOVEA_ERR_NUMBER, [](auto& a) { a.alpha = kInfinity; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& a) { a.y.data = x + 8; }},
      {"y over the factor", FOVEA_ERR_OVERLAP, [](auto& a) { a.y.data = factor, a.y.batch_stride = 49; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& a) { a.y.head_stride = 8; }},
      {"misaligned", FOVEA_ERR_ALIGNMENT, [](auto& a) { a.factor.data = shifted<char>(factor, 2); }},
  };
  const auto make = [] {
    auto a = sized<fovea_activation_args>();
    a.batch = 2, a.heads = 2, a.tokens = 3, a.dim = 8;
    a.x = {x, 48, 24, 8}, a.y = {y, 48, 24, 8}, a.factor = {factor, 48, 24, 8};
    std::fill(std::begin(y), std::end(y), 7.0f);
    return a;
  };
  add_misuses(misuses);
  add_arrays(misuses, &A::x, &A::y);
  check_refused(
      misuses, make, [](const auto& a) { return fovea_activation(&a); },
      [](const auto&) { return std::count(y, y + 96, 7.0f) == 96; });
  CHECK(fovea_activation(nullptr) == FOVEA_ERR_NULL);
}

}  // namespace fovea_test
