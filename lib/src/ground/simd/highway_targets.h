// SPDX-License-Identifier: Apache-2.0
//
// Selects the targets that foreach_target compiles. Every file that includes Highway includes this before it.
#ifndef FOVEA_SRC_SIMD_HIGHWAY_TARGETS_H_
#define FOVEA_SRC_SIMD_HIGHWAY_TARGETS_H_

#include "ground/simd/macros.h"

// Highway's debug checks would call its library, which is not linked.
#ifndef HWY_IS_DEBUG_BUILD
#define HWY_IS_DEBUG_BUILD 0
#endif

#include <hwy/detect_compiler_arch.h>

#ifndef HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_PCLMUL_AES  // no kernel needs them, and g++ 12 lacks them in -march=haswell
#endif

// Of Highway's targets, one for each vector length. Scalar is only Highway's baseline: fovea has its own backend header
// for it.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_WASM | HWY_EMU128 | HWY_SCALAR))

#include <hwy/detect_targets.h>

// A build that names its processor must get its vectors: Highway falls back silently when a compiler flag is missing.
#if (defined(FOVEA_EXPECT_TARGET_SSE4) && HWY_STATIC_TARGET != HWY_SSE4) ||   \
    (defined(FOVEA_EXPECT_TARGET_AVX2) && HWY_STATIC_TARGET != HWY_AVX2) ||   \
    (defined(FOVEA_EXPECT_TARGET_AVX512) && HWY_STATIC_TARGET != HWY_AVX3) || \
    (defined(FOVEA_EXPECT_TARGET_WASM) && HWY_STATIC_TARGET != HWY_WASM)
#error "Highway chose another target than the toolchain file asks for: check -march and its feature flags"
#endif

#endif  // FOVEA_SRC_SIMD_HIGHWAY_TARGETS_H_
