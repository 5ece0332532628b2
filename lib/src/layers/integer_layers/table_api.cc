// SPDX-License-Identifier: Apache-2.0
//
// In a separate file: programs with constant tables link no floating point.
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/integer_layers/table.h"
#include "layers/integer_layers/table_resolve.h"

extern "C" fovea_status fovea_integer_activation_table(fovea_activation_kind activation, float alpha, float x_scale,
                                                       int32_t x_zero, float y_scale, int32_t y_zero, int8_t* table) {
  if (!table) return FOVEA_ERR_NULL;
  const fovea::ActivationTable wanted = {activation, alpha == 0.0f ? 1.0f : alpha, x_scale, y_scale, x_zero, y_zero};
  FOVEA_RETURN_IF_ERROR(fovea::check_table(wanted));
  fovea::fill_table(wanted, table);
  return FOVEA_OK;
}
