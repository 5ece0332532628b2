// SPDX-License-Identifier: Apache-2.0
//
// The seam of the kernels that convert rows of keys and values from and to f32.
#ifndef FOVEA_SRC_FORMATS_KERNELS_H_
#define FOVEA_SRC_FORMATS_KERNELS_H_

#include "formats/formats.h"
#include "targets/choice.h"

namespace fovea {

// Any counts may be 0. Nothing may overlap. scales is used by i8 and i4 alone. Elements are [first, first + dim) of each
// row, where first is a multiple of kI4Group, or all of them lie in one group.
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

// By fovea_dtype; that of f32 copies. Null where format_served is false.
struct ConvertKernels {
  void (*widen[kDtypes])(const WidenRows&);
  void (*narrow[kDtypes])(const NarrowRows&);
};

FOVEA_TABLES(ConvertKernels, kConvert, convert_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_KERNELS_H_
