// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_ATTENTION_CALL_H_
#define FOVEA_SRC_ATTENTION_CALL_H_

#include "attention/kernels.h"
#include "attention/layout.h"
#include "fovea/fovea.h"

namespace fovea {

// What is different where a call works on the state of a stream: it takes in keys, or finishes with outputs.
struct StreamCall {
  StateRows rows;     // [batch][kv_heads][q_tokens][heads of the group]
  int64_t first_key;  // position of the first key of the call, not negative
  bool ends;          // no keys: the outputs of a copy of the state
};

// The whole call, or one on a stream, after every check. Fails only where a loader or an executor does, or before
// anything is written where tasks cannot be counted.
fovea_status run_attention(const fovea_plan& plan, const fovea_attention_args& args, const Workspace& workspace,
                           const StreamCall* stream);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_CALL_H_
