// SPDX-License-Identifier: Apache-2.0
//
// The running softmax of rows between the kernels and a partial state in memory, which is laid out the same for every
// target: a row's maximum, sum and outputs, rows one after the other.

// The rows of the state that a vector of rows from `column` on has; the last live one repeated.
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

// The tile takes up the state.
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

// The reverse, of the live rows.
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

// As Resume and Suspend, for the few-rows kernel. Rows that repeat the last one begin as zeros, which serves as well.
FOVEA_KERNEL void FewResume(const QueryTile& t, const StateRows& state) {
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < t.live; ++r) {
    hn::StoreN(hn::Set(kF, state.max[r]), kF, t.row_max + r * t.row_lanes, t.row_lanes);
    hn::StoreN(hn::Set(kF, state.sum[r]), kF, t.row_sum + r * t.row_lanes, t.row_lanes);
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      hn::StoreU(hn::LoadN(kF, state.o + r * t.value_dim + e, n), kF, t.o + r * padded + e);
    }
  }
}

FOVEA_KERNEL void FewSuspend(const QueryTile& t, const StateRows& state) {
  const size_t padded = PaddedToLanes(t.value_dim);
  for (size_t r = 0; r < t.live; ++r) {
    state.max[r] = t.row_max[r * t.row_lanes];
    state.sum[r] = t.row_sum[r * t.row_lanes];
    for (size_t e = 0; e < t.value_dim; e += kLanes) {
      const size_t n = t.value_dim - e < kLanes ? t.value_dim - e : kLanes;
      hn::StoreN(hn::LoadU(kF, t.o + r * padded + e), kF, state.o + r * t.value_dim + e, n);
    }
  }
}

// into += from, of which the one with the smaller maximum is rescaled.
FOVEA_INLINE void AddRescaled(float* into, const float* from, size_t count, MF from_larger, VF rescale) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    const VF a = hn::LoadN(kF, into + i, n), b = hn::LoadN(kF, from + i, n);
    const VF larger = hn::IfThenElse(from_larger, b, a), smaller = hn::IfThenElse(from_larger, a, b);
    hn::StoreN(hn::MulAdd(smaller, rescale, larger), kF, into + i, n);
  }
}

// Two partial states of the same rows over different keys become one: the smaller maximum is brought to the larger.
// Which of them is `into` does not show in the result.
FOVEA_KERNEL void MergeStates(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim) {
  for (size_t r = 0; r < rows; ++r) {
    const VF a = hn::Set(kF, into.max[r]), b = hn::Set(kF, from.max[r]);
    const MF from_larger = hn::Lt(a, b);
    const VF larger = hn::IfThenElse(from_larger, b, a), smaller = hn::IfThenElse(from_larger, a, b);
    const VF shift = hn::IfThenZeroElse(hn::Eq(larger, hn::Set(kF, -kInfinity)), larger);
    const VF rescale = Exp2(hn::Sub(smaller, shift));
    AddRescaled(into.o + r * value_dim, from.o + r * value_dim, value_dim, from_larger, rescale);
    AddRescaled(into.sum + r, from.sum + r, 1, from_larger, rescale);
    // Whichever of them is NaN, the maximum is.
    hn::StoreN(hn::IfThenElse(hn::Eq(b, b), larger, b), kF, into.max + r, 1);
  }
}

constexpr StreamKernels kStreamKernels = {{Resume, Suspend}, {FewResume, FewSuspend}, MergeStates};
