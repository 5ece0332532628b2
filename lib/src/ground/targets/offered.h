// SPDX-License-Identifier: Apache-2.0
//
// What the compiler's flags offer, by its own macros: each of these is 1 if the flags offer the target.
// lib/cmake/offered_target.cc asks this for CMake, and names the best of several.
#ifndef FOVEA_SRC_TARGETS_OFFERED_H_
#define FOVEA_SRC_TARGETS_OFFERED_H_

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define FOVEA_OFFERS_AVX2 1
#else
#define FOVEA_OFFERS_AVX2 0
#endif
#if FOVEA_OFFERS_AVX2 && defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define FOVEA_OFFERS_AVX512 1
#else
#define FOVEA_OFFERS_AVX512 0
#endif
#if defined(__SSE4_2__)
#define FOVEA_OFFERS_SSE4 1
#else
#define FOVEA_OFFERS_SSE4 0
#endif
#if defined(__ARM_NEON)
#define FOVEA_OFFERS_NEON 1
#else
#define FOVEA_OFFERS_NEON 0
#endif
#if defined(__arm__)
#define FOVEA_OFFERS_ARM32 1
#else
#define FOVEA_OFFERS_ARM32 0
#endif
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) != 0  // with floating point
#define FOVEA_OFFERS_HELIUM 1
#else
#define FOVEA_OFFERS_HELIUM 0
#endif
// Vectors of one length that is known. Other compilers than clang have none of this kind yet.
#if defined(__clang__) && defined(__riscv_v_fixed_vlen) && \
    (__riscv_v_fixed_vlen == 128 || __riscv_v_fixed_vlen == 256 || __riscv_v_fixed_vlen == 512)
#define FOVEA_OFFERS_RVV 1
#else
#define FOVEA_OFFERS_RVV 0
#endif
#if defined(__wasm_simd128__)
#define FOVEA_OFFERS_WASM 1
#else
#define FOVEA_OFFERS_WASM 0
#endif
#if defined(__x86_64__) || defined(__i386__)  // where the program asks the processor
#define FOVEA_OFFERS_X86 1
#else
#define FOVEA_OFFERS_X86 0
#endif

// Vectors whose presence is known at compile time; on x86 the program asks.
#define FOVEA_OFFERS_FIXED_VECTORS (FOVEA_OFFERS_NEON || FOVEA_OFFERS_HELIUM || FOVEA_OFFERS_RVV || FOVEA_OFFERS_WASM)

#endif  // FOVEA_SRC_TARGETS_OFFERED_H_
