// SPDX-License-Identifier: Apache-2.0
//
// Normalisation and activation against double, on every target. tests/FIELDS.md says which test fails when a field is
// ignored.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "simd_tests.h"
#include "support/covering.h"
#include "support/formats.h"
#include "support/guarded.h"
#include "support/problem.h"
#include "support/text.h"

namespace fovea_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Strides { kHeadsFirst, kTokensFirst, kPadded, kReversed, kStridesCount };

struct RowsProblem {
  uint32_t batch = 2, heads = 3, tokens = 2, dim = 37;
  Strides strides = kHeadsFirst;
  Placement placement = Placement::kEnd;
};

// [batch][heads][tokens][dim] of f32, f16 or bf16, in memory of its own.
struct RowsArray {
  Guarded memory;
  fovea_dtype dtype = FOVEA_F32;
  ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 0, first = 0;

  RowsArray() = default;
  RowsArray(const RowsProblem& p, uint64_t seed, fovea_dtype type = FOVEA_F32) : dtype(type) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(p.dim) + (p.strides == kPadded ? 3 : 0);
    const ptrdiff_t heads = static_cast<ptrdiff_t>(p.heads), tokens = static_cast<ptrdiff_t>(p.tokens);
    token_stride = p.strides == kTokensFirst ? heads * row : row;
    head_stride = p.strides == kTokensFirst ? row : tokens * row;
    batch_stride = heads * tokens * row;
    const size_t rows = size_t{p.batch} * p.heads * p.tokens;
    const size_t elements = rows ? (rows - 1) * static_cast<size_t>(row) + p.dim : 0;
    memory = Guarded(elements * unit_size(dtype), unit_size(dtype), p.placement);
    if (p.strides == kReversed && rows) {
      first = static_cast<ptrdiff_t>(elements) - static_cast<ptrdiff_t>(p.dim);
      batch_stride = -batch_stride, head_stride = -head_stride, token_stride = -token_stride;
    }
    if (seed == 0) return;
    for (uint32_t b = 0; b < p.batch; ++b) {
      for (uint32_t h = 0; h < p.heads; ++h) {
        for (uint32_t t = 0; t < p.tokens; ++t) {
          for (uint32_t d = 0; d < p.dim; ++d) put(at(b, h, t) + d, 2 * random_normal(seed, at(b, h, t) + d));
        }
      }
    }
  }
  size_t at(uint32_t b, uint32_t h, uint32_t t) const {
    return static_cast<size_t>(first + static_cast<ptrdiff_t>(b) * batch_stride +
                               static_cast<ptrdiff_t>(h) * head_stride + static_cast<ptrdiff_t>(t) * token_stride);
  }
  char* data(size_t element) const { return memory.as<char>() + element * unit_size(dtype); }
  void put(size_t element, float x) const { encode_row(dtype, &x, 1, data(element), nullptr); }
  float* row_at(uint32_t b, uint32_t h, uint32_t t) const { return memory.as<float>() + at(b, h, t); }
  std::vector<float> row(uint32_t b, uint32_t h, uint32_t t, uint32_t dim) const {
    std::vector<float> x(dim);
    for (size_t d = 0; d < dim; ++d) x[d] = element_of(dtype, data(at(b, h, t)), nullptr, d);
    return x;
  }
  // All rows of a problem, one after the other.
  std::vector<std::vector<float>> rows(const RowsProblem& p) const {
    std::vector<std::vector<float>> all;
    for (uint32_t b = 0; b < p.batch; ++b) {
      for (uint32_t h = 0; h < p.heads; ++h) {
        for (uint32_t t = 0; t < p.tokens; ++t) all.push_back(row(b, h, t, p.dim));
      }
    }
    return all;
  }
  fovea_in in() const { return {data(static_cast<size_t>(first)), batch_stride, head_stride, token_stride}; }
  fovea_out out() const { return {data(static_cast<size_t>(first)), batch_stride, head_stride, token_stride}; }
};

