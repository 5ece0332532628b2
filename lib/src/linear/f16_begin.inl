// SPDX-License-Identifier: Apache-2.0
//
// How the tokens of a tile become halves: by vectors along a token, which are transposed.

// Transposes the tokens of a tile into it, and rounds them to halves.
template <fovea_dtype kType>
FOVEA_TEMPLATE void BeginOf(const TokenTile& t, const void* x, ptrdiff_t stride) {
  for (size_t column = 0; column < t.columns; column += kLanes) {
    FormatRow<kType> rows[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t token = column + i < t.live ? column + i : t.live - 1;
      rows[i] = FormatRow<kType>::Of(::fovea::advanced(x, stride_bytes(stride, unit_bytes(kType), ptrdiff_t(token))),
                                     nullptr);
    }
    Element* x_t = TokenElements(t) + column;
    for (size_t d = 0; d < t.in_dim; d += kLanes) {
      const size_t n = t.in_dim - d < kLanes ? t.in_dim - d : kLanes;
      VF lanes[kLanes];
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = n == kLanes ? LoadAs(rows[i], d) : LoadAsN(rows[i], d, n);
      hn::Transpose(lanes);
      FOVEA_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i, x_t += t.columns) {
        if (i < n) half::Store(lanes[i], x_t);
      }
    }
  }
}
