// SPDX-License-Identifier: Apache-2.0
//
// Softmax and log-softmax, along the lanes (a row) or with a lane for each of the softmaxes side by side (columns).

// scale * x + mask; -inf where hidden.
FOVEA_INLINE VF Scaled(VF x, VF scale) { return hn::Mul(x, scale); }
FOVEA_INLINE VF ScaledMasked(VF x, VF scale, VF mask) {
  const VF hides = hn::Set(kF, ::fovea::kHidingMask);
  return hn::IfThenElse(hn::Le(mask, hides), hn::Set(kF, -kInfinity), hn::MulAdd(x, scale, mask));
}

FOVEA_INLINE bool OfLogarithm(const SoftmaxSlice& slice) { return config::kLogSoftmax && slice.logarithm; }
FOVEA_INLINE bool OfMasked(const SoftmaxSlice& slice) { return config::kSoftmaxMask && slice.mask; }

// What is done to the elements of a row as they are read; kAny asks the row.
enum class Reading { kPlain, kScaled, kMasked, kAny };

// Scaled and masked elements of a row; lanes beyond its end are -inf.
template <Reading kReading>
struct RowReader {
  const float* in;
  const float* mask;
  VF scale;

  inline __attribute__((always_inline)) bool Masked() const {
    return config::kSoftmaxMask && (kReading == Reading::kMasked || (kReading == Reading::kAny && mask));
  }
  inline __attribute__((always_inline)) VF Whole(size_t i) const {
    const VF x = hn::LoadU(kF, in + i);
    if constexpr (kReading == Reading::kPlain) return x;
    if (kReading == Reading::kScaled || !Masked()) return Scaled(x, scale);
    return ScaledMasked(x, scale, hn::LoadU(kF, mask + i));
  }
  inline __attribute__((always_inline)) VF Part(size_t i, size_t count) const {
    VF x = hn::LoadN(kF, in + i, count);
    if (Masked()) {
      x = ScaledMasked(x, scale, hn::LoadN(kF, mask + i, count));
    } else if constexpr (kReading != Reading::kPlain) {
      x = Scaled(x, scale);
    }
    return hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(count))), x, hn::Set(kF, -kInfinity));
  }
};

// A sum in three levels, so that its rounding does not grow with its length: chunks of kSumChunk, blocks of kSumChunk
// chunks.
constexpr size_t kSumChunk = 64;

struct LongSum {
  VF total, block;
  size_t chunks;

  FOVEA_INLINE LongSum Empty() { return {hn::Zero(kF), hn::Zero(kF), 0}; }
  inline __attribute__((always_inline)) void AddChunk(VF chunk) {
    block = hn::Add(block, chunk);
    if (++chunks % kSumChunk != 0) return;
    total = hn::Add(total, block);
    block = hn::Zero(kF);
  }
  inline __attribute__((always_inline)) VF Value() const { return hn::Add(total, block); }
};

// The largest elements of a row in each lane.
template <Reading kReading>
FOVEA_INLINE VF MaxOfRow(const RowReader<kReading>& reader, size_t axis) {
  const size_t whole = axis / kLanes * kLanes;
  VF max = hn::Set(kF, -kInfinity);
  size_t i = 0;
  for (; i + 4 * kLanes <= whole; i += 4 * kLanes) {
    const VF max01 = hn::Max(reader.Whole(i), reader.Whole(i + kLanes));
    const VF max23 = hn::Max(reader.Whole(i + 2 * kLanes), reader.Whole(i + 3 * kLanes));
    max = hn::Max(max, hn::Max(max01, max23));
  }
  for (; i < whole; i += kLanes) max = hn::Max(max, reader.Whole(i));
  return whole < axis ? hn::Max(max, reader.Part(whole, axis - whole)) : max;
}

// exp(x - shift) over a row, stored if asked for; returns the sums of each lane.
template <Reading kReading>
FOVEA_INLINE VF ExpRow(const RowReader<kReading>& reader, size_t axis, VF shift, bool store, float* out) {
  LongSum sum = LongSum::Empty();
  const size_t whole = axis / kLanes * kLanes;
  size_t i = 0;
  while (i < whole) {
    VF chunk = hn::Zero(kF);
    const size_t chunk_end = whole - i < kSumChunk * kLanes ? whole : i + kSumChunk * kLanes;
    for (; i + 4 * kLanes <= chunk_end; i += 4 * kLanes) {
      VF p[4];
      FOVEA_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) p[k] = hn::Sub(reader.Whole(i + k * kLanes), shift);
      Exp(p);
      FOVEA_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) {
        if (store) hn::StoreU(p[k], kF, out + i + k * kLanes);
      }
      chunk = hn::Add(chunk, hn::Add(hn::Add(p[0], p[1]), hn::Add(p[2], p[3])));
    }
    for (; i < chunk_end; i += kLanes) {
      VF p[1] = {hn::Sub(reader.Whole(i), shift)};
      Exp(p);
      if (store) hn::StoreU(p[0], kF, out + i);
      chunk = hn::Add(chunk, p[0]);
    }
    sum.AddChunk(chunk);
  }
  if (whole < axis) {
    VF p[1] = {hn::Sub(reader.Part(whole, axis - whole), shift)};
    Exp(p);
    if (store) hn::StoreN(p[0], kF, out + whole, axis - whole);
    sum.AddChunk(p[0]);
  }
  return sum.Value();
}

