// SPDX-License-Identifier: Apache-2.0
//
// Turns tokens into columns of codes.
#ifndef FOVEA_SRC_LINEAR_I8_CODES_INL_
#define FOVEA_SRC_LINEAR_I8_CODES_INL_

#include "ground/math/dot_codes.inl"
#include "layers/linear/i8/steps.inl"

template <class Dot, DotKind kKind = Dot::kKind>
struct TokenCodes {
  using Code = typename Dot::Code;

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Begin(const I8TokenTile& t, const I8Tokens& tokens) {
    using Codes = DotCodes<Dot>;
    const bool in_groups = HasGroupScales(t);
    for (size_t column = 0; column < t.columns; ++column) {
      const size_t token = column < t.live ? column : t.live - 1;
      Code* const x = CodesOf<Dot>(t, column);
      const size_t columns = TileSteps<Dot>::BlockOf(t, column).columns;
      if (tokens.in.dtype == FOVEA_I8) {
        t.scales[column] = GivenScale(tokens, token);
        if (in_groups) t.group_scales[column] = 1.0f;
        const char* const row = RowOf(tokens, token);
        const auto* const bytes = reinterpret_cast<const int8_t*>(row);
        if (TileSteps<Dot>::PutColumnOfBytes(bytes, t.in_dim, x, columns)) continue;
        Codes::PutColumn(CodeRow::Of(row), CodesAsTheyAre{}, t.in_dim, x, columns);
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
        Codes::PutColumn(part, fit, n, x + d * columns, columns);
      }
    }
  }
};

#include "layers/linear/i8/codes_neon64.inl"

#endif  // FOVEA_SRC_LINEAR_I8_CODES_INL_
