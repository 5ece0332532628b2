// SPDX-License-Identifier: Apache-2.0
//
// Formats of few bits by their definition in fovea.h, in double. The library's conversions are compared with these.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "fovea/fovea.h"

namespace fovea_test {

constexpr fovea_dtype kTypes[] = {FOVEA_F32,    FOVEA_F16,   FOVEA_BF16,   FOVEA_I8,    FOVEA_I4,
                                  FOVEA_Q8_0,   FOVEA_Q4_0,  FOVEA_Q4_1,   FOVEA_Q4_K,  FOVEA_Q6_K,
                                  FOVEA_Q5_0,   FOVEA_Q5_1,  FOVEA_IQ4_NL, FOVEA_MXFP4, FOVEA_Q5_K,
                                  FOVEA_IQ4_XS, FOVEA_TQ2_0, FOVEA_Q3_K,   FOVEA_Q2_K};
constexpr fovea_dtype kFloatTypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
constexpr fovea_dtype kKeyTypes[] = {FOVEA_F32,  FOVEA_F16,  FOVEA_BF16, FOVEA_I8,   FOVEA_I4,
                                     FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q5_0, FOVEA_Q5_1, FOVEA_IQ4_NL};
inline bool is_key(fovea_dtype type) { return type <= FOVEA_Q4_0 || (type >= FOVEA_Q5_0 && type <= FOVEA_IQ4_NL); }
// The first number that names no format.
constexpr auto kNoType = static_cast<fovea_dtype>(sizeof kTypes / sizeof kTypes[0]);
const char* type_name(fovea_dtype type);

// A binary format of 16 bits: sign, exponent, fraction.
struct Half {
  int fraction_bits, bias;
  int exponents() const { return 1 << (15 - fraction_bits); }
};
constexpr Half kF16 = {10, 15}, kBf16 = {7, 127};
inline Half half_of(fovea_dtype type) { return type == FOVEA_F16 ? kF16 : kBf16; }

double value_of(Half format, uint32_t bits);
// The bits of the nearest number, ties to even; 0x7fff for NaN.
uint32_t nearest_of(Half format, float x);

// is_block: the scale of each 32 elements is stored with their codes, as in ggml. is_super: they are super-blocks of
// 256. is_grouped: each 32 have a scale, or are in a super-block.
inline bool is_super(fovea_dtype type) { return type == FOVEA_Q4_K || type == FOVEA_Q6_K || type >= FOVEA_Q5_K; }
inline bool has_signed_groups(fovea_dtype type) { return type == FOVEA_IQ4_XS || type == FOVEA_TQ2_0; }
inline bool is_block(fovea_dtype type) { return type >= FOVEA_Q8_0; }
// Whether an element is a sum: x = scale * u + least.
inline bool has_least(fovea_dtype type) {
  return type == FOVEA_Q4_1 || type == FOVEA_Q4_K || type == FOVEA_Q5_1 || type == FOVEA_Q5_K || type == FOVEA_Q2_K;
}
inline bool has_five_bits(fovea_dtype type) { return type == FOVEA_Q5_0 || type == FOVEA_Q5_1; }
// Elements of a group: 256 in super-blocks, whose scales are by 32 or 16 elements.
inline size_t group_elements(fovea_dtype type) { return is_super(type) ? 256 : 32; }
inline bool is_grouped(fovea_dtype type) { return type == FOVEA_I4 || is_block(type); }
// Bytes of a group, and the offset of its codes.
size_t group_bytes(fovea_dtype type);
size_t codes_at(fovea_dtype type);

// Elements that share a scale in a super-block, and what multiplies d and e, in formats with least numbers, for element d.
inline size_t super_step(fovea_dtype type) { return type == FOVEA_Q2_K ? 16 : 32; }
int least_scale(fovea_dtype type, const uint8_t* block, size_t d, bool minimum);
// Six bits of 16 numbers in 12 bytes: scale k of a super-block of Q4_K, or minimum k - 8. Its code of element d: u, or
// u - 32 in Q6_K.
int six_bits(const uint8_t* b, size_t k);
int super_code(fovea_dtype type, const uint8_t* block, size_t d);
// Where the scale of a super-block is, and of IQ4_XS and TQ2_0 what multiplies it for group k.
template <class Byte>
Byte* super_scale(fovea_dtype type, Byte* block) {
  return block + (type == FOVEA_Q6_K    ? 208
                  : type == FOVEA_TQ2_0 ? 64
                  : type == FOVEA_Q3_K  ? 108
                  : type == FOVEA_Q2_K  ? 80
                                        : 0);
}
int signed_scale(fovea_dtype type, const uint8_t* block, size_t k);
// Of Q6_K and Q3_K: what multiplies the scale for 16 elements.
inline bool has_halves(fovea_dtype type) { return type == FOVEA_Q6_K || type == FOVEA_Q3_K; }
int half_scale(fovea_dtype type, const uint8_t* block, size_t d);
// What code i of another group stands for, as a multiple of the scale.
int group_code(fovea_dtype type, const uint8_t* group, size_t i);

// The number of units of a row (a unit is an element of its C type) and the size of one, and the same for its scales.
size_t row_units(fovea_dtype type, size_t dim);
size_t unit_size(fovea_dtype type);
size_t row_scales(fovea_dtype type, size_t dim);
size_t scale_size(fovea_dtype type);  // 0 if there are none

// Element d of a row, by the definition of its format. Rounded once if there is a scale.
float element_of(fovea_dtype type, const void* data, const void* scales, size_t d);

// Converts a row to the format, rounded to nearest, with the simplest scale: max / 127, largest / -8 or, in Q4_1, the
// range / 15; so in their kin. In Q4_K and Q6_K the scales of a super-block are rounded to integers of 6 or 8 bits. Computed in f32 for
// I8, so that ties between two codes are broken as in the library.
void encode_row(fovea_dtype type, const float* x, size_t dim, void* data, void* scales);

// Multiplies a row by the factor, in f32, and rounds it to what I8 can hold.
void round_to_i8(float* x, size_t dim, float factor);

// ---- Arithmetic of halves by its definition.

// a * b + c, rounded once to f16. The product of two halves has 22 bits, so in double it and the sum are exact for
// numbers that are not far apart.
inline double half_multiply_add(double a, double b, double c) {
  const double sum = a * b + c;
  const double magnitude = std::fabs(sum), infinity = std::numeric_limits<double>::infinity();
  if (magnitude >= 65520.0) return sum < 0 ? -infinity : infinity;
  int exponent;
  std::frexp(magnitude, &exponent);
  const double place = std::ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
  return std::nearbyint(sum / place) * place;
}

// x rounded to f16.
inline double to_half(float x) { return value_of(kF16, nearest_of(kF16, x)); }

// ---- Rows of a format, one after another, and the numbers that they hold.

struct EncodedRows {
  std::vector<char> data, scales;
  std::vector<float> numbers;

  // Of the numbers that are the nearest to these.
  EncodedRows(fovea_dtype type, std::vector<float> x, size_t dim) : numbers(std::move(x)) {
    const size_t rows = numbers.size() / dim;
    const size_t bytes = row_units(type, dim) * unit_size(type), scale_bytes = row_scales(type, dim) * scale_size(type);
    data.resize(rows * bytes), scales.resize(rows * scale_bytes);
    for (size_t r = 0; r < rows; ++r) {
      char *const row = data.data() + r * bytes, *const scale = scales.data() + r * scale_bytes;
      encode_row(type, &numbers[r * dim], dim, row, scale);
      for (size_t i = 0; i < dim; ++i) numbers[r * dim + i] = element_of(type, row, scale, i);
    }
  }
};

}  // namespace fovea_test
