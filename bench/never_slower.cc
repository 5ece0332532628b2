// SPDX-License-Identifier: Apache-2.0
#include "bench/never_slower.h"

#include <algorithm>

namespace fovea::bench {

double InTurn::ratio() const {
  return *std::min_element(with_option, with_option + kSlowerRounds) /
         *std::min_element(without, without + kSlowerRounds);
}

bool is_slower(double ratio) { return !(ratio <= static_cast<double>(kSlowerNoise)); }

}  // namespace fovea::bench
