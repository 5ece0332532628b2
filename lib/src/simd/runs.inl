// SPDX-License-Identifier: Apache-2.0
//
// Words for several adjacent vectors, for the backend headers whose processors have nothing better.

template <size_t n>
FOVEA_INLINE void LoadNext(const float*& p, VF (&v)[n]) {
  FOVEA_UNROLL(8)
  for (size_t i = 0; i < n; ++i) v[i] = LoadU(kF, p + i * kLanes);
  p += n * kLanes;
}
template <size_t n>
FOVEA_INLINE void StoreNextMulAdd(VF (&v)[n], const float*& b, const float*& c, float*& p) {
  FOVEA_UNROLL(8)
  for (size_t i = 0; i < n; ++i) {
    StoreU(MulAdd(v[i], LoadU(kF, b + i * kLanes), LoadU(kF, c + i * kLanes)), kF, p + i * kLanes);
  }
  b += n * kLanes, c += n * kLanes, p += n * kLanes;
}
