// SPDX-License-Identifier: Apache-2.0
//
// Softmax and log-softmax, along the lanes (a row) or with a lane for each of the softmaxes side by side (columns).
#ifndef FOVEA_SRC_SOFTMAX_SOFTMAX_INL_
#define FOVEA_SRC_SOFTMAX_SOFTMAX_INL_

#include "ground/math/math.inl"
#include "ground/math/plain.inl"

// scale * x + mask; -inf where hidden.
FOVEA_INLINE VF TimesScale(VF x, VF scale) { return hn::Mul(x, scale); }
FOVEA_INLINE VF ScaledMasked(VF x, VF scale, VF mask) {
  const VF hides = hn::Set(kF, ::fovea::kHidingMask);
  return hn::IfThenElse(hn::Le(mask, hides), hn::Set(kF, -kInfinity), hn::MulAdd(x, scale, mask));
}

FOVEA_INLINE bool OfLogarithm(const Softmaxes& call) { return config::kLogSoftmax && call.logarithm; }
FOVEA_INLINE bool OfMasked(const Softmaxes& call) { return config::kSoftmaxMask && call.mask; }

// What is done to the elements of a row as they are read. kAny: the row says it at run time.
enum class Reading { kPlain, kScaled, kMasked, kAny };

// A row: its elements, scaled and masked, and where its results are stored.
template <Reading kReading>
struct Row {
  const float* in;
  const float* mask;
  float* out;
  ptrdiff_t ahead;  // from an element to the one at its place in the next group of rows; 0 = there is none
  VF scale, shift;

  FOVEA_MEMBER bool Masked() const {
    return config::kSoftmaxMask && (kReading == Reading::kMasked || (kReading == Reading::kAny && mask));
  }
  FOVEA_MEMBER VF Whole(size_t i) const {
    const VF x = hn::LoadU(kF, in + i);
    if constexpr (kReading == Reading::kPlain) return x;
    if (kReading == Reading::kScaled || !Masked()) return TimesScale(x, scale);
    return ScaledMasked(x, scale, hn::LoadU(kF, mask + i));
  }
  // Lanes from element `end` on are -inf.
  FOVEA_MEMBER VF Part(size_t i, size_t end) const {
    const size_t n = LanesBefore(i, end);
    VF x = LoadUpTo(in + i, n);
    if (Masked()) {
      x = ScaledMasked(x, scale, LoadUpTo(mask + i, n));
    } else if constexpr (kReading != Reading::kPlain) {
      x = TimesScale(x, scale);
    }
    return hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(n))), x, hn::Set(kF, -kInfinity));
  }
  FOVEA_MEMBER void Store(VF v, size_t i, size_t end) const {
    if (i < end) StoreUpTo(v, out + i, LanesBefore(i, end));
  }
  // Prefetches the line of element i of the next group; for logarithms also the line where element i will be stored.
  FOVEA_MEMBER void Prefetch(size_t i, bool stored) const {
    __builtin_prefetch(reinterpret_cast<const void*>(uintptr_t(in) + (size_t(ahead) + i) * sizeof(float)));
    if (!stored) __builtin_prefetch(out + i, 1);
  }
};

// The largest elements of a row in each lane; reads n vectors at a time.
template <size_t n, Reading kReading>
FOVEA_INLINE void MaxOfVectors(const Row<kReading>& row, size_t& i, size_t whole, VF& max) {
  for (; i + n * kLanes <= whole; i += n * kLanes) {
    VF v[n];
    FOVEA_EACH(k, n) v[k] = row.Whole(i + k * kLanes);
    if constexpr (n == 4) v[0] = hn::Max(hn::Max(v[0], v[1]), hn::Max(v[2], v[3]));
    max = hn::Max(max, v[0]);
  }
}
template <Reading kReading>
FOVEA_INLINE VF MaxOfRow(const Row<kReading>& row, size_t axis) {
  const size_t whole = axis / kLanes * kLanes;
  VF max = hn::Set(kF, -kInfinity);
  size_t i = 0;
  if constexpr (!kSizeCounts) MaxOfVectors<4>(row, i, whole, max);
  MaxOfVectors<1>(row, i, whole, max);
  return whole < axis ? hn::Max(max, row.Part(whole, axis)) : max;
}

