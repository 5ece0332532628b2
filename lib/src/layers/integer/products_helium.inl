// SPDX-License-Identifier: Apache-2.0
//
// Both products by vmladava, of two query rows at a time: as many codes of both as fit stay in registers, while keys or
// elements of values are read. Keys are read in place. Values are brought once a tile, unless there are few rows:
//   queries  [row][codes], filled up with zeros
//   weights  [row][key], minus 128
//   values   [key / 16][element][16 keys], then 128 times the sums over all keys of each element
#ifndef FOVEA_SRC_INTEGER_PRODUCTS_HELIUM_INL_
#define FOVEA_SRC_INTEGER_PRODUCTS_HELIUM_INL_

#include "ground/simd/dot_helium.inl"
#include "layers/integer/rows.inl"

FOVEA_INLINE int8_t* QueryCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<int8_t*>(b.arrays.queries) + row * integer_dim(b.head_dim);
}
using WeightCode = int8_t;
constexpr size_t kWeightVectors = 1, kNextWeights = integers::kLanes;
constexpr uint32_t kKeysRead = 16;  // keys whose weights are read together
FOVEA_INLINE WeightCode* WeightsOf(const IntegerBlock& b, uint32_t row, uint32_t key = 0) {
  return static_cast<WeightCode*>(b.arrays.weights) + row * kIntegerKeyTile + key;
}
FOVEA_INLINE int8_t* PackedValues(const IntegerBlock& b) { return static_cast<int8_t*>(b.arrays.brought); }
FOVEA_INLINE int32_t* ValueStarts(const IntegerBlock& b) {
  return reinterpret_cast<int32_t*>(PackedValues(b) + kIntegerKeyTile * b.sum_stride());
}
FOVEA_INLINE int32_t* KeyStarts(const IntegerBlock& b) { return ValueStarts(b) + b.sum_stride(); }
FOVEA_INLINE int32_t* SumsOfTwoRows(const IntegerBlock& b) { return KeyStarts(b) + kIntegerKeyTile; }

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  int8_t* const codes = QueryCodes(b, row);
  const size_t padded = integer_dim(b.head_dim);
  __builtin_memset(codes + padded - 16, 0, 16);
  __builtin_memcpy(codes, query, b.head_dim);
}
FOVEA_INLINE void HideWeight(const IntegerBlock& b, uint32_t row, uint32_t key) { *WeightsOf(b, row, key) = -128; }
FOVEA_INLINE void StoreWeights(const integers::V (&codes)[1], WeightCode* to) {
  integers::StoreBytes(integers::Sub(codes[0], integers::Set(128)), to);
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row, uint32_t keys) {
  const WeightCode* codes = WeightsOf(b, row);
  int32_t sum = int32_t(128 * keys);
  for (uint32_t j = 0; j < keys; j += 16) sum = integers::AddAll(Helium::NextBytes(codes), sum);
  return uint32_t(sum);
}

// Up to four times 16 codes of keys, and of packed values. The last 16 codes of keys may be fewer.
struct KeyBytes {
  const int8_t* row;
  ptrdiff_t stride;
  size_t last;  // codes in the last chunk
  template <int kChunk, bool kLast>
  FOVEA_MEMBER Helium::Bytes Load() const {
    return kLast ? Helium::LoadSomeBytes(row + 16 * kChunk, last) : Helium::LoadBytes(row + 16 * kChunk);
  }
  FOVEA_MEMBER void Next() { row += stride; }
};
struct ValueBytes {
  const int8_t* group[4];
  template <int kChunk, bool>
  FOVEA_MEMBER Helium::Bytes Load() {
    return Helium::NextBytes(group[kChunk]);
  }
  FOVEA_MEMBER void Next() {}
};

