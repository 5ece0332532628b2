// SPDX-License-Identifier: Apache-2.0
//
// The mass of keys: sums in double of the weights that the reference gives them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "support/guarded.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/tolerance.h"

namespace fovea_test {

struct KeyMass {
  std::vector<double> mass, tolerance;  // [batch][kv_heads][kv_tokens]
};

// What the last `queries` queries of each entry add. The arguments are those of the reference.
inline KeyMass key_mass(fovea_attention_desc desc, fovea_attention_args args, uint32_t queries) {
  desc.dropout = 0;
  args.scores_stage = FOVEA_SCORES_SOFTMAX;
  const Attention all = attention(desc, args);
  const uint32_t group = desc.q_heads / desc.kv_heads, first = args.q_tokens - std::min(queries, args.q_tokens);
  const size_t keys = args.kv_tokens;
  const double short_exp2 = desc.compute == FOVEA_COMPUTE_F32 ? 0 : kShortExp2Error;
  KeyMass sums;
  sums.mass.resize(size_t{args.batch} * desc.kv_heads * keys);
  sums.tolerance.resize(sums.mass.size());
  for (const auto& [b, h] : indices(args.batch, desc.q_heads)) {
    for (uint32_t i = first; i < args.q_tokens; ++i) {
      const size_t from = ((size_t{b} * desc.q_heads + h) * args.q_tokens + i) * keys;
      const size_t to = (size_t{b} * desc.kv_heads + h / group) * keys;
      for (size_t j = 0; j < keys; ++j) {
        const double weight = all.scores[from + j];
        sums.mass[to + j] += weight;
        sums.tolerance[to + j] += all.scores_tolerance[from + j] + weight * (short_exp2 + 2 * kEpsilon);
      }
    }
  }
  return sums;
}

// "" if a call with this number of queries is refused where it must be, and else adds the right mass, and has the bits
// of a call without.
inline std::string compare_key_mass(AttentionCase& test, const Run& run, uint32_t queries) {
  const fovea_attention_desc desc = test.desc;
  const bool refused = run.key_split_tokens != 0 || test.problem.modify_weights;
  if (!fovea::config::kChecks && refused) return "";
  const std::string without = test.run_unchecked(run);
  const Outputs plain = without.empty() ? test.outputs() : Outputs{};
  const size_t keys = test.problem.kv_tokens, head = keys + 3, entry = head * desc.kv_heads + 5;
  const size_t entries = test.args.batch, floats = entry * entries;
  Guarded mass(floats * sizeof(float), alignof(float), test.problem.placement);
  mass.fill();
  const auto at = [&](size_t b, size_t h, size_t j) -> float& { return mass.as<float>()[b * entry + h * head + j]; };
  for (const auto& [b, h, j] : indices<size_t>(entries, desc.kv_heads, keys)) {
    at(b, h, j) = random_uniform(5, (b * desc.kv_heads + h) * keys + j, 0, 2);
  }
  test.desc.key_mass_queries = queries;
  test.args.key_mass = {mass.as<float>(), ptrdiff_t(entry), ptrdiff_t(head), 0};
  const std::string wrong = test.run_unchecked(run);
  const Outputs got = wrong.empty() ? test.outputs() : Outputs{};
  test.desc = desc;
  test.args.key_mass = {};
  if (refused) {
    return wrong.find(fovea_status_string(FOVEA_ERR_UNSUPPORTED)) != std::string::npos ? "" : "not refused: " + wrong;
  }
  if (wrong != without) return "with key_mass: " + wrong + "; without: " + without;
  if (!wrong.empty()) return wrong.find(fovea_status_string(FOVEA_ERR_RING)) != std::string::npos ? "" : wrong;
  const std::string of = name(test.problem) + " | " + name(run) + " | " + std::to_string(queries) + " queries: ";
  // A budget may have room for fewer rows at a time: then the bits of products that are not portable may differ.
  if (run.budget == Budget::kNone && !same_bits(got, plain)) return of + "key_mass changes bits of outputs";
  const KeyMass want = key_mass(desc, test.truth(), queries);
  // A sum is rounded whenever rows are added to it: on some targets for each row.
  const double roundings = 4 + 0.5 * std::min(queries, test.args.q_tokens) * (desc.q_heads / desc.kv_heads);
  for (size_t b = 0, r = 0; b < entries; ++b) {
    for (size_t h = 0; h < desc.kv_heads; ++h) {
      for (size_t j = 0; j < keys; ++j, ++r) {
        const double before = random_uniform(5, r, 0, 2), sum = before + want.mass[r];
        if (close(at(b, h, j), sum, want.tolerance[r] + roundings * kEpsilon * sum)) continue;
        return of + "mass of entry " + std::to_string(b) + ", head " + std::to_string(h) + ", key " +
               std::to_string(j) + ": " + std::to_string(at(b, h, j) - before) + ", not " +
               std::to_string(want.mass[r]);
      }
      for (size_t j = keys; j < head && h * head + j < entry; ++j) {
        for (size_t i = 0; i < sizeof(float); ++i) {
          if (!mass.untouched((b * entry + h * head + j) * sizeof(float) + i)) return of + "written after a head";
        }
      }
    }
  }
  return mass.margin_intact() ? "" : of + "written outside of key_mass";
}

}  // namespace fovea_test