// The exponentials of a row are added up in strands, element i in strand i % kStrands: in 16 strands on every target
// that has registers for them, so that a sum has the same bits whatever the lanes of a vector. On these targets a step
// has two elements of each strand, which are added to each other first.
constexpr bool kSameStrands = kLanes > 1 && hn::kRegisters >= 16;
constexpr size_t kStrands = kSameStrands ? 16 : kLanes;
constexpr size_t kStrandVectors = kStrands / kLanes;
constexpr size_t kStepVectors = kSameStrands ? 2 * kStrandVectors : 1;
constexpr size_t kStep = kStepVectors * kLanes;

// Steps that are taken together, of one row or of several: 4 vectors hide the latency of one, 8 spill.
constexpr size_t kTogether = kSizeCounts || kStepVectors >= 4 ? 1 : 4 / kStepVectors;
constexpr size_t kSideBySideAxis = 256;  // longest rows that are taken together: no more than a chunk

// Sums of n vectors in three levels, so that their rounding errors do not grow with their length: chunks of kSumChunk
// elements of a strand, then kSumChunk chunks (`block`), then all of these.
constexpr size_t kSumChunk = 64;
constexpr size_t kRowChunk = kSumChunk * kStrands;

template <size_t n>
struct LongSums {
  VF total[n], block[n];
  size_t chunks;

  FOVEA_MEMBER void Begin() {
    for (size_t k = 0; k < n; ++k) total[k] = block[k] = hn::Zero(kF);
    chunks = 0;
  }
  FOVEA_MEMBER void AddChunk(const VF (&chunk)[n]) {
    FOVEA_EACH(k, n) block[k] = hn::Add(block[k], chunk[k]);
    if (++chunks % kSumChunk != 0) return;
    FOVEA_EACH(k, n) {
      total[k] = hn::Add(total[k], block[k]);
      block[k] = hn::Zero(kF);
    }
  }
  FOVEA_MEMBER void End() {
    FOVEA_EACH(k, n) total[k] = hn::Add(total[k], block[k]);
  }
};

// exp(x - shift) for kSteps steps of kRows rows; with kPart, only of the elements before `end`.
template <bool kPart, size_t kRows, size_t kSteps, Reading kReading>
FOVEA_INLINE void ExpOfSteps(const Row<kReading> (&rows)[kRows], size_t i, size_t end, bool store,
                             VF (&sums)[kRows * kStrandVectors]) {
  constexpr size_t kVectors = kSteps * kStepVectors;  // of a row
  constexpr size_t kLine = kCacheLine / sizeof(float);
  VF p[kRows * kVectors];
  FOVEA_EACH(n, kRows * kVectors) {
    const Row<kReading>& row = rows[n / kVectors];
    const size_t offset = n % kVectors * kLanes;
    if (kSameStrands && !kSizeCounts && !kPart && offset % kLine == 0) row.Prefetch(i + offset, store);
    p[n] = hn::Sub(kPart ? row.Part(i + offset, end) : row.Whole(i + offset), row.shift);
  }
  Exp(p);
  FOVEA_EACH(n, kRows * kVectors) {
    const Row<kReading>& row = rows[n / kVectors];
    const size_t at = i + n % kVectors * kLanes;
    if (store && kPart) row.Store(p[n], at, end);
    if (store && !kPart) hn::StoreU(p[n], kF, row.out + at);
  }
  FOVEA_EACH(step, kRows * kSteps) {
    FOVEA_EACH(k, kStrandVectors) {
      VF of_strand = p[step * kStepVectors + k];
      if constexpr (kStepVectors > kStrandVectors)
        of_strand = hn::Add(of_strand, p[step * kStepVectors + kStrandVectors + k]);
      VF& sum = sums[step / kSteps * kStrandVectors + k];
      sum = hn::Add(sum, of_strand);
    }
  }
}

