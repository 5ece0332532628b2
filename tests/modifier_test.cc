// SPDX-License-Identifier: Apache-2.0
//
// Modifiers of scores and weights: each element is handed out once with the place that it has; what the function writes
// is used, and changes nothing about what is hidden. Dropout: which weights go depends on their place and the seed alone.
#include "fovea/modifier.hpp"
#include "support/shuffler.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

Problem base(uint32_t q_tokens = 21) {
  Problem p;
  p.batch = 2, p.q_heads = 6, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 150;
  p.head_dim = 20, p.value_dim = 12;
  return p;
}

using fovea::ScorePlace;

std::string run_and_compare(AttentionCase& test, const Run& how) {
  const std::string failed = test.run_unchecked(how);
  return failed.empty() ? test.compare() : failed;
}

// How often each score of a call was handed out.
struct Counts {
  explicit Counts(const Problem& p) : problem(p), times(size_t{p.batch} * p.q_heads * p.q_tokens * p.kv_tokens) {}
  static void count(void* self, const fovea_score_block* block) { static_cast<Counts*>(self)->count(*block); }
  void count(const fovea_score_block& block) {
    for (const auto& [r, k] : indices(block.rows, block.keys)) {
      const auto key = size_t(block.first_key + k);
      ++times[((size_t{block.batch} * problem.q_heads + block.heads[r]) * problem.q_tokens + block.tokens[r]) *
                  problem.kv_tokens +
              key];
    }
    most_worker = std::max(most_worker, block.worker);
  }

  const Problem& problem;
  std::vector<uint32_t> times;
  uint32_t most_worker = 0;
};

TEST_CASE("modifiers: each score is handed out once, in calls, parts of keys and pushes", "[short]") {
  for (const auto& [q_tokens, integers] : every({1u, 2u, 21u, 50u}, {false, true})) {
    Problem p = base(q_tokens);
    p.q_heads = q_tokens == 2 ? 2 : 6;
    if (integers) p = p.with_integers();
    AttentionCase test(p);
    const auto all_once = [&](const Counts& counts) {
      for (const uint32_t times : counts.times) {
        if (times != 1) return false;
      }
      return true;
    };
    for (const fovea_target target : p.targets()) {
      Shuffler three(3);
      for (const Run& how : {Run{target}, Run{target, Budget::kLeast, true}, Run{target, Budget::kNone, false, 64},
                             Run{target, Budget::kNone, false, 0, three.executor()}}) {
        Counts counts(p);
        const fovea_modifier modifier = {Counts::count, nullptr, &counts};
        test.args.modifier = &modifier;
        REQUIRE(test.run_unchecked(how) == "");
        CHECK(all_once(counts));
        CHECK(counts.most_worker < 3);
        CHECK((how.executor == nullptr || counts.most_worker == three.most_worker));
      }
      test.args.executor = nullptr;
      const TestStream stream(test.desc, target);
      Counts counts(p);
      const fovea_modifier modifier = {Counts::count, nullptr, &counts};
      test.args.modifier = &modifier;
      for (const Piece piece : {Piece{0, 30}, {30, 94}, {94, 150}}) REQUIRE(stream.push(test, piece) == FOVEA_OK);
      CHECK(all_once(counts));
    }
  }
}

TEST_CASE("modifiers: with weights scores are handed out once more, and once more with scores out", "[short]") {
  for (const auto& [target, out] : every(targets(), {false, true})) {
    Problem p = base();
    if (out) p.stage = FOVEA_SCORES_SOFTMAX;
    AttentionCase test(p);
    Counts counts(p);
    fovea_modifier modifier = {Counts::count, [](void*, const fovea_score_block*) {}, &counts};
    test.args.modifier = &modifier;
    REQUIRE(test.run_unchecked({target}) == "");
    CHECK(std::count(counts.times.begin(), counts.times.end(), out ? 3u : 2u) == ptrdiff_t(counts.times.size()));
    Counts weights(p);
    modifier = {nullptr, Counts::count, &weights};
    REQUIRE(test.run_unchecked({target}) == "");
    CHECK(std::count(weights.times.begin(), weights.times.end(), out ? 2u : 1u) == ptrdiff_t(weights.times.size()));
  }
}

