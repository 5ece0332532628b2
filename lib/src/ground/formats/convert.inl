// SPDX-License-Identifier: Apache-2.0
//
// Converts rows of any format to f32 and back.
#ifndef FOVEA_SRC_FORMATS_CONVERT_INL_
#define FOVEA_SRC_FORMATS_CONVERT_INL_

#include "ground/formats/rows.inl"

// For vectors of one lane: n elements from d on, which share a scale.
template <fovea_dtype kType, class Row>
FOVEA_INLINE void WidenOneByOne(const Row& row, size_t d, size_t n, float* out) {
  constexpr size_t kAtOnce = 8;
  const auto scale = ScaleOf<kType>::At(row, d);
  for (; !kSmallText && n >= kAtOnce; n -= kAtOnce, d += kAtOnce, out += kAtOnce) {
    FOVEA_EACH(i, kAtOnce) hn::StoreU(scale.Times(row.Whole(d + i)), kF, out + i);
  }
  for (; n > 0; --n, ++d, ++out) hn::StoreU(scale.Times(row.Whole(d)), kF, out);
}

// Takes kScaleGroup elements at a time, or as many as share a scale. With one lane, a row of a format without groups is
// taken whole.
template <fovea_dtype kType, class Row = FormatRow<kType>>
FOVEA_TEMPLATE void WidenRow(const Row& from, size_t first, size_t dim, float* out) {
  const Row row = from;  // stays in registers, whatever is stored
  constexpr size_t kStep = kScaleStep<kType>;
  if constexpr (kLanes == 1 && kSmallText && kGrouped<kType>) {  // one copy of what makes a scale
    for (size_t n = kStep; dim > 0; dim -= n, first += n, out += n) {
      if (dim < n) n = dim;
      WidenOneByOne<kType>(row, first, n, out);
    }
    return;
  }
  if constexpr (kLanes == 1) {
    for (; kGrouped<kType> && dim > kStep; dim -= kStep, first += kStep, out += kStep) {
      WidenOneByOne<kType>(row, first, kStep, out);
    }
    return WidenOneByOne<kType>(row, first, dim, out);
  }
  const size_t end = first + dim;
  size_t d = first;
  for (; d + kStep <= end; d += kStep, out += kStep) {
    const auto scale = ScaleOf<kType>::At(row, d);
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kStep; i += kLanes) hn::StoreU(scale.Times(row.Whole(d + i)), kF, out + i);
  }
  for (; d < end; d += kLanes, out += kLanes) {
    const size_t n = end - d < kLanes ? end - d : kLanes;
    hn::StoreN(ScaleOf<kType>::At(row, d).Times(row.Part(d, n)), kF, out, n);
  }
}

