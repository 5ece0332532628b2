// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// Two pushes into a state; its image; and the outputs.
fovea_status stream_of(Trial& trial, fovea_dtype dtype, fovea_compute compute) {
  AttentionTrial a(trial, dtype, dtype);
  a.desc.compute = compute;
  FOVEA_RETURN_IF_ERROR(fovea_attention_plan_init(&a.plan, &a.desc));
  size_t state_bytes;
  FOVEA_RETURN_IF_ERROR(fovea_stream_state_bytes(&a.plan, 1, kTrialQueries, &state_bytes));
  fovea_stream_state* const state = static_cast<fovea_stream_state*>(trial.room(state_bytes));
  uint8_t* const image = trial.zeros<uint8_t>(state_bytes);
  const auto [workspace, bytes] = trial.rest();
  FOVEA_RETURN_IF_ERROR(fovea_stream_begin(&a.plan, state, state_bytes, 1, kTrialQueries, 0));
  static constexpr uint32_t kPushes[] = {64, kTrialKeys - 64};
  for (const uint32_t tokens : kPushes) {
    a.args.kv_tokens = tokens;
    FOVEA_RETURN_IF_ERROR(fovea_stream_push(&a.plan, state, &a.args, workspace, bytes));
  }
  FOVEA_RETURN_IF_ERROR(fovea_stream_export(state, image, state_bytes));
  trial.digest(image, state_bytes);
  FOVEA_RETURN_IF_ERROR(fovea_stream_end(&a.plan, state, &a.args, workspace, bytes));
  a.digest_outputs();
  return FOVEA_OK;
}

fovea_status stream_f32(Trial& trial) { return stream_of(trial, FOVEA_F32, FOVEA_COMPUTE_F32); }
fovea_status stream_i8(Trial& trial) { return stream_of(trial, FOVEA_I8, FOVEA_COMPUTE_I8); }

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(stream, STREAM)
