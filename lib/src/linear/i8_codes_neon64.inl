// SPDX-License-Identifier: Apache-2.0
//
// What i8_codes.inl does, for AArch64: four tokens together.
#include "math/dot_codes_neon64.inl"

FOVEA_KERNEL void I8Begin(const I8TokenTile& t, const I8Tokens& tokens) {
  const VF one = hn::Set(kF, 1.0f);
  for (size_t column = 0; column < t.columns; column += kLanes) {
    dot::Code* const x = static_cast<dot::Code*>(t.x) + column * kGroup;
    const char* at[4];
    float given[4] = {};
    for (size_t i = 0; i < 4; ++i) {
      const size_t token = column + i < t.live ? column + i : t.live - 1;
      at[i] = RowOf(tokens, token);
      if (tokens.in.dtype == FOVEA_I8) given[i] = GivenScale(tokens, token);
    }
    if (tokens.in.dtype == FOVEA_I8) {
      FormatRow<FOVEA_I8> rows[4];
      for (size_t i = 0; i < 4; ++i) rows[i] = FormatRow<FOVEA_I8>::Of(at[i], nullptr);
      hn::StoreU(hn::LoadU(kF, given), kF, t.scales + column);
      PutColumns(rows, t.in_dim, one, one, x, t.columns * kGroup);
    } else {
      FormatRow<FOVEA_F32> rows[4];
      const VF largest = LargestOfRows(at, t.in_dim, rows);
      const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
      hn::StoreU(fit.scale, kF, t.scales + column);
      PutColumns(rows, t.in_dim, one, fit.inverse, x, t.columns * kGroup);
    }
  }
}