// The end of a row, less than a step. Many lanes of its vectors may be missing, which takes more code than whole steps:
// all kinds of rows share it, unless there is only one kind.
[[maybe_unused]] FOVEA_CALLED void ExpOfEnd(const Row<Reading::kAny>& row, size_t i, size_t end, bool store,
                                            VF (&sums)[kStrandVectors]) {
  const Row<Reading::kAny> rows[1] = {row};
  ExpOfSteps<true, 1, 1>(rows, i, end, store, sums);
}

// The same from element i on, for a chunk or to the end of the rows; returns where it ends. Sums begin at 0.
template <size_t kRows, Reading kReading>
FOVEA_INLINE size_t ExpOfChunk(const Row<kReading> (&rows)[kRows], size_t i, size_t axis, bool store,
                               VF (&sums)[kRows * kStrandVectors]) {
  constexpr size_t kSteps = kTogether / kRows;
  for (VF& sum : sums) sum = hn::Zero(kF);
  const size_t whole = axis / kStep * kStep, end = whole - i < kRowChunk ? whole : i + kRowChunk;
  for (; i + kSteps * kStep <= end; i += kSteps * kStep) {
    ExpOfSteps<false, kRows, kSteps>(rows, i, axis, store, sums);
  }
  if constexpr (kSteps > 1) {
    for (; i < end; i += kStep) ExpOfSteps<false, kRows, 1>(rows, i, axis, store, sums);
  }
  if (i < whole || whole == axis) return i;
  if constexpr (kSizeCounts) {
    ExpOfSteps<true, kRows, 1>(rows, i, axis, store, sums);
  } else {
    FOVEA_EACH(row, kRows) {
      const Row<kReading>& r = rows[row];
      ExpOfEnd({r.in, r.mask, r.out, r.ahead, r.scale, r.shift}, i, axis, store,
               reinterpret_cast<VF(&)[kStrandVectors]>(sums[row * kStrandVectors]));
    }
  }
  return axis;
}

// Adds strands that are 8 apart and then those 4 apart, if they are in different vectors.
FOVEA_INLINE VF JoinStrands(VF* v) {
  if constexpr (kStrandVectors == 4) v[0] = hn::Add(v[0], v[2]), v[1] = hn::Add(v[1], v[3]);
  if constexpr (kStrandVectors > 1) v[0] = hn::Add(v[0], v[1]);
  return v[0];
}

// Stores exp(x - shift) of a row if asked to; returns the sums of each lane.
template <Reading kReading>
FOVEA_INLINE VF ExpOfRow(const Row<kReading> (&row)[1], size_t axis, bool store) {
  LongSums<kStrandVectors> sums;
  sums.Begin();
  for (size_t i = 0; i < axis;) {
    VF chunk[kStrandVectors];
    i = ExpOfChunk(row, i, axis, store, chunk);
    if (!kSizeCounts && i == axis && sums.chunks == 0) return JoinStrands(chunk);  // no sums of sums in short rows
    sums.AddChunk(chunk);
  }
  sums.End();
  return JoinStrands(sums.total);
}

// Lane i of the result is the largest lane of v[i], or the sum of its lanes: those kLanes / 2 apart are joined, then
// those kLanes / 4 apart, and so on. Destroys v.
template <bool kSum>
FOVEA_INLINE VF JoinLanesOfEach(VF (&v)[kLanes]) {
  hn::Transpose(v);
  FOVEA_UNROLL(4)
  for (size_t apart = kLanes / 2; apart > 0; apart /= 2) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < apart; ++i) v[i] = kSum ? hn::Add(v[i], v[i + apart]) : hn::Max(v[i], v[i + apart]);
  }
  return v[0];
}

