// SPDX-License-Identifier: Apache-2.0
//
// Softmax, normalisation, activation, convolution, rope, quantisation, tables of activations, linear layers with an
// activation and multi-head layers over numbers of any kind: NaN, infinities, subnormal and huge numbers among usual ones.
// Each result is that of plain loops, in double where it is not exact, with the rules of fovea.h for what is no number.
// tensors_fuzz.cc does so for sums, products, pooling, embeddings and top-k.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "fuzz/draw.h"
#include "support/activations.h"
#include "support/bits.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/tolerance.h"

namespace fovea_test {
namespace {

// ---- Numbers

// What f32 has in the place of a number: what is beyond its range is infinite.
double rounded(double x) { return double{float(x)}; }

bool is_near(float got, double want, double tolerance) {
  if (close(got, want, tolerance) || close(got, rounded(want), tolerance)) return true;
  const bool at_end =
      std::fabs(want) + tolerance >= 0.99999 * FLT_MAX && std::fabs(want) - tolerance <= 1.00001 * FLT_MAX;
  return at_end && (std::isinf(got) || close(got, want, tolerance)) && std::signbit(got) == std::signbit(want);
}

void expect_near(const char* what, fovea_target target, size_t at, float got, double want, double tolerance) {
  if (is_near(got, want, tolerance)) return;
  char text[200];
  std::snprintf(text, sizeof text, "%s on %s: element %zu is %.9g, not %.9g +- %.3g", what, fovea_target_name(target),
                at, double{got}, want, tolerance);
  fail(text);
}

void expect_served(const char* what, fovea_status status) {
  if (status != FOVEA_OK) fail(std::string(what) + ": " + fovea_status_string(status));
}
template <class Args>
void serve(const char* what, fovea_status (*call)(const Args*), Args* a, fovea_target target) {
  a->target = target;
  expect_served(what, call(a));
}

// An array of F32, F16 or BF16, and the numbers that it holds.
struct Array : EncodedRows {
  fovea_dtype type;

