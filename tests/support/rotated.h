// SPDX-License-Identifier: Apache-2.0
//
// A call with a rotation has the bits of one without, between rotations of its queries and outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "support/array.h"
#include "support/formats.h"
#include "support/problem.h"

namespace fovea_test {

// Rotates adjacent rows in place.
inline fovea_status rotate_rows(float* rows, size_t count, uint32_t dim, uint64_t seed, bool inverse = false) {
  auto a = sized<fovea_hadamard_args>();
  a.batch = a.heads = 1, a.tokens = uint32_t(count), a.dim = dim;
  a.seed = seed, a.inverse = inverse ? 1 : 0;
  a.y = {rows, 0, 0, ptrdiff_t(dim)};
  a.x = {rows, 0, 0, ptrdiff_t(dim)};
  return fovea_hadamard(&a);
}

inline bool rotates_keys(fovea_hadamard_rows rotation) { return (uint32_t{rotation} & FOVEA_HADAMARD_KEYS) != 0; }
inline bool rotates_values(fovea_hadamard_rows rotation) { return (uint32_t{rotation} & FOVEA_HADAMARD_VALUES) != 0; }

// Whether attention.h refuses the rotation with this description.
inline bool rotation_refused(const fovea_attention_desc& d, fovea_hadamard_rows rotation) {
  return (rotates_keys(rotation) && (d.q_dtype == FOVEA_I8 || d.score == FOVEA_SCORE_ADDITIVE)) ||
         (rotates_values(rotation) && d.out_dtype != FOVEA_F32);
}

// The queries of a call as rotated f32 rows [batch][q_heads][q_tokens][head_dim].
inline std::vector<float> rotated_queries(const AttentionCase& test, uint64_t seed) {
  const fovea_attention_desc& d = test.desc;
  const fovea_attention_args& a = test.args;
  std::vector<float> rows;
  for (const auto& [b, h, i] : indices(a.batch, d.q_heads, a.q_tokens)) {
    const uint8_t* const query = row_bytes(a.q, unit_size(d.q_dtype), b, h, i);
    for (uint32_t e = 0; e < d.head_dim; ++e) rows.push_back(element_of(d.q_dtype, query, nullptr, e));
  }
  rotate_rows(rows.data(), rows.size() / d.head_dim, d.head_dim, seed);
  return rows;
}

// "" if a call with this rotation is refused where it must be, and else has the right bits.
inline std::string compare_rotated(AttentionCase& test, const Run& run, fovea_hadamard_rows rotation, uint64_t seed) {
  const fovea_attention_desc desc = test.desc;
  if (!fovea::config::kChecks && rotation_refused(desc, rotation)) return "";
  const fovea_in q = test.args.q;
  test.desc.hadamard = rotation, test.desc.hadamard_seed = seed;
  const std::string wrong = test.run_unchecked(run);
  const Outputs got = wrong.empty() ? test.outputs() : Outputs();
  std::vector<float> queries;
  test.desc = desc;
  if (rotation_refused(desc, rotation)) {
    const bool right = wrong.find(fovea_status_string(FOVEA_ERR_UNSUPPORTED)) != std::string::npos;
    return right ? "" : "a rotation is not refused: " + wrong;
  }
  if (rotates_keys(rotation)) {
    queries = rotated_queries(test, seed);
    test.desc.q_dtype = FOVEA_F32;
    const auto dim = ptrdiff_t(desc.head_dim), head = dim * ptrdiff_t(test.args.q_tokens);
    test.args.q = {queries.data(), head * ptrdiff_t(desc.q_heads), head, dim};
  }
  const std::string wrong_outside = test.run_unchecked(run);
  Outputs want = wrong_outside.empty() ? test.outputs() : Outputs();
  test.desc = desc, test.args.q = q;
  if (wrong != wrong_outside) return "with a rotation: " + wrong + "; without: " + wrong_outside;
  if (!wrong.empty()) return wrong.find(fovea_status_string(FOVEA_ERR_RING)) != std::string::npos ? "" : wrong;
  if (rotates_values(rotation)) {
    rotate_rows(want.out.data(), want.out.size() / desc.value_dim, desc.value_dim, seed, true);
  }
  return same_bits(got, want) ? "" : name(test.problem) + " | " + name(run) + ": a rotation changes other bits";
}

}  // namespace fovea_test
