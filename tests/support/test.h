// SPDX-License-Identifier: Apache-2.0
//
// What nearly every file of cases takes.
#ifndef FOVEA_TESTS_SUPPORT_TEST_H_
#define FOVEA_TESTS_SUPPORT_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fovea/fovea.h"
#include "support/bits.h"
#include "support/covering.h"
#include "support/every.h"
#include "support/formats.h"
#include "support/guarded.h"
#include "support/problem.h"
#include "support/rows.h"
#include "support/text.h"
#include "support/tolerance.h"

namespace fovea_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// A call that must be refused: what is wrong, which may be left out, the status, and what makes it wrong.
template <class Call>
struct Misuse {
  Misuse(const char* what_, fovea_status want_, std::function<void(Call&)> change_)
      : what(what_), want(want_), change(std::move(change_)) {}
  Misuse(fovea_status want_, std::function<void(Call&)> change_) : Misuse("", want_, std::move(change_)) {}

  const char* what;
  fovea_status want;
  std::function<void(Call&)> change;
};

// What a run that answers writes.
inline Outputs run(AttentionCase& test, const Run& how) {
  const std::string failed = test.run_unchecked(how);
  INFO(failed);
  REQUIRE(failed.empty());
  return test.outputs();
}

// A call of the plan of the last run, in a workspace of its own.
inline fovea_status call_again(const AttentionCase& test, const fovea_attention_args& args) {
  const Guarded workspace(test.plan.workspace_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  return fovea_attention(&test.plan, &args, workspace.as<void>(), workspace.bytes());
}

// The call of one entry of a ragged call.
inline fovea_attention_args entry_of(const fovea_attention_args& ragged, uint32_t b) {
  const uint32_t first_q = ragged.q_offsets[b], first_key = ragged.kv_offsets[b];
  const auto skip = [](auto& array, uint32_t tokens) {
    array.data = const_cast<float*>(static_cast<const float*>(array.data)) + ptrdiff_t(tokens) * array.token_stride;
  };
  fovea_attention_args one = ragged;
  one.batch = 1, one.q_offsets = one.kv_offsets = nullptr;
  one.q_tokens = ragged.q_offsets[b + 1] - first_q, one.kv_tokens = ragged.kv_offsets[b + 1] - first_key;
  skip(one.q, first_q), skip(one.out, first_q), skip(one.lse, first_q);
  skip(one.kv.keys, first_key), skip(one.kv.values, first_key);
  return one;
}

// Each misuse of a call that make() returns has its status from run(call), and untouched(call) says that nothing was
// written.
template <class Call, class Make, class Run, class Untouched>
void check_refused(const std::vector<Misuse<Call>>& all, Make make, Run run, Untouched untouched) {
  for (const auto& misuse : all) {
    INFO(misuse.what);
    set_current_case(misuse.what);
    Call call = make();
    misuse.change(call);
    CHECK(std::string(fovea_status_string(run(call))) == fovea_status_string(misuse.want));
    CHECK(untouched(call));
  }
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_TEST_H_