// How much rounding to a format may change a number.
double rounding(fovea_dtype dtype, double x) {
  return dtype == FOVEA_F32 ? 0 : std::fabs(x) * (dtype == FOVEA_F16 ? 0x1p-11 : 0x1p-8) + 0x1p-25;
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double activated(fovea_activation_kind activation, double x, double alpha = 1) {
  switch (activation) {
    case FOVEA_ACTIVATION_SILU: return x * sigmoid(alpha * x);
    case FOVEA_ACTIVATION_SIGMOID: return sigmoid(alpha * x);
    case FOVEA_ACTIVATION_RELU: return std::max(x, 0.0);
    case FOVEA_ACTIVATION_RELU6: return std::min(std::max(x, 0.0), 6.0);
    case FOVEA_ACTIVATION_HARD_SWISH: return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case FOVEA_ACTIVATION_GELU: return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case FOVEA_ACTIVATION_GELU_TANH: return x * sigmoid(std::sqrt(8 / std::acos(-1.0)) * (x + 0.044715 * x * x * x));
    case FOVEA_ACTIVATION_TANH: return std::tanh(x);
    default: return x;
  }
}

constexpr fovea_activation_kind kActivations[] = {
    FOVEA_ACTIVATION_IDENTITY, FOVEA_ACTIVATION_SILU,       FOVEA_ACTIVATION_SIGMOID,
    FOVEA_ACTIVATION_RELU,     FOVEA_ACTIVATION_RELU6,      FOVEA_ACTIVATION_HARD_SWISH,
    FOVEA_ACTIVATION_GELU,     FOVEA_ACTIVATION_GELU_TANH, FOVEA_ACTIVATION_TANH};
bool reads_alpha(fovea_activation_kind kind) {
  return kind == FOVEA_ACTIVATION_SILU || kind == FOVEA_ACTIVATION_SIGMOID;
}

// Calls back with each row's place.
template <class Function>
void each_row(const RowsProblem& p, Function function) {
  for (uint32_t b = 0; b < p.batch; ++b) {
    for (uint32_t h = 0; h < p.heads; ++h) {
      for (uint32_t t = 0; t < p.tokens; ++t) function(b, h, t);
    }
  }
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
  for (size_t d = 0; gate && o.order == FOVEA_NORM_GATE_BEFORE && d < dim; ++d) {
    y[d] *= activated(o.activation, static_cast<double>(gate[d]));
  }
  double mean = 0, sum = 0;
  for (const double e : y) mean += o.norm == FOVEA_NORM_LAYER ? e / static_cast<double>(dim) : 0;
  for (const double e : y) sum += (e - mean) * (e - mean);
  const double root = std::sqrt((o.norm == FOVEA_NORM_L2 ? sum : sum / static_cast<double>(dim)) +
                                static_cast<double>(o.epsilon));
  error->assign(dim, 0);
  for (size_t d = 0; d < dim; ++d) {
    const double n = (y[d] - mean) / root;
    // What was added to x, a gate before and the mean are rounded, and then divided by the root.
    double off = 1.2 * std::fabs(n) + 0.25 * (std::fabs(mean) + (o.sum == kNoResidual ? 0 : 4)) / root;
    y[d] = n;
    if (weight) {
      const double w = static_cast<double>(weight[d]) + static_cast<double>(o.offset);
      y[d] *= w, off *= std::fabs(w);
    }
    if (bias) y[d] += static_cast<double>(bias[d]), off += 0.2 * std::fabs(y[d]);
    if (gate && o.order == FOVEA_NORM_GATE_AFTER) {
      const double g = activated(o.activation, static_cast<double>(gate[d]));
      y[d] *= g, off = off * std::fabs(g) + 0.7 * std::fabs(y[d]);
    }
    (*error)[d] = 1e-6 * off + rounding(o.y_dtype, y[d]) + 1e-37;
  }
  return y;
}

// Empty, or what is wrong.
std::string check_norm(const RowsProblem& p, const NormOptions& o, fovea_target target) {
  const RowsProblem lists = {1, o.per_head ? p.heads : 1, 1, p.dim, p.strides, p.placement};
  RowsArray x(p, 5, o.x_dtype), gate(p, 6, o.x_dtype), y(p, 0, o.y_dtype), weight(lists, 7), bias(lists, 4);
  RowsArray residual(p, 3, o.residual_dtype), sum(p, 0, o.residual_dtype);
  const auto before = x.rows(p), residuals = residual.rows(p), gates = gate.rows(p);
  fovea_norm_args a = {};
  a.struct_bytes = sizeof a, a.target = target, a.norm = o.norm, a.epsilon = o.epsilon;
  a.batch = p.batch, a.heads = p.heads, a.tokens = p.tokens, a.dim = p.dim;
  a.x_dtype = o.x_dtype, a.y_dtype = o.y_dtype, a.residual_dtype = o.residual_dtype;
  const RowsArray& to = o.in_place ? x : y;
  const RowsArray& sum_to = o.sum == kSumIsX ? x : o.sum == kSumIsResidual ? residual : sum;
  a.x = x.in(), a.y = to.out();
  a.weight_head_stride = o.per_head ? weight.head_stride : 0;
  if (o.weight) a.weight = static_cast<const float*>(weight.in().data), a.weight_offset = o.offset;
  if (o.bias) a.bias = static_cast<const float*>(bias.in().data);
  if (o.gated) a.gate = gate.in(), a.gate_order = o.order, a.gate_activation = o.activation;
  if (o.sum != kNoResidual) a.residual = residual.in();
  if (o.sum > kNoSum) a.sum = sum_to.out();
  Text text;
  text << "norm " << int(o.norm) << " " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim << " strides "
       << int(p.strides) << (o.weight ? " weight" : "") << (o.bias ? " bias" : "") << (o.gated ? " gate" : "")
       << (o.in_place ? " in place" : "") << " sum " << int(o.sum) << " " << type_name(o.x_dtype) << " "
       << type_name(o.y_dtype) << " " << type_name(o.residual_dtype) << " | " << fovea_target_name(target);
  set_current_case(text.str());
  if (!o.in_place && o.sum != kSumIsX) x.memory.read_only(true);
  if (o.sum != kSumIsResidual) residual.memory.read_only(true);
  const fovea_status status = fovea_norm(&a);
  x.memory.read_only(false);
  residual.memory.read_only(false);
  if (status != FOVEA_OK) return text.str() + ": " + fovea_status_string(status);
  for (const RowsArray* const array : {&x, &y, &residual, &sum}) {
    if (!array->memory.margin_intact()) return text.str() + ": bytes beside an array were written";
  }
  std::string wrong;
  size_t row = 0;
  each_row(p, [&](uint32_t b, uint32_t h, uint32_t t) {
    const uint32_t of_head = o.per_head ? h : 0;
    std::vector<double> v(before[row].begin(), before[row].end()), error;
    for (uint32_t d = 0; o.sum != kNoResidual && d < p.dim; ++d) v[d] += static_cast<double>(residuals[row][d]);
    const auto sums = sum_to.row(b, h, t, p.dim);
    for (uint32_t d = 0; o.sum > kNoSum && d < p.dim; ++d) {
      const double off = std::fabs(static_cast<double>(sums[d]) - v[d]);
      if (!(off <= rounding(o.residual_dtype, v[d]) * 1.01 + 1e-7 * std::fabs(v[d]))) wrong = text.str() + ": a sum is wrong";
    }
    const auto want = normalised(o, v, o.weight ? weight.row_at(0, of_head, 0) : nullptr,
                                 o.bias ? bias.row_at(0, of_head, 0) : nullptr, o.gated ? gates[row].data() : nullptr,
                                 &error);
    const auto got = to.row(b, h, t, p.dim);
    for (uint32_t d = 0; d < p.dim; ++d) {
      if (!(std::fabs(static_cast<double>(got[d]) - want[d]) <= error[d])) wrong = text.str() + ": an element is wrong";
    }
    ++row;
  });
  const size_t written = row * p.dim * unit_size(o.y_dtype);
  size_t changed = 0;
  for (size_t i = 0; !o.in_place && i < to.memory.bytes(); ++i) changed += to.memory.untouched(i) ? 0 : 1;
  if (!o.in_place && changed > written) wrong = text.str() + ": more than the rows was written";
  return wrong;
}

struct ActivationOptions {
  fovea_activation_kind kind = FOVEA_ACTIVATION_SILU;
  float alpha = 0;
  bool factor = false;
  int place_of_y = 0;  // its own, x, factor
  fovea_dtype x_dtype = FOVEA_F32, y_dtype = FOVEA_F32;
};

std::string check_activation(const RowsProblem& p, const ActivationOptions& o, fovea_target target) {
  RowsArray x(p, 8, o.x_dtype), factor(p, 9, o.x_dtype), y(p, 0, o.y_dtype);
  const auto xs = x.rows(p), factors = factor.rows(p);
  const RowsArray& to = o.place_of_y == 0 ? y : o.place_of_y == 1 ? x : factor;
  fovea_activation_args a = {};
  a.struct_bytes = sizeof a, a.target = target, a.activation = o.kind, a.alpha = o.alpha;
  a.batch = p.batch, a.heads = p.heads, a.tokens = p.tokens, a.dim = p.dim;
  a.x_dtype = o.x_dtype, a.y_dtype = o.y_dtype;
  a.x = x.in(), a.y = to.out();
  if (o.factor) a.factor = factor.in();
  Text text;
  text << "activation " << int(o.kind) << " of " << p.dim << " " << type_name(o.x_dtype) << " to "
       << type_name(o.y_dtype) << " | " << fovea_target_name(target);
  set_current_case(text.str());
  const fovea_status status = fovea_activation(&a);
  if (status != FOVEA_OK) return text.str() + ": " + fovea_status_string(status);
  if (!to.memory.margin_intact()) return text.str() + ": bytes beside y were written";
  const auto got = to.rows(p);
  for (size_t row = 0; row < xs.size(); ++row) {
    for (uint32_t d = 0; d < p.dim; ++d) {
      double want = activated(o.kind, static_cast<double>(xs[row][d]), static_cast<double>(o.alpha == 0 ? 1 : o.alpha));
      if (o.factor) want *= static_cast<double>(factors[row][d]);
      const double error = std::fabs(static_cast<double>(got[row][d]) - want);
      // What layers.h says of these two beyond the error of all: it grows with the argument.
      const double e = static_cast<double>(xs[row][d]);
      const double more = o.kind == FOVEA_ACTIVATION_GELU        ? e * e * 0x1p-25
                          : o.kind == FOVEA_ACTIVATION_GELU_TANH ? std::fabs(1.6 * (e + 0.044715 * e * e * e)) * 0x1p-22
                                                                 : 0.0;
      if (!(error <= (1.5e-6 + more) * std::fabs(want) + rounding(o.y_dtype, want) * 1.01 + 1e-36)) {
        return text.str() + ": an element is wrong";
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("norm: any strides, counts and options agree with double", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (int strides = 0; strides < kStridesCount; ++strides) {
      for (const uint32_t dim : {1u, 5u, 16u, 37u, 128u}) {
        for (int option = 0; option < 8; ++option) {
          RowsProblem p;
          p.dim = dim, p.strides = static_cast<Strides>(strides);
          p.placement = option % 3 == 0 ? Placement::kStart : option % 3 == 1 ? Placement::kEnd : Placement::kOffset;
          NormOptions o;
          o.norm = option % 2 == 0 ? FOVEA_NORM_RMS : FOVEA_NORM_L2;
          o.weight = option != 1, o.per_head = option >= 4, o.in_place = option % 4 == 3;
          o.offset = option == 2 || option == 5 ? 1.0f : 0.0f;
          o.gated = option >= 3;
          o.order = option % 2 == 0 ? FOVEA_NORM_GATE_BEFORE : FOVEA_NORM_GATE_AFTER;
          o.activation = option < 6 ? FOVEA_ACTIVATION_SILU : FOVEA_ACTIVATION_SIGMOID;
          CHECK(check_norm(p, o, target) == "");
        }
      }
    }
  }
}

TEST_CASE("norm: rows of any size have their root, epsilon counts, and zeros stay zeros", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (const float size : {1e-30f, 1e-16f, 1e-12f, 1.0f, 3e6f, 1e18f}) {
      for (const float epsilon : {0.0f, 1e-6f, 4.0f}) {
        if (epsilon == 0.0f && size < 1e-16f) continue;  // squares vanish, or are flushed to 0
        float x[20], y[20];
        for (size_t i = 0; i < 20; ++i) x[i] = size * random_normal(3, i);
        fovea_norm_args a = {};
        a.struct_bytes = sizeof a, a.target = target, a.epsilon = epsilon;
        a.batch = a.heads = a.tokens = 1, a.dim = 20;
        a.x.data = x, a.y.data = y;
        REQUIRE(fovea_norm(&a) == FOVEA_OK);
        NormOptions o;
        o.epsilon = epsilon;
        std::vector<double> error;
        const auto want = normalised(o, std::vector<double>(x, x + 20), nullptr, nullptr, nullptr, &error);
        bool right = true;
        for (size_t i = 0; i < 20; ++i) {
          right = right && std::fabs(static_cast<double>(y[i]) - want[i]) <= 1.2e-6 * std::fabs(want[i]) + 1e-37;
        }
        CHECK(right);
      }
    }
    const float rows[3][4] = {{0, 0, -0.0f, 0}, {1, kNaN, 2, 3}, {1, kInfinity, 2, 3}};
    float y[3][4];
    fovea_norm_args a = {};
    a.struct_bytes = sizeof a, a.target = target;
    a.batch = a.heads = 1, a.tokens = 3, a.dim = 4;
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

TEST_CASE("norm: targets that fuse alike give the same bits", "[short][norm]") {
  std::vector<float> first[2];
  for (const fovea_target target : targets()) {
    std::vector<float> x(301), y(301), z(301);
    for (size_t i = 0; i < x.size(); ++i) x[i] = random_normal(4, i);
    fovea_norm_args a = {};
    a.struct_bytes = sizeof a, a.target = target, a.epsilon = 1e-6f;
    a.batch = a.heads = a.tokens = 1, a.dim = 301;
    a.x.data = x.data(), a.y.data = y.data();
    REQUIRE(fovea_norm(&a) == FOVEA_OK);
    fovea_activation_args b = {};
    b.struct_bytes = sizeof b, b.target = target, b.activation = FOVEA_ACTIVATION_SILU;
    b.batch = b.heads = b.tokens = 1, b.dim = 301;
    b.x.data = y.data(), b.y.data = z.data(), b.factor.data = x.data();
    REQUIRE(fovea_activation(&b) == FOVEA_OK);
    std::vector<float>& other = first[fuses(target) ? 1 : 0];
    if (other.empty()) other = z;
    CHECK(std::memcmp(other.data(), z.data(), z.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("norm: any two of kinds, formats, residuals, sums, gates and memory agree with double", "[short][norm]") {
  constexpr fovea_dtype kRows[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  constexpr uint32_t kDims[] = {1, 7, 15, 16, 63, 64, 65, 128, 200, 1000};
  const auto rows = covering_array({3, std::size(kDims), 3, 3, 3, 5, 4, kStridesCount, 3, 4, 2, 2}, 11);
  for (const auto& r : rows) {
    NormOptions o;
    RowsProblem p;
    o.norm = static_cast<fovea_norm_kind>(r[0]);
    p.dim = kDims[r[1]];
    o.x_dtype = kRows[r[2]], o.y_dtype = kRows[r[3]], o.residual_dtype = kRows[r[4]];
    o.sum = static_cast<SumPlace>(r[5]);
    if (o.sum == kSumIsX) o.x_dtype = o.residual_dtype;
    o.gated = r[6] > 1, o.order = r[6] == 2 ? FOVEA_NORM_GATE_BEFORE : FOVEA_NORM_GATE_AFTER;
    o.activation = kActivations[(r[6] + r[1]) % std::size(kActivations)];
    p.strides = static_cast<Strides>(r[7]);
    p.placement = static_cast<Placement>(r[8]);
    o.weight = r[9] != 0, o.bias = r[9] > 1, o.per_head = r[9] == 3;
    o.offset = r[10] == 1 && o.weight ? 1.0f : 0.0f;
    o.in_place = r[11] == 1 && o.x_dtype == o.y_dtype && o.sum != kSumIsX;
    // One element is its own mean, and what is left of it, rounding.
    if (p.dim == 1 && o.norm == FOVEA_NORM_LAYER) o.gated = false;
    for (const fovea_target target : targets()) CHECK(check_norm(p, o, target) == "");
  }
}

TEST_CASE("norm: a layer normalisation keeps its error for any mean, and rows that are constant are the bias",
          "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (const float mean : {0.0f, 1.0f, -300.0f, 1e5f}) {
      for (const uint32_t dim : {8u, 100u, 768u, 4100u}) {
        for (const bool outliers : {false, true}) {
          std::vector<float> x(dim), y(dim);
          for (size_t i = 0; i < dim; ++i) x[i] = mean + (outliers && i < dim / 8 ? 1000.0f : random_normal(3, i));
          fovea_norm_args a = {};
          a.struct_bytes = sizeof a, a.target = target, a.norm = FOVEA_NORM_LAYER, a.epsilon = 1e-5f;
          a.batch = a.heads = a.tokens = 1, a.dim = dim;
          a.x.data = x.data(), a.y.data = y.data();
          REQUIRE(fovea_norm(&a) == FOVEA_OK);
          double true_mean = 0, variance = 0;
          for (const float e : x) true_mean += static_cast<double>(e) / dim;
          for (const float e : x) variance += (static_cast<double>(e) - true_mean) * (static_cast<double>(e) - true_mean);
          const double root = std::sqrt(variance / dim + 1e-5);
          double worst = 0;  // of what layers.h states
          for (size_t i = 0; i < dim; ++i) {
            const double want = (static_cast<double>(x[i]) - true_mean) / root;
            const double stated = ((std::fabs(want) + 1) * (dim / 16.0 + 16) + 2 * std::fabs(true_mean) / root) * 0x1p-24;
            worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - want) / stated);
          }
          INFO(fovea_target_name(target) << " " << mean << " " << dim << " " << outliers << " " << worst);
          CHECK(worst < 1);
        }
      }
    }
    const float weight[3] = {2, 3, 4}, bias[3] = {-1, 0, 0.3f};
    for (const float epsilon : {0.0f, 1e-5f}) {
      const float rows[5][3] = {
          {0.1f, 0.1f, 0.1f}, {1e30f, 1e30f, 1e30f}, {1, kNaN, 2}, {1, 2, kInfinity}, {3e30f, -1e30f, 0}};
      float y[5][3];
      fovea_norm_args a = {};
      a.struct_bytes = sizeof a, a.target = target, a.norm = FOVEA_NORM_LAYER, a.epsilon = epsilon;
      a.batch = a.heads = 1, a.tokens = 5, a.dim = 3;
      a.x = {rows, 0, 0, 3}, a.y = {y, 0, 0, 3}, a.weight = weight, a.bias = bias;
      REQUIRE(fovea_norm(&a) == FOVEA_OK);
      for (int row : {0, 1}) CHECK(std::memcmp(y[row], bias, sizeof bias) == 0);
      CHECK((y[4][0] == bias[0] || y[4][0] != y[4][0]));
      for (int row : {2, 3}) {
        for (const float e : y[row]) CHECK(e != e);
      }
    }
  }
}

TEST_CASE("norm: rows of other formats, residuals and gates have the bits of the same steps in f32", "[short][norm]") {
  constexpr uint32_t kDim = 301;
  for (const fovea_target target : targets()) {
    for (const fovea_norm_kind kind : {FOVEA_NORM_RMS, FOVEA_NORM_L2, FOVEA_NORM_LAYER}) {
      RowsProblem p;
      p.batch = p.heads = 1, p.tokens = 2, p.dim = kDim;
      const RowsArray x(p, 11, FOVEA_F16), residual(p, 12, FOVEA_BF16), y(p, 0, FOVEA_BF16), sum(p, 0, FOVEA_F16);
      fovea_norm_args a = {};
      a.struct_bytes = sizeof a, a.target = target, a.norm = kind, a.epsilon = 1e-6f;
      a.batch = a.heads = 1, a.tokens = 2, a.dim = kDim;
      a.x = x.in(), a.x_dtype = FOVEA_F16, a.y = y.out(), a.y_dtype = FOVEA_BF16;
      a.residual = residual.in(), a.residual_dtype = FOVEA_BF16;
      REQUIRE(fovea_norm(&a) == FOVEA_OK);
      for (uint32_t t = 0; t < 2; ++t) {
        std::vector<float> v = x.row(0, 0, t, kDim), want(kDim);
        const auto r = residual.row(0, 0, t, kDim);
        for (size_t d = 0; d < kDim; ++d) v[d] += r[d];
        fovea_norm_args b = {};
        b.struct_bytes = sizeof b, b.target = target, b.norm = kind, b.epsilon = 1e-6f;
        b.batch = b.heads = b.tokens = 1, b.dim = kDim;
        b.x.data = v.data(), b.y.data = want.data();
        REQUIRE(fovea_norm(&b) == FOVEA_OK);
        for (size_t d = 0; d < kDim; ++d) {
          uint16_t bits;
          std::memcpy(&bits, y.data(y.at(0, 0, t) + d), sizeof bits);
          REQUIRE(bits == nearest_of(kBf16, want[d]));
        }
      }
    }
  }
}

TEST_CASE("activation: any strides, counts and options agree with double", "[short][norm]") {
  constexpr fovea_dtype kRows[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  for (const fovea_target target : targets()) {
    for (int strides = 0; strides < kStridesCount; ++strides) {
      for (const uint32_t dim : {1u, 7u, 64u, 131u}) {
        for (size_t option = 0; option < 2 * std::size(kActivations); ++option) {
          RowsProblem p;
          p.dim = dim, p.strides = static_cast<Strides>(strides);
          p.placement = option % 2 == 0 ? Placement::kEnd : Placement::kOffset;
          ActivationOptions o;
          o.kind = kActivations[option % std::size(kActivations)];
          o.alpha = option % 4 < 2 || !reads_alpha(o.kind) ? 0.0f : -1.7f;
          o.x_dtype = kRows[(option + dim) % 5 % 3], o.y_dtype = kRows[(option / 3 + dim) % 4 % 3];
          o.factor = option % 3 != 0;
          if (o.x_dtype == o.y_dtype) o.place_of_y = o.factor ? static_cast<int>(option % 3) : option % 2 == 0 ? 0 : 1;
          CHECK(check_activation(p, o, target) == "");
        }
      }
    }
  }
}

TEST_CASE("activation: every function keeps its stated error, and is exact where it says so", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (const fovea_activation_kind kind : kActivations) {
      std::vector<float> x(4001), y(x.size());
      for (size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<float>(i) - 2000) * 0.0061f;
      x.insert(x.end(), {-13.1f, -9.0f, 30.0f, 1e20f, 1e-20f, -1e-20f});
      y.resize(x.size());
      fovea_activation_args a = {};
      a.struct_bytes = sizeof a, a.target = target, a.activation = kind;
      a.batch = a.heads = a.tokens = 1, a.dim = static_cast<uint32_t>(x.size());
      a.x.data = x.data(), a.y.data = y.data();
      REQUIRE(fovea_activation(&a) == FOVEA_OK);
      double worst = 0;  // of what layers.h states
      for (size_t i = 0; i < x.size(); ++i) {
        const double e = static_cast<double>(x[i]), want = activated(kind, e);
        double stated = fuses(target) ? 4e-7 : 6e-7;
        if (kind == FOVEA_ACTIVATION_GELU) stated = 6e-7 + e * e * 0x1p-25;
        if (kind == FOVEA_ACTIVATION_GELU_TANH) stated += std::fabs(1.6 * (e + 0.044715 * e * e * e)) * 0x1p-22;
        if (kind == FOVEA_ACTIVATION_HARD_SWISH || kind == FOVEA_ACTIVATION_TANH) stated = 2e-7;
        if (kind == FOVEA_ACTIVATION_IDENTITY || kind == FOVEA_ACTIVATION_RELU || kind == FOVEA_ACTIVATION_RELU6) stated = 0;
        if (e > 1e19) stated = 1e-7;
        worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - want) - stated * std::fabs(want) - 2e-37);
      }
      INFO(fovea_target_name(target) << " " << int(kind));
      CHECK(worst <= 0);
      const float edges[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN};
      float got[5];
      a.dim = 5, a.x.data = edges, a.y.data = got;
      REQUIRE(fovea_activation(&a) == FOVEA_OK);
      const bool saturates = kind == FOVEA_ACTIVATION_SIGMOID || kind == FOVEA_ACTIVATION_TANH;
      CHECK(got[0] == (kind == FOVEA_ACTIVATION_SIGMOID ? 0.5f : 0.0f));
      CHECK(got[1] == got[0]);
      CHECK(got[2] == (saturates ? 1.0f : kind == FOVEA_ACTIVATION_RELU6 ? 6.0f : kInfinity));
      if (kind == FOVEA_ACTIVATION_SILU) {
        CHECK(got[3] != got[3]);
      } else {
        CHECK(got[3] == (kind == FOVEA_ACTIVATION_TANH ? -1.0f : kind == FOVEA_ACTIVATION_IDENTITY ? -kInfinity : 0.0f));
      }
      CHECK(got[4] != got[4]);
    }
  }
}

TEST_CASE("activation: the rounding of alpha x adds no more than its size times 2^-24", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (const float alpha : {1.0f, 1.702f, -0.3f, 1e3f}) {
      for (const fovea_activation_kind activation : {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_SIGMOID}) {
        std::vector<float> x(3001), y(x.size());
        for (size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<float>(i) * 0.0317f - 86.0f) / alpha;
        fovea_activation_args a = {};
        a.struct_bytes = sizeof a, a.target = target, a.activation = activation, a.alpha = alpha;
        a.batch = a.heads = a.tokens = 1, a.dim = static_cast<uint32_t>(x.size());
        a.x.data = x.data(), a.y.data = y.data();
        REQUIRE(fovea_activation(&a) == FOVEA_OK);
        double worst = 0;  // of what is stated in fovea.h
        for (size_t i = 0; i < x.size(); ++i) {
          const double z = static_cast<double>(alpha) * static_cast<double>(x[i]);
          const double want = (activation == FOVEA_ACTIVATION_SILU ? static_cast<double>(x[i]) : 1.0) * sigmoid(z);
          if (flushes_subnormals(target) && std::fabs(want) < double{std::numeric_limits<float>::min()}) continue;
          const double stated = (fuses(target) ? 4e-7 : 6e-7) + (alpha == 1.0f ? 0.0 : std::fabs(z) * 0x1p-24);
          worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - want) / (stated * std::fabs(want)));
        }
        CHECK(worst < 1);
      }
    }
  }
}

TEST_CASE("activation: the edges of the floats", "[short][norm]") {
  for (const fovea_target target : targets()) {
    const float x[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNaN, -100.0f, 100.0f, -80.0f};
    float silu[8], sigmoid_of[8];
    fovea_activation_args a = {};
    a.struct_bytes = sizeof a, a.target = target, a.activation = FOVEA_ACTIVATION_SILU;
    a.batch = a.heads = a.tokens = 1, a.dim = 8;
    a.x.data = x, a.y.data = silu;
    REQUIRE(fovea_activation(&a) == FOVEA_OK);
    a.activation = FOVEA_ACTIVATION_SIGMOID, a.y.data = sigmoid_of;
    REQUIRE(fovea_activation(&a) == FOVEA_OK);
    CHECK(silu[0] == 0.0f);
    CHECK(silu[2] == kInfinity);
    CHECK(silu[3] != silu[3]);
    CHECK(silu[4] != silu[4]);
    CHECK(silu[5] == 0.0f);
    CHECK(silu[6] == 100.0f);
    CHECK(sigmoid_of[0] == 0.5f);
    CHECK(sigmoid_of[2] == 1.0f);
    CHECK(sigmoid_of[3] == 0.0f);
    CHECK(sigmoid_of[4] != sigmoid_of[4]);
    CHECK(std::fabs(static_cast<double>(sigmoid_of[7]) / std::exp(-80.0) - 1) < 1e-6);
  }
}

TEST_CASE("norm: every misuse has its status, and nothing is written", "[short][norm]") {
  struct Misuse {
    const char* what;
    fovea_status status;
    void (*change)(fovea_norm_args&);
  };
  static float x[64], y[64], weight[8], gate[64];
  const Misuse misuses[] = {
      {"struct_bytes", FOVEA_ERR_STRUCT, [](fovea_norm_args& a) { --a.struct_bytes; }},
      {"target", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.target = static_cast<fovea_target>(77); }},
      {"norm", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.norm = static_cast<fovea_norm_kind>(3); }},
      {"x_dtype", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.x_dtype = kNoType; }},
      {"y_dtype", FOVEA_ERR_UNSUPPORTED, [](fovea_norm_args& a) { a.y_dtype = FOVEA_I8; }},
      {"residual_dtype", FOVEA_ERR_UNSUPPORTED, [](fovea_norm_args& a) { a.residual_dtype = FOVEA_Q8_0; }},
      {"gate_order", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.gate_order = static_cast<fovea_norm_gate>(2); }},
      {"gate_activation", FOVEA_ERR_ENUM,
       [](fovea_norm_args& a) { a.gate_activation = static_cast<fovea_activation_kind>(9); }},
      {"dim", FOVEA_ERR_DIM, [](fovea_norm_args& a) { a.dim = 0; }},
      {"epsilon below 0", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = -1e-6f; }},
      {"epsilon NaN", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = kNaN; }},
      {"epsilon infinite", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = kInfinity; }},
      {"weight_offset NaN", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.weight_offset = kNaN; }},
      {"weight_offset infinite", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.weight_offset = kInfinity; }},
      {"an offset of no weight", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.weight = nullptr, a.weight_offset = 1; }},
      {"no x", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.x.data = nullptr; }},
      {"no y", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.y.data = nullptr; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](fovea_norm_args& a) { a.y.token_stride = 3; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.y.data = x + 1; }},
      {"y over the weight", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.weight = y; }},
      {"y is the gate", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.gate.data = y; }},
      {"y over the bias", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.bias = y; }},
      {"a sum of no residual", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.sum = a.y; }},
      {"y is the sum", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.residual = a.x, a.sum = a.y; }},
      {"the sum is the gate", FOVEA_ERR_OVERLAP,
       [](fovea_norm_args& a) { a.residual = a.x, a.sum = {gate, 0, 24, 8}; }},
      {"the sum over the residual", FOVEA_ERR_OVERLAP,
       [](fovea_norm_args& a) { a.residual = {x, 0, 24, 8}, a.sum = {x, 0, 24, 7}, a.dim = 7; }},
      {"y is x of another size", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.x.data = y, a.x_dtype = FOVEA_F16; }},
      {"misaligned", FOVEA_ERR_ALIGNMENT,
       [](fovea_norm_args& a) { a.x.data = reinterpret_cast<const char*>(gate) + 1; }},
      {"too large", FOVEA_ERR_SIZE, [](fovea_norm_args& a) { a.x.token_stride = PTRDIFF_MAX; }},
  };
  for (const Misuse& misuse : misuses) {
    INFO(misuse.what);
    fovea_norm_args a = {};
    a.struct_bytes = sizeof a, a.batch = 1, a.heads = 2, a.tokens = 3, a.dim = 8;
    a.x = {x, 0, 24, 8}, a.y = {y, 0, 24, 8}, a.gate = {gate, 0, 24, 8}, a.weight = weight;
    for (float& e : y) e = 7;
    misuse.change(a);
    CHECK(fovea_norm(&a) == misuse.status);
    for (const float e : y) REQUIRE(e == 7);
  }
  CHECK(fovea_norm(nullptr) == FOVEA_ERR_NULL);
  fovea_norm_args none = {};
  none.struct_bytes = sizeof none, none.dim = 1;
  for (uint32_t* const count : {&none.batch, &none.heads, &none.tokens}) {
    none.batch = none.heads = none.tokens = 1;
    *count = 0;
    CHECK(fovea_norm(&none) == FOVEA_OK);
  }
}

