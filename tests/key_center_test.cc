// SPDX-License-Identifier: Apache-2.0
//
// Smoothed keys: a cache subtracts a vector from the keys of each head, and attention over them answers as if it had
// not.
#include "support/cache_model.h"
#include "support/centered.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

constexpr uint32_t kHeads = 2, kDim = 36, kValueDim = 20, kTokens = 50;

fovea_kv_cache_desc cache_of(fovea_kv_kind kind, fovea_dtype dtype, const float* center) {
  auto d = sized<fovea_kv_cache_desc>();
  d.kind = kind, d.key_dtype = dtype, d.value_dtype = FOVEA_F16, d.key_center = center;
  d.batch = 2, d.kv_heads = kHeads, d.head_dim = kDim, d.value_dim = kValueDim;
  d.max_tokens = kind == FOVEA_KV_RING ? 40 : 64;
  if (kind == FOVEA_KV_PAGED) d.page_tokens = 16, d.pages = 8;
  return d;
}

struct SmoothedCache : OwnedCache {
  SmoothedCache(fovea_kv_kind of_kind, fovea_dtype dtype, const float* center)
      : OwnedCache(cache_of(of_kind, dtype, center)) {
    for (uint32_t page = 0; page < pages; ++page) page_table[page] = page;
  }
  // Adds all keys to both entries, with values of zeros; the workspace holds this many tokens.
  fovea_status append(fovea_target target, const std::vector<float>& keys, const fovea_rope_args* rope, uint32_t room) {
    const std::vector<float> zeros(size_t{kTokens} * kValueDim);
    const Guarded workspace(size_t{room} * kHeads * kDim * sizeof(float), sizeof(float), Placement::kEnd);
    auto a = sized<fovea_kv_append_args>();
    a.target = target, a.batch = 2, a.tokens = kTokens;
    a.keys = {keys.data(), ptrdiff_t{kHeads} * kTokens * kDim, ptrdiff_t{kTokens} * kDim, ptrdiff_t{kDim}};
    a.values = {zeros.data(), 0, 0, kValueDim};
    a.rope = rope;
    if (room != 0) a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
    const fovea_status status = fovea_kv_append(*this, &a);
    CHECK(workspace.margin_intact());
    return status;
  }
};

Problem problem(uint32_t q_tokens) {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 90;
  p.head_dim = 40, p.value_dim = 24, p.lse = false;
  return p.with_integers();
}

// "" if every target agrees with the reference, by both kernels.
std::string run_everywhere(AttentionCase& test) {
  const std::string wrong = run_on_all_targets(test);
  return wrong.empty() ? run_on_all_targets(test, Budget::kNone, true) : wrong;
}

fovea_status status_of(AttentionCase& test, const fovea_attention_desc& desc, const fovea_attention_args& args) {
  REQUIRE(fovea_attention_plan_init(&test.plan, &desc) == FOVEA_OK);
  test.fill_outputs();
  const fovea_status status = call_again(test, args);
  CHECK((status == FOVEA_OK || test.outputs_untouched()));
  return status;
}

}  // namespace

TEST_CASE("smoothed keys: a cache holds what is left of each key", "[short]") {
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  const std::vector<float> center = normal_numbers(kHeads * kDim, 5);
  std::vector<uint64_t> turns(kDim / 2);
  REQUIRE(fovea_rope_frequencies(turns.data(), 0, 0, kDim) == FOVEA_OK);
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = kDim;
  rope.turns = turns.data();
  for (const auto& [target, turned] : every(targets(), {false, true})) {
    SmoothedCache whole(FOVEA_KV_STRIDED, FOVEA_F32, nullptr);
    REQUIRE(whole.append(target, keys, turned ? &rope : nullptr, 1) == FOVEA_OK);
    std::vector<float> left;
    for (const auto& [b, h, t] : indices(2, kHeads, kTokens)) {
      const float* const key = row(whole.source.keys, b, h, t);
      for (uint32_t d = 0; d < kDim; ++d) left.push_back(key[d] - center[h * kDim + d]);
    }
    for (const auto& [kind, dtype] :
         every({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED}, {FOVEA_F32, FOVEA_BF16, FOVEA_I8, FOVEA_I4})) {
      SmoothedCache want(kind, dtype, nullptr), got(kind, dtype, center.data());
      REQUIRE(want.append(target, left, nullptr, 0) == FOVEA_OK);
      for (const uint32_t room : {1u, 7u, 200u}) {
        REQUIRE(fovea_kv_reset(got, FOVEA_ALL_ENTRIES) == FOVEA_OK);
        REQUIRE(got.append(target, keys, turned ? &rope : nullptr, room) == FOVEA_OK);
        CHECK(want.bytes() == got.bytes());
      }
      CHECK(got.source.key_center == center.data());
    }
  }
}