// Weights of a row from its exponentials.
FOVEA_INLINE VF Weight(VF p, VF inverse_sum) { return ZeroIfSubnormal(hn::Mul(p, inverse_sum)); }

struct Weights {
  const float* p;
  VF inverse_sum;
  FOVEA_MEMBER VF Whole(size_t i) const { return Weight(hn::LoadU(kF, p + i), inverse_sum); }
  FOVEA_MEMBER VF Part(size_t i, size_t end) const { return Weight(hn::LoadN(kF, p + i, end - i), inverse_sum); }
};

// x - shift - log_sum
template <Reading kReading>
struct Logarithms {
  const Row<kReading>& x;
  VF log_sum;
  FOVEA_MEMBER VF Whole(size_t i) const { return hn::Sub(hn::Sub(x.Whole(i), x.shift), log_sum); }
  FOVEA_MEMBER VF Part(size_t i, size_t end) const { return hn::Sub(hn::Sub(x.Part(i, end), x.shift), log_sum); }
};

template <size_t n, class Results>
FOVEA_INLINE void StoreVectors(const Results& results, size_t& i, size_t whole, float* out) {
  for (; i + n * kLanes <= whole; i += n * kLanes) {
    VF v[n];
    FOVEA_EACH(k, n) v[k] = results.Whole(i + k * kLanes);
    FOVEA_EACH(k, n) hn::StoreU(v[k], kF, out + i + k * kLanes);
  }
}
template <class Results>
FOVEA_INLINE void StoreRow(const Results& results, size_t axis, float* out) {
  const size_t whole = axis / kLanes * kLanes;
  size_t i = 0;
  if constexpr (!kSizeCounts) StoreVectors<4>(results, i, whole, out);
  StoreVectors<1>(results, i, whole, out);
  if (whole < axis) hn::StoreN(results.Part(whole, axis), kF, out + whole, axis - whole);
}

// Rows in a group: as many as hold kGroupElements elements, at least 1, at most kGroupRows.
constexpr size_t kGroupElements = 4096;
constexpr size_t kGroupRows = 32;

// A group of rows that are computed together, step by step: the steps of one short row alone would wait for each other.
template <Reading kReading>
struct RowGroup {
  const Softmaxes& call;
  size_t first, rows;
  VF lanes[kGroupRows / kLanes][kLanes];  // a vector of each row
  float shift[kGroupRows], factor[kGroupRows];

  FOVEA_MEMBER RowGroup(const Softmaxes& all, size_t first_row, size_t row_count)
      : call(all), first(first_row), rows(row_count) {}

  FOVEA_MEMBER VF& Lanes(size_t row) { return lanes[row / kLanes][row % kLanes]; }
  FOVEA_MEMBER Row<kReading> At(size_t row, float row_shift) const {
    const ptrdiff_t i = ptrdiff_t(first + row);
    const float* const mask = call.mask ? call.mask + i * call.mask_strides.outer : nullptr;
    const ptrdiff_t ahead = first + rows < call.outer ? ptrdiff_t(rows) * call.in_strides.outer : 0;
    return {call.in + i * call.in_strides.outer,
            mask,
            call.out + i * call.out_strides.outer,
            ahead,
            hn::Set(kF, call.scale),
            hn::Set(kF, row_shift)};
  }
  FOVEA_MEMBER void ExpSideBySide(size_t row, bool store) {
    Row<kReading> side_by_side[kTogether];
    VF sums[kTogether * kStrandVectors];
    FOVEA_EACH(i, kTogether) side_by_side[i] = At(row + i, shift[row + i]);
    ExpOfChunk(side_by_side, 0, call.axis, store, sums);
    FOVEA_EACH(i, kTogether) Lanes(row + i) = JoinStrands(sums + i * kStrandVectors);
  }
  FOVEA_MEMBER void Exp(bool store) {
    size_t row = 0;
    if constexpr (kTogether > 1 && kSameStrands && !kSizeCounts) {
      const bool short_rows = call.axis <= kSideBySideAxis;
      for (; short_rows && row + kTogether <= rows; row += kTogether) ExpSideBySide(row, store);
    }
    for (; row < rows; ++row) {
      const Row<kReading> one[1] = {At(row, shift[row])};
      Lanes(row) = ExpOfRow(one, call.axis, store);
    }
  }
};