template <fovea_dtype kType>
FOVEA_CALLED_TEMPLATE void WidenAs(const RowsToWiden& w) {
  static_assert(sizeof(typename FormatRow<kType>::Unit) == unit_bytes(kType), "the table and the row must agree");
  const void* data = w.data;
  const void* scales = w.scales;
  float* out = w.out;
  for (size_t rows = w.dim == 0 ? 0 : w.rows; rows > 0;) {
    WidenRow<kType>(FormatRow<kType>::Of(data, scales), w.first, w.dim, out);
    if (--rows == 0) return;  // the stride is not used past the last row
    data = advanced(data, stride_bytes(w.stride, unit_bytes(kType)));
    scales = advanced(scales, stride_bytes(w.scale_stride, scale_bytes(kType)));
    out += w.out_stride;
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void NarrowRow(const float* x, size_t dim, void* row, void* scales) {
  if constexpr (format_of(kType).scaled != Scaled::kNothing) {
    FormatRow<kType>::Narrow(x, dim, row, scales);
  } else {
    size_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) FormatRow<kType>::StoreWhole(hn::LoadU(kF, x + d), row, d);
    if (d < dim) FormatRow<kType>::StorePart(hn::LoadN(kF, x + d, dim - d), row, d, dim - d);
  }
}

template <::fovea::FormatSet kSet>
FOVEA_INLINE void NarrowRowOf(fovea_dtype dtype, const float* x, size_t dim, void* row, void* scales) {
  FOVEA_WITH_FORMAT(kSet, dtype, NarrowRow<kType>(x, dim, row, scales));
}

// Rows of one of the formats.
template <::fovea::FormatSet kSet>
FOVEA_CALLED_TEMPLATE void NarrowEach(fovea_dtype dtype, const RowsToNarrow& n) {
  const auto unit = ptrdiff_t(::fovea::number_of<&::fovea::Format::unit_bytes, kSet>(dtype));
  const auto scale = ptrdiff_t(::fovea::number_of<&::fovea::Format::scale_bytes, kSet>(dtype));
  for (size_t r = 0; r < n.rows; ++r) {
    void* data = static_cast<char*>(n.data) + ptrdiff_t(r) * n.stride * unit;
    void* scales = static_cast<char*>(n.scales) + ptrdiff_t(r) * n.scale_stride * scale;
    NarrowRowOf<kSet>(dtype, n.in + ptrdiff_t(r) * n.in_stride, n.dim, data, scales);
  }
}
template <fovea_dtype kType>
FOVEA_INLINE void NarrowAs(const RowsToNarrow& n) {
  NarrowEach<::fovea::FormatSet{1} << kType>(kType, n);
}

// Rows of nibbles that a scale multiplies, which differ in where scales are. One text serves them where size counts.
constexpr ::fovea::FormatSet kBothNibbles = ::fovea::FormatSet{1} << FOVEA_I4 | ::fovea::FormatSet{1} << FOVEA_Q4_0;
constexpr ::fovea::FormatSet kMoreNibbles = ::fovea::kServedFormats & ::fovea::kEveryKeyFormat & ::fovea::kByteFormats &
                                            ~::fovea::kLeastFormats & (kOneTextOfRows ? ~0u : 0);  // q5_0, iq4_nl
constexpr bool kOneTextOfNibbles = kSmallText && (::fovea::kKeyFormats & kBothNibbles) == kBothNibbles;

struct NibbleRow {
  fovea_dtype type;
  const uint8_t *codes, *scales;
  size_t codes_step, scales_step;  // from group to group, in bytes

  FOVEA_MEMBER VF Whole(size_t d) const {
    const uint8_t* const group = codes + d / kScaleGroup * codes_step;
    if constexpr (kMoreNibbles != 0) {
      if (type == FOVEA_Q5_0)
        return BlockNumbers<FOVEA_Q5_0>(group - ::fovea::format_of(FOVEA_Q5_0).head_bytes, d % kScaleGroup);
      if (type == FOVEA_IQ4_NL)
        return BlockNumbers<FOVEA_IQ4_NL>(group - ::fovea::format_of(FOVEA_IQ4_NL).head_bytes, d % kScaleGroup);
    }
    return Nibbles<8>(group, d % kScaleGroup);
  }
  FOVEA_MEMBER VF Part(size_t d, size_t n) const { return FirstLanes(Whole(d), n); }
  FOVEA_MEMBER VF Scale(size_t d) const { return hn::SetF16(kF, HalfAt(scales + d / kScaleGroup * scales_step)); }
};

FOVEA_CALLED void WidenNibbles(fovea_dtype dtype, const RowsToWiden& w) {
  constexpr ::fovea::FormatSet kBlockNibbles =
      ::fovea::kServedFormats & (kMoreNibbles | ::fovea::FormatSet{1} << FOVEA_Q4_0);
  NibbleRow row = {dtype, static_cast<const uint8_t*>(w.data), static_cast<const uint8_t*>(w.scales), kScaleGroup / 2,
                   sizeof(uint16_t)};
  ptrdiff_t scales_stride = stride_bytes(w.scale_stride, sizeof(uint16_t));
  if (::fovea::is_one_of<kBlockNibbles>(dtype)) {
    const size_t block = ::fovea::number_of<&::fovea::Format::group_bytes, kBlockNibbles>(dtype);
    row = {dtype, row.codes + block - kScaleGroup / 2, row.codes, block, block};
    scales_stride = w.stride;
  }
  float* out = w.out;
  for (size_t rows = w.dim == 0 ? 0 : w.rows; rows > 0;) {
    WidenRow<FOVEA_Q4_0>(row, w.first, w.dim, out);
    if (--rows == 0) return;  // the stride is not used past the last row
    row.codes += w.stride;
    row.scales += scales_stride;
    out += w.out_stride;
  }
}

FOVEA_KERNEL void Widen(fovea_dtype dtype, const RowsToWiden& rows) {
  if constexpr (kOneTextOfNibbles) {
    constexpr ::fovea::FormatSet kNibbles = kBothNibbles | kMoreNibbles;
    if (::fovea::is_one_of<kNibbles>(dtype)) return WidenNibbles(dtype, rows);
    FOVEA_WITH_FORMAT(kKeyFormats & ~kNibbles, dtype, WidenAs<kType>(rows));
  } else {
    FOVEA_WITH_FORMAT(kKeyFormats, dtype, WidenAs<kType>(rows));
  }
}
FOVEA_KERNEL void WidenWeights(fovea_dtype dtype, const RowsToWiden& rows) {
  constexpr ::fovea::FormatSet kOthers = ::fovea::kServedFormats & ~::fovea::kKeyFormats;
  if (kOthers == 0 || ::fovea::is_key_format(dtype)) return Widen(dtype, rows);
  FOVEA_WITH_FORMAT((kOthers != 0 ? kOthers : ::fovea::kOnlyF32), dtype, WidenAs<kType>(rows));
}
FOVEA_KERNEL void Narrow(fovea_dtype dtype, const RowsToNarrow& rows) {
  if constexpr (kOneTextOfRows) {
    NarrowEach<::fovea::kKeyFormats>(dtype, rows);
  } else {
    FOVEA_WITH_FORMAT(kKeyFormats, dtype, NarrowAs<kType>(rows));
  }
}
FOVEA_KERNEL void NarrowAny(fovea_dtype dtype, const RowsToNarrow& rows) {
  if (::fovea::is_key_format(dtype)) return Narrow(dtype, rows);
  if constexpr (::fovea::kWrittenFormats != ::fovea::kKeyFormats) NarrowAs<FOVEA_Q4_1>(rows);
}

FOVEA_KERNEL void WidenPlain(fovea_dtype dtype, const void* from, size_t count, float* to) {
  FOVEA_WITH_FORMAT(kPlainFormats, dtype, WidenRow<kType>(FormatRow<kType>::Of(from, nullptr), 0, count, to));
}
FOVEA_KERNEL void NarrowPlain(fovea_dtype dtype, const float* from, size_t count, void* to) {
  FOVEA_WITH_FORMAT(kPlainFormats, dtype, NarrowRow<kType>(from, count, to, nullptr));
}

#endif  // FOVEA_SRC_FORMATS_CONVERT_INL_
