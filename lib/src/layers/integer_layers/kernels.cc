// SPDX-License-Identifier: Apache-2.0
//
// The kernels of layers on int8 tensors. A build has one of each: in the namespace of the target whose words it uses,
// or of no target.
#if !defined(FOVEA_IN_TARGET)
#include "ground/base/arithmetic.h"
#include "ground/targets/options.inl"
#include "layers/integer_layers/kernels.h"
#define FOVEA_KERNELS_NAMESPACE integer_layer_kernels
#define FOVEA_KERNELS_FILE "layers/integer_layers/kernels.cc"
#include "ground/targets/one_target.inl"
#else

namespace {
// clang-format off
#if defined(FOVEA_BACKEND_HEADER)
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
#endif
#include "layers/integer_layers/rows.inl"
// clang-format on
}  // namespace

FOVEA_IN_CODE_SECTION IntegerRowSums sum_codes(const int8_t* x, size_t dim) {
  const integers::CodeSums sums = integers::SumCodes(x, dim);
  return {sums.sum, sums.squares};
}
FOVEA_IN_CODE_SECTION void normalise_codes(const IntegerNormRow& row) { NormaliseCodes(row); }
FOVEA_IN_CODE_SECTION void add_codes(const IntegerSumRow& row) { AddCodes(row); }
FOVEA_IN_CODE_SECTION void multiply_codes(const IntegerProductRow& row) { MultiplyCodes(row); }
FOVEA_IN_CODE_SECTION void translate_codes(const int8_t* table, const int8_t* x, size_t dim, int8_t* y) {
  integers::Translate(table, x, dim, y);
}
FOVEA_IN_CODE_SECTION void hard_swish_codes(const IntegerHardSwishRow& row) { HardSwishCodes(row); }
FOVEA_IN_CODE_SECTION void average_codes(const IntegerMeanRow& row) { AverageCodes(row); }

#endif
