// SPDX-License-Identifier: Apache-2.0
//
// The judge of the suite never_slower, with times that were not measured: it names what is slower, and nothing else.
#include <cstdio>
#include <limits>

#include "bench/never_slower.h"
#include "bench/runner.h"

namespace fovea::bench {
namespace {

int failed = 0;

void check(bool right, const char* what) {
  if (right) return;
  std::printf("failed: %s\n", what);
  failed = 1;
}

// A result of the case on a target of one lane, where other goals do not count.
Verdict verdict_of(double ratio, uint32_t threads = 1) {
  Case one = {"never_slower", Kind::kAttention, {}, {}, {GoalKind::kNeverSlower, kSlowerNoise, 0}, nullptr};
  one.shape.threads = threads;
  Result result = {};
  result.one = &one;
  result.target = FOVEA_TARGET_SCALAR;
  result.status = FOVEA_OK;
  result.times.ns_median = 100;
  result.of_replaced = ratio;
  return judge(result, nullptr);
}

int test() {
  const InTurn quiet = {{100, 100, 100, 100, 100}, {100, 100, 100, 100, 100}};
  check(!is_slower(quiet.ratio()), "equal times");
  const InTurn disturbed = {{900, 500, 100, 700, 800}, {100, 100, 100, 100, 100}};
  check(!is_slower(disturbed.ratio()), "one quiet round is enough");
  const InTurn late = {{104, 104, 104, 104, 104}, {300, 300, 300, 300, 100}};
  check(!is_slower(late.ratio()), "less than the noise");
  const InTurn slower = {{106, 106, 106, 106, 106}, {300, 300, 100, 300, 300}};
  check(is_slower(slower.ratio()), "more than the noise");
  const InTurn faster = {{50, 50, 50, 50, 50}, {100, 100, 100, 100, 100}};
  check(!is_slower(faster.ratio()), "half of the time");
  check(is_slower(std::numeric_limits<double>::quiet_NaN()), "no number");

  check(verdict_of(1.0).kind == GoalKind::kNeverSlower && verdict_of(1.0).met(), "a verdict on a target of one lane");
  check(!verdict_of(1.06).met(), "a verdict that names it");
  check(verdict_of(0).kind == GoalKind::kNone, "no verdict without the other's time");
  check(verdict_of(2.0, 1u << 20).kind == GoalKind::kNone, "no verdict without as many processors");

  size_t pairs = 0, in_order = 0;
  for (size_t i = 0; i < case_count(); ++i) {
    const Case& one = case_at(i);
    if (one.goal.kind != GoalKind::kNeverSlower) continue;
    ++pairs;
    const Case* const other = one.reference ? find_case(one.reference) : nullptr;
    check(other && other != &one, "each pair has two cases");
    if (!one.in_order) continue;
    ++in_order;
    Result result;
    run_in_turn(one, *other, FOVEA_TARGET_SCALAR, {}, {}, &result);
    check(result.status == FOVEA_ERR_UNSUPPORTED, "kernels for in-order processors are compared on their targets alone");
  }
  check(in_order >= 3, "the suite has pairs for in-order processors");
  check(pairs >= 10, "the suite has its pairs");
  return failed;
}

}  // namespace
}  // namespace fovea::bench

int main() { return fovea::bench::test(); }
