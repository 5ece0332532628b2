// SPDX-License-Identifier: Apache-2.0
//
// The functions of the kernels of sums, products and pooling. Rows are in any format without scales.
#ifndef FOVEA_SRC_TENSORS_KERNELS_H_
#define FOVEA_SRC_TENSORS_KERNELS_H_

#include <stddef.h>

#include "ground/formats/formats.h"
#include "ground/targets/choice.h"

namespace fovea {

struct PairRow {
  fovea_dtype y_dtype, a_dtype, b_dtype;
  void* y;  // may be a or b
  const void *a, *b;
  size_t dim;
};

// y = the sum of rows that are stride bytes apart, divided by their number; zeros if there is none.
struct MeanRow {
  fovea_dtype y_dtype, x_dtype;
  void* y;
  const void* x;
  size_t tokens, dim;
  ptrdiff_t stride;
};

struct TensorKernels {
  void (*add)(const PairRow&);
  void (*multiply)(const PairRow&);
  void (*mean)(const MeanRow&);
};

FOVEA_TABLES(TensorKernels, kTensors, tensor_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_TENSORS_KERNELS_H_
