// SPDX-License-Identifier: Apache-2.0
//
// Forbids memory by the memory protection unit, for programs without an operating system.
#ifndef FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_
#define FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_

#include <cstddef>

namespace fovea::platform {

constexpr size_t kForbiddenBytes = 1024;

// Makes every access to the kForbiddenBytes bytes at `begin` fault, until allow_memory(begin). begin is a multiple of
// kForbiddenBytes in the heap. Returns false on a chip without the unit, and when its regions (mostly 7 or 15) are all
// in use.
bool forbid_memory(const void* begin);
void allow_memory(const void* begin);  // does nothing if it is allowed already

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_CORTEX_M_PROTECTION_H_
