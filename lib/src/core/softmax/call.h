// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_SOFTMAX_CALL_H_
#define FOVEA_SRC_SOFTMAX_CALL_H_

#include "core/softmax/kernels.h"

namespace fovea {

// A checked call. Without any element only softmaxes.outer is set, to 0.
struct SoftmaxCall {
  const SoftmaxKernels* kernels;
  bool rows;  // the kernel of rows takes it
  Softmaxes softmaxes;
};

inline void run_softmax(const SoftmaxCall& call) {
  const Softmaxes& s = call.softmaxes;
  if (s.outer == 0) return;
  if (call.rows) {
    call.kernels->rows(s);
    return;
  }
  for (size_t i = 0; i < s.outer; ++i) call.kernels->columns(s, i);
}

}  // namespace fovea

#endif  // FOVEA_SRC_SOFTMAX_CALL_H_
