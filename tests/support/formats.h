// SPDX-License-Identifier: Apache-2.0
//
// Formats of few bits by their definition in fovea.h, in double. The library's conversions are compared with these.
#ifndef FOVEA_TESTS_SUPPORT_FORMATS_H_
#define FOVEA_TESTS_SUPPORT_FORMATS_H_

#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea_test {

constexpr fovea_dtype kTypes[] = {FOVEA_F32, FOVEA_F16,  FOVEA_BF16, FOVEA_I8,
                                  FOVEA_I4,  FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q4_1};
constexpr fovea_dtype kKeyTypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4, FOVEA_Q8_0, FOVEA_Q4_0};
// The first number that is no format.
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

// Whether rows are groups of 32 elements, each with a scale; whether that lies inside of the group, a block of ggml.
inline bool is_block(fovea_dtype type) { return type >= FOVEA_Q8_0 && type <= FOVEA_Q4_1; }
inline bool is_grouped(fovea_dtype type) { return type == FOVEA_I4 || is_block(type); }
// Bytes of a group, and where its codes begin.
size_t group_bytes(fovea_dtype type);
size_t codes_at(fovea_dtype type);

// A row's count of units of its C type and the size of a unit, and the same for its scales.
size_t row_units(fovea_dtype type, size_t dim);
size_t unit_size(fovea_dtype type);
size_t row_scales(fovea_dtype type, size_t dim);
size_t scale_size(fovea_dtype type);  // 0 where there are none

// Element d of a row, as its format defines it. One rounding where there is a scale.
float element_of(fovea_dtype type, const void* data, const void* scales, size_t d);

// A row in the format: rounded to nearest, with the plainest scale, max / 127, largest / -8 or, in Q4_1, the range /
// 15. In f32 for I8, so that a number halfway between two codes becomes the one that it becomes in the library.
void encode_row(fovea_dtype type, const float* x, size_t dim, void* data, void* scales);

// Replaces a row by what it holds once it is multiplied by the factor, in f32, and converted to I8.
void round_to_i8(float* x, size_t dim, float factor);

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_FORMATS_H_
