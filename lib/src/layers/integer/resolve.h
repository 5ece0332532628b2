// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_INTEGER_RESOLVE_H_
#define FOVEA_SRC_INTEGER_RESOLVE_H_

#include "fovea/fovea.h"
#include "layers/integer/call.h"

namespace fovea {

// What the counts of a call decide.
struct IntegerPlan {
  uint32_t rows;  // of an IntegerBlock
  size_t workspace_bytes;
};

// Reads no array.
fovea_status plan_integer_attention(const fovea_integer_attention_args& args, IntegerPlan* plan);
// Performs every check, and makes *call ready to run.
fovea_status resolve_integer_attention(const fovea_integer_attention_args& args, void* workspace,
                                       size_t workspace_bytes, IntegerCall* call);

}  // namespace fovea

#endif  // FOVEA_SRC_INTEGER_RESOLVE_H_
