// SPDX-License-Identifier: Apache-2.0
//
// The backend of a file of kernels: FOVEA_BACKEND_HEADER is its header of the vocabulary. FOVEA_COMMON_NAMESPACE is the
// namespace of kernels that are compiled once for a target, whether or not others are compiled again for processors that
// run instructions in the order of the text. FOVEA_STANDS_IN says whether the target is there to run where the build's
// better ones do not.

#if FOVEA_FOR_HELIUM + FOVEA_FOR_HIGHWAY + FOVEA_FOR_NEON + FOVEA_FOR_RVV + FOVEA_FOR_SCALAR + FOVEA_FOR_XSIMD != 1
#error "A file of kernels is compiled for one backend at a time: define FOVEA_FOR_<the backend's name> as 1"
#endif

#define FOVEA_STANDS_IN false
#if FOVEA_FOR_HELIUM
#include <arm_mve.h>
#define FOVEA_BACKEND_HEADER "ground/simd/helium.inl"
#define FOVEA_COMMON_NAMESPACE helium_target
#elif FOVEA_FOR_HIGHWAY
#if defined(FOVEA_HIGHWAY_TARGET)
#include "ground/targets/highway_target.h"
#else
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ground/targets/each_target.inl"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#endif
#undef FOVEA_STANDS_IN
#define FOVEA_STANDS_IN (HWY_TARGET == HWY_SSE4 && (HWY_TARGETS & HWY_AVX2) != 0)
#define FOVEA_BACKEND_HEADER "ground/simd/highway.inl"
#define FOVEA_COMMON_NAMESPACE HWY_NAMESPACE
#elif FOVEA_FOR_NEON
#include <arm_neon.h>
#define FOVEA_BACKEND_HEADER "ground/simd/neon.inl"
#define FOVEA_COMMON_NAMESPACE neon_target
#elif FOVEA_FOR_RVV
#include <riscv_vector.h>
#define FOVEA_BACKEND_HEADER "ground/simd/rvv.inl"
#define FOVEA_COMMON_NAMESPACE rvv_target
#elif FOVEA_FOR_SCALAR
#undef FOVEA_STANDS_IN
#define FOVEA_STANDS_IN (FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD)
#if defined(FOVEA_SIMD_HEADER)
#define FOVEA_SIMD_INCLUDES  // the file's own includes, which must be outside of the namespaces
#include FOVEA_SIMD_HEADER
#undef FOVEA_SIMD_INCLUDES
#define FOVEA_BACKEND_HEADER "ground/simd/own.inl"
#else
#define FOVEA_BACKEND_HEADER "ground/simd/scalar.inl"
#endif
#define FOVEA_COMMON_NAMESPACE scalar_target
#else
#include <xsimd/xsimd.hpp>
#define FOVEA_BACKEND_HEADER "ground/simd/xsimd.inl"
#define FOVEA_COMMON_NAMESPACE xsimd_target
#endif
#if FOVEA_FOR_IN_ORDER && FOVEA_WITH_IN_ORDER
#define FOVEA_TARGET_NAMESPACE in_order_target
#else
#define FOVEA_TARGET_NAMESPACE FOVEA_COMMON_NAMESPACE
#endif
