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
#include "attention/kernels.h"
#define FOVEA_KERNELS_NAMESPACE i8_kernels
#define FOVEA_KERNELS_FILE "attention/i8_kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/stream.inl"
#include "math/block.inl"
namespace i8 {
#include "simd/apart.inl"
#include "math/math.inl"
#include "attention/modifier.inl"
#include "attention/score_steps.inl"
#include "math/philox.inl"
#include "attention/dropout.inl"
#include "attention/i8_outputs.inl"
#include "simd/dot_bytes.inl"
#include "attention/i8_widen_i4.inl"
#if FOVEA_FOR_SCALAR && FOVEA_SMLAD
namespace of_smlad {
#include "simd/dot_smlad.inl"
#define FOVEA_DOT_PRODUCTS "attention/i8_products_smlad.inl"
#define FOVEA_DOT_WHOLE "attention/i8_whole_block.inl"
#define FOVEA_DOT_BRING "attention/i8_bring_smlad.inl"
#include "attention/i8_dot_kernels.inl"
}
#elif FOVEA_FOR_HELIUM
namespace of_helium {
#include "simd/dot_helium.inl"
#define FOVEA_DOT_PRODUCTS "attention/i8_products_helium.inl"
#define FOVEA_DOT_WHOLE "attention/i8_whole_helium.inl"
#define FOVEA_DOT_FEW_SCORES "attention/i8_few_scores_helium.inl"
#define FOVEA_DOT_FEW_ROWS "attention/i8_few_rows.inl"
#include "attention/i8_dot_kernels.inl"
}
#elif defined(FOVEA_DOT_LANES)
namespace of_pmaddwd {
#include "simd/dot_pmaddwd.inl"
#define FOVEA_DOT_FEW_ROWS "attention/i8_few_rows.inl"
#include "attention/i8_dot_kernels.inl"
}
#else
namespace of_floats {
#include "simd/dot_floats.inl"
#define FOVEA_DOT_BLOCK "math/dot_block_floats.inl"
#if !FOVEA_FOR_SCALAR  // with one lane the tile kernel has no empty lanes
#define FOVEA_DOT_FEW_ROWS "attention/i8_few_rows.inl"
#endif
#include "attention/i8_dot_kernels.inl"
}
#endif
#if FOVEA_DOT_LANES >= 8
namespace of_vnni {
#include "simd/dot_vnni.inl"
#define FOVEA_DOT_FEW_ROWS "attention/i8_few_rows.inl"
#include "attention/i8_dot_kernels.inl"
}
#endif
#if defined(FOVEA_HAS_NEON_DOT)
namespace of_sdot {
#include "simd/dot_sdot.inl"
#define FOVEA_DOT_PRODUCTS "attention/i8_products_neon64.inl"
#define FOVEA_DOT_QUERIES "attention/i8_queries_neon64.inl"
#define FOVEA_DOT_WHOLE "attention/i8_whole_block.inl"
#define FOVEA_DOT_FEW_ROWS "attention/i8_few_rows.inl"
#include "attention/i8_dot_kernels.inl"
}
namespace of_smmla {
#include "simd/dot_smmla.inl"
#define FOVEA_DOT_PRODUCTS "attention/i8_products_neon64.inl"
#define FOVEA_DOT_QUERIES "attention/i8_queries_neon64.inl"
#define FOVEA_DOT_WHOLE "attention/i8_whole_block.inl"
#include "attention/i8_dot_kernels.inl"
}
#endif

constexpr I8Kernels Kernels() {
  I8Kernels kernels = {};
  if (!kHasI8Products) return kernels;
#if FOVEA_FOR_SCALAR && FOVEA_SMLAD
  of_smlad::AddKernels(&kernels);
#elif FOVEA_FOR_HELIUM
  of_helium::AddKernels(&kernels);
#elif defined(FOVEA_DOT_LANES)
  of_pmaddwd::AddKernels(&kernels);
#else
  of_floats::AddKernels(&kernels);
#endif
#if FOVEA_DOT_LANES >= 8
  of_vnni::AddKernels(&kernels);
#endif
#if defined(FOVEA_HAS_NEON_DOT)
  of_sdot::AddKernels(&kernels);
  of_smmla::AddKernels(&kernels);
  kernels.list[kDotSmmla][0] = kernels.list[kDotSdot][0];  // its processors have sdot, too
#endif
  return kernels;
}
}  // namespace i8
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const I8Kernels kI8 = i8::Kernels();

#endif
