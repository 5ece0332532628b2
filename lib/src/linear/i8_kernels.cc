// SPDX-License-Identifier: Apache-2.0
//
// The linear kernels with integer products, compiled once for each target: targets/each_target.inl includes this file
// again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "linear/i8_kernels.h"
#include "math/byte_kernels.h"
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
#include "math/math.inl"
#include "math/activation.inl"
#include "linear/i8_outputs.inl"
#include "simd/dots.inl"
#include "math/dot_block.inl"
#include "math/dot_codes.inl"
#include "math/dot_codes_neon64.inl"
#define FOVEA_DOT_FILE "linear/i8_dot_kernels.inl"
#include "simd/each_dot.inl"
#if FOVEA_DOT_LANES >= 8  // rows in groups are the unsigned factors of VNNI
#define FOVEA_DOT_UNSIGNED_ROWS
#define FOVEA_DOT_NAMESPACE of_vnni_groups
#define FOVEA_DOT_WORDS VnniGroups
#include "linear/i8_dot_kernels.inl"
#undef FOVEA_DOT_UNSIGNED_ROWS
#undef FOVEA_DOT_NAMESPACE
#undef FOVEA_DOT_WORDS
#endif

constexpr I8LinearTable Table() {
  I8LinearTable table = {};
  if (!kHasI8Linear) return table;
#define FOVEA_DOT_FILE "simd/add_dot.inl"
#include "simd/each_dot.inl"
#if FOVEA_DOT_LANES >= 8
  of_vnni_groups::AddGroupKernels(&table);
#endif
#if defined(FOVEA_HAS_NEON_MATRIX_DOT)
  table.list[kDotSmmla][kI8FewTokens] = table.list[kDotSdot][kI8FewTokens];
#endif
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8LinearTable kI8Linear = i8::Table();

#endif
