// SPDX-License-Identifier: Apache-2.0
//
// Rows of a format to f32 and back.

// 1.5 * 2^23: a float of up to 2^22 in size added to it is rounded to an integer, whose low bits are the sum's.
constexpr float kRoundingBias = 12582912.0f;
FOVEA_INLINE VF Rounded(VF v) { return hn::Sub(hn::Add(v, hn::Set(kF, kRoundingBias)), hn::Set(kF, kRoundingBias)); }

// Vectors in a group of i4, and how far loops over them are unrolled: vectors stay in registers, scalars would only
// make code.
constexpr size_t kGroupVectors = kI4Group / kLanes;
constexpr int kGroupUnroll = kLanes > 1 && !kPreferSize ? 8 : 1;

// --------------------------------------------------------------------------------------------------- to f32

// By groups of 32 elements, whatever the format.
template <fovea_dtype kType>
FOVEA_TEMPLATE void WidenRow(const FormatRow<kType>& row, size_t first, size_t dim, float* out) {
  constexpr bool kScales = FormatRow<kType>::kScaled != Scaled::kNothing;
  const size_t end = first + dim;
  size_t d = first;
  for (; d + kI4Group <= end; d += kI4Group, out += kI4Group) {
    const VF scale = row.Scale(d);
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kI4Group; i += kLanes) {
      const VF x = row.Whole(d + i);
      hn::StoreU(kScales ? hn::Mul(x, scale) : x, kF, out + i);
    }
  }
  for (; d < end; d += kLanes, out += kLanes) {
    const size_t n = end - d < kLanes ? end - d : kLanes;
    const VF x = row.Part(d, n);
    hn::StoreN(kScales ? hn::Mul(x, row.Scale(d)) : x, kF, out, n);
  }
}

FOVEA_INLINE const void* RowAt(const void* base, size_t unit_bytes, size_t row, ptrdiff_t stride) {
  return static_cast<const char*>(base) + ptrdiff_t(row) * stride * ptrdiff_t(unit_bytes);
}
FOVEA_INLINE void* RowAt(void* base, size_t unit_bytes, size_t row, ptrdiff_t stride) {
  return static_cast<char*>(base) + ptrdiff_t(row) * stride * ptrdiff_t(unit_bytes);
}

template <fovea_dtype kType>
FOVEA_TEMPLATE void Widen(const WidenRows& w) {
  for (size_t r = 0; r < w.rows; ++r) {
    const void* data = RowAt(w.data, unit_bytes(kType), r, w.stride);
    const void* scales = RowAt(w.scales, scale_bytes(kType), r, w.scale_stride);
    WidenRow(FormatRow<kType>::Of(data, scales), w.first, w.dim, w.out + ptrdiff_t(r) * w.out_stride);
  }
}

// ------------------------------------------------------------------------------------------------- from f32

// n <= kLanes elements.
FOVEA_INLINE VF LoadUpTo(const float* p, size_t n) { return n == kLanes ? hn::LoadU(kF, p) : hn::LoadN(kF, p, n); }

// Over the lanes of a vector, in all lanes. Sums are those of a tree that adds what is half of it apart, and below, in
// Total, the vectors of a group are its upper levels: so they are the same with any number of lanes.
template <bool kMax, int kStep = int(kLanes) / 2>
FOVEA_INLINE VF OverLanes(VF v) {
  if constexpr (kStep == 0) {
    return v;
  } else {
    const VF other = hn::SwapLanes<kStep>(v);
    return OverLanes<kMax, kStep / 2>(kMax ? hn::Max(v, other) : hn::Add(v, other));
  }
}

// Destroys the group.
template <bool kMax>
FOVEA_INLINE VF Total(VF (&group)[kGroupVectors]) {
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t half = kGroupVectors / 2; half > 0; half /= 2) {
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < half; ++i) {
      group[i] = kMax ? hn::Max(group[i], group[i + half]) : hn::Add(group[i], group[i + half]);
    }
  }
  return OverLanes<kMax>(group[0]);
}

FOVEA_INLINE VF ZeroIfNan(VF v) { return hn::IfThenElse(hn::Eq(v, v), v, hn::Zero(kF)); }

