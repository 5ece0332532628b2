// SPDX-License-Identifier: Apache-2.0
//
// exp2, exp, log, tanh, the logistic function and what GELU lacks of x over the vocabulary, written once. If not said otherwise, the
// polynomials are minimax fits of the relative error, whose coefficients were rounded to float one at a time, lowest first. Errors are the largest over
// all floats of the stated range, in units of the last place, with fused multiply-adds and without. tests/math_test.cc
// asserts these numbers.
#ifndef FOVEA_SRC_MATH_MATH_INL_
#define FOVEA_SRC_MATH_MATH_INL_

// Round to nearest by adding 1.5 * 2^23: right for |x| < 2^22. The integer is also in the low bits of the sum.
constexpr float kRoundMagic = 12582912.0f;

// 2^(n - 1) * p, where biased = n + kExpMagic: n is in its low bits, with the exponent's bias. 0 for n = -126. NaN in p
// stays NaN.
constexpr float kExpMagic = kRoundMagic + 126.0f;
FOVEA_INLINE VF ScaleByPowerOf2(VF p, VF biased) {
  return hn::Mul(p, hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kI, biased))));
}

// p[i] = p[i] * x[i] + c. The functions below take n vectors at once, step by step: one vector alone is a chain of
// dependent operations, and a processor's window is too short to reach the next chain.
template <int n>
FOVEA_INLINE void HornerStep(VF (&p)[n], const VF (&x)[n], float c) {
  FOVEA_EACH(i, n) p[i] = hn::MulAddSet(p[i], x[i], c);
}

// 2^x for x <= 127, exactly 0 for x <= -125.5, exactly 1 for 0. Largest error 0.80 ulp, 1.08 not fused. NaN stays NaN.
// The polynomial is that of 2 * 2^f, so that a result is either normal or the zero that ScaleByPowerOf2 makes.
template <int n>
FOVEA_INLINE void Exp2Steps(VF (&x)[n]) {
  const VF magic = hn::Set(kF, kExpMagic), least = hn::Set(kF, -126.0f);
  VF biased[n], f[n], p[n];
  FOVEA_EACH(i, n) {
    x[i] = hn::ClampMin(x[i], least);
    biased[i] = hn::Add(x[i], magic);
  }
  FOVEA_EACH(i, n) {
    f[i] = hn::Sub(x[i], hn::Sub(biased[i], magic));
    p[i] = hn::Set(kF, 2 * 0.000153264627f);
  }
  HornerStep(p, f, 2 * 0.00133908063f);
  HornerStep(p, f, 2 * 0.00961850584f);
  HornerStep(p, f, 2 * 0.0555035993f);
  HornerStep(p, f, 2 * 0.240226477f);
  HornerStep(p, f, 2 * 0.693147182f);
  HornerStep(p, f, 2.0f);
  FOVEA_EACH(i, n) x[i] = ScaleByPowerOf2(p[i], biased[i]);
}
FOVEA_SHARED VF Exp2(VF x) {
  VF one[1] = {x};
  Exp2Steps(one);
  return one[0];
}
template <int n>
FOVEA_INLINE void Exp2(VF (&x)[n]) {
  if constexpr (kSizeCounts) {
    for (VF& v : x) v = Exp2(v);
  } else if constexpr (n > hn::kRegisters / 4) {
    Exp2(reinterpret_cast<VF(&)[n / 2]>(x[0]));
    Exp2(reinterpret_cast<VF(&)[n / 2]>(x[n / 2]));
  } else {
    Exp2Steps(x);
  }
}

// 2^x like Exp2, exactly 1 for 0, but with a relative error up to 1.02e-4, 1346 ulp, fused or not.
template <int n>
FOVEA_INLINE void ShortExp2(VF (&x)[n]) {
  const VF least = hn::Set(kF, -126.0f);
  VF biased[n], f[n], p[n];
  FOVEA_EACH(i, n) {
    x[i] = hn::ClampMin(x[i], least);
    biased[i] = hn::AddSet(x[i], kExpMagic);
  }
  FOVEA_EACH(i, n) {
    f[i] = hn::Sub(x[i], hn::AddSet(biased[i], -kExpMagic));
    p[i] = hn::AddSet(hn::MulSet(f[i], 2 * 0.055008959f), 2 * 0.242211372f);
  }
  HornerStep(p, f, 2 * 0.693282962f);
  HornerStep(p, f, 2.0f);
  FOVEA_EACH(i, n) x[i] = ScaleByPowerOf2(p[i], biased[i]);
}

