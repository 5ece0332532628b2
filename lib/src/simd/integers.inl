// SPDX-License-Identifier: Apache-2.0
//
// The words for integers of the target, in a namespace `whole`.
#ifndef FOVEA_SRC_SIMD_INTEGERS_INL_
#define FOVEA_SRC_SIMD_INTEGERS_INL_

#if FOVEA_FOR_HELIUM
#include "simd/integer_helium.inl"
#else
#include "simd/integer_scalar.inl"
#endif

#endif  // FOVEA_SRC_SIMD_INTEGERS_INL_
