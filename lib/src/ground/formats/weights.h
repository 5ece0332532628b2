// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_FORMATS_WEIGHTS_H_
#define FOVEA_SRC_FORMATS_WEIGHTS_H_

#include "fovea/fovea.h"
#include "ground/base/buffers.h"

namespace fovea {

// Adds the arrays of a layer's weights.
fovea_status add_weights(Buffers& buffers, const fovea_linear_weights& weights, size_t in_dim, size_t out_dim);

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_WEIGHTS_H_
