// SPDX-License-Identifier: Apache-2.0
//
// The contract of the kernels' vocabulary, on each target that this machine runs.
#include "simd_tests.h"
#include "support/test.h"

using fovea_test::ContractLog;
using fovea_test::ContractMemory;
using fovea_test::Guarded;
using fovea_test::Placement;
using fovea_test::targets;

TEST_CASE("simd: every word means on every target what VOCABULARY.md says", "[short][simd]") {
  constexpr size_t kBytes = 512;
  const Guarded at_start(kBytes, 64, Placement::kStart), at_end(kBytes, 64, Placement::kEnd);
  const ContractMemory memory = {at_start.as<uint8_t>(), at_end.as<uint8_t>() + kBytes};
  std::vector<fovea_target> all = targets();
  if (FOVEA_WITH_IN_ORDER) all.push_back(FOVEA_TARGET_NEON_IN_ORDER);  // which any processor runs
  for (const fovea_target target : all) {
    const char* const name = fovea_target_name(target);
    fovea_test::set_current_case(std::string("simd contract, ") + name);
    ContractLog log;
    fovea::simd_tests(target).contract(log, memory, fovea_test::fuses(target));
    INFO(name << ": " << log.failures() << " failures in " << log.checks() << " checks, the first ones:\n"
              << log.text());
    if (log.skipped()) fovea_test::skip(std::string(name) + ": the processor has no " + log.skipped());
    CHECK(log.failures() == 0);
    CHECK(log.checks() > 10000);
  }
}

TEST_CASE("simd: the kernels of a target have the lanes that it is planned with", "[short][simd]") {
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    CHECK(fovea::simd_tests(target).lanes == fovea_test::lanes(target));
  }
}
