// SPDX-License-Identifier: Apache-2.0
//
// Few cases that hold every pair: a covering array of strength two.
#ifndef FOVEA_TESTS_SUPPORT_COVERING_H_
#define FOVEA_TESTS_SUPPORT_COVERING_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace fovea_test {

// Rows with one level for each factor, such that any two levels of any two factors meet in some row. levels[f] is how
// many levels factor f has. Greedy and seeded: the same on every machine.
std::vector<std::vector<size_t>> covering_array(const std::vector<size_t>& levels, uint64_t seed);

// Takes levels one factor after the other, first to count them, then to read a row of the array.
class Levels {
 public:
  std::vector<size_t> counts;
  const std::vector<size_t>* row = nullptr;

  template <class T>
  T choose(std::initializer_list<T> choices) {
    if (row == nullptr) {
      counts.push_back(choices.size());
      return *choices.begin();
    }
    return choices.begin()[(*row)[next_++]];
  }

 private:
  size_t next_ = 0;
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_COVERING_H_
