// SPDX-License-Identifier: Apache-2.0
//
// Products of groups. The products of one group with some rows are stored as integers before they become floats, which
// the group's scale multiplies. The code is small, and fast enough where a vector has few lanes, or registers have no
// room for a register block.
#ifndef FOVEA_SRC_LINEAR_I8_GROUPS_ROWS_INL_
#define FOVEA_SRC_LINEAR_I8_GROUPS_ROWS_INL_

#include "layers/linear/i8/codes.inl"
#include "layers/linear/i8/linear.inl"
#include "layers/linear/i8/reader.inl"

// The groups of some rows at the same place in each row, whose format is known only at run time: one text for all.
struct GroupsAt {
  fovea_dtype dtype;
  const uint8_t* data;  // the first row's bytes of the group: codes, after the scale if the format has it there
  ptrdiff_t stride;
  const uint16_t* scales;  // of I4
  size_t scale_stride;
  size_t place;  // of the group's first element in its super-block; else 0

  // The groups that begin with input d.
  FOVEA_INLINE GroupsAt Of(const fovea_linear_weights& w, size_t in_dim, size_t row, size_t d) {
    const bool super = IsInSuper(w.dtype);
    const size_t bytes = ::fovea::number_of<&::fovea::Format::group_bytes, kI8GroupedFormats>(w.dtype);
    const size_t groups = ::fovea::groups_of(in_dim), group = super ? d / kSuperBlock : d / kScaleGroup;
    const uint8_t* const data = static_cast<const uint8_t*>(w.data) + ptrdiff_t(row) * w.row_stride + group * bytes;
    const ptrdiff_t at = ptrdiff_t((row * groups + group) * sizeof(uint16_t));
    return {w.dtype,      data,
            w.row_stride, ::fovea::advanced(static_cast<const uint16_t*>(w.scales), at),
            groups,       super ? d % kSuperBlock : 0};
  }
  FOVEA_MEMBER const uint8_t* Block(size_t row) const { return data + ptrdiff_t(row) * stride; }
  FOVEA_MEMBER const uint8_t* Codes(size_t row) const {
    return Block(row) + (dtype == FOVEA_I4 ? 0 : dtype == FOVEA_Q4_1 ? 4 : 2);
  }
  FOVEA_MEMBER uint16_t ScaleBits(size_t row) const {
    return dtype == FOVEA_I4 ? scales[row * scale_stride] : HalfAt(Block(row));
  }
  FOVEA_MEMBER uint16_t LeastBits(size_t row) const { return HalfAt(Block(row) + 2); }
};

struct GroupScale {
  VF scale, least;
};
constexpr ::fovea::FormatSet kI8OwnScales = ::fovea::kI8SuperFormats & (::fovea::kSignedFormats | kI8LeastHalves);
// A set, or where it is empty this format, of which nothing is compiled then.
constexpr ::fovea::FormatSet NotEmpty(::fovea::FormatSet set, fovea_dtype dtype) {
  return set != 0 ? set : ::fovea::FormatSet{1} << dtype;
}
constexpr ::fovea::FormatSet kI8Powers = ::fovea::kI8GroupedFormats & ::fovea::FormatSet{1} << FOVEA_MXFP4;
// Of q4_k and q5_k.
FOVEA_INLINE GroupScale ScaleInSuper(const uint8_t* block, size_t place) {
  uint8_t six[kSuperScales];
  PutSixBits(block + 4, six);
  const float scale = six[place / kScaleGroup], least = six[place / kScaleGroup + 8];
  return {hn::Mul(hn::SetF16(kF, HalfAt(block)), hn::Set(kF, scale)),
          hn::Mul(hn::SetF16(kF, HalfAt(block + 2)), hn::Set(kF, -least))};
}
// Whether a group of inputs has two scales.
constexpr bool HasHalves(fovea_dtype dtype) {
  return kI8SuperFormats != 0 && ::fovea::scale_step(dtype) < kScaleGroup && !::fovea::is_one_of<kI8LeastHalves>(dtype);
}
template <fovea_dtype kType>
FOVEA_INLINE GroupScale OwnScale(const FormatRow<kType>& row, size_t place) {
  const ScaleOf<kType> scale = ScaleOf<kType>::At(row, place);
  return {scale.scale, scale.least};
}
FOVEA_INLINE GroupScale ScaleOfRow(const GroupsAt& groups, uint32_t row) {
  if (::fovea::is_one_of<kI8OwnScales>(groups.dtype)) {
    FOVEA_WITH_FORMAT(NotEmpty(kI8OwnScales, FOVEA_TQ2_0), groups.dtype,
                      OwnScale(FormatRow<kType>::Of(groups.Block(row), nullptr), groups.place));
  }
  if (IsInSuper(groups.dtype)) return ScaleInSuper(groups.Block(row), groups.place);
  if (::fovea::is_one_of<kI8Powers>(groups.dtype)) return {PowersOf(hn::Set(kI, *groups.Block(row))), hn::Zero(kF)};
  const bool has_least = HasLeast(groups.dtype);
  return {hn::SetF16(kF, groups.ScaleBits(row)), has_least ? hn::SetF16(kF, groups.LeastBits(row)) : hn::Zero(kF)};
}

