// SPDX-License-Identifier: Apache-2.0
#include "simd_contract_pages.h"

#include <cstdio>

#include "simd/macros.h"
#include "targets/compiled.h"

namespace fovea_test {

#if FOVEA_WITH_HIGHWAY
namespace N_SSE4 {
extern const SimdTests kSimdTests;
}
namespace N_AVX2 {
extern const SimdTests kSimdTests;
}
namespace N_AVX3 {
extern const SimdTests kSimdTests;
}
namespace N_NEON {
extern const SimdTests kSimdTests;
}
namespace N_WASM {
extern const SimdTests kSimdTests;
}
#endif
#if FOVEA_WITH_XSIMD
namespace xsimd_target {
extern const SimdTests kSimdTests;
}
#endif
#if FOVEA_WITH_HELIUM
namespace helium_target {
extern const SimdTests kSimdTests;
}
#endif
#if FOVEA_WITH_SCALAR
namespace scalar_target {
extern const SimdTests kSimdTests;
}
#endif

namespace {

constexpr bool fuses(fovea_target target) {
#if FOVEA_SCALAR_FUSES
  if (target == FOVEA_TARGET_SCALAR) return true;
#endif
#if defined(__aarch64__) || defined(__ARM_FEATURE_FMA)
  if (target == FOVEA_TARGET_NEON) return true;
#endif
  return target == FOVEA_TARGET_AVX512 || target == FOVEA_TARGET_AVX2 || target == FOVEA_TARGET_HELIUM;
}

const SimdPage kPages[] = {
#if FOVEA_WITH_HIGHWAY
#if FOVEA_COMPILED_AVX512
    {"highway", FOVEA_TARGET_AVX512, fuses(FOVEA_TARGET_AVX512), &N_AVX3::kSimdTests},
#endif
#if FOVEA_COMPILED_AVX2
    {"highway", FOVEA_TARGET_AVX2, fuses(FOVEA_TARGET_AVX2), &N_AVX2::kSimdTests},
#endif
#if FOVEA_COMPILED_SSE4
    {"highway", FOVEA_TARGET_SSE4, fuses(FOVEA_TARGET_SSE4), &N_SSE4::kSimdTests},
#endif
#if FOVEA_COMPILED_NEON
    {"highway", FOVEA_TARGET_NEON, fuses(FOVEA_TARGET_NEON), &N_NEON::kSimdTests},
#endif
#if FOVEA_COMPILED_WASM
    {"highway", FOVEA_TARGET_WASM, fuses(FOVEA_TARGET_WASM), &N_WASM::kSimdTests},
#endif
#endif
#if FOVEA_WITH_XSIMD
    {"xsimd", FOVEA_WITH_HIGHWAY ? FOVEA_TARGET_XSIMD : FOVEA_XSIMD_SERVES, fuses(FOVEA_XSIMD_SERVES),
     &xsimd_target::kSimdTests},
#endif
#if FOVEA_WITH_HELIUM
    {"helium", FOVEA_TARGET_HELIUM, fuses(FOVEA_TARGET_HELIUM), &helium_target::kSimdTests},
#endif
#if FOVEA_WITH_SCALAR
    {"scalar", FOVEA_TARGET_SCALAR, fuses(FOVEA_TARGET_SCALAR), &scalar_target::kSimdTests},
#endif
};

bool offered(fovea_target target) {
  for (uint32_t i = 0; i < fovea_target_count(); ++i) {
    if (fovea_target_at(i) == target) return true;
  }
  return false;
}

}  // namespace

const SimdPage* simd_page(size_t index) {
  for (const SimdPage& page : kPages) {
    if (offered(page.target) && index-- == 0) return &page;
  }
  return nullptr;
}

bool fused(fovea_target target) {
  for (size_t i = 0; const SimdPage* page = simd_page(i); ++i) {
    if (page->target == target) return page->fused;
  }
  return false;
}

void ContractLog::begin(const char* word) {
  word_ = word;
  ++words_;
}

void ContractLog::count(size_t checks) { checks_ += checks; }

void ContractLog::fail(size_t lane, uint32_t got, uint32_t wanted) {
  ++failures_;
  if (failures_ > 20) return;
  const int written =
      std::snprintf(text_ + used_, sizeof text_ - used_, "%s: lane %u is %08x, wanted %08x\n", word_,
                    static_cast<unsigned>(lane), static_cast<unsigned>(got), static_cast<unsigned>(wanted));
  if (written > 0 && used_ + static_cast<size_t>(written) < sizeof text_) used_ += static_cast<size_t>(written);
}

}  // namespace fovea_test
