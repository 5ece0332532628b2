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
#include "math/dot_shape.inl"
#include FOVEA_DOT_BLOCK
#include FOVEA_DOT_CODES
#include FOVEA_DOT_ROWS
#include "linear/i8_linear.inl"
#include "linear/i8_groups.inl"

#if defined(FOVEA_DOT_FEW_ROWS)
#include "linear/i8_few.inl"
#if defined(FOVEA_DOT_FEW_GROUPS)
constexpr I8LinearKernel kFewOfDot = {I8FewBegin, I8FewMultiply, kI8GroupedFormats ? I8FewMultiplyGroups : nullptr};
#else
constexpr I8LinearKernel kFewOfDot = {I8FewBegin, I8FewMultiply, nullptr};
#endif
#else
constexpr I8LinearKernel kFewOfDot = {};
#endif

#undef FOVEA_DOT_BLOCK
#undef FOVEA_DOT_CODES
#undef FOVEA_DOT_FEW_GROUPS
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_ROWS
#undef FOVEA_DOT_WIDENS_ROWS

constexpr void AddKernels(I8LinearTable* table) {
  table->list[dot::kKind][kI8FewTokens] = kFewOfDot;
  table->list[dot::kKind][kI8TokenTile] = {I8Begin, I8Multiply, kI8GroupedFormats ? I8MultiplyGroups : nullptr};
}
