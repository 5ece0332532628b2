// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel with products of integer codes, and the softmax between them.
#ifndef FOVEA_SRC_ATTENTION_I8_TILE_INL_
#define FOVEA_SRC_ATTENTION_I8_TILE_INL_

#include "core/attention/i8/products.inl"
#include "core/attention/i8/queries.inl"
#include "core/attention/i8/softmax.inl"
#include "core/attention/tile_kernel.inl"

// The Parts of a TileKernel over the dot words of one instruction (simd/dot_*.inl).
template <class Dot>
struct I8Tile : I8Softmax, I8Queries<Dot>, I8Products<Dot>, I8Weights<Dot>, I8Whole<Dot> {
  static constexpr size_t kProductLanes = kLanes;
  static constexpr int kBlockVectors = Dot::kBlockVectors;

  template <int>
  FOVEA_INLINE void ScaleScores(const QueryTile&, const KeyTile&, size_t) {}
  template <int kVectors>
  FOVEA_INLINE void TakeOutZeros(const QueryTile& t, const KeyTile& keys, size_t column) {
    for (int v = 0; HasZero(keys) && v < kVectors; ++v) TakeOutZero(t, column + v * kLanes);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_TILE_INL_
