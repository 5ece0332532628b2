// SPDX-License-Identifier: Apache-2.0
//
// The word SixBits, over vectors of the compiler: what an instruction that inserts shifted bits takes two of, takes four
// without it.
#ifndef FOVEA_SRC_SIMD_SIX_BITS_INL_
#define FOVEA_SRC_SIMD_SIX_BITS_INL_

#if defined(__ARM_NEON)
template <int kQuarter>
FOVEA_INLINE CodeWord SixBits(CodeWord nibbles, CodeWord pairs) {
  uint8x16_t high = uint8x16_t(pairs);
  if constexpr (kQuarter % 2 != 0) high = vshrq_n_u8(high, 2);
  high = vandq_u8(high, vdupq_n_u8(0x33));  // serves another quarter, too
  const auto low = uint8x16_t(nibbles);
  return CodeWord(kQuarter < 2 ? vsliq_n_u8(low, high, 4) : vsriq_n_u8(high, low, 4));
}
#else
template <int kQuarter, class Word>
FOVEA_INLINE Word SixBits(Word nibbles, Word pairs) {
  if constexpr (kQuarter < 2) pairs = pairs << (4 - 2 * kQuarter);
  if constexpr (kQuarter == 3) pairs = pairs >> 2;
  if constexpr (kQuarter >= 2) nibbles = nibbles >> 4;
  return (nibbles & FourBytes(15)) | (pairs & FourBytes(0x30));
}
#endif

#endif  // FOVEA_SRC_SIMD_SIX_BITS_INL_
