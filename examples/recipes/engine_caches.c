/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches that other engines fill with codes, attended to where they are.
 *   ONNX Runtime   GroupQueryAttention's caches [batch][kv_heads][max_tokens][..] of int8, or of int4 with two codes in a
 *                  byte: element 2i in the low nibble, 2i + 1 in the high one, each plus 8. One scale for the tensor, or
 *                  one for each channel of each key head.
 *   ExecuTorch     int8 caches [batch][max_tokens][kv_heads][head_dim], with a scale and a zero point for each token and
 *                  head.
 * What multiplies a channel of keys multiplies that element of queries instead, and what multiplies a channel of values
 * that element of outputs. A zero point of a channel of keys adds the same to all scores of a query, which changes no
 * weight; one of a channel of values is subtracted from outputs. FOVEA_I4 has the elements i and i + 16 of a group in a
 * byte: so the elements of queries are put in the order of ONNX Runtime's bytes, and those of outputs come in this order.
 * A zero point of a token's key changes the score of that key by a multiple of the sum of the query; one of a token's
 * value is subtracted from all elements, times its weight: modifiers do both. */
#include "recipe.h"

enum { BATCH = 2, Q_HEADS = 4, KV_HEADS = 2, GROUP = Q_HEADS / KV_HEADS, DIM = 64, TOKENS = 90, GROUPS = DIM / 32 };

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
static const uint32_t lengths[BATCH] = {TOKENS, 41};
static float q[BATCH][Q_HEADS][DIM], out[BATCH][Q_HEADS][DIM];

/* The numbers that codes stand for, for the check. */
static float keys[BATCH][KV_HEADS][TOKENS][DIM], values[BATCH][KV_HEADS][TOKENS][DIM];

static double largest_difference(void) {
  const recipe_rows rows = {DIM, DIM, 1 / sqrt(DIM)};
  double worst = 0;
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < Q_HEADS; ++h) {
      static const double none[TOKENS];
      recipe_worst(&worst, recipe_difference(&rows, out[b][h], q[b][h], keys[b][h / GROUP][0], values[b][h / GROUP][0],
                                             none, (int)lengths[b]));
    }
  }
  return worst;
}

static fovea_attention_desc desc_of(fovea_dtype dtype) {
  fovea_attention_desc desc = recipe_desc(Q_HEADS, DIM, BATCH, TOKENS);
  desc.kv_heads = KV_HEADS, desc.max_q_tokens = 1;
  desc.key_dtype = desc.value_dtype = dtype;
  return desc;
}
static fovea_attention_args args_of(const void* queries) {
  return (fovea_attention_args){.struct_bytes = sizeof(fovea_attention_args),
                                .batch = BATCH,
                                .q_tokens = 1,
                                .kv_tokens = TOKENS,
                                .kv_lengths = lengths,
                                .q = {queries, Q_HEADS * DIM, DIM, DIM},
                                .out = {out, Q_HEADS * DIM, DIM, DIM}};
}

/* ------------------------------------------------------------------------------------------------ ONNX Runtime */

/* The last kind is not ONNX Runtime's: KIVI (arXiv 2402.02750) has zero points of channels, too. */
typedef enum ort_kind { TENSOR, CHANNELS, CHANNELS_WITH_ZEROS, KINDS } ort_kind;

typedef struct ort_cache {
  int bits;
  ort_kind kind;
  uint8_t codes[BATCH][KV_HEADS][TOKENS][DIM]; /* of int4 the first DIM / 2 of each row */
  float scales[KV_HEADS][DIM];
} ort_cache;

static int zero_of(const ort_cache* cache, int d) { return cache->kind == CHANNELS_WITH_ZEROS ? d % 7 - 3 : 0; }
static size_t row_bytes(const ort_cache* cache) { return cache->bits == 8 ? DIM : DIM / 2; }

