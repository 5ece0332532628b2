// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_CODES_H_
#define FOVEA_SRC_BASE_CODES_H_

#include <stdint.h>

namespace fovea {

// Whether a zero point is a code of a tensor of I8.
inline bool is_i8_code(int32_t zero) { return zero >= INT8_MIN && zero <= INT8_MAX; }

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_CODES_H_
