// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/softmax/call.h"

namespace fovea {

void run_softmax(const SoftmaxCall& call) {
  const Softmaxes& s = call.softmaxes;
  if (s.outer == 0) return;
  if (call.rows) {
    call.kernels->rows(s);
    return;
  }
  for (size_t i = 0; i < s.outer; ++i) call.kernels->columns(s, i);
}

}  // namespace fovea
