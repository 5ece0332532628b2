// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "ground/formats/kernels.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

fovea_status check_rows(const float* x, size_t rows, size_t dim, fovea_dtype dtype, void* data, void* scales) {
  if (!is_dtype(dtype)) return FOVEA_ERR_ENUM;
  constexpr FormatSet kEvery = kEveryKeyFormat | FormatSet{1} << FOVEA_Q4_1;
  if (!is_one_of<kWrittenFormats>(dtype)) return unserved<kEvery>(dtype);
  if (dim == 0) return FOVEA_ERR_DIM;
  const RowCounts counts = {1, 1, rows};
  const size_t row = dense_stride(dtype, dim), scale_row = dense_scale_stride(dtype, dim);
  Buffers buffers;
  buffers.add_output({data, 0, 0, ptrdiff_t(row)}, unit_bytes(dtype), counts, row);
  if (scale_row != 0) buffers.add_output({scales, 0, 0, ptrdiff_t(scale_row)}, scale_bytes(dtype), counts, scale_row);
  return buffers.add_input({x, 0, 0, ptrdiff_t(dim)}, sizeof *x, counts, dim);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_quantize_rows(const float* x, size_t rows, size_t dim, fovea_dtype dtype, void* data,
                                            void* scales) {
  using namespace fovea;
  FOVEA_RETURN_IF_ERROR(check_rows(x, rows, dim, dtype, data, scales));
  const TargetTraits* const traits = resolve_target(FOVEA_TARGET_BEST);
  if (!traits) return FOVEA_ERR_TARGET;
  write_kernels(traits->target)
      .narrow_any(dtype, {rows, dim, data, ptrdiff_t(dense_stride(dtype, dim)), scales,
                          ptrdiff_t(dense_scale_stride(dtype, dim)), x, ptrdiff_t(dim)});
  return FOVEA_OK;
}
