// SPDX-License-Identifier: Apache-2.0
#include "base/arithmetic.h"
#include "fovea/fovea.h"
#include "integer/call.h"
#include "integer/resolve.h"

extern "C" size_t fovea_integer_attention_workspace_bytes(const fovea_integer_attention_args* args) {
  if (!args || fovea::check_integer_shape(*args) != FOVEA_OK) return 0;
  return fovea::integer_workspace_bytes(*args).value;
}

extern "C" fovea_status fovea_integer_attention(const fovea_integer_attention_args* args, void* workspace,
                                                size_t workspace_bytes) {
  if (!args) return FOVEA_ERR_NULL;
  const fovea_status status = fovea::check_integer_attention(*args, workspace, workspace_bytes);
  if (status == FOVEA_OK) fovea::run_integer_attention(*args, workspace);
  return status;
}