/* Fills a cache as ONNX Runtime does. Rows follow one another. */
static void ort_fill(ort_cache* cache, float numbers[BATCH][KV_HEADS][TOKENS][DIM]) {
  const int most = cache->bits == 8 ? 127 : 7;
  uint8_t* row = &cache->codes[0][0][0][0];
  for (int h = 0; h < KV_HEADS; ++h) {
    for (int d = 0; d < DIM; ++d)
      cache->scales[h][d] = (cache->kind != TENSOR ? 1 + (float)(d % 5) : 3.0f) / (float)most / 5;
  }
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < KV_HEADS; ++h) {
      for (int t = 0; t < TOKENS; ++t, row += row_bytes(cache)) {
        float* const x = numbers[b][h][t];
        recipe_fill(x, DIM);
        for (int d = 0; d < DIM; ++d) {
          const float scaled = x[d] / cache->scales[h][d];
          const int code = scaled > (float)most ? most : scaled < -(float)most ? -most : (int)lrintf(scaled);
          x[d] = (float)(code - zero_of(cache, d)) * cache->scales[h][d];
          if (cache->bits == 8) row[d] = (uint8_t)code;
          if (cache->bits == 4) row[d / 2] = (uint8_t)(d % 2 ? row[d / 2] | (code + 8) << 4 : code + 8);
        }
      }
    }
  }
}

/* Where element d of ONNX Runtime's rows is in those that fovea reads. */
static int place(const ort_cache* cache, int d) { return cache->bits == 8 ? d : d / 32 * 32 + d % 32 / 2 + d % 2 * 16; }

static double attend_to_ort(int bits, ort_kind kind) {
  static ort_cache key_cache, value_cache;
  static float scaled[BATCH][Q_HEADS][DIM];
  static const uint16_t one[GROUPS] = {0x3c00, 0x3c00}; /* as f16 */
  key_cache.bits = value_cache.bits = bits, key_cache.kind = value_cache.kind = kind;
  ort_fill(&key_cache, keys), ort_fill(&value_cache, values);

  fovea_attention_desc desc = desc_of(bits == 8 ? FOVEA_I8 : FOVEA_I4);
  fovea_attention_args args = args_of(scaled);
  const ptrdiff_t row = (ptrdiff_t)row_bytes(&key_cache), head = TOKENS * row;
  args.kv.keys = (fovea_in){key_cache.codes, KV_HEADS * head, head, row};
  args.kv.values = (fovea_in){value_cache.codes, KV_HEADS * head, head, row};
  if (bits == 8) desc.key_scale = desc.value_scale = 1;
  if (bits == 4) args.kv.key_scales.data = args.kv.value_scales.data = one; /* with strides of 0 for all rows */
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < Q_HEADS; ++h) {
      for (int d = 0; d < DIM; ++d) {
        scaled[b][h][place(&key_cache, d)] = q[b][h][d] * key_cache.scales[h / GROUP][d];
      }
    }
  }
  recipe_attend(&desc, &args, workspace, sizeof workspace);
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < Q_HEADS; ++h) {
      float sums[DIM];
      for (int d = 0; d < DIM; ++d) {
        const float code = out[b][h][place(&value_cache, d)] - (float)zero_of(&value_cache, d);
        sums[d] = code * value_cache.scales[h / GROUP][d];
      }
      for (int d = 0; d < DIM; ++d) out[b][h][d] = sums[d];
    }
  }
  return largest_difference();
}

/* -------------------------------------------------------------------------------------------------- ExecuTorch */

typedef struct executorch_cache {
  int8_t codes[BATCH][TOKENS][KV_HEADS][DIM];
  float scales[BATCH][TOKENS][KV_HEADS];
  int8_t zeros[BATCH][TOKENS][KV_HEADS];
} executorch_cache;
static executorch_cache key_cache, value_cache;
static float q_sums[BATCH][Q_HEADS];
static double zero_sums[BATCH][Q_HEADS];

