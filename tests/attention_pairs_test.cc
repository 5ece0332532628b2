// SPDX-License-Identifier: Apache-2.0
//
// Options in pairs: a covering array over all of them, in which any two choices of any two options meet in some case.
// Another one in which they also meet each source of keys, format and kind of product, split keys and workers. In each
// case no budget and no workers change a bit.
#include "support/key_mass.h"
#include "support/rotated.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct Case {
  Problem problem;
  Budget budget;
  bool portable_bits;
  uint32_t key_split_tokens, workers;
  fovea_hadamard_rows hadamard;
  uint32_t key_mass_queries;
};

// Where keys and values come from, in which formats, and what that does not go together with.
void choose_source(Levels& levels, Case& c) {
  Problem& p = c.problem;
  p.key_dtype = levels.choose(kKeyTypes), p.value_dtype = levels.choose(kKeyTypes);
  p.q_dtype = levels.choose(kFloatTypes), p.out_dtype = levels.choose(kFloatTypes);
  p.kv_kind = levels.choose({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED, FOVEA_KV_LOAD});
  const uint32_t size = levels.choose<uint32_t>({1, 7, 64, 100, 128});
  const int gone = levels.choose({0, 1, 2});
  c.key_split_tokens = levels.choose<uint32_t>({0, 0, 64});
  if (c.key_split_tokens != 0) p.modify_weights = false;
  if (p.layout != Layout::kTokensFirst && p.layout != Layout::kPadded) p.layout = Layout::kHeadsFirst;
  if (p.kv_kind == FOVEA_KV_RING) p.stage = FOVEA_SCORES_NONE, p.ring_tokens = size + p.pinned_tokens;
  const bool before_masks = p.stage == FOVEA_SCORES_SCALED || p.stage == FOVEA_SCORES_CAPPED;
  if (p.kv_kind != FOVEA_KV_STRIDED && before_masks) p.stage = FOVEA_SCORES_MASKED;
  if (p.kv_kind == FOVEA_KV_PAGED) p.page_tokens = size;
  const uint32_t prefix_tokens = levels.choose<uint32_t>({0, 64, 5, 100});
  if (p.kv_kind != FOVEA_KV_LOAD && (p.kv_kind != FOVEA_KV_RING || p.pinned_tokens == 0))
    p.prefix_tokens = prefix_tokens;
  if (p.prefix_tokens != 0 && before_masks) p.stage = FOVEA_SCORES_MASKED;
  for (uint32_t b = 0; b < p.batch; ++b) {
    if (!p.positions.empty()) p.positions[b] = int64_t{p.kv_tokens} - p.q_tokens + 3 * b;
    if (p.kv_kind != FOVEA_KV_RING || gone == 0) continue;
    // As after a roll-back: fewer tokens are there than would fit.
    const uint32_t length = p.kv_lengths.empty() ? p.kv_tokens : p.kv_lengths[b], pinned = p.pinned_tokens;
    const uint32_t oldest = length > p.ring_tokens ? length - size : pinned;
    const uint32_t middle = length > oldest ? oldest + (length - oldest) / 2 : oldest;
    p.first_tokens.push_back(gone == 1 ? middle : std::max(length, pinned));
  }
  p.allow_evicted = levels.flag() || (p.kv_kind == FOVEA_KV_RING && !p.ring_suffices());
  c.workers = levels.choose<uint32_t>({0, 3});
  const auto or_i8 = [](fovea_dtype dtype) { return is_grouped(dtype) ? dtype : FOVEA_I8; };
  const fovea_compute compute = levels.choose({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F16});
  if (compute == FOVEA_COMPUTE_I8) p = p.with_integers(or_i8(p.key_dtype), or_i8(p.value_dtype));
  if (compute == FOVEA_COMPUTE_F16) p = p.with_halves();
}

