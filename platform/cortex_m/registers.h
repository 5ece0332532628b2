// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PLATFORM_CORTEX_M_REGISTERS_H_
#define FOVEA_PLATFORM_CORTEX_M_REGISTERS_H_

#include <cstdint>

namespace fovea::platform {

inline volatile uint32_t& system_register(uintptr_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_CORTEX_M_REGISTERS_H_
