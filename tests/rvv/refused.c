/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that is compiled for vectors of RISC-V of one length, on a processor that has none, or others: every call
 * that would run kernels is refused, and nothing is written. Compiled without vectors. */
#include <stdio.h>
#include <string.h>

#include "fovea/fovea.h"

static int failures;
static void expect_refused(const char* call, fovea_status status) {
  if (status == FOVEA_ERR_TARGET) return;
  printf("%s: status %d instead of FOVEA_ERR_TARGET\n", call, (int)status);
  ++failures;
}

int main(void) {
  static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[65536];
  static float x[64], y[64];
  fovea_attention_desc desc = {.struct_bytes = sizeof desc, .q_heads = 1, .kv_heads = 1, .head_dim = 8, .value_dim = 8,
                               .max_batch = 1, .max_q_tokens = 4, .max_kv_tokens = 4};
  const fovea_target targets[] = {FOVEA_TARGET_BEST, FOVEA_TARGET_RVV128, FOVEA_TARGET_RVV256,
                                  FOVEA_TARGET_RVV512};
  fovea_attention_plan plan;
  for (int i = 0; i < 4; ++i) {
    desc.target = targets[i];
    expect_refused("fovea_attention_plan_init", fovea_attention_plan_init(&plan, &desc));
    fovea_softmax_args softmax = {.struct_bytes = sizeof softmax, .target = targets[i], .y = y, .x = x, .outer = 1,
                                  .axis = 64, .inner = 1, .y_axis_stride = 1, .x_axis_stride = 1, .y_outer_stride = 64,
                                  .x_outer_stride = 64};
    expect_refused("fovea_softmax", fovea_softmax(&softmax));
    fovea_linear_args linear = {.struct_bytes = sizeof linear, .target = targets[i], .tokens = 1, .in_dim = 8, .out_dim = 8,
                                .x = x, .x_stride = 8, .y = y, .y_stride = 8};
    linear.weights.data = x, linear.weights.row_stride = 8;
    expect_refused("fovea_linear", fovea_linear(&linear, workspace, sizeof workspace));
  }
  if (fovea_target_count() != 0) printf("fovea_target_count: %u\n", (unsigned)fovea_target_count()), ++failures;
  for (int i = 0; i < 64; ++i) failures += y[i] != 0.0f;
  puts(failures ? "not refused" : "refused");
  return failures != 0;
}
