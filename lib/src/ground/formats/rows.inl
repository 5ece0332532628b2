// SPDX-License-Identifier: Apache-2.0
//
// Rows of any format. LoadAs and LoadAsN multiply by the scale of a group, but not by that of a row, which a caller
// multiplies a whole sum by.
#ifndef FOVEA_SRC_FORMATS_ROWS_INL_
#define FOVEA_SRC_FORMATS_ROWS_INL_

#include "ground/formats/super_rows.inl"

// Whether an element is a sum: x = scale * code + least.
template <fovea_dtype kType>
constexpr bool kHasLeast = ::fovea::is_one_of<::fovea::kLeastFormats>(kType);
// The bytes of some elements of a row.
template <fovea_dtype kType>
constexpr size_t BytesOf(size_t elements) {
  return elements * ::fovea::format_of(kType).group_bytes / (kInSuper<kType> ? kSuperBlock : kScaleGroup);
}

// Makes elements of codes. Does nothing in formats without scales.
template <fovea_dtype kType>
struct ScaleOf {
  VF scale, least;

  template <class Row>
  FOVEA_INLINE ScaleOf At(const Row& row, size_t d) {
    if constexpr (kHasLeast<kType>) {
      return {row.Scale(d), row.Least(d)};
    } else if constexpr (::fovea::format_of(kType).scaled != Scaled::kNothing) {
      return {row.Scale(d), hn::Zero(kF)};
    } else {
      return {hn::Zero(kF), hn::Zero(kF)};
    }
  }
  FOVEA_MEMBER VF Times(VF codes) const {
    if constexpr (kHasLeast<kType>) {
      return hn::MulAdd(codes, scale, least);
    } else {
      return ::fovea::format_of(kType).scaled != Scaled::kNothing ? hn::Mul(codes, scale) : codes;
    }
  }
};

template <fovea_dtype kType>
constexpr bool kGrouped = ::fovea::is_grouped(::fovea::format_of(kType));

template <fovea_dtype kType>
FOVEA_INLINE VF LoadAs(const FormatRow<kType>& row, size_t d) {
  return kGrouped<kType> ? ScaleOf<kType>::At(row, d).Times(row.Whole(d)) : row.Whole(d);
}

template <fovea_dtype kType>
FOVEA_INLINE VF LoadAsN(const FormatRow<kType>& row, size_t d, size_t n) {
  if constexpr (kGrouped<kType>) {
    return FirstLanes(LoadAs(row, d), n);  // the other lanes are 0 even if the scale is infinite or NaN
  } else {
    return row.Part(d, n);
  }
}

// Elements d .. d + n - 1 of a row without scales, n <= kLanes, where its format, one of the set, is known only at run
// time.
template <::fovea::FormatSet kSet = ::fovea::kUnscaledFormats>
FOVEA_INLINE VF LoadPart(fovea_dtype dtype, const void* row, size_t d, size_t n) {
  FOVEA_WITH_FORMAT(kSet, dtype, FormatRow<kType>::Of(row, nullptr).Part(d, n));
}
template <::fovea::FormatSet kSet = ::fovea::kUnscaledFormats>
FOVEA_INLINE void StorePart(fovea_dtype dtype, VF v, void* row, size_t d, size_t n) {
  FOVEA_WITH_FORMAT(kSet, dtype, FormatRow<kType>::StorePart(v, row, d, n));
}

// The formats without scales but f32. Never empty: f32, if there is no other.
constexpr ::fovea::FormatSet kPlainFormats =
    ::fovea::kUnscaledFormats == ::fovea::kOnlyF32 ? ::fovea::kOnlyF32 : ::fovea::kUnscaledFormats & ~::fovea::kOnlyF32;

#endif  // FOVEA_SRC_FORMATS_ROWS_INL_
