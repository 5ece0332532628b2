// SPDX-License-Identifier: Apache-2.0
//
// Compares the functions of rows.h with plain ones in double. Exit code: 0, or 1 when one is wrong.
#include "examples/sentence_similarity/rows.h"

#include <cmath>
#include <cstdio>
#include <vector>

namespace sentence_similarity {
namespace {

constexpr uint32_t kRows = 5;

int failures = 0;

void check(bool right, const char* what, double value) {
  if (right) return;
  ++failures;
  std::printf("wrong: %s: %g\n", what, value);
}

// Random numbers from -1 to 1, the same in each run.
float next_number() {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(static_cast<int32_t>(state)) / 2147483648.0f;
}

std::vector<float> numbers(size_t count, float scale) {
  std::vector<float> x(count);
  for (float& v : x) v = scale * next_number();
  return x;
}

void check_pool() {
  const std::vector<float> x = numbers(kRows * kWidth, 1.0f);
  float pooled[kWidth];
  pool(pooled, x.data(), kRows);
  double sums[kWidth] = {}, squares = 0;
  for (size_t i = 0; i < x.size(); ++i) sums[i % kWidth] += static_cast<double>(x[i]);
  for (const double v : sums) squares += v * v;
  for (uint32_t i = 0; i < kWidth; ++i) {
    const double error = std::fabs(static_cast<double>(pooled[i]) - sums[i] / std::sqrt(squares));
    check(error <= 1e-6, "pool", error);
  }
  const std::vector<float> zeros(kWidth);
  pool(pooled, zeros.data(), 1);
  for (const float v : pooled) check(v == 0.0f, "pool of nothing", static_cast<double>(v));
}

void check_take_row() {
  std::vector<float> wide = numbers(2 * kWidth, 1.0f);
  std::vector<int8_t> narrow(2 * kWidth);
  for (size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<int8_t>(i % 255 - 127);
  const float scales[2] = {0.5f, 0.25f};
  const uint16_t kHalves[] = {0x3c00, 0xc100, 0x0001, 0x8400, 0x7bff, 0x8000};
  const float kWidened[] = {1.0f, -2.5f, 0x1p-24f, -0x1p-14f, 65504.0f, -0.0f};
  std::vector<uint16_t> halves(2 * kWidth);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = kHalves[i % 6];
  float row[kWidth];
  take_row(row, {FOVEA_F32, wide.data(), kWidth, nullptr, nullptr, nullptr, nullptr}, 1);
  for (uint32_t i = 0; i < kWidth; ++i)
    check(row[i] == wide[kWidth + i], "take_row of f32", static_cast<double>(row[i]));
  take_row(row, {FOVEA_F16, halves.data(), kWidth, nullptr, nullptr, nullptr, nullptr}, 1);
  for (uint32_t i = 0; i < kWidth; ++i)
    check(row[i] == kWidened[(kWidth + i) % 6], "take_row of f16", static_cast<double>(row[i]));
  take_row(row, {FOVEA_I8, narrow.data(), kWidth, scales, nullptr, nullptr, nullptr}, 1);
  for (uint32_t i = 0; i < kWidth; ++i) {
    const float want = scales[1] * static_cast<float>(narrow[kWidth + i]);
    check(row[i] == want, "take_row of int8", static_cast<double>(row[i]));
  }
}

}  // namespace
}  // namespace sentence_similarity

int main() {
  using namespace sentence_similarity;
  check_pool();
  check_take_row();
  return failures == 0 ? 0 : 1;
}
