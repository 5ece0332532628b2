// SPDX-License-Identifier: Apache-2.0
//
// i8_codes.inl for AArch64: four tokens together.

FOVEA_KERNEL void I8Begin(const I8TokenTile& t, const I8Tokens& tokens) {
  const bool in_groups = HasGroupScales(t);
  const VF one = hn::Set(kF, 1.0f);
  for (size_t column = 0; column < t.columns; column += kLanes) {
    dot::Code* const x = static_cast<dot::Code*>(t.x) + column * kGroup;
    const char* at[4];
    float given[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    for (size_t i = 0; i < 4; ++i) {
      const size_t token = column + i < t.live ? column + i : t.live - 1;
      at[i] = RowOf(tokens, token);
      if (tokens.in.dtype == FOVEA_I8) given[i] = GivenScale(tokens, token);
    }
    hn::StoreU(hn::LoadU(kF, given), kF, t.scales + column);
    if (tokens.in.dtype == FOVEA_I8) {
      FormatRow<FOVEA_I8> rows[4];
      for (size_t i = 0; i < 4; ++i) rows[i] = FormatRow<FOVEA_I8>::Of(at[i], nullptr);
      if (in_groups) hn::StoreU(one, kF, t.group_scales + column);
      NeonCodes<dot>::PutColumns(rows, t.in_dim, one, one, x, t.columns * kGroup);
      continue;
    }
    const size_t step = in_groups ? kScaleGroup : size_t(t.in_dim);
    float* scales = (in_groups ? t.group_scales : t.scales) + column;
    for (size_t d = 0; d < t.in_dim; d += step, scales += t.columns) {
      const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
      FormatRow<FOVEA_F32> rows[4];
      const VF largest = NeonCodes<dot>::LargestOfRows(at, n, rows);
      const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
      hn::StoreU(fit.scale, kF, scales);
      NeonCodes<dot>::PutColumns(rows, n, one, fit.inverse, x + d * t.columns, t.columns * kGroup);
      for (const char*& row : at) row += step * sizeof(float);
    }
  }
}
