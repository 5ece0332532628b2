/* SPDX-License-Identifier: Apache-2.0
 *
 * One program whose source files use three configurations of the library, out of one archive: the bits are the same, and each
 * refuses what it leaves out. */
#include <stdio.h>
#include <string.h>

#include <fovea/attention.h>

fovea_status attend_by_default(float* out, int keys_i8);
fovea_status attend_by_header(float* out, int keys_i8);
fovea_status attend_by_macro(float* out, int keys_i8);
fovea_status plan_of_i8_in_cpp_default(void);
fovea_status plan_of_i8_in_cpp_minimal(void);
fovea_status fovea_minimal_attention_plan_init(fovea_attention_plan* plan, const fovea_attention_desc* desc);

static int failures;
static void check(int holds, const char* what) {
  if (!holds) {
    printf("does not hold: %s\n", what);
    ++failures;
  }
}

int main(void) {
  static float of_default[256], of_minimal[256], of_streaming[256];
  check(attend_by_default(of_default, 0) == FOVEA_OK, "the whole library takes keys of f32");
  check(attend_by_header(of_minimal, 0) == FOVEA_OK, "minimal takes keys of f32");
  check(attend_by_macro(of_streaming, 0) == FOVEA_OK, "streaming takes keys of f32");
  check(of_default[255] != 0.0f, "there is an output");
  check(memcmp(of_default, of_minimal, sizeof of_default) == 0, "minimal has the same bits");
  check(memcmp(of_default, of_streaming, sizeof of_default) == 0, "streaming has the same bits");

  check(attend_by_default(of_default, 1) == FOVEA_OK, "the whole library takes keys of I8");
  check(attend_by_header(of_minimal, 1) == FOVEA_ERR_LEFT_OUT, "minimal refuses keys of I8");
  check(attend_by_macro(of_streaming, 1) == FOVEA_OK, "streaming takes keys of I8");
  check(memcmp(of_default, of_streaming, sizeof of_default) == 0, "streaming has the same bits with keys of I8");

  check(plan_of_i8_in_cpp_default() == FOVEA_OK, "the whole library makes a plan of I8 in C++");
  check(plan_of_i8_in_cpp_minimal() == FOVEA_ERR_LEFT_OUT, "minimal refuses a plan of I8 in C++");
  const fovea_attention_desc desc = {.struct_bytes = sizeof desc,
                                     .q_heads = 1,
                                     .kv_heads = 1,
                                     .head_dim = 16,
                                     .value_dim = 16,
                                     .max_batch = 1,
                                     .max_q_tokens = 1,
                                     .max_kv_tokens = 1};
  fovea_attention_plan plan;
  check(fovea_minimal_attention_plan_init(&plan, &desc) == FOVEA_OK, "minimal makes a plan");
  size_t bytes;
  check(fovea_attention_workspace_bytes(&plan, &bytes) == FOVEA_ERR_PLAN, "the whole library does not take it for its own");
  printf("%d of 14 checks failed\n", failures);
  return failures != 0;
}
