// SPDX-License-Identifier: Apache-2.0
//
// What every kernel file begins with: the vectors of this target. Included inside the target's namespace, after its
// page.

using hn::kF;
using hn::kI;
using hn::kLanes;
using hn::MF;
using hn::VF;
using hn::VI;

constexpr bool kPreferSize = ::fovea::config::kPreferSize;
constexpr size_t kCacheLine = 64;  // bytes
constexpr float kInfinity = __builtin_inff();
constexpr float kLowest = -3.40282347e38f;  // -FLT_MAX
