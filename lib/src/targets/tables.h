// SPDX-License-Identifier: Apache-2.0
//
// The kernel tables of every target that may be compiled in. Highway's targets live in the namespaces that Highway
// names.
#ifndef FOVEA_SRC_TARGETS_TABLES_H_
#define FOVEA_SRC_TARGETS_TABLES_H_

#include "attention/kernels.h"
#include "formats/formats.h"
#include "linear/kernels.h"
#include "rope/kernels.h"
#include "softmax/kernels.h"
#include "attention/stream_kernels.h"

// One line a family.
#define FOVEA_TABLES(target)                \
  namespace target {                        \
  extern const AttentionKernels kAttention; \
  extern const ConvertKernels kConvert;     \
  extern const LinearKernels kLinear;       \
  extern const RopeKernels kRope;           \
  extern const SoftmaxKernels kSoftmax;     \
  extern const StreamKernels kStream;       \
  }

namespace fovea {
FOVEA_TABLES(N_SSE4)
FOVEA_TABLES(N_AVX2)
FOVEA_TABLES(N_AVX3)
FOVEA_TABLES(N_NEON)
FOVEA_TABLES(N_WASM)
FOVEA_TABLES(helium_target)
FOVEA_TABLES(scalar_target)
FOVEA_TABLES(xsimd_target)
}  // namespace fovea

#undef FOVEA_TABLES

#endif  // FOVEA_SRC_TARGETS_TABLES_H_