TEST_CASE("modifiers: a weight of NaN or inf is not lost, and one below 2^-126 is 0", "[short]") {
  for (const bool integers : {false, true}) {
    AttentionCase test(integers ? base().with_integers() : base());
    float written = 0;
    const fovea::WeightModifier writes([&](float x, const ScorePlace& at) {
      return written == 0 ? 1e-39f * x : at.token == 3 && at.key == 70 ? written : x;
    });
    test.args.modifier = &writes;
    for (const auto& [target, number] : every(test.problem.targets(), {kNaN, kInfinity, 0.0f})) {
      written = number;
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> out = test.out();
      size_t wrong = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        const bool row = i / 12 % 21 == 3;
        wrong += number == 0 ? out[i] != 0 : std::isfinite(out[i]) == row;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("modifiers: a row whose scores all became -inf has no weights, whatever is written", "[short]") {
  Problem p = base();
  p.stage = FOVEA_SCORES_SOFTMAX;
  AttentionCase test(p);
  const fovea::Modifier modifier([](float x, const ScorePlace& at) { return at.head == 1 ? -kInfinity : x; },
                                 [](float, const ScorePlace&) { return 0.25f; });
  test.args.modifier = &modifier;
  for (const fovea_target target : targets()) {
    REQUIRE(test.run_unchecked({target}) == "");
    const std::vector<float> out = test.out(), weights = test.scores();
    for (size_t row = 0; row < out.size() / 12; ++row) {
      const bool empty = row / 21 % 6 == 1;
      CHECK((out[row * 12] == 0) == empty);
      CHECK(weights[row * 150] == (empty ? 0.0f : 0.25f));
    }
  }
}

TEST_CASE("modifiers: without functions a call has the bits of none, with one that does nothing nearly", "[short]") {
  for (const uint32_t q_tokens : {1u, 21u}) {
    AttentionCase test(base(q_tokens));
    test.expected();
    const fovea_modifier none = {}, nothing = {[](void*, const fovea_score_block*) {}, nullptr, nullptr};
    const fovea_modifier nothing_twice = {nothing.score_mod, nothing.score_mod, nullptr};
    for (const fovea_target target : targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> plain = test.out();
      test.args.modifier = &none;
      REQUIRE(test.run_unchecked({target}) == "");
      CHECK(same_bits(test.out(), plain));
      for (const fovea_modifier* modifier : {&nothing, &nothing_twice}) {
        test.args.modifier = modifier;
        CHECK(run_and_compare(test, {target}) == "");
      }
      test.args.modifier = nullptr;
    }
  }
}

TEST_CASE("modifiers: ALiBi and softcap as modifiers are the options, and halved weights halve outputs", "[short]") {
  for (const uint32_t q_tokens : {1u, 21u}) {
    Problem p = base(q_tokens);
    p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    Problem with_alibi = p, with_softcap = p;
    with_alibi.alibi = true, with_softcap.softcap = 1.5f;
    AttentionCase alibi(with_alibi), softcap(with_softcap);
    alibi.expected(), softcap.expected();
    const float* const slopes = alibi.slopes();
    const auto alibi_of = [&](float x, const ScorePlace& at) { return x - slopes[at.head] * std::fabs(at.distance()); };
    const auto halve = [](float x, const ScorePlace&) { return 0.5f * x; };
    const fovea::ScoreModifier as_alibi(alibi_of);
    const fovea::ScoreModifier as_softcap([](float x, const ScorePlace&) { return 1.5f * std::tanh(x / 1.5f); });
    const fovea::WeightModifier halves(halve);
    const fovea::Modifier both(alibi_of, halve);
    alibi.args.alibi_slopes = nullptr;
    softcap.desc.softcap = 0, softcap.args.modifier = &as_softcap;
    const auto halved = [&](const fovea_modifier& whole, const fovea_modifier& half, fovea_target target) {
      alibi.args.modifier = &whole;
      REQUIRE(alibi.run_unchecked({target}) == "");
      const std::vector<float> out = alibi.out();
      alibi.args.modifier = &half;
      REQUIRE(alibi.run_unchecked({target}) == "");
      const std::vector<float> half_out = alibi.out();
      for (size_t i = 0; i < out.size(); ++i) REQUIRE(std::fabs(half_out[i] - 0.5f * out[i]) < 1e-6f);
    };
    for (const fovea_target target : targets()) {
      CHECK(run_and_compare(softcap, {target}) == "");
      halved({}, halves, target);
      halved(as_alibi, both, target);
      alibi.args.modifier = &as_alibi;
      CHECK(run_and_compare(alibi, {target}) == "");
    }
  }
}

TEST_CASE("modifiers: a score of -inf has no weight, and a row of them is a row without keys", "[short]") {
  for (const uint32_t q_tokens : {1u, 21u}) {
    AttentionCase test(base(q_tokens));
    const fovea::ScoreModifier hides(
        [](float x, const ScorePlace& at) { return at.head != 2 && at.key % 3 == 0 ? x : -kInfinity; });
    std::vector<uint8_t> mask(size_t{6} * 150);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = i / 150 != 2 && i % 150 % 3 == 0;
    test.args.mask = {FOVEA_MASK_BYTE, 0, mask.data(), 0, 150, 0, 0, nullptr, 0, nullptr};
    test.expected();
    test.args.mask = {};
    test.args.modifier = &hides;
    for (const fovea_target target : targets()) {
      CHECK(run_and_compare(test, {target}) == "");
      const std::vector<float> out = test.out(), lse = test.lse();
      for (uint32_t i = 0; i < q_tokens; ++i) {
        CHECK(out[(size_t{2} * q_tokens + i) * 12] == 0.0f);
        CHECK(lse[size_t{2} * q_tokens + i] == -kInfinity);
      }
      // There a NaN in the value counts, as fovea.h says; only what is hidden is not looked at.
    }
  }
}

TEST_CASE("modifiers: weights below 0 become 0, and hidden keys stay hidden whatever is written", "[short]") {
  for (const bool integers : {false, true}) {
    Problem p = base();
    p.mask = FOVEA_MASK_BYTE;
    p.kv_lengths = {150, 77};
    p.stage = FOVEA_SCORES_SOFTMAX;
    if (integers) p = p.with_integers();
    AttentionCase test(p);
    const fovea::WeightModifier one_for_even(
        [](float, const ScorePlace& at) { return at.key % 2 == 0 ? 0.25f : -1.0f; });
    test.args.modifier = &one_for_even;
    for (const fovea_target target : p.targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> weights = test.scores();
      size_t at = 0, quarters = 0, right = 0;
      for (const auto& [b, h, i] : indices(p.batch, p.q_heads, p.q_tokens)) {
        for (uint32_t j = 0; j < p.kv_tokens; ++j, ++at) {
          const bool seen = visible(test.desc, test.args, b, h, i, j) && j % 2 == 0;
          quarters += seen;
          right += weights[at] == (seen ? 0.25f : 0.0f);
        }
      }
      CHECK(right == weights.size());
      CHECK(quarters > 1000);
    }
    if (!integers) CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("modifiers: of weights, not in streams nor with split keys", "[short]") {
  Problem p = base();
  p.modify_weights = true;
  AttentionCase test(p);
  test.fill_outputs();
  const std::string unsupported = fovea_status_string(FOVEA_ERR_UNSUPPORTED);
  CHECK(test.run_unchecked({FOVEA_TARGET_BEST, Budget::kNone, false, 64}).find(unsupported) != std::string::npos);
  CHECK(test.outputs_untouched());

  const TestStream stream(test.desc);
  stream.memory.read_only(true);
  CHECK(stream.push(test, {0, 64}) == FOVEA_ERR_UNSUPPORTED);
  stream.memory.read_only(false);
}

Problem problem() {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 19, p.kv_tokens = 135, p.head_dim = 12, p.value_dim = 9;
  p.dropout = 0.4f, p.stage = FOVEA_SCORES_SOFTMAX;
  return p;
}

std::vector<float> weights_of(const Problem& p, const Run& run) {
  AttentionCase test(p);
  test.expected();
  const std::string wrong = test.run(run);
  CHECK(wrong == "");
  return test.scores();
}

}  // namespace

TEST_CASE("dropout: a weight below 2^-126 is 0, though division by 1 - dropout would make it larger", "[short]") {
  for (const fovea_target target : targets()) {
    const float q = 1.0f, keys[2] = {0.0f, -87.5f}, values[2] = {0.0f, 0.0f};  // exp(-87.5) is 0.86 * 2^-126
    float out = 0.0f, weights[2] = {};
    auto desc = sized<fovea_attention_desc>();
    desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = desc.max_batch = desc.max_q_tokens = 1;
    desc.max_kv_tokens = 2, desc.dropout = 0.5f, desc.target = target;
    auto args = sized<fovea_attention_args>();
    args.batch = args.q_tokens = 1, args.kv_tokens = 2;
    args.q = {&q, 0, 0, 0};
    args.kv.keys = {keys, 0, 0, 1};
    args.kv.values = {values, 0, 0, 1};
    args.out = {&out, 0, 0, 0};
    args.scores = {weights, 0, 0, 0};
    args.scores_stage = FOVEA_SCORES_SOFTMAX;
    const fovea_attention_plan plan = plan_of(desc);
    for (args.dropout_seed = 0; args.dropout_seed < 8; ++args.dropout_seed) {
      REQUIRE(call_of(plan, args) == FOVEA_OK);
      INFO(fovea_target_name(target) << ", seed " << args.dropout_seed);
      CHECK((weights[0] == 0.0f || weights[0] == 2.0f));
      CHECK(weights[1] == 0.0f);
    }
  }
}

TEST_CASE("dropout: the seed, both halves of it, decides what is dropped, and nothing else changes", "[short]") {
  const uint64_t seeds[] = {0, 1, uint64_t{1} << 32, 0xfedcba9876543210u};
  for (const fovea_target target : targets()) {
    Problem p = problem();
    const float keep = 1.0f / (1.0f - p.dropout);
    p.dropout = 0;
    const std::vector<float> all = weights_of(p, {target, Budget::kNone, true});
    p.dropout = problem().dropout;
    std::vector<std::vector<float>> each;
    for (const uint64_t seed : seeds) {
      p.dropout_seed = seed;
      each.push_back(weights_of(p, {target}));
      size_t kept = 0, wrong = 0;
      for (size_t i = 0; i < all.size(); ++i) {
        const float weight = each.back()[i];
        kept += weight != 0;
        wrong += weight != 0 && std::fabs(weight - all[i] * keep) > 1e-6f * weight;
      }
      CHECK(wrong == 0);
      const double share = double(kept) / double(all.size());  // of 20520: 4 sigma are 0.014
      CHECK(std::fabs(share - 0.6) < 0.014);
      for (size_t other = 0; other + 1 < each.size(); ++other) CHECK(each[other] != each.back());
    }
  }
}

TEST_CASE("dropout: entries, heads, queries and keys differ in what is dropped", "[short]") {
  const Problem p = problem();
  const auto at = [&](uint32_t b, uint32_t h, uint32_t i, uint32_t j) {
    return dropped(p.dropout, p.dropout_seed, b, h, i, j);
  };
  // Of 64 keys, some are dropped in one place and not in its neighbour; the reference knows no more than the formula.
  for (int what = 0; what < 4; ++what) {
    size_t different = 0;
    for (uint32_t j = 0; j < 64; ++j) {
      different += at(0, 0, 0, j) != at(what == 0, what == 1, what == 2, what == 3 ? j + 1 : j);
    }
    CHECK(different > 10);
  }
  AttentionCase test(p);
  CHECK(run_on_all_targets(test) == "");
}

TEST_CASE("dropout: hidden keys stay hidden, and lse and a row without keys are those without it", "[short]") {
  for (const fovea_target target : targets()) {
    Problem p = problem();
    p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.mask = FOVEA_MASK_BYTE, p.kv_lengths = {135, 3}, p.sinks = true;
    AttentionCase test(p);
    test.expected();
    CHECK(test.run({target}) == "");
    p.dropout = 0;
    AttentionCase without(p);
    CHECK(without.run({target, Budget::kNone, true}) == "");
    CHECK(test.lse() == without.lse());
  }
}

}  // namespace fovea_test
