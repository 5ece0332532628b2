// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one instruction for integer products: a FOVEA_DOT_FILE of simd/each_dot.inl.

namespace FOVEA_DOT_NAMESPACE {
using dot = FOVEA_DOT_WORDS;

// Parts that an instruction has in the place of those below.
#if FOVEA_DOT_SMLAD
#define FOVEA_DOT_STEPS "linear/i8_steps_smlad.inl"
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#elif FOVEA_DOT_HELIUM
#define FOVEA_DOT_ROWS "linear/i8_rows_helium.inl"
#define FOVEA_DOT_STEPS "linear/i8_steps_helium.inl"
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#define FOVEA_DOT_FEW_ROWS
#elif FOVEA_DOT_PMADDWD
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#elif FOVEA_DOT_OWN
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#elif FOVEA_DOT_FLOATS && FOVEA_FOR_ONE_LANE
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#elif FOVEA_DOT_FLOATS
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#elif FOVEA_DOT_VWMACC
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#elif FOVEA_DOT_VNNI
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_turned.inl"
#elif FOVEA_DOT_SDOT
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#endif
#if FOVEA_DOT_SDOT || FOVEA_DOT_SMMLA
#define FOVEA_DOT_CODES "linear/i8_codes_neon64.inl"
#endif

#if !defined(FOVEA_DOT_CODES)
#define FOVEA_DOT_CODES "linear/i8_codes.inl"
#endif
#if !defined(FOVEA_DOT_STEPS)
#define FOVEA_DOT_STEPS "linear/i8_steps.inl"
#endif
#if !defined(FOVEA_DOT_ROWS)
#define FOVEA_DOT_ROWS "linear/i8_rows.inl"
#endif
#if !defined(FOVEA_DOT_GROUPS)
#define FOVEA_DOT_GROUPS "linear/i8_groups_blocks.inl"
#endif
constexpr int kBlockVectors = dot::kBlockVectors;
constexpr size_t kGroup = dot::kGroup, kReads = dot::kReads;
using Block = DotBlock<dot>;
#include FOVEA_DOT_STEPS

// Where the codes of a column begin.
FOVEA_INLINE dot::Code* CodesOf(const I8TokenTile& t, size_t column) {
  const size_t first = BlockOf(t, column).first;
  return static_cast<dot::Code*>(t.x) + first * round_up(t.in_dim, kReads) + (column - first) * kGroup;
}

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

#undef FOVEA_DOT_CODES
#undef FOVEA_DOT_STEPS
#undef FOVEA_DOT_FEW_GROUPS
#undef FOVEA_DOT_FEW_ROWS
#undef FOVEA_DOT_GROUPS
#undef FOVEA_DOT_ROWS

constexpr void AddGroupKernels(I8LinearTable* table) {
  if (!kI8GroupedFormats) return;
  I8LinearKernel& tile = table->list[dot_row(dot::kKind)][kI8TokenTile];
  tile.begin_groups = I8BeginGroups, tile.multiply_groups = I8MultiplyGroups;
}
constexpr void AddKernels(I8LinearTable* table) {
  table->list[dot_row(dot::kKind)][kI8FewTokens] = kFewOfDot;
  table->list[dot_row(dot::kKind)][kI8TokenTile] = {I8Begin, I8Multiply, nullptr, nullptr};
  AddGroupKernels(table);
}

}  // namespace FOVEA_DOT_NAMESPACE
