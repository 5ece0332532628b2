// SPDX-License-Identifier: Apache-2.0
//
// fovea/selftest.hpp: whether this build gives the bits that all others give. selftest.h is the manual.
#ifndef FOVEA_SELFTEST_HPP_
#define FOVEA_SELFTEST_HPP_

#include "fovea/base.hpp"
#include "fovea/selftest.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using SelftestArgs = Sized<fovea_selftest_args>;
using SelftestPart = fovea_selftest_part;

struct SelftestResult : fovea_selftest_result {
  SelftestResult() : fovea_selftest_result{} {}
  bool is_published() const { return digest == published; }
};

// A call of a part, as selftest(fovea_selftest_softmax, args, &result).
inline fovea_status selftest(SelftestPart part, const fovea_selftest_args& args, SelftestResult* result) {
  return part(&args, result);
}

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_SELFTEST_HPP_
