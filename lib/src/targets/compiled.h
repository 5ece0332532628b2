// SPDX-License-Identifier: Apache-2.0
//
// Which targets this build compiles: from the backends that the build system chose and the processor that the compiler
// is set to.
#ifndef FOVEA_SRC_TARGETS_COMPILED_H_
#define FOVEA_SRC_TARGETS_COMPILED_H_

#ifndef FOVEA_WITH_HELIUM
#define FOVEA_WITH_HELIUM 0
#endif
#ifndef FOVEA_WITH_HIGHWAY
#define FOVEA_WITH_HIGHWAY 0
#endif
#ifndef FOVEA_WITH_XSIMD
#define FOVEA_WITH_XSIMD 0
#endif
#ifndef FOVEA_WITH_SCALAR
#define FOVEA_WITH_SCALAR 0
#endif

#include "targets/offered.h"

#if defined(FOVEA_EXPECT_TARGET_SCALAR) && FOVEA_OFFERS_FIXED_VECTORS
#error "FOVEA_SIMD=auto chose scalar, but the flags offer vectors: name them in CMAKE_CXX_FLAGS, or set FOVEA_SIMD"
#endif

#if FOVEA_WITH_HIGHWAY
#include "simd/highway_targets.h"
#define FOVEA_COMPILED_SSE4 ((HWY_TARGETS & HWY_SSE4) != 0)
#define FOVEA_COMPILED_AVX2 ((HWY_TARGETS & HWY_AVX2) != 0)
#define FOVEA_COMPILED_AVX512 ((HWY_TARGETS & HWY_AVX3) != 0)
#define FOVEA_COMPILED_NEON ((HWY_TARGETS & HWY_NEON) != 0)
#define FOVEA_COMPILED_WASM ((HWY_TARGETS & HWY_WASM) != 0)
#else
#define FOVEA_COMPILED_SSE4 0
#define FOVEA_COMPILED_AVX2 0
#define FOVEA_COMPILED_AVX512 0
#define FOVEA_COMPILED_NEON 0
#define FOVEA_COMPILED_WASM 0
#endif

// The target that xsimd serves: the one the compiler is set to, or in a build with several backends the one whose flags
// its files are given.
#if FOVEA_WITH_XSIMD
#if FOVEA_WITH_HIGHWAY || defined(__AVX2__)
#if defined(__AVX512F__) && !FOVEA_WITH_HIGHWAY
#define FOVEA_XSIMD_SERVES FOVEA_TARGET_AVX512
#else
#define FOVEA_XSIMD_SERVES FOVEA_TARGET_AVX2
#endif
#elif defined(__SSE4_2__)
#define FOVEA_XSIMD_SERVES FOVEA_TARGET_SSE4
#elif defined(__ARM_NEON)
#define FOVEA_XSIMD_SERVES FOVEA_TARGET_NEON
#else
#error \
    "xsimd needs a vector unit: set the compiler's processor (-march, or a toolchain file), or choose FOVEA_SIMD=highway"
#endif
#endif

#endif  // FOVEA_SRC_TARGETS_COMPILED_H_
