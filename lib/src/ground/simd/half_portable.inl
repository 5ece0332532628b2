// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves by f32 arithmetic: a half is a float that has its value. For processors without
// arithmetic of halves: a multiply-add takes some 25 instructions.
#ifndef FOVEA_SRC_SIMD_HALF_PORTABLE_INL_
#define FOVEA_SRC_SIMD_HALF_PORTABLE_INL_

struct FloatHalves {
  static constexpr size_t kLanes = hn::kLanes;
  static constexpr int kBlockVectors = 1, kRows = 2, kReads = 1;
  static constexpr int kPieces = 1;
  static constexpr bool kByScalars = false, kServesFewRows = false;

  using Element = float;
  using V = VF;
  using E = VF;
  using M = MF;

  // v rounded to a half, to the nearest, ties to even.
  FOVEA_INLINE VF RoundToHalf(VF v) {
    const VF absolute = hn::Abs(v);
    const VI bits = hn::BitCast(kI, absolute), sign = hn::And(hn::BitCast(kI, v), hn::Set(kI, int32_t(0x80000000)));
    const VI odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(kI, 1));
    const VI number = hn::And(hn::Add(bits, hn::Add(odd, hn::Set(kI, 0xfff))), hn::Set(kI, ~0x1fff));
    // The last place of the sum with 0.5 is 2^-24, as that of a subnormal half.
    const VF subnormal = hn::Sub(hn::Add(absolute, hn::Set(kF, 0.5f)), hn::Set(kF, 0.5f));
    VF rounded = hn::IfThenElse(hn::Lt(absolute, hn::Set(kF, 0x1p-14f)), subnormal, hn::BitCast(kF, number));
    rounded = hn::IfThenElse(hn::Le(hn::Set(kF, 65520.0f), absolute), hn::Set(kF, __builtin_inff()), rounded);
    rounded = hn::IfThenElse(hn::Eq(v, v), rounded, absolute);
    return hn::BitCast(kF, hn::Or(hn::BitCast(kI, rounded), sign));
  }

  FOVEA_INLINE V Zero() { return hn::Zero(kF); }
  FOVEA_INLINE V Load(const Element* p) { return hn::LoadU(kF, p); }
  FOVEA_INLINE E LoadE(const Element* p) { return hn::Set(kF, *p); }
  FOVEA_INLINE E LoadOne(const Element* p) { return hn::Set(kF, *p); }
  FOVEA_INLINE E NextE(const Element*& p, ptrdiff_t step) {
    const E e = LoadE(p);
    p += step;
    return e;
  }
  FOVEA_INLINE void Store(VF v, Element* p) { hn::StoreU(RoundToHalf(v), kF, p); }
  FOVEA_INLINE M SignMask(V v) { return hn::SignMask(v); }

  // The product is exact. The sum is rounded to odd: a sum that is not exact becomes the neighbour whose last bit is 1.
  // So the second rounding sees on which side of a tie the sum was.
  template <int>
  FOVEA_INLINE V MulAdd(V x, E e, V sum) {
    const VF product = hn::Mul(x, e), nearest = hn::Add(product, sum), part = hn::Sub(nearest, product);
    const VF error = hn::Add(hn::Sub(product, hn::Sub(nearest, part)), hn::Sub(sum, part));
    const VI bits = hn::BitCast(kI, nearest), one = hn::Set(kI, 1);
    const VI away = hn::Or(hn::ShiftRight<31>(hn::Xor(hn::BitCast(kI, error), bits)), one);  // 1, or towards zero -1
    const VF odd = hn::BitCast(kF, hn::Add(bits, hn::And(away, hn::Sub(hn::And(bits, one), one))));
    // The error of an infinity is NaN.
    return RoundToHalf(hn::IfThenElse(hn::Lt(hn::Zero(kF), hn::Abs(error)), odd, nearest));
  }
  template <int i>
  FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
    return MulAdd<i>(x, hn::IfThenZeroElse(m, e), sum);
  }

  FOVEA_INLINE void Widen(V v, VF (&to)[1]) { to[0] = v; }
  FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[1]) { v[0] = hn::LoadU(kF, p); }
  FOVEA_INLINE void StoreFloats(const VF (&v)[1], float* p) { hn::StoreU(v[0], kF, p); }
};

#endif  // FOVEA_SRC_SIMD_HALF_PORTABLE_INL_
