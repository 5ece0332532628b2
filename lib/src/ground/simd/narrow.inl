// SPDX-License-Identifier: Apache-2.0
//
// Words for integers, over a backend header's raw vectors: elements of 16 and 8 bits, products of 64 bits, 128-bit
// blocks. Included inside namespace hn by backend headers that have VI, VF, a function Raw() that returns the raw
// vector of either, and a namespace raw with what is called here: vectors of as many halves or bytes are loaded and
// widened, or narrowed and stored. FOVEA_HAS_F16: whether half-precision numbers are, too. FOVEA_X86_LANES: where there
// are more than 4, raw has WidenF16Blocks. Vectors of four floats have a few words by memory and by transposing here.

#if !defined(FOVEA_X86_LANES)
FOVEA_INLINE VF LoadN(decltype(kF), const float* p, size_t n) {
  float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
  return LoadU(kF, lanes);
}
FOVEA_INLINE void StoreN(VF v, decltype(kF), float* p, size_t n) {
  float lanes[4];
  StoreU(v, kF, lanes);
  for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[4]) {
  VF columns[4] = {v[0], v[1], v[2], v[3]};
  Transpose(columns);
  return Add(Add(columns[0], columns[1]), Add(columns[2], columns[3]));
}
#endif

FOVEA_INLINE VI MulWide(VI a, uint32_t b, VI& high) {
  raw::I upper;
  const raw::I lower = raw::MulWide(Raw(a), b, upper);
  high = VI{upper};
  return VI{lower};
}

FOVEA_INLINE VI LoadU16(decltype(kI), const uint16_t* p) { return VI{raw::WidenU16(raw::LoadHalves(p))}; }
FOVEA_INLINE VI LoadU16N(decltype(kI), const uint16_t* p, size_t n) {
  return VI{raw::WidenU16(raw::LoadHalvesN(p, n))};
}
FOVEA_INLINE VI LoadU8(decltype(kI), const uint8_t* p) { return VI{raw::WidenU8(raw::LoadBytes(p))}; }
FOVEA_INLINE VI LoadU8N(decltype(kI), const uint8_t* p, size_t n) { return VI{raw::WidenU8(raw::LoadBytesN(p, n))}; }
FOVEA_INLINE VI LoadI8(decltype(kI), const int8_t* p) { return VI{raw::WidenI8(raw::LoadBytes(p))}; }
FOVEA_INLINE VI LoadI8N(decltype(kI), const int8_t* p, size_t n) { return VI{raw::WidenI8(raw::LoadBytesN(p, n))}; }
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) { raw::StoreHalves(raw::Narrow16(Raw(v)), p); }
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) { raw::StoreHalvesN(raw::Narrow16(Raw(v)), p, n); }
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) { raw::StoreBytes(raw::Narrow8(Raw(v)), p); }
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) { raw::StoreBytesN(raw::Narrow8(Raw(v)), p, n); }
FOVEA_INLINE void StoreNearestI8(const VF (&v)[4], uint8_t* p) {
#if defined(FOVEA_X86_LANES)
  raw::StoreNearestI8(Raw(v[0]), Raw(v[1]), Raw(v[2]), Raw(v[3]), p);
#else
  const VF bias = Set(kF, 12582912.0f);  // 1.5 * 2^23: the bits of the sum end with the integer
  FOVEA_EACH(i, 4) StoreU8(BitCast(kI, Add(v[i], bias)), p + i * kLanes);
#endif
}

#if FOVEA_HAS_F16
FOVEA_INLINE VF SetF16(decltype(kF), uint16_t bits) { return VF{raw::SetF16(bits)}; }
FOVEA_INLINE VF LoadF16(decltype(kF), const uint16_t* p) { return VF{raw::WidenF16(raw::LoadHalves(p))}; }
FOVEA_INLINE VF LoadF16N(decltype(kF), const uint16_t* p, size_t n) {
  return VF{raw::WidenF16(raw::LoadHalvesN(p, n))};
}
FOVEA_INLINE void StoreF16(VF v, uint16_t* p) { raw::StoreHalves(raw::NarrowF16(Raw(v)), p); }
FOVEA_INLINE void StoreF16N(VF v, uint16_t* p, size_t n) { raw::StoreHalvesN(raw::NarrowF16(Raw(v)), p, n); }
#else
#include "ground/simd/f16.inl"
#endif
#undef FOVEA_HAS_F16

FOVEA_INLINE VI LookUp(VI table, VI at) { return VI{raw::LookUp(Raw(table), Raw(at))}; }
FOVEA_INLINE VI MaxU8(VI a, VI b) { return VI{raw::MaxU8(Raw(a), Raw(b))}; }
FOVEA_INLINE VI SubU8(VI a, VI b) { return VI{raw::SubU8(Raw(a), Raw(b))}; }
FOVEA_INLINE VI LargestU8(const VI (&v)[4]) {
  const VI lanes = VI{raw::LargestOfLanes({Raw(v[0]), Raw(v[1]), Raw(v[2]), Raw(v[3])})};
  const VI halves = MaxU8(lanes, ShiftRight<16>(lanes));
  return And(MaxU8(halves, ShiftRight<8>(halves)), Set(kI, 255));
}
template <int i>
FOVEA_INLINE VF SpreadLane(VF v) {
  return VF{raw::SpreadLane<i>(Raw(v))};
}
FOVEA_INLINE VI AbsI8(VI v) { return VI{raw::AbsI8(Raw(v))}; }
#define FOVEA_HAS_BLOCKS 1
template <int kRun>
FOVEA_INLINE VI LoadBlocks(decltype(kI), const uint8_t* const (&at)[kLanes / 4]) {
  return VI{raw::LoadBlocks<kRun>(at)};
}
FOVEA_INLINE void StoreBlockPairs(VI a, VI b, uint8_t* p, uint8_t* q, size_t n) {
  raw::StoreBlockPairs(Raw(a), Raw(b), p, q, n);
}
#if FOVEA_X86_LANES > 4
FOVEA_INLINE VF WidenF16Blocks(decltype(kF), const uint64_t (&halves)[4]) { return VF{raw::WidenF16Blocks(halves)}; }
#else
FOVEA_INLINE VF WidenF16Blocks(decltype(kF), const uint64_t (&halves)[4]) {
  const uint16_t lanes[4] = {uint16_t(halves[0]), uint16_t(halves[1]), uint16_t(halves[2]), uint16_t(halves[3])};
  return LoadF16(kF, lanes);
}
#endif