TEST_CASE("smoothed keys: a softmax alone does not see the centre, and need not be told of it", "[short]") {
  for (const uint32_t q_tokens : {1u, 2u, 19u}) {
    Problem p = problem(q_tokens);
    p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    Centered test(p);
    CHECK(run_everywhere(test) == "");
    for (const fovea_target target : p.targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> want = test.out();
      const float* const center = test.args.kv.key_center;
      test.args.kv.key_center = nullptr;
      REQUIRE(test.run_unchecked({target}) == "");
      CHECK(same_bits(test.out(), want));
      test.args.kv.key_center = center;
    }
  }
}

TEST_CASE("smoothed keys: a modifier of scores sees the centre", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    Problem p = problem(q_tokens);
    p.softcap = 2.0f;
    Centered test(p);
    test.expected();
    test.desc.softcap = 0;
    const fovea_modifier softcap = {
        [](void*, const fovea_score_block* block) {
          for (const auto& [r, k] : indices(block->rows, block->keys)) {
            float& x = block->data[ptrdiff_t(r) * block->row_stride + ptrdiff_t(k) * block->key_stride];
            x = 2.0f * std::tanh(x / 2.0f);
          }
        },
        nullptr, nullptr};
    test.args.modifier = &softcap;
    for (const fovea_target target : p.targets()) {
      const std::string failed = test.run_unchecked({target});
      CHECK((failed.empty() ? test.compare() : failed) == "");
    }
    fovea_attention_desc d = test.desc;
    d.compute = FOVEA_COMPUTE_F32;
    CHECK(status_of(test, d, test.args) == FOVEA_ERR_UNSUPPORTED);
  }
}

