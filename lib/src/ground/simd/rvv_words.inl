// SPDX-License-Identifier: Apache-2.0
//
// Words that clang's vectors of any length have: for a vector of one register, or of a group of registers, which one
// instruction takes, too. VF, VI and VU are vectors of kLanes floats and integers.

// -1 in the lanes where the mask is set, else 0, as a comparison gives it. The compiler keeps it as a mask register.
struct MF {
  VI lanes;
};

FOVEA_INLINE VF Zero(Tag<float>) { return VF{}; }
FOVEA_INLINE VF Set(Tag<float>, float x) {
  VF v;
  FOVEA_EACH(i, kLanes) v[i] = x;
  return v;
}
FOVEA_INLINE VI Set(Tag<int32_t>, int32_t x) { return VI{} + x; }
FOVEA_INLINE VF LoadU(Tag<float>, const float* p) { return raw::Load<VF>(p); }
FOVEA_INLINE VI LoadU(Tag<int32_t>, const int32_t* p) { return raw::Load<VI>(p); }
FOVEA_INLINE void StoreU(VF v, Tag<float>, float* p) { __builtin_memcpy(p, &v, sizeof v); }

FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return VF(a); }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return VI(a); }
FOVEA_INLINE VF ConvertTo(Tag<float>, VI a) { return __builtin_convertvector(a, VF); }

FOVEA_INLINE VF Add(VF a, VF b) { return a + b; }
FOVEA_INLINE VF Sub(VF a, VF b) { return a - b; }
FOVEA_INLINE VF Mul(VF a, VF b) { return a * b; }
FOVEA_INLINE VF Div(VF a, VF b) { return a / b; }
FOVEA_INLINE VF Max(VF a, VF b) { return __builtin_elementwise_max(a, b); }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return a < least ? least : a; }
FOVEA_INLINE VF Abs(VF a) { return __builtin_elementwise_abs(a); }
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return __builtin_elementwise_fma(a, b, c); }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return __builtin_elementwise_fma(-a, b, c); }

FOVEA_INLINE VI Add(VI a, VI b) { return VI(VU(a) + VU(b)); }
FOVEA_INLINE VI Sub(VI a, VI b) { return VI(VU(a) - VU(b)); }
FOVEA_INLINE VI And(VI a, VI b) { return a & b; }
FOVEA_INLINE VI Or(VI a, VI b) { return a | b; }
FOVEA_INLINE VI Xor(VI a, VI b) { return a ^ b; }
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return VI(VU(a) << n);
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return a >> n;
}

FOVEA_INLINE MF Eq(VF a, VF b) { return {a == b}; }
FOVEA_INLINE MF Lt(VF a, VF b) { return {a < b}; }
FOVEA_INLINE MF Le(VF a, VF b) { return {a <= b}; }
FOVEA_INLINE MF SignMask(VF v) { return {VI(v) < 0}; }
FOVEA_INLINE MF Or(MF a, MF b) { return {a.lanes | b.lanes}; }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return m.lanes ? yes : no; }
FOVEA_INLINE VF ClampMax(VF a, VF most) { return IfThenElse(Lt(most, a), most, a); }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return m.lanes ? VF{} : no; }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return m.lanes ? c : MulAdd(a, b, c); }