// Sums of two rows with `count` keys or elements; or adds to them. The sums of y follow kIntegerKeyTile sums of x.
template <int kChunks, bool kGoesOn, bool kPart, class Source>
FOVEA_CALLED_TEMPLATE void MultiplyTwo(const int8_t* x, const int8_t* y, Source source, size_t count, int32_t* sums) {
  constexpr int kKept = kChunks < 4 ? kChunks : 3;
  Helium::Bytes a[kKept], b[kKept];
  FOVEA_EACH(c, kKept) {
    a[c] = Helium::LoadBytes(x + 16 * c);
    b[c] = Helium::LoadBytes(y + 16 * c);
  }
  for (; count > 0; --count, source.Next()) {
    Helium::Bytes e = source.template Load<0, kPart && kChunks == 1>();
    int32_t xs = kGoesOn ? Helium::DotAdd(a[0], e, sums[0]) : Helium::Dot(a[0], e);
    int32_t ys = kGoesOn ? Helium::DotAdd(b[0], e, sums[kIntegerKeyTile]) : Helium::Dot(b[0], e);
    if constexpr (kChunks > 1) {
      e = source.template Load<1, kPart && kChunks == 2>();
      xs = Helium::DotAdd(a[1], e, xs);
      ys = Helium::DotAdd(b[1], e, ys);
    }
    if constexpr (kChunks > 2) {
      e = source.template Load<2, kPart && kChunks == 3>();
      xs = Helium::DotAdd(a[2], e, xs);
      ys = Helium::DotAdd(b[2], e, ys);
    }
    if constexpr (kChunks > 3) {
      e = source.template Load<3, kPart>();
      xs = Helium::DotAdd(Helium::LoadBytes(x + 48), e, xs);
      ys = Helium::DotAdd(Helium::LoadBytes(y + 48), e, ys);
    }
    integers::StoreTwoNext<kIntegerKeyTile>(xs, ys, sums);
  }
}
template <bool kGoesOn, bool kPart, class Source>
FOVEA_INLINE void MultiplyChunks(const int8_t* x, const int8_t* y, const Source& source, size_t chunks, size_t count,
                                 int32_t* sums) {
  if (chunks == 4) return MultiplyTwo<4, kGoesOn, kPart>(x, y, source, count, sums);
  if (chunks == 3) return MultiplyTwo<3, kGoesOn, kPart>(x, y, source, count, sums);
  if (chunks == 2) return MultiplyTwo<2, kGoesOn, kPart>(x, y, source, count, sums);
  MultiplyTwo<1, kGoesOn, kPart>(x, y, source, count, sums);
}
// Where size counts, one version serves all keys.
FOVEA_INLINE void MultiplyKeys(bool goes_on, const int8_t* x, const int8_t* y, const KeyBytes& keys, size_t chunks,
                               uint32_t count, int32_t* sums) {
  if (!goes_on && keys.last == 16 && !kIntegerPrefersSize) {
    return MultiplyChunks<false, false>(x, y, keys, chunks, count, sums);
  }
  if (!goes_on) __builtin_memset(sums, 0, count * sizeof *sums);
  if (!goes_on) __builtin_memset(sums + kIntegerKeyTile, 0, count * sizeof *sums);
  MultiplyChunks<true, true>(x, y, keys, chunks, count, sums);
}

// Where queries have a zero point, scores begin with minus this times the sum of the key.
FOVEA_CALLED void BringKeyStarts(const IntegerBlock& b, const IntegerTile& t) {
  const int8_t* key = t.keys;
  for (uint32_t j = 0; j < t.count; ++j, key += b.key_stride) {
    int32_t sum = 0;
    for (size_t e = 0; e < b.head_dim; e += 16) {
      const size_t left = b.head_dim - e;
      sum = integers::AddAll(Helium::LoadSomeBytes(key + e, left < 16 ? left : 16), sum);
    }
    KeyStarts(b)[j] = -b.q_zero_point * sum;
  }
}

// The row that is multiplied together with row r: the next one, or the last one once more. Arrays have room for it.
FOVEA_INLINE uint32_t OtherRow(const IntegerBlock& b, uint32_t r) { return r + 1 < b.count ? r + 1 : r; }
// One or two rows are multiplied alone: for them it takes longer to bring values than to read them as they are stored.
FOVEA_INLINE bool AreFew(const IntegerBlock& b) { return b.count <= 2; }

