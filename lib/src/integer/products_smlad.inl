// SPDX-License-Identifier: Apache-2.0
//
// Both products by smlad. Keys and values are brought in pieces, as 16-bit integers:
//   queries  [row / 4][code / 2][4 rows][2 codes], the codes of each four in the order 0, 2, 1, 3
//   keys     [key / 2][code / 2][2 keys][2 codes], in the same order
//   weights  [row / 4][key / 2][4 rows][2 keys]
//   values   [key / 2][element][2 keys], of some elements

constexpr size_t kReads = 4, kGroup = 2;
constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
#include "math/dot_block_smlad.inl"

FOVEA_INLINE dot::Pair* QueryPairs(const IntegerBlock& b, uint32_t row) {
  return static_cast<dot::Pair*>(b.arrays.queries) + row / 4 * 2 * integer_dim(b.head_dim) + row % 4;
}
FOVEA_INLINE int16_t* WeightCode(const IntegerBlock& b, uint32_t row, uint32_t key) {
  return static_cast<int16_t*>(b.arrays.weights) + row / 4 * 4 * kIntegerKeyTile + key / 2 * 8 + row % 4 * 2 + key % 2;
}

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  dot::Pair* to = QueryPairs(b, row);
  const uint32_t zero = uint32_t(-b.q_zero) & 0xffffu, zeros = zero | zero << 16;
  for (size_t e = 0; e < b.head_dim; e += 4, to += 8) {
    const size_t left = b.head_dim - e;
    const uint32_t four = query ? dot::FourBytes(query + e, left < 4 ? left : 4) : 0;
    to[0] = dot::EvenBytesAdded(zeros, four);
    to[4] = dot::OddBytesAdded(zeros, four);
  }
}
FOVEA_INLINE void StoreWeight(const IntegerBlock& b, uint32_t row, uint32_t key, int32_t code) {
  *WeightCode(b, row, key) = int16_t(code);
}
FOVEA_INLINE void StoreWeights(const IntegerBlock& b, uint32_t row, uint32_t key, whole::V code) {
  StoreWeight(b, row, key, code);
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row) {
  const dot::Pair* p = reinterpret_cast<const dot::Pair*>(WeightCode(b, row, 0));
  uint32_t sum = 0;  // of both halves: neither carries into the other
  for (uint32_t j = 0; j < kIntegerKeyTile; j += 2, p += 4) sum += *p;
  return (sum & 0xffffu) + (sum >> 16);
}

FOVEA_INLINE void MultiplyKeyPiece(const IntegerBlock& b, const dot::Pair* keys, uint32_t first, uint32_t count) {
  const size_t pairs = round_up(b.head_dim, kReads) / 2;
  for (uint32_t r = 0; r < b.padded; r += 4) {
    const dot::Pair* key = keys;
    int32_t* scores = ScoresOf(b, r) + first;
    for (uint32_t j = 0; j < count; j += 2, key += 2 * pairs, scores += 2) {
      dot::Sum sums[2][4];
      MultiplyPairs<8, 4>(QueryPairs(b, r), 4, key, pairs, sums);
      FOVEA_UNROLL(4)
      for (int c = 0; c < 4; ++c) {
        scores[c * kIntegerKeyTile] = sums[0][c];
        scores[c * kIntegerKeyTile + 1] = sums[1][c];
      }
    }
  }
}
FOVEA_CALLED void Scores(const IntegerBlock& b, const IntegerTile& t) {
  dot::Pair* const brought = static_cast<dot::Pair*>(b.arrays.brought);
  const size_t padded = round_up(b.head_dim, kReads);
  for (uint32_t first = 0; first < t.count; first += kIntegerPieceKeys) {
    const uint32_t left = t.count - first, count = left < kIntegerPieceKeys ? left : kIntegerPieceKeys;
    for (uint32_t j = 0; j < count; j += 2) {
      const int8_t* const key = t.keys + ptrdiff_t(first + j) * b.key_stride;
      dot::PutTwoKeys(key, j + 1 < count ? key + b.key_stride : key, b.head_dim, brought + j / 2 * padded);
    }
    MultiplyKeyPiece(b, brought, first, count);
  }
}

// Sums of `elements` values, from `first` on, with all rows.
FOVEA_INLINE void MultiplyValuePiece(const IntegerBlock& b, const dot::Pair* values, size_t first, size_t elements,
                                     uint32_t key_pairs) {
  for (uint32_t r = 0; r < b.padded; r += 4) {
    const IntegerRow* const rows = b.arrays.rows + r;
    int32_t* to = SumsOf(b, r) + first;
    for (size_t e = 0; e < elements; e += 2, to += 2) {
      dot::Sum sums[2][4];
      MultiplyPairs<kPieceValues * 4, 4>(reinterpret_cast<const dot::Pair*>(WeightCode(b, r, 0)), 4, values + e,
                                         key_pairs, sums);
      FOVEA_UNROLL(4)
      for (int c = 0; c < 4; ++c) {
        TakeUp(rows[c], sums[0][c], to + c * b.sum_stride());
        TakeUp(rows[c], sums[1][c], to + c * b.sum_stride() + 1);
      }
    }
  }
}
FOVEA_CALLED void Values(const IntegerBlock& b, const IntegerTile& t) {
  static_assert(kPieceValues == kIntegerPieceValues);
  dot::Pair* const brought = static_cast<dot::Pair*>(b.arrays.brought);
  for (size_t first = 0; first < b.value_dim; first += kPieceValues) {
    const size_t left = b.value_dim - first, elements = left < kPieceValues ? left : kPieceValues;
    dot::Pair* to = brought;
    for (uint32_t j = 0; j < t.count; j += 2, to += kPieceValues) {
      const int8_t* const value = t.values + ptrdiff_t(j) * b.value_stride + first;
      dot::PutTwoValues(value, j + 1 < t.count ? value + b.value_stride : value, elements, to);
    }
    MultiplyValuePiece(b, brought, first, elements, (t.count + 1) / 2);
  }
}
