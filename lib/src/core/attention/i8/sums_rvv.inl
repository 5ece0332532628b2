// SPDX-License-Identifier: Apache-2.0
//
// What becomes of sums for RISC-V: one instruction takes a group of one, two or four registers.
#ifndef FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_
#define FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_

#include "core/attention/i8/products.inl"

template <class Dot>
struct I8Sums<Dot, kDotVwmacc> {
  using Sum = typename Dot::Sum;

  // The sums from vector kFirst on, as floats; and the numbers of a vector for each of them.
  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE hn::Floats<kWide> FloatsOf(const Sum (&sums)[kVectors]) {
    return __builtin_convertvector(hn::raw::Load<hn::Ints<kWide>>(&sums[kFirst]), hn::Floats<kWide>);
  }
  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE hn::Floats<kWide> Some(const VF (&v)[kVectors]) {
    return hn::raw::Load<hn::Floats<kWide>>(&v[kFirst]);
  }

  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE void StoreSomeScores(const Sum (&sums)[kVectors], float key_scale, const VF (&query_scale)[kVectors],
                                    float* scores) {
    const auto products = FloatsOf<kFirst, kWide>(sums) * key_scale * Some<kFirst, kWide>(query_scale);
    __builtin_memcpy(scores + kFirst * kLanes, &products, sizeof products);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE void StoreScores(const Sum (&sums)[kRows][kVectors], int k, float key_scale,
                                const VF (&query_scale)[kVectors], float* scores) {
    if constexpr (kVectors == 3) {
      StoreSomeScores<0, 2>(sums[k], key_scale, query_scale, scores);
      StoreSomeScores<2, 1>(sums[k], key_scale, query_scale, scores);
    } else {
      StoreSomeScores<0, kVectors>(sums[k], key_scale, query_scale, scores);
    }
  }

  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE void AddSomeOutputs(const Sum (&sums)[kVectors], const VF (&rescale)[kVectors],
                                   const VF (&factor)[kVectors], float* o) {
    using Floats = hn::Floats<kWide>;
    const Floats old = hn::raw::Load<Floats>(o + kFirst * kLanes) * Some<kFirst, kWide>(rescale);
    const Floats sum = old + FloatsOf<kFirst, kWide>(sums) * Some<kFirst, kWide>(factor);
    __builtin_memcpy(o + kFirst * kLanes, &sum, sizeof sum);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE void AddOutputs(const Sum (&sums)[kRows][kVectors], int k, const VF (&rescale)[kVectors],
                               const VF (&factor)[kVectors], float* o) {
    if constexpr (kVectors == 3) {
      AddSomeOutputs<0, 2>(sums[k], rescale, factor, o);
      AddSomeOutputs<2, 1>(sums[k], rescale, factor, o);
    } else {
      AddSomeOutputs<0, kVectors>(sums[k], rescale, factor, o);
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_
