// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

constexpr uint32_t kTensorTokens = 5, kTensorDim = 37;

// A sum and a product, which is rounded to a half.
fovea_status tensors_pairs(Trial& trial) {
  fovea_binary_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = args.heads = 1, args.tokens = kTensorTokens, args.dim = kTensorDim;
  float* const sum = trial.zeros<float>(kTensorTokens * kTensorDim);
  args.a = {trial.numbers(kTensorTokens * kTensorDim), 0, 0, kTensorDim};
  args.b = {trial.numbers(kTensorDim), 0, 0, 0};
  args.y = {sum, 0, 0, kTensorDim};
  FOVEA_RETURN_IF_ERROR(fovea_add(&args));
  trial.digest(sum, kTensorTokens * kTensorDim);
  uint16_t* const product = trial.zeros<uint16_t>(kTensorTokens * kTensorDim);
  args.y_dtype = FOVEA_F16, args.y.data = product;
  return trial.digest_after(fovea_multiply(&args), product, kTensorTokens * kTensorDim);
}

fovea_status tensors_pooling(Trial& trial) {
  fovea_pooling_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = args.heads = 1, args.tokens = kTensorTokens, args.dim = kTensorDim;
  float* const y = trial.zeros<float>(kTensorDim);
  args.x = {trial.numbers(kTensorTokens * kTensorDim), 0, 0, kTensorDim}, args.y.data = y;
  return trial.digest_after(fovea_pooling(&args), y, kTensorDim);
}

// Rows of a table of codes in groups, then the largest elements of a row.
fovea_status tensors_embedding(Trial& trial) {
  static constexpr uint32_t kIndices[] = {3, 0, 6};
  void* scales = nullptr;
  fovea_embedding_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.tokens = 3, args.dim = kTensorDim, args.rows = 7, args.indices = kIndices, args.y_stride = kTensorDim;
  args.table.dtype = FOVEA_I4, args.table.row_stride = 32;
  float* const y = trial.zeros<float>(3 * kTensorDim);
  args.y = y, args.table.data = trial.rows(FOVEA_I4, 7, kTensorDim, &scales), args.table.scales = scales;
  FOVEA_RETURN_IF_ERROR(fovea_embedding(&args));
  trial.digest(y, 3 * kTensorDim);
  uint32_t best[4] = {};
  return trial.digest_after(fovea_top_k(y, kTensorDim, 4, best), best, 4);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(tensors, TENSORS)