// e^x for x <= 88, exactly 0 below ln(2^-125.5). Two-constant reduction (Cody and Waite), exact because the first
// constant has 9 significant bits. Largest error 0.91 ulp, 1.18 not fused. NaN stays NaN.
template <int n>
FOVEA_INLINE void ExpSteps(VF (&x)[n]) {
  const VF magic = hn::Set(kF, kExpMagic), least = hn::Set(kF, -87.3f);
  VF biased[n], r[n], p[n];
  FOVEA_EACH(i, n) {
    x[i] = hn::ClampMin(x[i], least);
    biased[i] = hn::MulAdd(x[i], hn::Set(kF, 1.44269504f), magic);
  }
  FOVEA_EACH(i, n) {
    const VF whole = hn::Sub(biased[i], magic);
    r[i] = hn::NegMulAdd(whole, hn::Set(kF, 0.693359375f), x[i]);
    r[i] = hn::NegMulAdd(whole, hn::Set(kF, -2.12194440e-4f), r[i]);
    p[i] = hn::Set(kF, 2 * 0.00138214522f);
  }
  HornerStep(p, r, 2 * 0.00836866163f);
  HornerStep(p, r, 2 * 0.0416682549f);
  HornerStep(p, r, 2 * 0.166665211f);
  HornerStep(p, r, 2 * 0.49999994f);
  HornerStep(p, r, 2.0f);
  HornerStep(p, r, 2.0f);
  FOVEA_EACH(i, n) x[i] = ScaleByPowerOf2(p[i], biased[i]);
}
FOVEA_SHARED VF Exp(VF x) {
  VF one[1] = {x};
  ExpSteps(one);
  return one[0];
}
template <int n>
FOVEA_INLINE void Exp(VF (&x)[n]) {
  if constexpr (kSizeCounts) {
    for (VF& v : x) v = Exp(v);
  } else if constexpr (n > hn::kRegisters / 4) {
    Exp(reinterpret_cast<VF(&)[n / 2]>(x[0]));
    Exp(reinterpret_cast<VF(&)[n / 2]>(x[n / 2]));
  } else {
    ExpSteps(x);
  }
}

// Natural logarithm of every float: log(0) = -inf, log(+inf) = +inf, NaN of a negative number and of NaN. Largest error
// 0.81 ulp, 0.83 not fused.
FOVEA_SHARED VF Log(VF x) {
  // x = 2^e * z with z in [sqrt(1/2), sqrt(2)); subnormals are scaled by 2^24 first.
  const auto subnormal = hn::Lt(x, hn::Set(kF, 1.17549435e-38f));
  const VF scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(kF, 16777216.0f)), x);
  const VI bits = hn::BitCast(kI, scaled);
  const VI offset = hn::Sub(bits, hn::Set(kI, 0x3f3504f3));  // bits of sqrt(1/2)
  const VI e = hn::ShiftRight<23>(offset);
  const VF z = hn::BitCast(kF, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const VF n = hn::Sub(hn::ConvertTo(kF, e), hn::IfThenElse(subnormal, hn::Set(kF, 24.0f), hn::Zero(kF)));

  const VF f = hn::Sub(z, hn::Set(kF, 1.0f));
  const VF f2 = hn::Mul(f, f);
  VF p = hn::Set(kF, 0.067492716f);
  p = hn::MulAdd(p, f, hn::Set(kF, -0.116700992f));
  p = hn::MulAdd(p, f, hn::Set(kF, 0.118835486f));
  p = hn::MulAdd(p, f, hn::Set(kF, -0.124062337f));
  p = hn::MulAdd(p, f, hn::Set(kF, 0.142203584f));
  p = hn::MulAdd(p, f, hn::Set(kF, -0.166679889f));
  p = hn::MulAdd(p, f, hn::Set(kF, 0.200020716f));
  p = hn::MulAdd(p, f, hn::Set(kF, -0.250000089f));
  p = hn::MulAdd(p, f, hn::Set(kF, 0.333333135f));
  // log(z) = f + (f^3 p - f^2 / 2), and ln 2 in two parts of which the first times n is exact.
  VF tail = hn::Mul(hn::Mul(f2, f), p);
  tail = hn::MulAdd(n, hn::Set(kF, -2.12194440e-4f), tail);
  tail = hn::NegMulAdd(f2, hn::Set(kF, 0.5f), tail);
  const VF log_z = hn::Add(f, tail);
  const VF result = hn::MulAdd(n, hn::Set(kF, 0.693359375f), log_z);

  const VF infinity = hn::Set(kF, kInfinity);
  const VF of_zero = hn::IfThenElse(hn::Eq(x, hn::Zero(kF)), hn::Set(kF, -kInfinity), result);
  const VF of_negative = hn::IfThenElse(hn::Lt(x, hn::Zero(kF)), hn::Sub(infinity, infinity), of_zero);
  // +inf and NaN: x itself.
  return hn::IfThenElse(hn::Lt(x, infinity), of_negative, x);
}

