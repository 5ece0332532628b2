// SPDX-License-Identifier: Apache-2.0
//
// How the kernels are compiled: the three things the language has no word for.
#ifndef FOVEA_SRC_SIMD_MACROS_H_
#define FOVEA_SRC_SIMD_MACROS_H_

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "fovea needs infinities and NaNs as IEEE has them: compile without -ffast-math"
#endif

#define FOVEA_INLINE static inline __attribute__((always_inline, unused))
#define FOVEA_RESTRICT __restrict__

// Before a loop of constant length whose body indexes arrays of vectors: they stay in registers only when it is
// unrolled.
#define FOVEA_PRAGMA_(x) _Pragma(#x)
#if defined(__clang__)
#define FOVEA_UNROLL(n) _Pragma("clang loop unroll(full)")
#else
#define FOVEA_UNROLL(n) FOVEA_PRAGMA_(GCC unroll n)
#endif

#endif  // FOVEA_SRC_SIMD_MACROS_H_
