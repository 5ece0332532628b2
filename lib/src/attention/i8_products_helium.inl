// SPDX-License-Identifier: Apache-2.0
//
// The products of i8_products.inl for Helium, whose sums are general registers: of two columns at a time with one row.
// What 64 codes of the columns need stays in registers, but for the last quarter, while the rows pass by.

// The rows of keys, and the elements of values as they were packed.
struct KeyCursor {
  const int8_t* row;
  ptrdiff_t stride;
  template <int kChunk>
  inline __attribute__((always_inline)) dot::Bytes Load() const {
    return dot::LoadBytes(row + 16 * kChunk);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
struct LastOfKeyCursor {
  const int8_t* row;
  ptrdiff_t stride;
  size_t codes;
  template <int>
  inline __attribute__((always_inline)) dot::Bytes Load() const {
    return dot::LoadSomeBytes(row, codes);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
struct ValueCursor {
  const int8_t* group[4];
  template <int kChunk>
  inline __attribute__((always_inline)) dot::Bytes Load() {
    return dot::NextBytes(group[kChunk]);
  }
  inline __attribute__((always_inline)) void Next() {}
};

// sums[row][column] = codes of the columns times those of the rows, kChunks times 16 of them; or += that.
template <int kChunks, bool kGoesOn, class Cursor>
FOVEA_INLINE void MultiplyTwoColumns(const int8_t* x, size_t columns, Cursor rows, uint32_t count, int32_t* sums) {
  constexpr int kKept = kChunks < 4 ? kChunks : 3;
  dot::Bytes a[kKept], b[kKept];
  FOVEA_UNROLL(4)
  for (int c = 0; c < kKept; ++c) {
    a[c] = dot::LoadBytes(x + size_t(c) * columns * 16);
    b[c] = dot::LoadBytes(x + size_t(c) * columns * 16 + 16);
  }
  const int8_t* const last = x + 3 * columns * 16;
  for (; count > 0; --count, rows.Next(), sums += columns) {
    dot::Bytes row = rows.template Load<0>();
    int32_t of_a = kGoesOn ? dot::DotAdd(a[0], row, sums[0]) : dot::Dot(a[0], row);
    int32_t of_b = kGoesOn ? dot::DotAdd(b[0], row, sums[1]) : dot::Dot(b[0], row);
    if constexpr (kChunks > 1) {
      row = rows.template Load<1>();
      of_a = dot::DotAdd(a[1], row, of_a);
      of_b = dot::DotAdd(b[1], row, of_b);
    }
    if constexpr (kChunks > 2) {
      row = rows.template Load<2>();
      of_a = dot::DotAdd(a[2], row, of_a);
      of_b = dot::DotAdd(b[2], row, of_b);
    }
    if constexpr (kChunks > 3) {
      row = rows.template Load<3>();
      of_a = dot::DotAdd(dot::LoadBytes(last), row, of_a);
      of_b = dot::DotAdd(dot::LoadBytes(last + 16), row, of_b);
    }
    sums[0] = of_a;
    sums[1] = of_b;
  }
}
template <int kChunks, bool kGoesOn, class Cursor>
FOVEA_CALLED_TEMPLATE void MultiplyChunks(const int8_t* x, size_t columns, const Cursor& rows, uint32_t count,
                                          int32_t* sums, size_t wanted) {
  for (size_t c = 0; c < wanted; c += 2) MultiplyTwoColumns<kChunks, kGoesOn>(x + 16 * c, columns, rows, count, sums + c);
}

// The sums lie in `s` until they are floats.
FOVEA_INLINE int32_t* Sums(const QueryTile& t) { return reinterpret_cast<int32_t*>(t.s); }

template <bool kGoesOn>
FOVEA_INLINE void MultiplyMost(int chunks, const int8_t* x, size_t columns, const KeyCursor& rows, uint32_t count,
                               int32_t* sums, size_t wanted) {
  if (chunks == 1) return MultiplyChunks<1, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 2) return MultiplyChunks<2, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 3) return MultiplyChunks<3, kGoesOn>(x, columns, rows, count, sums, wanted);
  MultiplyChunks<4, kGoesOn>(x, columns, rows, count, sums, wanted);
}

FOVEA_CALLED void MultiplyKeys(const QueryTile& t, const KeyTile& keys, size_t column, size_t wanted) {
  const size_t columns = t.columns, dim = t.head_dim;
  const int8_t* x = QueryCodes(t) + 16 * column;
  const uint32_t count = keys.end - keys.begin;
  KeyCursor rows = {static_cast<const int8_t*>(keys.keys.data) + ptrdiff_t(keys.begin) * keys.keys.stride,
                    keys.keys.stride};
  int32_t* const sums = Sums(t) + size_t(keys.begin) * columns + column;
  size_t d = 0;
  for (size_t left = dim / 16; left > 0;) {
    const int chunks = left < 4 ? int(left) : 4;
    if (d == 0) {
      MultiplyMost<false>(chunks, x, columns, rows, count, sums, wanted);
    } else {
      MultiplyMost<true>(chunks, x, columns, rows, count, sums, wanted);
    }
    left -= size_t(chunks);
    d += size_t(chunks) * 16;
    x += size_t(chunks) * 16 * columns;
    rows.row += chunks * 16;
  }
  if (d == dim) return;
  const LastOfKeyCursor last = {rows.row, rows.stride, dim - d};
  if (d == 0) {
    MultiplyChunks<1, false>(x, columns, last, count, sums, wanted);
  } else {
    MultiplyChunks<1, true>(x, columns, last, count, sums, wanted);
  }
}

template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  MultiplyKeys(t, keys, column, kVectors * kLanes);
  const size_t columns = t.columns;
  VF query_scale[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) query_scale[v] = hn::LoadU(kF, QueryScales(t) + column + v * kLanes);
  float* s = t.s + size_t(keys.begin) * columns + column;
  const float* key_scale = keys.numbers->key_scale + keys.begin;
  for (uint32_t left = keys.end - keys.begin; left > 0; --left, s += columns, ++key_scale) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF scaled = hn::MulSet(dot::ToFloat(reinterpret_cast<const int32_t*>(s + v * kLanes)), *key_scale);
      hn::StoreU(hn::Mul(scaled, query_scale[v]), kF, s + v * kLanes);
    }
  }
}

