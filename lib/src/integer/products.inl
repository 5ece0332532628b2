// SPDX-License-Identifier: Apache-2.0
//
// Both products by plain loops: keys and values are read as they lie, two keys or four elements at a time.

FOVEA_INLINE int16_t* QueryCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<int16_t*>(b.arrays.queries) + row * integer_dim(b.head_dim);
}
FOVEA_INLINE uint8_t* WeightCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<uint8_t*>(b.arrays.weights) + row * kIntegerKeyTile;
}

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  int16_t* const codes = QueryCodes(b, row);
  for (size_t e = 0; e < b.head_dim; ++e) codes[e] = int16_t(query ? query[e] - b.q_zero : 0);
}
FOVEA_INLINE void StoreWeight(const IntegerBlock& b, uint32_t row, uint32_t key, int32_t code) {
  WeightCodes(b, row)[key] = uint8_t(code);
}
FOVEA_INLINE void StoreWeights(const IntegerBlock& b, uint32_t row, uint32_t key, whole::V code) {
  StoreWeight(b, row, key, code);
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row) {
  const uint8_t* const codes = WeightCodes(b, row);
  uint32_t sum = 0;
  for (uint32_t j = 0; j < kIntegerKeyTile; ++j) sum += codes[j];
  return sum;
}

// Sums of two query rows with two keys.
FOVEA_INLINE void MultiplyTwoByTwo(const int16_t* x, const int16_t* y, const int8_t* k, const int8_t* l, size_t dim,
                                   int32_t* of_x, int32_t* of_y) {
  int32_t xk = 0, xl = 0, yk = 0, yl = 0;
  for (size_t e = 0; e < dim; ++e) {
    xk += x[e] * k[e], xl += x[e] * l[e];
    yk += y[e] * k[e], yl += y[e] * l[e];
  }
  of_x[0] = xk, of_x[1] = xl;
  of_y[0] = yk, of_y[1] = yl;
}
FOVEA_CALLED void Scores(const IntegerBlock& b, const IntegerTile& t) {
  for (uint32_t j = 0; j < t.count; j += 2) {
    const int8_t* const key = t.keys + ptrdiff_t(j) * b.key_stride;
    const int8_t* const next = j + 1 < t.count ? key + b.key_stride : key;
    for (uint32_t r = 0; r < b.padded; r += 2) {
      int32_t* const scores = ScoresOf(b, r) + j;
      MultiplyTwoByTwo(QueryCodes(b, r), QueryCodes(b, r + 1), key, next, b.head_dim, scores,
                       scores + kIntegerKeyTile);
    }
  }
}

// kElements sums of a row.
template <int kElements>
FOVEA_INLINE void MultiplyValues(const uint8_t* weights, const int8_t* value, ptrdiff_t stride, uint32_t count,
                                 int32_t* sums, const IntegerRow& row) {
  int32_t all[kElements] = {};
  for (uint32_t j = 0; j < count; ++j, value += stride) {
    FOVEA_UNROLL(4)
    for (int k = 0; k < kElements; ++k) all[k] += weights[j] * value[k];
  }
  FOVEA_UNROLL(4)
  for (int k = 0; k < kElements; ++k) TakeUp(row, whole::Set(all[k]), sums + k);
}
FOVEA_CALLED void Values(const IntegerBlock& b, const IntegerTile& t) {
  for (uint32_t r = 0; r < b.count; ++r) {
    const IntegerRow& row = b.arrays.rows[r];
    int32_t* const sums = b.arrays.sums + r * b.sum_stride();
    size_t e = 0;
    for (; e + 4 <= b.value_dim; e += 4) {
      MultiplyValues<4>(WeightCodes(b, r), t.values + e, b.value_stride, t.count, sums + e, row);
    }
    for (; e < b.value_dim; ++e) {
      MultiplyValues<1>(WeightCodes(b, r), t.values + e, b.value_stride, t.count, sums + e, row);
    }
  }
}
