// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels with integer products, compiled once for each target: targets/each_target.inl includes this
// file again. There is a kernel for each kind of dot product that processors of the target may have.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#if FOVEA_FOR_SCALAR
// g++ 12 makes vectors of loads that are not adjacent, and then reads past the end.
FOVEA_GNU_OPTIONS("no-tree-loop-vectorize")
#elif FOVEA_FOR_NEON
// The softmax takes as long as the products. If registers are renamed, and scheduled only after that, its loop takes
// 482 cycles on a Cortex-A55 instead of 765, by llvm-mca.
FOVEA_GNU_OPTIONS("no-schedule-insns", "rename-registers")
#endif
#include "attention/steps/kernels.h"
#include "formats/kernels.h"
#include "math/byte_kernels.h"
#define FOVEA_KERNELS_NAMESPACE i8_kernels
#define FOVEA_KERNELS_FILE "attention/i8/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "math/plain.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/steps/called.inl"
#include "math/block.inl"
namespace i8 {
#include "simd/apart.inl"
#include "math/math.inl"
// Exp2 of one vector for each key tile. Where size counts, that of the steps, if these need it.
FOVEA_INLINE VF Rescale(VF x) {
#if FOVEA_SHARES_STEPS
  if (kStepsHaveExp2) {
    float lanes[kLanes];
    hn::StoreU(x, kF, lanes);
    FOVEA_COMMON_NAMESPACE::step_kernels::exp2_of(lanes);
    return hn::LoadU(kF, lanes);
  }
#endif
  return Exp2(x);
}
#include "simd/dots.inl"
#include "math/dot_block.inl"
#include "math/dot_codes.inl"
#include "math/dot_codes_neon64.inl"
#if FOVEA_FOR_HELIUM
#include "math/dot_chunks_helium.inl"
#endif
#if FOVEA_FOR_HELIUM
#include "simd/dot_helium_row.inl"
#endif
#include "attention/i8/widen_groups.inl"
#if FOVEA_FOR_ONE_LANE
#include "attention/tile_kernel.inl"
#else
#include "attention/few_block.inl"
#include "attention/few_kernel.inl"
#endif
#define FOVEA_DOT_FILE "attention/i8/dot_kernels.inl"
#include "simd/each_dot.inl"

constexpr I8Kernels Table() {
  I8Kernels table = {};
  if (!kHasI8Products) return table;
#define FOVEA_DOT_FILE "simd/add_dot.inl"
#include "simd/each_dot.inl"
#if defined(FOVEA_HAS_NEON_MATRIX_DOT)
  table.list[kDotSmmla][0] = table.list[kDotSdot][0];  // its processors have sdot, too
#endif
  return table;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8Kernels kI8 = i8::Table();

#endif
