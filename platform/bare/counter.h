// SPDX-License-Identifier: Apache-2.0
//
// The finest counter that a kind of processor has. bare/clock.cc makes a clock of it.
#ifndef FOVEA_PLATFORM_BARE_COUNTER_H_
#define FOVEA_PLATFORM_BARE_COUNTER_H_

#include <cstdint>

namespace fovea::platform {

uint64_t counter();  // never runs backwards if it is read before its source wraps
const char* counter_unit();
const char* counter_source();

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_BARE_COUNTER_H_
