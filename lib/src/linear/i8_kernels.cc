// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels with integer products, compiled once for each target: targets/each_target.inl includes this file
// again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "linear/i8_kernels.h"
#define FOVEA_KERNELS_NAMESPACE i8_linear_kernels
#define FOVEA_KERNELS_FILE "linear/i8_kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "formats/rows.inl"
#include "math/block.inl"
namespace i8 {
#include "simd/apart.inl"
#include "simd/dot_bytes.inl"
#include "linear/i8_outputs.inl"
#if FOVEA_FOR_SCALAR && FOVEA_SMLAD
namespace of_smlad {
#include "simd/dot_smlad.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_smlad.inl"
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#include "linear/i8_dot_kernels.inl"
}
#elif FOVEA_FOR_HELIUM
namespace of_helium {
#include "simd/dot_helium.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_helium.inl"
#define FOVEA_DOT_ROWS "linear/i8_rows_helium.inl"
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#define FOVEA_DOT_FEW_ROWS
#include "linear/i8_dot_kernels.inl"
}
#elif defined(FOVEA_DOT_LANES)
namespace of_pmaddwd {
#include "simd/dot_pmaddwd.inl"
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#include "linear/i8_dot_kernels.inl"
}
#else
namespace of_floats {
#include "simd/dot_floats.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_floats.inl"
#if FOVEA_FOR_SCALAR
#define FOVEA_DOT_GROUPS "linear/i8_groups_rows.inl"
#else
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#endif
#include "linear/i8_dot_kernels.inl"
}
#endif
#if FOVEA_DOT_LANES >= 8
namespace of_vnni {
#include "simd/dot_vnni.inl"
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_turned.inl"
#include "linear/i8_dot_kernels.inl"
}
namespace of_vnni_groups {
#define FOVEA_DOT_UNSIGNED_ROWS
#include "simd/dot_vnni.inl"
#include "linear/i8_dot_kernels.inl"
#undef FOVEA_DOT_UNSIGNED_ROWS
}
#endif
#if defined(FOVEA_HAS_NEON_DOT)
namespace of_sdot {
#include "simd/dot_sdot.inl"
#define FOVEA_DOT_FEW_ROWS
#define FOVEA_DOT_FEW_GROUPS "linear/i8_few_groups_rows.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_neon64.inl"
#define FOVEA_DOT_CODES "linear/i8_codes_neon64.inl"
#include "linear/i8_dot_kernels.inl"
}
namespace of_smmla {
#include "simd/dot_smmla.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_neon64.inl"
#define FOVEA_DOT_CODES "linear/i8_codes_neon64.inl"
#include "linear/i8_dot_kernels.inl"
}
#endif

constexpr I8LinearTable Table() {
  I8LinearTable table = {};
  if (!kHasI8Linear) return table;
#if FOVEA_FOR_SCALAR && FOVEA_SMLAD
  of_smlad::AddKernels(&table);
#elif FOVEA_FOR_HELIUM
  of_helium::AddKernels(&table);
#elif defined(FOVEA_DOT_LANES)
  of_pmaddwd::AddKernels(&table);
#else
  of_floats::AddKernels(&table);
#endif
#if FOVEA_DOT_LANES >= 8
  of_vnni::AddKernels(&table);
  of_vnni_groups::AddGroupKernels(&table);
#endif
#if defined(FOVEA_HAS_NEON_DOT)
  of_sdot::AddKernels(&table);
  of_smmla::AddKernels(&table);
  table.list[kDotSmmla][kI8FewTokens] = table.list[kDotSdot][kI8FewTokens];
#endif
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8LinearTable kI8Linear = i8::Table();

#endif
