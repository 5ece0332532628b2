/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor's part of a graph whose linear layers an NPU computes: the custom operator fovea_attention, on int8
 * tensors where the NPU has them. An interpreter calls prepare once, and invoke for each input. The program compares
 * it with attention in double: npu_attention [SCALE ZERO_POINT of queries, keys, values and outputs], which
 * partition.py reads in vela's file. Exit code: 0, or 1. */
#include "../recipes/recipe.h"

enum { Q, KEYS, VALUES, OUT, TENSORS };

/* A tensor of the interpreter, int8 [tokens][heads * head_dim]: x = scale * (code - zero_point). */
typedef struct Tensor {
  int8_t* codes;
  double scale;
  int32_t zero_point;
} Tensor;

/* Fills in the call but for the tensors' places, and writes how many bytes of workspace it needs. On an error the graph
 * cannot run. */
static fovea_status prepare(fovea_integer_attention_args* args, size_t* workspace_bytes, uint32_t tokens,
                            uint32_t heads, uint32_t head_dim, const Tensor tensors[TENSORS]) {
  *args = (fovea_integer_attention_args){.struct_bytes = sizeof *args, .batch = 1, .q_heads = heads, .kv_heads = heads};
  args->q_tokens = args->kv_tokens = tokens;
  args->head_dim = args->value_dim = head_dim;
  args->q_zero_point = tensors[Q].zero_point; /* that of keys changes no weight, and has no field */
  args->value_zero_point = tensors[VALUES].zero_point;
  args->out_zero_point = tensors[OUT].zero_point;
  const double score = tensors[Q].scale * tensors[KEYS].scale / sqrt(head_dim) * 1.44269504; /* log2(e) */
  fovea_status status = fovea_integer_multiplier(score, &args->score_multiplier, &args->score_shift);
  if (status != FOVEA_OK) return status;
  const double out = tensors[VALUES].scale / tensors[OUT].scale;
  status = fovea_integer_multiplier(out, &args->out_multiplier, &args->out_shift);
  return status != FOVEA_OK ? status : fovea_integer_attention_workspace_bytes(args, workspace_bytes);
}

/* Reads and writes the tensors in place: a head is a part of each token's row. */
static fovea_status invoke(fovea_integer_attention_args* args, const Tensor tensors[TENSORS], void* workspace,
                           size_t workspace_bytes) {
  const ptrdiff_t head = args->head_dim, token = head * args->q_heads;
  args->q = (fovea_in){.data = tensors[Q].codes, .head_stride = head, .token_stride = token};
  args->keys = (fovea_in){.data = tensors[KEYS].codes, .head_stride = head, .token_stride = token};
  args->values = (fovea_in){.data = tensors[VALUES].codes, .head_stride = head, .token_stride = token};
  args->out = (fovea_out){.data = tensors[OUT].codes, .head_stride = head, .token_stride = token};
  return fovea_integer_attention(args, workspace, workspace_bytes);
}

/* ---- The program: the shapes of partition.py's graph, and random codes instead of the NPU's. */

enum { TOKENS = 13, HEADS = 2, HEAD_DIM = 20, DIM = HEADS * HEAD_DIM };
static _Alignas(16) int8_t codes[TENSORS][TOKENS * DIM]; /* aligned as vela aligns tensors */
static float numbers[TENSORS][TOKENS * DIM];             /* what codes stand for */
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(
    HEAD_DIM, HEAD_DIM, TOKENS)];

int main(int count, char** arguments) {
  Tensor tensors[TENSORS] = {{NULL, .012, 4}, {NULL, .015, -7}, {NULL, .025, 11}, {NULL, .025, 9}};
  RECIPE_FILL(numbers);
  for (int t = 0; t < TENSORS; ++t) {
    if (count == 1 + 2 * TENSORS) {
      tensors[t].scale = atof(arguments[1 + 2 * t]);
      tensors[t].zero_point = atoi(arguments[2 + 2 * t]);
    }
    tensors[t].codes = codes[t];
    for (int i = 0; i < TOKENS * DIM; ++i) codes[t][i] = (int8_t)floorf(numbers[t][i] * 128);
  }
  fovea_integer_attention_args args;
  size_t bytes;
  recipe_check(prepare(&args, &bytes, TOKENS, HEADS, HEAD_DIM, tensors), "prepare");
  recipe_check(invoke(&args, tensors, workspace, sizeof workspace), "invoke");

  for (int t = 0; t < TENSORS; ++t) {
    for (int i = 0; i < TOKENS * DIM; ++i) {
      numbers[t][i] = (float)(tensors[t].scale * (codes[t][i] - tensors[t].zero_point));
    }
  }
  const recipe_rows rows = {HEAD_DIM, DIM, 1 / sqrt(HEAD_DIM)};
  const double bias[TOKENS] = {0};
  double worst = 0;
  for (int i = 0; i < TOKENS; ++i) {
    for (int h = 0; h < DIM; h += HEAD_DIM) {
      recipe_worst(&worst, recipe_difference(&rows, &numbers[OUT][i * DIM + h], &numbers[Q][i * DIM + h],
                                             &numbers[KEYS][h], &numbers[VALUES][h], bias, TOKENS));
    }
  }
  worst /= tensors[OUT].scale;
  const int right = worst <= 1; /* half a code is the rounding of outputs */
  printf("npu_attention: %d tokens, %d heads of %d; differs from double by up to %.2f codes, %s 1\n", TOKENS, HEADS,
         HEAD_DIM, worst, right ? "allowed" : "TOO MUCH, allowed");
  return right ? 0 : 1;
}
