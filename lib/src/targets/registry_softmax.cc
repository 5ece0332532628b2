// SPDX-License-Identifier: Apache-2.0
#include "targets/compiled.h"
#include "targets/registry.h"
#include "targets/tables.h"

namespace fovea {

const SoftmaxKernels& softmax_kernels(fovea_target target) {
  switch (target) {
#if FOVEA_COMPILED_SSE4
    case FOVEA_TARGET_SSE4: return N_SSE4::kSoftmax;
#endif
#if FOVEA_COMPILED_AVX2
    case FOVEA_TARGET_AVX2: return N_AVX2::kSoftmax;
#endif
#if FOVEA_COMPILED_AVX512
    case FOVEA_TARGET_AVX512: return N_AVX3::kSoftmax;
#endif
#if FOVEA_COMPILED_NEON
    case FOVEA_TARGET_NEON: return N_NEON::kSoftmax;
#endif
#if FOVEA_COMPILED_WASM
    case FOVEA_TARGET_WASM: return N_WASM::kSoftmax;
#endif
    default: break;
  }
#if FOVEA_WITH_HELIUM
  return helium_target::kSoftmax;
#elif FOVEA_WITH_SCALAR && FOVEA_WITH_XSIMD
  return target == FOVEA_TARGET_SCALAR ? scalar_target::kSoftmax : xsimd_target::kSoftmax;
#elif FOVEA_WITH_XSIMD
  return xsimd_target::kSoftmax;
#else
  return scalar_target::kSoftmax;
#endif
}

}  // namespace fovea
