// SPDX-License-Identifier: Apache-2.0
//
// A workspace in two parts, a fast one and a slow one: the same bits however it is cut, and never a byte too few.
#include "fovea/fovea.hpp"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

// Rows for several tiles, or with few tokens for the few-rows kernel, with every option.
Problem problem(uint32_t q_tokens) {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 70;
  p.head_dim = 5, p.value_dim = 7, p.causal = FOVEA_CAUSAL_POSITIONS;
  p.positions = {40, 60};
  p.mask = FOVEA_MASK_BYTE, p.alibi = p.sinks = true, p.stage = FOVEA_SCORES_SOFTMAX;
  return p;
}

constexpr size_t kGrain = FOVEA_WORKSPACE_ALIGNMENT;

}  // namespace

TEST_CASE("workspace: cut in two at any place, the bits are the same, with workers and split keys too",
          "[short][executor]") {
  // With workers, at every fifth place.
  const auto check = [](fovea_target target, const Problem& p, uint32_t workers, uint32_t split) {
    AttentionCase test(p);
    Shuffler shuffler(workers);
    test.desc.target = target, test.desc.max_workers = workers, test.desc.key_split_tokens = split;
    if (workers > 1) test.args.executor = shuffler.executor();
    test.plan = plan_of(test.desc);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan), step = kGrain * (workers > 1 ? 5 : 1);
    Guarded one(whole, kGrain, Placement::kEnd);
    REQUIRE(fovea_attention(&test.plan, &test.args, one.as<void>(), whole) == FOVEA_OK);
    const Outputs want = test.outputs();
    test.expected();
    REQUIRE(test.compare() == "");

    size_t cuts = 0, mixed = 0;
    for (size_t fast_bytes = 0; fast_bytes <= whole; fast_bytes += step, ++cuts) {
      const size_t slow_bytes = bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, fast_bytes);
      // What the fast part takes, the slow one need not; a call takes one kernel's arrays, the sizes are for either.
      REQUIRE(slow_bytes <= whole);
      REQUIRE(fast_bytes + slow_bytes >= (made(test.plan).kernels[0].most_rows == 0 ? whole : 0));
      mixed += fast_bytes > 0 && slow_bytes > 0;
      Guarded fast(fast_bytes, kGrain, Placement::kEnd), slow(slow_bytes, kGrain, Placement::kEnd);
      test.args.slow_workspace = slow.as<void>();
      test.args.slow_workspace_bytes = slow_bytes;
      test.fill_outputs();
      set_current_case("a fast part of " + std::to_string(fast_bytes) + " bytes");
      REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes) == FOVEA_OK);
      REQUIRE(fast.margin_intact());
      REQUIRE(slow.margin_intact());
      REQUIRE(same_bits(test.outputs(), want));
      if (slow_bytes == 0) continue;
      // One byte less is refused, and nothing is written.
      test.args.slow_workspace_bytes = slow_bytes - 1;
      test.fill_outputs();
      fast.fill(), slow.fill();
      REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes) == FOVEA_ERR_WORKSPACE);
      REQUIRE(test.outputs_untouched());
      REQUIRE(fast.untouched());
      REQUIRE(slow.untouched());
    }
    CHECK(cuts == whole / step + 1);
    CHECK(mixed > 5);
  };
  for (const uint32_t q_tokens : {1u, 9u}) {
    for (const Problem& p : {problem(q_tokens), problem(q_tokens).with_integers(FOVEA_I4, FOVEA_I8)}) {
      for (const fovea_target target : p.targets()) check(target, p, 1, 0);
    }
    Problem longer = problem(q_tokens);
    longer.kv_tokens = 130, longer.positions = {100, 120};
    for (const auto& [target, split] : every(targets(), {0u, 64u})) check(target, longer, 3, split);
  }
}

TEST_CASE("workspace: the slow part is as much as the whole beside nothing, and nothing beside the whole", "[short]") {
  AttentionCase test(problem(9));
  for (const fovea_target target : targets()) {
    test.desc.target = target;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, 0) == whole);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, kGrain - 1) == whole);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, whole - 1) > 0);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, whole) == 0);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, SIZE_MAX) == 0);
  }
  const fovea_attention_plan none{};
  CHECK(refusal_of(fovea_attention_slow_workspace_bytes, &none, 0) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_attention_slow_workspace_bytes, nullptr, 0) == FOVEA_ERR_NULL);
}

