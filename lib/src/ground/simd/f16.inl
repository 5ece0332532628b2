// SPDX-License-Identifier: Apache-2.0
//
// The words for half-precision numbers, over FromF16 and ToF16. Included inside namespace hn, after a definition of
// FOVEA_HAS_F16: whether the backend header has these two. If not, they are made of its other words. No arithmetic sees
// a subnormal number, so flushing them changes nothing, and the time is the same for all values.

#if !FOVEA_HAS_F16
// From 16 bits in each lane. f16 has 10 bits of fraction and an exponent that counts from 15, f32 23 and 127.
FOVEA_INLINE VF FromF16(VI half) {
  const VI magnitude = ShiftLeft<13>(And(half, Set(kI, 0x7fff)));
  const VF number = BitCast(kF, Add(magnitude, Set(kI, (127 - 15) << 23)));
  // A leading 1 is added to the fraction, and subtracted again: below 2^-14 f16 is subnormal.
  const VF subnormal = Sub(BitCast(kF, Add(magnitude, Set(kI, (127 - 15 + 1) << 23))), Set(kF, 0x1p-14f));
  const VF infinite = BitCast(kF, Add(magnitude, Set(kI, (255 - 31) << 23)));  // or NaN
  const VF finite = IfThenElse(Lt(number, Set(kF, 0x1p-14f)), subnormal, number);
  const VF absolute = IfThenElse(Le(Set(kF, 0x1p16f), number), infinite, finite);
  return BitCast(kF, Or(BitCast(kI, absolute), ShiftLeft<16>(And(half, Set(kI, 0x8000)))));
}

// To the nearest, ties to even, in the low 16 bits of each lane; the upper bits are unspecified.
FOVEA_INLINE VI ToF16(VF v) {
  const VF absolute = Abs(v);
  const VI bits = BitCast(kI, absolute);
  const VI odd = And(ShiftRight<13>(bits), Set(kI, 1));
  const VI number = ShiftRight<13>(Add(Add(bits, odd), Set(kI, 0xfff - ((127 - 15) << 23))));
  // The last place of the sum with 0.5 is 2^-24, as that of a subnormal f16: so the sum rounds as the number must.
  const VI subnormal = Sub(BitCast(kI, Add(absolute, Set(kF, 0.5f))), BitCast(kI, Set(kF, 0.5f)));
  VF half = IfThenElse(Lt(absolute, Set(kF, 0x1p-14f)), BitCast(kF, subnormal), BitCast(kF, number));
  half = IfThenElse(Le(Set(kF, 65520.0f), absolute), BitCast(kF, Set(kI, 0x7c00)), half);
  half = IfThenElse(Eq(v, v), half, BitCast(kF, Set(kI, 0x7e00)));
  return Or(BitCast(kI, half), And(ShiftRight<16>(BitCast(kI, v)), Set(kI, 0x8000)));
}
#endif

FOVEA_INLINE VF SetF16(decltype(kF), uint16_t bits) { return FromF16(Set(kI, bits)); }
FOVEA_INLINE VF LoadF16(decltype(kF), const uint16_t* p) { return FromF16(LoadU16(kI, p)); }
FOVEA_INLINE VF LoadF16N(decltype(kF), const uint16_t* p, size_t n) { return FromF16(LoadU16N(kI, p, n)); }
FOVEA_INLINE void StoreF16(VF v, uint16_t* p) { StoreU16(ToF16(v), p); }
FOVEA_INLINE void StoreF16N(VF v, uint16_t* p, size_t n) { StoreU16N(ToF16(v), p, n); }
