// SPDX-License-Identifier: Apache-2.0
//
// In C++ the same inline functions are here those of the configuration minimal.
#include <fovea/lean/minimal.h>

#include <fovea/fovea.hpp>

extern "C" fovea_status plan_of_i8_in_cpp_minimal() {
  fovea::AttentionDesc desc;
  desc.q_heads = desc.kv_heads = 1;
  desc.head_dim = desc.value_dim = 16;
  desc.max_batch = desc.max_q_tokens = desc.max_kv_tokens = 1;
  desc.key_dtype = FOVEA_I8;
  fovea::Plan plan;
  return plan.init(desc);
}
