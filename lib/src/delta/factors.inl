// SPDX-License-Identifier: Apache-2.0
//
// The factors for one element of the keys. The pass over S multiplies by them. kFactors: apart from the decay.

template <uint32_t kFactors>
struct FactorsOfKey {
  const float* at;

  inline __attribute__((always_inline)) VF Mul(uint32_t i, VF a) const {
    return hn::Mul(a, hn::Set(kF, at[i * kFactorStride]));
  }
  inline __attribute__((always_inline)) VF MulAdd(uint32_t i, VF a, VF c) const {
    return hn::MulAdd(a, hn::Set(kF, at[i * kFactorStride]), c);
  }
};
