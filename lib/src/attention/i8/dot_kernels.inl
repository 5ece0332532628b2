// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one instruction for integer products: a FOVEA_DOT_FILE of simd/each_dot.inl.

namespace FOVEA_DOT_NAMESPACE {
#if defined(FOVEA_DOT_WEIGHS_ROW)
using dot = HeliumRow;
#else
using dot = FOVEA_DOT_WORDS;
#endif

// Parts that an instruction has in the place of those below.
#if FOVEA_DOT_SMLAD
#define FOVEA_DOT_PRODUCTS "attention/i8/products_smlad.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_row.inl"
#define FOVEA_DOT_BRING "attention/i8/bring_smlad.inl"
#elif FOVEA_DOT_HELIUM
#define FOVEA_DOT_PRODUCTS "attention/i8/products_helium.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_helium.inl"
#define FOVEA_DOT_FEW_SCORES "attention/i8/few_scores_helium.inl"
#elif FOVEA_DOT_VWMACC
#define FOVEA_DOT_SUMS "attention/i8/sums_rvv.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_rvv.inl"
#elif FOVEA_DOT_SDOT || FOVEA_DOT_SMMLA
#define FOVEA_DOT_PRODUCTS "attention/i8/products_neon64.inl"
#define FOVEA_DOT_QUERIES "attention/i8/queries_neon64.inl"
#define FOVEA_DOT_WHOLE "attention/i8/whole_block.inl"
#endif
// A single lane is never empty; for few rows smmla takes sdot's kernel, and the user's instruction the tile kernel.
#if !FOVEA_FOR_ONE_LANE && !FOVEA_DOT_SMMLA && !FOVEA_DOT_OWN
#define FOVEA_DOT_FEW_ROWS "attention/i8/few_rows.inl"
#endif

#if !defined(FOVEA_DOT_BRING)
#define FOVEA_DOT_BRING "attention/i8/bring.inl"
#endif
#if !defined(FOVEA_DOT_PRODUCTS)
#define FOVEA_DOT_PRODUCTS "attention/i8/products.inl"
#endif
#if !defined(FOVEA_DOT_SUMS)
#define FOVEA_DOT_SUMS "attention/i8/sums.inl"
#endif
#if !defined(FOVEA_DOT_WHOLE)
#define FOVEA_DOT_WHOLE "attention/i8/whole.inl"
#endif
constexpr int kBlockVectors = dot::kBlockVectors;
constexpr size_t kGroup = dot::kGroup, kReads = dot::kReads;
using Block = DotBlock<dot>;
#include "attention/i8/tile.inl"
#include FOVEA_DOT_PRODUCTS
#include "attention/i8/softmax.inl"
#include "attention/i8/zero.inl"
#include "attention/i8/weights.inl"
#include FOVEA_DOT_WHOLE
#include "attention/i8/rows.inl"
#include FOVEA_DOT_BRING
constexpr size_t kProductLanes = kLanes;
#include "attention/tile_kernel.inl"

#if defined(FOVEA_DOT_FEW_ROWS)
#include "attention/few_block.inl"
constexpr uint32_t kMostFewRows = kLanes > 4 ? 4 : 2;  // with 4 lanes, 4 rows fill the tile kernel
#include "attention/few_strands.inl"
#include FOVEA_DOT_FEW_ROWS
#include "attention/few_kernel.inl"
constexpr AttentionKernel kFewRowsOfDot = FewRowsKernel(kCodedFormats, FewBringKeys, FewBringValues);
#else
constexpr AttentionKernel kFewRowsOfDot = {};
#endif

#undef FOVEA_DOT_BRING
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_FEW_SCORES
#undef FOVEA_DOT_PRODUCTS
#undef FOVEA_DOT_QUERIES
#undef FOVEA_DOT_SUMS
#undef FOVEA_DOT_WHOLE

constexpr void AddKernels(I8Kernels* table) {
  AttentionKernel(&list)[kF16TileKernel - kI8FewRowsKernel] = table->list[dot_row(dot::kKind)];
  list[kI8FewRowsKernel - kI8FewRowsKernel] = kFewRowsOfDot;
  list[kI8TileKernel - kI8FewRowsKernel] = TileKernel(kCodedFormats, BringKeys, BringValues);
}

}  // namespace FOVEA_DOT_NAMESPACE
