// SPDX-License-Identifier: Apache-2.0
//
// Few cases that contain every pair: a covering array of strength two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

#include "fovea/fovea.h"
#include "support/problem.h"

namespace fovea_test {

// Rows with one level for each factor, such that any two levels of any two factors are together in some row. levels[f]
// is the number of levels of factor f. Greedy and seeded: the same on every machine.
std::vector<std::vector<size_t>> covering_array(const std::vector<size_t>& levels, uint64_t seed);

// choose() is called once for each factor, in order: in a first pass to count the levels, then to read a row.
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
  template <class T, size_t N>
  T choose(const T (&choices)[N]) {
    if (row == nullptr) counts.push_back(N);
    return choices[row == nullptr ? 0 : (*row)[next_++]];
  }
  bool flag() { return choose({false, true}); }

 private:
  size_t next_ = 0;
};

// Calls run(make(levels, seed of the case)) for each row of an array over all levels that make chooses from. Prints the
// name and the number of rows, and returns that number.
template <class Make, class RunCase>
size_t run_array(const char* name, uint64_t seed, Make make, RunCase run) {
  Levels factors;
  make(factors, seed);
  const auto rows = covering_array(factors.counts, seed);
  for (size_t i = 0; i < rows.size(); ++i) {
    Levels levels;
    levels.row = &rows[i];
    run(make(levels, random_bits(seed, i)));
  }
  std::printf("%s: %u cases hold every pair of %u factors, on %u targets\n", name, static_cast<unsigned>(rows.size()),
              static_cast<unsigned>(factors.counts.size()), static_cast<unsigned>(targets().size()));
  return rows.size();
}

}  // namespace fovea_test
