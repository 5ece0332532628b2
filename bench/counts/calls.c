/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/counts.py counts: as many attention calls as the first argument says, 4 heads x 64 queries x 64 keys x dim
 * 64 without a mask. All memory is static, so it runs on every machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fovea/fovea.h"

enum { kHeads = 4, kTokens = 64, kDim = 64, kFloats = kHeads * kTokens * kDim };

static float queries[kFloats], keys[kFloats], values[kFloats], out[kFloats];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(kDim, kDim)];

/* Uniform over [-1.7, 1.7): of variance about 1. */
static void draw(float* data, uint32_t state) {
  for (int i = 0; i < kFloats; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * 1.7f;
  }
}

static fovea_in dense(const float* data) {
  const fovea_in in = {data, kFloats, kTokens * kDim, kDim};
  return in;
}

int main(int argc, char** argv) {
  draw(queries, 1);
  draw(keys, 2);
  draw(values, 3);

  fovea_attention_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = kHeads;
  desc.head_dim = desc.value_dim = kDim;
  desc.max_batch = 1;
  desc.max_q_tokens = desc.max_kv_tokens = kTokens;
  fovea_plan plan;
  fovea_status status = fovea_plan_init(&plan, &desc);

  fovea_attention_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = args.kv_tokens = kTokens;
  args.q = dense(queries);
  args.kv.keys = dense(keys);
  args.kv.values = dense(values);
  args.out.data = out;
  args.out.batch_stride = kFloats;
  args.out.head_stride = kTokens * kDim;
  args.out.token_stride = kDim;

  for (int calls = argc > 1 ? atoi(argv[1]) : 1; calls > 0 && status == FOVEA_OK; --calls) {
    status = fovea_attention(&plan, &args, workspace, sizeof workspace);
  }
  double sum = 0;
  for (int i = 0; i < kFloats; ++i) sum += (double)out[i];
  printf("%s, sum of the output %.9g\n", fovea_status_string(status), sum);
  return status == FOVEA_OK ? 0 : 1;
}
