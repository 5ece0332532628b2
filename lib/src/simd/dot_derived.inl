// SPDX-License-Identifier: Apache-2.0
//
// Words of the few-rows kernel for dot headers that have nothing better.

// p[0], p[1] and so on, repeated in the lanes of each row.
template <int kHave>
FOVEA_INLINE VF Repeated(VF v) {
  if constexpr (kHave == int(kLanes)) {
    return v;
  } else {
    return Repeated<2 * kHave>(hn::Add(v, hn::SwapLanes<kHave>(v)));
  }
}
template <int kRows>
FOVEA_INLINE VF LoadForEachRow(const float* p) {
  if constexpr (kRows == 1) return hn::LoadU(kF, p);
  return Repeated<int(kLanes) / kRows>(hn::LoadN(kF, p, kLanes / kRows));
}
