// SPDX-License-Identifier: Apache-2.0
//
// whole_block.inl for RISC-V: the four vectors of rows of a tile are one vector of four registers.
#ifndef FOVEA_SRC_ATTENTION_I8_WHOLE_RVV_INL_
#define FOVEA_SRC_ATTENTION_I8_WHOLE_RVV_INL_

#include "core/attention/i8/softmax.inl"
#include "ground/simd/dot_vwmacc.inl"

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

#endif  // FOVEA_SRC_ATTENTION_I8_WHOLE_RVV_INL_