  Array(fovea_dtype of, const std::vector<float>& x) : EncodedRows(of, x, std::max<size_t>(x.size(), 1)), type(of) {}
  explicit Array(fovea_dtype of, size_t count) : Array(of, std::vector<float>(count)) {}
  // Whether it holds these numbers, rounded once.
  bool holds(const std::vector<float>& x) const {
    const Array want(type, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float got = element_of(type, data.data(), nullptr, i);
      if (got != want.numbers[i] && !(std::isnan(got) && std::isnan(want.numbers[i]))) return false;
    }
    return true;
  }
};
fovea_dtype float_type(Bytes& bytes) { return bytes.choose({FOVEA_F32, FOVEA_F32, FOVEA_F16, FOVEA_BF16}); }

// ---- Softmax

void softmax(Bytes& bytes) {
  auto a = sized<fovea_softmax_args>();
  a.outer = 1 + bytes.below(3), a.axis = 1 + bytes.below(90), a.inner = bytes.flag() ? 1 : 1 + bytes.below(20);
  a.scale = bytes.choose({0.0f, 0.5f, -2.0f, 1e-30f, 1e30f});
  const size_t count = a.outer * a.axis * a.inner;
  const std::vector<float> in = numbers(bytes, count);
  std::vector<float> mask = numbers(bytes, count), out(count);
  for (uint32_t hidden = bytes.below(4); hidden > 0; --hidden) {
    mask[bytes.below(uint32_t(count))] = bytes.choose({-kInfinity, -FLT_MAX, -FLT_MAX / 2});
  }
  a.x = in.data(), a.y = out.data();
  if (bytes.flag()) a.mask = mask.data();
  a.x_axis_stride = a.y_axis_stride = a.mask_axis_stride = ptrdiff_t(a.inner);
  a.x_outer_stride = a.y_outer_stride = a.mask_outer_stride = ptrdiff_t(a.inner * a.axis);
  a.mask_inner_stride = 1;
  const bool logarithm = bytes.flag();
  const Softmax want = fovea_test::softmax(a, logarithm);
  for (const fovea_target target : targets()) {
    serve("softmax", logarithm ? fovea_log_softmax : fovea_softmax, &a, target);
    for (size_t i = 0; i < count; ++i) expect_near("softmax", target, i, out[i], want.out[i], want.tolerance[i]);
  }
}

// ---- Rows

constexpr double kLeast = 0x1p-149;       // of all numbers above 0
constexpr double kLastSigmoid = 1.7e-38;  // sigmoids from here on may be 0

// A number, and how much f32 may be off.
struct Near {
  double value, error;
};
Near times(Near a, Near b) {
  const double value = rounded(a.value * b.value);
  return {value, std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error +
                     kEpsilon * std::fabs(value) + kLeast};
}
Near near_activated(fovea_activation_kind kind, float alpha, float x) {
  const double e = double{x};
  if (kind == FOVEA_ACTIVATION_IDENTITY || kind == FOVEA_ACTIVATION_RELU || kind == FOVEA_ACTIVATION_RELU6) {
    return {activated(kind, e), 0};
  }
  if (kind != FOVEA_ACTIVATION_SILU && kind != FOVEA_ACTIVATION_SIGMOID) {
    if (e < -20 && kind != FOVEA_ACTIVATION_TANH) return {0, 0};
    const double value = activated(kind, e);
    return {value, (std::fabs(e) < 20 ? stated_error(kind, e, value) : 4e-7 * std::fabs(value)) +
                       (kind == FOVEA_ACTIVATION_TANH ? kLeast : 2e-37)};
  }
  const double at = double{alpha * x};  // rounded to f32
  const double sigmoid = at < -87 ? 0 : 1 / (1 + std::exp(-at));
  const Near s = {sigmoid, stated_error(kind, e, sigmoid) + (at < -86.9 ? kLastSigmoid : 0)};
  return kind == FOVEA_ACTIVATION_SIGMOID ? s : times({x, 0}, s);
}

void activation(Bytes& bytes) {
  auto a = sized<fovea_activation_args>();
  a.batch = a.heads = 1, a.tokens = 1 + bytes.below(3), a.dim = 1 + bytes.below(80);
  a.activation = fovea_activation_kind(bytes.below(FOVEA_ACTIVATION_TANH + 1));
  const bool has_alpha = a.activation == FOVEA_ACTIVATION_SILU || a.activation == FOVEA_ACTIVATION_SIGMOID;
  if (has_alpha) a.alpha = bytes.choose({0.0f, 1.0f, 1.702f, -1.0f, 1e-20f, 1e20f});
  const size_t count = size_t{a.tokens} * a.dim;
  a.x_dtype = float_type(bytes);
  const Array of_x(a.x_dtype, numbers(bytes, count)), of_factor(a.x_dtype, numbers(bytes, count));
  const std::vector<float>&x = of_x.numbers, &factor = of_factor.numbers;
  std::vector<float> y(count);
  const Array rounded_y(float_type(bytes), count);
  const bool has_factor = bytes.flag();
  a.x.data = of_x.data.data(), a.factor.data = has_factor ? of_factor.data.data() : nullptr;
  a.x.token_stride = a.y.token_stride = a.factor.token_stride = a.dim;
  for (const fovea_target target : targets()) {
    a.y_dtype = FOVEA_F32, a.y.data = y.data();
    serve("activation", fovea_activation, &a, target);
    a.y_dtype = rounded_y.type, a.y.data = const_cast<char*>(rounded_y.data.data());
    serve("activation", fovea_activation, &a, target);
    expect(rounded_y.holds(y), "activation: y is not rounded once");
    for (size_t i = 0; i < count; ++i) {
      Near want = near_activated(a.activation, a.alpha != 0 ? a.alpha : 1, x[i]);
      if (has_factor && !std::isfinite(factor[i]) && std::fabs(want.value) <= want.error) continue;  // or 0 times that
      if (has_factor) want = times(want, {factor[i], 0});
      expect_near("activation", target, i, y[i], want.value, want.error);
    }
  }
}

// What a row is multiplied by: 1 / sqrt(mean + epsilon).
Near factor_of(const fovea_norm_args& a, const std::vector<Near>& x) {
  double sum = 0, error = 0;
  for (const Near& e : x) sum += e.value * e.value, error += 2 * std::fabs(e.value) * e.error + 0x1p-149;
  error += 1e-6 * sum;
  if (std::isinf(sum) || sum - error > FLT_MAX) return {0, 0};
  const double divisor = a.norm == FOVEA_NORM_RMS ? a.dim : 1.0;
  const double least = std::max(0.0, (sum - error) / divisor) + double{a.epsilon},
               mean = sum / divisor + double{a.epsilon};
  if (std::isnan(mean)) return {mean, 0};
  if (mean == 0) return {0, 0};
  const double value = 1 / std::sqrt(mean);
  // Where all squares may vanish, or be beyond the range, 0 is right too.
  const bool may_vanish = least < 0x1p-148 || sum + error > FLT_MAX;
  return {value, may_vanish ? 2 * value : 1 / std::sqrt(least) - value + 1e-6 * value};
}

// What layer normalisation makes of rows. Where f32 may answer in more than one way, nothing is known.
struct Layer {
  double mean = 0, root = 0, error = 0;
  bool is_known = true, is_nan = false, is_constant = true;

