// SPDX-License-Identifier: Apache-2.0
//
// In texts that are included after this, in the same namespace, MulAdd of hn is Mul and then Add: what they compute has
// the same bits on targets that fuse and on those that do not. ground/math/math.inl is included once more there.
#undef FOVEA_SRC_MATH_MATH_INL_

namespace fused = hn;

namespace hn {

using namespace fused;

FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return Add(Mul(a, b), c); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return Sub(c, Mul(a, b)); }
FOVEA_INLINE VF MulAddSet(VF a, VF b, float c) { return AddSet(Mul(a, b), c); }

}  // namespace hn
