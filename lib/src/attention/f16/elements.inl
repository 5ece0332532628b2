// SPDX-License-Identifier: Apache-2.0
//
// Where a tile has the halves that its products read.

// The weights of a key take the place of its scores, in columns that increase: so they overwrite no score that is
// needed.
constexpr size_t kWeightPitch = sizeof(float) / sizeof(Element);

FOVEA_INLINE Element* QueryElements(const QueryTile& t) { return reinterpret_cast<Element*>(t.q); }
FOVEA_INLINE Element* WeightElements(const QueryTile& t, uint32_t key, size_t column) {
  return reinterpret_cast<Element*>(t.s) + size_t(key) * t.columns * kWeightPitch + column;
}
FOVEA_INLINE const Element* RowOf(const KeyRows& rows, uint32_t key) {
  return static_cast<const Element*>(rows.data) + ptrdiff_t(key) * rows.stride;
}

// The columns of a tile of which kVectors vectors are worked on: a constant if these are more than one, for then they are
// all.
static_assert(kBlockVectors <= 2 || kBlockVectors == hn::kMaskedVectors,
              "a tile is worked on as a whole, or by single vectors");
template <int kVectors>
FOVEA_INLINE size_t ColumnsOf(const QueryTile& t) {
  return kVectors > 1 ? kVectors * kProductLanes : t.columns;
}