constexpr ::fovea::FormatSet kI8TwoScales = ::fovea::kI8SuperFormats & ::fovea::kHalfFormats & ~kI8LeastHalves;
constexpr ::fovea::FormatSet kI8Bytes =
    (::fovea::kI8SuperFormats & ~kI8TwoScales) | (::fovea::kByteFormats & ::fovea::kI8GroupedFormats);
constexpr ::fovea::FormatSet kI8Halves = NotEmpty(kI8TwoScales, FOVEA_Q6_K);
// The codes of a row's group, unless they are bytes.
FOVEA_INLINE void PutCodes(const GroupsAt& groups, uint32_t row, int8_t* to) {
  if (IsInSuper(groups.dtype) || ::fovea::is_one_of<::fovea::kByteFormats& ::fovea::kI8GroupedFormats>(groups.dtype)) {
    FOVEA_WITH_FORMAT(NotEmpty(kI8Bytes, FOVEA_Q4_K), groups.dtype,
                      PutGroupCodes<kType, 0, kScaleStep<kType>>(groups.Block(row), groups.place, to));
  }
  PutNibbles(groups.Codes(row), CodeBias(groups.dtype), to);
}

// The integers of some columns, to which `start` is added.
FOVEA_INLINE VF ProductsAt(const float* products, int32_t start) {
  return hn::ConvertTo(kF, hn::Add(LoadInts(products), hn::Set(kI, start)));
}
// sums[column] += the product of one row's group, an integer to which `start` is added, times both scales.
FOVEA_INLINE void AddGroupOfRow(const I8TokenTile& t, const GroupsAt& groups, uint32_t row, const float* products,
                                int32_t start, const float* x_sums, const float* x_scales, bool first, float* sums) {
  const bool has_least = HasLeast(groups.dtype);
  const GroupScale s = ScaleOfRow(groups, row);
  const VF scale = s.scale, least = s.least;
  for (size_t c = 0; c < t.columns; c += kLanes) {
    VF product = hn::Mul(ProductsAt(products + c, start), scale);
    if (has_least) product = hn::Add(product, hn::Mul(hn::LoadU(kF, x_sums + c), least));
    const VF before = first ? hn::Zero(kF) : hn::LoadU(kF, sums + c);
    hn::StoreU(hn::Add(before, hn::Mul(product, hn::LoadU(kF, x_scales + c))), kF, sums + c);
  }
}
// Of a group with two scales: these, which are integers, and what multiplies both; and its codes as bytes.
struct ScalesOfHalves {
  VF first, second, common;
  template <fovea_dtype kType>
  FOVEA_INLINE ScalesOfHalves Of(const uint8_t* block, size_t place) {
    using Row = FormatRow<kType>;
    return {hn::Set(kF, Row::IntegerScale(block, place)),
            hn::Set(kF, Row::IntegerScale(block, place + kScaleGroup / 2)), Row::CommonScale(block)};
  }
  FOVEA_INLINE ScalesOfHalves At(fovea_dtype dtype, const uint8_t* block, size_t place) {
    FOVEA_WITH_FORMAT(kI8Halves, dtype, Of<kType>(block, place));
  }
};
FOVEA_INLINE void PutHalves(fovea_dtype dtype, const uint8_t* block, size_t place, int8_t* to) {
  FOVEA_WITH_FORMAT(kI8Halves, dtype,
                    PutGroupCodes<kType, ::fovea::format_of(kType).code_bias, kScaleGroup>(block, place, to));
}
// The same of a group with two scales, which the integers of its halves are multiplied by.
FOVEA_INLINE void AddHalvesOfRow(const I8TokenTile& t, fovea_dtype dtype, const uint8_t* block, size_t place,
                                 const int32_t (&starts)[2], const float* products, const float* second,
                                 const float* x_scales, bool first, float* sums) {
  const ScalesOfHalves scales = ScalesOfHalves::At(dtype, block, place);
  for (size_t c = 0; c < t.columns; c += kLanes) {
    const VF of_first = hn::Mul(ProductsAt(products + c, starts[0]), scales.first);
    const VF sum = hn::Add(of_first, hn::Mul(ProductsAt(second + c, starts[1]), scales.second));
    const VF before = first ? hn::Zero(kF) : hn::LoadU(kF, sums + c);
    hn::StoreU(hn::Add(before, hn::Mul(hn::Mul(sum, scales.common), hn::LoadU(kF, x_scales + c))), kF, sums + c);
  }
}

template <class Dot>
struct GroupProducts {
  // sums[row][column] = the products of n inputs, from d on, with the codes of some rows.
  FOVEA_SECTION_OF(Dot)
  FOVEA_SHARED void MultiplyGroup(const I8TokenTile& t, const int8_t* codes, ptrdiff_t stride, uint32_t count, size_t d,
                                  size_t n, float* sums) {
    TileRows<Dot>::Multiply(t, codes, stride, count, d, n, false, sums);
  }

