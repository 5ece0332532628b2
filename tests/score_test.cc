// SPDX-License-Identifier: Apache-2.0
//
// Score functions: each agrees with the reference, and with its paper's formula. With every other option they meet in
// attention_pairs_test.cc, in streams in stream_test.cc.
#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr fovea_score kScores[] = {FOVEA_SCORE_SCALED_DOT, FOVEA_SCORE_DOT, FOVEA_SCORE_ADDITIVE};

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
    p.score = kScores[1 + seed % 2];
    p.q_heads = seed % 3 == 0 ? 2 : 1;
    p.q_tokens = q_tokens, p.kv_tokens = kv_tokens, p.head_dim = head_dim, p.value_dim = 1 + head_dim % 6;
    p.stage = fovea_scores_stage(seed % 5);
    p.placement = Placement(seed % 3);
    p.layout = seed % 2 == 0 ? Layout::kPadded : Layout::kReversed;
    p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("score: which it is, the vector, its stride and the scale have an effect", "[short]") {
  Problem p;
  p.q_heads = p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 20, p.head_dim = 12;
  for (const fovea_score a : kScores) {
    for (const fovea_score b : kScores) {
      if (a == b) continue;
      Problem with = p, without = p;
      with.score = a, without.score = b;
      CHECK(effect_is_visible(with, without) == "");
    }
    Problem with = p, without = p;
    with.score = without.score = a, with.scale = 0.7f;
    CHECK(effect_is_visible(with, without) == "");
    CHECK(run_on_all_targets(with) == "");
  }
  // The same vector for all heads, or one for each.
  p.score = FOVEA_SCORE_ADDITIVE;
  AttentionCase test(p);
  REQUIRE(test.run({}) == "");
  const std::vector<float> out = test.out();
  test.args.score_vector_stride = 0;
  REQUIRE(test.run_unchecked({}) == "");
  CHECK(test.compare() != "");
  CHECK(!same_bits(test.out(), out));
}

