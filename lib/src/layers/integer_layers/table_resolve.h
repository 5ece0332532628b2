// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_LAYERS_TABLE_RESOLVE_H_
#define FOVEA_SRC_INTEGER_LAYERS_TABLE_RESOLVE_H_

#include "ground/base/codes.h"
#include "ground/base/finite.h"
#include "layers/integer_layers/table.h"

namespace fovea {

inline fovea_status check_table(const ActivationTable& t) {
  if (uint32_t(t.activation) > FOVEA_ACTIVATION_TANH) return FOVEA_ERR_ENUM;
  const auto is_scale = [](float x) { return x >= kLeastTableScale && x <= kMostTableScale; };
  if (!is_scale(t.x_scale) || !is_scale(t.y_scale) || !is_finite(t.alpha)) return FOVEA_ERR_NUMBER;
  return is_i8_code(t.x_zero) && is_i8_code(t.y_zero) ? FOVEA_OK : FOVEA_ERR_NUMBER;
}

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_LAYERS_TABLE_RESOLVE_H_
