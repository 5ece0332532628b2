/* SPDX-License-Identifier: Apache-2.0 */
#include "concept.h"

/* Tokens are appended to a cache of f16 one after the other, as in decoding. */

//! [memory]
enum { CACHE_BYTES = FOVEA_KV_CACHE_BYTES(FOVEA_F16, FOVEA_F16, 1, HEADS, KEYS, DIM, DIM) };
static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char memory[CACHE_BYTES];
//! [memory]

int main(void) {
  fovea_attention_desc desc = description();
  answer(&desc);

  //! [init]
  fovea_kv_cache_desc kept = {.struct_bytes = sizeof kept, .batch = 1, .kv_heads = HEADS, .max_tokens = KEYS};
  kept.key_dtype = kept.value_dtype = FOVEA_F16;
  kept.head_dim = kept.value_dim = DIM;
  fovea_kv_cache cache;
  check(fovea_kv_cache_init(&cache, &kept, memory, sizeof memory));
  check(fovea_kv_describe(&cache, &desc));  // sets the fields that the cache knows; the caller sets the others
  fovea_attention_plan plan;
  check(fovea_attention_plan_init(&plan, &desc));
  //! [init]

  //! [append]
  fovea_kv_append_args append = {0};
  append.struct_bytes = sizeof append;
  append.batch = append.tokens = 1;
  for (int token = 0; token < KEYS; ++token) {
    append.keys = (fovea_in){&keys[0][token], 0, KEYS * DIM, 0};
    append.values = (fovea_in){&values[0][token], 0, KEYS * DIM, 0};
    check(fovea_kv_append(&cache, &append));
  }
  fovea_attention_args args = arguments(out);
  check(fovea_kv_attach(&cache, &args));
  check(fovea_attention(&plan, &args, workspace, sizeof workspace));
  //! [append]
  if (difference() > 1e-3f) return 1;

  //! [truncate]
  check(fovea_kv_truncate(&cache, 0, KEYS - 3));  // a draft of three tokens was not accepted
  check(fovea_kv_attach(&cache, &args));
  //! [truncate]
  return args.kv_tokens != KEYS - 3;
}
