// SPDX-License-Identifier: Apache-2.0
//
// The kernels of streams, compiled once for each target: targets/each_target.inl includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include "attention/stream_kernels.h"
#define FOVEA_KERNELS_FILE "attention/stream_kernels.cc"
#include "targets/each_target.inl"
#else

namespace {
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "math/math.inl"
#include "formats/rows.inl"
#include "attention/rows.inl"
#include "attention/stream.inl"
// clang-format on
}  // namespace

FOVEA_IN_DATA_SECTION const StreamKernels kStream = kStreamKernels;

#endif
