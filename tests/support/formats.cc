// SPDX-License-Identifier: Apache-2.0
#include "support/formats.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace fovea_test {

const char* type_name(fovea_dtype type) {
  static const char* const kNames[] = {"f32", "f16", "bf16", "i8", "i4", "q8_0", "q4_0", "q4_1"};
  return kNames[type];
}

double value_of(Half format, uint32_t bits) {
  const int exponent = static_cast<int>(bits >> format.fraction_bits) & (format.exponents() - 1);
  const int fraction = static_cast<int>(bits) & ((1 << format.fraction_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == format.exponents() - 1)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  const int units = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  return sign * std::ldexp(units, std::max(exponent, 1) - format.bias - format.fraction_bits);
}

uint32_t nearest_of(Half format, float x) {
  if (x != x) return 0x7fff;
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0u;
  const uint32_t infinite = static_cast<uint32_t>(format.exponents() - 1) << format.fraction_bits;
  const double size = std::fabs(static_cast<double>(x));
  if (std::isinf(size)) return sign | infinite;
  const int exponent = std::max(size == 0 ? -1000 : std::ilogb(size), 1 - format.bias);
  const double units = std::nearbyint(std::ldexp(size, format.fraction_bits - exponent));
  // Units of the last place, counted from 0; the count goes on across powers of two.
  const uint32_t bits =
      (static_cast<uint32_t>(exponent + format.bias - 1) << format.fraction_bits) + static_cast<uint32_t>(units);
  return sign | std::min(bits, infinite);
}

float element_of(fovea_dtype type, const void* data, const void* scales, size_t d) {
  if (type == FOVEA_F32) return static_cast<const float*>(data)[d];
  if (type == FOVEA_F16 || type == FOVEA_BF16) {
    return static_cast<float>(value_of(half_of(type), static_cast<const uint16_t*>(data)[d]));
  }
  if (type == FOVEA_I8) return *static_cast<const float*>(scales) * float(static_cast<const int8_t*>(data)[d]);
  const uint8_t* const group = static_cast<const uint8_t*>(data) + d / 32 * group_bytes(type);
  const auto half = [](const void* at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return value_of(kF16, bits);
  };
  const double scale = half(type == FOVEA_I4 ? static_cast<const uint8_t*>(scales) + d / 32 * 2 : group);
  const uint8_t* const codes = group + codes_at(type);
  if (type == FOVEA_Q8_0) return static_cast<float>(scale * static_cast<int8_t>(codes[d % 32]));
  const int u = d % 32 < 16 ? codes[d % 16] & 15 : codes[d % 16] >> 4;
  return static_cast<float>(type == FOVEA_Q4_1 ? scale * u + half(group + 2) : scale * (u - 8));
}

size_t group_bytes(fovea_dtype type) { return codes_at(type) + (type == FOVEA_Q8_0 ? 32 : 16); }
size_t codes_at(fovea_dtype type) { return type == FOVEA_I4 ? 0 : type == FOVEA_Q4_1 ? 4 : 2; }

size_t row_units(fovea_dtype type, size_t dim) { return is_grouped(type) ? (dim + 31) / 32 * group_bytes(type) : dim; }
size_t unit_size(fovea_dtype type) { return type == FOVEA_F32 ? 4 : type == FOVEA_F16 || type == FOVEA_BF16 ? 2 : 1; }
size_t row_scales(fovea_dtype type, size_t dim) {
  return type == FOVEA_I8 ? 1 : type == FOVEA_I4 ? (dim + 31) / 32 : 0;
}
size_t scale_size(fovea_dtype type) { return type == FOVEA_I8 ? 4 : type == FOVEA_I4 ? 2 : 0; }

namespace {

double put_half(double x, void* at) {
  const auto bits = static_cast<uint16_t>(nearest_of(kF16, static_cast<float>(x)));
  std::memcpy(at, &bits, sizeof bits);
  return value_of(kF16, bits);
}

void encode_group(fovea_dtype type, const float* x, size_t count, uint8_t* data, void* scale_at) {
  const bool bytes = type == FOVEA_Q8_0;
  double largest = 0, least = 0, most = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::fabs(double{x[i]}) > std::fabs(largest)) largest = x[i];
    least = std::min(least, double{x[i]});
    most = std::max(most, double{x[i]});
  }
  const double exact = type == FOVEA_Q4_1 ? (most - least) / 15 : bytes ? std::fabs(largest) / 127 : largest / -8;
  const double scale = put_half(exact, type == FOVEA_I4 ? scale_at : data);
  const double zero = type == FOVEA_Q4_1 ? put_half(least, data + 2) : 0;
  const double first = bytes ? -127 : type == FOVEA_Q4_1 ? 0 : -8, last = bytes ? 127 : first + 15;
  uint8_t* const codes = data + codes_at(type);
  std::fill_n(codes, bytes ? 32 : 16, uint8_t{0});
  for (size_t i = 0; i < (bytes ? count : 32); ++i) {
    const double exact_code = i < count && scale != 0 ? std::nearbyint((double{x[i]} - zero) / scale) : 0;
    const auto code = static_cast<int>(std::min(last, std::max(first, exact_code)));
    if (bytes) {
      codes[i] = static_cast<uint8_t>(code);
    } else {
      codes[i % 16] = static_cast<uint8_t>(codes[i % 16] | (code - static_cast<int>(first)) << (i < 16 ? 0 : 4));
    }
  }
}

}  // namespace

void encode_row(fovea_dtype type, const float* x, size_t dim, void* data, void* scales) {
  if (type == FOVEA_F32) std::copy(x, x + dim, static_cast<float*>(data));
  for (size_t d = 0; d < dim && (type == FOVEA_F16 || type == FOVEA_BF16); ++d) {
    static_cast<uint16_t*>(data)[d] = static_cast<uint16_t>(nearest_of(half_of(type), x[d]));
  }
  if (type == FOVEA_I8) {
    float max = 127 * FLT_MIN;
    for (size_t d = 0; d < dim; ++d) max = std::max(max, std::fabs(x[d]));
    const float inverse = 127 / max;
    *static_cast<float*>(scales) = max / 127;
    for (size_t d = 0; d < dim; ++d) {
      static_cast<int8_t*>(data)[d] = static_cast<int8_t>(std::nearbyint(x[d] * inverse));
    }
  }
  for (size_t d = 0; d < dim && is_grouped(type); d += 32) {
    encode_group(type, x + d, std::min<size_t>(dim - d, 32), static_cast<uint8_t*>(data) + d / 32 * group_bytes(type),
                 static_cast<uint16_t*>(scales) + d / 32);
  }
}

void round_to_i8(float* x, size_t dim, float factor) {
  std::vector<int8_t> codes(dim);
  float scale = 0;
  for (size_t d = 0; d < dim; ++d) x[d] *= factor;
  encode_row(FOVEA_I8, x, dim, codes.data(), &scale);
  for (size_t d = 0; d < dim; ++d) x[d] = static_cast<float>(double{scale} * codes[d] / double{factor});
}

}  // namespace fovea_test