  // x_sums[column] = the sum of a group's codes, minus their zero point.
  FOVEA_INLINE void SumGroupOfTokens(const I8TokenTile& t, int32_t zero, size_t d, size_t n, float* x_sums) {
    int8_t ones[kScaleGroup];
    for (int8_t& one : ones) one = 1;
    MultiplyGroup(t, ones, kScaleGroup, 1, d, n, x_sums);
    const VI start = hn::Set(kI, -zero * int32_t(n));
    for (size_t c = 0; c < t.columns; c += kLanes) {
      hn::StoreU(hn::ConvertTo(kF, hn::Add(LoadInts(x_sums + c), start)), kF, x_sums + c);
    }
  }

  // Adds the groups of `count` rows: of the outputs from `row` on, for the n inputs from d on.
  FOVEA_SECTION_OF(Dot)
  FOVEA_SHARED void AddGroups(const I8TokenTile& t, const I8Rows& w, uint32_t row, uint32_t count, size_t d, size_t n) {
    const int32_t zero = w.x_zero_point + (Dot::kUnsignedQueries ? 128 : 0);
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
    MultiplyGroup(t, codes, stride, count, d, n, products);
    float* sums = t.sums + size_t(row) * t.columns;
    for (uint32_t k = 0; k < count; ++k, sums += t.columns) {
      const int32_t start = zero == 0 ? 0 : -zero * Dot::SumOfRow(codes + ptrdiff_t(k) * stride, n);
      AddGroupOfRow(t, groups, k, products + size_t(k) * t.columns, start, x_sums, x_scales, d == 0, sums);
    }
  }

  // The same where groups have two scales.
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void AddGroupsInHalves(const I8TokenTile& t, const I8Rows& w, uint32_t row, uint32_t count, size_t d,
                                      size_t n) {
    constexpr size_t kHalf = kScaleGroup / 2;
    const int32_t zero = w.x_zero_point + (Dot::kUnsignedQueries ? 128 : 0);
    const size_t step = size_t(kLinearGrain) * t.columns;
    float* products = t.sums + size_t(kGroupedOutputs) * t.columns;  // after them, those of second halves
    const fovea_dtype dtype = w.weights.dtype;
    const ptrdiff_t row_stride = w.weights.row_stride;
    const size_t bytes = ::fovea::number_of < &::fovea::Format::group_bytes, kI8Halves & kI8GroupedFormats > (dtype);
    const uint8_t* block =
        static_cast<const uint8_t*>(w.weights.data) + ptrdiff_t(row) * row_stride + d / kSuperBlock * bytes;
    int8_t codes[kLinearGrain][kScaleGroup];
    for (uint32_t k = 0; k < count; ++k) {
      PutHalves(dtype, block + ptrdiff_t(k) * row_stride, d % kSuperBlock, codes[k]);
    }
    const size_t inputs[2] = {n < kHalf ? n : kHalf, n < kHalf ? 0 : n - kHalf};
    for (size_t i = 0; i < 2; ++i) {
      float* const to = products + i * step;
      if (inputs[i] > 0) {
        MultiplyGroup(t, codes[0] + i * kHalf, kScaleGroup, count, d + i * kHalf, inputs[i], to);
      } else {
        __builtin_memset(to, 0, step * sizeof *to);
      }
    }
    float* sums = t.sums + size_t(row) * t.columns;
    for (uint32_t k = 0; k < count; ++k, block += row_stride, sums += t.columns, products += t.columns) {
      int32_t starts[2] = {0, 0};
      for (size_t i = 0; zero != 0 && i < 2; ++i) starts[i] = -zero * Dot::SumOfRow(codes[k] + i * kHalf, inputs[i]);
      AddHalvesOfRow(t, dtype, block, d % kSuperBlock, starts, products, products + step,
                     GroupScalesOf(t, d / kScaleGroup), d == 0, sums);
    }
  }

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Multiply(const I8TokenTile& t, const I8Rows& w) {
    const int32_t zero = w.x_zero_point + (Dot::kUnsignedQueries ? 128 : 0);
    float* const x_sums = t.sums + size_t(kGroupedOutputs + kLinearGrain) * t.columns;
    const size_t step = ::fovea::is_one_of<kI8LeastHalves>(w.weights.dtype) ? kScaleGroup / 2 : kScaleGroup;
    for (size_t d = 0; d < t.in_dim; d += step) {
      const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
      if (HasLeast(w.weights.dtype)) SumGroupOfTokens(t, zero, d, n, x_sums);
      for (uint32_t row = 0; row < w.outputs; row += kLinearGrain) {
        const uint32_t count = w.outputs - row < kLinearGrain ? w.outputs - row : kLinearGrain;
        if (HasHalves(w.weights.dtype)) {
          AddGroupsInHalves(t, w, row, count, d, n);
        } else {
          AddGroups(t, w, row, count, d, n);
        }
      }
    }
    TokenProducts<Dot>::template End<true>(t, w);
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_GROUPS_ROWS_INL_
