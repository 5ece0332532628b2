// SPDX-License-Identifier: Apache-2.0
//
// Many tokens with integer products, where weights lie in groups: the sum of each group is an integer, which becomes a
// float, times the group's scale.

using ::fovea::kGroupedOutputs;
using ::fovea::kI8GroupedFormats;

// The groups of some rows at the same place, where they lie.
struct GroupsAt {
  fovea_dtype dtype;
  const uint8_t* data;  // what a row has of the group: its block, or its codes
  ptrdiff_t stride;
  const uint16_t* scales;  // of I4
  size_t scale_stride;

  FOVEA_INLINE GroupsAt Of(const fovea_linear_weights& w, size_t in_dim, size_t row, size_t group) {
    const size_t bytes = ::fovea::number_of<&::fovea::Format::group_bytes, kI8GroupedFormats>(w.dtype);
    const size_t groups = ::fovea::groups_of(in_dim);
    const uint8_t* const data = static_cast<const uint8_t*>(w.data) + ptrdiff_t(row) * w.row_stride + group * bytes;
    return {w.dtype, data, w.row_stride, static_cast<const uint16_t*>(w.scales) + row * groups + group, groups};
  }
  inline __attribute__((always_inline)) const uint8_t* Block(size_t row) const {
    return data + ptrdiff_t(row) * stride;
  }
  inline __attribute__((always_inline)) const uint8_t* Codes(size_t row) const {
    return Block(row) + (dtype == FOVEA_I4 ? 0 : dtype == FOVEA_Q4_1 ? 4 : 2);
  }
  inline __attribute__((always_inline)) VF Scale(size_t row) const {
    return hn::SetF16(kF, dtype == FOVEA_I4 ? scales[row * scale_stride] : HalfAt(Block(row)));
  }
  inline __attribute__((always_inline)) VF Least(size_t row) const { return hn::SetF16(kF, HalfAt(Block(row) + 2)); }
};

// The nibbles of a group as bytes, each 8 less where they stand for so much less: a word of bytes at a time.
FOVEA_INLINE void PutNibbles(const uint8_t* nibbles, bool less_8, int8_t* to) {
  constexpr size_t kOnes = SIZE_MAX / 255, kStep = sizeof(size_t);
  for (size_t i = 0; i < kScaleGroup / 2; i += kStep) {
    size_t bytes;
    __builtin_memcpy(&bytes, nibbles + i, kStep);
    size_t low = bytes & (kOnes * 15), high = (bytes >> 4) & (kOnes * 15);
    if (less_8) {  // the top bit of a byte keeps it from borrowing
      low = ((low | kOnes * 128) - kOnes * 8) ^ (kOnes * 128);
      high = ((high | kOnes * 128) - kOnes * 8) ^ (kOnes * 128);
    }
    __builtin_memcpy(to + i, &low, kStep);
    __builtin_memcpy(to + kScaleGroup / 2 + i, &high, kStep);
  }
}

// sums[column] += the product of one row's group, an integer to which `start` is added, times scale.
FOVEA_INLINE void AddGroupOfRow(const I8TokenTile& t, const float* products, int32_t start, VF scale, bool first,
                                float* sums) {
  for (size_t c = 0; c < t.columns; c += kLanes) {
    const VF product = hn::ConvertTo(kF, hn::Add(LoadInts(products + c), hn::Set(kI, start)));
    const VF before = first ? hn::Zero(kF) : hn::LoadU(kF, sums + c);
    hn::StoreU(hn::Add(before, hn::Mul(product, scale)), kF, sums + c);
  }
}

// The groups of `count` rows: of the outputs from `row` on, for the n inputs from d on.
FOVEA_INLINE void AddGroups(const I8TokenTile& t, const I8Rows& w, uint32_t row, uint32_t count, size_t d, size_t n) {
  const int32_t zero = w.x_zero + (dot::kUnsignedQueries ? 128 : 0);
  float* const products = t.sums + size_t(kGroupedOutputs) * t.columns;
  const float* const x_sums = products + size_t(kLinearGrain) * t.columns;
  const GroupsAt groups = GroupsAt::Of(w.weights, t.in_dim, row, d / kScaleGroup);
  int8_t unpacked[kLinearGrain][kScaleGroup];
  const int8_t* codes = unpacked[0];
  ptrdiff_t stride = kScaleGroup;
  if (groups.dtype == FOVEA_Q8_0) {
    codes = reinterpret_cast<const int8_t*>(groups.Codes(0));
    stride = groups.stride;
  } else {
    for (uint32_t k = 0; k < count; ++k) PutNibbles(groups.Codes(k), groups.dtype != FOVEA_Q4_1, unpacked[k]);
  }
  MultiplyRowsOfTile(t, codes, stride, count, d, n, false, products);
  float* sums = t.sums + size_t(row) * t.columns;
  for (uint32_t k = 0; k < count; ++k, sums += t.columns) {
    const int32_t start = zero == 0 ? 0 : -zero * dot::SumOfRow(codes + ptrdiff_t(k) * stride, n);
    AddGroupOfRow(t, products + size_t(k) * t.columns, start, groups.Scale(k), d == 0, sums);
    if (groups.dtype == FOVEA_Q4_1) AddGroupOfRow(t, x_sums, -zero * int32_t(n), groups.Least(k), false, sums);
  }
}

FOVEA_KERNEL void I8MultiplyGroups(const I8TokenTile& t, const I8Rows& w) {
  int8_t ones[kScaleGroup];
  for (int8_t& one : ones) one = 1;
  float* const x_sums = t.sums + size_t(kGroupedOutputs + kLinearGrain) * t.columns;
  for (size_t d = 0; d < t.in_dim; d += kScaleGroup) {
    const size_t n = t.in_dim - d < kScaleGroup ? t.in_dim - d : kScaleGroup;
    if (w.weights.dtype == FOVEA_Q4_1) MultiplyRowsOfTile(t, ones, kScaleGroup, 1, d, n, false, x_sums);
    for (uint32_t row = 0; row < w.outputs; row += kLinearGrain) {
      AddGroups(t, w, row, w.outputs - row < kLinearGrain ? w.outputs - row : kLinearGrain, d, n);
    }
  }
  for (size_t column = 0; column < t.live; column += kLanes) EndColumns<true>(t, w, column);
}
