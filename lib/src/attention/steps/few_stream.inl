// SPDX-License-Identifier: Apache-2.0
//
// stream.inl for the few-rows kernel.

// Like Resume and Suspend. Rows that repeat the last one are not restored: their results are not used.
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
