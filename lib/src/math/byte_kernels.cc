// SPDX-License-Identifier: Apache-2.0
//
// The functions of math/byte_kernels.h, compiled once for each target that has them: targets/each_target.inl includes
// this file again. Empty for the other targets.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "math/byte_kernels.h"
#if FOVEA_FOR_HELIUM
#define FOVEA_KERNELS_NAMESPACE byte_kernels
#define FOVEA_KERNELS_FILE "math/byte_kernels.cc"
#include "targets/each_target.inl"
#endif
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "simd/dot_helium.inl"
using dot = Helium;
#include "math/dot_chunks_helium.inl"
#include "math/dot_rows_helium.inl"
// clang-format on
}  // namespace

FOVEA_IN_CODE_SECTION void multiply_rows(const int8_t* x, size_t columns, const int8_t* row, ptrdiff_t stride,
                                         uint32_t count, size_t dim, bool goes_on, int32_t* sums, size_t wanted) {
  MultiplyRows(x, columns, {row, stride}, count, dim, goes_on, sums, wanted);
}

#endif
