// SPDX-License-Identifier: Apache-2.0
//
// Random numbers from a counter.
#ifndef FOVEA_SRC_MATH_PHILOX_INL_
#define FOVEA_SRC_MATH_PHILOX_INL_

// Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 4.3)
// of a counter in each lane: four words, in place.
FOVEA_INLINE void Philox(VI (&c)[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round, key0 += 0x9e3779b9u, key1 += 0xbb67ae85u) {
    VI high0, high1;
    const VI low0 = hn::MulWide(c[0], 0xd2511f53u, high0), low1 = hn::MulWide(c[2], 0xcd9e8d57u, high1);
    c[0] = hn::Xor(hn::Xor(high1, c[1]), hn::Set(kI, int32_t(key0)));
    c[2] = hn::Xor(hn::Xor(high0, c[3]), hn::Set(kI, int32_t(key1)));
    c[1] = low1;
    c[3] = low0;
  }
}

// The upper 24 bits of a word as a number from 0 to below 1, exactly.
FOVEA_INLINE VF Uniform(VI word) {
  const VI bits = hn::And(hn::ShiftRight<8>(word), hn::Set(kI, 0xffffff));
  return hn::Mul(hn::ConvertTo(kF, bits), hn::Set(kF, 1.0f / 16777216.0f));
}

#endif  // FOVEA_SRC_MATH_PHILOX_INL_
