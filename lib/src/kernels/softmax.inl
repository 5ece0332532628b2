// SPDX-License-Identifier: Apache-2.0
//
// Softmax and log-softmax, along the lanes (a row) or with a lane for each of the softmaxes side by side (columns).

// scale * x + mask; -inf where hidden.
FOVEA_INLINE VF Scaled(VF x, VF scale) { return hn::Mul(x, scale); }
FOVEA_INLINE VF ScaledMasked(VF x, VF scale, VF mask) {
  return hn::IfThenElse(hn::Le(mask, hn::Set(kF, kHiddenMask)), hn::Set(kF, -kInfinity), hn::MulAdd(x, scale, mask));
}

// Scaled and masked elements of a row; lanes beyond its end are -inf.
template <bool kMasked>
struct RowReader {
  const float* in;
  const float* mask;
  VF scale;

  inline __attribute__((always_inline)) VF Whole(size_t i) const {
    const VF x = hn::LoadU(kF, in + i);
    if constexpr (kMasked) return ScaledMasked(x, scale, hn::LoadU(kF, mask + i));
    return Scaled(x, scale);
  }
  inline __attribute__((always_inline)) VF Part(size_t i, size_t count) const {
    VF x = hn::LoadN(kF, in + i, count);
    if constexpr (kMasked) {
      x = ScaledMasked(x, scale, hn::LoadN(kF, mask + i, count));
    } else {
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

// exp(x - shift) over a row, stored where kStore; returns the sums of each lane.
template <bool kStore, bool kMasked>
FOVEA_INLINE VF ExpRow(const RowReader<kMasked>& reader, size_t axis, VF shift, float* out) {
  LongSum sum = LongSum::Empty();
  const size_t whole = axis / kLanes * kLanes;
  size_t i = 0;
  while (i < whole) {
    VF strands[4] = {hn::Zero(kF), hn::Zero(kF), hn::Zero(kF), hn::Zero(kF)};
    const size_t chunk_end = whole - i < kSumChunk * kLanes ? whole : i + kSumChunk * kLanes;
    for (; i + 4 * kLanes <= chunk_end; i += 4 * kLanes) {
      VF p[4];
      FOVEA_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) p[k] = hn::Sub(reader.Whole(i + k * kLanes), shift);
      Exp(p);
      FOVEA_UNROLL(4)
      for (size_t k = 0; k < 4; ++k) {
        if constexpr (kStore) hn::StoreU(p[k], kF, out + i + k * kLanes);
        strands[k] = hn::Add(strands[k], p[k]);
      }
    }
    for (; i < chunk_end; i += kLanes) {
      const VF p = Exp(hn::Sub(reader.Whole(i), shift));
      if constexpr (kStore) hn::StoreU(p, kF, out + i);
      strands[0] = hn::Add(strands[0], p);
    }
    sum.AddChunk(hn::Add(hn::Add(strands[0], strands[1]), hn::Add(strands[2], strands[3])));
  }
  if (whole < axis) {
    const VF p = Exp(hn::Sub(reader.Part(whole, axis - whole), shift));
    if constexpr (kStore) hn::StoreN(p, kF, out + whole, axis - whole);
    sum.AddChunk(p);
  }
  return sum.Value();
}

// Weights of a row from its exponentials, in place.
FOVEA_INLINE VF Weight(VF p, VF inverse_sum) { return ZeroIfSubnormal(hn::Mul(p, inverse_sum)); }

template <bool kMasked>
static void SoftmaxOneRow(const SoftmaxSlice& slice) {
  const RowReader<kMasked> reader = {slice.in, slice.mask, hn::Set(kF, slice.scale)};
  float* out = slice.out;
  const size_t whole = slice.axis / kLanes * kLanes, rest = slice.axis - whole;
  const VF minus_infinity = hn::Set(kF, -kInfinity);

  VF max[4] = {minus_infinity, minus_infinity, minus_infinity, minus_infinity};
  size_t i = 0;
  for (; i + 4 * kLanes <= whole; i += 4 * kLanes) {
    FOVEA_UNROLL(4)
    for (size_t k = 0; k < 4; ++k) max[k] = hn::Max(max[k], reader.Whole(i + k * kLanes));
  }
  for (; i < whole; i += kLanes) max[0] = hn::Max(max[0], reader.Whole(i));
  if (rest) max[0] = hn::Max(max[0], reader.Part(whole, rest));
  const VF all_max = hn::MaxOfLanes(kF, hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3])));
  const VF shift = hn::IfThenZeroElse(hn::Eq(all_max, minus_infinity), all_max);

  if (slice.logarithm) {
    const VF sum = hn::SumOfLanes(kF, ExpRow<false>(reader, slice.axis, shift, nullptr));
    // An empty row has no sum: -inf - 0 all along it.
    const VF log_sum = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(kF)), Log(sum));
    for (i = 0; i < whole; i += kLanes) hn::StoreU(hn::Sub(hn::Sub(reader.Whole(i), shift), log_sum), kF, out + i);
    if (rest) hn::StoreN(hn::Sub(hn::Sub(reader.Part(whole, rest), shift), log_sum), kF, out + whole, rest);
    return;
  }
  const VF sum = hn::SumOfLanes(kF, ExpRow<true>(reader, slice.axis, shift, out));
  const VF inverse_sum = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(kF)), hn::Div(hn::Set(kF, 1.0f), sum));
  for (i = 0; i < whole; i += kLanes) hn::StoreU(Weight(hn::LoadU(kF, out + i), inverse_sum), kF, out + i);
  if (rest) hn::StoreN(Weight(hn::LoadN(kF, out + whole, rest), inverse_sum), kF, out + whole, rest);
}

