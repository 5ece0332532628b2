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

double phi(double x) { return 0.5 * std::erfc(-x * 0.7071067811865476); }

// Every multiple of 2^-14 up to 16, and a count that is not a multiple of any vector.
void check_gelu() {
  constexpr int kEnd = 16 << 14;
  std::vector<float> x;
  for (int i = -kEnd; i <= kEnd; ++i) x.push_back(static_cast<float>(i) / (1 << 14));
  std::vector<float> y = x;
  gelu(y.data(), y.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    const double error = std::fabs(static_cast<double>(y[i]) - v * phi(v)) / std::fmax(1.0, std::fabs(v));
    if (!(error <= worst)) worst = error;
  }
  std::printf("gelu: largest error %.2e of max(1, |x|)\n", worst);
  check(worst <= kGeluError, "gelu", worst);
}

void check_norm() {
  std::vector<float> x = numbers(kRows * kWidth, 3.0f);
  const std::vector<float> added = numbers(kRows * kWidth, 2.0f), weight = numbers(kWidth, 1.0f),
                           bias = numbers(kWidth, 1.0f);
  const std::vector<float> before = x;
  add_norm(x.data(), added.data(), {weight.data(), bias.data()}, kRows);
  for (uint32_t row = 0; row < kRows; ++row) {
    double sum = 0, squares = 0, sums[kWidth];
    for (uint32_t i = 0; i < kWidth; ++i) {
      sums[i] = static_cast<double>(before[row * kWidth + i]) + static_cast<double>(added[row * kWidth + i]);
      sum += sums[i];
    }
    for (const double v : sums) squares += (v - sum / kWidth) * (v - sum / kWidth);
    const double deviation = std::sqrt(squares / kWidth + 1e-12);
    for (uint32_t i = 0; i < kWidth; ++i) {
      const double want =
          (sums[i] - sum / kWidth) / deviation * static_cast<double>(weight[i]) + static_cast<double>(bias[i]);
      const double error = std::fabs(static_cast<double>(x[row * kWidth + i]) - want);
      check(error <= 1e-6, "add_norm", error);
    }
  }
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
  float row[kWidth];
  take_row(row, {FOVEA_F32, wide.data(), kWidth, nullptr, nullptr, nullptr}, 1);
  for (uint32_t i = 0; i < kWidth; ++i)
    check(row[i] == wide[kWidth + i], "take_row of f32", static_cast<double>(row[i]));
  take_row(row, {FOVEA_I8, narrow.data(), kWidth, scales, nullptr, nullptr}, 1);
  for (uint32_t i = 0; i < kWidth; ++i) {
    const float want = scales[1] * static_cast<float>(narrow[kWidth + i]);
    check(row[i] == want, "take_row of int8", static_cast<double>(row[i]));
  }
}

}  // namespace
}  // namespace sentence_similarity

int main() {
  using namespace sentence_similarity;
  check_gelu();
  check_norm();
  check_pool();
  check_take_row();
  return failures == 0 ? 0 : 1;
}
