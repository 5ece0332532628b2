// SPDX-License-Identifier: Apache-2.0
//
// Attention against the double reference: shapes, options at the ends of their ranges, and what happens at the edges.
// Every case runs on every target. attention_pairs_test.cc has the options with one another.
#include <cfloat>
#include <cstdlib>
#include <utility>

#include "support/test.h"

namespace fovea_test {
namespace {

// Small enough to be quick, large enough to have two key tiles, several vectors of rows and a rest of everything.
Problem base() {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 19, p.kv_tokens = 83;
  p.head_dim = 20, p.value_dim = 13;
  return p;
}
Problem masked(fovea_mask_kind kind) {
  Problem p = base();
  p.mask = kind;
  return p;
}

constexpr fovea_mask_kind kMasks[] = {FOVEA_MASK_F32, FOVEA_MASK_BYTE, FOVEA_MASK_F16, FOVEA_MASK_BF16};

// The option shows in the reference, and every target has it right, whatever the placement and the plan.
void check_option(const Problem& with, const Problem& without) {
  REQUIRE(effect_is_visible(with, without) == "");
  Problem p = with;
  for (const Placement placement : kPlacements) {
    p.placement = placement;
    CHECK(run_on_all_targets(p) == "");
  }
  CHECK(run_on_all_targets(with, Budget::kLeast) == "");
  CHECK(run_on_all_targets(with, Budget::kNone, true) == "");
  // Few rows may take another kernel.
  for (const uint32_t q_tokens : {1u, 2u, 3u}) {
    p.q_tokens = q_tokens, p.placement = Placement::kEnd;
    CHECK(run_on_all_targets(p) == "");
  }
}

constexpr uint32_t kDims[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 40, 50, 64, 65, 72, 80, 96, 127, 128, 130};
struct Heads {
  uint32_t q, kv;
};
constexpr Heads kHeads[] = {{1, 1}, {2, 2}, {4, 2}, {6, 2}, {8, 1}, {12, 4}};

// ------------------------------------------------------------------------------------------------------------- shapes

TEST_CASE("attention: every pair of counts, dims, heads and batch agrees with the reference") {
  // 1, 2, 3, lanes - 1, lanes, lanes + 1 and 4 * lanes + 3 for 1, 4, 8 and 16 lanes; 65 and 130 are past one and two
  // key tiles.
  constexpr uint32_t kTokens[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 35, 64, 65, 67, 130};
  const auto make = [&](Levels& levels, uint64_t) {
    Problem p;
    p.q_tokens = levels.choose(kTokens), p.kv_tokens = levels.choose(kTokens);
    p.head_dim = levels.choose(kDims), p.value_dim = levels.choose(kDims);
    const Heads heads = levels.choose(kHeads);
    p.q_heads = heads.q, p.kv_heads = heads.kv, p.batch = levels.choose({1u, 2u, 3u});
    p.placement = levels.choose({Placement::kEnd, Placement::kStart, Placement::kOffset});
    return p;
  };
  const size_t cases =
      run_array("attention shapes", 7, make, [](const Problem& p) { REQUIRE(run_on_all_targets(p) == ""); });
  CHECK(cases == 450);
}

TEST_CASE("attention: counts around the lanes of each target agree with the reference", "[short]") {
  for (const fovea_target target : targets()) {
    const uint32_t n = lanes(target), less = n > 1 ? n - 1 : 1;
    const uint32_t q_counts[] = {less, n, n + 1, 4 * n + 3}, kv_counts[] = {less, n, n + 1, 4 * n + 3, 65};
    for (const auto& [q_tokens, kv_tokens] : every(q_counts, kv_counts)) {
      Problem p;
      p.q_tokens = q_tokens, p.kv_tokens = kv_tokens, p.head_dim = n + 1, p.value_dim = 2 * n + 1;
      AttentionCase test(p);
      REQUIRE(test.run({target}) == "");
    }
  }
}

TEST_CASE("attention: every head_dim and value_dim from 1 to 130 agrees with the reference", "[short]") {
  for (uint32_t dim = 1; dim <= 130; ++dim) {
    for (const bool of_values : {false, true}) {
      Problem p;
      p.q_tokens = 3, p.kv_tokens = 9, p.head_dim = p.value_dim = 2;
      (of_values ? p.value_dim : p.head_dim) = dim;
      p.placement = Placement(dim % 3);
      REQUIRE(run_on_all_targets(p) == "");
    }
  }
}

TEST_CASE("attention: calls on both sides of the most rows of the first kernel agree with the reference", "[short]") {
  for (const auto& [target, heads] : every(targets(), kHeads)) {
    AttentionCase probe(base());
    REQUIRE(probe.run({target}) == "");
    const uint32_t group = heads.q / heads.kv;
    for (uint32_t q_tokens = 1; q_tokens <= made(probe.plan).kernels[0].most_rows / group + 2 && q_tokens <= 40;
         ++q_tokens) {
      Problem p = base();
      p.q_heads = heads.q, p.kv_heads = heads.kv, p.q_tokens = q_tokens, p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
      p.stage = FOVEA_SCORES_SOFTMAX, p.seed = q_tokens;
      AttentionCase test(p);
      test.desc.max_q_tokens = 200;
      CHECK(test.run({target}) == "");
    }
  }
}

TEST_CASE("attention: longer calls agree with the reference") {
  for (const auto& size : {std::pair<uint32_t, uint32_t>{1, 2048}, {300, 300}, {70, 1023}}) {
    Problem p;
    p.q_tokens = size.first, p.kv_tokens = size.second, p.q_heads = 2, p.head_dim = p.value_dim = 64;
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("attention: a plan with larger capacities serves smaller calls", "[short]") {
  for (const auto& [q_tokens, kv_tokens] : every({1u, 2u, 19u}, {0u, 1u, 64u, 83u})) {
    Problem p = base();
    p.q_tokens = q_tokens, p.kv_tokens = kv_tokens;
    AttentionCase test(p);
    test.desc.max_batch = 5, test.desc.max_q_tokens = 100, test.desc.max_kv_tokens = 1u << 30;
    CHECK(run_on_all_targets(test) == "");
    CHECK(run_on_all_targets(test, Budget::kLeast) == "");
  }
}

TEST_CASE("attention: batch, q_tokens and kv_tokens of zero are allowed", "[short]") {
  for (const auto& [batch, q_tokens, kv_tokens, stage] :
       every({2u, 0u}, {19u, 0u}, {83u, 0u}, {FOVEA_SCORES_NONE, FOVEA_SCORES_SCALED, FOVEA_SCORES_SOFTMAX})) {
    Problem p = base();
    p.batch = batch, p.q_tokens = q_tokens, p.kv_tokens = kv_tokens, p.stage = stage;
    CHECK(run_on_all_targets(p) == "");
    p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.mask = FOVEA_MASK_F32;
    CHECK(run_on_all_targets(p) == "");
    p.sinks = p.alibi = true;
    CHECK(run_on_all_targets(p) == "");
    AttentionCase split(p);
    for (const auto& [target, budget, portable] : every(targets(), {Budget::kNone, Budget::kLeast}, {false, true})) {
      CHECK(split.run({target, budget, portable, 64}) == "");
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ options

TEST_CASE("attention: a softcap may be as small or large as f32 holds its steps", "[short]") {
  const Problem without = base();
  constexpr float kMostSoftcap = 5.8e37f;
  for (const float softcap : {1e-30f, FLT_MIN, 1e30f, kMostSoftcap}) {
    Problem with = without;
    with.softcap = softcap;
    if (softcap < kMostSoftcap || !flushes_subnormals(targets()[0])) CHECK(run_on_all_targets(with) == "");
  }
  for (const fovea_target target : targets()) {
    if (!flushes_subnormals(target)) continue;
    // Scores below softcap * 2^-126 are 0: here all of them, as with a scale that makes them too small to matter.
    Problem large = without, small = without;
    large.softcap = kMostSoftcap, large.scale = 1e-3f;
    small.scale = 1e-30f;
    AttentionCase with_large(large), with_small(small);
    CHECK(with_large.run_unchecked({target}) == "");
    CHECK(with_small.run_unchecked({target}) == "");
    CHECK(with_large.out() == with_small.out());
  }
  Problem with = without;
  with.softcap = 2.0f, with.mask = FOVEA_MASK_F32, with.alibi = true, with.causal = FOVEA_CAUSAL_TOP_LEFT;
  with.scale = -0.7f;
  CHECK(run_on_all_targets(with) == "");
}

TEST_CASE("attention: causal positions may be before the first key, and behind the last", "[short]") {
  Problem p = base();
  p.causal = FOVEA_CAUSAL_POSITIONS;
  for (const int64_t position : {int64_t{-1}, int64_t{-5}, int64_t{-18}, int64_t{-19}, int64_t{-1000}, int64_t{63},
                                 int64_t{64}, int64_t{82}, int64_t{83}, int64_t{5000}}) {
    p.positions = {position, 0};
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("attention: pinned tokens stay visible, whatever window_left says", "[short]") {
  Problem without = base();
  without.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, without.window_left = 9;
  for (const uint32_t pinned : {1u, 5u, 64u, 70u, 83u, 0xffffffffu}) {
    Problem with = without;
    with.pinned_tokens = pinned;
    check_option(with, without);
  }
  // More pinned tokens than there are keys, where scores are asked for, too.
  for (const uint32_t pinned : {84u, 0xfffffff1u}) {
    Problem all = without;
    all.pinned_tokens = pinned, all.stage = FOVEA_SCORES_MASKED;
    CHECK(run_on_all_targets(all) == "");
  }
  // Window and pinned tokens in one key tile, and in two; hidden by what hides others, but not by the window.
  for (const auto& [position, stage] :
       every({-3, 6, 11, 40, 66}, {FOVEA_SCORES_SCALED, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX})) {
    Problem p = base();
    p.positions = {position, position + 7};
    p.causal = position < 10 ? FOVEA_CAUSAL_POSITIONS : FOVEA_CAUSAL_NONE;
    p.window_left = 4, p.window_right = 3, p.pinned_tokens = 5;
    p.kv_lengths = {83, 3};
    p.mask = position == 11 ? FOVEA_MASK_F32 : FOVEA_MASK_NONE;
    p.alibi = p.sinks = true, p.stage = stage;
    CHECK(run_on_all_targets(p) == "");
    p.q_tokens = 2;
    CHECK(run_on_all_targets(p) == "");
  }
  // Without a window they are as other tokens.
  Problem p = base();
  p.pinned_tokens = 5;
  AttentionCase pinned(p), plain(base());
  for (const fovea_target target : targets()) {
    REQUIRE(pinned.run({target}) == "");
    REQUIRE(plain.run({target}) == "");
    CHECK(std::memcmp(pinned.out().data(), plain.out().data(), plain.out().size() * sizeof(float)) == 0);
  }
}

TEST_CASE("attention: windows and ALiBi without a causal limit go by the named diagonal, not positions", "[short]") {
  constexpr Option kOptions[] = {{"a window to the left", [](auto& p) { p.window_left = 9; }},
                                 {"a window to the right", [](auto& p) { p.window_right = 7; }},
                                 {"ALiBi", [](auto& p) { p.alibi = true; }}};
  for (const auto& [bottom_right, option] : every({false, true}, kOptions)) {
    INFO(option.name);
    Problem p = base();
    p.kv_lengths = {83, 40};
    option.set(p);
    Problem other = p, placed = p;
    p.diagonal = bottom_right ? FOVEA_DIAGONAL_BOTTOM_RIGHT : FOVEA_DIAGONAL_TOP_LEFT;
    other.diagonal = bottom_right ? FOVEA_DIAGONAL_TOP_LEFT : FOVEA_DIAGONAL_BOTTOM_RIGHT;
    check_option(p, other);
    // The same queries from an array of positions.
    placed.diagonal = FOVEA_DIAGONAL_POSITIONS;
    placed.positions = {0, 0};
    if (bottom_right) placed.positions = {83 - 19, 40 - 19};
    AttentionCase named(p), positioned(placed);
    for (const fovea_target target : targets()) {
      REQUIRE(named.run({target}) == "");
      REQUIRE(positioned.run({target}) == "");
      CHECK(named.out() == positioned.out());
    }
  }
}

TEST_CASE("attention: windows of any size do not overflow", "[short]") {
  for (const auto& [left, right] : every({0u, 1u, 5u, 0x7fffffffu, 0x80000000u, 0xffffffffu},
                                         {0u, 1u, 5u, 0x7fffffffu, 0x80000000u, 0xffffffffu})) {
    for (const int64_t position : {int64_t{-7}, int64_t{10}, int64_t{1} << 31, -(int64_t{1} << 31)}) {
      Problem p = base();
      p.q_heads = p.kv_heads = 1, p.window_left = left, p.window_right = right;
      p.positions = {position, 10};
      CHECK(run_on_all_targets(p) == "");
    }
  }
}

TEST_CASE("attention: positions as far out as 2^62 work with causal limits and windows", "[short]") {
  const int64_t most = int64_t{1} << 62;
  for (const int64_t position : {most, most - 100, -most, int64_t{1} << 32, -(int64_t{1} << 32), (int64_t{1} << 31) - 5,
                                 -(int64_t{1} << 31) + 5, (int64_t{1} << 30) - 3}) {
    for (const auto& [causal, window] : every({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_POSITIONS}, {0u, 4u, 0xffffffffu})) {
      Problem p = base();
      p.q_heads = p.kv_heads = 1, p.causal = causal, p.window_left = window, p.window_right = window / 2;
      p.positions = {position, 20};
      CHECK(run_on_all_targets(p) == "");
    }
  }
}

TEST_CASE("attention: a mask of f16 or bf16 hides where it is the lowest number", "[short]") {
  for (const fovea_mask_kind kind : {FOVEA_MASK_F16, FOVEA_MASK_BF16}) {
    Problem with = masked(kind);
    // All keys of query 2 have the lowest number: it sees none. The next number above hides nothing.
    with.mask_heads = with.mask_batch = false;
    AttentionCase test(with);
    for (size_t j = 0; j < 83; ++j) {
      test.mask_half()[2 * 83 + j] = kind == FOVEA_MASK_F16 ? 0xfbff : 0xff7f;
      if (kind == FOVEA_MASK_F16) test.mask_half()[3 * 83 + j] = 0xfbfe;
    }
    for (const fovea_target target : targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> out = test.out(), lse = test.lse();
      for (size_t row = 0; row < lse.size(); row += 19) {
        CHECK(lse[row + 2] == -kInfinity);
        for (size_t e = 0; e < 13; ++e) CHECK(out[(row + 2) * 13 + e] == 0.0f);
        if (kind == FOVEA_MASK_F16) CHECK(lse[row + 3] < -65000.0f);
        if (kind == FOVEA_MASK_F16) CHECK(lse[row + 3] > -66000.0f);
      }
    }
  }
}

TEST_CASE("attention: a mask covers all keys of the call where kv_tokens is 0, and none only by that name", "[short]") {
  for (const auto& [kind, each] : every(kMasks, {true, false})) {
    Problem p = masked(kind);
    p.mask_keys = each;
    AttentionCase test(p);
    for (const fovea_target target : targets()) {
      test.args.mask.kv_tokens = 83;
      REQUIRE(test.run({target}) == "");
      const std::vector<float> all = test.out();
      test.args.mask.kv_tokens = 0;
      REQUIRE(test.run({target}) == "");
      CHECK(test.out() == all);
      test.args.mask.kv_tokens = FOVEA_MASK_NO_KEYS;
      REQUIRE(test.run_unchecked({target}) == "");
      for (const float x : test.out()) CHECK(x == 0.0f);
      for (const float x : test.lse()) CHECK(x == -kInfinity);
    }
  }
}

TEST_CASE("attention: ALiBi of far positions has the distance to the last representable bit", "[short]") {
  // The distance does not fit 32 bits; a slope that is small enough keeps the differences between keys.
  for (const int64_t position : {int64_t{1} << 24, -(int64_t{1} << 24), int64_t{1} << 33, -(int64_t{1} << 40)}) {
    Problem p = base();
    p.positions = {position, 9};
    p.alibi = true, p.stage = FOVEA_SCORES_MASKED;
    AttentionCase test(p);
    for (uint32_t h = 0; h < p.q_heads; ++h) test.slopes()[h] = 1e-9f * float(h + 1);
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("attention: a sink may be far above or below all scores", "[short]") {
  Problem p = base();
  p.sinks = true;
  AttentionCase large(p), small(p);
  for (uint32_t h = 0; h < p.q_heads; ++h) {
    large.sinks()[h] = 60.0f + float(h);
    small.sinks()[h] = -300.0f;
  }
  CHECK(run_on_all_targets(large) == "");
  CHECK(run_on_all_targets(small) == "");
}

TEST_CASE("attention: a small call has the same bits whether lse is asked for or not", "[short]") {
  Problem p;
  p.batch = 2, p.q_heads = 3, p.kv_heads = 3;
  for (const auto& [head_dim, kv_tokens] :
       every({1u, 7u, 32u, 40u, 64u, 130u}, {1u, 2u, 7u, 8u, 9u, 31u, 33u, 63u, 64u, 65u, 66u})) {
    p.head_dim = head_dim, p.value_dim = head_dim + kv_tokens % 3, p.kv_tokens = kv_tokens;
    p.layout = kv_tokens % 2 == 0 ? Layout::kHeadsFirst : Layout::kPadded;
    constexpr fovea_causal kCausal[] = {FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_BOTTOM_RIGHT, FOVEA_CAUSAL_TOP_LEFT};
    p.causal = kCausal[kv_tokens % 3];
    p.kv_lengths.clear();
    if (head_dim != 32) p.kv_lengths = {kv_tokens, kv_tokens / 3};
    p.lse = true;
    AttentionCase with(p);
    p.lse = false;
    AttentionCase without(p);
    // In heads of their own: a NaN, a large score, and keys that all have scores of -inf.
    for (AttentionCase* test : {&with, &without}) {
      test->key(0, 0, kv_tokens / 2)[0] = kNaN;
      test->key(0, 1, kv_tokens - 1)[0] *= 1e4f;
      if (kv_tokens % 4 == 0) test->q(0, 2, 0)[0] = -kInfinity;
      for (uint32_t j = 0; kv_tokens % 4 == 0 && j < kv_tokens; ++j) test->key(0, 2, j)[0] = 1.0f;
    }
    for (const fovea_target target : targets()) {
      INFO("head_dim " << head_dim << ", " << kv_tokens << " keys, " << fovea_target_name(target));
      REQUIRE(with.run_unchecked({target}) == "");
      REQUIRE(without.run_unchecked({target}) == "");
      const std::vector<float> a = with.out(), b = without.out();
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(),
                       [](float x, float y) { return bits_of(x) == bits_of(y) || (std::isnan(x) && std::isnan(y)); }));
    }
  }
}

TEST_CASE("attention: a plan's target is the one that runs", "[short]") {
  for (const fovea_target target : targets()) {
    AttentionCase test(base());
    REQUIRE(test.run({target}) == "");
    CHECK(made(test.plan).desc.target == target);
    CHECK(made(test.plan).lanes == lanes(target));
  }
}

// ------------------------------------------------------------------------------------------------------------- edges

TEST_CASE("attention: a query that may see no key answers zeros, lse -inf or its sink, and weights of 0", "[short]") {
  constexpr Option kBlind[] = {
      {"no lengths", [](auto& p) { p.kv_lengths = {0, 0}; }},
      {"no lengths, with sinks", [](auto& p) { p.kv_lengths = {0, 0}, p.sinks = true; }},
      {"no keys", [](auto& p) { p.kv_tokens = 0; }},
      {"positions before all keys", [](auto& p) { p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {-1000, -19}; }},
      {"a window behind all keys", [](auto& p) { p.window_left = 5, p.positions = {1000, 87}; }},
      {"a mask that covers no key", [](auto& p) { p.mask = FOVEA_MASK_BYTE, p.mask_missing = 83; }},
      {"a mask that hides all keys", [](auto& p) { p.mask = FOVEA_MASK_F32; }},
  };
  for (const auto& [option, q_tokens, stage] :
       every(kBlind, {19u, 1u}, {FOVEA_SCORES_NONE, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX})) {
    INFO(option.name);
    Problem p = base();
    p.stage = stage, p.q_tokens = q_tokens;
    option.set(p);
    AttentionCase test(p);
    for (size_t i = 0; p.mask == FOVEA_MASK_F32 && i < size_t{2} * 4 * p.q_tokens * 83; ++i) {
      test.mask_f32()[i] = i % 2 == 0 ? -kInfinity : -FLT_MAX / 2;
    }
    for (const fovea_target target : targets()) {
      REQUIRE(test.run({target}) == "");
      for (const float x : test.out()) REQUIRE((x == 0.0f && !std::signbit(x)));
      for (const float x : test.lse()) REQUIRE((x == -kInfinity) != p.sinks);  // run() compares it with the sink
      const float hidden = stage == FOVEA_SCORES_MASKED ? -kInfinity : 0.0f;
      if (stage == FOVEA_SCORES_NONE) continue;
      for (const float x : test.scores()) REQUIRE(x == hidden);
    }
  }
}

TEST_CASE("attention: a NaN or infinite score makes its own query NaN and no other", "[short]") {
  for (const auto& [bad, query] : every({kNaN, kInfinity, -kInfinity}, {0u, 7u, 18u, 1u})) {
    Problem p = base();
    p.lse = false;
    if (query == 1) p.q_tokens = 2;  // few rows
    if (query == 7) p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    AttentionCase test(p);
    test.q(1, 2, query)[3] = bad;
    CHECK(std::isnan(test.expected().out[((size_t{1} * 4 + 2) * p.q_tokens + query) * p.value_dim]));
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("attention: a float mask of NaN or +inf makes its own query NaN and no other", "[short]") {
  for (const float bad : {kNaN, kInfinity}) {
    Problem p = base();
    p.mask = FOVEA_MASK_F32, p.lse = false;
    AttentionCase test(p);
    test.mask_f32()[(size_t{5} * 19 + 11) * 83 + 70] = bad;
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("attention: NaN or infinity in a key or value reaches the queries that see it and no other", "[short]") {
  constexpr Option kSights[] = {
      {"causal", [](auto& p) { p.causal = FOVEA_CAUSAL_TOP_LEFT; }},
      {"a window to the left", [](auto& p) { p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.window_left = 9; }},
      {"a window on both sides", [](auto& p) { p.window_left = 4, p.window_right = 3, p.positions = {10, 47}; }},
      {"a mask of bytes", [](auto& p) { p.mask = FOVEA_MASK_BYTE; }},
      {"a mask of numbers", [](auto& p) { p.mask = FOVEA_MASK_F32; }},
      {"lengths", [](auto& p) { p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.kv_lengths = {83, 50}; }},
  };
  for (const auto& [bad, option, q_tokens, in_key] :
       every({kNaN, kInfinity, -kInfinity}, kSights, {40u, 2u}, {false, true})) {
    INFO(option.name);
    Problem p = base();
    p.lse = false, p.q_tokens = q_tokens;
    option.set(p);
    AttentionCase test(p);
    for (const auto& [b, j] : every({0u, 1u}, {13u, 49u, 63u, 64u})) {
      // An infinite key gives scores of both signs: only NaN keys have one right answer.
      if (in_key) test.key(b, 1, j)[4] = kNaN;
      if (!in_key) test.value(b, 1, j)[5] = bad;
    }
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("attention: weights that underflow are exactly 0, and none is subnormal", "[short]") {
  // One query of ones, keys that give scores 0, -0.5, -1, ... of which those below -87.3 have no normal weight.
  Problem p;
  p.kv_tokens = 300, p.head_dim = 1, p.value_dim = 3, p.scale = 1.0f, p.stage = FOVEA_SCORES_SOFTMAX;
  AttentionCase test(p);
  test.q(0, 0, 0)[0] = 1.0f;
  for (uint32_t j = 0; j < p.kv_tokens; ++j) test.key(0, 0, j)[0] = -0.5f * float(j);
  for (const fovea_target target : targets()) {
    REQUIRE(test.run({target}) == "");
    const std::vector<float> weights = test.scores();
    for (uint32_t j = 0; j < p.kv_tokens; ++j) {
      REQUIRE((weights[j] == 0.0f || weights[j] >= FLT_MIN));
      if (j < 170) REQUIRE(weights[j] > 0.0f);
      if (j > 180) REQUIRE(weights[j] == 0.0f);
    }
  }
}

TEST_CASE("attention: a visible key whose weight underflows is not hidden", "[short]") {
  Problem p;
  p.kv_tokens = 9, p.head_dim = 1, p.value_dim = 2, p.scale = 1.0f, p.lse = false;
  for (const bool masked : {false, true}) {
    if (masked) p.mask = FOVEA_MASK_BYTE;
    AttentionCase test(p);
    if (masked) std::memset(test.mask_byte(), 1, 9);
    test.q(0, 0, 0)[0] = 1.0f;
    for (uint32_t j = 0; j < 9; ++j) {
      test.key(0, 0, j)[0] = j == 4 ? -500.0f : 0.0f;
      test.value(0, 0, j)[0] = 1.0f;
      test.value(0, 0, j)[1] = j == 4 ? kInfinity : 1.0f;
    }
    for (const fovea_target target : targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      CHECK(test.out()[0] == 1.0f);
      CHECK(std::isnan(test.out()[1]));  // 0 * inf
    }
  }
}

TEST_CASE("attention: scores as large as 10^4 and as far apart do not overflow", "[short]") {
  Problem p = base();
  p.scale = 1000.0f;
  CHECK(run_on_all_targets(p) == "");
  p.scale = -1000.0f, p.sinks = true;
  CHECK(run_on_all_targets(p) == "");
}

TEST_CASE("attention: a mask of very negative numbers that do not hide still lets the keys be seen", "[short]") {
  Problem p;
  p.q_tokens = 3, p.kv_tokens = 20, p.mask = FOVEA_MASK_F32, p.mask_queries = true;
  AttentionCase test(p);
  const float barely = std::nextafter(-FLT_MAX / 2, 0.0f);
  for (size_t i = 0; i < 60; ++i) test.mask_f32()[i] = barely;
  for (const auto& [j, d] : indices(20, 8)) {
    test.key(0, 0, j)[d] = 0.25f;
    test.value(0, 0, j)[d] = float(d);
  }
  for (const fovea_target target : targets()) {
    REQUIRE(test.run_unchecked({target}) == "");
    const std::vector<float> out = test.out();
    for (size_t i = 0; i < out.size(); ++i) REQUIRE(close(out[i], double(i % 8), 32 * kEpsilon));
  }
}

// A problem that needs more than one tile of rows and of keys.
Problem large() {
  Problem p;
  p.score = FOVEA_SCORE_ADDITIVE;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 27, p.kv_tokens = 83, p.head_dim = 19, p.value_dim = 6;
  p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.stage = FOVEA_SCORES_SOFTMAX;
  return p;
}

}  // namespace

TEST_CASE("score: every count around those of vectors, blocks and tiles agrees with the reference", "[short]") {
  uint64_t seed = 0;
  for (const auto& [q_tokens, kv_tokens, head_dim] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 13u, 17u, 49u}, {1u, 2u, 3u, 5u, 63u, 64u, 65u},
             {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 33u})) {
    if (++seed % 5 != 0 && q_tokens * kv_tokens * head_dim > 300) continue;
    Problem p;
    p.score = seed % 2 == 0 ? FOVEA_SCORE_DOT : FOVEA_SCORE_ADDITIVE;
    p.q_heads = seed % 3 == 0 ? 2 : 1;
    p.q_tokens = q_tokens, p.kv_tokens = kv_tokens, p.head_dim = head_dim, p.value_dim = 1 + head_dim % 6;
    p.stage = fovea_scores_stage(seed % 5);
    p.placement = Placement(seed % 3);
    p.layout = seed % 2 == 0 ? Layout::kPadded : Layout::kReversed;
    p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("score: a NaN in a query, key or the vector reaches the rows that see it, and no other", "[short]") {
  for (const uint32_t q_tokens : {3u, 20u}) {
    Problem p;
    p.score = FOVEA_SCORE_ADDITIVE;
    p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 20, p.head_dim = 5, p.value_dim = 3;
    p.causal = FOVEA_CAUSAL_TOP_LEFT;
    AttentionCase test(p);
    test.q(0, 1, 0)[4] = kNaN;
    test.key(0, 0, 2)[0] = kNaN;
    test.score_vector()[test.args.score_vector_stride + 4] = kNaN;
    for (const fovea_target target : targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      INFO(fovea_target_name(target));
      const std::vector<float> out = test.out();
      for (const auto& [h, i] : indices(p.q_heads, q_tokens)) {
        const bool nan = h >= 2 || i >= 2 || (h == 1 && i == 0);
        for (uint32_t e = 0; e < p.value_dim; ++e) CHECK(std::isnan(out[(h * q_tokens + i) * p.value_dim + e]) == nan);
      }
    }
  }
}

TEST_CASE("score: large queries and keys, where tanh is 1, agree with the reference", "[short]") {
  Problem p;
  p.score = FOVEA_SCORE_ADDITIVE;
  p.q_tokens = 6, p.kv_tokens = 30, p.head_dim = 9, p.stage = FOVEA_SCORES_SCALED;
  AttentionCase test(p);
  for (uint32_t d = 0; d < p.head_dim; ++d) {
    for (uint32_t i = 0; i < p.q_tokens; ++i) test.q(0, 0, i)[d] *= std::ldexp(1.0f, int(i * 24));
    for (uint32_t j = 0; j < p.kv_tokens; ++j) test.key(0, 0, j)[d] *= std::ldexp(1.0f, int(j * 4));
  }
  test.key(0, 0, 7)[3] = kInfinity;
  CHECK(run_on_all_targets(test) == "");
}

// -------------------------------------------------------------------------------------------------------------- misuse

TEST_CASE("score: what is wrong with it has its status, and nothing is written", "[short]") {
  AttentionCase test(large());
  const fovea_attention_plan plan = plan_of(test.desc);
  const auto call = [&](const fovea_attention_args& args) {
    test.fill_outputs();
    const fovea_status status = call_of(plan, args);
    CHECK((status == FOVEA_OK || test.outputs_untouched()));
    return status;
  };
  CHECK(call(test.args) == FOVEA_OK);
  fovea_attention_args args = test.args;
  args.score_vector = nullptr;
  CHECK(call(args) == FOVEA_ERR_NULL);
  args.score_vector = reinterpret_cast<const float*>(reinterpret_cast<const char*>(test.args.score_vector) + 1);
  CHECK(call(args) == FOVEA_ERR_ALIGNMENT);
  args.score_vector = static_cast<const float*>(args.out.data);
  CHECK(call(args) == FOVEA_ERR_OVERLAP);
  args.score_vector = test.args.score_vector, args.score_vector_stride = PTRDIFF_MAX;
  CHECK(call(args) == FOVEA_ERR_SIZE);

  Problem dot = large();
  dot.score = FOVEA_SCORE_DOT;
  AttentionCase without(dot);
  args = without.args;
  args.score_vector = test.args.score_vector;
  CHECK(call_of(plan_of(without.desc), args) == FOVEA_ERR_UNSUPPORTED);
}

}  // namespace fovea_test
