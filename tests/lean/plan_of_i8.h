// SPDX-License-Identifier: Apache-2.0
//
// A function that two source files compile, each for another configuration of the library: what a plan with keys of I8 answers
// there. Such a file defines PLAN_OF_I8 as the function's name. The inline functions of fovea.hpp are the same text in both.
#include <fovea/fovea.hpp>

extern "C" fovea_status PLAN_OF_I8() {
  fovea::AttentionDesc desc;
  desc.q_heads = desc.kv_heads = 1;
  desc.head_dim = desc.value_dim = 16;
  desc.max_batch = desc.max_q_tokens = desc.max_kv_tokens = 1;
  desc.key_dtype = FOVEA_I8;
  fovea::AttentionPlan plan;
  return plan.init(desc);
}
