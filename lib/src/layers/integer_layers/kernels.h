// SPDX-License-Identifier: Apache-2.0
//
// The kernels of layers on int8 tensors: one of each in a build, chosen when it is compiled. Sums and products of 32
// bits that wrap are modulo 2^32.
#ifndef FOVEA_SRC_INTEGER_LAYERS_KERNELS_H_
#define FOVEA_SRC_INTEGER_LAYERS_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea_config.h"
#include "ground/targets/list.h"

namespace fovea {

// Vectors that a loop takes at a time.
constexpr size_t kIntegerUnroll = config::kPreferSize ? 1 : 4;

// Bits after the point of what becomes a code: in a normalisation, in a sum of two tensors, and in a product.
constexpr int kNormBits = 15, kSumBits = 16, kProductBits = 8;

struct IntegerRowSums {
  int32_t sum, squares;  // of codes
};

// y = sat(round((base + 2^8 bias + floor((x slope + offset) weight / 2^16)) / 2^kNormBits)), where x slope + offset
// wraps.
struct IntegerNormRow {
  const int8_t* x;
  const int16_t *weight, *bias;  // bias null = 0
  int8_t* y;
  size_t dim;
  int32_t slope, offset, base;
};

// y = clamp(round((base + a a_factor + b b_factor) / 2^kSumBits)), where the sum wraps.
struct IntegerSumRow {
  const int8_t *a, *b;  // b null = 0
  int8_t* y;
  size_t dim;
  int32_t a_factor, b_factor, base;
  int32_t least, most;
};

// y = clamp(round((base + floor((a - a_zero_point) (b b_factor + b_offset) factor / 2^32)) / 2^kProductBits))
struct IntegerProductRow {
  const int8_t *a, *b;
  int8_t* y;
  size_t dim;
  int32_t a_zero_point, b_factor, b_offset, factor, base;
  int32_t least, most;
};

// d = x - x_zero_point, y = sat(y_zero_point + round(floor(d min(max(2^8 d + three, 0), 2 three) factor / 2^32) /
// 2^shift)), with a shift of at least 1.
struct IntegerHardSwishRow {
  const int8_t* x;
  int8_t* y;
  size_t dim;
  int32_t x_zero_point, y_zero_point, three, factor, shift;
};

// y = sat(y_zero_point + round(scale (sum x - x_total) / 2^shift)), where the sum is over tokens.
struct IntegerMeanRow {
  const int8_t* x;
  int8_t* y;
  size_t tokens, dim;
  ptrdiff_t stride;  // from a token to the next
  int32_t x_total;   // tokens * x_zero_point
  int32_t scale, shift, y_zero_point;
};

namespace FOVEA_ONE_TARGET {
namespace integer_layer_kernels {
IntegerRowSums sum_codes(const int8_t* x, size_t dim);
void normalise_codes(const IntegerNormRow& row);
void add_codes(const IntegerSumRow& row);
void multiply_codes(const IntegerProductRow& row);
void translate_codes(const int8_t* table, const int8_t* x, size_t dim, int8_t* y);
void hard_swish_codes(const IntegerHardSwishRow& row);
void average_codes(const IntegerMeanRow& row);
}  // namespace integer_layer_kernels
}  // namespace FOVEA_ONE_TARGET
namespace integer_layer_kernels = FOVEA_ONE_TARGET::integer_layer_kernels;

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_LAYERS_KERNELS_H_