// Lane i of the result is the largest lane of v[i]: the reductions of kLanes rows at once. Destroys v.
FOVEA_INLINE VF MaxOfEach(VF (&v)[kLanes]) {
  hn::Transpose(v);
  FOVEA_UNROLL(4)
  for (size_t step = kLanes / 2; step > 0; step /= 2) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < step; ++i) v[i] = hn::Max(v[i], v[i + step]);
  }
  return v[0];
}
// Weights of a row from its exponentials, in place.
FOVEA_INLINE VF Weight(VF p, VF inverse_sum) { return ZeroIfSubnormal(hn::Mul(p, inverse_sum)); }

FOVEA_INLINE void WeighRow(float* p, size_t axis, VF inverse_sum) {
  const size_t whole = axis / kLanes * kLanes;
  size_t i = 0;
  for (; i + 4 * kLanes <= whole; i += 4 * kLanes) {
    FOVEA_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) {
      hn::StoreU(Weight(hn::LoadU(kF, p + i + k * kLanes), inverse_sum), kF, p + i + k * kLanes);
    }
  }
  for (; i < whole; i += kLanes) hn::StoreU(Weight(hn::LoadU(kF, p + i), inverse_sum), kF, p + i);
  const size_t rest = axis - whole;
  if (rest) hn::StoreN(Weight(hn::LoadN(kF, p + whole, rest), inverse_sum), kF, p + whole, rest);
}

// At once are worked on: rows of so many elements together, but one row at least and at most so many.
constexpr size_t kGroupElements = 4096;
constexpr size_t kGroupRows = 32;

// The rows of a group in the caller's arrays.
template <Reading kReading>
struct RowGroup {
  const SoftmaxSlice& slice;
  size_t first;

  inline __attribute__((always_inline)) RowReader<kReading> Reader(size_t row) const {
    const ptrdiff_t i = ptrdiff_t(first + row);
    return {slice.in + i * slice.in_outer_stride, slice.mask ? slice.mask + i * slice.mask_outer_stride : nullptr,
            hn::Set(kF, slice.scale)};
  }
  inline __attribute__((always_inline)) float* Out(size_t row) const {
    return slice.out + ptrdiff_t(first + row) * slice.out_outer_stride;
  }
};

// out = x - shift - log_sum
template <Reading kReading>
FOVEA_INLINE void LogRow(const RowReader<kReading>& x, size_t axis, VF shift, VF log_sum, float* out) {
  const size_t whole = axis / kLanes * kLanes, rest = axis - whole;
  for (size_t i = 0; i < whole; i += kLanes) hn::StoreU(hn::Sub(hn::Sub(x.Whole(i), shift), log_sum), kF, out + i);
  if (rest) hn::StoreN(hn::Sub(hn::Sub(x.Part(whole, rest), shift), log_sum), kF, out + whole, rest);
}

// Up to kGroupRows rows step by step together: the steps of one short row alone would wait for each other.
template <Reading kReading>
FOVEA_TEMPLATE void SoftmaxRowGroup(const SoftmaxSlice& slice, size_t first, size_t rows) {
  const RowGroup<kReading> group = {slice, first};
  const size_t axis = slice.axis;
  VF lanes[kGroupRows / kLanes][kLanes];  // of each row
  float shift[kGroupRows], factor[kGroupRows];
  for (size_t row = rows; row % kLanes != 0; ++row) lanes[row / kLanes][row % kLanes] = hn::Zero(kF);
  for (size_t row = 0; row < rows; ++row) lanes[row / kLanes][row % kLanes] = MaxOfRow(group.Reader(row), axis);
  for (size_t row = 0; row < rows; row += kLanes) {
    const VF max = MaxOfEach(lanes[row / kLanes]);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(max, hn::Set(kF, -kInfinity)), max), kF, shift + row);
  }
  for (size_t row = 0; row < rows; ++row) {
    const VF row_shift = hn::Set(kF, shift[row]);
    VF& sums = lanes[row / kLanes][row % kLanes];
    if (kPreferSize || !OfLogarithm(slice)) {
      sums = ExpRow(group.Reader(row), axis, row_shift, !OfLogarithm(slice), group.Out(row));
    } else {
      sums = ExpRow(group.Reader(row), axis, row_shift, false, nullptr);
    }
  }
  for (size_t row = 0; row < rows; row += kLanes) {
    const VF sum = hn::SumsOfLanes(lanes[row / kLanes]);
    // An empty row has no sum: zeros, or -inf - 0 all along it.
    const VF of_row = OfLogarithm(slice) ? Log(sum) : hn::Div(hn::Set(kF, 1.0f), sum);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(kF)), of_row), kF, factor + row);
  }
  for (size_t row = 0; row < rows; ++row) {
    const VF of_row = hn::Set(kF, factor[row]);
    if (OfLogarithm(slice)) {
      LogRow(group.Reader(row), axis, hn::Set(kF, shift[row]), of_row, group.Out(row));
    } else {
      WeighRow(group.Out(row), axis, of_row);
    }
  }
}

