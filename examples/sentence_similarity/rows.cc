// SPDX-License-Identifier: Apache-2.0
#include "examples/sentence_similarity/rows.h"

#include <cmath>

// In a binary for several processors the compiler makes a version of a function for each, and chooses at load time: too
// early for the thread sanitizer.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

namespace sentence_similarity {
namespace {

constexpr float kVarianceLeast = 1e-12f;  // layer_norm_eps of the model

// A sum has several partial sums, so that an addition does not wait for the previous one.
constexpr uint32_t kStrands = 32;
static_assert(kWidth % kStrands == 0);

inline float total(const float (&strands)[kStrands]) {
  float sum = 0.0f;
  for (const float strand : strands) sum += strand;
  return sum;
}

}  // namespace

FOR_EACH_PROCESSOR
void add_norm(float* x, const float* added, const Norm& norm, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row, x += kWidth, added += kWidth) {
    float sums[kStrands] = {}, squares[kStrands] = {};
    for (uint32_t i = 0; i < kWidth; i += kStrands) {
      for (uint32_t k = 0; k < kStrands; ++k) {
        x[i + k] += added[i + k];
        sums[k] += x[i + k];
      }
    }
    const float mean = total(sums) / kWidth;
    for (uint32_t i = 0; i < kWidth; i += kStrands) {
      for (uint32_t k = 0; k < kStrands; ++k) squares[k] += (x[i + k] - mean) * (x[i + k] - mean);
    }
    const float scale = 1.0f / std::sqrt(total(squares) / kWidth + kVarianceLeast);
    for (uint32_t i = 0; i < kWidth; ++i) x[i] = (x[i] - mean) * scale * norm.weight[i] + norm.bias[i];
  }
}

// Phi(c) - 1/2 = c P(c^2) / Q(c^2) within 1e-8 for |c| <= 5.2; outside of that Phi is 0 or 1 to 1e-7. A fit with the
// least maximum error.
FOR_EACH_PROCESSOR
void gelu(float* x, size_t count) {
  constexpr float kEnd = 5.2f;
  for (size_t i = 0; i < count; ++i) {
    float c = x[i] < -kEnd ? -kEnd : x[i];
    c = c > kEnd ? kEnd : c;
    const float u = c * c;
    float p = 2.412296e-08f;
    p = p * u + 6.43964542e-06f;
    p = p * u + 0.000163297145f;
    p = p * u + 0.00464675853f;
    p = p * u + 0.0331855898f;
    p = p * u + 0.398942223f;
    float q = 1.24365026e-06f;
    q = q * u + 7.2508121e-05f;
    q = q * u + 0.00185327704f;
    q = q * u + 0.0282907383f;
    q = q * u + 0.249849768f;
    q = q * u + 1.0f;
    x[i] *= 0.5f + c * p / q;
  }
}

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
  } else {
    const auto data = static_cast<const float*>(matrix.data) + first;
    for (uint32_t i = 0; i < kWidth; ++i) x[i] = data[i];
  }
}

}  // namespace sentence_similarity
