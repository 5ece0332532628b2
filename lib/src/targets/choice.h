// SPDX-License-Identifier: Apache-2.0
//
// The choice among the tables of a family: the same for each, in a file of its own for each.
#ifndef FOVEA_SRC_TARGETS_CHOICE_H_
#define FOVEA_SRC_TARGETS_CHOICE_H_

#include "targets/compiled.h"
#include "targets/registry.h"
#include "targets/tables.h"

// What serves a target that is neither Highway's nor scalar.
#if FOVEA_WITH_HELIUM
#define FOVEA_OTHER_TARGET helium_target
#elif FOVEA_WITH_XSIMD
#define FOVEA_OTHER_TARGET xsimd_target
#else
#define FOVEA_OTHER_TARGET scalar_target
#endif

#define FOVEA_RETURN_TABLE_IF(compiled, is_meant, table) \
  if constexpr (compiled) {                              \
    if (is_meant) return table;                          \
  }

// The body of a function that is given an available target: returns its table of this name.
#define FOVEA_RETURN_TABLE(target, table)                                                       \
  FOVEA_RETURN_TABLE_IF(FOVEA_COMPILED_SSE4, target == FOVEA_TARGET_SSE4, N_SSE4::table)        \
  FOVEA_RETURN_TABLE_IF(FOVEA_COMPILED_AVX2, target == FOVEA_TARGET_AVX2, N_AVX2::table)        \
  FOVEA_RETURN_TABLE_IF(FOVEA_COMPILED_AVX512, target == FOVEA_TARGET_AVX512, N_AVX3::table)    \
  FOVEA_RETURN_TABLE_IF(FOVEA_COMPILED_NEON, target == FOVEA_TARGET_NEON, N_NEON::table)        \
  FOVEA_RETURN_TABLE_IF(FOVEA_COMPILED_WASM, target == FOVEA_TARGET_WASM, N_WASM::table)        \
  FOVEA_RETURN_TABLE_IF(FOVEA_WITH_SCALAR, target == FOVEA_TARGET_SCALAR, scalar_target::table) \
  return FOVEA_OTHER_TARGET::table

#endif  // FOVEA_SRC_TARGETS_CHOICE_H_
