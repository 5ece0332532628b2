// SPDX-License-Identifier: Apache-2.0
//
// The words for integers for Helium.
#ifndef FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_
#define FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_

#define FOVEA_INTEGER_PRODUCTS "layers/integer/products_helium.inl"
namespace integers {

constexpr size_t kLanes = 4;
using V = int32x4_t;

FOVEA_INLINE V Set(int32_t x) { return vdupq_n_s32(x); }
FOVEA_INLINE V Load(const int32_t* p) { return hn::LoadU(kI, p); }
FOVEA_INLINE void Store(V v, int32_t* p) { *reinterpret_cast<hn::VIInMemory*>(p) = v; }
// Clamps to the range of a signed byte.
FOVEA_INLINE V Saturate(V v) { return vmaxq_s32(vminq_s32(v, vdupq_n_s32(127)), vdupq_n_s32(-128)); }
FOVEA_INLINE void StoreBytes(V v, int8_t* p) { vstrbq_s32(p, v); }
FOVEA_INLINE void StoreSomeBytes(V v, int8_t* p, size_t n) { vstrbq_p_s32(p, v, vctp32q(uint32_t(n))); }
FOVEA_INLINE V Add(V a, V b) { return vaddq_s32(a, b); }
FOVEA_INLINE V Sub(V a, V b) { return vsubq_s32(a, b); }
FOVEA_INLINE V Min(V a, V b) { return vminq_s32(a, b); }
FOVEA_INLINE V Max(V a, V b) { return vmaxq_s32(a, b); }
FOVEA_INLINE int32_t LargestLane(V v) { return vmaxvq_s32(INT32_MIN, v); }
FOVEA_INLINE V ShiftLeft(V v, int n) { return vshlq_r_s32(v, n); }
// (v + 2^(n - 1)) / 2^n, rounded down.
FOVEA_INLINE V ShiftRound(V v, int n) { return vrshlq_n_s32(v, -n); }
// The upper half of v * x.
FOVEA_INLINE V MulHigh(V v, int32_t x) { return vmulhq_s32(v, vdupq_n_s32(x)); }
// v * x / 2^31, rounded to the nearest, where |v| < 2^30.
FOVEA_INLINE V MulRound(V v, int32_t x) { return vqrdmulhq_n_s32(v, x); }
FOVEA_INLINE V Lookup(const uint8_t* table, V index) {
  return vreinterpretq_s32_u32(vldrbq_gather_offset_u32(table, vreinterpretq_u32_s32(index)));
}

// *p = a and p[kDistance] = b; then the pointer advances past a.
template <int kDistance>
FOVEA_INLINE void StoreTwoNext(int32_t a, int32_t b, int32_t*& p) {
  p[kDistance] = b;
  asm("str %2, [%1], #4" : "=m"(*p), "+r"(p) : "r"(a));
}
// The pointer advances past the byte.
FOVEA_INLINE int32_t NextI8(const int8_t*& p) {
  int32_t byte;
  asm("ldrsb %0, [%1], #1" : "=r"(byte), "+r"(p) : "m"(*p));
  return byte;
}
FOVEA_INLINE int32_t AddAll(int8x16_t bytes, int32_t sum) { return vaddvaq_s8(sum, bytes); }

// ------------------------------------------------------------------------------------- layers on int8 tensors

// How many lanes of a vector are loaded or stored: all, or the first few.
struct All {};
struct Some {
  mve_pred16_t lanes;
  explicit Some(size_t n) : lanes(vctp32q(uint32_t(n))) {}
};

FOVEA_INLINE V LoadCodes(const int8_t* p, All) { return vldrbq_s32(p); }
FOVEA_INLINE V LoadCodes(const int8_t* p, Some n) { return vldrbq_z_s32(p, n.lanes); }
FOVEA_INLINE V LoadHalves(const int16_t* p, All) { return vldrhq_s32(p); }
FOVEA_INLINE V LoadHalves(const int16_t* p, Some n) { return vldrhq_z_s32(p, n.lanes); }
FOVEA_INLINE void StoreCodes(V v, int8_t* p, All) { vstrbq_s32(p, v); }
FOVEA_INLINE void StoreCodes(V v, int8_t* p, Some n) { vstrbq_p_s32(p, v, n.lanes); }

// Modulo 2^32.
FOVEA_INLINE V Mul(V a, V b) { return vmulq_s32(a, b); }
FOVEA_INLINE V Scaled(V v, int32_t factor, int32_t more) { return vmlasq_n_s32(v, vdupq_n_s32(factor), more); }
FOVEA_INLINE V MulAdd(V v, int32_t factor, V more) { return vmlaq_n_s32(more, v, factor); }

// sum + floor(v * half / 2^16), for halves of 16 bits.
FOVEA_INLINE V AddMulHalf(V sum, V v, V half) { return vaddq_s32(sum, vmulhq_s32(v, vshlq_n_s32(half, 16))); }
// sum + floor(v * x / 2^32).
FOVEA_INLINE V AddMulHigh(V sum, V v, int32_t x) { return vaddq_s32(sum, vmulhq_s32(v, vdupq_n_s32(x))); }
// round((v - kHalf<kBits>) / 2^kBits), clamped to the range of a code: in the lowest byte of each lane. As intrinsics
// both instructions would keep the rest of a lane, for one more each. (Release 2.40 of the GNU assembler makes the one
// that rounds of the one that does not, too.)
template <int kBits>
constexpr int32_t kHalf = 0;
template <int kBits>
FOVEA_INLINE V CodeOf(V v) {
  V halves, bytes;
  asm("vqrshrnb.s32 %q0, %q1, %2" : "=w"(halves) : "w"(v), "n"(kBits));
  asm("vqmovnb.s16 %q0, %q1" : "=w"(bytes) : "w"(halves));
  return bytes;
}
FOVEA_INLINE V ShiftDown(V v, int n) { return vshlq_r_s32(v, -n); }

// The sum of codes, and of their squares.
struct CodeSums {
  int32_t sum, squares;
};
FOVEA_INLINE CodeSums SumCodes(const int8_t* p, size_t count) {
  int32_t sum = 0, squares = 0;
  for (size_t vectors = count / 16; vectors > 0; --vectors, p += 16) {
    const int8x16_t codes = vldrbq_s8(p);
    sum = vaddvaq_s8(sum, codes);
    squares = vmladavaq_s8(squares, codes, codes);
  }
  if (count % 16 != 0) {
    const int8x16_t codes = vldrbq_z_s8(p, vctp8q(uint32_t(count % 16)));
    sum = vaddvaq_s8(sum, codes);
    squares = vmladavaq_s8(squares, codes, codes);
  }
  return {sum, squares};
}

// to[i] = table[codes[i]], where codes count as unsigned.
FOVEA_INLINE void Translate(const int8_t* table, const int8_t* codes, size_t count, int8_t* to) {
  const uint8_t* from = reinterpret_cast<const uint8_t*>(codes);
  for (size_t vectors = count / 16; vectors > 0; --vectors, from += 16, to += 16) {
    vstrbq_s8(to, vldrbq_gather_offset_s8(table, vldrbq_u8(from)));
  }
  if (count % 16 != 0) {
    const mve_pred16_t lanes = vctp8q(uint32_t(count % 16));
    vstrbq_p_s8(to, vldrbq_gather_offset_z_s8(table, vldrbq_z_u8(from, lanes), lanes), lanes);
  }
}

}  // namespace integers

#endif  // FOVEA_SRC_SIMD_INTEGER_HELIUM_INL_