static void SoftmaxRow(const SoftmaxSlice& slice) {
  if (slice.mask) {
    SoftmaxOneRow<true>(slice);
  } else {
    SoftmaxOneRow<false>(slice);
  }
}

// Elements of `count` <= kLanes softmaxes side by side, at place i of the axis.
struct ColumnReader {
  const float* in;
  const float* mask;
  ptrdiff_t in_stride, mask_stride, mask_inner_stride;
  size_t count;
  VF scale;

  inline __attribute__((always_inline)) VF At(size_t i) const {
    const VF x = hn::LoadN(kF, in + ptrdiff_t(i) * in_stride, count);
    if (!mask) return Scaled(x, scale);
    const float* m = mask + ptrdiff_t(i) * mask_stride;
    return ScaledMasked(x, scale, mask_inner_stride ? hn::LoadN(kF, m, count) : hn::Set(kF, *m));
  }
};

static void SoftmaxColumns(const SoftmaxSlice& slice) {
  for (size_t column = 0; column < slice.inner; column += kLanes) {
    const size_t count = slice.inner - column < kLanes ? slice.inner - column : kLanes;
    const float* mask = slice.mask ? slice.mask + ptrdiff_t(column) * slice.mask_inner_stride : nullptr;
    const ColumnReader reader = {slice.in + column,       mask,  slice.in_axis_stride,    slice.mask_axis_stride,
                                 slice.mask_inner_stride, count, hn::Set(kF, slice.scale)};
    float* out = slice.out + column;

    VF max = hn::Set(kF, -kInfinity);
    for (size_t i = 0; i < slice.axis; ++i) max = hn::Max(max, reader.At(i));
    const VF shift = hn::IfThenZeroElse(hn::Eq(max, hn::Set(kF, -kInfinity)), max);

    LongSum long_sum = LongSum::Empty();
    for (size_t i = 0; i < slice.axis;) {
      VF chunk = hn::Zero(kF);
      const size_t chunk_end = slice.axis - i < kSumChunk ? slice.axis : i + kSumChunk;
      for (; i < chunk_end; ++i) {
        const VF p = Exp(hn::Sub(reader.At(i), shift));
        chunk = hn::Add(chunk, p);
        if (!slice.logarithm) hn::StoreN(p, kF, out + ptrdiff_t(i) * slice.out_axis_stride, count);
      }
      long_sum.AddChunk(chunk);
    }
    const VF sum = long_sum.Value();
    const MF empty = hn::Eq(sum, hn::Zero(kF));
    if (slice.logarithm) {
      const VF log_sum = hn::IfThenZeroElse(empty, Log(sum));
      for (size_t i = 0; i < slice.axis; ++i) {
        const VF x = hn::Sub(hn::Sub(reader.At(i), shift), log_sum);
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
