// SPDX-License-Identifier: Apache-2.0
//
// What all kinds of dot products share for many tokens with integer products, where weights are in groups. The sum of
// each group is an integer. It becomes a float and is multiplied by the group's scale.
#ifndef FOVEA_SRC_LINEAR_I8_GROUPS_INL_
#define FOVEA_SRC_LINEAR_I8_GROUPS_INL_

#include "linear/i8_codes.inl"
#include "linear/i8_linear.inl"

constexpr bool HasLeast(fovea_dtype dtype) { return ::fovea::is_one_of<::fovea::kLeastFormats>(dtype); }
constexpr bool IsInSuper(fovea_dtype dtype) { return ::fovea::is_one_of<kI8SuperFormats>(dtype); }

// The scales of a group of inputs, one for each column.
FOVEA_INLINE const float* GroupScalesOf(const I8TokenTile& t, size_t group) {
  return t.group_scales + (t.scaled_groups > 1 ? group * t.columns : 0);
}

// The groups of some rows at the same place in each row.
struct GroupsAt {
  fovea_dtype dtype;
  const uint8_t* data;  // the first row's bytes of the group: codes, after the scale if the format has it there
  ptrdiff_t stride;
  const uint16_t* scales;  // of I4
  size_t scale_stride;
  size_t place;  // of the group's first element in its super-block; else 0

  // How much codes exceed the numbers that they stand for. Not for Q8_0, whose codes are signed bytes.
  inline __attribute__((always_inline)) uint8_t Bias() const { return HasLeast(dtype) ? 0 : IsInSuper(dtype) ? 32 : 8; }

  // The groups that begin with input d.
  FOVEA_INLINE GroupsAt Of(const fovea_linear_weights& w, size_t in_dim, size_t row, size_t d) {
    const bool super = IsInSuper(w.dtype);
    const size_t bytes = ::fovea::number_of<&::fovea::Format::group_bytes, kI8GroupedFormats>(w.dtype);
    const size_t groups = ::fovea::groups_of(in_dim), group = super ? d / kSuperBlock : d / kScaleGroup;
    const uint8_t* const data = static_cast<const uint8_t*>(w.data) + ptrdiff_t(row) * w.row_stride + group * bytes;
    const ptrdiff_t at = ptrdiff_t((row * groups + group) * sizeof(uint16_t));
    return {w.dtype,      data,
            w.row_stride, ::fovea::advanced(static_cast<const uint16_t*>(w.scales), at),
            groups,       super ? d % kSuperBlock : 0};
  }
  // The next groups of the same rows, in the same super-block if they are in one.
  inline __attribute__((always_inline)) GroupsAt Next() const {
    GroupsAt next = *this;
    if (IsInSuper(dtype)) {
      next.place += ::fovea::scale_step(dtype);
    } else {
      next.data += Bytes(), next.scales = ::fovea::advanced(scales, sizeof *scales);
    }
    return next;
  }
  // The bytes of a group in a row, or of a super-block.
  inline __attribute__((always_inline)) size_t Bytes() const {
    return ::fovea::number_of<&::fovea::Format::group_bytes, kI8GroupedFormats>(dtype);
  }
  inline __attribute__((always_inline)) const uint8_t* Block(size_t row) const {
    return data + ptrdiff_t(row) * stride;
  }
  inline __attribute__((always_inline)) const uint8_t* Codes(size_t row) const {
    return Block(row) + (dtype == FOVEA_I4 ? 0 : dtype == FOVEA_Q4_1 ? 4 : 2);
  }
  inline __attribute__((always_inline)) uint16_t ScaleBits(size_t row) const {
    return dtype == FOVEA_I4 ? scales[row * scale_stride] : HalfAt(Block(row));
  }
  inline __attribute__((always_inline)) uint16_t LeastBits(size_t row) const { return HalfAt(Block(row) + 2); }
};

// Stores the nibbles of a group as bytes, minus `less`, which is 0 or 8.
#if FOVEA_FOR_SCALAR
FOVEA_INLINE void PutNibbles(const uint8_t* nibbles, uint8_t less, int8_t* to) {  // a word of bytes at a time
  constexpr size_t kOnes = SIZE_MAX / 255, kStep = sizeof(size_t);
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
#else
FOVEA_INLINE void PutNibbles(const uint8_t* nibbles, uint8_t less, int8_t* to) {
  typedef uint8_t Bytes __attribute__((vector_size(kScaleGroup / 2)));
  Bytes bytes;
  __builtin_memcpy(&bytes, nibbles, sizeof bytes);
  const Bytes low = (bytes & 15) - less, high = (bytes >> 4) - less;
  __builtin_memcpy(to, &low, sizeof low);
  __builtin_memcpy(to + sizeof low, &high, sizeof high);
}
#endif

// Codes of a row's group in a super-block as bytes, minus kLess in q6_k.
template <fovea_dtype kType, uint32_t kLess, size_t kCount>
FOVEA_INLINE void PutSuperCodes(const uint8_t* block, size_t place, int8_t* to) {
  FOVEA_UNROLL_FOR_SPEED(2)
  for (size_t i = 0; i < kCount; i += 16) PutSixteen<kType, kLess>(block, place, i, to + i);
}

#endif  // FOVEA_SRC_LINEAR_I8_GROUPS_INL_
