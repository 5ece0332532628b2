// SPDX-License-Identifier: Apache-2.0
//
// The activations of base.h over the vocabulary, written once. Their errors are those of ground/math/math.inl, and stated at
// fovea_activation.
#ifndef FOVEA_SRC_MATH_ACTIVATION_INL_
#define FOVEA_SRC_MATH_ACTIVATION_INL_

#include "ground/math/math.inl"

FOVEA_INLINE VF ClampLeast(VF x, float least) { return hn::AtLeast(x, hn::Set(kF, least)); }

// x = activation(x). Only SILU and SIGMOID read alpha.
template <int n>
FOVEA_INLINE void Activate(fovea_activation_kind kind, float alpha, VF (&x)[n]) {
  if (kind == FOVEA_ACTIVATION_IDENTITY) return;
  if (::fovea::config::kTanh && kind == FOVEA_ACTIVATION_TANH) return Tanh(x);
  if (kind == FOVEA_ACTIVATION_RELU || kind == FOVEA_ACTIVATION_RELU6) {
    FOVEA_EACH(i, n) {
      x[i] = ClampLeast(x[i], 0.0f);
      if (kind == FOVEA_ACTIVATION_RELU6) x[i] = hn::ClampMax(x[i], hn::Set(kF, 6.0f));
    }
    return;
  }
  VF other[n];
  FOVEA_EACH(i, n) other[i] = x[i];
  if (kind == FOVEA_ACTIVATION_HARD_SWISH) {
    FOVEA_EACH(i, n) {
      const VF factor = hn::ClampMax(ClampLeast(hn::AddSet(x[i], 3.0f), 0.0f), hn::Set(kF, 6.0f));
      x[i] = hn::Mul(ClampLeast(x[i], -3.0f), hn::MulSet(factor, 0.166666672f));
    }
  } else if (::fovea::config::kGelu && kind == FOVEA_ACTIVATION_GELU) {
    GeluLess(other);
    FOVEA_EACH(i, n) x[i] = hn::Sub(ClampLeast(x[i], 0.0f), other[i]);
  } else {
    if (kind == FOVEA_ACTIVATION_GELU_TANH) {  // (1 + tanh(u)) / 2 is the logistic function of 2 u
      FOVEA_EACH(i, n) {
        x[i] = ClampLeast(x[i], -16.0f);  // from there down it is 0, also at -inf
        other[i] = hn::Mul(x[i], hn::MulAddSet(hn::Mul(x[i], x[i]), hn::Set(kF, 0.0713548163f), 1.59576912f));
      }
    } else {
      FOVEA_EACH(i, n) other[i] = hn::MulSet(x[i], alpha);
    }
    LogisticDivisor(other);
    FOVEA_EACH(i, n) x[i] = hn::Div(kind == FOVEA_ACTIVATION_SIGMOID ? hn::Set(kF, 1.0f) : x[i], other[i]);
  }
}

#endif  // FOVEA_SRC_MATH_ACTIVATION_INL_
