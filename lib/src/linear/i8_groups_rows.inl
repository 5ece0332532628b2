// SPDX-License-Identifier: Apache-2.0
//
// Products of groups. The products of one group with some rows are stored as integers before they become floats. The
// code is small, and fast enough where a vector has few lanes, or registers have no room for a register block.

struct GroupScale {
  VF scale, least;
};
// Of the codes that PutSuperCodes stores.
template <fovea_dtype kType>
FOVEA_INLINE GroupScale ScaleInSuper(const uint8_t* block, size_t place) {
  const FormatRow<kType> row = FormatRow<kType>::Of(block, nullptr);
  GroupScale s = {hn::Mul(row.Scale(place), hn::Set(kF, IsHigh(kType, place) ? 16.0f : 1.0f)), hn::Zero(kF)};
  if constexpr (kHasLeast<kType>) s.least = row.Least(place);
  return s;
}
template <::fovea::FormatSet kSet = kI8SuperFormats>
FOVEA_INLINE GroupScale ScaleOfRow(const GroupsAt& groups, uint32_t row) {
  if constexpr (kSet != 0) {
    if (IsInSuper(groups.dtype)) {
      FOVEA_WITH_FORMAT(kSet, groups.dtype, ScaleInSuper<kType>(groups.Block(row), groups.place));
    }
  }
  const bool has_least = HasLeast(groups.dtype);
  return {hn::SetF16(kF, groups.ScaleBits(row)), has_least ? hn::SetF16(kF, groups.LeastBits(row)) : hn::Zero(kF)};
}

// The codes of a row's group, unless they are bytes.
template <::fovea::FormatSet kSet = kI8SuperFormats>
FOVEA_INLINE void PutCodes(const GroupsAt& groups, uint32_t row, int8_t* to) {
  if constexpr (kSet != 0) {
    if (IsInSuper(groups.dtype)) {
      FOVEA_WITH_FORMAT(kSet, groups.dtype, PutSuperCodes<kType, 32>(groups.Block(row), groups.place, to));
    }
  }
  PutNibbles(groups.Codes(row), groups.Bias(), to);
}

// sums[column] += the product of one row's group, an integer to which `start` is added, times both scales.
FOVEA_INLINE void AddGroupOfRow(const I8TokenTile& t, const GroupsAt& groups, uint32_t row, const float* products,
                                int32_t start, const float* x_sums, const float* x_scales, bool first, float* sums) {
  const bool has_least = HasLeast(groups.dtype);
  const GroupScale s = ScaleOfRow(groups, row);
  const VF scale = s.scale, least = s.least;
  for (size_t c = 0; c < t.columns; c += kLanes) {
    VF product = hn::Mul(hn::ConvertTo(kF, hn::Add(LoadInts(products + c), hn::Set(kI, start))), scale);
    if (has_least) product = hn::Add(product, hn::Mul(hn::LoadU(kF, x_sums + c), least));
    const VF before = first ? hn::Zero(kF) : hn::LoadU(kF, sums + c);
    hn::StoreU(hn::Add(before, hn::Mul(product, hn::LoadU(kF, x_scales + c))), kF, sums + c);
  }
}

// x_sums[column] = the sum of a group's codes, minus their zero point.
FOVEA_INLINE void SumGroupOfTokens(const I8TokenTile& t, int32_t zero, size_t d, size_t n, float* x_sums) {
  int8_t ones[kScaleGroup];
  for (int8_t& one : ones) one = 1;
  MultiplyRowsOfTile(t, ones, kScaleGroup, 1, d, n, false, x_sums);
  const VI start = hn::Set(kI, -zero * int32_t(n));
  for (size_t c = 0; c < t.columns; c += kLanes) {
    hn::StoreU(hn::ConvertTo(kF, hn::Add(LoadInts(x_sums + c), start)), kF, x_sums + c);
  }
}

// Adds the groups of `count` rows: of the outputs from `row` on, for the n inputs from d on.
FOVEA_INLINE void AddGroups(const I8TokenTile& t, const I8Rows& w, uint32_t row, uint32_t count, size_t d, size_t n) {
  const int32_t zero = w.x_zero + (dot::kUnsignedQueries ? 128 : 0);
  float* const products = t.sums + size_t(kGroupedOutputs) * t.columns;
  const float* const x_sums = products + size_t(kLinearGrain) * t.columns;
  const float* const x_scales = GroupScalesOf(t, d / kScaleGroup);
  const GroupsAt groups = GroupsAt::Of(w.weights, t.in_dim, row, d);
  int8_t unpacked[kLinearGrain][kScaleGroup];
  const int8_t* codes = unpacked[0];
  ptrdiff_t stride = kScaleGroup;
  if (groups.dtype == FOVEA_Q8_0) {
    codes = reinterpret_cast<const int8_t*>(groups.Codes(0));
    stride = groups.stride;
  } else {
    for (uint32_t k = 0; k < count; ++k) PutCodes(groups, k, unpacked[k]);
  }
  MultiplyRowsOfTile(t, codes, stride, count, d, n, false, products);
  float* sums = t.sums + size_t(row) * t.columns;
  for (uint32_t k = 0; k < count; ++k, sums += t.columns) {
    const int32_t start = zero == 0 ? 0 : -zero * dot::SumOfRow(codes + ptrdiff_t(k) * stride, n);
    AddGroupOfRow(t, groups, k, products + size_t(k) * t.columns, start, x_sums, x_scales, d == 0, sums);
  }
}

constexpr auto I8BeginGroups = I8Begin;

FOVEA_KERNEL void I8MultiplyGroups(const I8TokenTile& t, const I8Rows& w) {
  const int32_t zero = w.x_zero + (dot::kUnsignedQueries ? 128 : 0);
  float* const x_sums = t.sums + size_t(kGroupedOutputs + kLinearGrain) * t.columns;
  const size_t step = ::fovea::scale_step(w.weights.dtype);
  for (size_t d = 0; d < t.in_dim; d += step) {
    const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
    if (HasLeast(w.weights.dtype)) SumGroupOfTokens(t, zero, d, n, x_sums);
    for (uint32_t row = 0; row < w.outputs; row += kLinearGrain) {
      AddGroups(t, w, row, w.outputs - row < kLinearGrain ? w.outputs - row : kLinearGrain, d, n);
    }
  }
  for (size_t column = 0; column < t.live; column += kLanes) EndColumns<true>(t, w, column);
}
