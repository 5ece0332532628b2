// SPDX-License-Identifier: Apache-2.0
//
// Dropout of weights: which are dropped depends on their place and the seed alone, in every kind of call.
#include "support/test.h"

namespace fovea_test {
namespace {

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

TEST_CASE("dropout: a weight below 2^-126 is 0, though what divides it by 1 - dropout would make it larger",
          "[short]") {
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
