// SPDX-License-Identifier: Apache-2.0
//
// Products of groups by register blocks, whose sums become floats at once.

// Codes of rows may be multiplied as unsigned bytes. What they are above those that they stand for is then taken off by
// the sums of columns; if columns were unsigned, each group of a row would have to be summed up.
#if defined(FOVEA_DOT_UNSIGNED_ROWS)
constexpr bool kUnsignedRows = true;
FOVEA_INLINE int32_t RowBias(const GroupsAt& at) { return at.dtype == FOVEA_Q8_0 ? 128 : at.Bias(); }
#else
constexpr bool kUnsignedRows = false;
FOVEA_INLINE int32_t RowBias(const GroupsAt&) { return 0; }
#endif
// Whether the sums of columns are needed: of Q4_1 as floats, of others, to take the bias off, as integers.
FOVEA_INLINE bool SumsColumns(fovea_dtype dtype) { return kUnsignedRows || dtype == FOVEA_Q4_1; }

// Groups of a row that are brought at a time, for all columns of a tile.
constexpr size_t kGroupsOfRows = ::fovea::i8_inputs(kDotTraits[dot::kKind]) / kScaleGroup;
constexpr size_t kGroupsAtOnce = kGroupsOfRows < kLinearGrain ? kGroupsOfRows : kLinearGrain;

// The codes of groups of up to kLinearGrain rows: where they lie, or in memory here.
struct BroughtGroups {
  GroupsAt first;
  uint32_t count;                            // of the rows
  const dot::RowCode* codes[kGroupsAtOnce];  // of a group in the first row
  ptrdiff_t strides[kGroupsAtOnce];          // from a row to the next
  int32_t starts[kGroupsAtOnce][kLinearGrain];
};

// Codes of groups as bytes, until they are brought.
using GroupBytes = int8_t[kLinearGrain][kScaleGroup];

FOVEA_INLINE size_t InGroup(size_t inputs, size_t d) { return inputs - d < kScaleGroup ? inputs - d : kScaleGroup; }

// A row's codes of a group, as the dot product takes them.
FOVEA_INLINE void PutCodes(const GroupsAt& at, uint32_t row, int8_t* to) {
  if (at.dtype != FOVEA_Q8_0) return PutNibbles(at.Codes(row), kUnsignedRows ? 0 : at.Bias(), to);
  if (!kUnsignedRows) return;  // then they are taken as they lie
  const uint8_t* const codes = at.Codes(row);
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < kScaleGroup; i += sizeof(uint64_t)) {
    uint64_t bytes;
    __builtin_memcpy(&bytes, codes + i, sizeof bytes);
    bytes ^= UINT64_MAX / 255 * 128;
    __builtin_memcpy(to + i, &bytes, sizeof bytes);
  }
}

// Brings groups of `inputs` inputs. `bytes` has room for one, or for all where rows are multiplied as they lie.
FOVEA_INLINE void BringGroups(const I8TokenTile& t, int32_t zero, size_t inputs, GroupBytes* bytes, BroughtGroups* b) {
  GroupsAt at = b->first;
  dot::RowCode* to = static_cast<dot::RowCode*>(t.rows);
  for (size_t g = 0, d = 0; d < inputs; ++g, d += kScaleGroup) {
    const size_t n = InGroup(inputs, d);
    const int8_t* codes = reinterpret_cast<const int8_t*>(at.Codes(0));
    ptrdiff_t stride = at.stride;
    if (kUnsignedRows || at.dtype != FOVEA_Q8_0) {
      for (uint32_t k = 0; k < b->count; ++k) PutCodes(at, k, (*bytes)[k]);
      codes = (*bytes)[0];
      stride = kScaleGroup;
    }
    if (zero != 0) {
      for (uint32_t k = 0; k < b->count; ++k) {
        const int32_t sum = dot::SumOfRow(codes + ptrdiff_t(k) * stride, n);
        b->starts[g][k] = -zero * (sum - RowBias(at) * int32_t(n));
      }
    }
    b->codes[g] = ReachRows(codes, b->count, n, to, &stride);
    b->strides[g] = stride;
    if (kRowsInPlace) {
      ++bytes;
    } else {
      to += kLinearGrain * kScaleGroup;
    }
    at = at.Next();
  }
}

