// SPDX-License-Identifier: Apache-2.0
//
// What programs without an operating system may ask of the memory protection unit.
#ifndef FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_
#define FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_

#include <cstddef>

namespace fovea::platform {

constexpr size_t kForbiddenBytes = 1024;

// From now on every touch of the kForbiddenBytes bytes at `begin` is a fault, until allow_memory(begin). begin: a multiple
// of kForbiddenBytes in the heap. Returns whether it is so: not on a chip without the unit, nor when its regions, 7 or 15
// mostly, are all in use.
bool forbid_memory(const void* begin);
void allow_memory(const void* begin);  // forbidden or not

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_
