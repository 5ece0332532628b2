// SPDX-License-Identifier: Apache-2.0
//
// Rows of keys and values for the integer products: their codes, and their scales as f32.
#ifndef FOVEA_SRC_ATTENTION_I8_ROWS_INL_
#define FOVEA_SRC_ATTENTION_I8_ROWS_INL_

#include "core/attention/rows.inl"

// The formats that are brought. Never empty, so that the text compiles in builds that have none.
constexpr FormatSet kCodedFormats = kScaledKeyFormats ? kScaledKeyFormats : FormatSet{1} << FOVEA_I8;

// A row of the caller's: codes as floats, and their scale. kOneText: see CodedRows.
template <fovea_dtype kType, bool kOneText>
struct CodedRow;

template <bool kOneText>
struct CodedRow<FOVEA_I8, kOneText> {
  FormatRow<FOVEA_I8> row;

  FOVEA_INLINE CodedRow Of(const RowsToBring&, const void* data, const void* scales) {
    return {FormatRow<FOVEA_I8>::Of(data, scales)};
  }
  FOVEA_MEMBER VF Codes(size_t d, size_t n) const { return n == kLanes ? row.Whole(d) : row.Part(d, n); }
  FOVEA_MEMBER float Scale() const { return *row.scale; }
};

constexpr FormatSet kCodedGroups = kCodedFormats & ~(FormatSet{1} << FOVEA_I8);

// Rows of groups, which become rows of i8. kOneText: one text serves several formats, and widens a group at a time by the
// function that all operators share.
template <fovea_dtype kType, bool kOneText, bool kOwnRoom = kOneText && !kSmallText>
struct Groups {
  FormatRow<kType> row;

  FOVEA_INLINE Groups Of(const RowsToBring&, const void* data, const void* scales) {
    return {FormatRow<kType>::Of(data, scales)};
  }
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const { return n == kLanes ? LoadAs(row, d) : LoadAsN(row, d, n); }
};

FOVEA_INLINE void WidenGroupTo(float* to, const RowsToBring& r, const void* data, const void* scales, size_t first) {
  const size_t dim = r.dim - first < kScaleGroup ? r.dim - first : kScaleGroup;
  FOVEA_COMMON_NAMESPACE::convert_kernels::kWiden.widen(r.rows.dtype, {1, dim, to, 0, data, 0, scales, 0, first});
}
// Where size counts, the group is in the workspace, because this is called where the stack is deepest.
FOVEA_CALLED void WidenGroup(const RowsToBring& r, const void* data, const void* scales, size_t first) {
  WidenGroupTo(r.numbers->widened, r, data, scales, first);
}
template <fovea_dtype kType>
struct Groups<kType, true, false> {
  const RowsToBring& r;
  const void* data;
  const void* scales;
  mutable size_t first;  // element of the group that was widened

  FOVEA_INLINE Groups Of(const RowsToBring& r, const void* data, const void* scales) {
    return {r, data, scales, SIZE_MAX};
  }
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const {
    const size_t wanted = d / kScaleGroup * kScaleGroup;
    if (first != wanted) WidenGroup(r, data, scales, first = wanted);
    return LoadUpTo(r.numbers->widened + d % kScaleGroup, n);
  }
};
template <fovea_dtype kType>
struct Groups<kType, true, true> {
  const RowsToBring& r;
  const void *data, *scales;
  mutable size_t first;
  mutable float widened[kScaleGroup];

  FOVEA_INLINE Groups Of(const RowsToBring& r, const void* data, const void* scales) {
    return {r, data, scales, SIZE_MAX, {}};
  }
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const {
    const size_t wanted = d / kScaleGroup * kScaleGroup;
    if (first != wanted) WidenGroupTo(widened, r, data, scales, first = wanted);
    return LoadUpTo(widened + d % kScaleGroup, n);
  }
};

template <class Row>
FOVEA_SHARED_TEMPLATE ScaleI8 FitRow(const Row& row, size_t dim) {
  return ScaleI8::Of(row, dim);
}
template <fovea_dtype kType, bool kOneText>
struct CodedRow {
  Groups<kType, kOneText> row;
  ScaleI8 fit;

  FOVEA_INLINE CodedRow Of(const RowsToBring& r, const void* data, const void* scales) {
    CodedRow coded = {Groups<kType, kOneText>::Of(r, data, scales), {}};
    coded.fit = FitRow(coded.row, r.dim);
    return coded;
  }
  FOVEA_MEMBER VF Codes(size_t d, size_t n) const { return hn::Sub(fit.Biased(row(d, n)), hn::Set(kF, kRoundingBias)); }
  FOVEA_MEMBER float Scale() const {
    float scale;
    hn::StoreN(fit.scale, kF, &scale, 1);
    return scale;
  }
};

FOVEA_INLINE void NoteKeyScale(const RowsToBring& r, uint32_t key, float scale) {
  r.numbers->key_scale[key] = scale + (scale - scale);
}