Case make_case(Levels& levels, uint64_t seed, bool of_sources) {
  struct Pair {
    uint32_t first, second;
  };
  Problem p;
  p.seed = seed;
  p.layout = levels.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPacked, Layout::kPadded,
                            Layout::kBroadcast, Layout::kReversed});
  p.placement = levels.choose(kPlacements);
  const Pair heads = levels.choose<Pair>({{1, 1}, {2, 2}, {4, 2}, {6, 2}, {8, 1}, {12, 4}, {12, 2}, {16, 2}});
  p.q_heads = heads.first, p.kv_heads = heads.second;
  p.batch = levels.choose<uint32_t>({1, 2, 3}), p.q_tokens = levels.choose<uint32_t>({1, 2, 3, 5, 17, 50, 67});
  p.kv_tokens = levels.choose<uint32_t>({1, 8, 63, 64, 65, 130, 200});
  const Pair dims = levels.choose<Pair>({{1, 1}, {5, 3}, {16, 16}, {33, 20}, {64, 80}, {130, 7}});
  p.head_dim = dims.first, p.value_dim = dims.second;

  p.score = levels.choose({FOVEA_SCORE_SCALED_DOT, FOVEA_SCORE_DOT, FOVEA_SCORE_ADDITIVE});
  p.scale = levels.choose({0.0f, 0.3f, -0.2f, 1.0f, 0.125f, 1e-3f}),
  p.softcap = levels.choose({0.0f, 0.5f, 1.5f, 50.0f});
  p.dropout = levels.choose({0.0f, 0.3f});
  p.causal =
      levels.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT, FOVEA_CAUSAL_POSITIONS});
  const fovea_diagonal diagonal = levels.choose(
      {FOVEA_DIAGONAL_AS_CAUSAL, FOVEA_DIAGONAL_TOP_LEFT, FOVEA_DIAGONAL_BOTTOM_RIGHT, FOVEA_DIAGONAL_POSITIONS});
  if (p.causal == FOVEA_CAUSAL_NONE) p.diagonal = diagonal;
  p.window_left = levels.choose<uint32_t>({0, 1, 2, 9, 64, 65, 66});
  p.window_right = levels.choose<uint32_t>({0, 1, 2, 12, 33}), p.alibi = levels.flag(), p.sinks = levels.flag();
  const int64_t offset = levels.choose<int64_t>({0, -3, 40, int64_t{1} << 20});
  for (uint32_t b = 0; b < p.batch && p.positions_needed(); ++b) p.positions.push_back(offset + 7 * b);
  const int lengths = levels.choose({0, 1, 2});
  for (uint32_t b = 0; b < p.batch && lengths != 0; ++b) {
    // One entry of full length, one that is short, one of none.
    const uint32_t at = (b + uint32_t(lengths)) % 3;
    p.kv_lengths.push_back(at == 0 ? p.kv_tokens : at == 1 ? (p.kv_tokens + 1) / 2 : 0);
  }

  p.mask = levels.choose({FOVEA_MASK_NONE, FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16});
  const int broadcast = levels.choose({0, 1, 2, 3, 4, 5, 6, 7});
  p.mask_batch = !(broadcast & 1), p.mask_heads = !(broadcast & 2), p.mask_queries = !(broadcast & 4);
  p.mask_keys = levels.choose({true, false}), p.mask_factors = levels.flag();
  const int missing = levels.choose({0, 1, 2, 3});
  p.mask_missing = missing == 0 ? 0 : missing == 1 ? 1 : missing == 2 ? p.kv_tokens / 2 : p.kv_tokens;

  p.lse = levels.flag();
  p.stage = levels.choose(
      {FOVEA_SCORES_NONE, FOVEA_SCORES_SCALED, FOVEA_SCORES_CAPPED, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX});
  const Budget budget = levels.choose({Budget::kNone, Budget::kHalf, Budget::kLeast});
  const bool portable_bits = levels.flag();
  p.pinned_tokens = levels.choose<uint32_t>({0, 3, 70});
  struct Formats {
    fovea_dtype keys, values;
  };
  const Formats formats = levels.choose<Formats>({{FOVEA_F32, FOVEA_F32},
                                                  {FOVEA_I8, FOVEA_I8},
                                                  {FOVEA_I4, FOVEA_I8},
                                                  {FOVEA_Q5_1, FOVEA_I4},
                                                  {FOVEA_Q8_0, FOVEA_Q5_0}});
  if (formats.keys != FOVEA_F32 && !of_sources) p = p.with_integers(formats.keys, formats.values);
  p.mask_at_end = levels.flag(), p.map_q_block = levels.choose<uint32_t>({0, 1, 16, 40});
  p.map_kv_block = levels.choose<uint32_t>({64, 128}), p.map_batch = levels.flag();
  p.map_heads = levels.flag(), p.modify_scores = levels.flag(), p.modify_weights = levels.flag();
  const fovea_hadamard_rows hadamard =
      levels.choose({FOVEA_HADAMARD_NONE, FOVEA_HADAMARD_KEYS, FOVEA_HADAMARD_VALUES, FOVEA_HADAMARD_BOTH});
  const uint32_t key_mass_queries = levels.choose<uint32_t>({0, 1, 4, 100});
  Case c = {p, budget, portable_bits, 0, 0, hadamard, key_mass_queries};
  if (of_sources) choose_source(levels, c);
  return c;
}

void run_case(const Case& c) {
  AttentionCase test(c.problem);
  const Shuffler shuffler(c.workers), five(5);
  for (const fovea_target target : c.problem.targets()) {
    const fovea_executor* const executor = c.workers != 0 ? shuffler.executor() : nullptr;
    const Run how = {target, c.budget, c.portable_bits, c.key_split_tokens, executor};
    CHECK(test.run(how) == "");
    const Outputs bits = test.outputs();
    for (const Budget budget : {Budget::kNone, Budget::kHalf, Budget::kLeast}) {
      const Run other = {target, budget, c.portable_bits, c.key_split_tokens, five.executor()};
      INFO(name(c.problem) << ": " << name(how) << " and " << name(other));
      CHECK(test.run(other) == "");
      CHECK(same_bits(test.outputs(), bits));
    }
    if (c.key_mass_queries != 0) CHECK(compare_key_mass(test, how, c.key_mass_queries) == "");
    if (c.hadamard != FOVEA_HADAMARD_NONE) CHECK(compare_rotated(test, how, c.hadamard, c.problem.seed) == "");
  }
}

size_t run_pairs(uint64_t seed, bool of_sources = false) {
  const auto make = [&](Levels& levels, uint64_t of_case) { return make_case(levels, of_case, of_sources); };
  return run_array(of_sources ? "sources and formats" : "attention options", seed, make, run_case);
}

}  // namespace

TEST_CASE("attention: any two choices of any two options agree with the reference", "[short]") {
  REQUIRE(run_pairs(1) == 96);
}

TEST_CASE("attention: the same holds for other arrays of pairs") {
  for (uint64_t seed = 2; seed <= 8; ++seed) run_pairs(seed);
}

TEST_CASE("attention: the same holds for many arrays of pairs", "[slow]") {
  for (uint64_t seed = 100; seed < 200; ++seed) run_pairs(seed);
}

TEST_CASE("sources: any two choices of source, format and options agree with the reference", "[short]") {
  CHECK(run_pairs(1, true) > 0);
}

TEST_CASE("sources: the same holds for other arrays of pairs") {
  for (uint64_t seed = 2; seed <= 6; ++seed) CHECK(run_pairs(seed, true) > 0);
}

}  // namespace fovea_test
