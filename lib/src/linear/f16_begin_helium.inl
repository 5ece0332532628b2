// SPDX-License-Identifier: Apache-2.0
//
// How the tokens of a tile become halves, for Helium: one load gathers an element of four tokens, or of eight.

FOVEA_INLINE half::V GatherTokens(const float* x, half::Places first, half::Places second) {
  return half::Both(half::GatherFloats(x, first), half::GatherFloats(x, second));
}
FOVEA_INLINE half::V GatherTokens(const Element* x, half::Places first, half::Places second) {
  return half::GatherFar(x, first, second);
}

// Transposes the tokens of a tile into it, and rounds them to halves. Columns past the last token repeat it.
template <fovea_dtype kType>
FOVEA_TEMPLATE void BeginOf(const TokenTile& t, const void* x, ptrdiff_t stride) {
  for (uint32_t column = 0; column < t.columns; column += kProductLanes) {
    const half::Places first = half::PlacesOf(column, t.live - 1, stride);
    const half::Places second = half::PlacesOf(column + uint32_t(kLanes), t.live - 1, stride);
    auto* element = static_cast<const typename FormatRow<kType>::Unit*>(x);
    Element* to = TokenElements(t) + column;
    FOVEA_UNROLL_LONG_LOOP(4)
    for (size_t n = t.in_dim; n > 0; --n, ++element, to += t.columns) {
      half::StoreRow(GatherTokens(element, first, second), to);
    }
  }
}
