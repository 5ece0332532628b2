// SPDX-License-Identifier: Apache-2.0
//
// codes.inl for AArch64: four tokens together.
#ifndef FOVEA_SRC_LINEAR_I8_CODES_NEON64_INL_
#define FOVEA_SRC_LINEAR_I8_CODES_NEON64_INL_

#include "ground/math/dot_codes_neon64.inl"
#include "layers/linear/i8/codes.inl"

template <class Dot>
struct FourTokenCodes {
  using Codes = NeonCodes<Dot>;

  FOVEA_SECTION_OF(Dot)
  FOVEA_KERNEL void Begin(const I8TokenTile& t, const I8Tokens& tokens) {
    const bool in_groups = HasGroupScales(t);
    const size_t column_step = t.columns * Dot::kGroup;
    const VF one = hn::Set(kF, 1.0f);
    for (size_t column = 0; column < t.columns; column += kLanes) {
      typename Dot::Code* const x = static_cast<typename Dot::Code*>(t.x) + column * Dot::kGroup;
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
        Codes::PutColumns(rows, t.in_dim, one, one, x, column_step);
        continue;
      }
      const size_t step = in_groups ? kScaleGroup : size_t(t.in_dim);
      float* scales = (in_groups ? t.group_scales : t.scales) + column;
      for (size_t d = 0; d < t.in_dim; d += step, scales += t.columns) {
        const size_t n = t.in_dim - d < step ? t.in_dim - d : step;
        FormatRow<FOVEA_F32> rows[4];
        const VF largest = Codes::LargestOfRows(at, n, rows);
        const ScaleI8 fit = ScaleI8::From(hn::Max(largest, hn::Set(kF, kLeastMaxI8)), hn::Mul(largest, hn::Zero(kF)));
        hn::StoreU(fit.scale, kF, scales);
        Codes::PutColumns(rows, n, one, fit.inverse, x + d * t.columns, column_step);
        for (const char*& row : at) row += step * sizeof(float);
      }
    }
  }
};
template <class Dot>
struct TokenCodes<Dot, kDotSdot> : FourTokenCodes<Dot> {};
template <class Dot>
struct TokenCodes<Dot, kDotSmmla> : FourTokenCodes<Dot> {};

#endif  // FOVEA_SRC_LINEAR_I8_CODES_NEON64_INL_
