// SPDX-License-Identifier: Apache-2.0
//
// How the kernels are compiled, where the language cannot express it.
#ifndef FOVEA_SRC_SIMD_MACROS_H_
#define FOVEA_SRC_SIMD_MACROS_H_

#include "fovea/fovea_config.h"

// Whether scalar code fuses multiply-adds: where the processor does it in one instruction, whatever the compiler. clang
// never defines __FP_FAST_FMAF.
#if defined(__FP_FAST_FMAF) || defined(__aarch64__) || (defined(__ARM_FEATURE_FMA) && (__ARM_FP & 4) != 0) || \
    defined(__FMA__) || (defined(__riscv_flen) && __riscv_flen >= 32) || defined(__riscv_zfinx) ||           \
    (defined(__powerpc__) && !defined(_SOFT_FLOAT) && !defined(__NO_FPRS__)) || defined(__s390x__) ||        \
    (defined(__loongarch_frlen) && __loongarch_frlen >= 32)
#define FOVEA_SCALAR_FUSES 1
#else
#define FOVEA_SCALAR_FUSES 0
#endif

// Whether multiply-adds of the vocabulary of FOVEA_SIMD_HEADER round once.
#ifndef FOVEA_SIMD_FUSES
#define FOVEA_SIMD_FUSES FOVEA_SCALAR_FUSES
#endif

// In a class a static member; FOVEA_MEMBER is a member that reads the object.
#define FOVEA_INLINE static inline __attribute__((always_inline, unused))
#define FOVEA_MEMBER inline __attribute__((always_inline))
#define FOVEA_RESTRICT __restrict__

// Separate functions: entries, and functions that are called, not inlined.
#define FOVEA_KERNEL static FOVEA_IN_CODE_SECTION
#define FOVEA_CALLED FOVEA_KERNEL __attribute__((noinline, unused))
// Before these in a class template over `Type`: g++ before 13 forgets the section of a template, but for one that
// depends on a parameter.
#if defined(FOVEA_CODE_SECTION) && !defined(__clang__) && __GNUC__ < 13
#define FOVEA_SECTION_OF(Type) \
  __attribute__((section(sizeof(Type*) != 0 ? FOVEA_CODE_SECTION : FOVEA_CODE_SECTION)))
#else
#define FOVEA_SECTION_OF(Type)
#endif
// Inlined for speed, called for size.
#if FOVEA_PREFER_SIZE
#define FOVEA_SHARED FOVEA_CALLED
#else
#define FOVEA_SHARED FOVEA_INLINE
#endif
// The same, but where size counts inlined nevertheless by builds that call it once.
#if FOVEA_PREFER_SIZE
#define FOVEA_SHARED_IF_MANY FOVEA_KERNEL __attribute__((unused))
#else
#define FOVEA_SHARED_IF_MANY FOVEA_INLINE
#endif
// Function templates; and those that are called, so that each has its own stack frame. g++ before 13 ignores the
// section of a template: then they are inlined.
#if defined(FOVEA_CODE_SECTION)
#define FOVEA_TEMPLATE FOVEA_INLINE
#define FOVEA_CALLED_TEMPLATE FOVEA_INLINE
#else
#define FOVEA_TEMPLATE static
#define FOVEA_CALLED_TEMPLATE static __attribute__((noinline))
#endif
// A function template that is FOVEA_SHARED.
#if FOVEA_PREFER_SIZE
#define FOVEA_SHARED_TEMPLATE FOVEA_CALLED_TEMPLATE
#else
#define FOVEA_SHARED_TEMPLATE FOVEA_INLINE
#endif

// Hides from the compiler where a pointer comes from, so that addresses are computed from the pointer, not from its
// origin.
#define FOVEA_OPAQUE(p) asm("" : "+r"(p))
// What follows in the file is compiled with these options of g++.
#define FOVEA_PRAGMA_(x) _Pragma(#x)
#if defined(__clang__)
#define FOVEA_GNU_OPTIONS(...)
#else
#define FOVEA_GNU_OPTIONS(...) FOVEA_PRAGMA_(GCC optimize(__VA_ARGS__))
#endif

// Before a loop of constant length whose body indexes arrays of vectors: these stay in registers only if it is
// unrolled.
#if defined(__clang__)
#define FOVEA_UNROLL(n) _Pragma("clang loop unroll(full)")
#else
#define FOVEA_UNROLL(n) FOVEA_PRAGMA_(GCC unroll n)
#endif
// The loop over v = 0 to n - 1, where n is a constant, unrolled. v has the type of n.
#define FOVEA_EACH(v, n) \
  FOVEA_UNROLL(64)       \
  for (auto v = decltype((n) + 0){}; v < (n); ++v)
// Unrolls by a constant of at least 1; 1 leaves the loop as it is.
#if defined(__clang__)
#define FOVEA_UNROLL_BY(n) FOVEA_PRAGMA_(clang loop unroll_count(n))
#else
#define FOVEA_UNROLL_BY(n) FOVEA_UNROLL(n)
#endif
// Unrolled only for speed; and for a loop of any length, whose end is then tested every n rounds.
#if FOVEA_PREFER_SIZE
#define FOVEA_UNROLL_FOR_SPEED(n)
#define FOVEA_UNROLL_LONG_LOOP(n)
#else
#define FOVEA_UNROLL_FOR_SPEED(n) FOVEA_UNROLL(n)
#define FOVEA_UNROLL_LONG_LOOP(n) FOVEA_UNROLL_BY(n)
#endif

#endif  // FOVEA_SRC_SIMD_MACROS_H_
