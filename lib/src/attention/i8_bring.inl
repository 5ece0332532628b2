// SPDX-License-Identifier: Apache-2.0
//
// Rows of keys and values on their way to the integer products: codes where these take them, and scales as f32.

// What is brought. Never empty, so that the text compiles in builds that have neither.
constexpr FormatSet kCodedFormats = kScaledFormats ? kScaledFormats : FormatSet{1} << FOVEA_I8;

// A row of the caller's: codes as floats, and their scale.
template <fovea_dtype kType>
struct CodedRow;

template <>
struct CodedRow<FOVEA_I8> {
  FormatRow<FOVEA_I8> row;

  FOVEA_INLINE CodedRow Of(const void* data, const void* scales, size_t) {
    return {FormatRow<FOVEA_I8>::Of(data, scales)};
  }
  inline __attribute__((always_inline)) VF Codes(size_t d, size_t n) const { return row.Part(d, n); }
  inline __attribute__((always_inline)) float Scale() const { return *row.scale; }
};

// Rows of i4 become rows of i8.
struct WidenedI4 {
  FormatRow<FOVEA_I4> row;
  inline __attribute__((always_inline)) VF operator()(size_t d, size_t n) const { return LoadAsN(row, d, n); }
};
template <>
struct CodedRow<FOVEA_I4> {
  WidenedI4 row;
  ScaleI8 fit;

  FOVEA_INLINE CodedRow Of(const void* data, const void* scales, size_t dim) {
    const WidenedI4 row = {FormatRow<FOVEA_I4>::Of(data, scales)};
    return {row, ScaleI8::Of(row, dim)};
  }
  inline __attribute__((always_inline)) VF Codes(size_t d, size_t n) const {
    return hn::Sub(fit.Biased(row(d, n)), hn::Set(kF, kRoundingBias));
  }
  inline __attribute__((always_inline)) float Scale() const {
    float scale;
    hn::StoreN(fit.scale, kF, &scale, 1);
    return scale;
  }
};

template <fovea_dtype kType>
FOVEA_INLINE CodedRow<kType> CodedRowOf(const RowsToBring& r, uint32_t i) {
  const char* const data = static_cast<const char*>(r.rows.data);
  const char* const scales = static_cast<const char*>(r.rows.scales);
  return CodedRow<kType>::Of(data + i * stride_bytes(r.rows.stride, unit_bytes(kType)),
                             scales + i * stride_bytes(r.rows.scale_stride, scale_bytes(kType)), r.dim);
}

template <fovea_dtype kType>
FOVEA_INLINE void BringKeysOf(const RowsToBring& r) {
  const size_t padded = round_up(r.dim, kReads);
  dot::RowCode* to = static_cast<dot::RowCode*>(r.to);
  for (uint32_t i = 0; i < r.count; ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    const float scale = row.Scale();
    r.numbers->key_scale[r.at + i] = scale + (scale - scale);
    [[maybe_unused]] const dot::RowCode* codes = to;
    if (!r.to) codes = static_cast<const dot::RowCode*>(r.rows.data) + ptrdiff_t(i) * r.rows.stride;
    for (size_t d = 0; r.to && d < padded; d += kLanes) {
      const size_t n = d >= r.dim ? 0 : r.dim - d < kLanes ? r.dim - d : kLanes;
      dot::StoreCodes(row.Codes(d, n), to + d, padded - d < kLanes ? padded - d : kLanes);
    }
    if (r.to) to += padded;
    if constexpr (dot::kUnsignedQueries) r.numbers->key_start[r.at + i] = dot::StartOfKey(codes, r.dim);
  }
}
FOVEA_KERNEL void BringKeys(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringKeysOf<kType>(r));
}

