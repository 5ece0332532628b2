/* SPDX-License-Identifier: Apache-2.0
 *
 * What bench/counts.py and bench/size.py count:
 *   fovea_calls CALLS [fovea | naive] [HEADS Q_TOKENS KV_TOKENS DIM] [mask]
 * as many attention calls, by the library or by plain loops, without a shape 4 heads x 64 queries x 64 keys x dim 64. A
 * mask is of floats and hides every fourth key. All memory is static, so it runs on every machine.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fovea/fovea.h"
#include "naive.h"

enum { kMaxDim = 64, kMaxQueries = 4 * 64 * 64, kMaxKeys = 4 * 256 * 32, kMaxKeyTokens = 1024, kMaxMask = 64 * 64 };

static float queries[kMaxQueries], keys[kMaxKeys], values[kMaxKeys], out[kMaxQueries];
static float mask[kMaxMask], weights[kMaxKeyTokens];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_WORKSPACE_BYTES(kMaxDim, kMaxDim)];

/* Uniform over [-1.7, 1.7): of variance about 1. */
static void draw(float* data, int count, uint32_t state) {
  for (int i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * 1.7f;
  }
}

static fovea_in dense(const float* data, int tokens, int dim) {
  const fovea_in in = {data, 0, (ptrdiff_t)tokens * dim, dim};
  return in;
}

static fovea_status call_fovea(const struct naive_call* shape, int calls) {
  fovea_attention_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = (uint32_t)shape->heads;
  desc.head_dim = desc.value_dim = (uint32_t)shape->dim;
  desc.max_batch = 1;
  desc.max_q_tokens = (uint32_t)shape->q_tokens;
  desc.max_kv_tokens = (uint32_t)shape->kv_tokens;
  fovea_plan plan;
  fovea_status status = fovea_plan_init(&plan, &desc);

  fovea_attention_args args;
  memset(&args, 0, sizeof args);
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = (uint32_t)shape->q_tokens;
  args.kv_tokens = (uint32_t)shape->kv_tokens;
  args.q = dense(shape->queries, shape->q_tokens, shape->dim);
  args.kv.keys = dense(shape->keys, shape->kv_tokens, shape->dim);
  args.kv.values = dense(shape->values, shape->kv_tokens, shape->dim);
  args.out.data = shape->out;
  args.out.batch_stride = (ptrdiff_t)shape->heads * shape->q_tokens * shape->dim;
  args.out.head_stride = (ptrdiff_t)shape->q_tokens * shape->dim;
  args.out.token_stride = shape->dim;
  if (shape->mask) {
    args.mask.kind = FOVEA_MASK_F32;
    args.mask.data = shape->mask;
    args.mask.q_stride = shape->kv_tokens;
    args.mask.kv_tokens = args.kv_tokens;
  }
  for (; calls > 0 && status == FOVEA_OK; --calls) status = fovea_attention(&plan, &args, workspace, sizeof workspace);
  return status;
}

int main(int argc, char** argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 1;
  const int naive = argc > 2 && strcmp(argv[2], "naive") == 0;
  struct naive_call shape = {4, 64, 64, 64, queries, keys, values, 0, weights, out};
  if (argc > 6) {
    shape.heads = atoi(argv[3]);
    shape.q_tokens = atoi(argv[4]);
    shape.kv_tokens = atoi(argv[5]);
    shape.dim = atoi(argv[6]);
  }
  if (argc > 7) shape.mask = mask;
  const int outputs = shape.heads * shape.q_tokens * shape.dim, inputs = shape.heads * shape.kv_tokens * shape.dim;
  if (outputs > kMaxQueries || inputs > kMaxKeys || shape.dim > kMaxDim || shape.kv_tokens > kMaxKeyTokens ||
      (shape.mask && shape.q_tokens * shape.kv_tokens > kMaxMask)) {
    printf("too large a shape\n");
    return 2;
  }
  draw(queries, outputs, 1);
  draw(keys, inputs, 2);
  draw(values, inputs, 3);
  for (int i = 0; i < kMaxMask; ++i) mask[i] = i % 4 == 3 ? -INFINITY : 0.5f;

  fovea_status status = FOVEA_OK;
  if (naive) {
    for (; calls > 0; --calls) naive_attention(&shape);
  } else {
    status = call_fovea(&shape, calls);
  }
  double sum = 0;
  for (int i = 0; i < outputs; ++i) sum += (double)out[i];
  printf("%s, sum of the output %.6g\n", fovea_status_string(status), sum);
  return status == FOVEA_OK ? 0 : 1;
}