TEST_CASE("workspace: the fast part holds what is touched most", "[short]") {
  // Scores come first: with room for them alone, all else is in the slow part. The tokens fill a tile on any target.
  AttentionCase test(problem(96));
  for (const fovea_target target : targets()) {
    test.desc.target = target;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    const size_t scores_bytes = size_t{FOVEA_KEY_TILE} * made(test.plan).kernels[1].tile_rows * sizeof(float);
    const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
    CHECK(bytes_of(fovea_attention_slow_workspace_bytes, &test.plan, scores_bytes) == whole - scores_bytes);
    Guarded fast(scores_bytes, kGrain, Placement::kEnd), slow(whole - scores_bytes, kGrain, Placement::kEnd);
    test.args.slow_workspace = slow.as<void>();
    test.args.slow_workspace_bytes = slow.bytes();
    REQUIRE(fovea_attention(&test.plan, &test.args, fast.as<void>(), scores_bytes) == FOVEA_OK);
    // Of every score the first byte or another: a weight may have a byte of the pattern, but not all four.
    for (size_t i = 0; i < scores_bytes; i += sizeof(float)) {
      INFO("byte " << i << " of " << scores_bytes << " on " << fovea_target_name(target));
      REQUIRE(!(fast.untouched(i) && fast.untouched(i + 1) && fast.untouched(i + 2) && fast.untouched(i + 3)));
    }
  }
}

TEST_CASE("workspace: a slow part that is null, misaligned or overlaps is refused", "[short]") {
  AttentionCase test(problem(9));
  REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
  const size_t whole = bytes_of(fovea_attention_workspace_bytes, &test.plan);
  Guarded fast(whole, kGrain, Placement::kStart), slow(whole + kGrain, kGrain, Placement::kStart);
  const auto attend = [&](void* slow_part, size_t slow_bytes, size_t fast_bytes) {
    test.args.slow_workspace = slow_part, test.args.slow_workspace_bytes = slow_bytes;
    test.fill_outputs();
    const fovea_status status = fovea_attention(&test.plan, &test.args, fast.as<void>(), fast_bytes);
    CHECK((status == FOVEA_OK || test.outputs_untouched()));
    return status;
  };
  // Even where the fast part alone is enough.
  for (const size_t fast_bytes : {whole, whole - 1, kGrain}) {
    INFO(fast_bytes);
    CHECK(attend(slow.as<void>(), whole, fast_bytes) == FOVEA_OK);
    CHECK(attend(slow.as<char>() + kGrain, whole, fast_bytes) == FOVEA_OK);
    CHECK(attend(nullptr, whole, fast_bytes) == FOVEA_ERR_NULL);
    for (const size_t off : {1u, 4u, 32u, 63u}) {
      CHECK(attend(slow.as<char>() + off, whole, fast_bytes) == FOVEA_ERR_ALIGNMENT);
    }
    CHECK(attend(fast.as<void>(), whole, fast_bytes) == FOVEA_ERR_OVERLAP);
    CHECK(attend(slow.as<void>(), SIZE_MAX, fast_bytes) == FOVEA_ERR_SIZE);
  }
  CHECK(attend(nullptr, 0, whole) == FOVEA_OK);
  CHECK(attend(nullptr, 0, whole - 1) == FOVEA_ERR_WORKSPACE);
  CHECK(attend(slow.as<void>(), 0, whole - 1) == FOVEA_ERR_WORKSPACE);

  // Over an input, and over an output: laid so that they share the first bytes.
  Guarded& shared = slow;
  const void* const q = test.args.q.data;
  test.args.q.data = shared.as<void>();
  CHECK(attend(shared.as<void>(), whole, kGrain) == FOVEA_ERR_OVERLAP);
  test.args.q.data = q;
  test.args.out.data = shared.as<void>();
  test.args.slow_workspace = shared.as<void>();
  test.args.slow_workspace_bytes = whole;
  CHECK(fovea_attention(&test.plan, &test.args, fast.as<void>(), kGrain) == FOVEA_ERR_OVERLAP);
}

TEST_CASE("workspace: the veneer takes two parts", "[short]") {
  AttentionCase test(problem(9));
  fovea::AttentionPlan plan;
  REQUIRE(plan.init(test.desc) == FOVEA_OK);
  const size_t whole = plan.workspace_bytes();
  Guarded fast(whole / 2 / kGrain * kGrain, kGrain, Placement::kEnd);
  Guarded slow(plan.slow_workspace_bytes(fast.bytes()), kGrain, Placement::kEnd);
  CHECK(slow.bytes() < whole);
  const auto span = [](const Guarded& memory) {
    return fovea::Span<std::byte>(memory.as<std::byte>(), memory.bytes());
  };
  CHECK(plan.run(test.args, span(fast)) == FOVEA_ERR_WORKSPACE);
  REQUIRE(plan.run(test.args, span(fast), span(slow)) == FOVEA_OK);
  test.expected();
  CHECK(test.compare() == "");
  CHECK(test.args.slow_workspace == nullptr);
}

}  // namespace fovea_test
