// SPDX-License-Identifier: Apache-2.0
//
// Few cases that hold every pair: a covering array of strength two.
#ifndef FOVEA_TESTS_SUPPORT_COVERING_H_
#define FOVEA_TESTS_SUPPORT_COVERING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea_test {

// Rows with one level for each factor, such that any two levels of any two factors meet in some row. levels[f] is how
// many levels factor f has. Greedy and seeded: the same on every machine.
std::vector<std::vector<size_t>> covering_array(const std::vector<size_t>& levels, uint64_t seed);

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_COVERING_H_
