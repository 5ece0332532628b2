// SPDX-License-Identifier: Apache-2.0
//
// Where the outputs of a head's rows go.
#ifndef FOVEA_SRC_ATTENTION_ROW_OUTPUTS_H_
#define FOVEA_SRC_ATTENTION_ROW_OUTPUTS_H_

#include "core/attention/head_task.h"

namespace fovea {

// The rows of the task's first query head, in an array of floats.
inline RowArray<float> head_floats(const HeadTask& task, const fovea_in& array) {
  const EntryTokens queries = task.call().queries(task.entry());
  return floats_of_head(array, queries, task.kv_head() * task.group);
}

inline OutputTensor output_tensor(const AttentionCall& call, uint32_t kv_head) {
  OutputTensor tensor = {};
  tensor.channel_scales = call.value_channel_scales(kv_head);
  tensor.is_plain = !tensor.channel_scales && call.desc.out_dtype != FOVEA_I8;
  if (tensor.is_plain) return tensor;
  tensor.inverse_scale = call.desc.out_scale != 0.0f ? 1.0f / call.desc.out_scale : 0.0f;
  tensor.zero = float(call.desc.out_zero);
  return tensor;
}

// Inlined, because builds for size call it once.
__attribute__((always_inline)) inline void find_outputs(const HeadTask& task, RowOutputs* to) {
  const AttentionCall& call = task.call();
  RowOutputs& outputs = *to;
  const EntryTokens queries = call.queries(task.entry());
  outputs.out = rows_of_head(as_input(call.out()), call.desc.out_dtype, queries, task.kv_head() * task.group);
  if (kHasLse) outputs.lse->data = nullptr;
  if (call.wants_lse()) outputs.lse = head_floats(task, as_input(call.lse()));
  outputs.sinks = call.sinks() != nullptr;
  if (kHasI8Tensors) outputs.tensor = output_tensor(call, task.kv_head());
  if (kHasModifiers) outputs.pass = task.steps.modifier->pass;
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_ROW_OUTPUTS_H_
