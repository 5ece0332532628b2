// SPDX-License-Identifier: Apache-2.0
//
// Integer attention as fovea.h defines it, in the simplest order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "fovea/fovea.h"
#include "support/array.h"
#include "support/every.h"

namespace fovea_test {

// Keys [lo, hi) that a query sees.
inline void keys_seen(const fovea_integer_attention_args& a, uint32_t b, uint32_t i, int64_t* lo, int64_t* hi) {
  const int64_t length = a.kv_lengths != nullptr ? a.kv_lengths[b] : a.kv_tokens;
  const int64_t first = a.causal == FOVEA_CAUSAL_BOTTOM_RIGHT ? length - int64_t{a.q_tokens}
                        : a.first_positions != nullptr        ? a.first_positions[b]
                                                              : 0;
  const int64_t position = first + i;
  *lo = 0, *hi = length;
  for (; *lo < *hi && a.window_left != 0 && *lo <= position - int64_t{a.window_left};) ++*lo;
  const int64_t right = a.causal != FOVEA_CAUSAL_NONE ? 1 : a.window_right;
  for (; *hi > *lo && right != 0 && *hi - 1 >= position + right;) --*hi;
}

inline int64_t floor_shift(int64_t x, int places) {
  return places > 62 ? 0 : (x + (int64_t{1} << (places - 1))) >> places;
}

struct IntegerDefinition {
  explicit IntegerDefinition(const fovea_integer_attention_args& args) : a(args) {
    for (int i = 0; i < 576; ++i) codes.push_back(std::lrint(255 * std::exp2(-i / 64.0)));
    for (int i = 0; i < 64; ++i) {
      factors.push_back(std::min<int64_t>(0x7fffffff, std::llrint(std::exp2(31 - i / 64.0))));
    }
  }

  int64_t steps(int64_t x) const {
    const int shift = a.score_shift < 6 ? static_cast<int>(a.score_shift) : 6;
    return floor_shift(x * a.score_multiplier, 31 - 6 - shift);
  }
  int64_t scaled(int64_t x, int64_t steps) const {
    const int64_t factor = steps >= 31 * 64 ? 0 : factors[static_cast<size_t>(steps % 64)] >> (steps / 64);
    return floor_shift(x * factor, 31);
  }

  std::vector<int8_t> row(const int8_t* query, const std::function<const int8_t*(int64_t)>& key,
                          const std::function<const int8_t*(int64_t)>& value, int64_t lo, int64_t hi) const {
    int64_t r = 0, l = 0;
    std::vector<int64_t> o(a.value_dim);
    for (int64_t tile = lo / 64 * 64; lo < hi && tile < hi; tile += 64) {
      const int64_t begin = std::max(lo, tile), end = std::min(hi, tile + 64);
      std::vector<int64_t> s;
      for (int64_t j = begin; j < end; ++j) {
        s.push_back(0);
        for (uint32_t e = 0; e < a.head_dim; ++e) s.back() += (query[e] - a.q_zero_point) * key(j)[e];
      }
      const int64_t m = *std::max_element(s.begin(), s.end());
      const int64_t before = r;
      r = l == 0 ? steps(m) : std::max(r, steps(m));
      if (l > int64_t{1} << 30) r = std::max(r, before + 64);
      int64_t sum = 0;
      std::vector<int64_t> products(a.value_dim);
      for (int64_t j = begin; j < end; ++j) {
        const int64_t d = steps(m - s[static_cast<size_t>(j - begin)]);
        const int64_t u = d < 576 ? codes[static_cast<size_t>(d)] : 0;
        sum += u;
        for (uint32_t e = 0; e < a.value_dim; ++e) products[e] += u * value(j)[e];
      }
      const int64_t first = l == 0;
      l = (first ? 0 : scaled(l, r - before)) + scaled(sum * 16384, r - steps(m));
      for (uint32_t e = 0; e < a.value_dim; ++e) {
        o[e] = (first ? 0 : scaled(o[e], r - before)) + scaled(products[e] * 64, r - steps(m));
      }
    }
    std::vector<int8_t> out(a.value_dim, static_cast<int8_t>(a.out_zero_point));
    if (l == 0) return out;
    int z = 0;
    while ((l << z) < int64_t{1} << 30) ++z;
    const int64_t h = floor_shift(l << z, 15), g = (a.out_multiplier * (((int64_t{1} << 31) + h / 2) / h)) >> 16;
    for (uint32_t e = 0; e < a.value_dim; ++e) {
      const int64_t n = o[e] - a.value_zero_point * floor_shift(l, 8);
      const int64_t x = floor_shift(n * g, 53 - z - a.out_shift) + a.out_zero_point;
      out[e] = static_cast<int8_t>(std::min<int64_t>(127, std::max<int64_t>(-128, x)));
    }
    return out;
  }

  const fovea_integer_attention_args& a;
  std::vector<int64_t> codes, factors;
};

// How many rows of the outputs differ from the definition.
inline size_t wrong_rows(const fovea_integer_attention_args& a) {
  const IntegerDefinition definition(a);
  const auto row = [](const auto& array, uint32_t b, uint32_t h, int64_t t) {
    return reinterpret_cast<const int8_t*>(row_bytes(array, 1, b, h, static_cast<size_t>(t)));
  };
  size_t wrong = 0;
  for (const auto& [b, h, i] : indices(a.batch, a.q_heads, a.q_tokens)) {
    const uint32_t entry = b, kv_head = h / (a.q_heads / a.kv_heads);
    int64_t lo, hi;
    keys_seen(a, b, i, &lo, &hi);
    const auto want = definition.row(
        row(a.q, b, h, i), [&](int64_t j) { return row(a.keys, entry, kv_head, j); },
        [&](int64_t j) { return row(a.values, entry, kv_head, j); }, lo, hi);
    wrong += std::memcmp(row(a.out, b, h, i), want.data(), want.size()) != 0;
  }
  return wrong;
}

}  // namespace fovea_test
