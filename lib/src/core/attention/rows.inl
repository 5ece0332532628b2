// SPDX-License-Identifier: Apache-2.0
//
// Finds the rows of a tile in the caller's arrays, token by token, and transposes them so that each row is a lane.
#ifndef FOVEA_SRC_ATTENTION_ROWS_INL_
#define FOVEA_SRC_ATTENTION_ROWS_INL_

#include "ground/formats/rows.inl"

// The queries of a tile, where the products read floats.
FOVEA_INLINE float* FloatQueries(const QueryTile& t) { return static_cast<float*>(t.q); }

// The room for a row of the few-rows kernel.
FOVEA_INLINE size_t PaddedToLanes(size_t dim) { return (dim + kLanes - 1) / kLanes * kLanes; }

// Elements from the first row of the call to row r of the tile; r beyond the live rows means the last one.
FOVEA_INLINE ptrdiff_t OffsetOfRow(const QueryTile& t, size_t r, ptrdiff_t token_stride, ptrdiff_t head_stride) {
  const size_t row = t.first_head + (r < t.live ? r : t.live - 1);
  return ptrdiff_t(t.first_token + row / t.group) * token_stride + ptrdiff_t(row % t.group) * head_stride;
}
#if FOVEA_SHARES_STEPS
FOVEA_INLINE ptrdiff_t RowOffset(const QueryTile& t, size_t r, ptrdiff_t token_stride, ptrdiff_t head_stride) {
  return FOVEA_COMMON_NAMESPACE::step_kernels::row_offset(t, r, token_stride, head_stride);
}
#else
FOVEA_SHARED ptrdiff_t RowOffset(const QueryTile& t, size_t r, ptrdiff_t token_stride, ptrdiff_t head_stride) {
  return OffsetOfRow(t, r, token_stride, head_stride);
}
#endif

// The same for a column.
FOVEA_INLINE size_t LiveColumn(const QueryTile& t, size_t column) { return column < t.live ? column : t.live - 1; }

// Pointers of the kLanes rows from `column` on, the last live one repeated.
template <class T>
struct LaneRows {
  T* at[kLanes];
};

template <class T>
FOVEA_INLINE LaneRows<T> RowsOf(const QueryTile& t, const RowArray<T>& a, size_t column) {
  LaneRows<T> rows;
  if constexpr (kSizeCounts) {
    for (size_t i = 0; i < kLanes; ++i) rows.at[i] = a.data + RowOffset(t, column + i, a.token_stride, a.head_stride);
    return rows;
  }
  const size_t first = t.first_head + LiveColumn(t, column);
  uint32_t head = uint32_t(first % t.group);
  T* token = a.data + ptrdiff_t(t.first_token + first / t.group) * a.token_stride;
  T* row = token + ptrdiff_t(head) * a.head_stride;
  for (size_t i = 0; i < kLanes; ++i) {
    rows.at[i] = row;
    if (column + i + 1 >= t.live) continue;
    if (++head == t.group) {
      head = 0;
      token += a.token_stride;
    }
    row = token + ptrdiff_t(head) * a.head_stride;
  }
  return rows;
}

// The heads, counted from first_head, and the tokens of the kLanes rows from `column` on, the last live one repeated.
FOVEA_SHARED void PlacesOfLanes(const QueryTile& t, size_t column, uint32_t first_head, uint32_t (&heads)[kLanes],
                                uint32_t (&tokens)[kLanes]) {
  const size_t first = t.first_head + LiveColumn(t, column);
  uint32_t head = uint32_t(first % t.group), token = t.first_token + uint32_t(first / t.group);
  for (size_t i = 0; i < kLanes; ++i) {
    heads[i] = first_head + head;
    tokens[i] = token;
    if (column + i + 1 < t.live && ++head == t.group) head = 0, ++token;
  }
}
FOVEA_INLINE void PlacesOf(const QueryTile& t, size_t column, uint32_t first_head, uint32_t (&heads)[kLanes],
                           uint32_t (&tokens)[kLanes]) {
  if constexpr (kLanes == 1) {  // not called: it is below the deepest calls
    heads[0] = first_head + uint32_t((t.first_head + column) % t.group);
    tokens[0] = t.first_token + uint32_t((t.first_head + column) / t.group);
  } else {
    PlacesOfLanes(t, column, first_head, heads, tokens);
  }
}

