// SPDX-License-Identifier: Apache-2.0
//
// Reads weights in groups, for few tokens and for many.
#ifndef FOVEA_SRC_LINEAR_I8_READER_INL_
#define FOVEA_SRC_LINEAR_I8_READER_INL_

#include "ground/formats/rows.inl"

constexpr bool HasLeast(fovea_dtype dtype) { return ::fovea::is_one_of<::fovea::kLeastFormats>(dtype); }
constexpr bool IsInSuper(fovea_dtype dtype) { return ::fovea::is_one_of<kI8SuperFormats>(dtype); }
// Whose 16 inputs are like a group of 32 of others.
constexpr ::fovea::FormatSet kI8LeastHalves = kI8SuperFormats & ::fovea::kHalfFormats & ::fovea::kLeastFormats;
constexpr ::fovea::FormatSet kI8Q3 = kI8SuperFormats & ::fovea::FormatSet{1} << FOVEA_Q3_K;
// How much codes of a format exceed the numbers that they stand for. Not for those whose codes are signed bytes.
constexpr uint8_t CodeBias(fovea_dtype dtype) {
  return HasLeast(dtype) ? 0 : !IsInSuper(dtype) ? 8 : ::fovea::is_one_of<kI8Q3>(dtype) ? 4 : 32;
}

// The groups of some rows at the same place in each row. There is a pointer for each of the first kPointers rows. Those
// of other rows are `far` bytes after the pointer of the row kPointers before.
template <fovea_dtype kType, size_t kPointers>
struct GroupReader {
  FormatRow<kType> first;
  decltype(first.data) data[kPointers];  // of row k
  ptrdiff_t scale_steps[kPointers];      // from the first row to row k
  ptrdiff_t far, far_scales;
  size_t place;  // of the groups' first element in its super-block; else 0

  // n rows from `row` on, from element d on; of at most kPointers rows the last is repeated.
  FOVEA_INLINE GroupReader Of(const fovea_linear_weights& w, size_t in_dim, uint32_t row, uint32_t n, size_t d = 0) {
    const auto groups = ptrdiff_t(::fovea::groups_of(in_dim));
    const size_t from = d / (kInSuper<kType> ? kSuperBlock : kScaleGroup) * ::fovea::format_of(kType).group_bytes;
    GroupReader g;
    g.first =
        FormatRow<kType>::Of(::fovea::advanced(w.data, ptrdiff_t(row) * w.row_stride + ptrdiff_t(from)), w.scales);
    if constexpr (kType == FOVEA_I4) g.first.scales += ptrdiff_t(row) * groups + ptrdiff_t(d / kScaleGroup);
    for (uint32_t k = 0; k < kPointers; ++k) {
      const ptrdiff_t at = ptrdiff_t(k < n ? k : n - 1);
      g.data[k] = g.first.data + at * w.row_stride;
      g.scale_steps[k] = at * groups;
    }
    g.far = n > kPointers ? ptrdiff_t(kPointers) * w.row_stride : 0;
    g.far_scales = n > kPointers ? ptrdiff_t(kPointers) * groups : 0;
    g.place = kInSuper<kType> ? d % kSuperBlock : 0;
    return g;
  }
  FOVEA_MEMBER FormatRow<kType> Row(size_t k) const {
    FormatRow<kType> row = first;
    row.data = data[k % kPointers] + ptrdiff_t(k / kPointers) * far;
    if constexpr (kType == FOVEA_I4) row.scales += scale_steps[k % kPointers] + ptrdiff_t(k / kPointers) * far_scales;
    return row;
  }
  FOVEA_MEMBER void GoOn(size_t groups) {
    if (kInSuper<kType> && (place += groups * kScaleGroup) < kSuperBlock) return;
    FOVEA_EACH(k, kPointers) {
      data[k] += ::fovea::format_of(kType).group_bytes;
      // With AVX-512 g++ 12 would add to four pointers in a vector, and extract them again, for each group.
      if (kLanes > 8 && kPointers <= 4 && !kInSuper<kType>) FOVEA_OPAQUE(data[k]);
    }
    place = 0;
  }
};

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

// Codes of a row's group as bytes, where they are in a super-block or of byte formats, minus kLess where they have a sign.
template <fovea_dtype kType, uint32_t kLess, size_t kCount>
FOVEA_INLINE void PutGroupCodes(const uint8_t* block, size_t place, int8_t* to) {
  if constexpr (kInBytes<kType> || kHasSignedGroups<kType>) return PutGroup<kType, kLess>(block, place, to);
  FOVEA_UNROLL_FOR_SPEED(2)
  for (size_t i = 0; i < kCount; i += 16) PutSixteen<kType, kLess>(block, place, i, to + i);
}

#endif  // FOVEA_SRC_LINEAR_I8_READER_INL_
