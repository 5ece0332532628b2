// SPDX-License-Identifier: Apache-2.0
//
// Includes FOVEA_HALF_FILE once for each way in which processors of the target may multiply halves. There
//   FOVEA_HALF_WORDS      is the header with the half words
//   FOVEA_HALF_NAMESPACE  is a namespace for what is made of them: of_floats by f32 arithmetic, or of_halves

#if !FOVEA_FOR_HELIUM
#define FOVEA_HALF_NAMESPACE of_floats
#define FOVEA_HALF_WORDS "simd/half_portable.inl"
#include FOVEA_HALF_FILE
#undef FOVEA_HALF_NAMESPACE
#undef FOVEA_HALF_WORDS
#endif
#if FOVEA_FOR_HELIUM || defined(FOVEA_HAS_NEON_HALF) || defined(FOVEA_HAS_AVX512_HALF)
#define FOVEA_HAS_HALVES
#if !defined(FOVEA_HAS_AVX512_HALF)
#define FOVEA_HAS_FEW_HALVES  // and there are kernels for few rows, which transpose vectors of 8
#endif
#define FOVEA_HALF_NAMESPACE of_halves
#if FOVEA_FOR_HELIUM
#define FOVEA_HALF_WORDS "simd/half_helium.inl"
#elif defined(FOVEA_HAS_AVX512_HALF)
#define FOVEA_HALF_WORDS "simd/half_avx512.inl"
#else
#define FOVEA_HALF_WORDS "simd/half_neon64.inl"
#endif
#include FOVEA_HALF_FILE
#undef FOVEA_HALF_NAMESPACE
#undef FOVEA_HALF_WORDS
#endif

#undef FOVEA_HALF_FILE
