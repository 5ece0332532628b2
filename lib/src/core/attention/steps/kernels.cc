// SPDX-License-Identifier: Apache-2.0
//
// The steps around the products, compiled once for each target: ground/targets/each_target.inl includes this file again. Empty
// in builds with one arithmetic, whose kernels contain the steps.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "core/attention/steps/kernels.h"
#if FOVEA_ENABLE_COMPUTE_F16 || FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_KERNELS_NAMESPACE step_kernels
#define FOVEA_KERNELS_FILE "core/attention/steps/kernels.cc"
#include "ground/targets/each_target.inl"
#endif
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "core/attention/rows.inl"
namespace apart {
#include "ground/simd/apart.inl"
#include "core/attention/steps/tile_steps.inl"
#include "core/attention/stream/merge.inl"
}  // namespace apart
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const StepTables kSteps = {apart::kTileSteps, apart::kFewSteps};
FOVEA_IN_DATA_SECTION const MergeKernels kMerge = {apart::MergeStates};

#if FOVEA_SHARES_STEPS
FOVEA_IN_CODE_SECTION void exp2_of(float* vector) { hn::StoreU(apart::Exp2(hn::LoadU(kF, vector)), kF, vector); }
FOVEA_IN_CODE_SECTION void load_transposed(const char* const* rows, fovea_dtype dtype, size_t d, size_t n,
                                           void* lanes) {
  LoadTransposedAs(rows, dtype, d, n, reinterpret_cast<VF(&)[kLanes]>(*static_cast<VF*>(lanes)));
}
FOVEA_IN_CODE_SECTION ptrdiff_t row_offset(const QueryTile& t, size_t r, ptrdiff_t token_stride,
                                           ptrdiff_t head_stride) {
  return OffsetOfRow(t, r, token_stride, head_stride);
}
FOVEA_IN_CODE_SECTION bool clip_to_rows(const QueryTile& t, size_t first_row, size_t last_row, KeySpan* keys) {
  return ClipTo(t, first_row, last_row, keys);
}
#endif

#endif
