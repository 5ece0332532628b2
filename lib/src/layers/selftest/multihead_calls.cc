// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Self-attention of six tokens, two heads.
fovea_status multihead_of(Trial& trial, fovea_dtype dtype, fovea_compute compute) {
  constexpr uint32_t kTokens = 6, kModel = 32, kHeadDim = 16;
  fovea_multihead_desc desc = {};
  desc.struct_bytes = sizeof desc, desc.weight_dtype = dtype, desc.linear_compute = compute;
  fovea_attention_desc& attention = desc.attention;
  attention.struct_bytes = sizeof attention, attention.q_heads = attention.kv_heads = kModel / kHeadDim;
  attention.head_dim = attention.value_dim = kHeadDim, attention.max_batch = 1;
  attention.max_q_tokens = attention.max_kv_tokens = kTokens, attention.causal = FOVEA_CAUSAL_TOP_LEFT;
  attention.target = trial.target(), attention.processor_features = trial.features(), attention.portable_bits = 1;
  fovea_multihead_plan plan;
  FOVEA_RETURN_IF_ERROR(fovea_multihead_plan_init(&plan, &desc));

  fovea_multihead_args args = {};
  args.struct_bytes = sizeof args, args.attention.struct_bytes = sizeof args.attention;
  args.batch = 1, args.q_tokens = kTokens;
  void *qkv_scales = nullptr, *out_scales = nullptr;
  args.weights.qkv.data = trial.rows(dtype, 3 * kModel, kModel, &qkv_scales);
  args.weights.out.data = trial.rows(dtype, kModel, kModel, &out_scales);
  args.weights.qkv.scales = qkv_scales, args.weights.out.scales = out_scales;
  args.weights.qkv.dtype = args.weights.out.dtype = dtype;
  args.weights.qkv.row_stride = args.weights.out.row_stride = kModel;
  args.weights.qkv.bias = trial.numbers(3 * kModel);
  float* const y = trial.zeros<float>(kTokens * kModel);
  args.x = {trial.numbers(kTokens * kModel), 0, 0, kModel}, args.y = {y, 0, 0, kModel};
  const auto [workspace, bytes] = trial.rest();
  return trial.digest_after(fovea_multihead(&plan, &args, workspace, bytes), y, kTokens * kModel);
}

fovea_status multihead_f16(Trial& trial) { return multihead_of(trial, FOVEA_F16, FOVEA_COMPUTE_F32); }
fovea_status multihead_i8(Trial& trial) { return multihead_of(trial, FOVEA_I8, FOVEA_COMPUTE_I8); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(multihead, MULTIHEAD)
