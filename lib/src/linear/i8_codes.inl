// SPDX-License-Identifier: Apache-2.0
//
// Turns tokens into columns of codes.

FOVEA_KERNEL void I8Begin(const I8TokenTile& t, const I8Tokens& tokens) {
  const bool in_groups = HasGroupScales(t);
  for (size_t column = 0; column < t.columns; ++column) {
    const size_t token = column < t.live ? column : t.live - 1;
    dot::Code* const x = CodesOf(t, column);
    const size_t columns = BlockOf(t, column).columns;
    if (tokens.in.dtype == FOVEA_I8) {
      t.scales[column] = GivenScale(tokens, token);
      if (in_groups) t.group_scales[column] = 1.0f;
      const char* const row = RowOf(tokens, token);
      if (PutColumnOfBytes(reinterpret_cast<const int8_t*>(row), t.in_dim, x, columns)) continue;
      DotCodes<dot>::PutColumn(CodeRow::Of(row), CodesAsTheyAre{}, t.in_dim, x, columns);
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
      DotCodes<dot>::PutColumn(part, fit, n, x + d * columns, columns);
    }
  }
}
