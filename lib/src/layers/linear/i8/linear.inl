// SPDX-License-Identifier: Apache-2.0
//
// Many tokens with integer products: a lane is a token. Columns are multiplied by rows of weights, by register blocks.
#ifndef FOVEA_SRC_LINEAR_I8_LINEAR_INL_
#define FOVEA_SRC_LINEAR_I8_LINEAR_INL_

#include "ground/math/dot_block.inl"
#include "layers/linear/i8/steps.inl"

// The codes of columns, from an input on.
template <class Dot>
struct BlockCodes {
  const typename Dot::Code* x;
  size_t columns;
};

template <class Dot, int kVectors>
FOVEA_TEMPLATE void MultiplyVectors(const BlockCodes<Dot>& b, const typename Dot::RowCode* rows, ptrdiff_t stride,
                                    uint32_t count, size_t inputs, bool goes_on, float* sums, size_t column) {
  using Block = DotBlock<Dot>;
  using RowCode = typename Dot::RowCode;
  constexpr uint32_t kRows = Block::template kRows<kVectors>;
  static_assert(kLinearGrain % kRows == 0, "blocks must tile the tile");
  const size_t columns = b.columns;
  const typename Dot::Code* const x = b.x + column * Dot::kGroup;
  sums += column;
  for (uint32_t left = count;; left -= kRows) {
    const RowCode* at[kRows];
    const RowCode* next = rows;
    FOVEA_EACH(k, kRows) {  // rows past the last repeat it
      at[k] = next;
      next += k + 1 < left ? stride : 0;
    }
    typename Block::template Sums<kRows, kVectors> block;
    FOVEA_EACH(k, kRows) Block::Begin(k, 0, block);
    Block::template MultiplyRows<kVectors>(x, columns, at, inputs, block);
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kRows; ++k, sums += columns) {
      FOVEA_EACH(v, kVectors) {
        VI sum = Block::IntsOf(block, k, v);
        if (goes_on) sum = hn::Add(sum, LoadInts(sums + v * kLanes));
        StoreInts(sum, sums + v * kLanes);
      }
    }
    if (left <= kRows) return;
    rows += ptrdiff_t(kRows) * stride;
  }
}

template <class Dot, DotKind kKind = Dot::kKind>
struct TileRows {
  using Block = DotBlock<Dot>;
  using RowCode = typename Dot::RowCode;
  static constexpr uint32_t kRowsAtOnce = Block::kRowsInPlace ? kLinearOutputs : kLinearGrain;

  // sums[row][column] = the sum of products of `inputs` inputs, from `input` on, with the codes of a row; += if
  // goes_on. `sums` are those of the first block; the others have theirs as far from it as StepOfSums says.
  FOVEA_INLINE void Multiply(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                             size_t input, size_t inputs, bool goes_on, float* sums) {
    using Steps = TileSteps<Dot>;
    ptrdiff_t row_stride = stride;
    const RowCode* const rows = Block::ReachRows(weights, count, inputs, static_cast<RowCode*>(t.rows), &row_stride);
    for (size_t column = 0; column < t.columns;
         column += Steps::BlockOf(t, column).columns, sums += Steps::StepOfSums(t)) {
      const size_t columns = Steps::BlockOf(t, column).columns;
      const BlockCodes<Dot> block = {CodesOf<Dot>(t, column) + input * columns, columns};
      if (!goes_on && Steps::MultiplyWholeTile(block.x, columns, rows, row_stride, count, sums)) continue;
      ForColumns<Dot::kBlockVectors, true>(columns, [&](auto vectors, size_t first) __attribute__((always_inline)) {
        MultiplyVectors<Dot, vectors.kCount>(block, rows, row_stride, count, inputs, goes_on, sums, first);
      });
    }
  }
};

template <class Dot>
struct TileRows<Dot, kDotHelium> {
  static constexpr uint32_t kRowsAtOnce = kLinearOutputs;

  FOVEA_INLINE void Multiply(const I8TokenTile& t, const int8_t* weights, ptrdiff_t stride, uint32_t count,
                             size_t input, size_t inputs, bool goes_on, float* sums) {
    const auto* const x = static_cast<const typename Dot::Code*>(t.x) + input * t.columns;
    FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows(x, t.columns, weights, stride, count, inputs, goes_on,
                                                        reinterpret_cast<int32_t*>(sums), t.columns);
  }
};

