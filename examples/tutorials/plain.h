// SPDX-License-Identifier: Apache-2.0
//
// Matrices in double, by plain loops in the notation of mathematics. The four programs are compared with these.
#ifndef FOVEA_EXAMPLES_TUTORIALS_PLAIN_H_
#define FOVEA_EXAMPLES_TUTORIALS_PLAIN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tutorial {

struct Matrix {
  Matrix(size_t n, size_t m) : rows(n), columns(m), numbers(n * m) {}
  Matrix(const float* from, size_t n, size_t m) : rows(n), columns(m), numbers(from, from + n * m) {}
  template <size_t kRows, size_t kColumns>
  Matrix(const float (&from)[kRows][kColumns]) : Matrix(from[0], kRows, kColumns) {}

  double& operator()(size_t i, size_t j) { return numbers[i * columns + j]; }
  double operator()(size_t i, size_t j) const { return numbers[i * columns + j]; }

  size_t rows, columns;
  std::vector<double> numbers;
};

inline Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  }
  return t;
}

inline Matrix rows(const Matrix& a, size_t first, size_t count) {
  Matrix some(count, a.columns);
  std::copy_n(&a.numbers[first * a.columns], count * a.columns, some.numbers.begin());
  return some;
}

inline Matrix operator+(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.numbers.size(); ++i) a.numbers[i] += b.numbers[i];
  return a;
}

inline Matrix operator*(double x, Matrix a) {
  for (double& number : a.numbers) number *= x;
  return a;
}

inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix product(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t k = 0; k < a.columns; ++k) {
      for (size_t j = 0; j < b.columns; ++j) product(i, j) += a(i, k) * b(k, j);
    }
  }
  return product;
}

// Hides the scores of keys after a query.
inline Matrix not_ahead(Matrix scores) {
  for (size_t i = 0; i < scores.rows; ++i) {
    for (size_t j = i + 1; j < scores.columns; ++j) scores(i, j) = -std::numeric_limits<double>::infinity();
  }
  return scores;
}

// Softmax of n numbers, in place; -inf gets no weight.
inline void softmax(double* numbers, size_t n) {
  const double largest = *std::max_element(numbers, numbers + n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += numbers[i] = std::exp(numbers[i] - largest);
  for (size_t i = 0; i < n; ++i) numbers[i] /= sum;
}

inline Matrix softmax_of_rows(Matrix a) {
  for (size_t i = 0; i < a.rows; ++i) softmax(&a(i, 0), a.columns);
  return a;
}

inline Matrix softmax_of_all(Matrix a) {
  softmax(a.numbers.data(), a.numbers.size());
  return a;
}

}  // namespace tutorial

#endif  // FOVEA_EXAMPLES_TUTORIALS_PLAIN_H_
