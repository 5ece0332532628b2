// SPDX-License-Identifier: Apache-2.0
//
// factors.inl for processors that multiply a vector by a lane of another, as AArch64 does: a load reads four factors.

template <uint32_t kFactors>
struct FactorsOfKey {
  const float* at;
  VF four[kFactors / kLanes];

  inline __attribute__((always_inline)) explicit FactorsOfKey(const float* f) : at(f) {
    FOVEA_UNROLL(4)
    for (uint32_t i = 0; i < kFactors / kLanes; ++i) four[i] = hn::LoadU(kF, f + i * kLanes);
  }
  inline __attribute__((always_inline)) VF Mul(uint32_t i, VF a) const { return hn::Mul(a, hn::Set(kF, at[i])); }
  inline __attribute__((always_inline)) VF MulAdd(uint32_t i, VF a, VF c) const {
    switch (i % kLanes) {
      case 0: return hn::MulAddLane<0>(a, four[i / kLanes], c);
      case 1: return hn::MulAddLane<1>(a, four[i / kLanes], c);
      case 2: return hn::MulAddLane<2>(a, four[i / kLanes], c);
      default: return hn::MulAddLane<3>(a, four[i / kLanes], c);
    }
  }
};