// The scales of values are noted with the first elements that are brought.
FOVEA_SHARED_IF_MANY void BeginValueScales(const RowsToBring& r) {
  r.numbers->begin = r.begin;
  r.numbers->end = r.end;
  r.numbers->any_nan = 0;
  for (uint32_t j = r.end; j % 4 != 0; ++j) r.numbers->value_scale[j] = 0.0f;  // SoftmaxTile takes four keys at once
}
FOVEA_SHARED_IF_MANY void NoteValueScale(const RowsToBring& r, uint32_t key, float scale) {
  if (r.element > 0) return;
  I8Numbers& numbers = *r.numbers;
  const float nan = scale < 0.0f ? __builtin_nanf("") : scale - scale;
  numbers.value_scale[key] = nan == 0.0f ? scale : 0.0f;
  if (nan != 0.0f && !numbers.any_nan) {
    numbers.any_nan = 1;
    for (uint32_t j = r.begin; j < r.end; ++j) numbers.value_nan[j] = 0.0f;
  }
  if (numbers.any_nan) numbers.value_nan[key] = nan;
}

// Calls for_some(i, n) for each vector: elements [i, i + n). The compiler knows that n is kLanes, except in the last.
template <class ForSome>
FOVEA_INLINE void ForVectors(size_t count, const ForSome& for_some) {
  size_t i = 0;
  for (; !kSmallText && i + 4 * kLanes <= count; i += 4 * kLanes) {  // not unrolled by g++: it tests the rest first
    FOVEA_EACH(v, 4) for_some(i + v * kLanes, kLanes);
  }
  for (; !kSmallText && i + kLanes <= count; i += kLanes) for_some(i, kLanes);
  for (; i < count; i += kLanes) for_some(i, count - i < kLanes ? count - i : kLanes);
}
// These note the scales of all rows at once. The scales are adjacent.
FOVEA_CALLED void NoteKeyScales(const RowsToBring& r, const float* scales) {
  float* const to = r.numbers->key_scale + r.at;
  ForVectors(r.count, [=](size_t i, size_t n) __attribute__((always_inline)) {
    StoreUpTo(FiniteOrNaN(LoadUpTo(scales + i, n)), to + i, n);
  });
}
// The scales of all rows if they are adjacent, else null. Always null where size counts.
template <fovea_dtype kType>
FOVEA_INLINE const float* ScalesTogether(const RowsToBring& r) {
  const bool together = !kSmallText && kLanes > 1 && kType == FOVEA_I8 && r.rows.scale_stride == 1;
  return together ? static_cast<const float*>(*r.rows.scales) : nullptr;
}

template <class Dot>
struct CodedRows {
  // One text serves these formats, of which the last stands for all: all of groups where size counts (a target that adds
  // to codes has no room for the group that it widens), else those whose codes become bytes first.
  static constexpr FormatSet kTogether = !kSmallText              ? kCodedGroups & ::fovea::kByteFormats
                                         : !Dot::kUnsignedQueries ? kCodedGroups
                                                                  : 0;
  static constexpr FormatSet kCodedTexts =
      kTogether ? (kCodedFormats & ~kTogether) | FormatSet{1} << ::fovea::last_of(kTogether | 1) : kCodedFormats;
  template <fovea_dtype kType>
  using Row = CodedRow<kType, contains(kTogether, kType)>;
  // Whether the text of a format of groups serves it alone.
  template <fovea_dtype kType>
  static constexpr bool kAlone = !contains(kTogether, kType) || (kTogether & (kTogether - 1)) == 0;

  template <fovea_dtype kType>
  FOVEA_INLINE Row<kType> CodedRowOf(const RowsToBring& r, uint32_t i) {
    constexpr FormatSet kFormats = contains(kTogether, kType) ? kTogether : FormatSet{1} << kType;
    const char* const data = static_cast<const char*>(r.rows.data);
    const char* const scales = static_cast<const char*>(*r.rows.scales);
    const fovea_dtype dtype = r.rows.dtype;
    return Row<kType>::Of(
        r, data + i * stride_bytes(r.rows.stride, number_of<&Format::unit_bytes, kFormats>(dtype)),
        scales + i * stride_bytes(r.rows.scale_stride, number_of<&Format::scale_bytes, kFormats>(dtype)));
  }

  FOVEA_SECTION_OF(Dot) FOVEA_CALLED void NoteValueScales(const RowsToBring& r, const float* scales) {
    if (r.element > 0) return;
    float* const to = r.numbers->value_scale + r.at;
    if constexpr (Dot::kWeighsRow && !kSmallText) {
      if (Dot::CopyPlainScales(scales, r.count, to) && !r.numbers->any_nan) return;
    }
    VF nan = hn::Zero(kF);
    VI bits = hn::Set(kI, 0);
    ForVectors(r.count, [=, &nan, &bits](size_t i, size_t n) __attribute__((always_inline)) {
      const VF scale = LoadUpTo(scales + i, n);
      bits = hn::Or(bits, hn::BitCast(kI, scale));
      nan = hn::Add(nan, hn::Sub(scale, scale));
      StoreUpTo(scale, to + i, n);
    });
    const MF any_sign = hn::SignMask(hn::BitCast(kF, bits));  // of a negative scale, or of -0
    nan = hn::IfThenElse(any_sign, hn::Set(kF, __builtin_nanf("")), nan);
    float any_nan;
    hn::StoreN(OverLanes<false>(nan), kF, &any_nan, 1);
    if (any_nan == 0.0f && !r.numbers->any_nan) return;
    for (uint32_t i = 0; i < r.count; ++i) NoteValueScale(r, r.at + i, scales[i]);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_ROWS_INL_
