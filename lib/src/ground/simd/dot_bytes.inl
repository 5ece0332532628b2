// SPDX-License-Identifier: Apache-2.0
//
// What the dot headers of byte instructions share.
#ifndef FOVEA_SRC_SIMD_DOT_BYTES_INL_
#define FOVEA_SRC_SIMD_DOT_BYTES_INL_

// Packs the low bytes of four vectors of biased codes (see ScaleI8) into one vector: byte i of each lane comes from
// v[i].
FOVEA_INLINE VI PackBytes(const VF (&v)[4]) {
  const VI ab = hn::Add(hn::BitCast(kI, v[0]), hn::ShiftLeft<8>(hn::BitCast(kI, v[1])));
  const VI cd = hn::Add(hn::ShiftLeft<16>(hn::BitCast(kI, v[2])), hn::ShiftLeft<24>(hn::BitCast(kI, v[3])));
  constexpr uint32_t kBias = 0x4b400000u;  // the bits of kRoundingBias
  return hn::Sub(hn::Add(ab, cd), hn::Set(kI, int32_t(kBias + (kBias << 8))));
}

FOVEA_INLINE void StoreByteCodes(VF codes, int8_t* to, size_t n) {
  const VI bits = hn::BitCast(kI, hn::Add(codes, hn::Set(kF, kRoundingBias)));
  if (n == kLanes) {
    hn::StoreU8(bits, reinterpret_cast<uint8_t*>(to));
  } else {
    hn::StoreU8N(bits, reinterpret_cast<uint8_t*>(to), n);
  }
}

// The sum of a row of bytes.
FOVEA_INLINE int32_t SumOfBytes(const int8_t* row, size_t dim) {
  VI sum = hn::Set(kI, 0);
  size_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) sum = hn::Add(sum, hn::LoadI8(kI, row + d));
  float lanes[kLanes];
  hn::StoreU(hn::BitCast(kF, sum), kF, lanes);
  int32_t total = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    int32_t lane;
    __builtin_memcpy(&lane, &lanes[i], sizeof lane);
    total += lane;
  }
  for (; d < dim; ++d) total += row[d];
  return total;
}

#endif  // FOVEA_SRC_SIMD_DOT_BYTES_INL_
