// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_LAYERS_TABLE_H_
#define FOVEA_SRC_INTEGER_LAYERS_TABLE_H_

#include "fovea/fovea.h"

namespace fovea {

// Scales from 2^-100 to 2^100, so that x is finite, and normal where it is not 0. What is computed from it may be
// infinite, and is then clamped like other large numbers; or subnormal, which is far less than a code.
constexpr float kLeastTableScale = 0x1p-100f, kMostTableScale = 0x1p100f;

// A table of codes, of the function activation(x). Arithmetic on codes would take as many bytes, and some ten times the
// three instructions.
struct ActivationTable {
  fovea_activation_kind activation;
  float alpha;  // not 0
  float x_scale, y_scale;
  int32_t x_zero, y_zero;
};
void fill_table(const ActivationTable& table, int8_t* codes);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_LAYERS_TABLE_H_
