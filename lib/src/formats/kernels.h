// SPDX-License-Identifier: Apache-2.0
//
// The seam of the kernels that convert rows of a format from and to f32.
#ifndef FOVEA_SRC_FORMATS_KERNELS_H_
#define FOVEA_SRC_FORMATS_KERNELS_H_

#include "formats/formats.h"
#include "targets/choice.h"

namespace fovea {

// Any count may be 0. Nothing may overlap. scales is read where the format has some.

// Elements [first, first + dim) of each row. first is a multiple of kScaleGroup, or all of them lie in one group.
struct WidenRows {
  size_t rows, dim;
  float* out;
  ptrdiff_t out_stride;
  const void* data;
  ptrdiff_t stride;
  const void* scales;
  ptrdiff_t scale_stride;
  size_t first = 0;
};

struct NarrowRows {
  size_t rows, dim;
  void* data;
  ptrdiff_t stride;
  void* scales;
  ptrdiff_t scale_stride;
  const float* in;
  ptrdiff_t in_stride;
};

// For every format that is served, but keys' formats alone are narrowed to; rows of f32 are copied.
struct ConvertKernels {
  void (*widen)(fovea_dtype, const WidenRows&);
  void (*narrow)(fovea_dtype, const NarrowRows&);
};

FOVEA_TABLES(ConvertKernels, kConvert, convert_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_KERNELS_H_
