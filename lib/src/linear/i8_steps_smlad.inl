// SPDX-License-Identifier: Apache-2.0
//
// i8_steps.inl for smlad.

// The products of a whole tile with rows that were brought. A separate function: its sums need all registers.
FOVEA_CALLED void MultiplyFourTokens(const dot::Pair* x, const dot::Pair* rows, size_t pairs, dot::Sum* sums,
                                     dot::Sum* end) {
  dot::MultiplyFourColumns<8, kPreferSize ? 1 : 8>(x, rows, pairs, 0, sums, end);
}
// Writes the sums of one row more than an odd count: there is room.
FOVEA_INLINE bool MultiplyWholeTile(const I8TokenTile& t, const dot::RowCode* rows, ptrdiff_t stride, uint32_t count,
                                    size_t input, float* sums) {
  if (t.columns != 4) return false;
  const dot::Code* const x = static_cast<const dot::Code*>(t.x) + input * 4;
  dot::Sum* const to = reinterpret_cast<dot::Sum*>(sums);
  MultiplyFourTokens(reinterpret_cast<const dot::Pair*>(x), reinterpret_cast<const dot::Pair*>(rows),
                     size_t(stride) / kGroup, to, to + ::fovea::round_up(count, 2) * 4);
  return true;
}

// Output by output, so that what belongs to an output is read once for all tokens. The codes are those of EndColumns: a
// bias of 0 instead of none changes no code. Not if outputs are floats, or activated.
FOVEA_INLINE bool EndAsCodes(const I8TokenTile& t, const I8Rows& w) {
  if (w.out.dtype == FOVEA_F32 || ActivatesOutputs(w)) return false;
  const VF out_scale = hn::Set(kF, w.out.scale);
  const int32_t zero = w.out.zero;
  const float* sums = t.sums;
  for (uint32_t e = 0; e < w.outputs; ++e, sums += t.columns) {
    const VI start = hn::Set(kI, t.starts[e]);
    const VF scale = hn::Set(kF, ::fovea::finite_or_nan(RowScales(w)[e]));
    const VF bias = hn::Set(kF, w.weights.bias ? w.weights.bias[e] : 0.0f);
    int8_t* y = static_cast<int8_t*>(w.y) + e;
    for (uint32_t column = 0; column < t.live; ++column, y += w.y_stride) {
      const VF sum = hn::ConvertTo(kF, hn::Add(LoadInts(sums + column), start));
      const VF scaled = hn::Mul(hn::Mul(sum, hn::LoadU(kF, t.scales + column)), scale);
      *y = dot::NearestCode(hn::Div(hn::Add(scaled, bias), out_scale), zero);
    }
  }
  return true;
}
