// SPDX-License-Identifier: Apache-2.0
//
// steps.inl for smlad. A tile of more than four tokens has blocks of four columns, for which the weights are brought
// once.
#ifndef FOVEA_SRC_LINEAR_I8_STEPS_SMLAD_INL_
#define FOVEA_SRC_LINEAR_I8_STEPS_SMLAD_INL_

#include "layers/linear/i8/steps.inl"

template <class Dot>
struct TileSteps<Dot, kDotSmlad> {
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  using Pair = typename Dot::Pair;
  using Sum = typename Dot::Sum;

  FOVEA_INLINE ColumnBlock BlockOf(const I8TokenTile& t, size_t column) {
    if (t.columns <= kI8BlockColumns) return {0, t.columns};
    return {column / kI8BlockColumns * kI8BlockColumns, kI8BlockColumns};
  }
  // From the sums of a block to those of the next.
  FOVEA_INLINE size_t StepOfSums(const I8TokenTile& t) {
    return ::fovea::kLinearOutputs / ::fovea::i8_blocks(Dot::kKind, t.columns) * kI8BlockColumns;
  }

  FOVEA_INLINE bool PutColumnOfBytes(const int8_t* row, size_t dim, Code* x, size_t columns) {
    Pair* to = reinterpret_cast<Pair*>(x);
    const auto put = [&](uint32_t four) {
      to[0] = Dot::EvenBytes(four);
      to[columns] = Dot::OddBytes(four);
      to += 2 * columns;
    };
    const int8_t* const end = row + dim / 4 * 4;
    FOVEA_UNROLL_LONG_LOOP(2)
    for (; row != end; row += 4) put(Dot::FourBytes(row));
    if (dim % 4 != 0) put(Dot::FourBytes(row, dim % 4));
    return true;
  }

  // The products of a whole block with rows that were brought. A separate function: its sums need all registers.
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void MultiplyFourTokens(const Pair* x, const Pair* rows, size_t pairs, Sum* sums, Sum* end) {
    Dot::template MultiplyFourColumns<8, AtOnce(8)>(x, rows, pairs, 0, sums, end);
  }
  // Writes the sums of one row more than an odd count: there is room.
  FOVEA_INLINE bool MultiplyWholeTile(const Code* x, size_t columns, const RowCode* rows, ptrdiff_t stride,
                                      uint32_t count, float* sums) {
    if (columns != kI8BlockColumns) return false;
    Sum* const to = reinterpret_cast<Sum*>(sums);
    MultiplyFourTokens(reinterpret_cast<const Pair*>(x), reinterpret_cast<const Pair*>(rows),
                       size_t(stride) / Dot::kGroup, to, to + ::fovea::round_up(count, 2) * kI8BlockColumns);
    return true;
  }

  // Whether ReLU limits outputs to codes that saturation does not: where `zero` is the least code, it does.
  FOVEA_INLINE bool IsPositive(const I8Rows& w) {
    return ::fovea::kLimitsOutputs && w.out.limits->least == 0.0f && w.out.zero != INT8_MIN;
  }

  // EndBlock for four columns. Those past the last token have its codes, and store them in the same place.
  template <bool kPositive>
  FOVEA_CALLED_TEMPLATE void EndFourColumns(const I8TokenTile& t, const I8Rows& w, size_t first,
                                            const float* of_block) {
    const int32_t* sums = reinterpret_cast<const int32_t*>(of_block);
    const size_t last = t.live - first - 1;
    ptrdiff_t place[4];
    VF scales[4];
    FOVEA_EACH(i, size_t{4}) {
      place[i] = ptrdiff_t(i < last ? i : last) * w.y_stride;
      scales[i] = hn::LoadU(kF, t.scales + first + i);
    }
    const VF out_scale = hn::Set(kF, w.out.scale);
    const int32_t zero = w.out.zero, *start = t.starts;
    const float no_bias = 0.0f, *scale = RowScalesOf(w), *bias = w.weights.bias ? w.weights.bias : &no_bias;
    const size_t next_bias = w.weights.bias ? 1 : 0;
    int8_t* y = static_cast<int8_t*>(w.y) + ptrdiff_t(first) * w.y_stride;
    for (const int8_t* const end = y + w.outputs; y != end; ++y, bias += next_bias) {
      Dot::template StoreFourCodes<kPositive>(sums, *start++, scales, hn::Set(kF, ::fovea::finite_or_nan(*scale++)),
                                              hn::Set(kF, *bias), out_scale, zero, place, y);
    }
  }
  // Output by output, so that what belongs to an output is read once for all tokens. The codes are those of EndColumns:
  // a bias of 0 instead of none changes no code. Not if outputs are floats, activated, or have another limit than
  // ReLU's.
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void EndBlock(const I8TokenTile& t, const I8Rows& w, size_t first, size_t columns, const float* sums) {
    const VF out_scale = hn::Set(kF, w.out.scale);
    const int32_t zero = w.out.zero;
    const int8_t least = IsPositive(w) ? int8_t(zero) : int8_t(INT8_MIN);
    const ptrdiff_t stride = w.y_stride;
    const size_t live = t.live - first < columns ? t.live - first : columns;
    const float* const scales = t.scales + first;
    int8_t* outputs = static_cast<int8_t*>(w.y) + ptrdiff_t(first) * stride;
    for (uint32_t e = 0; e < w.outputs; ++e, sums += columns) {
      const VI start = hn::Set(kI, t.starts[e]);
      const VF scale = hn::Set(kF, ::fovea::finite_or_nan(RowScalesOf(w)[e]));
      const VF bias = hn::Set(kF, w.weights.bias ? w.weights.bias[e] : 0.0f);
      int8_t* y = outputs + e;
      for (uint32_t column = 0; column < live; ++column, y += stride) {
        const VF sum = hn::ConvertTo(kF, hn::Add(LoadInts(sums + column), start));
        const VF scaled = hn::Mul(hn::Mul(sum, hn::LoadU(kF, scales + column)), scale);
        const int8_t code = Dot::NearestCode(hn::Div(hn::Add(scaled, bias), out_scale), zero);
        *y = code < least ? least : code;
      }
    }
  }
  FOVEA_INLINE bool EndAsCodes(const I8TokenTile& t, const I8Rows& w) {
    if (w.out.dtype == FOVEA_F32 || ActivatesOutputs(w)) return false;
    if (::fovea::kLimitsOutputs && w.out.limits->most != float(127 - w.out.zero)) return false;
    const float* sums = t.sums;
    for (size_t first = 0; first < t.live; first += kI8BlockColumns, sums += StepOfSums(t)) {
      const size_t columns = BlockOf(t, first).columns;
      if (!kSmallText && columns == kI8BlockColumns) {
        IsPositive(w) ? EndFourColumns<true>(t, w, first, sums) : EndFourColumns<false>(t, w, first, sums);
      } else {
        EndBlock(t, w, first, columns, sums);
      }
    }
    return true;
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_STEPS_SMLAD_INL_
