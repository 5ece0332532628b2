// SPDX-License-Identifier: Apache-2.0
//
// Which backends and targets this build compiles, and which of the backends this compilation is for.
#ifndef FOVEA_SRC_TARGETS_COMPILED_H_
#define FOVEA_SRC_TARGETS_COMPILED_H_

#include "fovea/fovea_config.h"
#include "ground/targets/offered.h"

// The build system names the backends. Else the compiler's flags choose one: the best that they offer.
#if !defined(FOVEA_WITH_HELIUM) && !defined(FOVEA_WITH_HIGHWAY) && !defined(FOVEA_WITH_NEON) && \
    !defined(FOVEA_WITH_RVV) && !defined(FOVEA_WITH_SCALAR) && !defined(FOVEA_WITH_XSIMD)
#if FOVEA_OFFERS_HELIUM
#define FOVEA_WITH_HELIUM 1
#elif FOVEA_OFFERS_RVV
#define FOVEA_WITH_RVV 1
#elif FOVEA_OFFERS_NEON
#define FOVEA_WITH_NEON 1
#elif (FOVEA_OFFERS_WASM || FOVEA_OFFERS_X86) && __has_include(<hwy/highway.h>)
#define FOVEA_WITH_HIGHWAY 1
#else
#define FOVEA_WITH_SCALAR 1
#endif
#endif
#ifndef FOVEA_WITH_HELIUM
#define FOVEA_WITH_HELIUM 0
#endif
#ifndef FOVEA_WITH_HIGHWAY
#define FOVEA_WITH_HIGHWAY 0
#endif
#ifndef FOVEA_WITH_NEON
#define FOVEA_WITH_NEON 0
#endif
#ifndef FOVEA_WITH_RVV
#define FOVEA_WITH_RVV 0
#endif
#ifndef FOVEA_WITH_SCALAR
#define FOVEA_WITH_SCALAR 0
#endif
#ifndef FOVEA_WITH_XSIMD
#define FOVEA_WITH_XSIMD 0
#endif

// Instructions that the library does not know: files of the user. See ground/simd/VOCABULARY.md, "Instructions of your own".
#if defined(FOVEA_DOT_HEADER) || defined(FOVEA_SIMD_HEADER)
#if !FOVEA_WITH_SCALAR
#error \
    "FOVEA_DOT_HEADER and FOVEA_SIMD_HEADER are for the scalar backend, which this build lacks: FOVEA_SIMD=scalar has it"
#endif
#endif
#if defined(FOVEA_DOT_HEADER)
#define FOVEA_HAS_OWN_DOT 1
#include FOVEA_DOT_HEADER
#if !defined(FOVEA_DOT_TYPE)
#error \
    "FOVEA_DOT_HEADER must define FOVEA_DOT_TYPE: the type of 4, 8 or 16 signed bytes that the instruction multiplies"
#endif
#if !defined(FOVEA_DOT_ADD)
#error "FOVEA_DOT_HEADER must define FOVEA_DOT_ADD(x, y, sum): sum + the products of the signed bytes of x and y"
#endif
#else
#define FOVEA_HAS_OWN_DOT 0
#endif
#if !defined(FOVEA_SIMD_LANES)
#define FOVEA_SIMD_LANES 1
#elif !defined(FOVEA_SIMD_HEADER)
#error "FOVEA_SIMD_LANES says how many lanes the vectors of FOVEA_SIMD_HEADER have, which is not defined"
#endif
#if FOVEA_SIMD_LANES != 1 && FOVEA_SIMD_LANES != 4 && FOVEA_SIMD_LANES != 8 && FOVEA_SIMD_LANES != 16
#error "FOVEA_SIMD_LANES must be 1, 4, 8 or 16"
#endif

#if defined(FOVEA_EXPECT_TARGET_SCALAR) && FOVEA_OFFERS_FIXED_VECTORS
#error "FOVEA_SIMD=auto chose scalar, but the flags offer vectors: name them in the toolchain file, or set FOVEA_SIMD"
#endif

// Whether the scalar backend multiplies integers by smlad.
#if FOVEA_WITH_SCALAR && defined(__ARM_FEATURE_SIMD32) && defined(__thumb2__)
#define FOVEA_SMLAD 1
#else
#define FOVEA_SMLAD 0
#endif
// Whether it does where scales and queries are floats, in registers of floating point.
#if FOVEA_SMLAD && defined(__ARM_FP) && (__ARM_FP & 4) != 0 && !FOVEA_HAS_OWN_DOT && FOVEA_SIMD_LANES == 1
#define FOVEA_SMLAD_OF_FLOATS 1
#else
#define FOVEA_SMLAD_OF_FLOATS 0
#endif

// A file of kernels is compiled once for each backend: the one that is named, or the only one there is.
#if defined(FOVEA_FOR_IN_ORDER)  // the kernels of the one backend, with other inner loops
#define FOVEA_FOR_NEON FOVEA_WITH_NEON
#endif
#if !defined(FOVEA_FOR_HELIUM) && !defined(FOVEA_FOR_HIGHWAY) && !defined(FOVEA_FOR_NEON) && \
    !defined(FOVEA_FOR_RVV) && !defined(FOVEA_FOR_SCALAR) && !defined(FOVEA_FOR_XSIMD)
