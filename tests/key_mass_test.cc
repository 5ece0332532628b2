// SPDX-License-Identifier: Apache-2.0
//
// The mass of keys: sums of the weights that the last queries give them. attention_pairs_test.cc has it beside all options.
#include "support/shuffler.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

// A call with a mass of its own, all 0 at first.
struct Massed {
  AttentionCase test;
  std::vector<float> mass;

  explicit Massed(const Problem& p, uint32_t queries = 1) : test(p), mass(size_t{p.batch} * p.kv_heads * p.kv_tokens) {
    const auto head = ptrdiff_t(p.kv_tokens);
    test.desc.key_mass_queries = queries;
    test.args.key_mass = {mass.data(), head * ptrdiff_t(p.kv_heads), head, 0};
  }
};

Problem small() {
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 40, p.kv_tokens = 100;
  return p;
}

bool refused(const std::string& wrong) {
  return wrong.find(fovea_status_string(FOVEA_ERR_UNSUPPORTED)) != std::string::npos;
}

}  // namespace

TEST_CASE("key mass: its bits are the same with any number of workers", "[short]") {
  Problem p = small();
  p.batch = 2, p.q_tokens = 130;
  for (const uint32_t queries : {1u, 60u, 130u}) {
    Massed alone(p, queries), shared(p, queries);
    for (const fovea_target target : targets()) {
      Shuffler executor(4);
      REQUIRE(alone.test.run_unchecked({target}) == "");
      REQUIRE(shared.test.run_unchecked({target, Budget::kNone, false, 0, executor.executor()}) == "");
      CHECK(same_bits(alone.mass, shared.mass));
      CHECK(same_bits(alone.test.outputs(), shared.test.outputs()));
    }
  }
}

TEST_CASE("key mass: each call adds to it", "[short]") {
  for (const uint32_t q_tokens : {1u, 2u, 40u}) {
    Problem p = small();
    p.q_tokens = q_tokens, p.kv_tokens = q_tokens == 2 ? 50 : 100;
    Massed once(p), twice(p);
    REQUIRE(once.test.run_unchecked({}) == "");
    for (int i = 0; i < 2; ++i) REQUIRE(twice.test.run_unchecked({}) == "");
    for (size_t i = 0; i < once.mass.size(); ++i) CHECK(twice.mass[i] == 2 * once.mass[i]);
    CHECK(once.mass[0] > 0);
  }
}

TEST_CASE("key mass: a NaN in a query that does not count, or a key that nobody sees, does not reach it", "[short]") {
  for (const auto& [heads, q_tokens] : every({2u, 8u}, {3u, 40u})) {
    Problem p = small();
    p.q_heads = heads, p.q_tokens = q_tokens, p.causal = FOVEA_CAUSAL_TOP_LEFT;
    Massed m(p, 2), clean(p, 2);
    m.test.q(0, 0, q_tokens - 3)[0] = kNaN;
    m.test.key(0, 0, q_tokens)[0] = kNaN;
    for (const fovea_target target : targets()) {
      REQUIRE(m.test.run_unchecked({target}) == "");
      REQUIRE(clean.test.run_unchecked({target}) == "");
      CHECK(same_bits(m.mass, clean.mass));
    }
  }
}

TEST_CASE("key mass: the same where rows of codes keep their weights in place", "[short]") {
  for (const uint32_t heads : {2u, 4u}) {
    Problem p = small().with_integers(FOVEA_I8, FOVEA_I8);
    p.q_heads = heads, p.q_tokens = 2;
    Massed m(p, 1), clean(p, 1);
    static_cast<float*>(const_cast<void*>(m.test.args.q.data))[0] = kNaN;
    for (const fovea_target target : p.targets()) {
      REQUIRE(m.test.run_unchecked({target}) == "");
      REQUIRE(clean.test.run_unchecked({target}) == "");
      CHECK(same_bits(m.mass, clean.mass));
    }
  }
}

TEST_CASE("key mass: entries of a ragged batch have theirs where their keys are", "[short]") {
  Problem p = small();
  p.layout = Layout::kTokensFirst;
  const uint32_t q_offsets[] = {0, 3, 3, 40}, kv_offsets[] = {0, 30, 35, 100};
  Massed all(p, 2);
  all.test.desc.max_batch = 3;
  fovea_attention_args a = all.test.args;
  a.batch = 3, a.q_offsets = q_offsets, a.kv_offsets = kv_offsets;
  all.test.args = a;
  REQUIRE(all.test.run_unchecked({}) == "");
  for (uint32_t b = 0; b < 3; ++b) {
    Massed one(p, 2);
    fovea_attention_args& own = one.test.args;
    own.q_tokens = q_offsets[b + 1] - q_offsets[b], own.kv_tokens = kv_offsets[b + 1] - kv_offsets[b];
    // The same inputs: those of the ragged call.
    own.q = a.q, own.kv = a.kv;
    own.q.data = static_cast<const float*>(a.q.data) + ptrdiff_t(q_offsets[b]) * a.q.token_stride;
    own.kv.keys.data = static_cast<const float*>(a.kv.keys.data) + ptrdiff_t(kv_offsets[b]) * a.kv.keys.token_stride;
    own.kv.values.data =
        static_cast<const float*>(a.kv.values.data) + ptrdiff_t(kv_offsets[b]) * a.kv.values.token_stride;
    REQUIRE(one.test.run_unchecked({}) == "");
    for (const auto& [h, j] : indices(p.kv_heads, own.kv_tokens)) {
      CHECK(std::fabs(all.mass[h * p.kv_tokens + kv_offsets[b] + j] - one.mass[h * p.kv_tokens + j]) < 1e-5f);
    }
  }
}

