// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_STATUS_H_
#define FOVEA_SRC_BASE_STATUS_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#if FOVEA_CHECKS
namespace fovea {
using OnlyIfChecked = bool;
}  // namespace fovea
#else
#include "ground/base/unchecked.h"
#endif

#define FOVEA_RETURN_IF_ERROR(expression)                  \
  do {                                                     \
    const fovea_status status_of_step = (expression);      \
    if (status_of_step != FOVEA_OK) return status_of_step; \
  } while (false)

namespace fovea {

constexpr bool kHasChecks = config::kChecks;
constexpr bool kHasText = config::kText;  // whether texts of statuses and plans are compiled

// What most C functions do: their arguments become a call, which runs.
template <class Args, class Call, class Run>
[[gnu::always_inline]] inline fovea_status resolve_and_run(const Args* args,
                                                           fovea_status (*resolve)(const Args&, Call*), Run* run) {
  if (!args) return FOVEA_ERR_NULL;
  Call call;
  FOVEA_RETURN_IF_ERROR(resolve(*args, &call));
  run(call);
  return FOVEA_OK;
}
// FOVEA_C_CALL_(fovea_add, fovea_binary_args, resolve_pair, run_sum) defines fovea_add, which does no more.
#define FOVEA_C_CALL_(function, Args, resolve, run)                  \
  extern "C" fovea_status function(const Args* args) {               \
    return fovea::resolve_and_run(args, fovea::resolve, fovea::run); \
  }
// What functions of sizes do: their arguments become a plan, of which they write a number.
template <class Args, class Plan, class Number>
[[gnu::always_inline]] inline fovea_status plan_and_write(const Args* args, fovea_status (*plan_of)(const Args&, Plan*),
                                                          size_t* bytes, Number number) {
  if (!args || !bytes) return FOVEA_ERR_NULL;
  Plan plan;
  FOVEA_RETURN_IF_ERROR(plan_of(*args, &plan));
  *bytes = number(plan);
  return FOVEA_OK;
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_STATUS_H_