#define FOVEA_FOR_HELIUM FOVEA_WITH_HELIUM
#define FOVEA_FOR_HIGHWAY FOVEA_WITH_HIGHWAY
#define FOVEA_FOR_NEON FOVEA_WITH_NEON
#define FOVEA_FOR_RVV FOVEA_WITH_RVV
#define FOVEA_FOR_SCALAR FOVEA_WITH_SCALAR
#define FOVEA_FOR_XSIMD FOVEA_WITH_XSIMD
#endif

// Whether the kernels of NEON are those for processors that run instructions in the order of the text. No compiler has
// a macro for its processor: CMake defines this; other builds define it themselves. FOVEA_WITH_IN_ORDER: they are
// compiled in addition to the others, in their own namespace.
#ifndef FOVEA_IN_ORDER
#define FOVEA_IN_ORDER 0
#endif
#ifndef FOVEA_WITH_IN_ORDER
#define FOVEA_WITH_IN_ORDER 0
#endif
#ifndef FOVEA_FOR_IN_ORDER
#define FOVEA_FOR_IN_ORDER FOVEA_IN_ORDER
#endif

// Extensions of AArch64's NEON for which there are kernels.
#if defined(__aarch64__) && (FOVEA_NEON_EXTENSIONS || defined(__ARM_FEATURE_DOTPROD))
#define FOVEA_WITH_NEON_DOTPROD 1
#else
#define FOVEA_WITH_NEON_DOTPROD 0
#endif
#if defined(__aarch64__) && (FOVEA_NEON_EXTENSIONS || defined(__ARM_FEATURE_MATMUL_INT8))
#define FOVEA_WITH_NEON_I8MM FOVEA_WITH_NEON_DOTPROD  // whose few tokens it uses
#else
#define FOVEA_WITH_NEON_I8MM 0
#endif
#if defined(__aarch64__) && (FOVEA_NEON_EXTENSIONS || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC))
#define FOVEA_WITH_NEON_FP16 1
#else
#define FOVEA_WITH_NEON_FP16 0
#endif
// Arithmetic of halves on x86, and of RISC-V's vectors of 256 bits: not chosen at run time, since the kernels would be in
// each archive. Flags ask for it.
#if defined(__AVX512FP16__) || (defined(__riscv_zvfh) && FOVEA_WITH_RVV && __riscv_v_fixed_vlen == 256)
#define FOVEA_WITH_FP16_BY_FLAGS 1
#else
#define FOVEA_WITH_FP16_BY_FLAGS 0
#endif

// Highway compiles several targets, and the program chooses. xsimd compiles one: with other backends, a target with its
// own name; alone, the best that the compiler's flags offer, under that target's name.
#if FOVEA_WITH_HIGHWAY
#include "ground/simd/highway_targets.h"
#define FOVEA_COMPILED_SSE4 ((HWY_TARGETS & HWY_SSE4) != 0)
#define FOVEA_COMPILED_AVX2 ((HWY_TARGETS & HWY_AVX2) != 0)
#define FOVEA_COMPILED_AVX512 ((HWY_TARGETS & HWY_AVX3) != 0)
#define FOVEA_COMPILED_WASM ((HWY_TARGETS & HWY_WASM) != 0)
#else
#define FOVEA_COMPILED_SSE4 (FOVEA_WITH_XSIMD && FOVEA_OFFERS_SSE4 && !FOVEA_OFFERS_AVX2)
#define FOVEA_COMPILED_AVX2 (FOVEA_WITH_XSIMD && FOVEA_OFFERS_AVX2 && !FOVEA_OFFERS_AVX512)
#define FOVEA_COMPILED_AVX512 (FOVEA_WITH_XSIMD && FOVEA_OFFERS_AVX512)
#define FOVEA_COMPILED_WASM 0
#endif
#define FOVEA_COMPILED_NEON FOVEA_WITH_NEON
#define FOVEA_COMPILED_HELIUM FOVEA_WITH_HELIUM
#if FOVEA_WITH_RVV
#define FOVEA_COMPILED_RVV128 (__riscv_v_fixed_vlen == 128)
#define FOVEA_COMPILED_RVV256 (__riscv_v_fixed_vlen == 256)
#define FOVEA_COMPILED_RVV512 (__riscv_v_fixed_vlen == 512)
#else
#define FOVEA_COMPILED_RVV128 0
#define FOVEA_COMPILED_RVV256 0
#endif
#define FOVEA_COMPILED_SCALAR FOVEA_WITH_SCALAR
#define FOVEA_COMPILED_XSIMD FOVEA_WITH_XSIMD

#if FOVEA_WITH_XSIMD && !FOVEA_WITH_HIGHWAY && !FOVEA_OFFERS_SSE4
#error \
    "xsimd needs a vector unit: set the compiler's processor (-march, or a toolchain file), or choose FOVEA_SIMD=highway"
#endif

// What xsimd compiles: with Highway on x86 it is AVX2, whatever the flags of other files offer.
#if !FOVEA_WITH_XSIMD
#define FOVEA_XSIMD_LANES 0
#elif FOVEA_COMPILED_AVX512 && !FOVEA_WITH_HIGHWAY
#define FOVEA_XSIMD_LANES 16
#elif FOVEA_WITH_HIGHWAY || FOVEA_COMPILED_AVX2
#define FOVEA_XSIMD_LANES 8
#else
#define FOVEA_XSIMD_LANES 4
#endif

#endif  // FOVEA_SRC_TARGETS_COMPILED_H_