// sums[row][column] += the products of groups of `inputs` inputs, from d on, times both scales: kVectors vectors of
// columns, and all rows that were brought.
template <int kVectors>
FOVEA_TEMPLATE void AddGroupsOfVectors(const I8TokenTile& t, const BroughtGroups& b, int32_t zero, size_t d,
                                       size_t inputs, const float* x_sums, float* sums, size_t column) {
  constexpr uint32_t kRows = kDotRows<kVectors>;
  const size_t columns = t.columns;
  sums += column;
  x_sums += column;
  for (uint32_t row = 0; row < b.count; row += kRows, sums += kRows * columns) {
    const dot::Code* x = static_cast<const dot::Code*>(t.x) + (d / kGroup * columns + column) * kGroup;
    GroupsAt at = b.first;
    for (size_t g = 0, from = 0; from < inputs; ++g, from += kScaleGroup, x += kScaleGroup * columns, at = at.Next()) {
      const dot::RowCode* codes[kRows];
      const dot::RowCode* next = b.codes[g] + ptrdiff_t(row) * b.strides[g];
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) {  // rows behind the last repeat it
        codes[k] = next;
        next += row + k + 1 < b.count ? b.strides[g] : 0;
      }
      const float* const x_scales = GroupScalesOf(t, d / kScaleGroup + g) + column;
      BlockSums<kRows, kVectors> block;
      ZeroSums<kRows, kVectors>(block);
      AddRows<kVectors>(x, columns, codes, InGroup(inputs, from), block);
      FOVEA_UNROLL(8)
      for (uint32_t k = 0; k < kRows; ++k) {
        const uint32_t live = row + k < b.count ? row + k : b.count - 1;
        const VF scale = at.Scale(live), least = at.dtype == FOVEA_Q4_1 ? at.Least(live) : hn::Zero(kF);
        const VI start = hn::Set(kI, zero != 0 ? b.starts[g][live] : 0);
        const bool takes_bias = kUnsignedRows && at.dtype != FOVEA_Q4_1;
        float* const out = sums + k * columns;
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          VI sum = hn::Add(IntsOf(block, k, v), start);
          if (takes_bias) sum = hn::Add(sum, LoadInts(x_sums + g * columns + v * kLanes));
          VF product = hn::Mul(hn::ConvertTo(kF, sum), scale);
          if (at.dtype == FOVEA_Q4_1) {
            product = hn::Add(product, hn::Mul(hn::LoadU(kF, x_sums + g * columns + v * kLanes), least));
          }
          product = hn::Mul(product, hn::LoadU(kF, x_scales + v * kLanes));
          hn::StoreU(hn::Add(hn::LoadU(kF, out + v * kLanes), product), kF, out + v * kLanes);
        }
      }
    }
  }
}

template <int kMost>
FOVEA_INLINE void AddGroupsOfColumns(const I8TokenTile& t, const BroughtGroups& b, int32_t zero, size_t d,
                                     size_t inputs, const float* x_sums, float* sums, size_t column) {
  for (; TakesVectors<kMost>(t.columns - column); column += kMost * kLanes) {
    AddGroupsOfVectors<kMost>(t, b, zero, d, inputs, x_sums, sums, column);
  }
  if constexpr (kMost > 1) {
    AddGroupsOfColumns<kPreferSize ? 1 : kMost - 1>(t, b, zero, d, inputs, x_sums, sums, column);
  }
}

// x_sums[group][column] = the sum of a group's codes: less their zero, as a float, or times -bias, as an integer.
FOVEA_INLINE void SumGroupsOfTokens(const I8TokenTile& t, int32_t zero, int32_t bias, size_t d, size_t inputs,
                                    float* x_sums) {
  int8_t ones[kScaleGroup];
  for (int8_t& one : ones) one = 1;
  float* const sums = t.sums + size_t(kGroupedOutputs) * t.columns;  // of a block of rows, of which the first counts
  for (size_t from = 0; from < inputs; from += kScaleGroup, x_sums += t.columns) {
    const size_t n = InGroup(inputs, from);
    MultiplyRowsOfTile(t, ones, kScaleGroup, 1, d + from, n, false, sums);
    for (size_t c = 0; c < t.columns; c += kLanes) {
      const VI sum = LoadInts(sums + c);
      if (bias != 0) {
        const VI up = hn::ShiftLeft<3>(sum);
        StoreInts(hn::Sub(hn::Set(kI, 0), bias == 8 ? up : hn::ShiftLeft<4>(up)), x_sums + c);
      } else {
        hn::StoreU(hn::ConvertTo(kF, hn::Add(sum, hn::Set(kI, -zero * int32_t(n)))), kF, x_sums + c);
      }
    }
  }
}

FOVEA_KERNEL void I8MultiplyGroups(const I8TokenTile& t, const I8Rows& w) {
  constexpr size_t kInputs = kGroupsAtOnce * kScaleGroup;
  const int32_t zero = w.x_zero + (dot::kUnsignedQueries ? 128 : 0);
  float* const x_sums = t.sums + size_t(kGroupedOutputs + kLinearGrain) * t.columns;
  GroupBytes bytes[kRowsInPlace ? kGroupsAtOnce : 1];
  for (size_t i = 0; i < size_t(kGroupedOutputs + kLinearGrain) * t.columns; i += kLanes) {
    hn::StoreU(hn::Zero(kF), kF, t.sums + i);
  }
  for (size_t d = 0; d < t.in_dim; d += kInputs) {
    const size_t inputs = t.in_dim - d < kInputs ? t.in_dim - d : kInputs;
    const GroupsAt first = GroupsAt::Of(w.weights, t.in_dim, 0, d / kScaleGroup);
    if (SumsColumns(first.dtype)) SumGroupsOfTokens(t, zero, RowBias(first), d, inputs, x_sums);
    for (uint32_t row = 0; row < w.outputs; row += kLinearGrain) {
      BroughtGroups b;
      b.first = GroupsAt::Of(w.weights, t.in_dim, row, d / kScaleGroup);
      b.count = w.outputs - row < kLinearGrain ? w.outputs - row : kLinearGrain;
      BringGroups(t, zero, inputs, bytes, &b);
      AddGroupsOfColumns<kBlockVectors>(t, b, zero, d, inputs, x_sums, t.sums + size_t(row) * t.columns, 0);
    }
  }
  for (size_t column = 0; column < t.live; column += kLanes) EndColumns<true>(t, w, column);
}
