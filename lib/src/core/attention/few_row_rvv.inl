// SPDX-License-Identifier: Apache-2.0
//
// The products of one query row with some keys, and the weights of few rows, for RISC-V: one instruction takes a group
// of registers. With groups of four in MultiplyKeyByKey the compiler spills some.
#ifndef FOVEA_SRC_ATTENTION_FEW_ROW_RVV_INL_
#define FOVEA_SRC_ATTENTION_FEW_ROW_RVV_INL_

#include "core/attention/few_block.inl"
#include "ground/math/math.inl"

constexpr bool kKeyByKey = true, kVectorsAtOnce = true, kScalarWeights = false, kWidensPairs = false;
FOVEA_INLINE VF AddWeighted(float, VF, VF sum) { return sum; }  // never called

// acc[k] += the products of the first `whole` elements, a multiple of kLanes, in lanes.
template <fovea_dtype kType, uint32_t kKeys>
FOVEA_INLINE void MultiplyKeyByKey(const float* q, size_t whole, const FormatRow<kType> (&key)[kKeys],
                                   VF (&acc)[kKeys]) {
  for (size_t d = 0; d < whole; d += kLanes) {
    const VF x = hn::LoadU(kF, q + d);
    FOVEA_EACH(k, kKeys) acc[k] = hn::MulAdd(x, LoadAs(key[k], d), acc[k]);
  }
}

// sums[k] begins or goes on with the products of four vectors of the query row and of keys that are `stride` apart. No
// load moves to before that of another key, so that all sums stay in registers. Returns where the next key is.
template <bool kBegins, size_t kKeys>
FOVEA_INLINE const float* MultiplyFour(const float* q, const float* key, ptrdiff_t stride,
                                       hn::Floats<2> (&sums)[kKeys]) {
  using Two = hn::Floats<2>;
  const Two x0 = hn::raw::Load<Two>(q), x1 = hn::raw::Load<Two>(q + 2 * kLanes);
  FOVEA_UNROLL(8)
  for (size_t k = 0; k < kKeys; ++k, key += stride) {
    Two halves[2];
    hn::LoadFour(key, halves);
    sums[k] = kBegins ? x0 * halves[0] : __builtin_elementwise_fma(x0, halves[0], sums[k]);
    sums[k] = __builtin_elementwise_fma(x1, halves[1], sums[k]);
    FOVEA_OPAQUE(key);
  }
  return key;
}
// Scores of blocks of kLanes keys. kShort: rows have four vectors, so half of the sums at a time are enough to hide how
// long a product takes.
template <bool kShort>
FOVEA_INLINE void ScoreBlocks(const float* q, size_t head_dim, const float* key, ptrdiff_t stride, float* s,
                              const float* end) {
  constexpr size_t kFour = 4 * kLanes, kAtOnce = kShort ? kLanes / 2 : kLanes;
  for (; s != end; s += kLanes) {
    alignas(4 * kLanes) float rows[kLanes][kLanes];
    FOVEA_UNROLL(2)
    for (size_t first = 0; first < kLanes; first += kAtOnce) {
      hn::Floats<2> sums[kAtOnce];
      const float* const next = MultiplyFour<true>(q, key, stride, sums);
      for (size_t d = kFour; !kShort && d < head_dim; d += kFour) MultiplyFour<false>(q + d, key + d, stride, sums);
      key = next;
      FOVEA_EACH(k, kAtOnce) hn::StoreU(hn::Folded(sums[k]), kF, rows[first + k]);
    }
    hn::StoreU(hn::SumsOfRows(rows), kF, s);
  }
}
// False if the tile is not whole blocks of kLanes keys, or if rows are not whole groups of four vectors.
FOVEA_INLINE bool ScoreWholeBlocks(const QueryTile& t, const KeyTile& keys, FewBlock<1>) {
  const size_t head_dim = t.head_dim;
  const uint32_t count = keys.end - keys.begin;
  if (head_dim % (4 * kLanes) != 0 || count % kLanes != 0) return false;
  const float* const key = keys.keys.f32(ptrdiff_t(keys.begin));
  if (head_dim == 4 * kLanes) {
    ScoreBlocks<true>(FloatQueries(t), head_dim, key, keys.keys.stride, t.s, t.s + count);
  } else {
    ScoreBlocks<false>(FloatQueries(t), head_dim, key, keys.keys.stride, t.s, t.s + count);
  }
  return true;
}

// FewWeights of four vectors.
namespace of_group {
namespace one_register = hn;
#include "ground/simd/rvv_group.inl"
namespace in_group {
#undef FOVEA_SRC_MATH_MATH_INL_  // once more, for these vectors
#include "ground/math/math.inl"
FOVEA_INLINE VF Weights(float* s, VF shift, VF hidden_weight) {
  const VF x = hn::LoadU(kF, s);
  VF p[1] = {hn::Sub(x, shift)};
  Exp2(p);
  p[0] = hn::IfThenElse(hn::Eq(x, hn::Set(kF, -kInfinity)), hidden_weight, p[0]);
  hn::StoreU(p[0], kF, s);
  return p[0];
}
}  // namespace in_group
}  // namespace of_group
FOVEA_INLINE VF WeightsOfGroup(float* s, VF shift, VF hidden_weight, VF (&weights)[4]) {
  const VF shifts[4] = {shift, shift, shift, shift};
  const VF hidden[4] = {hidden_weight, hidden_weight, hidden_weight, hidden_weight};
  using Four = hn::Floats<4>;
  const Four p = of_group::in_group::Weights(s, hn::raw::Load<Four>(shifts), hn::raw::Load<Four>(hidden));
  __builtin_memcpy(weights, &p, sizeof p);
  return hn::Folded(p);
}

// o[element + ..] = o * rescale + the values times their weights, for a group of kVectors vectors. Keys use kStrands
// sums in turn, as in FewValueBlock.
template <int kStrands, int kVectors>
FOVEA_INLINE void AddValueRows(const QueryTile& t, const KeyTile& keys, size_t element,
                               VF (&sums)[kStrands][1][kVectors]) {
  const float* value = keys.values.f32(ptrdiff_t(keys.begin)) + element;
  const ptrdiff_t stride = keys.values.stride;
  const uint32_t count = keys.end - keys.begin;
  const float* weights = t.s;
  const float *const end = weights + count, *const whole = weights + count / kStrands * kStrands;
  __builtin_memset(sums, 0, sizeof sums);
  FOVEA_UNROLL_LONG_LOOP(2)
  while (weights != whole) {
    FOVEA_EACH(strand, kStrands) {
      hn::MulAddVectors(weights[strand], value, sums[strand][0]);
      value += stride;
      FOVEA_OPAQUE(value);
    }
    weights += kStrands;
  }
  for (; weights != end; ++weights, value += stride) hn::MulAddVectors(*weights, value, sums[0][0]);
  using Floats = hn::Floats<kVectors>;
  Floats sum = hn::raw::Load<Floats>(sums[0][0]);
  FOVEA_UNROLL(8)
  for (int strand = 1; strand < kStrands; ++strand) sum += hn::raw::Load<Floats>(sums[strand][0]);
  __builtin_memcpy(sums[0][0], &sum, sizeof sum);
  float* const o = t.o + element;
  hn::MulAddVectors(*t.rescale, o, sums[0][0]);
  __builtin_memcpy(o, sums[0][0], sizeof sum);
}

#endif  // FOVEA_SRC_ATTENTION_FEW_ROW_RVV_INL_