TEST_CASE("score: dot is scaled dot with a scale of 1", "[short]") {
  Problem p;
  p.q_tokens = 9, p.kv_tokens = 40, p.head_dim = 11;
  Problem scaled = p;
  p.score = FOVEA_SCORE_DOT;
  scaled.scale = 1.0f;
  AttentionCase dot(p), same(scaled);
  for (const fovea_target target : targets()) {
    REQUIRE(dot.run({target}) == "");
    REQUIRE(same.run({target}) == "");
    CHECK(same_bits(dot.out(), same.out()));
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

// ------------------------------------------------------------------------------------------ the formulas of the papers

namespace {

constexpr uint32_t kQueries = 5, kKeys = 23, kQueryDim = 7, kKeyDim = 10, kHidden = 13;

// Queries, keys and weights as the papers have them, before any linear layer.
struct Paper {
  float q[kQueries][kQueryDim], keys[kKeys][kKeyDim];
  float w[kQueryDim][kKeyDim];                 // of general: q^T W k
  float w_both[kHidden][kQueryDim + kKeyDim];  // of concat; of additive its two parts
  float v[kHidden];

  Paper() {
    uint64_t draw = 0;
    const auto fill = [&](float* begin, size_t count, float size) {
      for (size_t i = 0; i < count; ++i) begin[i] = size * random_normal(77, draw++);
    };
    fill(q[0], kQueries * kQueryDim, 1), fill(keys[0], kKeys * kKeyDim, 1), fill(w[0], kQueryDim * kKeyDim, 0.4f);
    fill(w_both[0], kHidden * (kQueryDim + kKeyDim), 0.4f), fill(v, kHidden, 1);
  }

  double general(uint32_t i, uint32_t j) const {
    double sum = 0;
    for (const auto& [a, b] : indices(kQueryDim, kKeyDim)) sum += double{q[i][a]} * w[a][b] * keys[j][b];
    return sum;
  }
  // v^T tanh(W [q; k]), which with W = [W_1 W_2] is v^T tanh(W_1 q + W_2 k).
  double concat(uint32_t i, uint32_t j) const {
    double sum = 0;
    for (uint32_t d = 0; d < kHidden; ++d) {
      double x = 0;
      for (uint32_t a = 0; a < kQueryDim; ++a) x += double{w_both[d][a]} * q[i][a];
      for (uint32_t b = 0; b < kKeyDim; ++b) x += double{w_both[d][kQueryDim + b]} * keys[j][b];
      sum += v[d] * std::tanh(x);
    }
    return sum;
  }
};

// A row of x, multiplied by the transposed weights, each row of which is row_stride after the last.
void project(fovea_target target, const float* x, uint32_t in_dim, const float* w, uint32_t row_stride, float* y,
             uint32_t out_dim) {
  auto args = sized<fovea_linear_args>();
  args.target = target, args.tokens = 1, args.in_dim = in_dim, args.out_dim = out_dim;
  args.y = y, args.y_stride = ptrdiff_t(out_dim), args.x = x, args.x_stride = ptrdiff_t(in_dim);
  args.weights.data = w, args.weights.row_stride = ptrdiff_t(row_stride);
  const Guarded workspace(fovea_linear_workspace_bytes(&args), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  REQUIRE(fovea_linear(&args, workspace.as<void>(), workspace.bytes()) == FOVEA_OK);
}

// What attention makes of queries and keys that linear layers made agrees with the reference, whose scores are those of
// the paper.
template <class Score>
void check_paper(fovea_target target, AttentionCase& test, Score paper_score) {
  INFO(fovea_target_name(target));
  CHECK(test.run({target}) == "");
  for (const auto& [i, j] : indices(kQueries, kKeys)) {
    CHECK(close(test.expected().scores[i * kKeys + j], paper_score(i, j), kProjectedError));
    CHECK(close(test.scores()[i * kKeys + j], paper_score(i, j), kProjectedError));
  }
}

Problem paper_problem(fovea_score score, uint32_t dim) {
  Problem p;
  p.q_tokens = kQueries, p.kv_tokens = kKeys, p.head_dim = dim, p.value_dim = 4;
  p.score = score, p.stage = FOVEA_SCORES_SCALED;
  return p;
}

}  // namespace

TEST_CASE("score: general is dot with keys W k, as Luong et al. have it", "[short]") {
  const Paper paper;
  for (const fovea_target target : targets()) {
    AttentionCase test(paper_problem(FOVEA_SCORE_GENERAL, kQueryDim));
    for (uint32_t i = 0; i < kQueries; ++i) std::copy_n(paper.q[i], kQueryDim, test.q(0, 0, i));
    for (uint32_t j = 0; j < kKeys; ++j) {
      project(target, paper.keys[j], kKeyDim, paper.w[0], kKeyDim, test.key(0, 0, j), kQueryDim);
    }
    check_paper(target, test, [&](uint32_t i, uint32_t j) { return paper.general(i, j); });
  }
}

TEST_CASE("score: concat and additive are tanh of the sum of two projections, as Luong and Bahdanau have it",
          "[short]") {
  const Paper paper;
  constexpr uint32_t kRow = kQueryDim + kKeyDim;  // of W: its first columns are those of the query
  for (const auto& [target, score] : every(targets(), {FOVEA_SCORE_CONCAT, FOVEA_SCORE_ADDITIVE})) {
    AttentionCase test(paper_problem(score, kHidden));
    for (uint32_t i = 0; i < kQueries; ++i) {
      project(target, paper.q[i], kQueryDim, paper.w_both[0], kRow, test.q(0, 0, i), kHidden);
    }
    for (uint32_t j = 0; j < kKeys; ++j) {
      project(target, paper.keys[j], kKeyDim, paper.w_both[0] + kQueryDim, kRow, test.key(0, 0, j), kHidden);
    }
    std::copy_n(paper.v, kHidden, test.score_vector());
    check_paper(target, test, [&](uint32_t i, uint32_t j) { return paper.concat(i, j); });
  }
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
