// SPDX-License-Identifier: Apache-2.0
//
// Functions that round nothing, for f32 and for what comes after ground/simd/apart.inl alike.
#ifndef FOVEA_SRC_MATH_PLAIN_INL_
#define FOVEA_SRC_MATH_PLAIN_INL_

// For x >= 0 or NaN: 0 if x is subnormal, else x.
FOVEA_INLINE VF ZeroIfSubnormal(VF x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Set(kF, 1.17549435e-38f)), x); }

// A maximum of kLowest means that no visible score was more than -inf, see Visible.
FOVEA_INLINE VF MinusInfinityIfLowest(VF x) {
  return hn::IfThenElse(hn::Eq(x, hn::Set(kF, kLowest)), hn::Set(kF, -kInfinity), x);
}

// What is subtracted from scores before the exponential: the largest, but 0 where all are -inf.
FOVEA_SHARED VF ShiftOf(VF max) { return hn::IfThenZeroElse(hn::Eq(max, hn::Set(kF, -kInfinity)), max); }

#endif  // FOVEA_SRC_MATH_PLAIN_INL_
