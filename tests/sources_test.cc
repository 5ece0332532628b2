// SPDX-License-Identifier: Apache-2.0
//
// Where keys and values come from, and in which formats: every pair of choices agrees with the reference, and sources
// that hold the same keys give the same bits.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "catch.h"
#include "support/covering.h"
#include "support/problem.h"

namespace fovea_test {
namespace {

struct Case {
  Problem problem;
  Run run;
};

Case make_case(Levels& levels, uint64_t seed) {
  struct Pair {
    uint32_t first, second;
  };
  Problem p;
  p.seed = seed;
  p.key_dtype = levels.choose({FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4});
  p.value_dtype = levels.choose({FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4});
  p.q_dtype = levels.choose({FOVEA_F32, FOVEA_F16, FOVEA_BF16});
  p.out_dtype = levels.choose({FOVEA_F32, FOVEA_F16, FOVEA_BF16});
  p.kv_kind = levels.choose({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED, FOVEA_KV_LOAD});
  p.layout = levels.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded});
  p.placement = levels.choose({Placement::kEnd, Placement::kStart, Placement::kOffset});
  const Pair heads = levels.choose<Pair>({{1, 1}, {2, 2}, {4, 2}, {8, 1}});
  p.q_heads = heads.first, p.kv_heads = heads.second;
  p.batch = levels.choose<uint32_t>({1, 2, 3});
  p.q_tokens = levels.choose<uint32_t>({1, 3, 17, 50});
  p.kv_tokens = levels.choose<uint32_t>({1, 63, 130, 200});
  const Pair dims = levels.choose<Pair>({{1, 1}, {5, 3}, {32, 32}, {33, 20}, {64, 80}, {130, 7}});
  p.head_dim = dims.first, p.value_dim = dims.second;
  p.causal = levels.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_POSITIONS});
  p.window_left = levels.choose<uint32_t>({0, 9, 66});
  p.alibi = levels.choose({false, true});
  p.sinks = levels.choose({false, true});
  p.softcap = levels.choose({0.0f, 1.5f});
  p.mask = levels.choose({FOVEA_MASK_NONE, FOVEA_MASK_F32, FOVEA_MASK_BYTE});
  const fovea_scores_stage stage = levels.choose({FOVEA_SCORES_NONE, FOVEA_SCORES_SCALED, FOVEA_SCORES_SOFTMAX});
  const uint32_t size = levels.choose<uint32_t>({1, 7, 64, 100, 128});
  const uint32_t pinned = levels.choose<uint32_t>({0, 4, 70});
  const int gone = levels.choose({0, 1, 2});
  const int lengths = levels.choose({0, 1, 2});

  const bool strided = p.kv_kind == FOVEA_KV_STRIDED;
  if (p.kv_kind != FOVEA_KV_RING) p.stage = strided || stage != FOVEA_SCORES_SCALED ? stage : FOVEA_SCORES_MASKED;
  if (p.kv_kind == FOVEA_KV_PAGED) p.page_tokens = size;
  const bool places = p.causal == FOVEA_CAUSAL_POSITIONS || p.causal == FOVEA_CAUSAL_NONE;
  const bool needed = p.causal == FOVEA_CAUSAL_POSITIONS || p.window_left != 0 || p.alibi;
  for (uint32_t b = 0; b < p.batch; ++b) {
    if (places && needed) p.positions.push_back(int64_t{p.kv_tokens} - p.q_tokens + 3 * b);
    const uint32_t at = (b + static_cast<uint32_t>(lengths)) % 3;
    const uint32_t length = lengths == 0 || at == 0 ? p.kv_tokens : at == 1 ? (p.kv_tokens + 1) / 2 : 0;
    if (lengths != 0) p.kv_lengths.push_back(length);
    if (p.kv_kind != FOVEA_KV_RING) continue;
    p.ring_tokens = size + pinned, p.pinned_tokens = pinned;
    // As after a roll-back: fewer tokens are there than would fit.
    const uint32_t oldest = length > p.ring_tokens ? length - size : pinned;
    if (gone == 1) p.first_tokens.push_back(length > oldest ? oldest + (length - oldest) / 2 : oldest);
    if (gone == 2) p.first_tokens.push_back(length > pinned ? length : pinned);
  }
  const Budget budget = levels.choose({Budget::kNone, Budget::kHalf, Budget::kLeast});
  const bool portable_bits = levels.choose({false, true});
  Run run{FOVEA_TARGET_BEST, budget, portable_bits};
  run.key_split_tokens = levels.choose<uint32_t>({0, 0, 64});
  return {p, run};
}

size_t run_array(uint64_t seed) {
  Levels factors;
  make_case(factors, seed);
  const auto rows = covering_array(factors.counts, seed);
  for (const auto& row : rows) {
    Levels levels;
    levels.row = &row;
    const Case c = make_case(levels, random_bits(seed, static_cast<uint64_t>(&row - rows.data())));
    AttentionCase test(c.problem);
    for (const fovea_target target : targets()) {
      Run run = c.run;
      run.target = target;
      CHECK(test.run(run) == "");
    }
  }
  std::printf("sources and formats: %u cases hold every pair of %u factors, on %u targets\n",
              static_cast<unsigned>(rows.size()), static_cast<unsigned>(factors.counts.size()),
              static_cast<unsigned>(fovea_target_count()));
  return rows.size();
}

}  // namespace

TEST_CASE("sources: any two choices of source, format and options agree with the reference", "[short]") {
  CHECK(run_array(1) > 0);
}

TEST_CASE("sources: the same holds for other arrays of pairs") {
  for (uint64_t seed = 2; seed <= 6; ++seed) CHECK(run_array(seed) > 0);
}

}  // namespace fovea_test
