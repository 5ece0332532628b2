// SPDX-License-Identifier: Apache-2.0
//
// What holds for each operator that takes a workspace, a budget and an executor. A Case has its arguments in `args`,
// run(target), workspace_bytes(), and bits(target), which are those of the last run.
#pragma once

#include <vector>

#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {

// Smaller and smaller budgets are kept and change no bit, until none is left that is enough. Returns how many there are.
template <class Case>
size_t check_budgets(Case& test, fovea_target target) {
  REQUIRE(test.run(target) == FOVEA_OK);
  const std::vector<float> want = test.bits(target);
  size_t bytes = test.workspace_bytes(), budgets = 0;
  for (; bytes > 0; ++budgets) {
    test.args.workspace_budget_bytes = bytes;
    CHECK(test.workspace_bytes() == bytes);
    REQUIRE(test.run(target) == FOVEA_OK);
    CHECK(same_bits(test.bits(target), want));
    test.args.workspace_budget_bytes = bytes - 1;
    bytes = test.workspace_bytes();
  }
  if (budgets != 0) CHECK(test.run(target) == FOVEA_ERR_BUDGET);
  test.args.workspace_budget_bytes = 0;
  return budgets;
}

// Workers have a workspace each, and change no bit. check(shuffler, workers) may look at what they ran.
template <class Case, class Check>
void check_workers(Case& test, fovea_target target, const Check& check) {
  REQUIRE(test.run(target) == FOVEA_OK);
  const std::vector<float> want = test.bits(target);
  const size_t bytes = test.workspace_bytes();
  for (const uint32_t workers : {1u, 2u, 3u, 64u}) {
    Shuffler shuffler(workers);
    test.args.executor = shuffler.executor();
    CHECK(test.workspace_bytes() == bytes * workers);
    REQUIRE(test.run(target) == FOVEA_OK);
    CHECK(same_bits(test.bits(target), want));
    check(shuffler, workers);
    shuffler.answer = 1;
    CHECK(test.run(target) == FOVEA_ERR_EXECUTOR);
  }
  test.args.executor = nullptr;
}

// Adds what each of them refuses. A Call has a workspace in `workspace` and `workspace_bytes`.
template <class Call>
void add_workspace_misuses(std::vector<Misuse<Call>>& all) {
  static const Shuffler none(0), two(2), many(4097);
  static const fovea_executor without_run = {nullptr, nullptr, 1};
  const std::vector<Misuse<Call>> misuses = {
      {"no workspace", FOVEA_ERR_NULL, [](auto& c) { c.workspace = nullptr; }},
      {"a workspace too small", FOVEA_ERR_WORKSPACE, [](auto& c) { --c.workspace_bytes; }},
      {"no bytes of workspace", FOVEA_ERR_WORKSPACE, [](auto& c) { c.workspace_bytes = 0; }},
      {"a workspace for one worker", FOVEA_ERR_WORKSPACE, [](auto& c) { c.args.executor = two.executor(); }},
      {"a workspace misaligned", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.workspace += 32, c.workspace_bytes -= 32; }},
      {"a workspace behind all memory", FOVEA_ERR_SIZE, [](auto& c) { c.workspace_bytes = SIZE_MAX; }},
      {"the smallest budget", FOVEA_ERR_BUDGET, [](auto& c) { c.args.workspace_budget_bytes = 1; }},
      {"an executor without run", FOVEA_ERR_NULL, [](auto& c) { c.args.executor = &without_run; }},
      {"an executor without workers", FOVEA_ERR_CAPACITY, [](auto& c) { c.args.executor = none.executor(); }},
      {"an executor with too many workers", FOVEA_ERR_CAPACITY, [](auto& c) { c.args.executor = many.executor(); }},
  };
  all.insert(all.end(), misuses.begin(), misuses.end());
}

}  // namespace fovea_test
