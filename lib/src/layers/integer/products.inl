// SPDX-License-Identifier: Apache-2.0
//
// Both products of all-integer attention, and the arrays that they read: by the instructions that the build multiplies
// bytes with.
#ifndef FOVEA_SRC_INTEGER_PRODUCTS_INL_
#define FOVEA_SRC_INTEGER_PRODUCTS_INL_

#include "layers/integer/rows.inl"
#if defined(FOVEA_INTEGER_PRODUCTS)
#include FOVEA_INTEGER_PRODUCTS
#else

// By plain loops: keys and values are read in place, two keys or four elements at a time.

FOVEA_INLINE int16_t* QueryCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<int16_t*>(b.arrays.queries) + row * integer_dim(b.head_dim);
}
using WeightCode = uint8_t;
constexpr size_t kWeightVectors = 1, kNextWeights = 1;
constexpr uint32_t kKeysRead = 1;  // keys whose weights are read together
FOVEA_INLINE WeightCode* WeightsOf(const IntegerBlock& b, uint32_t row, uint32_t key = 0) {
  return static_cast<WeightCode*>(b.arrays.weights) + row * kIntegerKeyTile + key;
}

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  int16_t* const codes = QueryCodes(b, row);
  for (size_t e = 0; e < b.head_dim; ++e) codes[e] = int16_t(query[e] - b.q_zero_point);
}
FOVEA_INLINE void HideWeight(const IntegerBlock& b, uint32_t row, uint32_t key) { *WeightsOf(b, row, key) = 0; }
FOVEA_INLINE void StoreWeights(const integers::V (&codes)[1], WeightCode* to) { *to = WeightCode(codes[0]); }
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row, uint32_t keys) {
  const WeightCode* const codes = WeightsOf(b, row);
  uint32_t sum = 0;
  for (uint32_t j = 0; j < keys; ++j) sum += codes[j];
  return sum;
}

// Sums of one or two query rows with two keys.
template <int kRows>
FOVEA_INLINE void MultiplyTwoKeys(const IntegerBlock& b, uint32_t r, const int8_t* k, const int8_t* l, int32_t* of_x) {
  const int16_t *const x = QueryCodes(b, r), *const y = QueryCodes(b, r + kRows - 1);  // of one row, both are the same
  int32_t* const of_y = of_x + (kRows - 1) * kIntegerKeyTile;
  int32_t xk = 0, xl = 0, yk = 0, yl = 0;
  for (size_t e = 0; e < b.head_dim; ++e) {
    xk += x[e] * k[e], xl += x[e] * l[e];
    yk += y[e] * k[e], yl += y[e] * l[e];
  }
  of_x[0] = xk, of_x[1] = xl;
  of_y[0] = yk, of_y[1] = yl;
}
FOVEA_CALLED void Scores(const IntegerBlock& b, const IntegerTile& t, uint32_t first) {
  const uint32_t end = b.count - first < kIntegerRowGroup ? b.count : first + kIntegerRowGroup;
  for (uint32_t j = 0; j < t.count; j += 2) {
    const int8_t* const key = t.keys + ptrdiff_t(j) * b.key_stride;
    const int8_t* const next = j + 1 < t.count ? key + b.key_stride : key;
    for (uint32_t r = first; r < end; r += 2) {
      if (r + 1 < end) {
        MultiplyTwoKeys<2>(b, r, key, next, ScoresOf(b, r) + j);
      } else {
        MultiplyTwoKeys<1>(b, r, key, next, ScoresOf(b, r) + j);
      }
    }
  }
}

// kElements sums of a row.
template <int kElements>
FOVEA_INLINE void MultiplyValues(const WeightCode* weights, const int8_t* value, ptrdiff_t stride, uint32_t count,
                                 int32_t* sums, const TakeUp& take_up) {
  int32_t all[kElements] = {};
  for (uint32_t j = 0; j < count; ++j, value += stride) {
    FOVEA_EACH(k, kElements) all[k] += weights[j] * value[k];
  }
  FOVEA_EACH(k, kElements) {
    if (take_up.kept == 0) {
      PutFirst(all[k], sums + k);
    } else {
      take_up(all[k], sums + k);
    }
  }
}
FOVEA_CALLED void Values(const IntegerBlock& b, const IntegerTile& t) {
  for (uint32_t r = 0; r < b.count; ++r) {
    const TakeUp take_up(b.arrays.rows[r]);
    const WeightCode* const weights = WeightsOf(b, r);
    int32_t* const sums = SumsOf(b, r);
    size_t e = 0;
    for (; e + 4 <= b.value_dim; e += 4) {
      MultiplyValues<4>(weights, t.values + e, b.value_stride, t.count, sums + e, take_up);
    }
    for (; e < b.value_dim; ++e) {
      MultiplyValues<1>(weights, t.values + e, b.value_stride, t.count, sums + e, take_up);
    }
  }
}
#endif

#endif  // FOVEA_SRC_INTEGER_PRODUCTS_INL_