TEST_CASE("key mass: every misuse is refused, and nothing is written", "[short]") {
  const Problem p = small();
  Massed m(p);
  fovea_attention_args& a = m.test.args;
  const fovea_out mass = a.key_mass;
  const auto status = [&](fovea_status want) {
    const std::string wrong = m.test.run_unchecked({});
    CHECK(wrong.find(fovea_status_string(want)) != std::string::npos);
    CHECK(m.test.outputs_untouched());
    CHECK(same_bits(m.mass, std::vector<float>(m.mass.size())));
    a.key_mass = mass;
  };
  m.test.desc.key_mass_queries = 0;
  status(FOVEA_ERR_UNSUPPORTED);
  m.test.desc.key_mass_queries = 1;
  CHECK(refused(m.test.run_unchecked({FOVEA_TARGET_BEST, Budget::kNone, false, 64})));
  a.key_mass.head_stride = p.kv_tokens - 1;
  status(FOVEA_ERR_STRIDE);
  a.key_mass.data = reinterpret_cast<char*>(m.mass.data()) + 1;
  status(FOVEA_ERR_ALIGNMENT);
  a.key_mass.data = a.out.data;
  status(FOVEA_ERR_OVERLAP);
  a.key_mass.head_stride = PTRDIFF_MAX;
  status(FOVEA_ERR_SIZE);

  Problem modified = p;
  modified.modify_weights = true;
  Massed weights(modified);
  CHECK(refused(weights.test.run_unchecked({})));

  // A plan with key_mass_queries serves streams, but not key_mass in them.
  REQUIRE(m.test.run_unchecked({}) == "");
  const TestStream stream(m.test.desc);
  CHECK(stream.push(a) == FOVEA_ERR_UNSUPPORTED);
  CHECK(stream.end(a) == FOVEA_ERR_UNSUPPORTED);
  a.key_mass = {};
  CHECK(stream.push(a) == FOVEA_OK);
}

TEST_CASE("key mass: a plan without it needs no workspace for it, and the macro bounds what it needs", "[short]") {
  for (const auto& [q_tokens, group, kv_tokens, compute] :
       every({1u, 3u, 13u, 16u, 49u, 200u}, {1u, 4u, 9u}, {0u, 1u, 64u, 1000u},
             {FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F16})) {
    auto d = sized<fovea_attention_desc>();
    d.q_heads = 2 * group, d.kv_heads = 2, d.head_dim = 48, d.value_dim = 40;
    d.max_batch = 2, d.max_q_tokens = q_tokens, d.max_kv_tokens = kv_tokens, d.compute = compute;
    if (compute == FOVEA_COMPUTE_I8) d.key_dtype = d.value_dtype = FOVEA_I8;
    if (compute == FOVEA_COMPUTE_F16) d.key_dtype = d.value_dtype = FOVEA_F16;
    std::vector<fovea_target> all = targets();
    all.insert(all.end(), 3, FOVEA_TARGET_BEST);  // with instructions that AArch64 may have
    for (size_t i = 0; i < all.size(); ++i) {
      d.target = all[i];
      const size_t more_features = all[i] == FOVEA_TARGET_BEST ? i % 3 : 3;
      d.processor_features = more_features == 0   ? FOVEA_FEATURE_NEON_DOTPROD
                             : more_features == 1 ? FOVEA_FEATURE_NEON_I8MM | FOVEA_FEATURE_NEON_DOTPROD
                             : more_features == 2 ? FOVEA_FEATURE_NEON_FP16
                                                  : 0;
      d.key_mass_queries = 0;
      const fovea_attention_plan without = plan_of(d);
      d.key_mass_queries = 1;
      const fovea_attention_plan with = plan_of(d);
      CHECK(made(with).workspace_bytes > made(without).workspace_bytes);
      const size_t more = FOVEA_ATTENTION_KEY_MASS_WORKSPACE_BYTES(kv_tokens, q_tokens * group);
      CHECK(made(with).workspace_bytes <= made(without).workspace_bytes + more);
    }
  }
}

}  // namespace fovea_test
