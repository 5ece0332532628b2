// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

fovea_status hadamard_rows(Trial& trial) {
  constexpr uint32_t kTokens = 2, kDim = 96;
  fovea_hadamard_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = args.heads = 1, args.tokens = kTokens, args.dim = kDim, args.seed = 0x9876543210u;
  float* const y = trial.zeros<float>(kTokens * kDim);
  args.x = {trial.numbers(kTokens * kDim), 0, 0, kDim};
  args.y = {y, 0, 0, kDim};
  return trial.digest_after(fovea_hadamard(&args), y, kTokens * kDim);
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(hadamard, HADAMARD)
