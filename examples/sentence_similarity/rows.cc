// SPDX-License-Identifier: Apache-2.0
#include "examples/sentence_similarity/rows.h"

#include <cmath>
#include <cstring>

namespace sentence_similarity {
namespace {

// A sum has several partial sums, so that an addition does not wait for the previous one.
constexpr uint32_t kStrands = 32;
static_assert(kWidth % kStrands == 0);

inline float total(const float (&strands)[kStrands]) {
  float sum = 0.0f;
  for (const float strand : strands) sum += strand;
  return sum;
}

// A finite half-precision number. Its exponent counts from 15, that of a float from 127.
inline float widened(uint16_t half) {
  const uint32_t bits = (half & 0x7fffu) << 13;
  float magnitude;
  std::memcpy(&magnitude, &bits, sizeof magnitude);
  return (half & 0x8000u ? -0x1p112f : 0x1p112f) * magnitude;
}

}  // namespace

void pool(float* pooled, const float* x, uint32_t rows) {
  for (uint32_t i = 0; i < kWidth; ++i) pooled[i] = 0.0f;
  for (uint32_t row = 0; row < rows; ++row, x += kWidth) {
    for (uint32_t i = 0; i < kWidth; ++i) pooled[i] += x[i];
  }
  float squares[kStrands] = {};
  for (uint32_t i = 0; i < kWidth; i += kStrands) {
    for (uint32_t k = 0; k < kStrands; ++k) squares[k] += pooled[i + k] * pooled[i + k];
  }
  const float length = std::sqrt(total(squares));  // of the sum: its direction is that of the mean
  const float scale = length > 0.0f ? 1.0f / length : 0.0f;
  for (uint32_t i = 0; i < kWidth; ++i) pooled[i] *= scale;
}

void take_row(float* x, const fovea_linear_weights& matrix, uint32_t row) {
  const size_t first = size_t{row} * kWidth;
  if (matrix.dtype == FOVEA_I8) {
    const auto data = static_cast<const int8_t*>(matrix.data) + first;
    const float scale = static_cast<const float*>(matrix.scales)[row];
    for (uint32_t i = 0; i < kWidth; ++i) x[i] = scale * static_cast<float>(data[i]);
  } else if (matrix.dtype == FOVEA_F16) {
    const auto data = static_cast<const uint16_t*>(matrix.data) + first;
    for (uint32_t i = 0; i < kWidth; ++i) x[i] = widened(data[i]);
  } else {
    const auto data = static_cast<const float*>(matrix.data) + first;
    for (uint32_t i = 0; i < kWidth; ++i) x[i] = data[i];
  }
}

}  // namespace sentence_similarity
