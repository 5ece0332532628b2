// SPDX-License-Identifier: Apache-2.0
//
// Normalisation and activation against double, on every target. tests/FIELDS.md says which test fails when a field is
// ignored.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "simd_tests.h"
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

// f32 [batch][heads][tokens][dim] in memory of its own.
struct RowsArray {
  Guarded memory;
  ptrdiff_t batch_stride = 0, head_stride = 0, token_stride = 0, first = 0;

  RowsArray() = default;
  RowsArray(const RowsProblem& p, uint64_t seed) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(p.dim) + (p.strides == kPadded ? 3 : 0);
    const ptrdiff_t heads = static_cast<ptrdiff_t>(p.heads), tokens = static_cast<ptrdiff_t>(p.tokens);
    token_stride = p.strides == kTokensFirst ? heads * row : row;
    head_stride = p.strides == kTokensFirst ? row : tokens * row;
    batch_stride = heads * tokens * row;
    const size_t rows = size_t{p.batch} * p.heads * p.tokens;
    const size_t elements = rows ? (rows - 1) * static_cast<size_t>(row) + p.dim : 0;
    memory = Guarded(elements * sizeof(float), sizeof(float), p.placement);
    if (p.strides == kReversed && rows) {
      first = static_cast<ptrdiff_t>(elements) - static_cast<ptrdiff_t>(p.dim);
      batch_stride = -batch_stride, head_stride = -head_stride, token_stride = -token_stride;
    }
    if (seed == 0) return;
    for (uint32_t b = 0; b < p.batch; ++b) {
      for (uint32_t h = 0; h < p.heads; ++h) {
        for (uint32_t t = 0; t < p.tokens; ++t) {
          for (uint32_t d = 0; d < p.dim; ++d) row_at(b, h, t)[d] = 2 * random_normal(seed, at(b, h, t) + d);
        }
      }
    }
  }
  size_t at(uint32_t b, uint32_t h, uint32_t t) const {
    return static_cast<size_t>(first + static_cast<ptrdiff_t>(b) * batch_stride +
                               static_cast<ptrdiff_t>(h) * head_stride + static_cast<ptrdiff_t>(t) * token_stride);
  }
  float* row_at(uint32_t b, uint32_t h, uint32_t t) const { return memory.as<float>() + at(b, h, t); }
  fovea_in in() const { return {memory.as<float>() + first, batch_stride, head_stride, token_stride}; }
  fovea_out out() const { return {memory.as<float>() + first, batch_stride, head_stride, token_stride}; }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double activated(fovea_activation activation, double x) {
  return activation == FOVEA_ACTIVATION_SIGMOID ? sigmoid(x) : x * sigmoid(x);
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

struct NormOptions {
  fovea_norm norm = FOVEA_NORM_RMS;
  bool weight = true, per_head = false, in_place = false;
  float offset = 0, epsilon = 1e-5f;
  bool gated = false;
  fovea_norm_gate order = FOVEA_NORM_GATE_AFTER;
  fovea_activation activation = FOVEA_ACTIVATION_SILU;
};

// What double says of a row.
std::vector<double> normalised(const NormOptions& o, const float* x, const float* weight, const float* gate,
                               size_t dim) {
  std::vector<double> y(x, x + dim);
  for (size_t d = 0; gate && o.order == FOVEA_NORM_GATE_BEFORE && d < dim; ++d) y[d] *= activated(o.activation, gate[d]);
  double sum = 0;
  for (const double e : y) sum += e * e;
  const double mean = o.norm == FOVEA_NORM_RMS ? sum / static_cast<double>(dim) : sum;
  for (size_t d = 0; d < dim; ++d) {
    y[d] /= std::sqrt(mean + static_cast<double>(o.epsilon));
    if (weight) y[d] *= static_cast<double>(weight[d]) + static_cast<double>(o.offset);
    if (gate && o.order == FOVEA_NORM_GATE_AFTER) y[d] *= activated(o.activation, gate[d]);
  }
  return y;
}

// Empty, or what is wrong.
std::string check_norm(const RowsProblem& p, const NormOptions& o, fovea_target target) {
  RowsArray x(p, 5), gate(p, 6), y(p, 0), weight({1, o.per_head ? p.heads : 1, 1, p.dim, p.strides, p.placement}, 7);
  const std::vector<float> before(x.memory.as<float>(), x.memory.as<float>() + x.memory.bytes() / sizeof(float));
  fovea_norm_args a = {};
  a.struct_bytes = sizeof a, a.target = target, a.norm = o.norm, a.epsilon = o.epsilon;
  a.batch = p.batch, a.heads = p.heads, a.tokens = p.tokens, a.dim = p.dim;
  const RowsArray& to = o.in_place ? x : y;
  a.x = x.in(), a.y = to.out();
  if (o.weight) {
    a.weight = static_cast<const float*>(weight.in().data), a.weight_offset = o.offset;
    a.weight_head_stride = o.per_head ? weight.head_stride : 0;
  }
  if (o.gated) a.gate = gate.in(), a.gate_order = o.order, a.gate_activation = o.activation;
  Text text;
  text << "norm " << int(o.norm) << " " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim << " strides "
       << int(p.strides) << (o.weight ? " weight" : "") << (o.gated ? " gate" : "") << (o.in_place ? " in place" : "")
       << " | " << fovea_target_name(target);
  set_current_case(text.str());
  if (!o.in_place) x.memory.read_only(true);
  const fovea_status status = fovea_norm_f32(&a);
  if (!o.in_place) x.memory.read_only(false);
  if (status != FOVEA_OK) return text.str() + ": " + fovea_status_string(status);
  if (!to.memory.margin_intact()) return text.str() + ": bytes beside y were written";
  std::string wrong;
  size_t written = 0;
  each_row(p, [&](uint32_t b, uint32_t h, uint32_t t) {
    const float* const w = o.weight ? weight.row_at(0, o.per_head ? h : 0, 0) : nullptr;
    const auto want = normalised(o, &before[x.at(b, h, t)], w, o.gated ? gate.row_at(b, h, t) : nullptr, p.dim);
    for (uint32_t d = 0; d < p.dim; ++d, ++written) {
      const double error = std::fabs(static_cast<double>(to.row_at(b, h, t)[d]) - want[d]);
      if (!(error <= 1.2e-6 * std::fabs(want[d]) + 1e-37)) wrong = text.str() + ": an element is wrong";
    }
  });
  size_t changed = 0;
  for (size_t i = 0; !o.in_place && i < to.memory.bytes(); i += sizeof(float)) changed += to.memory.untouched(i) ? 0 : 1;
  if (!o.in_place && changed > written) wrong = text.str() + ": more than the rows was written";
  return wrong;
}

std::string check_activation(const RowsProblem& p, fovea_activation activation, float alpha, bool with_factor,
                             int place_of_y, fovea_target target) {
  RowsArray x(p, 8), factor(p, 9), y(p, 0);
  const size_t count = x.memory.bytes() / sizeof(float);
  const std::vector<float> xs(x.memory.as<float>(), x.memory.as<float>() + count);
  const std::vector<float> factors(factor.memory.as<float>(), factor.memory.as<float>() + count);
  const RowsArray& to = place_of_y == 0 ? y : place_of_y == 1 ? x : factor;
  fovea_activation_args a = {};
  a.struct_bytes = sizeof a, a.target = target, a.activation = activation, a.alpha = alpha;
  a.batch = p.batch, a.heads = p.heads, a.tokens = p.tokens, a.dim = p.dim;
  a.x = x.in(), a.y = to.out();
  if (with_factor) a.factor = factor.in();
  set_current_case(std::string("activation | ") + fovea_target_name(target));
  const fovea_status status = fovea_activation_f32(&a);
  if (status != FOVEA_OK) return fovea_status_string(status);
  if (!to.memory.margin_intact()) return "bytes beside y were written";
  std::string wrong;
  each_row(p, [&](uint32_t b, uint32_t h, uint32_t t) {
    for (uint32_t d = 0; d < p.dim; ++d) {
      const double e = xs[x.at(b, h, t) + d], s = sigmoid(e * static_cast<double>(alpha == 0 ? 1 : alpha));
      double want = activation == FOVEA_ACTIVATION_SIGMOID ? s : e * s;
      if (with_factor) want *= static_cast<double>(factors[x.at(b, h, t) + d]);
      const double error = std::fabs(static_cast<double>(to.row_at(b, h, t)[d]) - want);
      if (!(error <= 6e-7 * std::fabs(want) + 1e-36)) wrong = "an element is wrong";
    }
  });
  return wrong;
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
        REQUIRE(fovea_norm_f32(&a) == FOVEA_OK);
        NormOptions o;
        o.epsilon = epsilon;
        const auto want = normalised(o, x, nullptr, nullptr, 20);
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
    REQUIRE(fovea_norm_f32(&a) == FOVEA_OK);
    for (const float e : y[0]) CHECK(e == 0.0f);
    for (const float e : y[1]) CHECK(e != e);
    CHECK(y[2][0] == 0.0f);
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
    REQUIRE(fovea_norm_f32(&a) == FOVEA_OK);
    fovea_activation_args b = {};
    b.struct_bytes = sizeof b, b.target = target;
    b.batch = b.heads = b.tokens = 1, b.dim = 301;
    b.x.data = y.data(), b.y.data = z.data(), b.factor.data = x.data();
    REQUIRE(fovea_activation_f32(&b) == FOVEA_OK);
    std::vector<float>& other = first[fuses(target) ? 1 : 0];
    if (other.empty()) other = z;
    CHECK(std::memcmp(other.data(), z.data(), z.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("activation: any strides, counts and options agree with double", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (int strides = 0; strides < kStridesCount; ++strides) {
      for (const uint32_t dim : {1u, 7u, 64u, 131u}) {
        for (int option = 0; option < 6; ++option) {
          RowsProblem p;
          p.dim = dim, p.strides = static_cast<Strides>(strides);
          p.placement = option % 2 == 0 ? Placement::kEnd : Placement::kOffset;
          const bool factor = option % 3 != 0;
          CHECK(check_activation(p, option < 3 ? FOVEA_ACTIVATION_SILU : FOVEA_ACTIVATION_SIGMOID,
                                 option % 2 == 0 ? 0.0f : -1.7f, factor, factor ? option % 3 : option / 3 * 1,
                                 target) == "");
        }
      }
    }
  }
}

TEST_CASE("activation: the rounding of alpha x adds no more than its size times 2^-24", "[short][norm]") {
  for (const fovea_target target : targets()) {
    for (const float alpha : {1.0f, 1.702f, -0.3f, 1e3f}) {
      for (const fovea_activation activation : {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_SIGMOID}) {
        std::vector<float> x(3001), y(x.size());
        for (size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<float>(i) * 0.0317f - 86.0f) / alpha;
        fovea_activation_args a = {};
        a.struct_bytes = sizeof a, a.target = target, a.activation = activation, a.alpha = alpha;
        a.batch = a.heads = a.tokens = 1, a.dim = static_cast<uint32_t>(x.size());
        a.x.data = x.data(), a.y.data = y.data();
        REQUIRE(fovea_activation_f32(&a) == FOVEA_OK);
        double worst = 0;  // of what is stated in fovea.h
        for (size_t i = 0; i < x.size(); ++i) {
          const double z = static_cast<double>(alpha) * static_cast<double>(x[i]);
          const double want = (activation == FOVEA_ACTIVATION_SILU ? static_cast<double>(x[i]) : 1.0) * sigmoid(z);
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
    a.struct_bytes = sizeof a, a.target = target;
    a.batch = a.heads = a.tokens = 1, a.dim = 8;
    a.x.data = x, a.y.data = silu;
    REQUIRE(fovea_activation_f32(&a) == FOVEA_OK);
    a.activation = FOVEA_ACTIVATION_SIGMOID, a.y.data = sigmoid_of;
    REQUIRE(fovea_activation_f32(&a) == FOVEA_OK);
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
      {"norm", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.norm = static_cast<fovea_norm>(2); }},
      {"gate_order", FOVEA_ERR_ENUM, [](fovea_norm_args& a) { a.gate_order = static_cast<fovea_norm_gate>(2); }},
      {"gate_activation", FOVEA_ERR_ENUM,
       [](fovea_norm_args& a) { a.gate_activation = static_cast<fovea_activation>(2); }},
      {"dim", FOVEA_ERR_DIM, [](fovea_norm_args& a) { a.dim = 0; }},
      {"epsilon below 0", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = -1e-6f; }},
      {"epsilon NaN", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = kNaN; }},
      {"epsilon infinite", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.epsilon = kInfinity; }},
      {"weight_offset NaN", FOVEA_ERR_NUMBER, [](fovea_norm_args& a) { a.weight_offset = kNaN; }},
      {"an offset of no weight", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.weight = nullptr, a.weight_offset = 1; }},
      {"no x", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.x.data = nullptr; }},
      {"no y", FOVEA_ERR_NULL, [](fovea_norm_args& a) { a.y.data = nullptr; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](fovea_norm_args& a) { a.y.token_stride = 3; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.y.data = x + 1; }},
      {"y over the weight", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.weight = y; }},
      {"y is the gate", FOVEA_ERR_OVERLAP, [](fovea_norm_args& a) { a.gate.data = y; }},
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
    CHECK(fovea_norm_f32(&a) == misuse.status);
    for (const float e : y) REQUIRE(e == 7);
  }
  CHECK(fovea_norm_f32(nullptr) == FOVEA_ERR_NULL);
  fovea_norm_args none = {};
  none.struct_bytes = sizeof none, none.dim = 1;
  for (uint32_t* const count : {&none.batch, &none.heads, &none.tokens}) {
    none.batch = none.heads = none.tokens = 1;
    *count = 0;
    CHECK(fovea_norm_f32(&none) == FOVEA_OK);
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
      {"activation", FOVEA_ERR_ENUM, [](fovea_activation_args& a) { a.activation = static_cast<fovea_activation>(2); }},
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
    CHECK(fovea_activation_f32(&a) == misuse.status);
    for (const float e : y) REQUIRE(e == 7);
  }
  CHECK(fovea_activation_f32(nullptr) == FOVEA_ERR_NULL);
}

}  // namespace fovea_test
