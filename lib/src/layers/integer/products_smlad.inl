// SPDX-License-Identifier: Apache-2.0
//
// Both products by smlad. Four rows at a time multiply keys and values that are brought in pieces, as 16-bit integers.
// Up to three rows that are left read them as they are stored, each alone.
//   queries  [row / 4][code / 2][4 rows][2 codes], the codes of each four in the order 0, 2, 1, 3
//   keys     [key / 2][code / 2][2 keys][2 codes], in the same order
//   weights  [row / 4][key / 2][4 rows][2 keys]
//   values   [key / 2][element][2 keys], of some elements
#ifndef FOVEA_SRC_INTEGER_PRODUCTS_SMLAD_INL_
#define FOVEA_SRC_INTEGER_PRODUCTS_SMLAD_INL_

#include "ground/math/dot_block_smlad.inl"
#include "ground/simd/dot_smlad.inl"
#include "layers/integer/rows.inl"

using Block = DotBlock<Smlad>;

FOVEA_INLINE Smlad::Pair* QueryPairs(const IntegerBlock& b, uint32_t row) {
  return static_cast<Smlad::Pair*>(b.arrays.queries) + row / 4 * 2 * integer_dim(b.head_dim) + row % 4;
}
using WeightCode = Smlad::Pair;
constexpr size_t kWeightVectors = 2, kNextWeights = 4;
constexpr uint32_t kKeysRead = 2;  // keys whose weights are read together
// The pair that the weight of a key is in.
FOVEA_INLINE WeightCode* WeightsOf(const IntegerBlock& b, uint32_t row, uint32_t key = 0) {
  return static_cast<WeightCode*>(b.arrays.weights) + row / 4 * 2 * kIntegerKeyTile + key / 2 * 4 + row % 4;
}

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  Smlad::Pair* to = QueryPairs(b, row);
  const uint32_t zero = uint32_t(-b.q_zero_point) & 0xffffu, zeros = zero | zero << 16;
  const auto put = [&](uint32_t four) {
    to[0] = Smlad::EvenBytesAdded(zeros, four);
    to[4] = Smlad::OddBytesAdded(zeros, four);
    to += 8;
  };
  const int8_t* const end = query + b.head_dim / 4 * 4;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; query != end; query += 4) put(Smlad::FourBytes(query));
  if (b.head_dim % 4 != 0) put(Smlad::FourBytes(query, b.head_dim % 4));
}
FOVEA_INLINE void HideWeight(const IntegerBlock& b, uint32_t row, uint32_t key) {
  reinterpret_cast<int16_t*>(WeightsOf(b, row, key))[key % 2] = 0;
}
FOVEA_INLINE void StoreWeights(const integers::V (&codes)[2], WeightCode* to) {
  *to = uint32_t(codes[0]) | uint32_t(codes[1]) << 16;
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row, uint32_t keys) {
  const WeightCode* p = WeightsOf(b, row);
  uint32_t sum = 0;  // of both halves: neither carries into the other
  FOVEA_UNROLL_LONG_LOOP(4)
  for (uint32_t j = 0; j < keys; j += 2, p += kNextWeights) sum += *p;
  return (sum & 0xffffu) + (sum >> 16);
}

// The rows from this one on are multiplied alone.
FOVEA_INLINE uint32_t FirstAlone(const IntegerBlock& b) { return b.count / 4 * 4; }
constexpr int kColumnBytes = 16;  // from a pair of a row's codes to the next

typedef Smlad::Sum SumsOfTwo[2][4];  // two keys or elements and four rows

FOVEA_INLINE void MultiplyKeyPiece(const IntegerBlock& b, const Smlad::Pair* keys, uint32_t first, uint32_t count) {
  const size_t pairs = round_up(b.head_dim, Smlad::kReads) / 2;
  for (uint32_t r = 0; r < FirstAlone(b); r += 4) {
    const Smlad::Pair* key = keys;
    int32_t* scores = ScoresOf(b, r) + 4 * first;
    for (uint32_t j = 0; j < count; j += 2, key += 2 * pairs, scores += 8) {
      Block::MultiplyPairs<8, 4>(QueryPairs(b, r), 4, key, pairs, *reinterpret_cast<SumsOfTwo*>(scores));
    }
  }
}
FOVEA_CALLED void ScoresOfFours(const IntegerBlock& b, const IntegerTile& t) {
  Smlad::Pair* const brought = static_cast<Smlad::Pair*>(b.arrays.brought);
  const size_t padded = round_up(b.head_dim, Smlad::kReads);
  for (uint32_t first = 0; first < t.count; first += kIntegerPieceKeys) {
    const uint32_t left = t.count - first, count = left < kIntegerPieceKeys ? left : kIntegerPieceKeys;
    for (uint32_t j = 0; j < count; j += 2) {
      const int8_t* const key = t.keys + ptrdiff_t(first + j) * b.key_stride;
      Smlad::PutTwoKeys(key, j + 1 < count ? key + b.key_stride : key, b.head_dim, brought + j / 2 * padded);
    }
    MultiplyKeyPiece(b, brought, first, count);
  }
}

