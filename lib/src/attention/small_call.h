// SPDX-License-Identifier: Apache-2.0
//
// Small calls: one query for each key head, keys that fit one key tile, and arrays of f32, of which nothing but the products
// and the softmax is asked. Their heads take less time than what a HeadTask prepares, so each is one function of the kernel.
#ifndef FOVEA_SRC_ATTENTION_SMALL_CALL_H_
#define FOVEA_SRC_ATTENTION_SMALL_CALL_H_

#include "attention/call.h"

namespace fovea {

// Runs the call, if it is a small one for whose kernel this is worth while; else returns false.
bool run_small_call(const AttentionCall& call);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_SMALL_CALL_H_
