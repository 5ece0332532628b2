// SPDX-License-Identifier: Apache-2.0
//
// Integers on raw WebAssembly vectors, for narrow.inl. Included by the Highway backend header inside its
// namespace hn.

namespace raw {

// Highway's vectors hold these types. Each is a v128_t with a size of its lanes.
using V = decltype(VF::raw);
using I = decltype(VI::raw);

FOVEA_INLINE I MulWide(v128_t a, uint32_t b, I& high) {
  const v128_t factor = wasm_u32x4_splat(b);
  const v128_t lower = wasm_u64x2_extmul_low_u32x4(a, factor), upper = wasm_u64x2_extmul_high_u32x4(a, factor);
  high = I(wasm_i32x4_shuffle(lower, upper, 1, 3, 5, 7));
  return I(wasm_i32x4_shuffle(lower, upper, 0, 2, 4, 6));
}

FOVEA_INLINE v128_t LoadPart(const void* p, size_t bytes) {
  uint64_t part = 0;
  __builtin_memcpy(&part, p, bytes);
  return wasm_i64x2_make(int64_t(part), 0);
}
FOVEA_INLINE void StorePart(v128_t v, void* p, size_t bytes) {
  const int64_t part = wasm_i64x2_extract_lane(v, 0);
  __builtin_memcpy(p, &part, bytes);
}
FOVEA_INLINE v128_t LoadHalves(const void* p) { return wasm_v128_load64_zero(p); }
FOVEA_INLINE v128_t LoadHalvesN(const void* p, size_t n) { return LoadPart(p, 2 * n); }
FOVEA_INLINE v128_t LoadBytes(const void* p) { return LoadPart(p, 4); }
FOVEA_INLINE v128_t LoadBytesN(const void* p, size_t n) { return LoadPart(p, n); }
FOVEA_INLINE void StoreHalves(v128_t v, void* p) { StorePart(v, p, 8); }
FOVEA_INLINE void StoreHalvesN(v128_t v, void* p, size_t n) { StorePart(v, p, 2 * n); }
FOVEA_INLINE void StoreBytes(v128_t v, void* p) { StorePart(v, p, 4); }
FOVEA_INLINE void StoreBytesN(v128_t v, void* p, size_t n) { StorePart(v, p, n); }
FOVEA_INLINE I WidenU16(v128_t v) { return I(wasm_u32x4_extend_low_u16x8(v)); }
FOVEA_INLINE I WidenU8(v128_t v) { return WidenU16(wasm_u16x8_extend_low_u8x16(v)); }
FOVEA_INLINE I WidenI8(v128_t v) { return I(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(v))); }
FOVEA_INLINE v128_t Narrow16(v128_t v) {
  return wasm_u16x8_narrow_i32x4(wasm_v128_and(v, wasm_i32x4_splat(0xffff)), wasm_i32x4_splat(0));
}
FOVEA_INLINE v128_t Narrow8(v128_t v) {
  return wasm_u8x16_narrow_i16x8(Narrow16(wasm_v128_and(v, wasm_i32x4_splat(0xff))), wasm_i32x4_splat(0));
}

// 128-bit blocks of four lanes.
FOVEA_INLINE I LookUp(v128_t table, v128_t at) { return I(wasm_i8x16_swizzle(table, at)); }
FOVEA_INLINE I MaxU8(v128_t a, v128_t b) { return I(wasm_u8x16_max(a, b)); }
FOVEA_INLINE I SubU8(v128_t a, v128_t b) { return I(wasm_i8x16_sub(a, b)); }
FOVEA_INLINE I LargestOfLanes(const I (&v)[4]) {
  const auto lanes = [](v128_t a, v128_t b) {
    return wasm_u8x16_max(wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), wasm_i32x4_shuffle(a, b, 2, 6, 3, 7));
  };
  const v128_t a = lanes(v[0], v[1]), b = lanes(v[2], v[3]);
  return MaxU8(wasm_i64x2_shuffle(a, b, 0, 2), wasm_i64x2_shuffle(a, b, 1, 3));
}
template <int i>
FOVEA_INLINE V SpreadLane(v128_t v) {
  return V(wasm_i32x4_shuffle(v, v, i, i, i, i));
}
FOVEA_INLINE I AbsI8(v128_t v) { return I(wasm_i8x16_abs(v)); }
template <int kRun>
FOVEA_INLINE I LoadBlocks(const uint8_t* const (&at)[1]) {
  return I(wasm_v128_load(at[0]));
}
FOVEA_INLINE void StoreBlockPairs(v128_t a, v128_t b, uint8_t* p, uint8_t*, size_t) {
  wasm_v128_store(p, a);
  wasm_v128_store(p + 16, b);
}

}  // namespace raw

#define FOVEA_HAS_F16 0
