// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Codes, and the numbers that they stand for.
fovea_status quantize_codes(Trial& trial) {
  constexpr size_t kCount = 200;
  const float* const x = trial.numbers(kCount);
  int8_t* const codes = trial.zeros<int8_t>(kCount);
  float* const back = trial.zeros<float>(kCount);
  FOVEA_RETURN_IF_ERROR(fovea_quantize_to_i8(x, kCount, 0.0123f, -5, codes));
  FOVEA_RETURN_IF_ERROR(fovea_quantize_from_i8(codes, kCount, 0.0123f, -5, back));
  trial.digest(codes, kCount);
  trial.digest(back, kCount);
  return FOVEA_OK;
}

// A scale and a zero point for a range.
fovea_status quantize_range(Trial& trial) {
  constexpr size_t kCount = 200;
  const float* const x = trial.positive(kCount);
  fovea_quantize_range* const range = trial.zeros<fovea_quantize_range>(1);
  if (range) range->struct_bytes = sizeof *range;
  FOVEA_RETURN_IF_ERROR(fovea_quantize_observe(range, x, kCount));
  float scale = 0;
  int32_t zero = 0;
  FOVEA_RETURN_IF_ERROR(fovea_quantize_choose(range, 0.9f, 1, &scale, &zero));
  trial.digest(&scale, 1);
  trial.digest(&zero, 1);
  return FOVEA_OK;
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(quantize, QUANTIZE)
