// SPDX-License-Identifier: Apache-2.0
//
// What the tables of fovea_accuracy share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/formats.h"
#include "support/guarded.h"
#include "support/problem.h"

namespace fovea_test {

using Numbers = std::vector<float>;

inline void must(fovea_status status) {
  if (status != FOVEA_OK) std::abort();
}

inline Numbers normal(size_t count, uint64_t seed, float mean = 0, float deviation = 1) {
  Numbers x(count);
  for (size_t i = 0; i < count; ++i) x[i] = mean + deviation * random_normal(seed, i);
  return x;
}

// A call of one head, rows of which stand one after the other; of keys and values, `units` of their type are a row.
inline fovea_attention_desc one_head(uint32_t dim, uint32_t queries, uint32_t keys) {
  auto desc = sized<fovea_attention_desc>();
  desc.q_heads = desc.kv_heads = desc.max_batch = 1, desc.head_dim = desc.value_dim = dim;
  desc.max_q_tokens = queries, desc.max_kv_tokens = keys;
  return desc;
}
inline fovea_attention_args arguments_of(const fovea_attention_desc& desc, void* out, const void* q, const void* keys,
                                         const void* values, size_t units) {
  auto args = sized<fovea_attention_args>();
  args.batch = 1, args.q_tokens = desc.max_q_tokens, args.kv_tokens = desc.max_kv_tokens;
  args.out = {out, 0, 0, ptrdiff_t(desc.value_dim)}, args.q = {q, 0, 0, ptrdiff_t(desc.head_dim)};
  args.kv.keys = {keys, 0, 0, ptrdiff_t(units)}, args.kv.values = {values, 0, 0, ptrdiff_t(units)};
  return args;
}

// Errors of all elements that were looked at. `of_bound` is the largest divided by what is allowed for its element.
struct Error {
  double largest = 0, squares = 0, of_right = 0, of_bound = 0;
  size_t count = 0;

  void add(double got, double exact, double allowed = 1) {
    const double error = std::fabs(got - exact);
    largest = std::max(largest, error), squares += error * error, of_right += exact * exact;
    of_bound = std::max(of_bound, error == 0 ? 0 : error / allowed);
    ++count;
  }
  void add(const Error& other) {
    largest = std::max(largest, other.largest), squares += other.squares, count += other.count;
  }
  template <class T>
  void add(const std::vector<T>& got, const std::vector<double>& exact) {
    for (size_t i = 0; i < exact.size(); ++i) add(double{got[i]}, exact[i]);
  }
  double rms() const { return std::sqrt(squares / double(std::max<size_t>(count, 1))); }
  double normalised() const { return squares / of_right; }  // mean square error
};

// Prints what tests/ACCURACY.md has between its last table and the rows of the next one, which must be of this section.
void begin_table(const char* section);

// Whether the largest error of a row of a table is at most its bound. Ends the row.
inline bool is_within(const std::string& row, double of_bound) {
  std::fflush(stdout);
  if (of_bound <= 1) return true;
  std::fprintf(stderr, "%s: an error is %.2f times its bound\n", row.c_str(), of_bound);
  return false;
}

// Memory for workspaces and states.
inline Guarded memory_of(size_t bytes) { return Guarded(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart); }

// Each prints a table, and answers whether all errors are within their bounds: of rotated and centred caches and of key
// mass, of linear attention, of integer arithmetic (and whether all targets agree), of layers, of weights in groups.
bool show_caches();
bool show_linear_attention();
bool show_integer_arithmetic();
bool show_layers();
bool show_weights_in_groups();

}  // namespace fovea_test
