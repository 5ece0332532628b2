// SPDX-License-Identifier: Apache-2.0
//
// What becomes of sums for RISC-V: one instruction takes a group of one, two or four registers.
#ifndef FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_
#define FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_

#include "core/attention/i8/products.inl"

template <class Dot>
struct I8Sums<Dot, kDotVwmacc> {
  using Sum = typename Dot::Sum;

  // The sums from vector kFirst on, as floats.
  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE hn::Floats<kWide> FloatsOf(const Sum (&sums)[kVectors]) {
    return __builtin_convertvector(hn::raw::Load<hn::Ints<kWide>>(&sums[kFirst]), hn::Floats<kWide>);
  }

  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE void StoreSomeScores(const Sum (&sums)[kVectors], float key_scale, const float* query_scales,
                                    float* scores) {
    const auto query_scale = hn::raw::Load<hn::Floats<kWide>>(query_scales + kFirst * kLanes);
    const auto products = FloatsOf<kFirst, kWide>(sums) * key_scale * query_scale;
    __builtin_memcpy(scores + kFirst * kLanes, &products, sizeof products);
  }
  template <int kVectors>
  FOVEA_INLINE void StoreScores(const Sum (&sums)[kVectors], float key_scale, const float* query_scales,
                                float* scores) {
    if constexpr (kVectors == 3) {
      StoreSomeScores<0, 2>(sums, key_scale, query_scales, scores);
      StoreSomeScores<2, 1>(sums, key_scale, query_scales, scores);
    } else {
      StoreSomeScores<0, kVectors>(sums, key_scale, query_scales, scores);
    }
  }

  template <int kFirst, int kWide, int kVectors>
  FOVEA_INLINE void AddSomeOutputs(const Sum (&sums)[kVectors], const float* rescales, const float* factors, float* o) {
    using Floats = hn::Floats<kWide>;
    constexpr size_t kAt = kFirst * kLanes;
    const Floats old = hn::raw::Load<Floats>(o + kAt) * hn::raw::Load<Floats>(rescales + kAt);
    const Floats sum = old + FloatsOf<kFirst, kWide>(sums) * hn::raw::Load<Floats>(factors + kAt);
    __builtin_memcpy(o + kAt, &sum, sizeof sum);
  }
  template <int kVectors>
  FOVEA_INLINE void AddOutputs(const Sum (&sums)[kVectors], const float* rescales, const float* factors, float* o) {
    if constexpr (kVectors == 3) {
      AddSomeOutputs<0, 2>(sums, rescales, factors, o);
      AddSomeOutputs<2, 1>(sums, rescales, factors, o);
    } else {
      AddSomeOutputs<0, kVectors>(sums, rescales, factors, o);
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_SUMS_RVV_INL_
