// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers give what nn.MultiheadAttention of PyTorch gave: vectors/multihead.inl, which
// vectors/make_multihead.py wrote. Every vector runs on every target with weights in each format, from separate and
// from packed projections, with keys and values projected in the call and kept in a cache, and causal ones some tokens
// at a time.
#include "support/multihead.h"
#include "support/test.h"

namespace fovea_test {
namespace {

// The weights of each head, or their mean over the heads.
enum Want { kNoWeights, kHeads, kMean };

struct MultiheadVector {
  const char* name;
  uint64_t seed;
  uint32_t batch, q_tokens, kv_tokens, d_model, key_model, value_model, heads;
  Source source;
  bool bias, tokens_first, causal;
  LayerMask mask;
  Padding padding;
  Want want;
  const float* y;        // [batch][q_tokens][d_model]
  const float* weights;  // [batch][heads][q_tokens][kv_tokens], the mean [batch][q_tokens][kv_tokens], or null
};

#include "vectors/multihead.inl"

LayerProblem problem_of(const MultiheadVector& v, fovea_dtype dtype, bool packed) {
  LayerProblem p;
  p.batch = v.batch, p.q_tokens = v.q_tokens, p.kv_tokens = v.kv_tokens;
  p.q_heads = p.kv_heads = v.heads, p.head_dim = p.value_dim = v.d_model / v.heads;
  p.d_model = v.d_model, p.key_model = v.key_model, p.value_model = v.value_model;
  p.dtype = dtype, p.bias = v.bias, p.packed = packed, p.keys = v.source;
  p.order = v.tokens_first ? Layout::kTokensFirst : Layout::kHeadsFirst;
  p.causal = v.causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;
  p.mask = v.mask, p.padding = v.padding, p.scores = v.want != kNoWeights, p.seed = v.seed;
  return p;
}

LayerAnswer answer_of(const MultiheadVector& v) {
  const size_t rows = size_t{v.batch} * v.q_tokens;
  const size_t weights = v.want == kNoWeights ? 0 : rows * v.kv_tokens * (v.want == kHeads ? v.heads : 1);
  return {{v.y, v.y + rows * v.d_model}, {v.weights, v.weights + weights}};
}

// Calls check(vector, case, target) for every vector, format of weights and target.
template <class Check>
void each_vector(bool packed, Check check) {
  for (const MultiheadVector& v : kMultiheadVectors) {
    if (packed && (v.key_model != v.d_model || v.value_model != v.d_model)) continue;
    for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8}) {
      for (const fovea_target target : targets()) {
        LayerCase test(problem_of(v, dtype, packed));
        const std::string full_name = std::string(v.name) + " | " + name(test.p, target);
        set_current_case(full_name);
        INFO(full_name);
        check(v, test, target);
      }
    }
  }
}

}  // namespace

TEST_CASE("multihead: separate and packed projections give PyTorch's answers", "[short]") {
  for (const bool packed : {false, true}) {
    each_vector(packed, [](const MultiheadVector& v, LayerCase& test, fovea_target target) {
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.compare(answer_of(v), multihead_tolerance(1), v.kv_tokens) == "");
      CHECK(test.workspace.margin_intact());
    });
  }
}

TEST_CASE("multihead: keys and values kept in a cache give PyTorch's answers", "[short]") {
  each_vector(false, [](const MultiheadVector& v, LayerCase& test, fovea_target target) {
    LayerCache kept(test.p, FOVEA_KV_STRIDED, FOVEA_F32, v.kv_tokens);
    test.plan_for(kept, v.kv_tokens, target);
    test.args.attention.kv_lengths = nullptr;
    REQUIRE(test.append(kept) == FOVEA_OK);
    // The longest entry may lose padded keys at its end.
    for (uint32_t b = 0; b < v.batch; ++b) REQUIRE(fovea_kv_truncate(kept, b, test.lengths[b]) == FOVEA_OK);
    const uint32_t columns = *std::max_element(test.lengths.begin(), test.lengths.end());
    if (test.mask_of_scores.kind != FOVEA_MASK_NONE) test.args.attention.mask.kv_tokens = columns;
    test.attend_to(kept);
    REQUIRE(test.call() == FOVEA_OK);
    CHECK(test.compare(answer_of(v), multihead_tolerance(1), columns) == "");
    CHECK(test.workspace.margin_intact());
  });
}

TEST_CASE("multihead: causal layers give PyTorch's answers some tokens at a time", "[short]") {
  size_t vectors = 0;
  for (const bool packed : {false, true}) {
    each_vector(packed, [&](const MultiheadVector& v, LayerCase& test, fovea_target target) {
      if (!v.causal || v.padding != kNoPadding) return;
      ++vectors;
      LayerCache one_by_one(test.p, FOVEA_KV_STRIDED, FOVEA_F32, v.kv_tokens);
      LayerCache by_threes(test.p, FOVEA_KV_STRIDED, FOVEA_F32, v.kv_tokens);
      test.decode(target, one_by_one, 1, [](uint32_t) { return uint32_t{1}; });
      CHECK(test.compare(answer_of(v), multihead_tolerance(1), v.kv_tokens) == "");
      test.decode(target, by_threes, 3, [](uint32_t) { return uint32_t{3}; });
      CHECK(test.compare(answer_of(v), multihead_tolerance(1), v.kv_tokens) == "");
    });
  }
  CHECK(vectors >= 2 * 2 * 4 * targets().size());
}

}  // namespace fovea_test