template <Reading kReading>
FOVEA_TEMPLATE void SoftmaxRowsOf(const SoftmaxSlice& slice) {
  // As many rows at once as stay in a small L1 cache with their results.
  const size_t fitting = kGroupElements / slice.axis;
  const size_t group = fitting < 1 ? 1 : fitting < kGroupRows ? fitting : kGroupRows;
  for (size_t first = 0; first < slice.outer; first += group) {
    SoftmaxRowGroup<kReading>(slice, first, slice.outer - first < group ? slice.outer - first : group);
  }
}

FOVEA_KERNEL void SoftmaxRows(const SoftmaxSlice& slice) {
  if constexpr (kPreferSize) {
    SoftmaxRowsOf<Reading::kAny>(slice);
  } else if (OfMasked(slice)) {
    SoftmaxRowsOf<Reading::kMasked>(slice);
  } else if (slice.scale == 1.0f) {
    SoftmaxRowsOf<Reading::kPlain>(slice);
  } else {
    SoftmaxRowsOf<Reading::kScaled>(slice);
  }
}

// Elements of `count` <= kLanes softmaxes side by side, at place i of the axis.
struct ColumnReader {
  const float* in;
  const float* mask;
  ptrdiff_t in_stride, mask_stride, mask_inner_stride;
  size_t count;
  VF scale;
};

FOVEA_SHARED VF ColumnElements(const ColumnReader& reader, size_t i) {
  const VF x = hn::LoadN(kF, reader.in + ptrdiff_t(i) * reader.in_stride, reader.count);
  if (!config::kSoftmaxMask || !reader.mask) return Scaled(x, reader.scale);
  const float* m = reader.mask + ptrdiff_t(i) * reader.mask_stride;
  return ScaledMasked(x, reader.scale, reader.mask_inner_stride ? hn::LoadN(kF, m, reader.count) : hn::Set(kF, *m));
}

FOVEA_KERNEL void SoftmaxColumns(const SoftmaxSlice& slice) {
  for (size_t column = 0; column < slice.inner; column += kLanes) {
    const size_t count = slice.inner - column < kLanes ? slice.inner - column : kLanes;
    const float* mask = OfMasked(slice) ? slice.mask + ptrdiff_t(column) * slice.mask_inner_stride : nullptr;
    const ColumnReader reader = {slice.in + column,       mask,  slice.in_axis_stride,    slice.mask_axis_stride,
                                 slice.mask_inner_stride, count, hn::Set(kF, slice.scale)};
    float* out = slice.out + column;

    VF max = hn::Set(kF, -kInfinity);
    for (size_t i = 0; i < slice.axis; ++i) max = hn::Max(max, ColumnElements(reader, i));
    const VF shift = hn::IfThenZeroElse(hn::Eq(max, hn::Set(kF, -kInfinity)), max);

    LongSum long_sum = LongSum::Empty();
    for (size_t i = 0; i < slice.axis;) {
      VF chunk = hn::Zero(kF);
      const size_t chunk_end = slice.axis - i < kSumChunk ? slice.axis : i + kSumChunk;
      for (; i < chunk_end; ++i) {
        const VF p = Exp(hn::Sub(ColumnElements(reader, i), shift));
        chunk = hn::Add(chunk, p);
        if (!OfLogarithm(slice)) hn::StoreN(p, kF, out + ptrdiff_t(i) * slice.out_axis_stride, count);
      }
      long_sum.AddChunk(chunk);
    }
    const VF sum = long_sum.Value();
    const MF empty = hn::Eq(sum, hn::Zero(kF));
    if (OfLogarithm(slice)) {
      const VF log_sum = hn::IfThenZeroElse(empty, Log(sum));
      for (size_t i = 0; i < slice.axis; ++i) {
        const VF x = hn::Sub(hn::Sub(ColumnElements(reader, i), shift), log_sum);
        hn::StoreN(x, kF, out + ptrdiff_t(i) * slice.out_axis_stride, count);
      }
    } else {
      const VF inverse_sum = hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum));
      for (size_t i = 0; i < slice.axis; ++i) {
        float* p = out + ptrdiff_t(i) * slice.out_axis_stride;
        hn::StoreN(Weight(hn::LoadN(kF, p, count), inverse_sum), kF, p, count);
      }
    }
  }
}

// With one lane, columns are rows.
constexpr bool kColumnsServeRows = kLanes == 1 && kPreferSize;
constexpr SoftmaxKernels kSoftmaxKernels = {kColumnsServeRows ? nullptr : SoftmaxRows,
                                            kColumnsServeRows || config::kSoftmaxStrided ? SoftmaxColumns : nullptr};
