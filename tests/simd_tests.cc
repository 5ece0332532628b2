// SPDX-License-Identifier: Apache-2.0
#include "simd_tests.h"

#include <cstdio>

#include "ground/targets/registry.h"

namespace fovea_test {

bool fuses(fovea_target target) { return fovea::fuses(target == FOVEA_TARGET_BEST ? fovea_target_at(0) : target); }

void ContractLog::begin(const char* word) { word_ = word; }

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
