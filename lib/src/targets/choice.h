// SPDX-License-Identifier: Apache-2.0
//
// The choice among the tables of an operator's kernels: each target has one in its namespace.
#ifndef FOVEA_SRC_TARGETS_CHOICE_H_
#define FOVEA_SRC_TARGETS_CHOICE_H_

#include "fovea/fovea.h"
#include "targets/list.h"

// Declares `Type table` in the namespace of each target, and a function that returns the table of an available target.
// With one target compiled that is a constant.
#define FOVEA_TABLES(Type, table, function)                 \
  FOVEA_TARGETS(FOVEA_DECLARE_TABLE_, Type, table)          \
  static inline const Type& function(fovea_target target) { \
    FOVEA_TARGETS(FOVEA_RETURN_TABLE_, Type, table)         \
    __builtin_unreachable();                                \
  }
#define FOVEA_DECLARE_TABLE_(Type, table, id, name, kernels, backend, target_namespace, ...) \
  namespace target_namespace {                                                               \
  extern const Type table;                                                                   \
  }
#define FOVEA_RETURN_TABLE_(Type, table, id, name, kernels, backend, target_namespace, ...) \
  if constexpr (FOVEA_COMPILED_##kernels) {                                                 \
    if (target == FOVEA_TARGET_##id) return target_namespace::table;                        \
  }

#endif  // FOVEA_SRC_TARGETS_CHOICE_H_
