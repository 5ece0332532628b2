// SPDX-License-Identifier: Apache-2.0
//
// The list of targets.
#ifndef FOVEA_SRC_TARGETS_LIST_H_
#define FOVEA_SRC_TARGETS_LIST_H_

#include "targets/compiled.h"

// The namespace of a target that Highway names, unless it is xsimd that compiles it.
#if FOVEA_WITH_HIGHWAY
#define FOVEA_VECTORS(highway_namespace) highway_namespace
#else
#define FOVEA_VECTORS(highway_namespace) xsimd_target
#endif

// row(..., target, namespace of its kernels) for each target; first in each row is what follows `row`.
#define FOVEA_TARGETS(row, ...)                                                                                        \
  row(__VA_ARGS__, AVX512, FOVEA_VECTORS(N_AVX3)) row(__VA_ARGS__, AVX2, FOVEA_VECTORS(N_AVX2))                        \
      row(__VA_ARGS__, SSE4, FOVEA_VECTORS(N_SSE4)) row(__VA_ARGS__, NEON, FOVEA_VECTORS(N_NEON))                      \
          row(__VA_ARGS__, WASM, N_WASM) row(__VA_ARGS__, HELIUM, helium_target) row(__VA_ARGS__, XSIMD, xsimd_target) \
              row(__VA_ARGS__, SCALAR, scalar_target)

#endif  // FOVEA_SRC_TARGETS_LIST_H_
