// SPDX-License-Identifier: Apache-2.0
//
// The tests of the vocabulary and of the functions over it, on each of Highway's targets: foreach_target includes this
// file once for each.
#include "simd/highway_targets.h"
#include "simd_contract_pages.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_contract_highway.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace fovea_test {
namespace HWY_NAMESPACE {
namespace {
// clang-format off
#include "simd/highway.inl"
#include "simd/common.inl"
#include "formats/rows.inl"
#include "math/block.inl"
#include "math/math.inl"
#include "math/philox.inl"
#include "formats_test.inl"
#include "math_test.inl"
#include "simd_contract.inl"
#include "simd_contract_lanes.inl"
// clang-format on

void Contract(ContractLog& log, const ContractMemory& memory, bool fused) {
  TestWords(log, memory, fused);
  TestWordsOfSeveralLanes(log);
}
}  // namespace

extern const SimdTests kSimdTests;
const SimdTests kSimdTests = {
    kLanes,
    Contract,
    {EvaluateExp2, EvaluateExp, EvaluateLog, EvaluateTanh},
    PhiloxWords,
    DotOfRow};

}  // namespace HWY_NAMESPACE
}  // namespace fovea_test
HWY_AFTER_NAMESPACE();
#endif
