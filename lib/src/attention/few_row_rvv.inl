// SPDX-License-Identifier: Apache-2.0
//
// The products of one query row with some keys, for RISC-V: one instruction takes a group of registers. With groups of four
// the compiler spills some.
constexpr bool kKeyByKey = true, kVectorsAtOnce = true;

// acc[k] += the products of the first `whole` elements, a multiple of kLanes, in lanes.
template <fovea_dtype kType, uint32_t kKeys>
FOVEA_INLINE void MultiplyKeyByKey(const float* q, size_t whole, const FormatRow<kType> (&key)[kKeys],
                                   VF (&acc)[kKeys]) {
  size_t d = 0;
  if constexpr (kType == FOVEA_F32) {
    VF sums[kKeys][2];
    FOVEA_UNROLL(4)
    for (uint32_t k = 0; k < kKeys; ++k) sums[k][0] = acc[k], sums[k][1] = hn::Zero(kF);
    for (; d + 2 * kLanes <= whole; d += 2 * kLanes) {
      VF x[2];
      hn::LoadVectors(q + d, x);
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kKeys; ++k) hn::MulAddVectors(x, key[k].data + d, sums[k]);
    }
    FOVEA_UNROLL(4)
    for (uint32_t k = 0; k < kKeys; ++k) acc[k] = hn::Add(sums[k][0], sums[k][1]);
  }
  for (; d < whole; d += kLanes) {
    const VF x = hn::LoadU(kF, q + d);
    FOVEA_UNROLL(4)
    for (uint32_t k = 0; k < kKeys; ++k) acc[k] = hn::MulAdd(x, LoadAs(key[k], d), acc[k]);
  }
}

// sums[..] += weight * the elements of a value from `element` on.
template <fovea_dtype kType, int kVectors>
FOVEA_INLINE void AddValueVectors(float weight, const FormatRow<kType>& value, size_t element, VF (&sums)[kVectors]) {
  hn::MulAddVectors(weight, value.data + element, sums);
}
