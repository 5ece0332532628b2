// SPDX-License-Identifier: Apache-2.0
//
// What all kinds of dot products share for many tokens with integer products, where weights are in groups. The sum of
// each group is an integer. It becomes a float and is multiplied by the group's scale.
#ifndef FOVEA_SRC_LINEAR_I8_GROUPS_INL_
#define FOVEA_SRC_LINEAR_I8_GROUPS_INL_

#include "layers/linear/i8/codes.inl"
#include "layers/linear/i8/linear.inl"
#include "layers/linear/i8/reader.inl"

// How much codes of a format exceed the numbers that they stand for. Not for Q8_0, whose codes are signed bytes.
constexpr uint8_t CodeBias(fovea_dtype dtype) { return HasLeast(dtype) ? 0 : IsInSuper(dtype) ? 32 : 8; }

// The scales of a group of inputs, one for each column.
FOVEA_INLINE const float* GroupScalesOf(const I8TokenTile& t, size_t group) {
  return t.group_scales + (t.scaled_groups > 1 ? group * t.columns : 0);
}

// Stores the nibbles of a group as bytes, minus `less`, which is 0 or 8.
FOVEA_INLINE void PutNibbles(const uint8_t* nibbles, uint8_t less, int8_t* to) {
  if (kLanes > 1) {
    typedef uint8_t Bytes __attribute__((vector_size(kScaleGroup / 2)));
    Bytes bytes;
    __builtin_memcpy(&bytes, nibbles, sizeof bytes);
    const Bytes low = (bytes & 15) - less, high = (bytes >> 4) - less;
    __builtin_memcpy(to, &low, sizeof low);
    __builtin_memcpy(to + sizeof low, &high, sizeof high);
    return;
  }
  constexpr size_t kOnes = SIZE_MAX / 255, kStep = sizeof(size_t);  // a word of bytes at a time
  for (size_t i = 0; i < kScaleGroup / 2; i += kStep) {
    size_t bytes;
    __builtin_memcpy(&bytes, nibbles + i, kStep);
    size_t low = bytes & (kOnes * 15), high = (bytes >> 4) & (kOnes * 15);
    if (less != 0) {  // the top bit of a byte keeps it from borrowing
      low = ((low | kOnes * 128) - kOnes * 8) ^ (kOnes * 128);
      high = ((high | kOnes * 128) - kOnes * 8) ^ (kOnes * 128);
    }
    __builtin_memcpy(to + i, &low, kStep);
    __builtin_memcpy(to + kScaleGroup / 2 + i, &high, kStep);
  }
}

// Codes of a row's group in a super-block as bytes, minus kLess in q6_k.
template <fovea_dtype kType, uint32_t kLess, size_t kCount>
FOVEA_INLINE void PutSuperCodes(const uint8_t* block, size_t place, int8_t* to) {
  FOVEA_UNROLL_FOR_SPEED(2)
  for (size_t i = 0; i < kCount; i += 16) PutSixteen<kType, kLess>(block, place, i, to + i);
}

#endif  // FOVEA_SRC_LINEAR_I8_GROUPS_INL_
