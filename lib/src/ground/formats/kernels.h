// SPDX-License-Identifier: Apache-2.0
//
// The interface of the kernels that convert rows to f32 and from it.
#ifndef FOVEA_SRC_FORMATS_KERNELS_H_
#define FOVEA_SRC_FORMATS_KERNELS_H_

#include "ground/base/strides.h"
#include "ground/formats/formats.h"
#include "ground/targets/choice.h"

namespace fovea {

// Any count may be 0. Arrays must not overlap. `scales` is read only if the format has scales.

// Elements [first, first + dim) of each row. first is a multiple of kScaleGroup, or all of them are in one group.
struct RowsToWiden {
  size_t rows, dim;
  float* out;
  ptrdiff_t out_stride;
  const void* data;
  ptrdiff_t stride;
  const void* scales;
  ptrdiff_t scale_stride;
  size_t first = 0;
};

struct RowsToNarrow {
  size_t rows, dim;
  void* data;
  ptrdiff_t stride;
  void* scales;
  ptrdiff_t scale_stride;
  const float* in;
  ptrdiff_t in_stride;
};

// Rows of f32 are copied. Each has a table, because most programs only widen keys: formats that only weights have would be
// in their images, too.
struct WidenKernels {
  void (*widen)(fovea_dtype, const RowsToWiden&);  // a format of keys
};
struct WeightKernels {
  void (*widen_weights)(fovea_dtype, const RowsToWiden&);  // any format that is served
};
struct NarrowKernels {
  void (*narrow)(fovea_dtype, const RowsToNarrow&);  // a format of keys
};
struct WriteKernels {
  void (*narrow_any)(fovea_dtype, const RowsToNarrow&);  // one of kWrittenFormats
};
// Elements of a row in a format without scales, which is not f32.
struct PlainKernels {
  void (*widen)(fovea_dtype, const void* from, size_t count, float* to);
  void (*narrow)(fovea_dtype, const float* from, size_t count, void* to);
};

FOVEA_TABLES_IN(WidenKernels, kWiden, convert_kernels, widen_kernels)
FOVEA_TABLES_IN(WeightKernels, kWidenWeights, convert_kernels, weight_kernels)
FOVEA_TABLES_IN(PlainKernels, kPlain, convert_kernels, plain_kernels)
FOVEA_TABLES_IN(NarrowKernels, kNarrow, convert_kernels, narrow_kernels)
FOVEA_TABLES_IN(WriteKernels, kWrite, convert_kernels, write_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_FORMATS_KERNELS_H_