FOVEA_CALLED void MultiplyValues(const QueryTile& t, const KeyTile& keys, size_t column, size_t element,
                                 uint32_t count, size_t wanted) {
  const size_t columns = t.columns, group = padded_values(t.value_dim) * 16;
  const size_t first = keys.numbers->begin / 16, end = (keys.numbers->end + 15) / 16;
  const int8_t* const x = WeightCodes(t) + (first * columns + column) * 16;
  const int8_t* const values = static_cast<const int8_t*>(keys.values.data) + first * group + element * 16;
  const ValueCursor rows = {{values, values + group, values + 2 * group, values + 3 * group}};
  int32_t* const sums = Sums(t) + column;
  if (end - first == 1) return MultiplyChunks<1, false>(x, columns, rows, count, sums, wanted);
  if (end - first == 2) return MultiplyChunks<2, false>(x, columns, rows, count, sums, wanted);
  if (end - first == 3) return MultiplyChunks<3, false>(x, columns, rows, count, sums, wanted);
  MultiplyChunks<4, false>(x, columns, rows, count, sums, wanted);
}

// o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e].
template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  const size_t columns = t.columns;
  VF rescale[kVectors], factor[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    rescale[v] = hn::LoadU(kF, t.rescale + column + v * kLanes);
    factor[v] = hn::LoadU(kF, ValueFactors(t) + column + v * kLanes);
  }
  float* o = t.o + column;
  for (size_t element = 0; element < t.value_dim; element += kKeyTile) {
    const uint32_t count = t.value_dim - element < kKeyTile ? uint32_t(t.value_dim - element) : kKeyTile;
    MultiplyValues(t, keys, column, element, count, kVectors * kLanes);
    const int32_t *sums = Sums(t) + column, *start = keys.numbers->value_start + element;
    for (uint32_t left = count; left > 0; --left, sums += columns, o += columns, ++start) {
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const VF sum = dot::ToFloat(sums + v * kLanes, *start);
        const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale[v]);
        hn::StoreU(hn::Add(old, hn::Mul(sum, factor[v])), kF, o + v * kLanes);
      }
    }
  }
}
