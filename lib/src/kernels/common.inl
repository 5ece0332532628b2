// SPDX-License-Identifier: Apache-2.0
//
// What every kernel file begins with: the vectors of this target. Included inside the target's namespace, after its page.

using hn::kF;
using hn::kI;
using hn::kLanes;
using hn::MF;
using hn::VF;
using hn::VI;

constexpr float kInfinity = __builtin_inff();