  Layer(const std::vector<Near>& v, double epsilon) {
    const double count = double(v.size());
    for (const Near& e : v) {
      if (!std::isfinite(e.value)) is_nan = true, is_known = is_known && e.error == 0;
      is_constant = is_constant && e.value == v[0].value && e.error == 0;
      error = std::max(error, e.error), mean += e.value / count;
    }
    if (is_nan) return;
    double squares = 0, largest = 0;
    for (const Near& e : v) {
      squares += (e.value - mean) * (e.value - mean);
      largest = std::max(largest, std::fabs(e.value - mean));
    }
    root = std::sqrt(squares / count + epsilon);
    // Squares of distances from a shift that may be some deviations from the mean; very small ones; rounded elements.
    is_known = is_known && 32 * (squares + count * largest * largest) < FLT_MAX && root * root > 0x1p-110 &&
               error < 0.01 * root;
    is_known = is_known || is_constant;
  }
  Near normal(double x, size_t dim) const {
    if (is_nan) return {std::nan(""), 0};
    if (is_constant) return {0, 0};
    const double value = (x - mean) / root, size = std::fabs(value);
    const double stated = (size + 1) * (double(dim) / 16 + 16) + 2 * std::fabs(mean) / root;
    return {value, 12 * stated * 0x1p-24 + 3 * (1 + size) * error / root};
  }
};

struct NormArrays {
  Array x, residual, gate;
  std::vector<float> weight, bias;
};

// Draws options and arrays, all but y and sum.
void draw_norm(Bytes& bytes, const NormArrays& arrays, fovea_norm_args* a) {
  a->x_dtype = arrays.x.type, a->residual_dtype = arrays.residual.type;
  a->x.data = arrays.x.data.data();
  if (bytes.flag()) a->residual.data = arrays.residual.data.data();
  if (bytes.flag()) a->weight = arrays.weight.data(), a->weight_offset = bytes.choose({0.0f, 1.0f});
  if (bytes.flag()) a->bias = arrays.bias.data();
  if (bytes.flag()) {
    a->gate.data = arrays.gate.data.data();
    a->gate_order = bytes.choose({FOVEA_NORM_GATE_AFTER, FOVEA_NORM_GATE_BEFORE});
    a->gate_activation = bytes.choose({FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_SIGMOID, FOVEA_ACTIVATION_GELU});
  }
}

// The elements that are expected. Those of which nothing is known have no number as their error.
std::vector<Near> normalised(const fovea_norm_args& a, const std::vector<float>& sum, const NormArrays& arrays) {
  std::vector<Near> v(a.dim), gates(a.dim, {1, 0});
  for (uint32_t d = 0; d < a.dim; ++d) {
    if (a.gate.data != nullptr) gates[d] = near_activated(a.gate_activation, 1, arrays.gate.numbers[d]);
    v[d] = {sum[d], 0};
    if (a.gate.data != nullptr && a.gate_order == FOVEA_NORM_GATE_BEFORE) v[d] = times(v[d], gates[d]);
  }
  const bool is_layer = a.norm == FOVEA_NORM_LAYER;
  const Layer layer(v, double{a.epsilon});
  const Near factor = is_layer ? Near{0, 0} : factor_of(a, v);
  std::vector<Near> want(a.dim);
  for (uint32_t d = 0; d < a.dim; ++d) {
    Near y = is_layer ? layer.normal(v[d].value, a.dim) : times(v[d], factor);
    bool is_known = !is_layer || layer.is_known;
    if (a.weight != nullptr) {
      const double weight = rounded(arrays.weight[d] + double{a.weight_offset});
      // A sum with the bias may be finite where the product is not.
      const double product = y.value * weight;
      if (a.bias != nullptr && std::isfinite(product)) {
        is_known = is_known && std::fabs(product) + y.error * std::fabs(weight) < 0.99 * FLT_MAX;
      }
      y = times(y, {weight, kEpsilon * std::fabs(weight)});
    }
    if (a.bias != nullptr) {
      const double biased = rounded(y.value + double{arrays.bias[d]});
      y = {biased, y.error + kEpsilon * std::fabs(biased) + kLeast};
    }
    if (a.gate.data != nullptr && a.gate_order == FOVEA_NORM_GATE_AFTER) y = times(y, gates[d]);
    want[d] = is_known ? y : Near{0, HUGE_VAL};
  }
  return want;
}

void norm(Bytes& bytes) {
  auto a = sized<fovea_norm_args>();
  a.batch = a.heads = a.tokens = 1, a.dim = 1 + bytes.below(bytes.flag() ? 80 : 300);
  a.norm = bytes.choose({FOVEA_NORM_RMS, FOVEA_NORM_L2, FOVEA_NORM_LAYER, FOVEA_NORM_LAYER});
  a.epsilon = bytes.choose({0.0f, 1e-5f, 1.0f, 1e-30f, 0x1p-140f, 1e30f});
  const fovea_dtype x_type = float_type(bytes), residual_type = float_type(bytes);
  const NormArrays arrays = {{x_type, numbers(bytes, a.dim)},
                             {residual_type, numbers(bytes, a.dim)},
                             {x_type, numbers(bytes, a.dim)},
                             numbers(bytes, a.dim),
                             numbers(bytes, a.dim)};
  draw_norm(bytes, arrays, &a);
  std::vector<float> sum = arrays.x.numbers, y(a.dim);
  for (uint32_t d = 0; a.residual.data != nullptr && d < a.dim; ++d) sum[d] += arrays.residual.numbers[d];
  const Array of_sum(residual_type, a.dim), rounded_y(float_type(bytes), a.dim);
  if (a.residual.data != nullptr && bytes.flag()) a.sum.data = const_cast<char*>(of_sum.data.data());
  const std::vector<Near> want = normalised(a, sum, arrays);
  for (const fovea_target target : targets()) {
    a.y_dtype = FOVEA_F32, a.y.data = y.data();
    serve("norm", fovea_norm, &a, target);
    a.y_dtype = rounded_y.type, a.y.data = const_cast<char*>(rounded_y.data.data());
    serve("norm", fovea_norm, &a, target);
    expect(rounded_y.holds(y), "norm: y is not rounded once");
    expect(a.sum.data == nullptr || of_sum.holds(sum), "norm: another sum");
    for (uint32_t d = 0; d < a.dim; ++d) {
      if (want[d].error < HUGE_VAL || std::isnan(want[d].error)) {
        expect_near("norm", target, d, y[d], want[d].value, want[d].error);
      }
    }
  }
}

// ---- Convolution

void conv1d(Bytes& bytes) {
  auto a = sized<fovea_conv1d_args>();
  a.batch = 1, a.tokens = 1 + bytes.below(24), a.channels = 1 + bytes.below(24), a.kernel_size = 1 + bytes.below(8);
  a.silu = bytes.flag();
  const size_t count = size_t{a.tokens} * a.channels, kept = size_t{a.kernel_size - 1} * a.channels;
  const std::vector<float> x = numbers(bytes, count), state = numbers(bytes, kept);
  const std::vector<float> weight = numbers(bytes, size_t{a.channels} * a.kernel_size), bias = numbers(bytes, a.channels);
  const bool channels_first = bytes.flag(), has_state = bytes.flag();
  if (bytes.flag()) a.bias = bias.data();
  const ptrdiff_t tokens = ptrdiff_t(a.tokens), channels = ptrdiff_t(a.channels);
  a.x_token_stride = a.y_token_stride = channels_first ? 1 : channels;
  a.x_channel_stride = a.y_channel_stride = channels_first ? tokens : 1;
  const auto place = [&](size_t t, size_t c) { return channels_first ? c * a.tokens + t : t * a.channels + c; };
  // Input i counts from the first of the state.
  const auto input = [&](size_t i, size_t c) {
    if (i >= a.kernel_size - 1) return x[place(i - (a.kernel_size - 1), c)];
    return has_state ? state[i * a.channels + c] : 0.0f;
  };
  std::vector<float> y(count), new_state;
  a.x = x.data(), a.y = y.data(), a.weight = weight.data(), a.weight_stride = a.kernel_size;
  for (const fovea_target target : targets()) {
    a.target = target;
    new_state = state;
    a.state = has_state ? new_state.data() : nullptr;
    expect_served("conv1d", fovea_conv1d(&a));
    for (size_t c = 0; c < a.channels; ++c) {
      for (size_t t = 0; t < a.tokens; ++t) {
        double sum = 0, size = 0;  // of the finite ones
        const auto add = [&](double number) {
          sum += number;
          if (std::isfinite(number)) size += std::fabs(number);
        };
        if (a.bias != nullptr) add(double{bias[c]});
        for (size_t tap = 0; tap < a.kernel_size; ++tap) add(double{input(t + tap, c)} * double{weight[c * a.kernel_size + tap]});
        if (size > 0.999 * FLT_MAX) continue;  // on its way the sum may be beyond the range
        Near want = {sum, 1e-6 * size + double(a.kernel_size) * kLeast};
        if (a.silu != 0) {
          const double sigmoid = 1 / (1 + std::exp(-sum));
          const double slope = std::isfinite(sum) ? std::fabs(sum) * sigmoid : 0;
          want = times(want,
                       {sum < -87 ? 0 : sigmoid, 1e-6 * sigmoid + slope * want.error / std::max(1.0, std::fabs(sum)) +
                                                     (sum < -86.9 ? kLastSigmoid : 0)});
        }
        expect_near("conv1d", target, place(t, c), y[place(t, c)], want.value, want.error);
      }
      for (size_t i = 0; has_state && i + 1 < a.kernel_size; ++i) {
        const bool same = bits_of(new_state[i * a.channels + c]) == bits_of(input(a.tokens + i, c));
        expect(same, "conv1d: the state is another");
      }
    }
  }
}

// ---- Rope

void rotate(Bytes& bytes) {
  auto a = sized<fovea_hadamard_args>();
  a.batch = a.heads = 1, a.tokens = 1 + bytes.below(3), a.dim = 1 + bytes.below(130);
  uint32_t block = a.dim & (0 - a.dim);
  while (block > 1 && bytes.flag()) block /= 2;
  a.block = block;
  a.inverse = bytes.flag();
  const size_t count = size_t{a.tokens} * a.dim;
  const std::vector<float> x = numbers(bytes, count);
  std::vector<float> y(count), first;
  a.x.data = x.data(), a.y.data = y.data(), a.x.token_stride = a.y.token_stride = a.dim;
  for (const fovea_target target : targets()) {
    serve("rotate", fovea_hadamard, &a, target);
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = i - i % a.dim % block;
      double sum = 0, size = 0;
      for (size_t j = begin; j < begin + block; ++j) {
        const double number = double{x[j]};
        sum += __builtin_popcount(uint32_t((i - begin) & (j - begin))) % 2 != 0 ? -number : number;
        size += std::fabs(number);
      }
      if (std::isfinite(size) && size > 0.49 * FLT_MAX) continue;  // a step may overflow
      const double root = std::sqrt(double(block));
      // Infinities of both signs in a step are NaN, which a single sum of the block need not be.
      if (!std::isfinite(size)) {
        expect(!std::isfinite(y[i]), "rotate: what is not finite does not reach its block");
        continue;
      }
      const double tolerance = (std::log2(double(block)) + 1) * 0x1p-24 * size / root + 0x1p-149;
      expect_near("rotate", target, i, y[i], sum / root, tolerance);
    }
  }
}

void rope(Bytes& bytes) {
  auto a = sized<fovea_rope_args>();
  a.batch = a.heads = 1, a.tokens = 1 + bytes.below(4), a.dim = 2 + bytes.below(60);
  a.rotary_dim = 2 * (1 + bytes.below(a.dim / 2));
  a.layout = bytes.choose({FOVEA_ROPE_INTERLEAVED, FOVEA_ROPE_HALF_SPLIT});
  a.inverse = bytes.flag();
  const size_t pairs = a.rotary_dim / 2, count = size_t{a.tokens} * a.dim;
  const std::vector<float> x = numbers(bytes, count);
  std::vector<float> y(count), cos, sin;
  std::vector<uint64_t> turns(pairs);
  const bool tables = bytes.flag();
  if (tables) {
    cos = numbers(bytes, pairs * 8), sin = numbers(bytes, pairs * 8);
    a.cos = cos.data(), a.sin = sin.data(), a.table_stride = ptrdiff_t(pairs), a.table_positions = 8;
    a.position_offset = bytes.below(8 - a.tokens + 1);
  } else {
    for (uint64_t& turn : turns) turn = random_bits(3, uint64_t(&turn - turns.data()));
    a.turns = turns.data();
    a.position_offset = bytes.flag() ? 0 : bytes.take<int32_t>();
  }
  a.x.data = x.data(), a.y.data = y.data(), a.x.token_stride = a.y.token_stride = a.dim;
  for (const fovea_target target : targets()) {
    serve("rope", fovea_rope, &a, target);
    for (uint32_t t = 0; t < a.tokens; ++t) {
      const int64_t position = a.position_offset + t;
      const size_t row = size_t{t} * a.dim;
      for (size_t pair = 0; pair < pairs; ++pair) {
        const size_t first = a.layout == FOVEA_ROPE_INTERLEAVED ? 2 * pair : pair;
        const size_t second = a.layout == FOVEA_ROPE_INTERLEAVED ? first + 1 : pair + pairs;
        const auto phase = double(uint64_t(position) * turns[pair]) * 0x1p-64;
        const size_t at = size_t(position) * pairs + pair;
        const double c = tables ? double{cos[at]} : std::cos(2 * M_PI * phase);
        const double s = (tables ? double{sin[at]} : std::sin(2 * M_PI * phase)) * (a.inverse != 0 ? -1 : 1);
        const double p = double{x[row + first]}, q = double{x[row + second]};
        const bool still = !tables && position == 0 && std::isfinite(p) && std::isfinite(q);
        const double largest = std::max({1.0, std::fabs(c), std::fabs(s)});
        const double error = still ? 0 : rope_tolerance(p * largest, q * largest, tables ? 0 : kTurnError);
        const auto beyond = [](double product) {
          return std::isfinite(product) && std::fabs(product) > 0.49 * FLT_MAX;
        };
        if (beyond(p * c) || beyond(q * s) || beyond(q * c) || beyond(p * s)) continue;  // or their sum may be
        expect_near("rope", target, row + first, y[row + first], still ? p : p * c - q * s, error);
        expect_near("rope", target, row + second, y[row + second], still ? q : q * c + p * s, error);
      }
      for (size_t d = a.rotary_dim; d < a.dim; ++d) {
        expect(bits_of(x[row + d]) == bits_of(y[row + d]), "rope: an element that is not turned has changed");
      }
    }
  }
}

// ---- Quantisation

void quantize(Bytes& bytes) {
  const std::vector<float> x = numbers(bytes, bytes.below(120));
  const float scale = bytes.choose({0.01f, 1.0f, FLT_MIN, 1e30f, 0x1p-100f});
  const auto zero = int32_t(bytes.take<int8_t>());
  std::vector<int8_t> codes(x.size());
  std::vector<float> back(x.size());
  expect_served("to_i8", fovea_quantize_to_i8(x.data(), x.size(), scale, zero, codes.data()));
  expect_served("from_i8", fovea_quantize_from_i8(codes.data(), x.size(), scale, zero, back.data()));
  for (size_t i = 0; i < x.size(); ++i) {
    const float code = std::nearbyint(x[i] * (1 / scale)) + float(zero);
    const float want = std::isnan(x[i]) ? float(zero) : std::min(127.0f, std::max(-128.0f, code));
    expect(float(codes[i]) == want, "quantize: another code");
    expect(back[i] == scale * float(codes[i] - zero), "quantize: another number");
  }

  static fovea_quantize_range range;
  range = {};
  range.struct_bytes = sizeof range;
  const size_t half = x.size() / 2;
  for (const bool second : {false, true}) {
    const float* const begin = x.data() + (second ? half : 0);
    const size_t count = second ? x.size() - half : half;
    const bool finite = std::all_of(begin, begin + count, [](float e) { return std::isfinite(e); });
    const fovea_quantize_range before = range;
    const fovea_status status = fovea_quantize_observe(&range, begin, count);
    expect(status == (finite ? FOVEA_OK : FOVEA_ERR_NUMBER), "observe has another status");
    if (finite) continue;
    expect(std::memcmp(&before, &range, sizeof range) == 0, "a refused number was added");
    return;
  }
  float least = 0, most = 0;
  for (const float e : x) least = std::min(least, e), most = std::max(most, e);
  expect(range.least == least && range.most == most && range.count == x.size(), "observe: another range");
  float chosen;
  int32_t chosen_zero;
  const uint32_t asymmetric = bytes.flag();
  expect_served("choose", fovea_quantize_choose(&range, 1, asymmetric, &chosen, &chosen_zero));
  const double width =
      asymmetric != 0 ? (double{most} - double{least}) / 255 : std::max(double{most}, -double{least}) / 127;
  const double wanted = width == 0 ? 1 : std::max(width, double{FLT_MIN});
  expect(std::fabs(double{chosen} - wanted) <= 2e-7 * wanted, "choose: another scale");
  const double first_code = asymmetric != 0 && width != 0 ? -128 - double{least} / wanted : 0;
  expect(std::fabs(chosen_zero - first_code) <= 0.5001, "choose: another zero point");

  const float fraction = 0.01f * float(1 + bytes.below(100));
  expect_served("choose", fovea_quantize_choose(&range, fraction, asymmetric, &chosen, &chosen_zero));
  size_t saturated = 0;
  for (const float e : x) {
    const double code = double{e} / double{chosen} + chosen_zero;
    saturated += code > 127.51 || code < -128.51 ? 1 : 0;
  }
  const auto kept = size_t(std::ceil(double{fraction} * double(x.size()) * (1 - 1e-6)));
  expect(saturated <= x.size() - kept, "choose: more numbers saturate than may");
}

// ---- Tables of activations

void table(Bytes& bytes) {
  const auto kind = fovea_activation_kind(bytes.below(FOVEA_ACTIVATION_TANH + 1));
  const float alpha = bytes.choose({0.0f, 1.0f, 1.702f, -1.0f, any_number(bytes)});
  const auto scale = [&] { return std::exp2(float(bytes.below(20000)) / 100 - 100); };
  const float x_scale = scale(), y_scale = bytes.flag() ? scale() : x_scale;
  const auto x_zero_point = int32_t(bytes.take<int8_t>()), y_zero_point = int32_t(bytes.take<int8_t>());
  int8_t codes[256];
  const fovea_status status =
      fovea_integer_activation_table(kind, alpha, x_scale, x_zero_point, y_scale, y_zero_point, codes);
  expect(status == (std::isfinite(alpha) ? FOVEA_OK : FOVEA_ERR_NUMBER), "table has another status");
  for (int32_t code = -128; status == FOVEA_OK && code < 128; ++code) {
    const double x = double{x_scale} * (code - x_zero_point), y = activated(kind, x, alpha == 0 ? 1 : double{alpha});
    const double want = std::min(127.0, std::max(-128.0, y_zero_point + y / double{y_scale}));
    const double off = std::fabs(codes[uint8_t(code)] - want);
    if (off <= 0.501) continue;
    char text[200];
    std::snprintf(text, sizeof text, "table of %d: x %.9g, alpha %.9g, y_scale %.9g: %.5f codes off", int(kind), x,
                  double{alpha}, double{y_scale}, off);
    fail(text);
  }
}

// ---- Linear layers with an activation

void linear(Bytes& bytes) {
  auto a = sized<fovea_linear_args>();
  a.tokens = 1 + bytes.below(20), a.in_dim = 1 + bytes.below(70), a.out_dim = 1 + bytes.below(40);
  a.portable_bits = bytes.flag();
  const std::vector<float> x = numbers(bytes, size_t{a.tokens} * a.in_dim), bias = numbers(bytes, a.out_dim);
  const std::vector<float> weights = numbers(bytes, size_t{a.out_dim} * a.in_dim);
  std::vector<float> y(size_t{a.tokens} * a.out_dim), plain(y.size());
  a.x = x.data(), a.x_stride = a.in_dim, a.y_stride = a.out_dim;
  a.weights.data = weights.data(), a.weights.row_stride = a.in_dim;
  if (bytes.flag()) a.weights.bias = bias.data();
  const auto kind = fovea_activation_kind(bytes.below(FOVEA_ACTIVATION_TANH + 1));
  for (const fovea_target target : targets()) {
    a.target = target, a.activation = FOVEA_ACTIVATION_IDENTITY, a.y = plain.data();
    const Guarded workspace((bytes_of(fovea_linear_workspace_bytes, &a) + 63) / 64 * 64, 64, Placement::kEnd);
    expect_served("linear", fovea_linear(&a, workspace.as<void>(), workspace.bytes()));
    a.activation = kind, a.y = y.data();
    expect_served("linear", fovea_linear(&a, workspace.as<void>(), workspace.bytes()));
    auto after = sized<fovea_activation_args>();
    after.target = target, after.activation = kind;
    after.batch = after.heads = after.tokens = 1, after.dim = uint32_t(y.size());
    after.x.data = after.y.data = plain.data();
    expect_served("activation", fovea_activation(&after));
    for (size_t i = 0; i < y.size(); ++i) expect(is_same(y[i], plain[i]), "linear: an activation gives other bits");
  }
}

// ---- Multi-head layers

// Weights [out][in] of a format.
struct Weights {
  size_t in;
  EncodedRows rows;
  fovea_linear_weights view{};

