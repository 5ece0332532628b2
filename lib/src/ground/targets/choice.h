// SPDX-License-Identifier: Apache-2.0
//
// The choice among the tables of an operator's kernels: each target has one in its namespace.
#ifndef FOVEA_SRC_TARGETS_CHOICE_H_
#define FOVEA_SRC_TARGETS_CHOICE_H_

#include "fovea/fovea.h"
#include "ground/targets/list.h"

// Declares `Type table` for each target: in the target's namespace, within a namespace that has the function's name,
// which FOVEA_KERNELS_NAMESPACE repeats in the file of kernels. Defines the function, which returns the table of an
// available target. With one target compiled it is a constant.
#define FOVEA_TABLES(Type, table, function) FOVEA_TABLES_IN(Type, table, function, function)
// Declares tables of kernels that may be compiled once more, for processors that run instructions in the order of the text.
#define FOVEA_TABLES_AND_IN_ORDER(Type, table, function)                \
  namespace in_order_target {                                           \
  namespace function {                                                  \
  extern const Type table;                                              \
  }                                                                     \
  }                                                                     \
  FOVEA_TABLES_IN(Type, table, function, function##_of_others)          \
  static inline const Type& function(fovea_target target) {             \
    if constexpr (FOVEA_WITH_IN_ORDER != 0) {                           \
      if (is_in_order(target)) return in_order_target::function::table; \
    }                                                                   \
    return function##_of_others(target);                                \
  }
// Declares one of several tables that a file of kernels defines: its namespace is `space`.
#define FOVEA_TABLES_IN(Type, table, space, function)       \
  FOVEA_TARGETS(FOVEA_DECLARE_TABLE_, Type, table, space)   \
  static inline const Type& function(fovea_target target) { \
    FOVEA_TARGETS(FOVEA_RETURN_TABLE_, Type, table, space)  \
    __builtin_unreachable();                                \
  }
#define FOVEA_DECLARE_TABLE_(Type, table, space, id, name, kernels, backend, target_namespace, ...) \
  namespace target_namespace {                                                                      \
  namespace space {                                                                                 \
  extern const Type table;                                                                          \
  }                                                                                                 \
  }
#define FOVEA_RETURN_TABLE_(Type, table, space, id, name, kernels, backend, target_namespace, ...) \
  if constexpr (FOVEA_COMPILED_##kernels) {                                                        \
    if (target == FOVEA_TARGET_##id) return target_namespace::space::table;                        \
  }

#endif  // FOVEA_SRC_TARGETS_CHOICE_H_
