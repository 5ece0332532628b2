// SPDX-License-Identifier: Apache-2.0
//
// From sums of products of codes to outputs, and from inputs to codes: what all kinds of dot products share. Mul and
// Add are not fused and their order is fixed, so that the bits are the same on every target and from both kernels.
#ifndef FOVEA_SRC_LINEAR_I8_OUTPUTS_INL_
#define FOVEA_SRC_LINEAR_I8_OUTPUTS_INL_

#include "ground/formats/rows.inl"
#include "ground/math/activation.inl"

// Arrays of sums are arrays of floats that hold the bits of integers.
FOVEA_INLINE VI LoadInts(const float* p) { return hn::BitCast(kI, hn::LoadU(kF, p)); }
FOVEA_INLINE void StoreInts(VI v, float* p) { hn::StoreU(hn::BitCast(kF, v), kF, p); }

FOVEA_INLINE const char* RowOf(const I8Tokens& tokens, size_t token) {
  const size_t unit = tokens.in.dtype == FOVEA_I8 ? sizeof(int8_t) : sizeof(float);
  return static_cast<const char*>(tokens.x) + ::fovea::stride_bytes(tokens.stride, unit, ptrdiff_t(token));
}

// An infinite scale counts as NaN.
FOVEA_INLINE float GivenScale(const I8Tokens& tokens, size_t token) {
  return ::fovea::finite_or_nan(tokens.in.scales[ptrdiff_t(token) * tokens.in.scales_stride]);
}

// Where weights are in groups, inputs of f32 have a scale for each group, too; inputs that are codes have one scale, 1,
// for all groups.
FOVEA_INLINE bool HasGroupScales(const I8TokenTile& t) { return ::fovea::kI8GroupedFormats != 0 && t.group_scales; }

// y / scale + zero as codes, biased. NaN counts as 0.
FOVEA_INLINE VF BiasedOutputs(const I8Rows& w, VF y) {
  const VF zero = hn::Set(kF, float(w.out.zero));
  VF smallest = hn::Sub(hn::Set(kF, -128.0f), zero), most = hn::Sub(hn::Set(kF, 127.0f), zero);
  if (::fovea::kLimitsOutputs) {
    smallest = hn::Set(kF, w.out.limits->least);
    most = hn::Set(kF, w.out.limits->most);
  }
  const VF quotient = ZeroIfNan(hn::Div(y, hn::Set(kF, w.out.scale)));
  const VF least = hn::ClampMin(quotient, smallest);
  const VF code = Rounded(hn::IfThenElse(hn::Lt(most, least), most, least));
  return hn::Add(hn::Add(code, zero), hn::Set(kF, kRoundingBias));
}

// Functions of their own: they are the same for all kinds of dot products, and code that stays out of the way without
// them. Several vectors at a time take less time than one by one, each of which is a chain of dependent operations.
FOVEA_CALLED VF ActivatedOutputs(fovea_activation_kind activation, VF y) {
  VF one[1] = {y};
  Activate(activation, 1.0f, one);
  return one[0];
}
constexpr size_t kActivatedAtOnce = kLanes < 4 ? 1 : AtOnce(4);
FOVEA_CALLED void ActivateOutputs(fovea_activation_kind activation, VF* y) {
  VF some[kActivatedAtOnce];
  FOVEA_EACH(i, kActivatedAtOnce) some[i] = y[i];
  Activate(activation, 1.0f, some);
  FOVEA_EACH(i, kActivatedAtOnce) y[i] = some[i];
}
FOVEA_INLINE bool ActivatesOutputs(const I8Rows& w) {
  return ::fovea::kActivates && w.out.activation != FOVEA_ACTIVATION_IDENTITY;
}

// Stores n <= kLanes outputs of a token, from `output` on.
FOVEA_INLINE void StoreActivated(const I8Rows& w, VF y, size_t token, size_t output, size_t n) {
  const ptrdiff_t at = ptrdiff_t(token) * w.y_stride + ptrdiff_t(output);
  if (w.out.dtype == FOVEA_F32) return hn::StoreN(y, kF, static_cast<float*>(w.y) + at, n);
  hn::StoreU8N(hn::BitCast(kI, BiasedOutputs(w, y)), static_cast<uint8_t*>(w.y) + at, n);
}

FOVEA_INLINE void StoreOutputs(const I8Rows& w, VF y, size_t token, size_t output, size_t n) {
  if (ActivatesOutputs(w)) y = ActivatedOutputs(w.out.activation, y);
  StoreActivated(w, y, token, output, n);
}

FOVEA_INLINE const float* RowScalesOf(const I8Rows& w) { return static_cast<const float*>(w.weights.scales); }

// What is added to an output's sums: its bias, minus zero * sum_of_row, because the codes of inputs exceed the numbers
// that they stand for by `zero`.
FOVEA_INLINE int32_t StartOf(const I8Rows& w, size_t output, int32_t zero, int32_t sum_of_row) {
  const uint32_t bias = w.weights.bias_i32 ? uint32_t(w.weights.bias_i32[output]) : 0;
  return int32_t(bias - uint32_t(zero) * uint32_t(sum_of_row));
}

#endif  // FOVEA_SRC_LINEAR_I8_OUTPUTS_INL_
