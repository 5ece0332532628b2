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
#include <type_traits>
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

// The arguments of a call, which may be the call.
template <class Call>
auto arguments_of(Call& call, int) -> decltype((call.args)) {
  return call.args;
}
template <class Call>
Call& arguments_of(Call& call, long) {
  return call;
}

// Adds what every call refuses: arguments of another size, and targets that are none or are another machine's.
template <class Call>
void add_misuses(std::vector<Misuse<Call>>& all) {
  for (const uint32_t more : {1u, 8u, 0u - 4u}) {
    all.push_back({"struct_bytes", FOVEA_ERR_STRUCT, [=](Call& c) { arguments_of(c, 0).struct_bytes += more; }});
  }
  for (const uint32_t bytes : {0u, 0u - 1u}) {
    all.push_back({"struct_bytes", FOVEA_ERR_STRUCT, [=](Call& c) { arguments_of(c, 0).struct_bytes = bytes; }});
  }
  for (const uint32_t target : {63u, 77u, 0u - 1u}) {
    all.push_back(
        {"target", FOVEA_ERR_ENUM, [=](Call& c) { arguments_of(c, 0).target = enum_of<fovea_target>(target); }});
  }
  all.push_back({"target", FOVEA_ERR_TARGET, [](Call& c) { arguments_of(c, 0).target = kForeign; }});
}

// And of a required array of several entries, heads and tokens whose elements have several bytes; rows of outputs may
// not share their places.
template <class Call, class Array, class Args>
void add_misuses(std::vector<Misuse<Call>>& all, const char* what, Array Args::* array) {
  const auto add = [&](fovea_status want, auto change) {
    all.push_back({what, want, [=](Call& c) { change(arguments_of(c, 0).*array); }});
  };
  add(FOVEA_ERR_NULL, [](Array& a) { a.data = nullptr; });
  add(FOVEA_ERR_ALIGNMENT, [](Array& a) { a.data = const_cast<char*>(static_cast<const char*>(a.data)) + 1; });
  for (ptrdiff_t Array::* const stride : {&Array::batch_stride, &Array::head_stride, &Array::token_stride}) {
    for (const ptrdiff_t far : {PTRDIFF_MAX, PTRDIFF_MAX / 2, PTRDIFF_MAX / 4 + 1, -PTRDIFF_MAX, PTRDIFF_MIN}) {
      add(FOVEA_ERR_SIZE, [=](Array& a) { a.*stride = far; });
    }
    if (std::is_same_v<Array, fovea_out>) add(FOVEA_ERR_STRIDE, [=](Array& a) { a.*stride = 0; });
  }
}

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_TEST_H_
