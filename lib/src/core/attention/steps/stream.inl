// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores the running softmax of rows as a partial state in memory. Its layout is the same for every target:
// the maxima, sums and outputs of adjacent rows.
#ifndef FOVEA_SRC_ATTENTION_STEPS_STREAM_INL_
#define FOVEA_SRC_ATTENTION_STEPS_STREAM_INL_

#include "core/attention/rows.inl"

// The outputs in the state of the rows from `column` on, the last live one repeated.
template <class T>
FOVEA_INLINE LaneRows<T> StateRowsOf(const QueryTile& t, const StateRows& state, size_t column) {
  LaneRows<T> rows;
  for (size_t i = 0; i < kLanes; ++i) {
    const size_t row = column + i < t.live ? column + i : t.live - 1;
    rows.at[i] = state.o + row * t.value_dim;
  }
  return rows;
}

FOVEA_INLINE size_t LiveFrom(const QueryTile& t, size_t column) {
  return t.live - column < kLanes ? t.live - column : kLanes;
}

// Loads the state into the tile.
FOVEA_KERNEL void Resume(const QueryTile& t, const StateRows& state) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    const size_t live = column < t.live ? LiveFrom(t, column) : 0;
    hn::StoreU(hn::LoadN(kF, state.max + column, live), kF, t.row_max + column);
    hn::StoreU(hn::LoadN(kF, state.sum + column, live), kF, t.row_sum + column);
    const LaneRows<const float> rows = StateRowsOf<const float>(t, state, column);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      LoadTransposed(rows, e, n, lanes);
      for (size_t i = 0; i < n; ++i) hn::StoreU(lanes[i], kF, t.o + (e + i) * t.columns + column);
    }
  }
}

// Stores the live rows in the state.
FOVEA_KERNEL void Suspend(const QueryTile& t, const StateRows& state) {
  for (size_t column = 0; column < t.live; column += kLanes) {
    const size_t live = LiveFrom(t, column);
    hn::StoreN(hn::LoadU(kF, t.row_max + column), kF, state.max + column, live);
    hn::StoreN(hn::LoadU(kF, t.row_sum + column), kF, state.sum + column, live);
    const LaneRows<float> rows = StateRowsOf<float>(t, state, column);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < n; ++i) lanes[i] = hn::LoadU(kF, t.o + (e + i) * t.columns + column);
      for (size_t i = n; i < kLanes; ++i) lanes[i] = hn::Zero(kF);
      StoreTransposed(lanes, rows, live, e, n);
    }
  }
}

#endif  // FOVEA_SRC_ATTENTION_STEPS_STREAM_INL_
