// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_FORMATS_CHECKS_H_
#define FOVEA_SRC_FORMATS_CHECKS_H_

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/formats/formats.h"

namespace fovea {

// Checks a type of elements that have no scales.
inline fovea_status check_unscaled(fovea_dtype dtype) {
  if (!is_dtype(dtype)) return FOVEA_ERR_ENUM;
  return is_unscaled(dtype) ? FOVEA_OK : unserved(dtype);
}

// Adds the arrays of a layer's weights.
fovea_status add_weights(Buffers& buffers, const fovea_linear_weights& weights, size_t in_dim, size_t out_dim);

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_CHECKS_H_
