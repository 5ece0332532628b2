// SPDX-License-Identifier: Apache-2.0
//
// Scores of several vectors of rows become weights and codes one vector after the other.
template <int kVectors>
FOVEA_INLINE bool WeighBlock(const QueryTile&, const KeyTile&, size_t) {
  return false;
}
