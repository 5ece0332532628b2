// SPDX-License-Identifier: Apache-2.0
//
// The contract of the kernels' vocabulary, on each page that this machine runs.
#include <cstring>
#include <string>

#include "catch.h"
#include "simd_contract_pages.h"
#include "support/guarded.h"

using fovea_test::ContractLog;
using fovea_test::ContractMemory;
using fovea_test::Guarded;
using fovea_test::Placement;
using fovea_test::simd_page;
using fovea_test::SimdPage;

TEST_CASE("simd: every word means on every page what VOCABULARY.md says", "[short][simd]") {
  constexpr size_t kBytes = 512;
  const Guarded at_start(kBytes, 64, Placement::kStart), at_end(kBytes, 64, Placement::kEnd);
  const ContractMemory memory = {at_start.as<uint8_t>(), at_end.as<uint8_t>() + kBytes};
  size_t index = 0;
  while (const SimdPage* page = simd_page(index++)) {
    const std::string name = std::string(fovea_target_name(page->target)) + " (" + page->backend + ")";
    fovea_test::set_current_case("simd contract, " + name);
    ContractLog log;
    page->tests->contract(log, memory, page->fused);
    INFO(name << ": " << log.failures() << " failures in " << log.checks() << " checks, the first ones:\n"
              << log.text());
    CHECK(log.failures() == 0);
    CHECK(log.checks() > 10000);
  }
  CHECK(index > 1);
}

TEST_CASE("simd: a page has the lanes that its target is planned with", "[short][simd]") {
  size_t index = 0;
  while (const SimdPage* page = simd_page(index++)) {
    INFO(fovea_target_name(page->target));
    switch (page->target) {
      case FOVEA_TARGET_AVX512: CHECK(page->tests->lanes == 16); break;
      case FOVEA_TARGET_AVX2: CHECK(page->tests->lanes == 8); break;
      case FOVEA_TARGET_SSE4:
      case FOVEA_TARGET_NEON:
      case FOVEA_TARGET_HELIUM:
      case FOVEA_TARGET_WASM: CHECK(page->tests->lanes == 4); break;
      case FOVEA_TARGET_SCALAR: CHECK(page->tests->lanes == 1); break;
      default: CHECK(page->tests->lanes > 1); break;
    }
  }
}