// tanh of every float: x (0.017 + p(x^2) / q(x^2)), a quotient of polynomials of degrees 9 and 8. With their highest
// terms apart p has one less, and q begins with 1. From 9 on the quotient stays, and what is above 1 becomes 1. Largest
// error 3e-7, 3.1e-7 not fused; of the result 5e-7, 8 ulp. NaN stays NaN. The coefficients were chosen by the largest
// error over all floats.
template <int n>
FOVEA_INLINE void Tanh(VF (&x)[n]) {
  VF z[n], p[n], q[n];
  FOVEA_EACH(i, n) {
    z[i] = hn::ClampMax(hn::Mul(x[i], x[i]), hn::Set(kF, 81.0f));
    q[i] = hn::AddSet(z[i], 421.45993f);
    p[i] = hn::Set(kF, 19.2122383f);
  }
  HornerStep(p, z, 3910.22607f);
  HornerStep(q, z, 33153.1367f);
  HornerStep(p, z, 161092.344f);
  HornerStep(q, z, 598226.062f);
  HornerStep(p, z, 1258491.12f);
  HornerStep(q, z, 1280522.75f);
  FOVEA_EACH(i, n) {
    x[i] = hn::Mul(x[i], hn::AddSet(hn::Div(p[i], q[i]), 0.01720546f));
    x[i] = hn::ClampMax(hn::ClampMin(x[i], hn::Set(kF, -1.0f)), hn::Set(kF, 1.0f));
  }
}
FOVEA_SHARED VF Tanh(VF x) {
  VF one[1] = {x};
  Tanh(one);
  return one[0];
}

// 1 + e^-x of every float, infinity where Exp(x) is 0: 1 divided by it is the logistic function, also where that is
// small. The polynomial is a quarter of e^-r, so that a result is either finite or the infinity by which n = 126
// scales. Largest error 2.5e-7 of the result, fused or not. NaN stays NaN.
template <int n>
FOVEA_INLINE void LogisticSteps(VF (&x)[n]) {
  const VF magic = hn::Set(kF, kRoundMagic + 129.0f);  // n is in the low bits, with the exponent's bias and 2
  VF biased[n], p[n];
  FOVEA_EACH(i, n) {
    x[i] = hn::ClampMax(hn::ClampMin(x[i], hn::Set(kF, -87.3f)), hn::Set(kF, 87.3f));
    biased[i] = hn::MulAdd(x[i], hn::Set(kF, -1.44269504f), magic);
  }
  FOVEA_EACH(i, n) {
    const VF whole = hn::Sub(biased[i], magic);
    x[i] = hn::MulAdd(whole, hn::Set(kF, 0.693359375f), x[i]);
    x[i] = hn::MulAdd(whole, hn::Set(kF, -2.12194440e-4f), x[i]);
    p[i] = hn::Set(kF, 0.00138214522f / 4);
  }
  HornerStep(p, x, -0.00836866163f / 4);
  HornerStep(p, x, 0.0416682549f / 4);
  HornerStep(p, x, -0.166665211f / 4);
  HornerStep(p, x, 0.49999994f / 4);
  HornerStep(p, x, -1.0f / 4);
  HornerStep(p, x, 1.0f / 4);
  FOVEA_EACH(i, n) {
    const VF scale = hn::BitCast(kF, hn::ShiftLeft<23>(hn::BitCast(kI, biased[i])));
    x[i] = hn::MulAdd(p[i], scale, hn::Set(kF, 1.0f));
  }
}
FOVEA_SHARED VF LogisticDivisor(VF x) {
  VF one[1] = {x};
  LogisticSteps(one);
  return one[0];
}
template <int n>
FOVEA_INLINE void LogisticDivisor(VF (&x)[n]) {
  if constexpr (kSizeCounts) {
    for (VF& v : x) v = LogisticDivisor(v);
  } else {
    LogisticSteps(x);
  }
}

// |x| (1 - erf(|x| / sqrt 2)) / 2 of every float, by which GELU is less than x or 0: a polynomial to the power of -16,
// which keeps its largest error of 5.5e-7, fused or not. Exactly 0 above 20.
template <int n>
FOVEA_INLINE void GeluLess(VF (&x)[n]) {
  VF p[n];
  FOVEA_EACH(i, n) {
    x[i] = hn::ClampMax(hn::Abs(x[i]), hn::Set(kF, 20.0f));
    p[i] = hn::Set(kF, 6.4511223e-06f);
  }
  HornerStep(p, x, 4.4665325e-05f);
  HornerStep(p, x, 5.75424e-05f);
  HornerStep(p, x, 0.0034005227f);
  HornerStep(p, x, 0.022089016f);
  HornerStep(p, x, 0.052072905f);
  HornerStep(p, x, 1.0442739f);
  for (int square = 0; square < 4; ++square) {
    FOVEA_EACH(i, n) p[i] = hn::Mul(p[i], p[i]);
  }
  FOVEA_EACH(i, n) x[i] = hn::Div(x[i], p[i]);
}

#endif  // FOVEA_SRC_MATH_MATH_INL_
