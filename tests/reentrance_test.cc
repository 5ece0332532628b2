// SPDX-License-Identifier: Apache-2.0
//
// Calls within calls, and side by side: none disturbs another.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "catch.h"
#include "support/bits.h"
#include "support/problem.h"
#if FOVEA_TESTS_HAVE_THREADS
#include <thread>
#endif

namespace fovea_test {
namespace {

Problem problem(uint32_t q_tokens, fovea_kv_kind kind, uint64_t seed) {
  Problem p;
  p.seed = seed, p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 150;
  p.head_dim = 20 + uint32_t(seed), p.value_dim = 33;
  p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  p.key_dtype = seed % 2 == 0 ? FOVEA_F16 : FOVEA_F32, p.value_dtype = FOVEA_I8;
  p.kv_kind = kind;
  if (kind == FOVEA_KV_RING) p.ring_tokens = 160, p.pinned_tokens = 3;
  if (kind == FOVEA_KV_PAGED) p.page_tokens = q_tokens == 1 ? 24 : 7;
  p.alibi = p.sinks = true;
  return p;
}

// A case and the bits that it has alone.
struct Alone {
  Alone(const Problem& p, fovea_target t) : test(p), target(t) {
    failed = test.run({target});
    out = test.out(), lse = test.lse();
  }
  // Runs it again.
  bool is_the_same() {
    return test.run_unchecked({target}).empty() && same_bits(test.out(), out) && same_bits(test.lse(), lse);
  }

  AttentionCase test;
  fovea_target target;
  std::string failed;
  std::vector<float> out, lse;
};

// A loader of one case whose callbacks run another case to its end.
struct Nested {
  Nested(Alone& outer_case, Alone& inner_case)
      : outer(*outer_case.test.args.kv.loader), inner(inner_case), loader{start, finish, this} {
    outer_case.test.args.kv.loader = &loader;
  }

  static int start(void* self, const fovea_kv_tile* tile) {
    auto& nested = *static_cast<Nested*>(self);
    const int status = nested.outer.start(nested.outer.self, tile);
    nested.run();
    return status;
  }
  static int finish(void* self, const fovea_kv_tile* tile) {
    auto& nested = *static_cast<Nested*>(self);
    nested.run();
    return nested.outer.finish(nested.outer.self, tile);
  }
  void run() {
    ++calls;
    if (!inner.is_the_same()) ++wrong;
  }

  const fovea_loader outer;
  Alone& inner;
  fovea_loader loader;
  size_t calls = 0, wrong = 0;
};

}  // namespace

TEST_CASE("re-entrance: a load callback may run other plans to their end, on any target", "[short]") {
  for (const fovea_target of_outer : targets()) {
    for (const auto& [of_inner, q_tokens] : every(targets(), {1u, 19u})) {
      INFO(fovea_target_name(of_inner) << " in " << fovea_target_name(of_outer) << ", " << q_tokens << " queries");
      Alone outer(problem(q_tokens, FOVEA_KV_LOAD, 1), of_outer);
      Alone middle(problem(20 - q_tokens, FOVEA_KV_LOAD, 2), of_inner);
      Alone inner(problem(3, FOVEA_KV_PAGED, 3), of_outer);
      REQUIRE(outer.failed + middle.failed + inner.failed == "");
      Nested within_middle(middle, inner);
      Nested within_outer(outer, middle);
      CHECK(outer.is_the_same());
      CHECK(within_outer.calls > 0);
      CHECK(within_outer.wrong == 0);
      CHECK(within_middle.calls > within_outer.calls);
      CHECK(within_middle.wrong == 0);
    }
  }
}

TEST_CASE("re-entrance: many threads at once, with one plan or with several, are right and independent",
          "[short][executor]") {
#if FOVEA_TESTS_HAVE_THREADS
  constexpr size_t kThreads = 8;
  const std::vector<fovea_target> all = targets();
  // Two threads each share a plan and the inputs; every thread has its own workspace and outputs.
  std::vector<Alone> cases;
  cases.reserve(kThreads / 2);
  for (size_t i = 0; i < kThreads / 2; ++i) {
    constexpr fovea_kv_kind kKinds[kThreads / 2] = {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_PAGED, FOVEA_KV_RING};
    cases.emplace_back(problem(i % 2 == 0 ? 1 : 21, kKinds[i], i + 1), all[i % all.size()]);
    REQUIRE(cases.back().failed == "");
  }
  std::atomic<size_t> wrong{0};
  const auto work = [&](size_t thread) {
    const Alone& one = cases[thread / 2];
    std::vector<float> out(one.out.size()), lse(one.lse.size());
    const Guarded workspace(made(one.test.plan).workspace_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
    fovea_attention_args args = one.test.args;
    args.out.data = out.data(), args.lse.data = lse.data();
    for (int i = 0; i < 20; ++i) {
      std::fill(out.begin(), out.end(), -7.0f);
      const fovea_status status =
          fovea_attention(&one.test.plan, &args, workspace.as<void>(), made(one.test.plan).workspace_bytes);
      if (status != FOVEA_OK || !same_bits(out, one.out) || !same_bits(lse, one.lse)) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
#else
  skip("no threads here");
#endif
}

}  // namespace fovea_test
