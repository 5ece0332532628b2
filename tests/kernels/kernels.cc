// SPDX-License-Identifier: Apache-2.0
//
// The tests of the vocabulary and of the functions over it, compiled once for each target: ground/targets/each_target.inl
// includes this file again.
#if !defined(FOVEA_IN_TARGET)
#include <initializer_list>

#include "core/attention/kernels.h"
#include "ground/formats/formats.h"
#include "platform/platform.h"
#include "simd_tests.h"
#define FOVEA_KERNELS_NAMESPACE simd_tests
#define FOVEA_KERNELS_FILE "kernels/kernels.cc"
#include "ground/targets/each_target.inl"
#else

namespace {
using fovea_test::ContractLog;
using fovea_test::ContractMemory;
// clang-format off
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#include "ground/formats/rows.inl"
#include "ground/math/block.inl"
#include "ground/math/math.inl"
#include "ground/math/philox.inl"
#include "kernels/formats.inl"
#include "kernels/math.inl"
#include "kernels/contract.inl"
#include "kernels/dots.inl"
#include "kernels/halves.inl"
#include "kernels/integers.inl"
#include "kernels/widen_groups.inl"
#if !FOVEA_FOR_SCALAR || FOVEA_SIMD_LANES > 1
#include "kernels/contract_lanes.inl"
#endif
// clang-format on

void Contract(ContractLog& log, const ContractMemory& memory, bool fused) {
  TestWords(log, memory, fused);
  dots::TestDots(log, memory);
  halves::TestHalves(log, memory);
  integer_words::TestIntegers(log, memory);
  widen_groups::TestWidenGroups(log, memory);
#if !FOVEA_FOR_SCALAR || FOVEA_SIMD_LANES > 1
  TestWordsOfSeveralLanes(log, memory);
#endif
}
}  // namespace

const fovea_test::SimdTests kSimdTests = {
    kLanes,
    Contract,
    {EvaluateExp2, EvaluateShortExp2, EvaluateExp, EvaluateLog, EvaluateTanh, EvaluateSigmoid, EvaluateGeluLess},
    PhiloxWords,
    DotOfRow};

#endif
