// SPDX-License-Identifier: Apache-2.0
//
// Both products by vmladava, of two query rows at a time: codes of both stay in registers, as far as there are any,
// while keys or elements of values pass by. Keys are read as they lie. Values are brought once a tile:
//   queries  [row][codes], filled up with zeros
//   weights  [row][key], less 128
//   values   [key / 16][element][16 keys], then 128 times the sums over all keys of each element

FOVEA_INLINE int8_t* QueryCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<int8_t*>(b.arrays.queries) + row * integer_dim(b.head_dim);
}
FOVEA_INLINE int8_t* WeightCodes(const IntegerBlock& b, uint32_t row) {
  return static_cast<int8_t*>(b.arrays.weights) + row * kIntegerKeyTile;
}
FOVEA_INLINE int8_t* PackedValues(const IntegerBlock& b) { return static_cast<int8_t*>(b.arrays.brought); }
FOVEA_INLINE int32_t* ValueStarts(const IntegerBlock& b) {
  return reinterpret_cast<int32_t*>(PackedValues(b) + kIntegerKeyTile * b.sum_stride());
}
FOVEA_INLINE int32_t* SumsOfTwoRows(const IntegerBlock& b) { return ValueStarts(b) + b.sum_stride(); }
FOVEA_INLINE int32_t* KeyStarts(const IntegerBlock& b) { return SumsOfTwoRows(b) + 2 * b.sum_stride(); }

FOVEA_INLINE void BringQuery(const IntegerBlock& b, uint32_t row, const int8_t* query) {
  int8_t* const codes = QueryCodes(b, row);
  __builtin_memset(codes, 0, integer_dim(b.head_dim));
  if (query) __builtin_memcpy(codes, query, b.head_dim);
}
FOVEA_INLINE void StoreWeight(const IntegerBlock& b, uint32_t row, uint32_t key, int32_t code) {
  WeightCodes(b, row)[key] = int8_t(code - 128);
}
FOVEA_INLINE void StoreWeights(const IntegerBlock& b, uint32_t row, uint32_t key, whole::V codes) {
  whole::StoreBytes(whole::Sub(codes, whole::Set(128)), WeightCodes(b, row) + key, whole::kLanes);
}
FOVEA_INLINE uint32_t SumOfWeights(const IntegerBlock& b, uint32_t row) {
  const int8_t* codes = WeightCodes(b, row);
  int32_t sum = 128 * kIntegerKeyTile;
  for (uint32_t j = 0; j < kIntegerKeyTile; j += 16) sum = whole::AddAll(dot::NextBytes(codes), sum);
  return uint32_t(sum);
}

