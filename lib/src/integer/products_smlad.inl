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
using WeightCode = dot::Pair;
constexpr size_t kWeightVectors = 2, kNextWeights = 4;
constexpr uint32_t kKeysRead = 2;  // keys whose weights are read together
// The pair that the weight of a key is in.
FOVEA_INLINE WeightCode* WeightsOf(const IntegerBlock& b, uint32_t row, uint32_t key = 0) {
  return static_cast<WeightCode*>(b.arrays.weights) + row / 4 * 2 * kIntegerKeyTile + key / 2 * 4 + row % 4;
}

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  dot::Pair* to = QueryPairs(b, row);
  const uint32_t zero = uint32_t(-b.q_zero) & 0xffffu, zeros = zero | zero << 16;
  const auto put = [&](uint32_t four) {
    to[0] = dot::EvenBytesAdded(zeros, four);
    to[4] = dot::OddBytesAdded(zeros, four);
    to += 8;
  };
  const int8_t* const end = query + b.head_dim / 4 * 4;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; query != end; query += 4) put(dot::FourBytes(query));
  if (b.head_dim % 4 != 0) put(dot::FourBytes(query, b.head_dim % 4));
}
FOVEA_INLINE void HideWeight(const IntegerBlock& b, uint32_t row, uint32_t key) {
  reinterpret_cast<int16_t*>(WeightsOf(b, row, key))[key % 2] = 0;
}
FOVEA_INLINE void StoreWeights(const whole::V (&codes)[2], WeightCode* to) {
  *to = uint32_t(codes[0]) | uint32_t(codes[1]) << 16;
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row, uint32_t keys) {
  const WeightCode* p = WeightsOf(b, row);
  uint32_t sum = 0;  // of both halves: neither carries into the other
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t j = 0; j < keys; j += 2, p += kNextWeights) sum += *p;
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
FOVEA_CALLED void Scores(const IntegerBlock& b, const IntegerTile& t, uint32_t) {
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

// Sums of `elements` elements of the values, from `first` on, with four rows from r on.
template <bool kFirst>
FOVEA_INLINE void MultiplyFourRows(const IntegerBlock& b, uint32_t r, const dot::Pair* values, size_t first,
                                   size_t elements, uint32_t key_pairs) {
  const TakeUp take_up[4] = {TakeUp(b.arrays.rows[r]), TakeUp(b.arrays.rows[r + 1]), TakeUp(b.arrays.rows[r + 2]),
                             TakeUp(b.arrays.rows[r + 3])};
  const WeightCode* const weights = WeightsOf(b, r);
  const size_t stride = b.sum_stride();
  int32_t* to = SumsOf(b, r) + first;
  for (size_t e = 0; e < elements; e += 2, to += 2) {
    dot::Sum sums[2][4];
    MultiplyPairs<kIntegerPieceValues * 4, 4>(weights, 4, values + e, key_pairs, sums);
    int32_t* of_row = to;
    FOVEA_UNROLL_FOR_SPEED(4)
    for (int c = 0; c < 4; ++c, of_row += stride) {
      FOVEA_UNROLL_FOR_SPEED(2)
      for (int k = 0; k < 2; ++k) {
        if (kFirst) {
          PutFirst(sums[k][c], of_row + k);
        } else {
          take_up[c](sums[k][c], of_row + k);
        }
      }
    }
  }
}
FOVEA_INLINE void MultiplyValuePiece(const IntegerBlock& b, const dot::Pair* values, size_t first, size_t elements,
                                     uint32_t key_pairs) {
  for (uint32_t r = 0; r < b.padded; r += 4) {
    const IntegerRow* const row = b.arrays.rows + r;
    if ((row[0].kept | row[1].kept | row[2].kept | row[3].kept) == 0) {
      MultiplyFourRows<true>(b, r, values, first, elements, key_pairs);
    } else {
      MultiplyFourRows<false>(b, r, values, first, elements, key_pairs);
    }
  }
}
FOVEA_CALLED void Values(const IntegerBlock& b, const IntegerTile& t) {
  dot::Pair* const brought = static_cast<dot::Pair*>(b.arrays.brought);
  for (size_t first = 0; first < b.value_dim; first += kIntegerPieceValues) {
    const size_t left = b.value_dim - first;
    const size_t elements = left < kIntegerPieceValues ? left : kIntegerPieceValues;
    dot::Pair* to = brought;
    for (uint32_t j = 0; j < t.count; j += 2, to += kIntegerPieceValues) {
      const int8_t* const value = t.values + ptrdiff_t(j) * b.value_stride + first;
      dot::PutTwoValues(value, j + 1 < t.count ? value + b.value_stride : value, elements, to);
    }
    MultiplyValuePiece(b, brought, first, elements, (t.count + 1) / 2);
  }
}
