// SPDX-License-Identifier: Apache-2.0
//
// The kernel of all-integer attention. A build has one: in the namespace of the target whose words it uses, or of no
// target.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/integer/kernels.h"
#define FOVEA_KERNELS_NAMESPACE integer_kernels
#define FOVEA_KERNELS_FILE "layers/integer/kernels.cc"
#include "ground/targets/one_target.inl"
#else

namespace {
// clang-format off
#if defined(FOVEA_BACKEND_HEADER)
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#endif
#include "layers/integer/block.inl"
// clang-format on
}  // namespace

FOVEA_IN_CODE_SECTION void attend_integer_block(const IntegerBlock& block) { AttendBlock(block); }

#endif
