// SPDX-License-Identifier: Apache-2.0
//
// In a separate file, and by the bits of the double: programs with their own constants link no arithmetic of doubles.
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/status.h"

extern "C" fovea_status fovea_integer_multiplier(double real, int32_t* multiplier, int32_t* shift) {
  if (!multiplier || !shift) return FOVEA_ERR_NULL;
  uint64_t bits;
  __builtin_memcpy(&bits, &real, sizeof bits);
  const uint64_t digits = (bits & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  const uint64_t rounded = (digits + (1 << 21)) >> 22;  // 2^30 to 2^31
  const int carry = int(rounded >> 31);
  const int exponent = int(bits >> 52) - 1022 + carry;  // too large for NaN, infinity and all with a sign
  if (exponent < -31 || exponent > 31) return FOVEA_ERR_NUMBER;
  *multiplier = int32_t(rounded >> carry);
  *shift = exponent;
  return FOVEA_OK;
}
