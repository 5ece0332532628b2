// SPDX-License-Identifier: Apache-2.0
//
// Numbers at the ends of their ranges in places where kernels might take them for something else: scores of -inf that
// are not hidden, hidden keys in rows of NaN, counts and constants next to an overflow.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "catch.h"
#include "fovea/fovea.h"
#include "support/problem.h"

using namespace fovea_test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// One head with head_dim and value_dim 1, so that a score is a product of two numbers.
struct OneHead {
  std::vector<float> q, keys, values, out, weights;
  fovea_attention_desc desc{};
  fovea_attention_args args{};

  OneHead(size_t queries, size_t kv, fovea_target target)
      : q(queries, 1.0f), keys(kv, 0.0f), values(kv, 1.0f), out(queries), weights(queries * kv) {
    desc.struct_bytes = sizeof desc;
    desc.q_heads = desc.kv_heads = desc.head_dim = desc.value_dim = 1;
    desc.max_batch = 1;
    desc.max_q_tokens = static_cast<uint32_t>(queries);
    desc.max_kv_tokens = static_cast<uint32_t>(kv);
    desc.scale = 1.0f;
    desc.target = target;
    args.struct_bytes = sizeof args;
    args.batch = 1;
    args.q_tokens = desc.max_q_tokens;
    args.kv_tokens = desc.max_kv_tokens;
  }
  void run() {
    args.q = {q.data(), 0, 0, 1};
    args.kv.keys = {keys.data(), 0, 0, 1};
    args.kv.values = {values.data(), 0, 0, 1};
    args.out = {out.data(), 0, 0, 1};
    if (args.scores_stage != FOVEA_SCORES_NONE)
      args.scores = {weights.data(), 0, 0, static_cast<ptrdiff_t>(keys.size())};
    fovea_plan plan{};
    REQUIRE(fovea_plan_init(&plan, &desc) == FOVEA_OK);
    std::vector<unsigned char> memory(plan.workspace_bytes + FOVEA_WORKSPACE_ALIGNMENT);
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory.data()) + FOVEA_WORKSPACE_ALIGNMENT - 1;
    void* workspace = reinterpret_cast<void*>(at / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT);
    REQUIRE(fovea_attention(&plan, &args, workspace, plan.workspace_bytes) == FOVEA_OK);
  }
};

}  // namespace

TEST_CASE("extremes: a visible key whose score is -inf has no weight, but its NaN value counts, beside hidden keys too",
          "[short]") {
  for (const fovea_target target : targets()) {
    for (const uint32_t portable : {0u, 1u}) {
      for (const size_t queries : {size_t{1}, size_t{2}, size_t{4}, size_t{7}, size_t{16}, size_t{50}}) {
        for (const bool causal : {false, true}) {
          OneHead call(queries, 80, target);
          call.desc.portable_bits = portable;
          const std::vector<int64_t> positions = {57};
          if (causal) {
            call.desc.causal = FOVEA_CAUSAL_POSITIONS;
            call.args.positions = positions.data();
          }
          call.keys[0] = -kInf;
          call.values[0] = kNan;
          INFO(fovea_target_name(target) << ", " << queries << " queries, causal " << causal);
          call.run();
          for (const float x : call.out) CHECK(std::isnan(x));
          call.values[0] = 5.0f;  // a number is weighted with 0
          call.run();
          for (const float x : call.out) CHECK(std::fabs(x - 1.0f) < 1e-6f);
        }
      }
    }
  }
}

TEST_CASE("extremes: visible scores that are all -inf answer zeros, beside hidden keys too", "[short]") {
  for (const fovea_target target : targets()) {
    for (const bool causal : {false, true}) {
      OneHead call(20, 30, target);
      if (causal) call.desc.causal = FOVEA_CAUSAL_TOP_LEFT;
      call.keys.assign(30, -kInf);
      call.args.scores_stage = FOVEA_SCORES_MASKED;
      call.run();
      INFO(fovea_target_name(target) << ", causal " << causal);
      for (const float x : call.out) CHECK(x == 0.0f);
      for (const float x : call.weights) CHECK(x == -kInf);
    }
  }
}

TEST_CASE("extremes: in a row of NaN the weights of hidden keys are 0, those of visible keys NaN, with any budget",
          "[short]") {
  for (const fovea_target target : targets()) {
    for (const size_t budget : {size_t{0}, size_t{20000}}) {
      OneHead call(70, 90, target);
      call.desc.causal = FOVEA_CAUSAL_TOP_LEFT;
      call.desc.workspace_budget_bytes = budget;
      call.q[0] = call.q[33] = kNan;
      call.args.scores_stage = FOVEA_SCORES_SOFTMAX;
      call.run();
      for (const size_t row : {size_t{0}, size_t{33}}) {
        for (size_t j = 0; j < 90; ++j) {
          INFO(fovea_target_name(target) << ", row " << row << ", key " << j);
          const float weight = call.weights[row * 90 + j];
          CHECK((j <= row ? std::isnan(weight) : weight == 0.0f));
        }
      }
    }
  }
}

TEST_CASE("extremes: rows of a key head are refused where 32 bits would not count them", "[short]") {
  OneHead call(1, 1, FOVEA_TARGET_BEST);
  fovea_plan plan{};
  call.desc.q_heads = 5;
  call.desc.max_q_tokens = 858993459;  // 5 times that is 2^32 - 1
  CHECK(fovea_plan_init(&plan, &call.desc) == FOVEA_ERR_SIZE);
  call.desc.q_heads = 2;
  call.desc.max_q_tokens = 1u << 30;  // 2^31
  CHECK(fovea_plan_init(&plan, &call.desc) == FOVEA_ERR_SIZE);
  call.desc.q_heads = 1;
  CHECK(fovea_plan_init(&plan, &call.desc) == FOVEA_OK);
}

TEST_CASE("extremes: scale and softcap that base 2 cannot hold are refused, the largest and least others work",
          "[short]") {
  OneHead call(3, 3, FOVEA_TARGET_BEST);
  fovea_plan plan{};
  for (const float scale : {2.4e38f, -2.4e38f, 3.4e38f}) {
    call.desc.scale = scale;
    CHECK(fovea_plan_init(&plan, &call.desc) == FOVEA_ERR_NUMBER);
  }
  call.desc.scale = 1.0f;
  for (const float softcap : {1e-39f, 1e-45f, 5.9e37f, 3.4e38f}) {
    call.desc.softcap = softcap;
    CHECK(fovea_plan_init(&plan, &call.desc) == FOVEA_ERR_NUMBER);
  }
  for (const float softcap : {1.2e-38f, 5.8e37f}) {
    call.desc.softcap = softcap;
    call.run();
    for (const float x : call.out) CHECK(std::fabs(x - 1.0f) < 1e-6f);
  }
}

TEST_CASE("extremes: a plan can be made from the description that stands in it", "[short]") {
  OneHead call(3, 3, FOVEA_TARGET_BEST);
  fovea_plan plan{}, again{};
  REQUIRE(fovea_plan_init(&plan, &call.desc) == FOVEA_OK);
  again = plan;
  REQUIRE(fovea_plan_init(&again, &again.desc) == FOVEA_OK);
  CHECK(again.desc.scale == plan.desc.scale);
  CHECK(again.desc.target == plan.desc.target);
  CHECK(again.desc.max_kv_tokens == plan.desc.max_kv_tokens);
  CHECK(again.workspace_bytes == plan.workspace_bytes);
}
