// SPDX-License-Identifier: Apache-2.0
//
// What integer products do in another way on RISC-V: one instruction takes a group of one, two or four registers.
#ifndef FOVEA_SRC_ATTENTION_I8_OWN_RVV_INL_
#define FOVEA_SRC_ATTENTION_I8_OWN_RVV_INL_

#include "core/attention/i8/products.inl"
#include "core/attention/i8/softmax.inl"
#include "ground/simd/dot_vwmacc.inl"

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

// whole_block.inl: the four vectors of rows of a tile are one vector of four registers.
namespace of_group {
namespace one_register = fused;
#include "ground/simd/rvv_group.inl"
namespace in_group {
// These texts once more, for these vectors.
#undef FOVEA_SRC_MATH_PLAIN_INL_
#undef FOVEA_SRC_ATTENTION_I8_CODES_INL_
#undef FOVEA_SRC_ATTENTION_I8_WHOLE_BLOCK_INL_
#include "ground/simd/apart.inl"

#include "core/attention/i8/whole_block.inl"

// The words that they need.
struct Words {
  using Code = Vwmacc::Code;
  static constexpr size_t kGroup = Vwmacc::kGroup;
  static constexpr int kBlockVectors = 1;
  FOVEA_INLINE void LoadVectors(const float* p, VF (&v)[1]) { v[0] = hn::LoadU(kF, p); }
  FOVEA_INLINE void StoreVectors(const VF (&v)[1], float* p) { hn::StoreU(v[0], kF, p); }
  // The codes of one key's weights.
  FOVEA_INLINE void StoreWeights(const float*& weights, size_t columns, const VF (&inverse)[1], Code* to) {
    typedef uint8_t Bytes __attribute__((vector_size(kLanes)));
    const VF biased = hn::AddSet(hn::Mul(hn::LoadU(kF, weights), inverse[0]), kRoundingBias);
    const Bytes codes = __builtin_convertvector(hn::BitCast(kI, biased), Bytes);
    __builtin_memcpy(to, &codes, sizeof codes);
    weights += columns;
  }
};
}  // namespace in_group
}  // namespace of_group

template <class Dot>
struct I8Whole<Dot, kDotVwmacc> {
  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    using Block = of_group::in_group::WholeBlock<of_group::in_group::Words>;
    if (kVectors != 4 || !Block::IsWhole(keys)) return false;
    Block::template WeighWhole<1>(t, keys, column);
    return true;
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_OWN_RVV_INL_
