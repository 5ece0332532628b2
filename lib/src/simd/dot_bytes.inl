// SPDX-License-Identifier: Apache-2.0
//
// What the dot headers of byte instructions share.

// The low bytes of four vectors of biased codes (see ScaleI8), one behind the other in each lane: byte i is that of v[i].
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