// i8: scale = max |x| / 127, as far as it is normal, and its product with 127 finite. A search for a better one gains
// less than a hundredth of the squared error.
FOVEA_INLINE void NarrowRowI8(const float* x, size_t dim, int8_t* codes, float* scale) {
  VF max = hn::Set(kF, 127 * 0x1p-126f), not_finite = hn::Zero(kF);  // NaN if some element is NaN or infinite, else 0
  for (size_t d = 0; d < dim; d += kLanes) {
    const VF v = LoadUpTo(x + d, dim - d < kLanes ? dim - d : kLanes);
    max = hn::Max(max, hn::Abs(v));
    not_finite = hn::MulAdd(v, hn::Zero(kF), not_finite);
  }
  max = OverLanes<true>(max);
  not_finite = OverLanes<false>(not_finite);
  const VF divided = hn::Div(max, hn::Set(kF, 127.0f)), most = hn::Set(kF, 0x1.020406p121f);
  hn::StoreN(hn::Add(hn::IfThenElse(hn::Lt(most, divided), most, divided), not_finite), kF, scale, 1);
  const VF inverse = hn::Add(hn::Div(hn::Set(kF, 127.0f), max), not_finite);
  for (size_t d = 0; d < dim; d += kLanes) {
    const size_t n = dim - d < kLanes ? dim - d : kLanes;
    const VF q = ZeroIfNan(hn::Mul(LoadUpTo(x + d, n), inverse));
    const VI code = hn::BitCast(kI, hn::Add(q, hn::Set(kF, kRoundingBias)));
    hn::StoreU8N(code, reinterpret_cast<uint8_t*>(codes) + d, n);
  }
}

// i4: the element of largest magnitude would become code -kI4Tried[k], if that were a code. The best of these four has
// 0.90 of the squared error that -8 alone has on normally distributed numbers; of 80 that go from -10 to 10, 0.89.
constexpr float kI4Tried[4] = {8.6f, 8.0f, 7.4f, 6.8f};

// Codes of y = x / (element of largest magnitude).
FOVEA_INLINE VF CodeI4(VF y, VF tried) {
  const VF least = hn::Set(kF, -8.0f), most = hn::Set(kF, 7.0f);
  const VF q = Rounded(hn::Sub(hn::Zero(kF), hn::Mul(y, tried)));
  return hn::IfThenElse(hn::Lt(most, q), most, hn::ClampMin(q, least));
}