// ---- a row alone

// The product of a row's codes with a key's.
FOVEA_CALLED Smlad::Sum ScoreOfKey(const Smlad::Pair* x, const int8_t* key, size_t codes) {
  Smlad::Sum sum = 0;
  for (size_t n; codes > 0; codes -= n, key += 4, x += 8) {
    n = codes < 4 ? codes : 4;
    const uint32_t four = Smlad::FourBytes(key, n);
    sum = Smlad::AddPair(Smlad::OddBytes(four), x[4], Smlad::AddPair(Smlad::EvenBytes(four), x[0], sum));
  }
  return sum;
}
// Scores of a row with four keys, by their first fours of codes.
FOVEA_SHARED void MultiplyFourKeys(const Smlad::Pair* x, const int8_t* key, ptrdiff_t stride, size_t fours,
                                   int32_t* scores) {
  Smlad::Sum sums[4] = {0, 0, 0, 0};
  Smlad::AddFourRows<kColumnBytes>(x, key, stride, fours, sums);
  FOVEA_EACH(i, 4) scores[4 * i] = sums[i];
}
FOVEA_CALLED void ScoresOfOne(const IntegerBlock& b, const IntegerTile& t, uint32_t r) {
  const Smlad::Pair* const x = QueryPairs(b, r);
  int32_t* const scores = ScoresOf(b, r);
  const size_t fours = b.head_dim / 4;
  const uint32_t whole = fours > 0 ? t.count / 4 * 4 : 0;
  const int8_t* key = t.keys;
  for (uint32_t j = 0; j < whole; j += 4, key += 4 * b.key_stride) {
    MultiplyFourKeys(x, key, b.key_stride, fours, scores + 4 * j);
  }
  // What is no four of keys, or of codes.
  for (uint32_t j = b.head_dim % 4 != 0 ? 0 : whole; j < t.count; ++j) {
    const size_t done = j < whole ? 4 * fours : 0;
    const Smlad::Sum sum = ScoreOfKey(x + 2 * done, t.keys + ptrdiff_t(j) * b.key_stride + done, b.head_dim - done);
    scores[4 * j] = done > 0 ? scores[4 * j] + sum : sum;
  }
}

FOVEA_INLINE void Scores(const IntegerBlock& b, const IntegerTile& t, uint32_t) {
  if (FirstAlone(b) > 0) ScoresOfFours(b, t);
  for (uint32_t r = FirstAlone(b); r < b.count; ++r) ScoresOfOne(b, t, r);
}

// Sums of a row over a key tile, [element][4 rows]: in the place of scores, which are not needed any more.
FOVEA_INLINE int32_t* SumsOfTile(const IntegerBlock& b, uint32_t row) { return ScoresOf(b, row); }
// Adds them to the sums of the row, or stores them if these are the first.
template <class Take>
FOVEA_INLINE void TakeElements(const Take& take, const int32_t* of_tile, size_t elements, int32_t* sums) {
  constexpr size_t kAtOnce = kIntegerPrefersSize ? 1 : 4;  // there is room for more than all elements
  for (const int32_t* const end = sums + elements; sums < end; sums += kAtOnce, of_tile += 4 * kAtOnce) {
    FOVEA_EACH(k, kAtOnce) take(of_tile[4 * k], sums + k);
  }
}
FOVEA_CALLED void TakeUpElements(const IntegerRow& row, const int32_t* of_tile, size_t elements, int32_t* sums) {
  const TakeUp take_up(row);
  if (take_up.kept == 0) return TakeElements(PutFirst, of_tile, elements, sums);
  TakeElements(take_up, of_tile, elements, sums);
}

