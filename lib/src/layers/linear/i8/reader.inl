// SPDX-License-Identifier: Apache-2.0
//
// Reads weights in groups, for few tokens and for many.
#ifndef FOVEA_SRC_LINEAR_I8_READER_INL_
#define FOVEA_SRC_LINEAR_I8_READER_INL_

#include "ground/formats/rows.inl"

constexpr bool HasLeast(fovea_dtype dtype) { return ::fovea::is_one_of<::fovea::kLeastFormats>(dtype); }
constexpr bool IsInSuper(fovea_dtype dtype) { return ::fovea::is_one_of<kI8SuperFormats>(dtype); }

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

#endif  // FOVEA_SRC_LINEAR_I8_READER_INL_
