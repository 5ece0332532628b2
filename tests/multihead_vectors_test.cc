// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers give what nn.MultiheadAttention of PyTorch gave: vectors/multihead.csv, which
// vectors/make_multihead.py wrote for the rows below. Every vector runs on every target with weights in each format, from
// separate and from packed projections, with keys and values projected in the call and kept in a cache, and causal ones
// some tokens at a time.
#include "support/multihead.h"
#include "support/test.h"

namespace fovea_test {
namespace {

// The weights of each head, or their mean over the heads.
enum Want { kNoWeights, kHeads, kMean };

struct MultiheadVector {
  const char* name;
  uint32_t batch, q_tokens, kv_tokens, d_model, key_model, value_model, heads;
  Source source;
  bool bias, tokens_first, causal;
  LayerMask mask;
  Padding padding;
  Want want;

  // How many numbers are its outputs [batch][q_tokens][d_model], and its weights [batch][heads][q_tokens][kv_tokens] or
  // their mean.
  size_t outputs() const { return size_t{batch} * q_tokens * d_model; }
  size_t weights() const {
    return want == kNoWeights ? 0 : size_t{batch} * q_tokens * kv_tokens * (want == kHeads ? heads : 1);
  }
};
// clang-format off
constexpr MultiheadVector kVectors[] = {  // read by make_multihead.py
    {"self-attention, weights of each head",
     2, 5, 5, 16, 16, 16, 2, kSelf, true, false, false, kNoMask, kNoPadding, kHeads},
    {"self-attention, tokens first, no bias",
     2, 4, 4, 32, 32, 32, 4, kSelf, false, true, false, kNoMask, kNoPadding, kMean},
    {"self-attention, one head", 2, 3, 3, 24, 24, 24, 1, kSelf, true, false, false, kNoMask, kNoPadding, kHeads},
    {"self-attention, odd dimensions", 1, 6, 6, 21, 21, 21, 3, kSelf, true, false, false, kNoMask, kNoPadding, kHeads},
    {"self-attention, eight heads", 2, 3, 3, 64, 64, 64, 8, kSelf, true, false, false, kNoMask, kNoPadding, kMean},
    {"self-attention, one token", 3, 1, 1, 16, 16, 16, 2, kSelf, true, false, false, kNoMask, kNoPadding, kNoWeights},
    {"causal", 2, 9, 9, 24, 24, 24, 3, kSelf, true, false, true, kNoMask, kNoPadding, kHeads},
    {"causal, tokens first, no bias",
     2, 7, 7, 16, 16, 16, 4, kSelf, false, true, true, kNoMask, kNoPadding, kNoWeights},
    {"causal, padded keys", 2, 6, 6, 16, 16, 16, 2, kSelf, true, false, true, kNoMask, kTail, kMean},
    {"padded keys", 2, 7, 7, 16, 16, 16, 2, kSelf, true, false, false, kNoMask, kTail, kHeads},
    {"hidden keys, tokens first", 3, 8, 8, 16, 16, 16, 2, kSelf, true, true, false, kNoMask, kAnywhere, kMean},
    {"bool mask", 2, 6, 6, 16, 16, 16, 2, kSelf, true, false, false, kBool2, kNoPadding, kHeads},
    {"bool mask of each head, tokens first",
     2, 5, 5, 32, 32, 32, 4, kSelf, true, true, false, kBool3, kNoPadding, kHeads},
    {"float mask, tokens first, no bias",
     2, 6, 6, 16, 16, 16, 2, kSelf, false, true, false, kFloat2, kNoPadding, kMean},
    {"float mask of each head", 2, 4, 4, 20, 20, 20, 5, kSelf, true, false, false, kFloat3, kNoPadding, kNoWeights},
    {"bool mask of each head, hidden keys",
     2, 9, 9, 16, 16, 16, 2, kSelf, true, false, false, kBool3, kAnywhere, kMean},
    {"float mask, hidden keys, tokens first",
     2, 5, 5, 16, 16, 16, 2, kSelf, true, true, false, kFloat2, kAnywhere, kNoWeights},
    {"float mask of each head, padded keys", 2, 4, 4, 16, 16, 16, 2, kSelf, true, false, false, kFloat3, kTail, kHeads},
    {"keys that are the values", 2, 3, 6, 32, 32, 32, 4, kKeys, true, false, false, kNoMask, kNoPadding, kHeads},
    {"keys that are the values, one query, tokens first",
     2, 1, 9, 16, 16, 16, 4, kKeys, false, true, false, kNoMask, kTail, kMean},
    {"keys and values", 2, 5, 3, 16, 16, 16, 2, kKeysAndValues, true, false, false, kNoMask, kNoPadding, kMean},
    {"keys and values of other models",
     2, 4, 7, 32, 20, 12, 4, kKeysAndValues, true, false, false, kNoMask, kNoPadding, kHeads},
    {"keys and values of other models, tokens first, no bias, padded keys",
     2, 3, 8, 16, 9, 33, 2, kKeysAndValues, false, true, false, kNoMask, kTail, kMean},
    {"keys of another model, bool mask", 2, 6, 4, 16, 40, 40, 2, kKeys, true, false, false, kBool2, kNoPadding, kHeads},
    {"values of another model, float mask of each head",
     2, 3, 5, 16, 16, 11, 2, kKeysAndValues, true, false, false, kFloat3, kNoPadding, kMean},
};
// clang-format on

#include "multihead_numbers.inl"  // kNumbers: of each vector the outputs and the weights, one after the other

LayerProblem problem_of(const MultiheadVector& v, fovea_dtype dtype, bool packed) {
  LayerProblem p;
  p.batch = v.batch, p.q_tokens = v.q_tokens, p.kv_tokens = v.kv_tokens;
  p.q_heads = p.kv_heads = v.heads, p.head_dim = p.value_dim = v.d_model / v.heads;
  p.d_model = v.d_model, p.key_model = v.key_model, p.value_model = v.value_model;
  p.dtype = dtype, p.bias = v.bias, p.packed = packed, p.keys = v.source;
  p.order = v.tokens_first ? Layout::kTokensFirst : Layout::kHeadsFirst;
  p.causal = v.causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;
  p.mask = v.mask, p.padding = v.padding, p.scores = v.want != kNoWeights, p.seed = 1000 * uint64_t(&v - kVectors + 1);
  return p;
}

LayerAnswer answer_of(const MultiheadVector& v) {
  const float* y = kNumbers;
  for (const MultiheadVector* before = kVectors; before != &v; ++before) y += before->outputs() + before->weights();
  const float* const weights = y + v.outputs();
  return {{y, weights}, {weights, weights + v.weights()}};
}

// Calls check(vector, case, target) for every vector, format of weights and target.
template <class Check>
void each_vector(bool packed, Check check) {
  for (const MultiheadVector& v : kVectors) {
    if (packed && (v.key_model != v.d_model || v.value_model != v.d_model)) continue;
    for (const auto& [target, dtype] : every(targets(), {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8})) {
      LayerCase test(problem_of(v, dtype, packed));
      const std::string full_name = std::string(v.name) + " | " + name(test.p, target);
      set_current_case(full_name);
      INFO(full_name);
      check(v, test, target);
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
