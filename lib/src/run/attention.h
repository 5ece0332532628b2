// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_RUN_ATTENTION_H_
#define FOVEA_SRC_RUN_ATTENTION_H_

#include "fovea/fovea.h"
#include "kernels/attention_table.h"

namespace fovea {

// The whole call, after every check.
void run_attention(const fovea_plan& plan, const fovea_attention_args& args, const AttentionKernels& kernels,
                   void* workspace);

}  // namespace fovea

#endif  // FOVEA_SRC_RUN_ATTENTION_H_
