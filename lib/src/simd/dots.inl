// SPDX-License-Identifier: Apache-2.0
//
// The dot words of each instruction for integer products that processors of the target may have.
#ifndef FOVEA_SRC_SIMD_DOTS_INL_
#define FOVEA_SRC_SIMD_DOTS_INL_

#if FOVEA_FOR_SCALAR && FOVEA_HAS_OWN_DOT
#include "simd/dot_own.inl"
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD_OF_FLOATS
#include "simd/dot_smlad.inl"
#elif FOVEA_FOR_HELIUM
#include "simd/dot_helium.inl"
#elif FOVEA_FOR_RVV
#include "simd/dot_vwmacc.inl"
#elif defined(FOVEA_DOT_LANES)
#include "simd/dot_pmaddwd.inl"
#else
#include "simd/dot_floats.inl"
#endif
#if FOVEA_DOT_LANES >= 8
#include "simd/dot_vnni.inl"
#endif
#if defined(FOVEA_HAS_NEON_DOT)
#include "simd/dot_sdot.inl"
#endif
#if defined(FOVEA_HAS_NEON_MATRIX_DOT)
#include "simd/dot_smmla.inl"
#endif

#endif  // FOVEA_SRC_SIMD_DOTS_INL_
