// SPDX-License-Identifier: Apache-2.0
//
// The conversion kernels, compiled once for each target: targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "formats/kernels.h"
#define FOVEA_KERNELS_NAMESPACE convert_kernels
#define FOVEA_KERNELS_FILE "formats/kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "formats/convert.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const WidenKernels kWiden = {Widen};
FOVEA_IN_DATA_SECTION const WeightKernels kWidenWeights = {WidenWeights};
FOVEA_IN_DATA_SECTION const NarrowKernels kNarrow = {Narrow};
FOVEA_IN_DATA_SECTION const PlainKernels kPlain = {WidenPlain, NarrowPlain};

#endif
