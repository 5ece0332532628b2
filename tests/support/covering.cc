// SPDX-License-Identifier: Apache-2.0
#include "support/covering.h"

#include <utility>

#include "support/problem.h"

namespace fovea_test {

std::vector<std::vector<size_t>> covering_array(const std::vector<size_t>& levels, uint64_t seed) {
  const size_t factors = levels.size();
  std::vector<size_t> first(factors);  // of each factor: its first level, where all levels have one numbering
  size_t all = 0;
  for (size_t f = 0; f < factors; ++f) {
    first[f] = all;
    all += levels[f];
  }
  std::vector<uint8_t> open(all * all);  // [level][level]: no row has the pair yet
  size_t left = 0;
  for (size_t f = 0; f < factors; ++f) {
    for (size_t g = f + 1; g < factors; ++g) {
      for (size_t a = first[f]; a < first[f] + levels[f]; ++a) {
        for (size_t b = first[g]; b < first[g] + levels[g]; ++b) {
          open[a * all + b] = open[b * all + a] = 1;
          ++left;
        }
      }
    }
  }

  uint64_t drawn = 0;
  const auto random_below = [&](size_t n) { return static_cast<size_t>(random_bits(seed, drawn++) % n); };
  std::vector<std::vector<size_t>> rows;
  while (left > 0) {
    // The best of several rows. Each sets its factors in a random order, each factor to the level that adds most pairs.
    std::vector<size_t> best;
    size_t best_gain = 0;
    for (int attempt = 0; attempt < 8 || best_gain == 0; ++attempt) {
      std::vector<size_t> order(factors);
      for (size_t f = 0; f < factors; ++f) order[f] = f;
      for (size_t f = factors; f > 1; --f) std::swap(order[f - 1], order[random_below(f)]);
      std::vector<size_t> row(factors);
      std::vector<size_t> set;  // levels chosen so far, in the common numbering
      size_t gain = 0;
      for (const size_t f : order) {
        size_t most = 0, choice = 0;
        const size_t start = random_below(levels[f]);
        for (size_t n = 0; n < levels[f]; ++n) {
          const size_t level = (start + n) % levels[f];
          size_t meets = 0, could = 0;
          for (const size_t other : set) meets += open[(first[f] + level) * all + other];
          for (size_t other = 0; other < all; ++other) could += open[(first[f] + level) * all + other];
          const size_t score = meets * all * 2 + could;  // ties go to the level that has most pairs left
          if (score >= most) most = score, choice = level;
        }
        for (const size_t other : set) gain += open[(first[f] + choice) * all + other];
        row[f] = choice;
        set.push_back(first[f] + choice);
      }
      if (gain > best_gain) best_gain = gain, best = row;
    }
    for (size_t f = 0; f < factors; ++f) {
      for (size_t g = f + 1; g < factors; ++g) {
        const size_t a = first[f] + best[f], b = first[g] + best[g];
        left -= open[a * all + b];
        open[a * all + b] = open[b * all + a] = 0;
      }
    }
    rows.push_back(best);
  }
  return rows;
}

}  // namespace fovea_test
