// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the sums of a row of a register block.

// scores[..] = sums * the key's scale * the scales of the queries.
template <int kVectors>
FOVEA_INLINE void StoreScores(const dot::Sum (&sums)[kVectors], float key_scale, const float* query_scales,
                              float* scores) {
  const VF scale = hn::Set(kF, key_scale);
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF query_scale = hn::LoadU(kF, query_scales + v * kLanes);
    hn::StoreU(hn::Mul(hn::Mul(dot::ToFloat(sums[v]), scale), query_scale), kF, scores + v * kLanes);
  }
}

// o[..] = o * rescale + sums * factors
template <int kVectors>
FOVEA_INLINE void AddOutputs(const dot::Sum (&sums)[kVectors], const float* rescales, const float* factors, float* o) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF rescale = hn::LoadU(kF, rescales + v * kLanes);
    const VF factor = hn::LoadU(kF, factors + v * kLanes);
    const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale);
    hn::StoreU(hn::Add(old, hn::Mul(dot::ToFloat(sums[v]), factor)), kF, o + v * kLanes);
  }
}
