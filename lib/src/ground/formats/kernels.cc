// SPDX-License-Identifier: Apache-2.0
//
// The conversion kernels, compiled once for each target: ground/targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "ground/formats/kernels.h"
#define FOVEA_KERNELS_NAMESPACE convert_kernels
#define FOVEA_KERNELS_FILE "ground/formats/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "ground/formats/convert.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const WidenKernels kWiden = {Widen};
FOVEA_IN_DATA_SECTION const WeightKernels kWidenWeights = {WidenWeights};
FOVEA_IN_DATA_SECTION const NarrowKernels kNarrow = {Narrow};
FOVEA_IN_DATA_SECTION const WriteKernels kWrite = {NarrowAny};
FOVEA_IN_DATA_SECTION const PlainKernels kPlain = {WidenPlain, NarrowPlain};

#endif