TEST_CASE("activation: every misuse has its status, and nothing is written", "[short][norm]") {
  struct Misuse {
    const char* what;
    fovea_status status;
    void (*change)(fovea_activation_args&);
  };
  static float x[64], y[64], factor[64];
  const Misuse misuses[] = {
      {"struct_bytes", FOVEA_ERR_STRUCT, [](fovea_activation_args& a) { ++a.struct_bytes; }},
      {"target", FOVEA_ERR_ENUM, [](fovea_activation_args& a) { a.target = static_cast<fovea_target>(77); }},
      {"activation", FOVEA_ERR_ENUM, [](fovea_activation_args& a) { a.activation = static_cast<fovea_activation_kind>(9); }},
      {"x_dtype", FOVEA_ERR_UNSUPPORTED, [](fovea_activation_args& a) { a.x_dtype = FOVEA_I4; }},
      {"y_dtype", FOVEA_ERR_ENUM, [](fovea_activation_args& a) { a.y_dtype = kNoType; }},
      {"alpha of another", FOVEA_ERR_UNSUPPORTED,
       [](fovea_activation_args& a) { a.activation = FOVEA_ACTIVATION_RELU, a.alpha = 1; }},
      {"dim", FOVEA_ERR_DIM, [](fovea_activation_args& a) { a.dim = 0; }},
      {"alpha", FOVEA_ERR_NUMBER, [](fovea_activation_args& a) { a.alpha = kInfinity; }},
      {"no x", FOVEA_ERR_NULL, [](fovea_activation_args& a) { a.x.data = nullptr; }},
      {"no y", FOVEA_ERR_NULL, [](fovea_activation_args& a) { a.y.data = nullptr; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](fovea_activation_args& a) { a.y.head_stride = 8; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](fovea_activation_args& a) { a.y.data = x + 8; }},
      {"y over the factor", FOVEA_ERR_OVERLAP, [](fovea_activation_args& a) { a.y.data = factor, a.y.head_stride = 25; }},
      {"misaligned", FOVEA_ERR_ALIGNMENT,
       [](fovea_activation_args& a) { a.factor.data = reinterpret_cast<const char*>(factor) + 2; }},
  };
  for (const Misuse& misuse : misuses) {
    INFO(misuse.what);
    fovea_activation_args a = {};
    a.struct_bytes = sizeof a, a.batch = 1, a.heads = 2, a.tokens = 3, a.dim = 8;
    a.x = {x, 0, 24, 8}, a.y = {y, 0, 24, 8}, a.factor = {factor, 0, 24, 8};
    for (float& e : y) e = 7;
    misuse.change(a);
    CHECK(fovea_activation(&a) == misuse.status);
    for (const float e : y) REQUIRE(e == 7);
  }
  CHECK(fovea_activation(nullptr) == FOVEA_ERR_NULL);
}

}  // namespace fovea_test