// Scores of a row with four keys.
FOVEA_CALLED void MultiplyFourKeys(const int8_t* x, const int8_t* key, ptrdiff_t stride, size_t dim, int32_t* scores) {
  Helium::Sum sums[4] = {0, 0, 0, 0};
  Helium::AddFourRows(x, key, stride, dim, sums);
  FOVEA_EACH(i, 4) scores[i] = sums[i];
}
FOVEA_CALLED void ScoresOfOne(const IntegerBlock& b, const IntegerTile& t, uint32_t r) {
  const int8_t* const x = QueryCodes(b, r);
  int32_t* const scores = ScoresOf(b, r);
  const uint32_t in_fours = t.count / 4 * 4;
  uint32_t j = 0;
  for (; j < in_fours; j += 4) {
    MultiplyFourKeys(x, t.keys + ptrdiff_t(j) * b.key_stride, b.key_stride, b.head_dim, scores + j);
  }
  // One that is left is read as four: scores of another row follow.
  for (; j < t.count; ++j) MultiplyFourKeys(x, t.keys + ptrdiff_t(j) * b.key_stride, 0, b.head_dim, scores + j);
  if (b.q_zero_point == 0) return;
  for (j = 0; j < t.count; j += integers::kLanes) {
    integers::Store(integers::Add(integers::Load(scores + j), integers::Load(KeyStarts(b) + j)), scores + j);
  }
}
FOVEA_CALLED void ScoresOfMany(const IntegerBlock& b, const IntegerTile& t, uint32_t first) {
  const uint32_t end = b.count - first < kIntegerRowGroup ? b.count : first + kIntegerRowGroup;
  for (uint32_t r = first; r < end; r += 2) {
    int32_t* const scores = ScoresOf(b, r);
    bool goes_on = b.q_zero_point != 0;
    for (uint32_t i = 0; goes_on && i < 2; ++i) {
      __builtin_memcpy(scores + i * kIntegerKeyTile, KeyStarts(b), t.count * sizeof(int32_t));
    }
    for (size_t d = 0; d < b.head_dim; d += 64, goes_on = true) {
      const size_t left = b.head_dim - d, chunks = left < 64 ? (left + 15) / 16 : 4;
      const KeyBytes keys = {t.keys + d, b.key_stride, left < 64 ? left - 16 * (chunks - 1) : 16};
      MultiplyKeys(goes_on, QueryCodes(b, r) + d, QueryCodes(b, OtherRow(b, r)) + d, keys, chunks, t.count, scores);
    }
  }
}

FOVEA_INLINE void Scores(const IntegerBlock& b, const IntegerTile& t, uint32_t first) {
  if (b.q_zero_point != 0 && first == 0) BringKeyStarts(b, t);
  if (!AreFew(b)) return ScoresOfMany(b, t, first);
  for (uint32_t r = 0; r < b.count; ++r) ScoresOfOne(b, t, r);
}

// Keys past the last one repeat it: their weights are 0.
FOVEA_CALLED void BringValues(const IntegerBlock& b, const IntegerTile& t) {
  int32_t* const starts = ValueStarts(b);
  for (size_t e = 0; e < b.sum_stride(); e += integers::kLanes) integers::Store(integers::Set(0), starts + e);
  int8_t* to = PackedValues(b);
  for (uint32_t first = 0; first < t.count; first += 16, to += 16 * b.sum_stride()) {
    const int8_t* row[16];
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t key = first + i < t.count ? first + i : t.count - 1;
      row[i] = t.values + ptrdiff_t(key) * b.value_stride;
    }
    for (size_t e = Helium::PackGroup(row, b.value_dim, to, starts); e < b.value_dim; ++e) {
      for (int i = 0; i < 16; ++i) {
        to[16 * e + size_t(i)] = row[i][e];
        starts[e] += 128 * row[i][e];
      }
    }
  }
}

