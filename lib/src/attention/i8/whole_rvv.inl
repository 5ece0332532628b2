// SPDX-License-Identifier: Apache-2.0
//
// whole_block.inl for RISC-V: the four vectors of rows of a tile are one vector of four registers.

namespace of_group {
namespace one_register = fused;
#include "simd/rvv_group.inl"
namespace in_group {
#include "simd/apart.inl"
#include "math/plain.inl"
#include "math/math.inl"

namespace dot {
using of_vwmacc::dot::Code;
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
}  // namespace dot
#include "attention/i8/zero.inl"
#include "attention/i8/whole_block.inl"
}  // namespace in_group
}  // namespace of_group

template <int kVectors>
FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
  if constexpr (kVectors != 4) {
    return false;
  } else {
    if (!of_group::in_group::IsWhole(keys)) return false;
    of_group::in_group::WeighWhole<1>(t, keys, column);
    return true;
  }
}
