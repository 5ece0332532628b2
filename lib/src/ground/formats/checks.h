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
inline fovea_status add_weights(Buffers& buffers, const fovea_linear_weights& w, size_t in_dim, size_t out_dim) {
  const fovea_in rows = {w.data, 0, 0, w.row_stride};
  buffers.add_input(rows, unit_bytes(w.dtype), {1, 1, out_dim}, dense_stride(w.dtype, in_dim));
  if (w.scales) {
    const size_t row = dense_scale_stride(w.dtype, in_dim);
    const fovea_in scales = {w.scales, 0, 0, ptrdiff_t(row)};
    buffers.add_input(scales, scale_bytes(w.dtype), {1, 1, out_dim}, row);
  }
  buffers.add_list(w.bias_i32, sizeof(int32_t), out_dim);
  return buffers.add_list(w.bias, sizeof(float), out_dim);
}

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_CHECKS_H_
