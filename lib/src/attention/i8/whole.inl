// SPDX-License-Identifier: Apache-2.0
//
// No shortcut for whole key tiles: scores become weights and codes one vector of rows after the other.
template <int kVectors>
FOVEA_INLINE bool WeighBlock(const QueryTile&, const KeyTile&, size_t, bool) {
  return false;
}