// Sums of `elements` elements of the values, from `first` on, with all fours of rows.
FOVEA_INLINE void MultiplyValuePiece(const IntegerBlock& b, const Smlad::Pair* values, size_t first, size_t elements,
                                     uint32_t key_pairs) {
  for (uint32_t r = 0; r < FirstAlone(b); r += 4) {
    int32_t* const of_tile = SumsOfTile(b, r);
    for (size_t e = 0; e < elements; e += 2) {
      Block::MultiplyPairs<kIntegerPieceValues * 4, 4>(WeightsOf(b, r), 4, values + e, key_pairs,
                                                       *reinterpret_cast<SumsOfTwo*>(of_tile + 4 * e));
    }
    for (uint32_t c = 0; c < 4; ++c) {
      TakeUpElements(b.arrays.rows[r + c], of_tile + c, elements, SumsOf(b, r + c) + first);
    }
  }
}
FOVEA_CALLED void ValuesOfFours(const IntegerBlock& b, const IntegerTile& t) {
  Smlad::Pair* const brought = static_cast<Smlad::Pair*>(b.arrays.brought);
  for (size_t first = 0; first < b.value_dim; first += kIntegerPieceValues) {
    const size_t left = b.value_dim - first;
    const size_t elements = left < kIntegerPieceValues ? left : kIntegerPieceValues;
    Smlad::Pair* to = brought;
    for (uint32_t j = 0; j < t.count; j += 2, to += kIntegerPieceValues) {
      const int8_t* const value = t.values + ptrdiff_t(j) * b.value_stride + first;
      Smlad::PutTwoValues(value, j + 1 < t.count ? value + b.value_stride : value, elements, to);
    }
    MultiplyValuePiece(b, brought, first, elements, (t.count + 1) / 2);
  }
}

// ---- a row alone

// The sum of an element of the values with the weights of a row.
FOVEA_CALLED Smlad::Sum SumOfElement(const WeightCode* weights, const int8_t* value, ptrdiff_t stride, uint32_t keys) {
  Smlad::Sum sum = 0;
  for (uint32_t j = 0; j < keys; ++j, value += stride) {
    sum += int32_t(weights[j / 2 * 4] >> j % 2 * 16 & 0xffu) * *value;
  }
  return sum;
}
// Sums of four elements, over the first fours of keys.
FOVEA_SHARED void MultiplyFourElements(const WeightCode* weights, const int8_t* value, ptrdiff_t stride, size_t fours,
                                       int32_t* of_tile) {
  Smlad::Sum sums[4] = {0, 0, 0, 0};
  Smlad::AddFourElements<kColumnBytes>(weights, value, stride, fours, sums);
  FOVEA_EACH(k, 4) of_tile[4 * k] = sums[k];
}
FOVEA_CALLED void ValuesOfOne(const IntegerBlock& b, const IntegerTile& t, uint32_t r) {
  const WeightCode* const weights = WeightsOf(b, r);
  int32_t* const of_tile = SumsOfTile(b, r);
  for (size_t first = 0; first < b.value_dim; first += kIntegerKeyTile) {
    const size_t left = b.value_dim - first, elements = left < kIntegerKeyTile ? left : kIntegerKeyTile;
    const int8_t* const values = t.values + first;
    const uint32_t fours = t.count / 4;
    const size_t whole = fours > 0 ? elements / 4 * 4 : 0;
    for (size_t e = 0; e < whole; e += 4) {
      MultiplyFourElements(weights, values + e, b.value_stride, fours, of_tile + 4 * e);
    }
    // What is no four of keys, or of elements.
    for (size_t e = t.count % 4 != 0 ? 0 : whole; e < elements; ++e) {
      const uint32_t done = e < whole ? 4 * fours : 0;
      const Smlad::Sum sum = SumOfElement(weights + 2 * done, values + ptrdiff_t(done) * b.value_stride + e,
                                          b.value_stride, t.count - done);
      of_tile[4 * e] = done > 0 ? of_tile[4 * e] + sum : sum;
    }
    TakeUpElements(b.arrays.rows[r], of_tile, elements, SumsOf(b, r) + first);
  }
}

FOVEA_INLINE void Values(const IntegerBlock& b, const IntegerTile& t) {
  if (FirstAlone(b) > 0) ValuesOfFours(b, t);
  for (uint32_t r = FirstAlone(b); r < b.count; ++r) ValuesOfOne(b, t, r);
}

#endif  // FOVEA_SRC_INTEGER_PRODUCTS_SMLAD_INL_