// Up to four times 16 codes of keys, and of packed values. The last of the keys may have fewer.
struct KeyBytes {
  const int8_t* row;
  ptrdiff_t stride;
  size_t last;  // codes in the last chunk
  template <int kChunk, bool kLast>
  inline __attribute__((always_inline)) dot::Bytes Load() const {
    return kLast ? dot::LoadSomeBytes(row + 16 * kChunk, last) : dot::LoadBytes(row + 16 * kChunk);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
struct ValueBytes {
  const int8_t* group[4];
  template <int kChunk, bool>
  inline __attribute__((always_inline)) dot::Bytes Load() {
    return dot::NextBytes(group[kChunk]);
  }
  inline __attribute__((always_inline)) void Next() {}
};

// Sums of two rows with `count` keys or elements; or adds to them.
template <int kChunks, bool kGoesOn, bool kPart, class Source>
FOVEA_CALLED_TEMPLATE void MultiplyTwo(const int8_t* x, const int8_t* y, Source source, size_t count, int32_t* of_x,
                                       int32_t* of_y) {
  constexpr int kKept = kChunks < 4 ? kChunks : 3;
  dot::Bytes a[kKept], b[kKept];
  FOVEA_UNROLL(4)
  for (int c = 0; c < kKept; ++c) {
    a[c] = dot::LoadBytes(x + 16 * c);
    b[c] = dot::LoadBytes(y + 16 * c);
  }
  for (; count > 0; --count, source.Next()) {
    dot::Bytes e = source.template Load<0, kPart && kChunks == 1>();
    int32_t xs = kGoesOn ? dot::DotAdd(a[0], e, *of_x) : dot::Dot(a[0], e);
    int32_t ys = kGoesOn ? dot::DotAdd(b[0], e, *of_y) : dot::Dot(b[0], e);
    if constexpr (kChunks > 1) {
      e = source.template Load<1, kPart && kChunks == 2>();
      xs = dot::DotAdd(a[1], e, xs);
      ys = dot::DotAdd(b[1], e, ys);
    }
    if constexpr (kChunks > 2) {
      e = source.template Load<2, kPart && kChunks == 3>();
      xs = dot::DotAdd(a[2], e, xs);
      ys = dot::DotAdd(b[2], e, ys);
    }
    if constexpr (kChunks > 3) {
      e = source.template Load<3, kPart>();
      xs = dot::DotAdd(dot::LoadBytes(x + 48), e, xs);
      ys = dot::DotAdd(dot::LoadBytes(y + 48), e, ys);
    }
    *of_x++ = xs;
    *of_y++ = ys;
  }
}

template <bool kGoesOn>
FOVEA_INLINE void MultiplyKeys(const int8_t* x, const int8_t* y, const KeyBytes& keys, size_t chunks, uint32_t count,
                               int32_t* of_x, int32_t* of_y) {
  if (chunks == 4) return MultiplyTwo<4, kGoesOn, true>(x, y, keys, count, of_x, of_y);
  if (chunks == 3) return MultiplyTwo<3, kGoesOn, true>(x, y, keys, count, of_x, of_y);
  if (chunks == 2) return MultiplyTwo<2, kGoesOn, true>(x, y, keys, count, of_x, of_y);
  MultiplyTwo<1, kGoesOn, true>(x, y, keys, count, of_x, of_y);
}

// What scores begin with where queries have a zero point: less that times the sum of the key.
FOVEA_CALLED void BringKeyStarts(const IntegerBlock& b, const IntegerTile& t) {
  const int8_t* key = t.keys;
  for (uint32_t j = 0; j < t.count; ++j, key += b.key_stride) {
    int32_t sum = 0;
    for (size_t e = 0; e < b.head_dim; e += 16) {
      const size_t left = b.head_dim - e;
      sum = whole::AddAll(dot::LoadSomeBytes(key + e, left < 16 ? left : 16), sum);
    }
    KeyStarts(b)[j] = -b.q_zero * sum;
  }
}

FOVEA_CALLED void Scores(const IntegerBlock& b, const IntegerTile& t) {
  if (b.q_zero != 0) BringKeyStarts(b, t);
  for (uint32_t r = 0; r < b.padded; r += 2) {
    int32_t *const of_x = ScoresOf(b, r), *const of_y = ScoresOf(b, r + 1);
    const int8_t *const x = QueryCodes(b, r), *const y = QueryCodes(b, r + 1);
    bool goes_on = b.q_zero != 0;
    if (goes_on) {
      __builtin_memcpy(of_x, KeyStarts(b), t.count * sizeof(int32_t));
      __builtin_memcpy(of_y, KeyStarts(b), t.count * sizeof(int32_t));
    }
    for (size_t d = 0; d < b.head_dim; d += 64, goes_on = true) {
      const size_t left = b.head_dim - d, chunks = left < 64 ? (left + 15) / 16 : 4;
      const KeyBytes keys = {t.keys + d, b.key_stride, left < 64 ? left - 16 * (chunks - 1) : 16};
      if (goes_on) {
        MultiplyKeys<true>(x + d, y + d, keys, chunks, t.count, of_x, of_y);
      } else {
        MultiplyKeys<false>(x + d, y + d, keys, chunks, t.count, of_x, of_y);
      }
    }
  }
}

// Keys behind the last are the last again: their weights are 0.
FOVEA_CALLED void BringValues(const IntegerBlock& b, const IntegerTile& t) {
  int32_t* const starts = ValueStarts(b);
  __builtin_memset(starts, 0, b.sum_stride() * sizeof(int32_t));
  int8_t* to = PackedValues(b);
  for (uint32_t first = 0; first < t.count; first += 16, to += 16 * b.sum_stride()) {
    const int8_t* row[16];
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t key = first + i < t.count ? first + i : t.count - 1;
      row[i] = t.values + ptrdiff_t(key) * b.value_stride;
    }
    for (size_t e = dot::PackGroup(row, b.value_dim, to, starts); e < b.value_dim; ++e) {
      for (int i = 0; i < 16; ++i) {
        to[16 * e + size_t(i)] = row[i][e];
        starts[e] += 128 * row[i][e];
      }
    }
  }
}

FOVEA_CALLED void Values(const IntegerBlock& b, const IntegerTile& t) {
  BringValues(b, t);
  int32_t *const of_x = SumsOfTwoRows(b), *const of_y = of_x + b.sum_stride();
  const int32_t* const starts = ValueStarts(b);
  const int8_t* const packed = PackedValues(b);
  const size_t group = 16 * b.sum_stride();
  for (uint32_t r = 0; r < b.count; r += 2) {
    const ValueBytes values = {{packed, packed + group, packed + 2 * group, packed + 3 * group}};
    const int8_t *const x = WeightCodes(b, r), *const y = WeightCodes(b, r + 1);
    const uint32_t chunks = (t.count + 15) / 16;
    if (chunks == 4) {
      MultiplyTwo<4, false, false>(x, y, values, b.value_dim, of_x, of_y);
    } else if (chunks == 3) {
      MultiplyTwo<3, false, false>(x, y, values, b.value_dim, of_x, of_y);
    } else if (chunks == 2) {
      MultiplyTwo<2, false, false>(x, y, values, b.value_dim, of_x, of_y);
    } else {
      MultiplyTwo<1, false, false>(x, y, values, b.value_dim, of_x, of_y);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      const IntegerRow& row = b.arrays.rows[r + i];
      const int32_t* const of_tile = i == 0 ? of_x : of_y;
      int32_t* const sums = SumsOf(b, r + i);
      for (size_t e = 0; e < b.value_dim; e += whole::kLanes) {
        TakeUp(row, whole::Add(whole::Load(of_tile + e), whole::Load(starts + e)), sums + e);
      }
    }
  }
}
