// SPDX-License-Identifier: Apache-2.0
//
// Steps of many tokens that an instruction may do in a way of its own. Each returns whether it was done.

FOVEA_INLINE bool MultiplyWholeTile(const I8TokenTile&, const dot::RowCode*, ptrdiff_t, uint32_t, size_t, float*) {
  return false;
}
FOVEA_INLINE bool EndAsCodes(const I8TokenTile&, const I8Rows&) { return false; }