// Adds the tile's sums of up to 64 elements to the sums of a row.
FOVEA_CALLED void TakeUpValues(const IntegerRow& row, const int32_t* of_tile, const int32_t* starts, size_t elements,
                               int32_t* sums) {
  const TakeUp take_up(row);
  if (take_up.kept == 0) {
    for (size_t e = 0; e < elements; e += integers::kLanes) {
      PutFirst(integers::Add(integers::Load(of_tile + e), integers::Load(starts + e)), sums + e);
    }
  } else {
    for (size_t e = 0; e < elements; e += integers::kLanes) {
      take_up(integers::Add(integers::Load(of_tile + e), integers::Load(starts + e)), sums + e);
    }
  }
}
// Sums of kVectors vectors of elements, from `first` on; of a vector alone only `elements` of its elements.
template <int kVectors>
FOVEA_CALLED_TEMPLATE void SumsOfElements(const IntegerBlock& b, const IntegerTile& t, uint32_t r, size_t first,
                                          size_t elements) {
  integers::V sums[kVectors], values[kVectors];
  FOVEA_EACH(v, kVectors) sums[v] = integers::Set(0);
  const WeightCode* weight = WeightsOf(b, r);
  const int8_t* value = t.values + first;
  for (uint32_t left = t.count; left > 0; --left, value += b.value_stride) {
    if constexpr (kVectors == 1) {
      values[0] = hn::LoadI8N(kI, value, elements);
    } else {
      Helium::LoadFewValues({value}, values);
    }
    const int32_t code = integers::NextI8(weight) + 128;
    FOVEA_EACH(v, kVectors) sums[v] = Helium::FewValueDot(code, values[v], sums[v]);
  }
  const TakeUp take_up(b.arrays.rows[r]);
  int32_t* const to = SumsOf(b, r) + first;
  FOVEA_EACH(v, kVectors) {
    if (take_up.kept == 0) {
      PutFirst(sums[v], to + v * integers::kLanes);
    } else {
      take_up(sums[v], to + v * integers::kLanes);
    }
  }
}
FOVEA_CALLED void ValuesOfOne(const IntegerBlock& b, const IntegerTile& t, uint32_t r) {
  size_t e = 0;
  for (; e + 16 <= b.value_dim; e += 16) SumsOfElements<4>(b, t, r, e, 16);
  for (; e < b.value_dim; e += integers::kLanes) {
    SumsOfElements<1>(b, t, r, e, b.value_dim - e < integers::kLanes ? b.value_dim - e : integers::kLanes);
  }
}

FOVEA_CALLED void ValuesOfMany(const IntegerBlock& b, const IntegerTile& t) {
  BringValues(b, t);
  int32_t* const of_two = SumsOfTwoRows(b);
  const size_t group = 16 * b.sum_stride();
  for (size_t first = 0; first < b.value_dim; first += kIntegerKeyTile) {
    const size_t left = b.value_dim - first, elements = left < kIntegerKeyTile ? left : kIntegerKeyTile;
    const int8_t* const packed = PackedValues(b) + 16 * first;
    for (uint32_t r = 0; r < b.count; r += 2) {
      const ValueBytes values = {{packed, packed + group, packed + 2 * group, packed + 3 * group}};
      MultiplyChunks<false, false>(WeightsOf(b, r), WeightsOf(b, OtherRow(b, r)), values, (t.count + 15) / 16, elements,
                                   of_two);
      for (uint32_t i = 0; i < 2 && r + i < b.count; ++i) {
        TakeUpValues(b.arrays.rows[r + i], of_two + i * kIntegerKeyTile, ValueStarts(b) + first, elements,
                     SumsOf(b, r + i) + first);
      }
    }
  }
}
FOVEA_INLINE void Values(const IntegerBlock& b, const IntegerTile& t) {
  if (!AreFew(b)) return ValuesOfMany(b, t);
  for (uint32_t r = 0; r < b.count; ++r) ValuesOfOne(b, t, r);
}

#endif  // FOVEA_SRC_INTEGER_PRODUCTS_HELIUM_INL_
