/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of these pages share: a small problem of two heads, and its output by one call on plain arrays. */
#ifndef FOVEA_PLATFORM_DOCS_CONCEPTS_CONCEPT_H_
#define FOVEA_PLATFORM_DOCS_CONCEPTS_CONCEPT_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fovea/fovea.h"

enum { HEADS = 2, DIM = 32, QUERIES = 64, KEYS = 256 };

static float q[HEADS][QUERIES][DIM], keys[HEADS][KEYS][DIM], values[HEADS][KEYS][DIM];
static float whole[HEADS][QUERIES][DIM]; /* the output of that call */
static float out[HEADS][QUERIES][DIM];   /* the output of the page's program */
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[1 << 17];

static inline void check(fovea_status status) {
  if (status == FOVEA_OK) return;
  puts(fovea_status_string(status));
  exit(1);
}

static inline fovea_attention_desc description(void) {
  fovea_attention_desc desc = {0};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = HEADS;
  desc.head_dim = desc.value_dim = DIM;
  desc.max_batch = 1;
  desc.max_q_tokens = QUERIES;
  desc.max_kv_tokens = KEYS;
  return desc;
}

static inline fovea_attention_args arguments(float (*to)[QUERIES][DIM]) {
  fovea_attention_args args = {0};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = QUERIES;
  args.kv_tokens = KEYS;
  args.q = (fovea_in){q, 0, QUERIES * DIM, DIM};
  args.kv.keys = (fovea_in){keys, 0, KEYS * DIM, DIM};
  args.kv.values = (fovea_in){values, 0, KEYS * DIM, DIM};
  args.out = (fovea_out){to, HEADS * QUERIES * DIM, QUERIES * DIM, DIM};
  return args;
}

/* Fills the arrays with numbers from -1 to 1, and computes `whole` by a plan of this description. */
static inline void answer(const fovea_attention_desc* desc) {
  float* const arrays[] = {(float*)q, (float*)keys, (float*)values};
  const size_t counts[] = {sizeof q / sizeof(float), sizeof keys / sizeof(float), sizeof values / sizeof(float)};
  uint32_t state = 1;
  for (int array = 0; array < 3; ++array) {
    for (size_t i = 0; i < counts[array]; ++i) {
      state = state * 1664525u + 1013904223u;
      arrays[array][i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, desc));
  const fovea_attention_args args = arguments(whole);
  check(fovea_attention(&plan, &args, workspace, sizeof workspace));
}

static inline int same_bits(void) { return memcmp(out, whole, sizeof out) == 0; }

/* The largest difference between an element of out and of whole. */
static inline float difference(void) {
  const float *a = (const float*)out, *b = (const float*)whole;
  float largest = 0;
  for (size_t i = 0; i < sizeof out / sizeof(float); ++i) {
    if (a[i] - b[i] > largest) largest = a[i] - b[i];
    if (b[i] - a[i] > largest) largest = b[i] - a[i];
  }
  return largest;
}

#endif /* FOVEA_PLATFORM_DOCS_CONCEPTS_CONCEPT_H_ */
