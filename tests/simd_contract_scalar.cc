// SPDX-License-Identifier: Apache-2.0
//
// The tests of the vocabulary and of the functions over it, on the scalar page.
#include "simd/macros.h"
#include "simd_contract_pages.h"

namespace fovea_test {
namespace scalar_target {
namespace {
// clang-format off
#include "simd/scalar.inl"
#include "simd/common.inl"
#include "formats/rows.inl"
#include "math/block.inl"
#include "math/math.inl"
#include "math/philox.inl"
#include "formats_test.inl"
#include "math_test.inl"
#include "simd_contract.inl"
// clang-format on
}  // namespace

extern const SimdTests kSimdTests;
const SimdTests kSimdTests = {
    kLanes,
    TestWords,
    {EvaluateExp2, EvaluateExp, EvaluateLog, EvaluateTanh},
    PhiloxWords,
    DotOfRow};

}  // namespace scalar_target
}  // namespace fovea_test
