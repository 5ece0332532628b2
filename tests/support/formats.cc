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
  static const char* const kNames[] = {"f32",  "f16",    "bf16",  "i8",   "i4",   "q8_0",   "q4_0",
                                       "q4_1", "q4_k",   "q6_k",  "q5_0", "q5_1", "iq4_nl", "mxfp4",
                                       "q5_k", "iq4_xs", "tq2_0", "q3_k", "q2_k"};
  return kNames[type];
}

double value_of(Half format, uint32_t bits) {
  const int exponent = static_cast<int>(bits >> format.fraction_bits) & (format.exponents() - 1);
  const int fraction = static_cast<int>(bits) & ((1 << format.fraction_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == format.exponents() - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  }
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

namespace {

double half_at(const void* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return value_of(kF16, bits);
}

// What u stands for in a group that is no super-block, where it is no byte: a multiple of the scale.
int number_of(fovea_dtype type, int u) {
  static constexpr int8_t kTables[2][16] = {{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
                                            {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}};
  if (type == FOVEA_IQ4_NL || type == FOVEA_MXFP4) return kTables[type == FOVEA_MXFP4][u];
  return u - (type == FOVEA_Q5_0 ? 16 : has_least(type) ? 0 : 8);
}
double scale_of(fovea_dtype type, const uint8_t* at) {
  return type == FOVEA_MXFP4 ? std::ldexp(1.0, *at - 128) : half_at(at);
}

}  // namespace

int six_bits(const uint8_t* b, size_t k) {
  const size_t group = k % 8;
  const bool minimum = k >= 8;
  if (group < 4) return b[group + (minimum ? 4 : 0)] & 63;
  const int low = minimum ? b[group + 4] >> 4 : b[group + 4] & 15;
  return low | b[group - (minimum ? 0 : 4)] >> 6 << 4;
}
namespace {

void put_six_bits(uint8_t* b, size_t k, int value) {
  const size_t group = k % 8;
  const bool minimum = k >= 8;
  const auto add = [b](size_t at, int bits) { b[at] = static_cast<uint8_t>(b[at] | bits); };
  if (group < 4) return add(group + (minimum ? 4 : 0), value);
  add(group + 4, (value & 15) << (minimum ? 4 : 0));
  add(group - (minimum ? 0 : 4), value >> 4 << 6);
}

// Where the low 4 bits of element d of a super-block of Q6_K are, and its high 2 bits: a byte, and a shift.
struct SixBitPlace {
  size_t low, high;
  int low_shift, high_shift;
};
SixBitPlace six_bit_place(size_t d) {
  const size_t j = d / 128, k = d % 128 / 32, i = d % 32;
  return {64 * j + 32 * (k % 2) + i, 128 + 32 * j + i, k < 2 ? 0 : 4, static_cast<int>(2 * k)};
}

float super_element(fovea_dtype type, const uint8_t* block, size_t d) {
  const int code = super_code(type, block, d);
  if (has_signed_groups(type))
    return static_cast<float>(half_at(super_scale(type, block)) * signed_scale(type, block, d / 32) * code);
  if (has_least(type)) {
    const uint8_t* const halves = super_scale(type, block);
    const double scale = half_at(halves) * least_scale(type, block, d, false);
    return static_cast<float>(scale * code - half_at(halves + 2) * least_scale(type, block, d, true));
  }
  return static_cast<float>(half_at(super_scale(type, block)) * half_scale(type, block, d) * code);
}

}  // namespace

int signed_scale(fovea_dtype type, const uint8_t* block, size_t k) {
  if (type == FOVEA_TQ2_0) return 1;
  return ((block[4 + k / 2] >> k % 2 * 4 & 15) | (block[2 + k / 4] >> k % 4 * 2 & 3) << 4) - 32;
}
int least_scale(fovea_dtype type, const uint8_t* block, size_t d, bool minimum) {
  if (type == FOVEA_Q2_K) return block[d / 16] >> (minimum ? 4 : 0) & 15;
  return six_bits(block + 4, d / 32 + (minimum ? 8 : 0));
}
int half_scale(fovea_dtype type, const uint8_t* block, size_t d) {
  const size_t k = d / 16;
  if (type == FOVEA_Q6_K) return static_cast<int8_t>(block[192 + k]);
  return ((block[96 + k % 8] >> k / 8 * 4 & 15) | (block[104 + k % 4] >> k / 4 * 2 & 3) << 4) - 32;
}
int super_code(fovea_dtype type, const uint8_t* block, size_t d) {
  if (type == FOVEA_Q3_K) {
    return ((block[32 + d / 128 * 32 + d % 32] >> d % 128 / 32 * 2 & 3) | (block[d % 32] >> d / 32 & 1) << 2) - 4;
  }
  if (type == FOVEA_Q2_K) return block[16 + d / 128 * 32 + d % 32] >> d % 128 / 32 * 2 & 3;
  if (type == FOVEA_TQ2_0) return (block[d / 128 * 32 + d % 32] >> d % 128 / 32 * 2 & 3) - 1;
  if (type == FOVEA_IQ4_XS) return number_of(FOVEA_IQ4_NL, block[8 + d / 32 * 16 + d % 16] >> d % 32 / 16 * 4 & 15);
  if (has_least(type)) {
    const uint8_t byte = block[(type == FOVEA_Q5_K ? 48 : 16) + d / 64 * 32 + d % 32];
    const int fifth = type == FOVEA_Q5_K ? block[16 + d % 32] >> d / 32 & 1 : 0;
    return (d % 64 < 32 ? byte & 15 : byte >> 4) | fifth << 4;
  }
  const SixBitPlace at = six_bit_place(d);
  return ((block[at.low] >> at.low_shift & 15) | (block[at.high] >> at.high_shift & 3) << 4) - 32;
}

int group_code(fovea_dtype type, const uint8_t* group, size_t i) {
  const uint8_t* const codes = group + codes_at(type);
  if (type == FOVEA_Q8_0) return static_cast<int8_t>(codes[i]);
  const int fifth = has_five_bits(type) ? (codes - 4)[i / 8] >> i % 8 & 1 : 0;
  return number_of(type, (i < 16 ? codes[i] & 15 : codes[i % 16] >> 4) | fifth << 4);
}

float element_of(fovea_dtype type, const void* data, const void* scales, size_t d) {
  if (type == FOVEA_F32) return static_cast<const float*>(data)[d];
  if (type == FOVEA_F16 || type == FOVEA_BF16) {
    return static_cast<float>(value_of(half_of(type), static_cast<const uint16_t*>(data)[d]));
  }
  if (type == FOVEA_I8) return *static_cast<const float*>(scales) * float(static_cast<const int8_t*>(data)[d]);
  const size_t elements = group_elements(type);
  const uint8_t* const group = static_cast<const uint8_t*>(data) + d / elements * group_bytes(type);
  if (is_super(type)) return super_element(type, group, d % elements);
  const double scale = scale_of(type, type == FOVEA_I4 ? static_cast<const uint8_t*>(scales) + d / 32 * 2 : group);
  const double product = scale * group_code(type, group, d % 32);
  return static_cast<float>(has_least(type) ? product + half_at(group + 2) : product);
}

size_t group_bytes(fovea_dtype type) {
  if (is_super(type))
    return type == FOVEA_Q4_K     ? 144
           : type == FOVEA_Q5_K   ? 176
           : type == FOVEA_IQ4_XS ? 136
           : type == FOVEA_TQ2_0  ? 66
           : type == FOVEA_Q3_K   ? 110
           : type == FOVEA_Q2_K   ? 84
                                  : 210;
  return codes_at(type) + (type == FOVEA_Q8_0 ? 32 : 16);
}
size_t codes_at(fovea_dtype type) {
  if (type == FOVEA_I4 || type == FOVEA_MXFP4) return type == FOVEA_I4 ? 0 : 1;
  return size_t{has_least(type) ? 4u : 2u} + (has_five_bits(type) ? 4 : 0);
}

size_t row_units(fovea_dtype type, size_t dim) {
  const size_t elements = group_elements(type);
  return is_grouped(type) ? (dim + elements - 1) / elements * group_bytes(type) : dim;
}
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
  double largest = 0, least = x[0], most = x[0];
  for (size_t i = 0; i < count; ++i) {
    if (std::fabs(double{x[i]}) > std::fabs(largest)) largest = x[i];
    least = std::min(least, double{x[i]});
    most = std::max(most, double{x[i]});
  }
  const int most_u = has_five_bits(type) ? 31 : 15;
  const double exact = has_least(type) ? (most - least) / most_u
                       : bytes         ? std::fabs(largest) / 127
                                       : largest / number_of(type, 0);
  uint8_t* const codes = data + codes_at(type);
  std::fill_n(data, group_bytes(type), uint8_t{0});
  double scale = 0;
  if (type == FOVEA_MXFP4) {
    const int power = largest == 0 ? -1000 : std::ilogb(largest / 12) + 1;
    *data = static_cast<uint8_t>(std::min(255, std::max(0, power + 128)));
    scale = scale_of(type, data);
  } else {
    scale = put_half(exact, type == FOVEA_I4 ? scale_at : data);
  }
  const double zero = has_least(type) ? put_half(least, data + 2) : 0;
  for (size_t i = 0; i < (bytes ? count : 32); ++i) {
    const double exact_code = i < count && scale != 0 ? (double{x[i]} - zero) / scale : 0;
    if (bytes) {
      codes[i] = static_cast<uint8_t>(static_cast<int>(std::min(127.0, std::max(-127.0, std::nearbyint(exact_code)))));
      continue;
    }
    int u = 0;
    for (int more = 1; more <= most_u; ++more) {
      if (std::fabs(number_of(type, more) - exact_code) < std::fabs(number_of(type, u) - exact_code)) u = more;
    }
    codes[i % 16] = static_cast<uint8_t>(codes[i % 16] | (u & 15) << (i < 16 ? 0 : 4));
    if (u > 15) (codes - 4)[i / 8] = static_cast<uint8_t>((codes - 4)[i / 8] | 1 << i % 8);
  }
}

// The scale and the least number of `count` numbers whose codes are 0 to 15 or to 31, or the scale of signed codes.
struct Fit {
  double scale = 0, least = 0;
};
Fit fit_of(fovea_dtype type, const float* x, size_t count) {
  double least = 0, most = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    least = std::min(least, double{x[i]});
    most = std::max(most, double{x[i]});
    if (std::fabs(double{x[i]}) > std::fabs(largest)) largest = x[i];
  }
  return has_least(type) ? Fit{(most - least) / (type == FOVEA_Q5_K   ? 31
                                                 : type == FOVEA_Q2_K ? 3
                                                                      : 15),
                               -least}
                         : Fit{largest / (type == FOVEA_Q3_K ? -4 : -32), 0};
}

// Nearest codes, with the scale of the whole block that holds its largest number.
void encode_signed_groups(fovea_dtype type, const float* x, size_t count, uint8_t* block) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::fabs(x[i]) > std::fabs(largest) ? x[i] : largest;
  std::fill_n(block, group_bytes(type), uint8_t{0});
  const bool ternary = type == FOVEA_TQ2_0;
  if (!ternary) std::fill_n(block + 4, 4, uint8_t{0x11}), std::fill_n(block + 2, 2, uint8_t{0xaa});  // scales of 1
  const double d = put_half(ternary ? std::fabs(largest) : largest / -127, super_scale(type, block));
  for (size_t i = 0; i < 256; ++i) {
    const auto off = [&](int u) {
      return std::fabs((i < count ? double{x[i]} : 0) - d * (ternary ? u - 1 : number_of(FOVEA_IQ4_NL, u)));
    };
    int u = 0;
    for (int more = 1; more < (ternary ? 3 : 16); ++more) u = off(more) < off(u) ? more : u;
    uint8_t& byte = block[ternary ? i / 128 * 32 + i % 32 : 8 + i / 32 * 16 + i % 16];
    byte = static_cast<uint8_t>(byte | u << (ternary ? i % 128 / 32 * 2 : i % 32 / 16 * 4));
  }
}