// The keys of a tile that a vector of rows may see. False if none.
FOVEA_INLINE bool ClipTo(const QueryTile& t, size_t first_row, size_t last_row, KeySpan* keys) {
  // Limits grow with the row; those of the first and last lane bound all.
  const int32_t first = int32_t(keys->first);
  const int32_t some_lo = row_lo(t)[first_row] - first, all_lo = row_lo(t)[last_row] - first;
  const int32_t all_hi = row_hi(t)[first_row] - first, some_hi = row_hi(t)[last_row] - first;
  if (some_lo > int32_t(keys->begin)) keys->begin = uint32_t(some_lo) / kKeyGrain * kKeyGrain;
  if (some_hi < int32_t(keys->end)) keys->end = some_hi > 0 ? uint32_t(some_hi) : 0;
  keys->edge = kEdgeHides && (all_lo > int32_t(keys->begin) || all_hi < int32_t(keys->end));
  // Read at an edge alone: from `begin` on, it is all_hi < end that makes an edge.
  keys->seen = all_lo <= int32_t(keys->begin) && all_hi > 0 ? uint32_t(all_hi) : 0;
  return some_lo < some_hi && keys->begin < keys->end;
}
FOVEA_INLINE bool ClipToRows(const QueryTile& t, size_t first_row, size_t last_row, KeySpan* keys) {
#if FOVEA_SHARES_STEPS
  return FOVEA_COMMON_NAMESPACE::step_kernels::clip_to_rows(t, first_row, last_row, keys);
#else
  return ClipTo(t, first_row, last_row, keys);
#endif
}

// Rows of a format that is known only at run time, with strides in bytes.
FOVEA_INLINE RowArray<char> BytesOf(const TypedRows& rows) {
  return {static_cast<char*>(rows.data), rows.token_stride, rows.head_stride};
}

// lanes[i] = element d + i of the kLanes rows, for i < n.
FOVEA_INLINE void LoadTransposed(const LaneRows<const float>& rows, size_t d, size_t n, VF (&lanes)[kLanes]) {
  hn::LoadTransposed(rows.at, d, n, lanes);
}

// The reverse: element d + i of the first `live` rows = lanes[i], for i < n. lanes is destroyed.
FOVEA_INLINE void StoreTransposed(VF (&lanes)[kLanes], const LaneRows<float>& rows, size_t live, size_t d, size_t n) {
  hn::StoreTransposed(lanes, rows.at, live, d, n);
}

// The same for rows of a format that is known only at run time.
FOVEA_INLINE void LoadTransposedAs(const char* const* rows, fovea_dtype dtype, size_t d, size_t n,
                                   VF (&lanes)[kLanes]) {
  if (!is_f32<kUnscaledFormats>(dtype)) {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = LoadPart(dtype, rows[i], d, n);
    return hn::Transpose(lanes);
  }
  LaneRows<const float> f32;
  for (size_t i = 0; i < kLanes; ++i) f32.at[i] = reinterpret_cast<const float*>(rows[i]);
  LoadTransposed(f32, d, n, lanes);
}
FOVEA_SHARED void LoadTransposedHere(const char* const* rows, fovea_dtype dtype, size_t d, size_t n,
                                     VF (&lanes)[kLanes]) {
  LoadTransposedAs(rows, dtype, d, n, lanes);
}
FOVEA_INLINE void LoadTransposed(const char* const* rows, fovea_dtype dtype, size_t d, size_t n, VF (&lanes)[kLanes]) {
#if FOVEA_SHARES_STEPS
  if (kLanes > 1) return FOVEA_COMMON_NAMESPACE::step_kernels::load_transposed(rows, dtype, d, n, lanes);
#endif
  LoadTransposedHere(rows, dtype, d, n, lanes);
}
FOVEA_INLINE void StoreTransposed(VF (&lanes)[kLanes], const LaneRows<char>& rows, fovea_dtype dtype, size_t live,
                                  size_t d, size_t n) {
  if (!is_f32<kUnscaledFormats>(dtype)) {
    hn::Transpose(lanes);
    for (size_t i = 0; i < live; ++i) StorePart(dtype, lanes[i], rows.at[i], d, n);
    return;
  }
  LaneRows<float> f32;
  for (size_t i = 0; i < kLanes; ++i) f32.at[i] = reinterpret_cast<float*>(rows.at[i]);
  StoreTransposed(lanes, f32, live, d, n);
}

