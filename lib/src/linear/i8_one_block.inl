// SPDX-License-Identifier: Apache-2.0
//
// Tiles of which all columns are one block, for i8_steps.inl and the files in its place.

// The columns that have their codes and sums together.
struct ColumnBlock {
  size_t first, columns;
};
FOVEA_INLINE ColumnBlock BlockOf(const I8TokenTile& t, size_t) { return {0, t.columns}; }
FOVEA_INLINE size_t StepOfSums(const I8TokenTile&) { return 0; }
FOVEA_INLINE bool MultiplyWholeTile(const void*, size_t, const dot::RowCode*, ptrdiff_t, uint32_t, float*) {
  return false;
}
