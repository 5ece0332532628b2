// SPDX-License-Identifier: Apache-2.0
//
// Many tokens with integer products: a lane is a token.
#ifndef FOVEA_SRC_LINEAR_I8_LINEAR_INL_
#define FOVEA_SRC_LINEAR_I8_LINEAR_INL_

#include "layers/linear/i8/rows.inl"

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

#endif  // FOVEA_SRC_LINEAR_I8_LINEAR_INL_
