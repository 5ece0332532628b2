// SPDX-License-Identifier: Apache-2.0
//
// The products of one query row with some keys, for Helium: eight registers have no room for vectors of keys in
// addition to the sums, and loads advance their addresses.
constexpr bool kKeyByKey = true, kVectorsAtOnce = false, kScalarWeights = !kPreferSize;

// sum + weight * x, with the weight in a general register.
FOVEA_INLINE VF AddWeighted(float weight, VF x, VF sum) { return hn::MulAddScalar(x, weight, sum); }

// acc[k] += the products of the first `whole` elements, a multiple of kLanes, in lanes.
template <fovea_dtype kType, uint32_t kKeys>
FOVEA_INLINE void MultiplyKeyByKey(const float* q, size_t whole, FormatRow<kType> (&key)[kKeys], VF (&acc)[kKeys]) {
  if constexpr (kType == FOVEA_F32 || kType == FOVEA_F16) {
    decltype(key[0].data) at[kKeys];
    FOVEA_UNROLL(4)
    for (uint32_t k = 0; k < kKeys; ++k) at[k] = key[k].data;
    for (size_t n = whole / kLanes; n > 0; --n) {
      const VF x = hn::NextVector(q);
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kKeys; ++k) acc[k] = hn::MulAdd(x, hn::NextVector(at[k]), acc[k]);
    }
    // The rest of each key follows: so no register holds its begin during the loop.
    FOVEA_UNROLL(4)
    for (uint32_t k = 0; k < kKeys; ++k) key[k].data = at[k] - whole;
  } else {
    for (size_t d = 0; d < whole; d += kLanes) {
      const VF x = hn::LoadU(kF, q + d);
      FOVEA_UNROLL(4)
      for (uint32_t k = 0; k < kKeys; ++k) acc[k] = hn::MulAdd(x, LoadAs(key[k], d), acc[k]);
    }
  }
}
