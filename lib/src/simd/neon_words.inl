// SPDX-License-Identifier: Apache-2.0
//
// Words over vectors of NEON, whose `data` is the raw vector. Included by the NEON and xsimd backend headers inside
// their namespace hn, after the words that xsimd has itself.

#if defined(__aarch64__)
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 2;
#else
constexpr int kRegisters = 16, kBlockVectors = 6, kMaskedVectors = 2;
#endif

FOVEA_INLINE VF LoadN(Tag<float>, const float* p, size_t n) {
  float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return LoadU(kF, lanes);
}
FOVEA_INLINE void StoreN(VF v, Tag<float>, float* p, size_t n) {
  float lanes[4];
  StoreU(v, kF, lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}
FOVEA_INLINE void LoadPairs(Tag<float>, const float* p, VF& a, VF& b) {
  const float32x4x2_t pairs = vld2q_f32(p);
  a = VF(pairs.val[0]);
  b = VF(pairs.val[1]);
}
FOVEA_INLINE void StorePairs(VF a, VF b, Tag<float>, float* p) {
  const float32x4x2_t pairs = {{a.data, b.data}};
  vst2q_f32(p, pairs);
}
FOVEA_INLINE void Transpose(VF (&v)[4]) {
  const float32x4x2_t v01 = vtrnq_f32(v[0].data, v[1].data), v23 = vtrnq_f32(v[2].data, v[3].data);
#if defined(__aarch64__)
  const float64x2_t a = vreinterpretq_f64_f32(v01.val[0]), b = vreinterpretq_f64_f32(v23.val[0]);
  const float64x2_t c = vreinterpretq_f64_f32(v01.val[1]), d = vreinterpretq_f64_f32(v23.val[1]);
  v[0] = VF(vreinterpretq_f32_f64(vzip1q_f64(a, b)));
  v[1] = VF(vreinterpretq_f32_f64(vzip1q_f64(c, d)));
  v[2] = VF(vreinterpretq_f32_f64(vzip2q_f64(a, b)));
  v[3] = VF(vreinterpretq_f32_f64(vzip2q_f64(c, d)));
#else
  v[0] = VF(vcombine_f32(vget_low_f32(v01.val[0]), vget_low_f32(v23.val[0])));
  v[1] = VF(vcombine_f32(vget_low_f32(v01.val[1]), vget_low_f32(v23.val[1])));
  v[2] = VF(vcombine_f32(vget_high_f32(v01.val[0]), vget_high_f32(v23.val[0])));
  v[3] = VF(vcombine_f32(vget_high_f32(v01.val[1]), vget_high_f32(v23.val[1])));
#endif
}
FOVEA_INLINE VF Max(VF a, VF b) { return VF(vmaxq_f32(a.data, b.data)); }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return Max(a, least); }  // NaN if one of them is
#if defined(__aarch64__)
FOVEA_INLINE VF Div(VF a, VF b) { return VF(vdivq_f32(a.data, b.data)); }
#else
FOVEA_INLINE VF Div(VF a, VF b) {
  float x[4], y[4];
  StoreU(a, kF, x);
  StoreU(b, kF, y);
  for (int i = 0; i < 4; ++i) x[i] /= y[i];
  return LoadU(kF, x);
}
#endif
#if defined(__ARM_FEATURE_FMA)
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return VF(vfmaq_f32(c.data, a.data, b.data)); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return VF(vfmsq_f32(c.data, a.data, b.data)); }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return Add(Mul(a, b), c); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return Sub(c, Mul(a, b)); }
#endif
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return VI(vshlq_n_s32(a.data, n));
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return VI(vshrq_n_s32(a.data, n));
}
FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return VF(vreinterpretq_f32_s32(a.data)); }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return VI(vreinterpretq_s32_f32(a.data)); }
FOVEA_INLINE VF Iota(Tag<float>, float first) {
  const float lanes[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  return Add(Set(kF, first), LoadU(kF, lanes));
}
FOVEA_INLINE MF SignMask(VF v) { return MF(vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_f32(v.data), 31))); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) {
  return VF(vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(no.data), m.data)));
}
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  return VF(k == 1 ? vrev64q_f32(v.data) : vextq_f32(v.data, v.data, 2));
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[4]) {
  VF columns[4] = {v[0], v[1], v[2], v[3]};
  Transpose(columns);
  return Add(Add(columns[0], columns[1]), Add(columns[2], columns[3]));
}

#if defined(__aarch64__)
#define FOVEA_BLOCK_LOOPS "math/block_neon64.inl"
#define FOVEA_MULTIPLIES_LANES 1
FOVEA_INLINE VF NextTwo(const float*& p) { return VF{raw::NextTwo(p)}; }
template <int i>
FOVEA_INLINE VF MulAddLane(VF a, VF b, VF c) {
  return VF(vfmaq_laneq_f32(c.data, a.data, b.data, i));
}
template <int i>
FOVEA_INLINE VF MulAddLaneUnless(MF m, VF a, VF b, VF c) {
  return MulAddUnless(m, a, VF(vdupq_laneq_f32(b.data, i)), c);
}
#else
#define FOVEA_BLOCK_LOOPS "math/block_neon32.inl"
FOVEA_INLINE VF NextSpread(const float*& p, ptrdiff_t step) { return VF{raw::NextSpread(p, step)}; }
#endif
