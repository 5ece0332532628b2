// SPDX-License-Identifier: Apache-2.0
//
// factors.inl for Helium, which multiplies a vector by a general register.

template <uint32_t kFactors>
struct FactorsOfKey {
  const float* at;

  inline __attribute__((always_inline)) VF Mul(uint32_t i, VF a) const { return hn::Mul(a, hn::Set(kF, at[i])); }
  inline __attribute__((always_inline)) VF MulAdd(uint32_t i, VF a, VF c) const {
    return hn::MulAddScalar(a, at[i], c);
  }
};
