// SPDX-License-Identifier: Apache-2.0
//
// The activations of base.h over the vocabulary, written once. Their errors are those of ground/math/math.inl, and stated at
// fovea_activation.
#ifndef FOVEA_SRC_MATH_ACTIVATION_INL_
#define FOVEA_SRC_MATH_ACTIVATION_INL_

#include "ground/math/math.inl"

// The smaller, for a `most` that is no NaN; NaN stays NaN, and a zero its sign.
FOVEA_INLINE VF ClampMax(VF x, float most) {
  const VF limit = hn::Set(kF, most);
  return hn::IfThenElse(hn::Lt(limit, x), limit, x);
}
FOVEA_INLINE VF ClampLeast(VF x, float least) { return hn::AtLeast(x, hn::Set(kF, least)); }

// x = the logistic function of alpha x; for GELU_TANH of sqrt(8 / pi) (x + 0.044715 x^3), which makes (1 + tanh) / 2.
template <int n>
FOVEA_INLINE void SigmoidFor(fovea_activation_kind kind, float alpha, VF (&x)[n]) {
  FOVEA_EACH(i, n) {
    VF factor = hn::Set(kF, alpha);
    if (kind == FOVEA_ACTIVATION_GELU_TANH) {
      factor = hn::MulAddSet(hn::Mul(x[i], x[i]), hn::Set(kF, 0.0713548163f), 1.59576912f);
    }
    x[i] = hn::Mul(x[i], factor);
  }
  Sigmoid(x);
}

// x = activation(x). Only SILU and SIGMOID read alpha. Where a factor is 0, the other is not infinite: activations with
// a limit at -inf have it there.
template <int n>
FOVEA_INLINE void Activate(fovea_activation_kind kind, float alpha, VF (&x)[n]) {
  if (kind == FOVEA_ACTIVATION_IDENTITY) return;
  if (::fovea::config::kTanh && kind == FOVEA_ACTIVATION_TANH) return Tanh(x);
  if (kind == FOVEA_ACTIVATION_RELU || kind == FOVEA_ACTIVATION_RELU6) {
    FOVEA_UNROLL(8)
    for (VF& v : x) v = ClampMax(ClampLeast(v, 0.0f), kind == FOVEA_ACTIVATION_RELU6 ? 6.0f : kInfinity);
    return;
  }
  VF factor[n];
  FOVEA_EACH(i, n) factor[i] = x[i];
  float least = -kInfinity;  // from here down the activation is 0
  if (kind == FOVEA_ACTIVATION_HARD_SWISH) {
    least = -3.0f;
    FOVEA_UNROLL(8)
    for (VF& v : factor) {
      v = hn::Mul(ClampMax(ClampLeast(hn::AddSet(v, 3.0f), 0.0f), 6.0f), hn::Set(kF, 0.166666672f));
    }
  } else if (::fovea::config::kGelu && kind == FOVEA_ACTIVATION_GELU) {
    least = -16.0f;
    Normal(factor);
  } else {
    if (kind == FOVEA_ACTIVATION_GELU_TANH) least = -16.0f;
    SigmoidFor(kind, alpha, factor);
  }
  FOVEA_EACH(i, n) {
    x[i] = kind == FOVEA_ACTIVATION_SIGMOID ? factor[i] : hn::Mul(ClampLeast(x[i], least), factor[i]);
  }
}

#endif  // FOVEA_SRC_MATH_ACTIVATION_INL_