template <Reading kReading>
FOVEA_TEMPLATE void SoftmaxRowGroup(const Softmaxes& call, size_t first, size_t rows) {
  RowGroup<kReading> group(call, first, rows);
  const size_t axis = call.axis;
  for (size_t row = rows; row % kLanes != 0; ++row) group.Lanes(row) = hn::Zero(kF);
  for (size_t row = 0; row < rows; ++row) group.Lanes(row) = MaxOfRow(group.At(row, 0.0f), axis);
  for (size_t row = 0; row < rows; row += kLanes) {
    hn::StoreU(ShiftOf(JoinLanesOfEach<false>(group.lanes[row / kLanes])), kF, group.shift + row);
  }
  if (kSizeCounts || !OfLogarithm(call)) {
    group.Exp(!OfLogarithm(call));
  } else {
    group.Exp(false);
  }
  for (size_t row = 0; row < rows; row += kLanes) {
    const VF sum = JoinLanesOfEach<true>(group.lanes[row / kLanes]);
    // An empty row has a sum of 0: its results are zeros, or -inf - 0.
    const VF of_row = OfLogarithm(call) ? Log(sum) : hn::Div(hn::Set(kF, 1.0f), sum);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(kF)), of_row), kF, group.factor + row);
  }
  for (size_t row = 0; row < rows; ++row) {
    const VF of_row = hn::Set(kF, group.factor[row]);
    const Row<kReading> x = group.At(row, group.shift[row]);
    if (OfLogarithm(call)) {
      StoreRow(Logarithms<kReading>{x, of_row}, axis, x.out);
    } else {
      StoreRow(Weights{x.out, of_row}, axis, x.out);
    }
  }
}

template <Reading kReading>
FOVEA_TEMPLATE void SoftmaxRowsOf(const Softmaxes& call) {
  // As many rows at once as stay in a small L1 cache with their results.
  const size_t fitting = kGroupElements / call.axis;
  const size_t group = fitting < 1 ? 1 : fitting < kGroupRows ? fitting : kGroupRows;
  for (size_t first = 0; first < call.outer; first += group) {
    SoftmaxRowGroup<kReading>(call, first, call.outer - first < group ? call.outer - first : group);
  }
}

FOVEA_KERNEL void SoftmaxRows(const Softmaxes& call) {
  if constexpr (kSizeCounts) {
    SoftmaxRowsOf<Reading::kAny>(call);
  } else if (OfMasked(call)) {
    SoftmaxRowsOf<Reading::kMasked>(call);
  } else if (call.scale == 1.0f) {
    SoftmaxRowsOf<Reading::kPlain>(call);
  } else {
    SoftmaxRowsOf<Reading::kScaled>(call);
  }
}

// Loads or stores n <= kLanes columns. A part of a vector is slow on AVX2, so that whole ones have their own instruction.
constexpr bool kWholeColumns = kLanes > 4;
FOVEA_INLINE VF LoadColumns(const float* p, size_t n) {
  return kWholeColumns && n == kLanes ? hn::LoadU(kF, p) : hn::LoadN(kF, p, n);
}
FOVEA_INLINE void StoreColumns(VF v, float* p, size_t n) {
  if (kWholeColumns && n == kLanes) return hn::StoreU(v, kF, p);
  hn::StoreN(v, kF, p, n);
}

