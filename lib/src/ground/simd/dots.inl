// SPDX-License-Identifier: Apache-2.0
//
// The dot words of each instruction for integer products that processors of the target may have. FOVEA_OWN_I8 is the file
// of what attention does in another way by one of them.
#ifndef FOVEA_SRC_SIMD_DOTS_INL_
#define FOVEA_SRC_SIMD_DOTS_INL_

template <class... Dot>
struct DotList {};

#if defined(FOVEA_X86_LANES) && !defined(__clang__)
#pragma GCC diagnostic push  // GCC 12 warns of what its own headers for AVX-512 leave undefined
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if FOVEA_FOR_SCALAR && FOVEA_HAS_OWN_DOT
#include "ground/simd/dot_own.inl"
using AnyDot = Own;
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD_OF_FLOATS
#include "ground/simd/dot_smlad.inl"
#define FOVEA_OWN_I8 "core/attention/i8/own_smlad.inl"
using AnyDot = Smlad;
#elif FOVEA_FOR_HELIUM
#include "ground/simd/dot_helium_row.inl"
#define FOVEA_OWN_I8 "core/attention/i8/own_helium.inl"
using AnyDot = Helium;
using DotsOfAttention = DotList<HeliumRow>;
#elif FOVEA_FOR_RVV
#include "ground/simd/dot_vwmacc.inl"
#define FOVEA_OWN_I8 "core/attention/i8/own_rvv.inl"
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
#elif FOVEA_FOR_NEON && FOVEA_WITH_NEON_DOTPROD
#include "ground/simd/dot_sdot.inl"
#define FOVEA_OWN_I8 "core/attention/i8/own_neon64.inl"
#if FOVEA_WITH_NEON_I8MM
#include "ground/simd/dot_smmla.inl"
using Dots = DotList<AnyDot, Sdot, Smmla>;
#else
using Dots = DotList<AnyDot, Sdot>;
#endif
#else
using Dots = DotList<AnyDot>;
#endif
#if defined(FOVEA_X86_LANES) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#if !FOVEA_FOR_HELIUM
using DotsOfAttention = Dots;
#endif
#if !(FOVEA_X86_LANES >= 8)
using FourBitDots = DotList<>;  // for linear weights of few bits alone
#endif

#endif  // FOVEA_SRC_SIMD_DOTS_INL_
