/* SPDX-License-Identifier: Apache-2.0
 *
 * The windows of streaming Conformers (cache-aware streaming, Noroozi et al., arXiv 2312.17279; Emformer and others):
 * frames come in chunks; a frame sees its chunk, later frames of it included, and the LEFT frames before the chunk. A
 * chunk needs nothing of later chunks, so a stream has the outputs of the whole recording.
 *
 * Streaming: a ring of LEFT + CHUNK slots. Each chunk is appended, and its queries see all that the ring holds, without
 * causal limit, window or mask. allow_evicted says that a query may miss frames that are gone. Memory does not grow.
 *
 * A whole recording: each chunk is a batch entry over the same arrays. The first chunks have fewer than LEFT frames
 * before them: all of these entries begin with the first frame, and kv_lengths ends them. The keys of each later chunk
 * begin a chunk after those of the one before, by batch_stride: a second call. No hidden pair is computed. */
#include <string.h>

#include "recipe.h"

enum { HEADS = 4, DIM = 16, CHUNK = 8, LEFT = 32, CHUNKS = 20, TOKENS = CHUNKS * CHUNK, TOKEN = HEADS * DIM };
enum { SEEN = LEFT + CHUNK, FIRST = LEFT / CHUNK }; /* the first chunks see fewer than LEFT frames before them */

static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_KV_WORKSPACE_BYTES(DIM, DIM)];
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char memory[FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, HEADS,
                                                                                     SEEN, DIM, DIM)];
static float q[TOKENS][HEADS][DIM], keys[TOKENS][HEADS][DIM], values[TOKENS][HEADS][DIM], out[TOKENS][HEADS][DIM];

static void attend_in_stream(void) {
  fovea_kv_cache_desc kept = {.struct_bytes = sizeof kept, .kind = FOVEA_KV_RING, .batch = 1, .kv_heads = HEADS};
  kept.head_dim = kept.value_dim = DIM;
  kept.max_tokens = SEEN; /* slots of the ring */
  fovea_kv_cache cache;
  recipe_check(fovea_kv_cache_init(&cache, &kept, memory, sizeof memory), "fovea_kv_cache_init");
  fovea_attention_desc desc = {
      .struct_bytes = sizeof desc, .q_heads = HEADS, .max_q_tokens = CHUNK, .allow_evicted = 1};
  recipe_check(fovea_kv_describe(&cache, &desc), "fovea_kv_describe");
  for (int first = 0; first < TOKENS; first += CHUNK) {
    const fovea_kv_append_args append = {.struct_bytes = sizeof append,
                                         .batch = 1,
                                         .tokens = CHUNK,
                                         .keys = {keys[first], 0, DIM, TOKEN},
                                         .values = {values[first], 0, DIM, TOKEN}};
    fovea_attention_args args = {.struct_bytes = sizeof args,
                                 .q_tokens = CHUNK,
                                 .q = {q[first], 0, DIM, TOKEN},
                                 .out = {out[first], 0, DIM, TOKEN}};
    recipe_check(fovea_kv_append(&cache, &append), "fovea_kv_append");
    recipe_check(fovea_kv_attach(&cache, &args), "fovea_kv_attach");
    recipe_attend(&desc, &args, workspace, sizeof workspace);
  }
}

/* Chunks [first, first + count), of which each sees the keys from where its own begin to the end of the chunk. */
static void attend_chunks(int first, int count, int step, const uint32_t* lengths) {
  fovea_attention_desc desc = recipe_desc(HEADS, DIM, (uint32_t)count, CHUNK);
  desc.max_kv_tokens = SEEN;
  const int begin = first * CHUNK, seen = begin > LEFT ? begin - LEFT : 0;
  const fovea_attention_args args = {
      .struct_bytes = sizeof args,
      .batch = (uint32_t)count,
      .q_tokens = CHUNK,
      .kv_tokens = SEEN,
      .kv_lengths = lengths,
      .q = {q[begin], CHUNK * TOKEN, DIM, TOKEN},
      .out = {out[begin], CHUNK * TOKEN, DIM, TOKEN},
      .kv = {.keys = {keys[seen], step * TOKEN, DIM, TOKEN}, .values = {values[seen], step * TOKEN, DIM, TOKEN}},
  };
  recipe_attend(&desc, &args, workspace, sizeof workspace);
}

static void attend_at_once(void) {
  uint32_t lengths[FIRST];
  for (uint32_t c = 0; c < FIRST; ++c) lengths[c] = (c + 1) * CHUNK;
  attend_chunks(0, FIRST, 0, lengths);
  attend_chunks(FIRST, CHUNKS - FIRST, CHUNK, NULL);
}

static double difference(void) {
  const recipe_rows rows = {DIM, TOKEN, 1 / sqrt(DIM)};
  double worst = 0, bias[TOKENS];
  for (int i = 0; i < TOKENS; ++i) {
    const int begin = i / CHUNK * CHUNK;
    for (int j = 0; j < TOKENS; ++j) bias[j] = j >= begin - LEFT && j < begin + CHUNK ? 0 : -INFINITY;
    for (int h = 0; h < HEADS; ++h) {
      recipe_worst(&worst, recipe_difference(&rows, out[i][h], q[i][h], keys[0][h], values[0][h], bias, TOKENS));
    }
  }
  return worst;
}

int main(void) {
  RECIPE_FILL(q), RECIPE_FILL(keys), RECIPE_FILL(values);
  attend_in_stream();
  double worst = difference();
  memset(out, 0, sizeof out);
  attend_at_once();
  recipe_worst(&worst, difference());
  return recipe_verdict("streaming_windows", "chunks of 8 frames and 32 before them, from a ring and all at once",
                        worst);
}
