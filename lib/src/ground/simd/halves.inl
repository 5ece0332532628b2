// SPDX-License-Identifier: Apache-2.0
//
// The half words of the target: FloatHalves compute by f32 arithmetic, OwnHalves by arithmetic of halves that its
// processors may have. In addition to types and functions, words have
//   kLanes, kPieces            the lanes of a vector, and the vectors of floats that it becomes
//   kBlockVectors, kRows       the largest register block
//   kReads                     the elements that LoadE reads
//   kByScalars                 elements are scalars in general registers, which have kernels of their own
//   kServesFewRows             kernels for few rows are worth it
#ifndef FOVEA_SRC_SIMD_HALVES_INL_
#define FOVEA_SRC_SIMD_HALVES_INL_

// No words, and no kernels of them.
struct NoHalves {
  static constexpr int kRows = 0;
  static constexpr bool kServesFewRows = false;
};

#if FOVEA_FOR_HELIUM  // all processors have arithmetic of halves
#include "ground/simd/half_helium.inl"
using FloatHalves = NoHalves;
using OwnHalves = HeliumHalves;
#else
#include "ground/simd/half_portable.inl"
#if FOVEA_FOR_NEON && FOVEA_WITH_NEON_FP16
#include "ground/simd/half_neon64.inl"
using OwnHalves = NeonHalves;
#elif FOVEA_X86_LANES == 16 && FOVEA_WITH_FP16_BY_FLAGS
#include "ground/simd/half_avx512.inl"
using OwnHalves = Avx512Halves;
#elif FOVEA_FOR_RVV && FOVEA_WITH_FP16_BY_FLAGS
#include "ground/simd/half_rvv.inl"
using OwnHalves = ZvfhHalves;
#else
using OwnHalves = NoHalves;
#endif
#endif

#endif  // FOVEA_SRC_SIMD_HALVES_INL_
