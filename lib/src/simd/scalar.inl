// SPDX-License-Identifier: Apache-2.0
//
// The scalar page of the vocabulary: vectors of one lane, for machines without a vector unit and as the plainest
// statement of what each word means. No libm: the compiler's own operations only.

namespace hn {

template <class T>
struct Scalar {
  T raw;
};
template <class T>
struct ScalableTag {};
constexpr ScalableTag<float> kF;
constexpr ScalableTag<int32_t> kI;
using VF = Scalar<float>;
using VI = Scalar<int32_t>;
using MF = Scalar<bool>;
constexpr size_t kLanes = 1;
constexpr int kRegisters = 8, kBlockKeys = 4, kBlockVectors = 4, kMaskedVectors = 2;

template <class T>
FOVEA_INLINE Scalar<T> Zero(ScalableTag<T>) {
  return {T(0)};
}
FOVEA_INLINE VF Set(ScalableTag<float>, float x) { return {x}; }
FOVEA_INLINE VI Set(ScalableTag<int32_t>, int32_t x) { return {x}; }
FOVEA_INLINE VF Iota(ScalableTag<float>, float first) { return {first}; }

template <class T>
FOVEA_INLINE Scalar<T> LoadU(ScalableTag<T>, const T* p) {
  return {*p};
}
template <class T>
FOVEA_INLINE void StoreU(Scalar<T> v, ScalableTag<T>, T* p) {
  *p = v.raw;
}
FOVEA_INLINE VF LoadN(ScalableTag<float>, const float* p, size_t n) { return {n ? *p : 0.0f}; }
FOVEA_INLINE void StoreN(VF v, ScalableTag<float>, float* p, size_t n) {
  if (n) *p = v.raw;
}
FOVEA_INLINE VI LoadU16(ScalableTag<int32_t>, const uint16_t* p) { return {*p}; }
FOVEA_INLINE VI LoadU16N(ScalableTag<int32_t>, const uint16_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE VI LoadU8(ScalableTag<int32_t>, const uint8_t* p) { return {*p}; }
FOVEA_INLINE VI LoadU8N(ScalableTag<int32_t>, const uint8_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE VI LoadI8(ScalableTag<int32_t>, const int8_t* p) { return {*p}; }
FOVEA_INLINE VI LoadI8N(ScalableTag<int32_t>, const int8_t* p, size_t n) { return {n ? *p : 0}; }
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) { *p = uint16_t(v.raw); }
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) {
  if (n) *p = uint16_t(v.raw);
}
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) { *p = uint8_t(v.raw); }
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) {
  if (n) *p = uint8_t(v.raw);
}
FOVEA_INLINE void LoadPairs(ScalableTag<float>, const float* p, VF& a, VF& b) { a.raw = p[0], b.raw = p[1]; }
FOVEA_INLINE void StorePairs(VF a, VF b, ScalableTag<float>, float* p) { p[0] = a.raw, p[1] = b.raw; }

FOVEA_INLINE VF Add(VF a, VF b) { return {a.raw + b.raw}; }
FOVEA_INLINE VF Sub(VF a, VF b) { return {a.raw - b.raw}; }
FOVEA_INLINE VF Mul(VF a, VF b) { return {a.raw * b.raw}; }
FOVEA_INLINE VF Div(VF a, VF b) { return {a.raw / b.raw}; }
FOVEA_INLINE VF Max(VF a, VF b) { return {a.raw > b.raw ? a.raw : b.raw}; }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return {a.raw < least.raw ? least.raw : a.raw}; }
FOVEA_INLINE VF Abs(VF a) { return {__builtin_fabsf(a.raw)}; }
#if defined(__FP_FAST_FMAF)
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return {__builtin_fmaf(a.raw, b.raw, c.raw)}; }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return {__builtin_fmaf(-a.raw, b.raw, c.raw)}; }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return {a.raw * b.raw + c.raw}; }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return {c.raw - a.raw * b.raw}; }
#endif

FOVEA_INLINE VI Add(VI a, VI b) { return {int32_t(uint32_t(a.raw) + uint32_t(b.raw))}; }
FOVEA_INLINE VI Sub(VI a, VI b) { return {int32_t(uint32_t(a.raw) - uint32_t(b.raw))}; }
FOVEA_INLINE VI And(VI a, VI b) { return {a.raw & b.raw}; }
FOVEA_INLINE VI Or(VI a, VI b) { return {a.raw | b.raw}; }
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return {int32_t(uint32_t(a.raw) << n)};
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return {a.raw >> n};
}
FOVEA_INLINE VF ConvertTo(ScalableTag<float>, VI a) { return {float(a.raw)}; }
FOVEA_INLINE VF BitCast(ScalableTag<float>, VI a) {
  VF v;
  __builtin_memcpy(&v.raw, &a.raw, 4);
  return v;
}
FOVEA_INLINE VI BitCast(ScalableTag<int32_t>, VF a) {
  VI v;
  __builtin_memcpy(&v.raw, &a.raw, 4);
  return v;
}

FOVEA_INLINE MF Eq(VF a, VF b) { return {a.raw == b.raw}; }
FOVEA_INLINE MF Lt(VF a, VF b) { return {a.raw < b.raw}; }
FOVEA_INLINE MF Le(VF a, VF b) { return {a.raw <= b.raw}; }
FOVEA_INLINE MF Or(MF a, MF b) { return {a.raw || b.raw}; }
FOVEA_INLINE MF SignMask(VF v) { return {BitCast(kI, v).raw < 0}; }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) { return {m.raw ? yes.raw : no.raw}; }
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return {m.raw ? 0.0f : no.raw}; }
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return MulAdd(a, IfThenZeroElse(m, b), c); }

FOVEA_INLINE void Transpose(VF (&)[1]) {}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  static_assert(k < 0, "a single lane has none to swap with");
  return v;
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[1]) { return v[0]; }

#include "simd/half.inl"

constexpr int kElems = 1;
using Elems = VF;
FOVEA_INLINE Elems LoadElems(const float* p) { return {*p}; }
FOVEA_INLINE Elems LoadElem(const float* p) { return {*p}; }
template <int i>
FOVEA_INLINE VF MulAddElem(VF v, Elems e, VF acc) {
  return MulAdd(v, e, acc);
}
template <int i>
FOVEA_INLINE VF MulAddElemUnless(MF m, VF v, Elems e, VF acc) {
  return MulAddUnless(m, v, e, acc);
}

#include "simd/derived.inl"

}  // namespace hn
