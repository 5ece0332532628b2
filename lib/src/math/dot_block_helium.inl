// SPDX-License-Identifier: Apache-2.0
//
// The register blocks of dot_block.inl for Helium, whose sums are in general registers: two columns at a time with one
// row. Of 64 codes of the columns, the first 48 stay in registers for all rows.

// Cursors over rows in place, over the last codes of such rows, and over elements of packed values.
struct CodeCursor {
  const int8_t* row;
  ptrdiff_t stride;
  template <int kChunk>
  inline __attribute__((always_inline)) dot::Bytes Load() const {
    return dot::LoadBytes(row + 16 * kChunk);
  }
  inline __attribute__((always_inline)) void Next() { row += stride; }
};
struct LastCodesCursor {
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

// sums[row][column] = codes of the columns times those of the rows, 16 * kChunks of them; += if kGoesOn.
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
  for (size_t c = 0; c < wanted; c += 2)
    MultiplyTwoColumns<kChunks, kGoesOn>(x + 16 * c, columns, rows, count, sums + c);
}

template <bool kGoesOn>
FOVEA_INLINE void MultiplyMost(int chunks, const int8_t* x, size_t columns, const CodeCursor& rows, uint32_t count,
                               int32_t* sums, size_t wanted) {
  if (chunks == 1) return MultiplyChunks<1, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 2) return MultiplyChunks<2, kGoesOn>(x, columns, rows, count, sums, wanted);
  if (chunks == 3) return MultiplyChunks<3, kGoesOn>(x, columns, rows, count, sums, wanted);
  MultiplyChunks<4, kGoesOn>(x, columns, rows, count, sums, wanted);
}

// sums[row][column] = codes of `wanted` columns times `count` rows of dim codes; += if goes_on.
FOVEA_CALLED void MultiplyRows(const int8_t* x, size_t columns, CodeCursor rows, uint32_t count, size_t dim,
                               bool goes_on, int32_t* sums, size_t wanted) {
  for (size_t left = dim / 16; left > 0; goes_on = true) {
    const int chunks = left < 4 ? int(left) : 4;
    if (goes_on) {
      MultiplyMost<true>(chunks, x, columns, rows, count, sums, wanted);
    } else {
      MultiplyMost<false>(chunks, x, columns, rows, count, sums, wanted);
    }
    left -= size_t(chunks);
    x += size_t(chunks) * 16 * columns;
    rows.row += chunks * 16;
  }
  if (dim % 16 == 0) return;
  const LastCodesCursor last = {rows.row, rows.stride, dim % 16};
  if (goes_on) {
    MultiplyChunks<1, true>(x, columns, last, count, sums, wanted);
  } else {
    MultiplyChunks<1, false>(x, columns, last, count, sums, wanted);
  }
}
