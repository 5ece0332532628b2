// SPDX-License-Identifier: Apache-2.0
//
// Tokens become columns of codes.
#include "math/dot_codes.inl"

FOVEA_KERNEL void I8Begin(const I8TokenTile& t, const I8Tokens& tokens) {
  for (size_t column = 0; column < t.columns; ++column) {
    const size_t token = column < t.live ? column : t.live - 1;
    dot::Code* const x = static_cast<dot::Code*>(t.x) + column * kGroup;
    if (tokens.in.dtype == FOVEA_I8) {
      const CodeRow row = CodeRow::Of(RowOf(tokens, token));
      t.scales[column] = GivenScale(tokens, token);
      PutColumn(row, CodesAsTheyAre{}, t.in_dim, x, t.columns);
    } else {
      const FloatRow row = {reinterpret_cast<const float*>(RowOf(tokens, token))};
      const ScaleI8 fit = ScaleI8::Of(row, t.in_dim);
      hn::StoreN(fit.scale, kF, t.scales + column, 1);
      PutColumn(row, fit, t.in_dim, x, t.columns);
    }
  }
}
