// SPDX-License-Identifier: Apache-2.0
//
// Score functions: each agrees with the reference. With every other option they meet in attention_pairs_test.cc, in
// streams in stream_test.cc, and with the formulas of their papers in examples/tutorials/score_functions.cc.
#include "support/test.h"

namespace fovea_test {
namespace {

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
