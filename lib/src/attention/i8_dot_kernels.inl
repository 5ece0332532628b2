// SPDX-License-Identifier: Apache-2.0
//
// The kernels over the dot words that were included before this.

#include "attention/i8_tile.inl"
#include "attention/i8_softmax.inl"
#include "attention/i8_weights.inl"
#include "attention/i8_bring.inl"
#include "attention/tile_kernel.inl"

constexpr AttentionKernel kTileOfDot = TileKernel(kCodedFormats, BringKeys, BringValues);