// Before the first rows of a key tile: what attend reads beside them is zeros.
FOVEA_INLINE void BeginValues(const RowsToBring& r, size_t padded) {
  dot::RowCode* const to = static_cast<dot::RowCode*>(r.to);
  const uint32_t first = r.begin / kGroup, last = (r.end - 1) / kGroup;
  r.numbers->begin = r.begin;
  r.numbers->end = r.end;
  r.numbers->any_nan = 0;
  for (uint32_t j = r.end; j % 4 != 0; ++j) r.numbers->value_scale[j] = 0.0f;  // SoftmaxTile takes four keys at once
  const auto zero = [&](uint32_t group, size_t element) {
    __builtin_memset(to + (group * padded + element) * kGroup, 0, (padded - element) * kGroup * sizeof *to);
  };
  if (r.begin % kGroup != 0) zero(first, 0);
  if (r.end % kGroup != 0) zero(last, 0);
  for (uint32_t g = first; r.elements < padded && g <= last; ++g) zero(g, r.elements);
  for (size_t e = 0; dot::kSignedWeights && e < padded; ++e) r.numbers->value_start[e] = 0;
}

// The codes of one row go where its key is in its group.
template <fovea_dtype kType>
FOVEA_INLINE void PutValue(const CodedRow<kType>& row, const RowsToBring& r, uint32_t key, size_t e, size_t padded) {
  dot::RowCode* to = static_cast<dot::RowCode*>(r.to) + key / kGroup * padded * kGroup + key % kGroup;
  for (; e < r.elements; e += kLanes) {
    const size_t n = r.elements - e < kLanes ? r.elements - e : kLanes;
    const VF codes = row.Codes(r.element + e, n);
    if constexpr (kGroup == 1) {
      dot::StoreCodes(codes, to + e, n);
    } else {
      dot::RowCode lanes[kLanes];
      dot::StoreCodes(codes, lanes, kLanes);
      for (size_t i = 0; i < n; ++i) {
        to[(e + i) * kGroup] = lanes[i];
        if constexpr (dot::kSignedWeights) r.numbers->value_start[e + i] += 128 * lanes[i];
      }
    }
  }
}

FOVEA_INLINE void NoteValueScale(const RowsToBring& r, uint32_t key, float scale) {
  I8Numbers& numbers = *r.numbers;
  const float nan = scale - scale;
  numbers.value_scale[key] = nan == 0.0f ? scale : 0.0f;
  if (nan != 0.0f && !numbers.any_nan) {
    numbers.any_nan = 1;
    for (uint32_t j = r.begin; j < r.end; ++j) numbers.value_nan[j] = 0.0f;
  }
  if (numbers.any_nan) numbers.value_nan[key] = nan;
}

// Puts a whole group of i8 rows, from row i on, where their codes lie together; returns how many elements of each.
FOVEA_INLINE size_t PutGroup(const RowsToBring& r, uint32_t i, size_t padded) {
  const int8_t* row[kGroup];
  FOVEA_UNROLL(16)
  for (uint32_t k = 0; k < kGroup; ++k) {
    row[k] = static_cast<const int8_t*>(r.rows.data) + ptrdiff_t(i + k) * r.rows.stride + r.element;
  }
  dot::RowCode* const to = static_cast<dot::RowCode*>(r.to) + (r.at + i) * padded;
  return dot::PackGroup(row, r.elements, to, r.numbers->value_start);
}

template <fovea_dtype kType>
FOVEA_INLINE void BringValuesOf(const RowsToBring& r) {
  const size_t padded = round_up(r.elements, kValueGrain);
  if (r.at == r.begin) BeginValues(r, padded);
  for (uint32_t i = 0; i < r.count;) {
    const bool grouped = kType == FOVEA_I8 && kGroup > 1 && (r.at + i) % kGroup == 0 && r.count - i >= kGroup;
    const size_t done = grouped ? PutGroup(r, i, padded) : 0;
    for (const uint32_t end = i + (grouped ? kGroup : 1); i < end; ++i) {
      const CodedRow<kType> row = CodedRowOf<kType>(r, i);
      NoteValueScale(r, r.at + i, row.Scale());
      PutValue(row, r, r.at + i, done, padded);
    }
  }
}
FOVEA_KERNEL void BringValues(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringValuesOf<kType>(r));
}
