// SPDX-License-Identifier: Apache-2.0
//
// Groups of ggml whose codes become bytes before anything else: q5_0, q5_1, iq4_nl, mxfp4. base.h describes them.
#ifndef FOVEA_SRC_FORMATS_BLOCK_CODES_INL_
#define FOVEA_SRC_FORMATS_BLOCK_CODES_INL_

#include "ground/formats/fit.inl"
#include "ground/simd/code_words.inl"

template <fovea_dtype kType>
constexpr bool kInBytes = ::fovea::is_one_of<::fovea::kByteFormats>(kType);
template <fovea_dtype kType>
constexpr bool kIsFive = kType == FOVEA_Q5_0 || kType == FOVEA_Q5_1;

// The number that nibble `u` of element i stands for; `high` has the fifth bits of q5_0 and q5_1.
template <fovea_dtype kType>
FOVEA_INLINE int NumberOf(uint32_t u, uint32_t high, size_t i) {
  if constexpr (kIsFive<kType>) return int(u | (high >> i & 1) << 4) - (kType == FOVEA_Q5_0 ? 16 : 0);
  return kNumbersOfCodes[kType == FOVEA_MXFP4][u];
}
// 16 numbers plus `more`, as often as the longest vector has room for them.
struct alignas(32) Repeated {
  uint8_t of[kLanes > 8 ? 64 : 32];
  constexpr explicit Repeated(const int8_t (&numbers)[16], int more = 0) : of() {
    for (size_t i = 0; i < sizeof of; ++i) of[i] = uint8_t(numbers[i % 16] + more);
  }
};
// The same of as many elements as a word has bytes, from element kFirst on.
template <fovea_dtype kType, size_t kFirst>
FOVEA_INLINE RunBytes NumbersOfRun(RunBytes u, uint32_t high) {
  if constexpr (!kIsFive<kType>) {
    static constexpr Repeated kTable(kNumbersOfCodes[kType == FOVEA_MXFP4]);
    return PickBytes(CodesAt<RunBytes>(kTable.of), u);
  }
  alignas(32) static constexpr uint8_t kPlaces[32] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                                      2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  alignas(32) static constexpr uint8_t kBits[32] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                                                    1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const RunBytes bits = CodesAt<RunBytes>(kBits), all = RunBytes(RunVector{} + high);
  const RunBytes bit = PickBytes(all, CodesAt<RunBytes>(kPlaces + kFirst)) & bits;
  return u | (kType == FOVEA_Q5_0 ? RunBytes(bit == 0) & 0xf0 : RunBytes(bit != 0) & 16);
}

// Stores what a group's codes stand for as bytes, minus kLess, which is 128 where unsigned bytes are wanted, or 0.
template <fovea_dtype kType, uint8_t kLess>
FOVEA_INLINE void PutBlockCodes(const uint8_t* block, int8_t* to) {
  const uint8_t* const nibbles = block + ::fovea::format_of(kType).group_bytes - kScaleGroup / 2;
  uint32_t high = 0;
  if constexpr (kIsFive<kType>) __builtin_memcpy(&high, nibbles - sizeof high, sizeof high);
  if constexpr (kLanes == 1) {
    for (size_t i = 0; i < kScaleGroup / 2; ++i) {
      to[i] = int8_t(NumberOf<kType>(nibbles[i] & 15, high, i) - kLess);
      to[i + 16] = int8_t(NumberOf<kType>(nibbles[i] >> 4, high, i + 16) - kLess);
    }
    return;
  } else {
    RunBytes low;  // with wide vectors all
    if constexpr (sizeof low == kScaleGroup) {
      alignas(32) static constexpr uint32_t kShifts[8] = {0, 0, 0, 0, 4, 4, 4, 4};
      low = RunBytes(SixteenTwice(nibbles) >> CodesAt<RunVector>(reinterpret_cast<const uint8_t*>(kShifts)));
    } else {
      __builtin_memcpy(&low, nibbles, sizeof low);
      const RunBytes upper = NumbersOfRun<kType, 16>(low >> 4, high) - kLess;
      __builtin_memcpy(to + 16, &upper, 16);
    }
    low = NumbersOfRun<kType, 0>(low & 15, high) - kLess;
    __builtin_memcpy(to, &low, sizeof low);
  }
}

// 2^(e - 128), which is subnormal where e is 0 or 1, for e in the low eight bits.
FOVEA_INLINE VF PowersOf(VI bits) {
  const VI e = hn::And(bits, hn::Set(kI, 0xff)), one = hn::Set(kI, 1);
  const VI subnormal = hn::ShiftLeft<21>(hn::Add(e, one)), normal = hn::ShiftLeft<23>(hn::Sub(e, one));
  return hn::IfThenElse(hn::Lt(hn::ConvertTo(kF, e), hn::Set(kF, 2.0f)), hn::BitCast(kF, subnormal),
                        hn::BitCast(kF, normal));
}
// Scales of groups, from the first 16 bits of each.
template <fovea_dtype kType>
FOVEA_INLINE VF ScalesAt(const uint16_t* bits) {
  return kType == FOVEA_MXFP4 ? PowersOf(hn::LoadU16(kI, bits)) : hn::LoadF16(kF, bits);
}
// The numbers of a group as floats: the vector from element i on; all of them.
template <fovea_dtype kType>
FOVEA_INLINE VF BlockNumbers(const uint8_t* block, size_t i) {
  if constexpr (kLanes == 1) {
    const uint8_t* const nibbles = block + ::fovea::format_of(kType).group_bytes - kScaleGroup / 2;
    uint32_t high = 0;
    if constexpr (kIsFive<kType>) __builtin_memcpy(&high, nibbles - sizeof high, sizeof high);
    return hn::Set(kF, float(NumberOf<kType>(nibbles[i % 16] >> (i / 16 * 4) & 15, high, i)));
  }
  int8_t codes[kScaleGroup];
  PutBlockCodes<kType, 0>(block, codes);
  return hn::ConvertTo(kF, hn::LoadI8(kI, codes + i));
}
template <fovea_dtype kType>
FOVEA_INLINE void AllBlockNumbers(const uint8_t* block, VF (&all)[kGroupVectors]) {
  int8_t codes[kScaleGroup];
  PutBlockCodes<kType, 0>(block, codes);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) all[i] = hn::ConvertTo(kF, hn::LoadI8(kI, codes + i * kLanes));
}

#endif  // FOVEA_SRC_FORMATS_BLOCK_CODES_INL_
