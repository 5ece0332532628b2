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