  Weights(fovea_dtype dtype, size_t out_dim, size_t in_dim, uint64_t seed)
      : in(in_dim), rows(dtype, normal(out_dim * in, seed), in) {
    view.dtype = dtype, view.data = rows.data.data(), view.row_stride = ptrdiff_t(row_units(dtype, in));
    if (!rows.scales.empty()) view.scales = rows.scales.data();
  }
  std::vector<float> normal(size_t count, uint64_t seed) const {
    std::vector<float> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = random_normal(seed, i) / std::sqrt(float(in));
    return x;
  }
  std::vector<double> apply(const double* x) const {
    std::vector<double> y(rows.numbers.size() / in);
    for (size_t i = 0; i < rows.numbers.size(); ++i) y[i / in] += double{rows.numbers[i]} * x[i % in];
    return y;
  }
};

struct HeadCounts {
  uint32_t tokens, kv_heads, group, head_dim;
  bool causal;
  uint32_t width() const { return kv_heads * group * head_dim; }
};

// Outputs of the heads for one token; none where all of a head's scores are -inf: zeros or NaN, by the values. Else a
// key whose score is -inf has the weight 0, and still its value counts.
std::vector<double> attend(const HeadCounts& l, const std::vector<double>& q,
                           const std::vector<std::vector<double>>& keys, const std::vector<std::vector<double>>& values,
                           uint32_t seen) {
  std::vector<double> out(l.width());
  for (uint32_t h = 0; h < l.kv_heads * l.group; ++h) {
    const size_t at = size_t{h} * l.head_dim, from = size_t{h / l.group} * l.head_dim;
    std::vector<double> w(seen);
    double largest = -HUGE_VAL, sum = 0;
    for (uint32_t j = 0; j < seen; ++j) {
      double score = 0;
      for (uint32_t d = 0; d < l.head_dim; ++d) score += q[at + d] * keys[j][from + d];
      w[j] = score / std::sqrt(double(l.head_dim));
      if (!(w[j] <= largest)) largest = w[j];
    }
    if (largest == -HUGE_VAL) return {};
    for (double& x : w) sum += x = std::exp(x - largest);
    for (const auto& [j, d] : indices(seen, l.head_dim)) out[at + d] += w[j] / sum * values[j][from + d];
  }
  return out;
}

void multihead(Bytes& bytes) {
  HeadCounts l{};
  l.tokens = 1 + bytes.below(20), l.kv_heads = 1 + bytes.below(2), l.group = 1 + bytes.below(3);
  l.head_dim = 1 + bytes.below(20), l.causal = bytes.flag();
  const uint32_t model = l.width(), kv = l.kv_heads * l.head_dim;
  const fovea_dtype dtype = bytes.choose(kTypes);
  const Weights wq(dtype, model, model, 1), wk(dtype, kv, model, 2), wv(dtype, kv, model, 3),
      wo(dtype, model, model, 4);
  std::vector<float> x(size_t{l.tokens} * model), y(x.size());
  const uint64_t seed = bytes.take<uint8_t>();
  for (size_t i = 0; i < x.size(); ++i) x[i] = random_normal(seed, i);
  for (uint32_t others = bytes.below(3); others > 0; --others) {
    x[bytes.below(uint32_t(x.size()))] = bytes.choose({kNaN, kInfinity, -kInfinity, 0x1p-149f, -FLT_MIN, 0.0f, 1e3f});
  }
  auto d = sized<fovea_multihead_desc>();
  d.attention.struct_bytes = sizeof d.attention, d.weight_dtype = dtype;
  d.attention.q_heads = l.kv_heads * l.group, d.attention.kv_heads = l.kv_heads;
  d.attention.head_dim = d.attention.value_dim = l.head_dim;
  d.attention.max_batch = 1, d.attention.max_q_tokens = d.attention.max_kv_tokens = l.tokens;
  d.attention.causal = l.causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;
  d.attention.portable_bits = bytes.flag();
  auto a = sized<fovea_multihead_args>();
  a.attention.struct_bytes = sizeof a.attention, a.batch = 1, a.q_tokens = l.tokens;
  a.x = {x.data(), 0, 0, ptrdiff_t(model)}, a.y = {y.data(), 0, 0, ptrdiff_t(model)};
  a.weights.q = wq.view, a.weights.k = wk.view, a.weights.v = wv.view, a.weights.out = wo.view;

  std::vector<std::vector<double>> q, keys, values;
  double largest = 0;
  for (uint32_t t = 0; t < l.tokens; ++t) {
    const std::vector<double> token(x.begin() + ptrdiff_t(t * model), x.begin() + ptrdiff_t((t + 1) * model));
    q.push_back(wq.apply(token.data())), keys.push_back(wk.apply(token.data())),
        values.push_back(wv.apply(token.data()));
    for (const auto* const row : {&q.back(), &keys.back(), &values.back()}) {
      for (const double e : *row) largest = std::isfinite(e) ? std::max(largest, std::fabs(e)) : largest;
    }
  }
  // Errors of scores make weights wrong by as much.
  const double tolerance = std::max(1.0, largest) * (1e-5 + 4 * kEpsilon * largest * largest * l.head_dim);
  for (const fovea_target target : targets()) {
    d.attention.target = target;
    fovea_multihead_plan plan{};
    expect_served("multihead: plan", fovea_multihead_plan_init(&plan, &d));
    const Guarded workspace((bytes_of(fovea_multihead_workspace_bytes, &plan) + 63) / 64 * 64, 64, Placement::kEnd);
    expect_served("multihead", fovea_multihead(&plan, &a, workspace.as<void>(), workspace.bytes()));
    for (uint32_t t = 0; t < l.tokens; ++t) {
      const std::vector<double> heads = attend(l, q[t], keys, values, l.causal ? t + 1 : l.tokens);
      if (heads.empty()) continue;
      const std::vector<double> want = wo.apply(heads.data());
      for (uint32_t i = 0; i < model; ++i) {
        expect_near("multihead", target, size_t{t} * model + i, y[size_t{t} * model + i], want[i], tolerance);
      }
    }
  }
}

// ---- The self-test

// In memory of any size each call is refused, or has its digest.
void selftest(Bytes& bytes) {
  constexpr fovea_selftest_part kParts[] = {FOVEA_SELFTEST_PARTS};
  const Guarded memory(size_t{64} * bytes.below(FOVEA_SELFTEST_BYTES / 64 + 1), 64, Placement::kEnd);
  auto a = sized<fovea_selftest_args>();
  a.call = bytes.below(16);
  a.target = fovea_target_at(bytes.below(fovea_target_count()));
  a.memory = memory.as<void>(), a.memory_bytes = memory.bytes();
  fovea_selftest_result result{};
  const fovea_status status = kParts[bytes.below(sizeof kParts / sizeof *kParts)](&a, &result);
  if (status == FOVEA_ERR_CAPACITY || status == FOVEA_ERR_WORKSPACE) return;
  expect(status == FOVEA_OK && result.digest == result.published, "selftest: another digest");
}

}  // namespace

void run(Bytes bytes) {
  bytes.choose<void (*)(Bytes&)>(
      {softmax, activation, norm, conv1d, rope, quantize, rotate, multihead, table, selftest, linear})(bytes);
}

}  // namespace fovea_test
