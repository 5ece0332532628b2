// SPDX-License-Identifier: Apache-2.0
//
// The tests of the vocabulary and of the functions over it, on the Helium page.
#include <arm_mve.h>

#include "simd/macros.h"
#include "simd_contract_pages.h"

namespace fovea_test {
namespace helium_target {
namespace {
// clang-format off
#include "simd/helium.inl"
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

}  // namespace helium_target
}  // namespace fovea_test
