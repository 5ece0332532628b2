// SPDX-License-Identifier: Apache-2.0
//
// Activations as tables of codes. A file of its own: programs with constant tables link no floating point. Plain code
// without fused multiply-adds: the same bits on every target. Relative errors are below 4e-5 everywhere, in the tails
// too: a hundredth of a code.
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/numbers.h"
#include "ground/base/status.h"

namespace fovea {

// A table of codes, of the function activation(x). Arithmetic on codes would take as many bytes, and some ten times the
// three instructions.
struct ActivationTable {
  fovea_activation_kind activation;
  float alpha;  // not 0
  float x_scale, y_scale;
  int32_t x_zero_point, y_zero_point;
};

namespace {

// Scales from 2^-100 to 2^100, so that x is finite, and normal where it is not 0. What is computed from it may be
// infinite, and is then clamped like other large numbers; or subnormal, which is far less than a code.
constexpr float kLeastTableScale = 0x1p-100f, kMostTableScale = 0x1p100f;

fovea_status check_table(const ActivationTable& t) {
  if (uint32_t(t.activation) > FOVEA_ACTIVATION_TANH) return FOVEA_ERR_ENUM;
  const auto is_scale = [](float x) { return x >= kLeastTableScale && x <= kMostTableScale; };
  if (!is_scale(t.x_scale) || !is_scale(t.y_scale) || !is_finite(t.alpha)) return FOVEA_ERR_NUMBER;
  return is_i8_code(t.x_zero_point) && is_i8_code(t.y_zero_point) ? FOVEA_OK : FOVEA_ERR_NUMBER;
}

float clamped(float x, float least, float most) { return x < least ? least : x > most ? most : x; }

// e^x, for x from -87 to 88; beyond, as at the end of this range.
float exponential(float x) {
  x = clamped(x, -87.0f, 88.0f);
  const float octaves = nearest(x * 1.44269504f);
  const float r =
      x - octaves * 0.693359375f + octaves * 2.12194440e-4f;  // both parts of ln 2; the first product is exact
  float sum = 1.0f;
  for (int i = 7; i > 0; --i) sum = 1.0f + sum * r / float(i);
  const uint32_t bits = uint32_t(int32_t(octaves) + 127) << 23;
  float power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return sum * power;
}
float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
// x * sigmoid(z). Below -87, where a large x would make much of an exponential that is cut off, e^z is a square.
float gated(float x, float z) {
  if (z >= -87.0f) return x * sigmoid(z);
  const float root = exponential(0.5f * z);
  return x * root * root;
}

float hyperbolic_tangent(float x) {
  const float size = x < 0.0f ? -x : x, square = x * x;
  if (size < 0.35f) {
    constexpr float kTerms[] = {-8.86323e-3f, 2.18694885e-2f, -5.39682540e-2f, 0.133333333f, -0.333333333f, 1.0f};
    float sum = 0.0f;
    for (const float term : kTerms) sum = sum * square + term;
    return sum * x;
  }
  const float y = 1.0f - 2.0f / (1.0f + exponential(2.0f * size));
  return x < 0.0f ? -y : y;
}

// The probability that a normal variable is above x, for x >= 0: the density times a power series, or times a continued
// fraction.
float tail(float x) {
  constexpr int kTerms = 24, kFractions = 60;
  const float density = 0.398942280f * exponential(-0.5f * x * x);
  if (x < 2.0f) {
    float sum = 0.0f;
    for (int k = kTerms; k > 0; --k) sum = (1.0f + sum) * x * x / float(2 * k + 1);
    return 0.5f - density * x * (1.0f + sum);
  }
  float below = x;
  for (int k = kFractions; k > 0; --k) below = x + float(k) / below;
  return density / below;
}

float activated(const ActivationTable& t, float x) {
  switch (t.activation) {
    case FOVEA_ACTIVATION_SILU: return gated(x, t.alpha * x);
    case FOVEA_ACTIVATION_SIGMOID: return sigmoid(t.alpha * x);
    case FOVEA_ACTIVATION_RELU: return x < 0.0f ? 0.0f : x;
    case FOVEA_ACTIVATION_RELU6: return clamped(x, 0.0f, 6.0f);
    case FOVEA_ACTIVATION_GELU: return x < 0.0f ? x * tail(-x) : x * (1.0f - tail(x));
    case FOVEA_ACTIVATION_GELU_TANH: {
      const float bounded = clamped(x, -1e6f, 1e6f);  // whose cube is finite
      return gated(x, 1.59576912f * bounded * (1.0f + 0.044715f * bounded * bounded));
    }
    case FOVEA_ACTIVATION_HARD_SWISH: return x * (clamped(x + 3.0f, 0.0f, 6.0f) / 6.0f);
    case FOVEA_ACTIVATION_TANH: return hyperbolic_tangent(x);
    default: return x;  // FOVEA_ACTIVATION_IDENTITY
  }
}

}  // namespace

void fill_table(const ActivationTable& t, int8_t* codes) {
  for (int32_t code = INT8_MIN; code <= INT8_MAX; ++code) {
    const float y = activated(t, t.x_scale * float(code - t.x_zero_point));
    const int32_t found = t.y_zero_point + int32_t(nearest(clamped(y / t.y_scale, -512.0f, 512.0f)));
    codes[uint8_t(code)] = int8_t(found < INT8_MIN ? INT8_MIN : found > INT8_MAX ? INT8_MAX : found);
  }
}

}  // namespace fovea

extern "C" fovea_status fovea_integer_activation_table(fovea_activation_kind activation, float alpha, float x_scale,
                                                       int32_t x_zero_point, float y_scale, int32_t y_zero_point,
                                                       int8_t* table) {
  if (!table) return FOVEA_ERR_NULL;
  const fovea::ActivationTable wanted = {activation,  alpha == 0.0f ? 1.0f : alpha, x_scale, y_scale, x_zero_point,
                                         y_zero_point};
  FOVEA_RETURN_IF_ERROR(fovea::check_table(wanted));
  fovea::fill_table(wanted, table);
  return FOVEA_OK;
}
