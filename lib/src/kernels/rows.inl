// SPDX-License-Identifier: Apache-2.0
//
// Rows of a tile in the caller's arrays: found by walking token by token, and turned from row-major to one lane a row.

// Elements from the first row of the call to row r of the tile; r beyond the live rows means the last one.
FOVEA_INLINE ptrdiff_t RowOffset(const QueryTile& t, size_t r, ptrdiff_t token_stride, ptrdiff_t head_stride) {
  const size_t row = t.first_head + (r < t.live ? r : t.live - 1);
  return ptrdiff_t(t.first_token + row / t.group) * token_stride + ptrdiff_t(row % t.group) * head_stride;
}

// Pointers of kLanes consecutive rows, the last live one repeated.
template <class T>
struct LaneRows {
  T* at[kLanes];
};

// Walks the rows of a tile from the first on; call Next once for each vector of rows.
template <class T>
struct RowWalk {
  T* token;
  ptrdiff_t token_stride, head_stride;
  uint32_t group, head, left;

  FOVEA_INLINE RowWalk Of(const QueryTile& t, const RowArray<T>& a) {
    return {a.data + ptrdiff_t(t.first_token) * a.token_stride, a.token_stride, a.head_stride, t.group, t.first_head, t.live};
  }
  inline __attribute__((always_inline)) LaneRows<T> Next() {
    LaneRows<T> rows;
    T* row = token + ptrdiff_t(head) * head_stride;
    for (size_t i = 0; i < kLanes; ++i) {
      rows.at[i] = row;
      if (left <= 1) continue;
      --left;
      if (++head == group) {
        head = 0;
        token += token_stride;
      }
      row = token + ptrdiff_t(head) * head_stride;
    }
    return rows;
  }
};

// lanes[i] = element d + i of the kLanes rows, for i < n.
FOVEA_INLINE void LoadTransposed(const LaneRows<const float>& rows, size_t d, size_t n, VF (&lanes)[kLanes]) {
  if (n == kLanes) {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = hn::LoadU(kF, rows.at[i] + d);
  } else {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = hn::LoadN(kF, rows.at[i] + d, n);
  }
  hn::Transpose(lanes);
}

// The reverse: element d + i of the first `live` rows = lanes[i], for i < n. lanes is destroyed.
FOVEA_INLINE void StoreTransposed(VF (&lanes)[kLanes], const LaneRows<float>& rows, size_t live, size_t d, size_t n) {
  hn::Transpose(lanes);
  if (n == kLanes && live >= kLanes) {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) hn::StoreU(lanes[i], kF, rows.at[i] + d);
  } else {
    FOVEA_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) {
      if (i < live) hn::StoreN(lanes[i], kF, rows.at[i] + d, n);
    }
  }
}
