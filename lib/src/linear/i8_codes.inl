// SPDX-License-Identifier: Apache-2.0
//
// Turns tokens into columns of codes.
#include "math/dot_codes.inl"

FOVEA_KERNEL void I8Begin(const I8TokenTile& t, const I8Tokens& tokens) {
  const bool in_groups = HasGroupScales(t);
  for (size_t column = 0; column < t.columns; ++column) {
    const size_t token = column < t.live ? column : t.live - 1;
    dot::Code* const x = static_cast<dot::Code*>(t.x) + column * kGroup;
    if (tokens.in.dtype == FOVEA_I8) {
      const CodeRow row = CodeRow::Of(RowOf(tokens, token));
      t.scales[column] = GivenScale(tokens, token);
      if (in_groups) t.group_scales[column] = 1.0f;
      PutColumn(row, CodesAsTheyAre{}, t.in_dim, x, t.columns);
      continue;
    }
    const float* const row = reinterpret_cast<const float*>(RowOf(tokens, token));
    const size_t step = in_groups ? kScaleGroup : size_t(t.in_dim);
    float* scale = (in_groups ? t.group_scales : t.scales) + column;
    if (in_groups) t.scales[column] = 1.0f;
    for (size_t d = 0; d < t.in_dim; d += step, scale += t.columns) {
      const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
      const FloatRow part = {row + d};
      const ScaleI8 fit = ScaleI8::Of(part, n);
      hn::StoreN(fit.scale, kF, scale, 1);
      PutColumn(part, fit, n, x + d * t.columns, t.columns);
    }
  }
}
