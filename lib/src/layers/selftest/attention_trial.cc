// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Elements from a row to the next: bytes in formats of groups.
ptrdiff_t row_stride(fovea_dtype dtype, uint32_t dim) {
  const ptrdiff_t groups = static_cast<ptrdiff_t>((dim + 31) / 32);
  return dtype == FOVEA_I4 ? groups * 16 : dtype == FOVEA_Q8_0 ? groups * 34 : dtype == FOVEA_Q4_0 ? groups * 18 : dim;
}

void make_rows(Trial& trial, fovea_dtype dtype, uint32_t dim, fovea_in* rows, fovea_in* scales) {
  void* its_scales = nullptr;
  *rows = {trial.rows(dtype, kTrialKeys, dim, &its_scales), 0, 0, row_stride(dtype, dim)};
  *scales = {its_scales, 0, 0, dtype == FOVEA_I8 ? 1 : its_scales ? static_cast<ptrdiff_t>((dim + 31) / 32) : 0};
}

}  // namespace

AttentionTrial::AttentionTrial(Trial& the_trial, fovea_dtype keys, fovea_dtype values) : trial(the_trial) {
  desc.struct_bytes = sizeof desc, args.struct_bytes = sizeof args;
  desc.q_heads = kTrialHeads, desc.kv_heads = 1;
  desc.head_dim = kTrialHeadDim, desc.value_dim = kTrialValueDim;
  desc.max_batch = 1, desc.max_q_tokens = kTrialQueries, desc.max_kv_tokens = 2 * kTrialKeys;
  desc.key_dtype = keys, desc.value_dtype = values;
  desc.target = trial.target(), desc.processor_features = trial.features(), desc.portable_bits = 1;
  args.batch = 1, args.q_tokens = kTrialQueries, args.kv_tokens = kTrialKeys;
  make_rows(trial, keys, kTrialHeadDim, &args.kv.keys, &args.kv.key_scales);
  make_rows(trial, values, kTrialValueDim, &args.kv.values, &args.kv.value_scales);
  out = trial.zeros<float>(kTrialHeads * kTrialQueries * kTrialValueDim);
  lse = trial.zeros<float>(kTrialHeads * kTrialQueries);
  args.q = {trial.numbers(kTrialHeads * kTrialQueries * kTrialHeadDim), 0, kTrialQueries * kTrialHeadDim,
            kTrialHeadDim};
  args.out = {out, 0, kTrialQueries * kTrialValueDim, kTrialValueDim};
}

void AttentionTrial::digest_outputs() {
  trial.digest(out, kTrialHeads * kTrialQueries * kTrialValueDim);
  trial.digest(lse, kTrialHeads * kTrialQueries);
}

fovea_status AttentionTrial::run() {
  FOVEA_RETURN_IF_ERROR(fovea_attention_plan_init(&plan, &desc));
  const auto [workspace, bytes] = trial.rest();
  const fovea_status status = fovea_attention(&plan, &args, workspace, bytes);
  if (status == FOVEA_OK) digest_outputs();
  return status;
}

}  // namespace fovea
