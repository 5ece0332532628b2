// SPDX-License-Identifier: Apache-2.0
//
// Loops over everything that several lists or counts combine to, the last of them fastest; and structures that begin
// with their size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

namespace fovea_test {

// for (const auto& [kind, tokens] : every({kA, kB}, {1u, 5u, 33u})); a vector may be the first list. Of elements that are
// arrays there are pointers.
template <class... T, size_t... N>
auto every(const T (&... lists)[N]) {
  std::vector<std::tuple<std::decay_t<const T>...>> all;
  for (size_t i = 0; i < (N * ...); ++i) {
    size_t rest = (N * ...);
    const auto level = [&](size_t levels) {
      rest /= levels;
      return i / rest % levels;
    };
    all.push_back({lists[level(N)]...});
  }
  return all;
}
template <class First, class... T, size_t... N>
auto every(const std::vector<First>& first, const T (&... lists)[N]) {
  std::vector<std::tuple<First, std::decay_t<const T>...>> all;
  for (const First& one : first) {
    for (const auto& others : every(lists...)) all.push_back(std::tuple_cat(std::tuple<First>(one), others));
  }
  return all;
}

template <class T, size_t N>
class Indices {
 public:
  explicit Indices(const std::array<T, N>& counts) : counts_(counts) {}

  struct End {};
  class Iterator {
   public:
    Iterator(const std::array<T, N>& counts, bool done) : counts_(counts), done_(done) {}
    const std::array<T, N>& operator*() const { return at_; }
    bool operator!=(End) const { return !done_; }
    void operator++() {
      size_t i = N;
      while (i > 0 && ++at_[i - 1] == counts_[i - 1]) at_[--i] = 0;
      done_ = i == 0;
    }

   private:
    const std::array<T, N>& counts_;
    std::array<T, N> at_{};
    bool done_;
  };
  Iterator begin() const { return {counts_, std::count(counts_.begin(), counts_.end(), T{0}) != 0}; }
  End end() const { return {}; }

 private:
  std::array<T, N> counts_;
};

// for (const auto& [b, h, t] : indices(batch, heads, tokens)): each place in an array of these counts.
template <class T = uint32_t, class... Counts>
Indices<T, sizeof...(Counts)> indices(Counts... counts) {
  return Indices<T, sizeof...(Counts)>({static_cast<T>(counts)...});
}

// A structure of the interface, all zero but for its size.
template <class T>
T sized() {
  T all{};
  all.struct_bytes = sizeof all;
  return all;
}

}  // namespace fovea_test