static void executorch_fill(executorch_cache* cache, float numbers[BATCH][KV_HEADS][TOKENS][DIM]) {
  for (int b = 0; b < BATCH; ++b) {
    for (int t = 0; t < TOKENS; ++t) {
      for (int h = 0; h < KV_HEADS; ++h) {
        float* const x = numbers[b][h][t];
        recipe_fill(x, DIM);
        const float scale = cache->scales[b][t][h] = (1.0f + (float)(t % 3)) / 400;
        const int zero = cache->zeros[b][t][h] = (int8_t)(t % 60 - 30);
        for (int d = 0; d < DIM; ++d) {
          const long code = lrintf(x[d] / scale) + zero;
          cache->codes[b][t][h][d] = (int8_t)(code > 127 ? 127 : code < -128 ? -128 : code);
          x[d] = scale * (float)(cache->codes[b][t][h][d] - zero);
        }
      }
    }
  }
}

/* The part of the keys' zero points in scores. */
static void subtract_key_zeros(void* self, const fovea_score_block* block) {
  (void)self;
  for (uint32_t r = 0; r < block->rows; ++r) {
    const float sum = q_sums[block->batch][block->heads[r]] / sqrtf(DIM);
    for (uint32_t k = 0; k < block->keys; ++k) {
      const size_t t = (size_t)block->first_key + k;
      block->data[(ptrdiff_t)r * block->row_stride + (ptrdiff_t)k * block->key_stride] -=
          sum * key_cache.scales[block->batch][t][block->kv_head] * key_cache.zeros[block->batch][t][block->kv_head];
    }
  }
}

/* Adds up the part of the values' zero points, and leaves the weights as they are. */
static void add_value_zeros(void* self, const fovea_score_block* block) {
  (void)self;
  for (uint32_t r = 0; r < block->rows; ++r) {
    for (uint32_t k = 0; k < block->keys; ++k) {
      const size_t t = (size_t)block->first_key + k;
      const double weight = block->data[(ptrdiff_t)r * block->row_stride + (ptrdiff_t)k * block->key_stride];
      zero_sums[block->batch][block->heads[r]] += weight * value_cache.scales[block->batch][t][block->kv_head] *
                                                  value_cache.zeros[block->batch][t][block->kv_head];
    }
  }
}

static double attend_to_executorch(void) {
  executorch_fill(&key_cache, keys), executorch_fill(&value_cache, values);
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < Q_HEADS; ++h) {
      for (int d = 0; d < DIM; ++d) q_sums[b][h] += q[b][h][d];
    }
  }
  const fovea_modifier modifier = {subtract_key_zeros, add_value_zeros, NULL};
  const fovea_attention_desc desc = desc_of(FOVEA_I8);
  fovea_attention_args args = args_of(q);
  args.kv.keys = (fovea_in){key_cache.codes, TOKENS * KV_HEADS * DIM, DIM, KV_HEADS * DIM};
  args.kv.values = (fovea_in){value_cache.codes, TOKENS * KV_HEADS * DIM, DIM, KV_HEADS * DIM};
  args.kv.key_scales = (fovea_in){key_cache.scales, TOKENS * KV_HEADS, 1, KV_HEADS};
  args.kv.value_scales = (fovea_in){value_cache.scales, TOKENS * KV_HEADS, 1, KV_HEADS};
  args.modifier = &modifier;
  recipe_attend(&desc, &args, workspace, sizeof workspace);
  for (int b = 0; b < BATCH; ++b) {
    for (int h = 0; h < Q_HEADS; ++h) {
      for (int d = 0; d < DIM; ++d) out[b][h][d] -= (float)zero_sums[b][h];
    }
  }
  return largest_difference();
}

int main(void) {
  RECIPE_FILL(q);
  double worst = attend_to_executorch();
  for (int bits = 4; bits <= 8; bits += 4) {
    for (int kind = 0; kind < KINDS; ++kind) recipe_worst(&worst, attend_to_ort(bits, (ort_kind)kind));
  }
  return recipe_verdict("engine_caches", "int8 and int4 caches of ONNX Runtime, int8 caches of ExecuTorch", worst);
}