template <class Dot>
struct TokenProducts {
  using Steps = TileSteps<Dot>;
  using Rows = TileRows<Dot>;
  static constexpr size_t kInputsAtOnce = ::fovea::i8_inputs(kDotTraits[Dot::kKind]);

  FOVEA_INLINE void BeginOutputs(const I8TokenTile& t, const I8Rows& w) {
    const int32_t zero = w.x_zero_point + (Dot::kUnsignedQueries ? 128 : 0);
    const int8_t* row = static_cast<const int8_t*>(w.weights.data);
    for (uint32_t e = 0; e < w.outputs; ++e, row += w.weights.row_stride) {
      t.starts[e] = StartOf(w, e, zero, zero == 0 ? 0 : Dot::SumOfRow(row, t.in_dim));
    }
  }

  // Turns the sums of kLanes tokens, from `column` on, into outputs. With kGroups the sums are floats, already
  // multiplied by the scales of weights.
  template <bool kGroups>
  FOVEA_INLINE void EndColumns(const I8TokenTile& t, const I8Rows& w, size_t column) {
    const size_t live = t.live - column < kLanes ? t.live - column : kLanes;
    const VF token_scale = hn::LoadU(kF, t.scales + column);
    const ColumnBlock block = Steps::BlockOf(t, column);
    const float* sums = t.sums + block.first / block.columns * Steps::StepOfSums(t) + (column - block.first);
    for (size_t e = 0; e < w.outputs; e += kLanes) {
      const size_t n = w.outputs - e < kLanes ? w.outputs - e : kLanes;
      VF lanes[kLanes];
      FOVEA_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i, sums += block.columns) {
        lanes[i] = hn::Zero(kF);
        if (i >= n) continue;
        if constexpr (kGroups) {
          lanes[i] = hn::Mul(hn::LoadU(kF, sums), token_scale);
        } else {
          const VF sum = hn::ConvertTo(kF, hn::Add(LoadInts(sums), hn::Set(kI, t.starts[e + i])));
          lanes[i] = hn::Mul(hn::Mul(sum, token_scale), hn::Set(kF, ::fovea::finite_or_nan(RowScalesOf(w)[e + i])));
        }
        if (w.weights.bias) lanes[i] = hn::Add(lanes[i], hn::Set(kF, w.weights.bias[e + i]));
      }
      hn::Transpose(lanes);
      if (kActivatedAtOnce > 1 && ActivatesOutputs(w)) {
        for (size_t i = 0; i < kLanes; i += kActivatedAtOnce) ActivateOutputs(w.out.activation, lanes + i);
      }
      FOVEA_EACH(i, kLanes) {
        if (i >= live) continue;
        if constexpr (kActivatedAtOnce > 1) {
          StoreActivated(w, lanes[i], column + i, e, n);
        } else {
          StoreOutputs(w, lanes[i], column + i, e, n);
        }
      }
    }
  }

  template <bool kGroups>
  FOVEA_INLINE void End(const I8TokenTile& t, const I8Rows& w) {
    for (size_t column = 0; column < t.live; column += kLanes) EndColumns<kGroups>(t, w, column);
  }

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Multiply(const I8TokenTile& t, const I8Rows& w) {
    const int8_t* const weights = static_cast<const int8_t*>(w.weights.data);
    const ptrdiff_t stride = w.weights.row_stride;
    BeginOutputs(t, w);
    for (size_t input = 0; input < t.in_dim; input += kInputsAtOnce) {
      const size_t inputs = t.in_dim - input < kInputsAtOnce ? t.in_dim - input : kInputsAtOnce;
      for (uint32_t row = 0; row < w.outputs; row += Rows::kRowsAtOnce) {
        const uint32_t count = w.outputs - row < Rows::kRowsAtOnce ? w.outputs - row : Rows::kRowsAtOnce;
        Rows::Multiply(t, weights + ptrdiff_t(row) * stride + input, stride, count, input, inputs, input > 0,
                       t.sums + size_t(row) * Steps::BlockOf(t, 0).columns);
      }
    }
    if (Steps::EndAsCodes(t, w)) return;
    End<false>(t, w);
  }
};

// The scales of a group of inputs, one for each column.
FOVEA_INLINE const float* GroupScalesOf(const I8TokenTile& t, size_t group) {
  return t.group_scales + (t.scaled_groups > 1 ? group * t.columns : 0);
}

#endif  // FOVEA_SRC_LINEAR_I8_LINEAR_INL_