// Elements of `count` <= kLanes adjacent softmaxes, at place i of the axis.
struct ColumnReader {
  const float* in;
  const float* mask;
  ptrdiff_t in_stride, mask_stride, mask_inner_stride;
  size_t count;
  VF scale;
};

FOVEA_SHARED VF ColumnElements(const ColumnReader& reader, size_t i) {
  const VF x = LoadColumns(reader.in + ptrdiff_t(i) * reader.in_stride, reader.count);
  if (!config::kSoftmaxMask || !reader.mask) return TimesScale(x, reader.scale);
  const float* m = reader.mask + ptrdiff_t(i) * reader.mask_stride;
  return ScaledMasked(x, reader.scale, reader.mask_inner_stride ? LoadColumns(m, reader.count) : hn::Set(kF, *m));
}

FOVEA_KERNEL void SoftmaxColumns(const Softmaxes& call, size_t outer) {
  const ptrdiff_t o = ptrdiff_t(outer);
  for (size_t column = 0; column < call.inner; column += kLanes) {
    const size_t count = call.inner - column < kLanes ? call.inner - column : kLanes;
    const float* mask = nullptr;
    if (OfMasked(call)) mask = call.mask + o * call.mask_strides.outer + ptrdiff_t(column) * call.mask_strides.inner;
    const ColumnReader reader = {call.in + o * call.in_strides.outer + column,
                                 mask,
                                 call.in_strides.axis,
                                 call.mask_strides.axis,
                                 call.mask_strides.inner,
                                 count,
                                 hn::Set(kF, call.scale)};
    float* out = call.out + o * call.out_strides.outer + column;

    VF max = hn::Set(kF, -kInfinity);
    for (size_t i = 0; i < call.axis; ++i) max = hn::Max(max, ColumnElements(reader, i));
    const VF shift = hn::IfThenZeroElse(hn::Eq(max, hn::Set(kF, -kInfinity)), max);

    LongSums<1> sums;
    sums.Begin();
    for (size_t i = 0; i < call.axis;) {
      VF chunk[1] = {hn::Zero(kF)};
      const size_t chunk_end = call.axis - i < kSumChunk ? call.axis : i + kSumChunk;
      for (; i < chunk_end; ++i) {
        const VF p = Exp(hn::Sub(ColumnElements(reader, i), shift));
        chunk[0] = hn::Add(chunk[0], p);
        if (!OfLogarithm(call)) StoreColumns(p, out + ptrdiff_t(i) * call.out_strides.axis, count);
      }
      sums.AddChunk(chunk);
    }
    sums.End();
    const VF sum = sums.total[0];
    const MF empty = hn::Eq(sum, hn::Zero(kF));
    if (OfLogarithm(call)) {
      const VF log_sum = hn::IfThenZeroElse(empty, Log(sum));
      for (size_t i = 0; i < call.axis; ++i) {
        const VF x = hn::Sub(hn::Sub(ColumnElements(reader, i), shift), log_sum);
        StoreColumns(x, out + ptrdiff_t(i) * call.out_strides.axis, count);
      }
    } else {
      const VF inverse_sum = hn::IfThenZeroElse(empty, hn::Div(hn::Set(kF, 1.0f), sum));
      for (size_t i = 0; i < call.axis; ++i) {
        float* p = out + ptrdiff_t(i) * call.out_strides.axis;
        StoreColumns(Weight(LoadColumns(p, count), inverse_sum), p, count);
      }
    }
  }
}

// With one lane, columns are rows.
constexpr bool kColumnsServeRows = kLanes == 1 && kSizeCounts;
constexpr SoftmaxKernels kSoftmaxKernels = {kColumnsServeRows ? nullptr : SoftmaxRows,
                                            kColumnsServeRows || config::kSoftmaxStrided ? SoftmaxColumns : nullptr};

#endif  // FOVEA_SRC_SOFTMAX_SOFTMAX_INL_
