// SPDX-License-Identifier: Apache-2.0
//
// Tells the compiler how to compute. Each source file includes this first, so that files which are compiled by hand, or
// in an IDE, give the same bits as the library's own build. Results are the same on all machines only if the compiler
// neither fuses nor reorders on its own.
#ifndef FOVEA_SRC_BASE_ARITHMETIC_H_
#define FOVEA_SRC_BASE_ARITHMETIC_H_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "fovea is written in C++17: compile it with -std=gnu++17 or a later standard"
#else

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-trapping-math")
#if defined(__thumb__) && !defined(__thumb2__)
// On Armv6-M g++ 12 believes that a function of the same file leaves r1 to r3 as they were, though its last instruction
// pops into them to free its frame: a caller then passes the wrong argument to its next call.
#pragma GCC optimize("no-ipa-ra")
#endif
#else
#error "fovea is compiled by g++ or clang"
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "fovea needs infinities and NaNs as IEEE has them: compile without -ffast-math"
#endif

// __FLT_EVAL_METHOD__ is 16 where float is not widened (as with 0), and a half-precision type is not widened either.
static_assert(__FLT_EVAL_METHOD__ == 0 || __FLT_EVAL_METHOD__ == 16,
              "fovea needs float arithmetic that rounds to float (FLT_EVAL_METHOD 0): on 32-bit x86, whose x87 unit "
              "does not, compile with -msse2 -mfpmath=sse");

#endif  // C++17
#endif  // FOVEA_SRC_BASE_ARITHMETIC_H_
