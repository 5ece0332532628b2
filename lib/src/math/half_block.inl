// SPDX-License-Identifier: Apache-2.0
//
// A tile of halves times rows of halves, by register blocks: the product that q.k and a linear layer share, over the
// words of simd/half_<name>.inl. A lane is a query, or a token; rows (keys, or weights) are read as they are stored.
// A chain of multiply-adds in halves has at most kPartialHalves products. Chains are added in f32, in their order. So
// no register block changes bits.

using Element = half::Element;
constexpr size_t kPartialHalves = 32, kProductLanes = half::kLanes;
constexpr int kBlockVectors = half::kBlockVectors, kPieces = kProductLanes / kLanes;

#if FOVEA_FOR_HELIUM
#include "math/half_block_helium.inl"
#else
#include "math/half_block_loops.inl"
#endif