FOVEA_INLINE void NarrowGroupI4(const float* x, size_t count, uint8_t* codes, uint16_t* scale) {
  // Of these arrays a scalar target has 128 bytes each on the stack, so one after the other uses the same.
  VF y[kGroupVectors], used[kGroupVectors];
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const size_t first = i * kLanes, left = first < count ? count - first : 0;
    y[i] = left >= kLanes ? hn::LoadU(kF, x + first) : hn::LoadN(kF, x + first, left);
    used[i] = y[i];
  }
  const VF highest = Total<true>(used);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Sub(hn::Zero(kF), y[i]);
  const VF lowest = Total<true>(used);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Mul(y[i], hn::Zero(kF));
  const VF not_finite = Total<false>(used);
  // From 2^126 on the inverse would be subnormal: slow here, 0 there. What is too large for any scale is as 2^100 is.
  const VF either = hn::Max(highest, lowest), huge = hn::Set(kF, 0x1p100f);
  const VF size = hn::IfThenElse(hn::Lt(huge, either), huge, either);
  const VF largest = hn::IfThenElse(hn::Lt(highest, lowest), hn::Sub(hn::Zero(kF), size), size);
  const MF tiny = hn::Lt(size, hn::Set(kF, 0x1p-100f));
  const VF inverse = hn::Add(hn::IfThenZeroElse(tiny, hn::Div(hn::Set(kF, 1.0f), largest)), not_finite);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) y[i] = ZeroIfNan(hn::Mul(y[i], inverse));

  // With codes q, the squared error is least for the factor sum(y q) / sum(q q), and is then sum(y y) - sum(y q) *
  // factor.
  VF best = hn::Zero(kF), best_factor = hn::Zero(kF), best_tried = hn::Zero(kF);
  for (const float tried : kI4Tried) {
    VF qq[kGroupVectors];
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kGroupVectors; ++i) {
      const VF q = CodeI4(y[i], hn::Set(kF, tried));
      used[i] = hn::Mul(y[i], q);
      qq[i] = hn::Mul(q, q);
    }
    const VF sum = Total<false>(used), factor = hn::Div(sum, Total<false>(qq));  // NaN, and never better, if all are 0
    const VF gain = hn::Mul(sum, factor);
    const MF better = hn::Lt(best, gain);
    best = hn::IfThenElse(better, gain, best);
    best_factor = hn::IfThenElse(better, factor, best_factor);
    best_tried = hn::IfThenElse(better, hn::Set(kF, tried), best_tried);
  }
  // Where the scale is beyond those of f16, the largest of them, and the codes that are nearest with it.
  const VF exact = hn::Mul(best_factor, largest), most = hn::Set(kF, 65504.0f);
  const MF beyond = hn::Le(hn::Set(kF, 65520.0f), hn::Abs(exact));
  const VF limit = hn::IfThenElse(hn::Lt(exact, hn::Zero(kF)), hn::Sub(hn::Zero(kF), most), most);
  hn::StoreF16N(hn::Add(hn::IfThenElse(beyond, limit, exact), not_finite), scale, 1);
  best_tried = hn::IfThenElse(beyond, hn::Mul(size, hn::Set(kF, 1 / 65504.0f)), best_tried);

  const VI nibble = hn::Set(kI, 15);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors / 2; ++i) {
    const VF bias = hn::Set(kF, kRoundingBias + 8.0f);
    const VI even = hn::BitCast(kI, hn::Add(CodeI4(y[i], best_tried), bias));
    const VI odd = hn::BitCast(kI, hn::Add(CodeI4(y[i + kGroupVectors / 2], best_tried), bias));
    hn::StoreU8(hn::Or(hn::And(even, nibble), hn::ShiftLeft<4>(odd)), codes + i * kLanes);
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void NarrowRow(const float* x, size_t dim, void* row, void* scales) {
  if constexpr (kType == FOVEA_I8) {
    NarrowRowI8(x, dim, static_cast<int8_t*>(row), static_cast<float*>(scales));
  } else if constexpr (kType == FOVEA_I4) {
    for (size_t d = 0; d < dim; d += kI4Group) {
      const size_t group = d / kI4Group, count = dim - d < kI4Group ? dim - d : kI4Group;
      uint8_t* codes = static_cast<uint8_t*>(row) + group * (kI4Group / 2);
      NarrowGroupI4(x + d, count, codes, static_cast<uint16_t*>(scales) + group);
    }
  } else {
    size_t d = 0;
    for (; d + kLanes <= dim; d += kLanes) StoreAs<kType>(hn::LoadU(kF, x + d), row, d);
    if (d < dim) StoreAsN<kType>(hn::LoadN(kF, x + d, dim - d), row, d, dim - d);
  }
}

template <fovea_dtype kType>
FOVEA_TEMPLATE void Narrow(const NarrowRows& n) {
  for (size_t r = 0; r < n.rows; ++r) {
    void* data = RowAt(n.data, unit_bytes(kType), r, n.stride);
    void* scales = RowAt(n.scales, scale_bytes(kType), r, n.scale_stride);
    NarrowRow<kType>(n.in + ptrdiff_t(r) * n.in_stride, n.dim, data, scales);
  }
}

FOVEA_KERNEL void WidenF32(const WidenRows& rows) { Widen<FOVEA_F32>(rows); }
FOVEA_KERNEL void WidenF16(const WidenRows& rows) { Widen<FOVEA_F16>(rows); }
FOVEA_KERNEL void WidenBf16(const WidenRows& rows) { Widen<FOVEA_BF16>(rows); }
FOVEA_KERNEL void WidenI8(const WidenRows& rows) { Widen<FOVEA_I8>(rows); }
FOVEA_KERNEL void WidenI4(const WidenRows& rows) { Widen<FOVEA_I4>(rows); }

FOVEA_KERNEL void NarrowF32(const NarrowRows& rows) { Narrow<FOVEA_F32>(rows); }
FOVEA_KERNEL void NarrowF16(const NarrowRows& rows) { Narrow<FOVEA_F16>(rows); }
FOVEA_KERNEL void NarrowBf16(const NarrowRows& rows) { Narrow<FOVEA_BF16>(rows); }
FOVEA_KERNEL void NarrowI8(const NarrowRows& rows) { Narrow<FOVEA_I8>(rows); }
FOVEA_KERNEL void NarrowI4(const NarrowRows& rows) { Narrow<FOVEA_I4>(rows); }

constexpr ConvertKernels kConvertKernels = {
    {WidenF32, config::kF16 ? WidenF16 : nullptr, config::kBf16 ? WidenBf16 : nullptr, config::kI8 ? WidenI8 : nullptr,
     config::kI4 ? WidenI4 : nullptr},
    {NarrowF32, config::kF16 ? NarrowF16 : nullptr, config::kBf16 ? NarrowBf16 : nullptr,
     config::kI8 ? NarrowI8 : nullptr, config::kI4 ? NarrowI4 : nullptr},
};
