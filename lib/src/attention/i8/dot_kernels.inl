// SPDX-License-Identifier: Apache-2.0
//
// The kernels over the dot words that were included before this.

#if !defined(FOVEA_DOT_BLOCK)
#define FOVEA_DOT_BLOCK "math/dot_block.inl"
#endif
#if !defined(FOVEA_DOT_BRING)
#define FOVEA_DOT_BRING "attention/i8/bring.inl"
#endif
#if !defined(FOVEA_DOT_PRODUCTS)
#define FOVEA_DOT_PRODUCTS "attention/i8/products.inl"
#endif
#if !defined(FOVEA_DOT_WHOLE)
#define FOVEA_DOT_WHOLE "attention/i8/whole.inl"
#endif
#include "math/dot_shape.inl"
#include "attention/i8/tile.inl"
#include FOVEA_DOT_PRODUCTS
#include "attention/i8/softmax.inl"
#include "attention/i8/zero.inl"
#include "attention/i8/weights.inl"
#include FOVEA_DOT_WHOLE
#include "attention/i8/rows.inl"
#include FOVEA_DOT_BRING
#include "attention/tile_kernel.inl"

#if defined(FOVEA_DOT_FEW_ROWS)
#include "attention/few_block.inl"
#include "attention/few_stream.inl"
#include FOVEA_DOT_FEW_ROWS
#include "attention/few_kernel.inl"
constexpr AttentionKernel kFewRowsOfDot = FewRowsKernel(kCodedFormats, FewBringKeys, FewBringValues);
#else
constexpr AttentionKernel kFewRowsOfDot = {};
#endif

#undef FOVEA_DOT_BLOCK
#undef FOVEA_DOT_BRING
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_FEW_SCORES
#undef FOVEA_DOT_PRODUCTS
#undef FOVEA_DOT_PUTS_QUERIES
#undef FOVEA_DOT_QUERIES
#undef FOVEA_DOT_WHOLE
#undef FOVEA_DOT_WIDENS_ROWS

constexpr void AddKernels(I8Kernels* kernels) {
  AttentionKernel(&list)[kKernels - kI8FewRowsKernel] = kernels->list[dot::kKind];
  list[kI8FewRowsKernel - kI8FewRowsKernel] = kFewRowsOfDot;
  list[kI8TileKernel - kI8FewRowsKernel] = TileKernel(kCodedFormats, BringKeys, BringValues);
}
