// SPDX-License-Identifier: Apache-2.0
//
// The kernels over the dot words that were included before this.

#if !defined(FOVEA_DOT_BLOCK)
#define FOVEA_DOT_BLOCK "math/dot_block.inl"
#endif
#if !defined(FOVEA_DOT_CODES)
#define FOVEA_DOT_CODES "linear/i8_codes.inl"
#endif
#if !defined(FOVEA_DOT_ROWS)
#define FOVEA_DOT_ROWS "linear/i8_rows.inl"
#endif
#if !defined(FOVEA_DOT_GROUPS)
#define FOVEA_DOT_GROUPS "linear/i8_groups_blocks.inl"
#endif
#include "math/dot_shape.inl"
#include FOVEA_DOT_BLOCK
#include FOVEA_DOT_CODES
#include FOVEA_DOT_ROWS
#include "linear/i8_linear.inl"
#include "linear/i8_groups.inl"
#include FOVEA_DOT_GROUPS

#if defined(FOVEA_DOT_FEW_ROWS)
#include "linear/i8_few.inl"
#if defined(FOVEA_DOT_FEW_GROUPS)
constexpr I8LinearKernel kFewOfDot =
    kI8GroupedFormats ? I8LinearKernel{I8FewBegin, I8FewMultiply, I8FewBegin, I8FewMultiplyGroups}
                      : I8LinearKernel{I8FewBegin, I8FewMultiply, nullptr, nullptr};
#else
constexpr I8LinearKernel kFewOfDot = {I8FewBegin, I8FewMultiply, nullptr, nullptr};
#endif
#else
constexpr I8LinearKernel kFewOfDot = {};
#endif

#undef FOVEA_DOT_BLOCK
#undef FOVEA_DOT_CODES
#undef FOVEA_DOT_FEW_GROUPS
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_GROUPS
#undef FOVEA_DOT_ROWS
#undef FOVEA_DOT_WIDENS_ROWS

constexpr void AddGroupKernels(I8LinearTable* table) {
  if (!kI8GroupedFormats) return;
  I8LinearKernel& tile = table->list[dot::kKind][kI8TokenTile];
  tile.begin_groups = I8BeginGroups, tile.multiply_groups = I8MultiplyGroups;
}
constexpr void AddKernels(I8LinearTable* table) {
  table->list[dot::kKind][kI8FewTokens] = kFewOfDot;
  table->list[dot::kKind][kI8TokenTile] = {I8Begin, I8Multiply, nullptr, nullptr};
  AddGroupKernels(table);
}
