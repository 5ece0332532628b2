// SPDX-License-Identifier: Apache-2.0
//
// The dot words of each instruction for integer products that processors of the target may have.
#ifndef FOVEA_SRC_SIMD_DOTS_INL_
#define FOVEA_SRC_SIMD_DOTS_INL_

template <class... Dot>
struct DotList {};

#if FOVEA_FOR_SCALAR && FOVEA_HAS_OWN_DOT
#include "ground/simd/dot_own.inl"
using AnyDot = Own;
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD_OF_FLOATS
#include "ground/simd/dot_smlad.inl"
using AnyDot = Smlad;
#elif FOVEA_FOR_HELIUM
#include "ground/simd/dot_helium.inl"
using AnyDot = Helium;
#elif FOVEA_FOR_RVV
#include "ground/simd/dot_vwmacc.inl"
using AnyDot = Vwmacc;
#elif defined(FOVEA_X86_LANES)
#include "ground/simd/dot_pmaddwd.inl"
using AnyDot = Pmaddwd;
#else
#include "ground/simd/dot_floats.inl"
using AnyDot = Floats;
#endif
#if FOVEA_X86_LANES >= 8
#include "ground/simd/dot_maddubs.inl"
#include "ground/simd/dot_vnni.inl"
using Dots = DotList<AnyDot, Vnni>;
using FourBitDots = DotList<Maddubs>;
#elif defined(FOVEA_HAS_NEON_MATRIX_DOT)
#include "ground/simd/dot_sdot.inl"
#include "ground/simd/dot_smmla.inl"
using Dots = DotList<AnyDot, Sdot, Smmla>;
#elif defined(FOVEA_HAS_NEON_DOT)
#include "ground/simd/dot_sdot.inl"
using Dots = DotList<AnyDot, Sdot>;
#else
using Dots = DotList<AnyDot>;
#endif
#if !(FOVEA_X86_LANES >= 8)
using FourBitDots = DotList<>;  // for linear weights of 4 bits alone
#endif

#endif  // FOVEA_SRC_SIMD_DOTS_INL_
