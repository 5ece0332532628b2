// SPDX-License-Identifier: Apache-2.0
//
// Attention of one head in double, on the numbers before they are stored, and how far from it an answer is.
#ifndef FOVEA_TESTS_SUPPORT_ONE_HEAD_H_
#define FOVEA_TESTS_SUPPORT_ONE_HEAD_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/every.h"

namespace fovea_test {

// Rows of queries, keys, values and outputs have `dim` numbers.
inline std::vector<double> attend_in_double(const std::vector<float>& q, const std::vector<float>& keys,
                                            const std::vector<float>& values, size_t dim) {
  const size_t count = keys.size() / dim;
  std::vector<double> out(q.size());
  for (size_t i = 0; i < q.size(); i += dim) {
    std::vector<double> weights(count);
    for (const auto& [j, d] : indices(count, dim)) weights[j] += double{q[i + d]} * double{keys[j * dim + d]};
    const double largest = *std::max_element(weights.begin(), weights.end()), root = std::sqrt(double(dim));
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp((weight - largest) / root);
    for (const auto& [j, d] : indices(count, dim)) out[i + d] += weights[j] / sum * double{values[j * dim + d]};
  }
  return out;
}

// The mean square of the differences over that of what is wanted.
inline double normalised_error(const std::vector<float>& got, const std::vector<double>& want) {
  double error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double off = double{got[i]} - want[i];
    error += off * off, power += want[i] * want[i];
  }
  return power > 0 ? error / power : error;
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_ONE_HEAD_H_
