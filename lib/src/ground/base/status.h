// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_STATUS_H_
#define FOVEA_SRC_BASE_STATUS_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

constexpr bool kHasText = config::kText;  // whether texts of statuses and plans are compiled

}  // namespace fovea

#define FOVEA_RETURN_IF_ERROR(expression)                  \
  do {                                                     \
    const fovea_status status_of_step = (expression);      \
    if (status_of_step != FOVEA_OK) return status_of_step; \
  } while (false)

#endif  // FOVEA_SRC_BASE_STATUS_H_