// Vectors of a row of the caller's, times the factor, stored `step` floats apart; lanes past the end are 0. Here and
// below the format is asked for outside of the loop, and whole vectors are known to be whole. Where size counts, one
// loop serves all formats but f32.
template <fovea_dtype kType>
FOVEA_INLINE void LoadScaledRowOf(const void* row, size_t dim, VF factor, float* to, size_t step) {
  const auto elements = FormatRow<kType>::Of(row, nullptr);
  constexpr size_t kAtOnce = kSizeCounts || kLanes == 1 ? 1 : 4;
  size_t d = 0;
  FOVEA_UNROLL_LONG_LOOP(kLanes == 1 ? 4 : 1)
  for (; d + kAtOnce * kLanes <= dim; d += kAtOnce * kLanes, to += kAtOnce * step) {
    FOVEA_EACH(i, kAtOnce) hn::StoreU(hn::Mul(elements.Whole(d + i * kLanes), factor), kF, to + i * step);
  }
  for (; kAtOnce > 1 && d + kLanes <= dim; d += kLanes, to += step) {
    hn::StoreU(hn::Mul(elements.Whole(d), factor), kF, to);
  }
  if (kLanes > 1 && d < dim) hn::StoreU(hn::Mul(elements.Part(d, dim - d), factor), kF, to);
}
FOVEA_INLINE void LoadScaledRow(fovea_dtype dtype, const void* row, size_t dim, VF factor, float* to, size_t step) {
  if constexpr (kSizeCounts) {
    if (kPlainFormats != kOnlyF32 && dtype == FOVEA_F32) return LoadScaledRowOf<FOVEA_F32>(row, dim, factor, to, step);
    for (size_t d = 0; d < dim; d += kLanes, to += step) {
      hn::StoreU(hn::Mul(LoadPart<kPlainFormats>(dtype, row, d, LanesBefore(d, dim)), factor), kF, to);
    }
  } else {
    FOVEA_WITH_FORMAT(kUnscaledFormats, dtype, LoadScaledRowOf<kType>(row, dim, factor, to, step));
  }
}

// The reverse: stores vectors that are `step` floats apart, times the factor, as a row. It is 0 if `empty`.
FOVEA_INLINE VF ScaledOrZero(const float* from, VF factor, MF empty) {
  return hn::IfThenZeroElse(empty, hn::Mul(hn::LoadU(kF, from), factor));
}
template <fovea_dtype kType>
FOVEA_INLINE void StoreScaledRowOf(const float* from, size_t step, VF factor, MF empty, void* row, size_t dim) {
  size_t d = 0;
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; d + kLanes <= dim; d += kLanes, from += step) {
    FormatRow<kType>::StoreWhole(ScaledOrZero(from, factor, empty), row, d);
  }
  if (kLanes > 1 && d < dim) FormatRow<kType>::StorePart(ScaledOrZero(from, factor, empty), row, d, dim - d);
}
FOVEA_INLINE void StoreScaledRow(fovea_dtype dtype, const float* from, size_t step, VF factor, MF empty, void* row,
                                 size_t dim) {
  if constexpr (kSizeCounts) {
    if (kPlainFormats != kOnlyF32 && dtype == FOVEA_F32) {
      return StoreScaledRowOf<FOVEA_F32>(from, step, factor, empty, row, dim);
    }
    for (size_t d = 0; d < dim; d += kLanes, from += step) {
      StorePart<kPlainFormats>(dtype, ScaledOrZero(from, factor, empty), row, d, LanesBefore(d, dim));
    }
  } else {
    FOVEA_WITH_FORMAT(kUnscaledFormats, dtype, StoreScaledRowOf<kType>(from, step, factor, empty, row, dim));
  }
}

FOVEA_INLINE void ZeroVectors(float* p, size_t vectors) {
  constexpr size_t kAtOnce = kSizeCounts ? 1 : 8;
  for (; vectors >= kAtOnce; vectors -= kAtOnce) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < kAtOnce; ++i, p += kLanes) hn::StoreU(hn::Zero(kF), kF, p);
  }
  for (; vectors > 0; --vectors, p += kLanes) hn::StoreU(hn::Zero(kF), kF, p);
}

// The running softmax of one vector of rows, before their first key.
FOVEA_INLINE void BeginSoftmax(const QueryTile& t, size_t column) {
  hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
  hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
}

#endif  // FOVEA_SRC_ATTENTION_ROWS_INL_