TEST_CASE("smoothed keys: what sees the centre is as if it had not been subtracted", "[short]") {
  constexpr Option kSights[] = {
      {"lse", [](auto& p) { p.lse = true; }},
      {"softcap", [](auto& p) { p.softcap = 3.0f; }},
      {"sinks", [](auto& p) { p.sinks = true; }},
      {"scores", [](auto& p) { p.stage = FOVEA_SCORES_SCALED; }},
      {"masked scores",
       [](auto& p) { p.stage = FOVEA_SCORES_MASKED, p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.softcap = 5.0f; }},
      {"weights", [](auto& p) { p.stage = FOVEA_SCORES_SOFTMAX, p.alibi = true, p.positions = {80, 3}; }},
      {"lse of few keys", [](auto& p) { p.lse = true, p.kv_lengths = {0, 3}, p.mask = FOVEA_MASK_F32; }},
  };
  for (const auto& [sight, q_tokens] : every(kSights, {1u, 2u, 19u})) {
    Problem p = problem(q_tokens);
    sight.set(p);
    INFO(sight.name << ": " << name(p));
    Centered test(p);
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("smoothed keys: queries of int8 see the centre too", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    Problem p = problem(q_tokens);
    p.lse = true, p.softcap = 3.0f;
    Centered test(p);
    const Array codes(FOVEA_I8, {p.batch, p.q_heads, q_tokens, p.head_dim}, Layout::kHeadsFirst, Placement::kEnd);
    for (const auto& [b, h, i, d] : indices(p.batch, p.q_heads, q_tokens, p.head_dim)) {
      codes.row<int8_t>(b, h, i)[d] = int8_t(row(test.args.q, b, h, i)[d] * 64);
    }
    CHECK(run_on_all_targets(test) == "");
    test.args.q = codes.in(), test.desc.q_dtype = FOVEA_I8, test.desc.q_scale = 1.0f / 64;
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("smoothed keys: what cannot be as if nothing were subtracted is refused", "[short]") {
  Problem p = problem(2);
  p.lse = true, p.sinks = true, p.stage = FOVEA_SCORES_SOFTMAX;
  Centered test(p);
  CHECK(status_of(test, test.desc, test.args) == FOVEA_OK);
  fovea_attention_args args = test.args;
  args.kv.key_center = static_cast<const float*>(test.args.out.data);
  CHECK(status_of(test, test.desc, args) == FOVEA_ERR_OVERLAP);
  args.kv.key_center = reinterpret_cast<const float*>(static_cast<const char*>(test.args.kv.keys.data) + 1);
  CHECK(status_of(test, test.desc, args) == FOVEA_ERR_ALIGNMENT);

  fovea_attention_desc floats = test.desc;
  floats.compute = FOVEA_COMPUTE_F32;
  args = test.args;
  args.lse.data = nullptr, args.sinks = nullptr;
  CHECK(status_of(test, floats, args) == FOVEA_OK);  // weights of a softmax
  for (const bool of_integers : {false, true}) {
    using D = fovea_attention_desc;
    using A = fovea_attention_args;
    const auto refuses = [&](void (*change)(D&, A&, const A&)) {
      fovea_attention_desc changed_desc = of_integers ? test.desc : floats;
      if (of_integers) changed_desc.q_dtype = FOVEA_F16;  // whose sum with a centre would be of other numbers
      fovea_attention_args changed = args;
      change(changed_desc, changed, test.args);
      CHECK(status_of(test, changed_desc, changed) == FOVEA_ERR_UNSUPPORTED);
      changed.kv.key_center = nullptr;
      CHECK(status_of(test, changed_desc, changed) == FOVEA_OK);
    };
    refuses([](D&, A& changed, const A& all) { changed.lse = all.lse; });
    refuses([](D&, A& changed, const A& all) { changed.sinks = all.sinks; });
    refuses([](D&, A& changed, const A&) { changed.scores_stage = FOVEA_SCORES_MASKED; });
    refuses([](D& d, A&, const A&) { d.softcap = 4; });
  }
}

TEST_CASE("smoothed keys: additive scores and streams of floats are refused", "[short]") {
  Problem p = problem(2);
  p.compute = FOVEA_COMPUTE_F32;
  Centered test(p);
  const TestStream stream(test.desc);
  CHECK(stream.push(test.args) == FOVEA_ERR_UNSUPPORTED);
  test.args.kv.key_center = nullptr;
  CHECK(stream.push(test.args) == FOVEA_OK);

  p = Problem{};
  p.score = FOVEA_SCORE_ADDITIVE;
  AttentionCase additive(p);
  const std::vector<float> center(p.head_dim);
  fovea_attention_args args = additive.args;
  CHECK(status_of(additive, additive.desc, args) == FOVEA_OK);
  args.kv.key_center = center.data();
  CHECK(status_of(additive, additive.desc, args) == FOVEA_ERR_UNSUPPORTED);
}

TEST_CASE("smoothed keys: streams of integer products give the same bits", "[short]") {
  Problem p = problem(3);
  p.lse = true;
  Centered test(p);
  CHECK(run_everywhere(test) == "");
  for (const fovea_target target : p.targets()) {
    REQUIRE(test.run_unchecked({target}) == "");
    const Outputs want = test.outputs();
    const TestStream stream(test.desc, target);
    for (uint32_t first = 0; first < p.kv_tokens; first += 64) {
      REQUIRE(stream.push(test, {first, std::min(first + 64, p.kv_tokens)}) == FOVEA_OK);
    }
    test.fill_outputs();
    REQUIRE(stream.end(test.args) == FOVEA_OK);
    CHECK(same_bits(test.outputs(), want));
  }
}

TEST_CASE("smoothed keys: every misuse of a cache with a centre has its status", "[short]") {
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  const std::vector<float> center(kHeads * kDim, 1.0f), other = center;
  SmoothedCache cache(FOVEA_KV_STRIDED, FOVEA_I8, center.data());
  CHECK(cache.append(FOVEA_TARGET_BEST, keys, nullptr, 0) == FOVEA_ERR_NULL);
  cache.key_center = static_cast<const float*>(cache.memory);
  CHECK(cache.append(FOVEA_TARGET_BEST, keys, nullptr, 1) == FOVEA_ERR_OVERLAP);
  cache.key_center = center.data();
  REQUIRE(cache.append(FOVEA_TARGET_BEST, keys, nullptr, 1) == FOVEA_OK);
  SmoothedCache same(FOVEA_KV_STRIDED, FOVEA_I8, center.data()), differs(FOVEA_KV_STRIDED, FOVEA_I8, other.data());
  CHECK(fovea_kv_copy(same, 0, cache, 1, 9) == FOVEA_OK);
  CHECK(fovea_kv_copy(differs, 0, cache, 1, 9) == FOVEA_ERR_SIZE);
  fovea_kv_cache_desc shared = cache_of(FOVEA_KV_STRIDED, FOVEA_F16, nullptr);
  shared.values_in_keys = 1;
  CHECK(bytes_of(fovea_kv_cache_bytes, &shared) != 0);
  shared.key_center = center.data();
  CHECK(refusal_of(fovea_kv_cache_bytes, &shared) == FOVEA_ERR_UNSUPPORTED);
}

}  // namespace fovea_test