void encode_super_block(fovea_dtype type, const float* x, size_t count, uint8_t* block) {
  if (has_signed_groups(type)) return encode_signed_groups(type, x, count, block);
  const bool minima = has_least(type), two = type == FOVEA_Q2_K, five = type == FOVEA_Q5_K, three = type == FOVEA_Q3_K;
  const int most = three ? 31 : 127, last_code = three ? 3 : 31;
  const size_t step = minima ? super_step(type) : 16, groups = 256 / step;
  const auto in_group = [&](size_t k) { return std::min(step, count - std::min(count, k * step)); };
  Fit fits[16];
  double scale = 0, least = 0;
  for (size_t k = 0; k < groups; ++k) {
    fits[k] = fit_of(type, x + std::min(count, k * step), in_group(k));
    if (std::fabs(fits[k].scale) > std::fabs(scale)) scale = fits[k].scale;
    least = std::max(least, fits[k].least);
  }
  std::fill_n(block, group_bytes(type), uint8_t{0});
  uint8_t* const halves = super_scale(type, block);
  const int most_scale = two ? 15 : 63;
  const double d = put_half(scale / (minima ? most_scale : -1 - most), halves);
  const double e = minima ? put_half(least / most_scale, halves + 2) : 0;
  const auto rounded = [](double a, double unit, double first, double last) {
    return static_cast<int>(std::min(last, std::max(first, unit != 0 ? std::nearbyint(a / unit) : 0)));
  };
  for (size_t k = 0; k < groups; ++k) {
    const int s = rounded(fits[k].scale, d, minima ? 0 : -1 - most, minima ? most_scale : most);
    const int m = minima ? rounded(fits[k].least, e, 0, most_scale) : 0;
    if (two) block[k] = static_cast<uint8_t>(s | m << 4);
    if (minima && !two) put_six_bits(block + 4, k, s), put_six_bits(block + 4, 8 + k, m);
    const auto add = [block](size_t at, int bits) { block[at] = static_cast<uint8_t>(block[at] | bits); };
    if (three) {
      add(96 + k % 8, ((s + 32) & 15) << k / 8 * 4), add(104 + k % 4, (s + 32) >> 4 << k / 4 * 2);
    } else if (!minima) {
      block[192 + k] = static_cast<uint8_t>(s);
    }
    for (size_t i = 0; i < in_group(k); ++i) {
      const size_t at = k * step + i;
      if (minima) {
        const int u = rounded(double{x[at]} + e * m, d * s, 0, two ? 3 : five ? 31 : 15);
        if (two) {
          add(16 + at / 128 * 32 + at % 32, u << at % 128 / 32 * 2);
          continue;
        }
        uint8_t& byte = block[(five ? 48 : 16) + at / 64 * 32 + at % 32];
        byte = static_cast<uint8_t>(byte | (u & 15) << (at % 64 < 32 ? 0 : 4));
        if (five) block[16 + at % 32] = static_cast<uint8_t>(block[16 + at % 32] | u >> 4 << at / 32);
      } else {
        const int u = rounded(double{x[at]}, d * s, -1 - last_code, last_code) + 1 + last_code;
        if (three) {
          add(32 + at / 128 * 32 + at % 32, (u & 3) << at % 128 / 32 * 2), add(at % 32, u >> 2 << at / 32);
          continue;
        }
        const SixBitPlace place = six_bit_place(at);
        block[place.low] = static_cast<uint8_t>(block[place.low] | (u & 15) << place.low_shift);
        block[place.high] = static_cast<uint8_t>(block[place.high] | u >> 4 << place.high_shift);
      }
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
  for (size_t d = 0; d < dim && is_super(type); d += 256) {
    uint8_t* const block = static_cast<uint8_t*>(data) + d / 256 * group_bytes(type);
    encode_super_block(type, x + d, std::min<size_t>(dim - d, 256), block);
  }
  for (size_t d = 0; d < dim && is_grouped(type) && !is_super(type); d += 32) {
    encode_group(type, x + d, std::min<size_t>(dim - d, 32), static_cast<uint8_t*>(data) + d / 32 * group_bytes(type),
                 scales ? static_cast<uint16_t*>(scales) + d / 32 : nullptr);
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
