// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"
#include "core/cache/resolve.h"
#include "fovea/fovea.h"

extern "C" size_t fovea_kv_cache_bytes(const fovea_kv_cache* cache) {
  if (!cache) return 0;
  fovea_kv_cache measured = *cache;
  measured.memory = nullptr;
  fovea::CheckedSize bytes;
  return fovea::lay_out_cache(&measured, &bytes) == FOVEA_OK ? bytes.value : 0;
}

extern "C" fovea_status fovea_kv_cache_init(fovea_kv_cache* cache, void* memory, size_t memory_bytes) {
  if (!cache) return FOVEA_ERR_NULL;
  const fovea_status status = fovea::check_new_cache(*cache, memory, memory_bytes);
  if (status != FOVEA_OK) return status;
  cache->memory = memory;
  fovea::CheckedSize bytes;
  fovea::lay_out_cache(cache, &bytes);
  cache->memory_bytes = bytes.value;
  cache->magic = fovea::kCacheMagic;
  fovea::forget_pages(*cache);
  fovea::empty_entries(*cache);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_append(fovea_kv_cache* cache, const fovea_kv_append_args* args) {
  fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  if (!args) return FOVEA_ERR_NULL;
  fovea::AppendCall call;
  status = fovea::resolve_append(*cache, *args, &call);
  if (status == FOVEA_OK) fovea::append_to_cache(*cache, &call);
  return status;
}

extern "C" fovea_status fovea_kv_truncate(fovea_kv_cache* cache, uint32_t entry, uint32_t length) {
  fovea_status status = fovea::check_cache(cache);
  if (status == FOVEA_OK) status = fovea::check_truncate(*cache, entry, length);
  if (status != FOVEA_OK) return status;
  fovea::set_length(*cache, entry, length, cache->first_tokens ? cache->first_tokens[entry] : 0);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_set_length(fovea_kv_cache* cache, uint32_t entry, uint32_t length,
                                            uint32_t first_token) {
  fovea_status status = fovea::check_cache(cache);
  if (status == FOVEA_OK) status = fovea::check_length(*cache, entry, length, &first_token);
  if (status != FOVEA_OK) return status;
  fovea::set_length(*cache, entry, length, first_token);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_copy(fovea_kv_cache* to, uint32_t to_entry, const fovea_kv_cache* from,
                                      uint32_t from_entry, uint32_t tokens) {
  fovea_status status = fovea::check_cache(to);
  if (status == FOVEA_OK) status = fovea::check_cache(from);
  if (status == FOVEA_OK) status = fovea::check_copy(*to, to_entry, *from, from_entry, tokens);
  if (status != FOVEA_OK) return status;
  fovea::copy_tokens(*to, to_entry, *from, from_entry, tokens);
  fovea::set_length(*to, to_entry, tokens, from->first_tokens ? from->first_tokens[from_entry] : 0);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_compact(fovea_kv_cache* cache, uint32_t entry, const uint32_t* kept, uint32_t count) {
  fovea_status status = fovea::check_cache(cache);
  if (status == FOVEA_OK) status = fovea::check_compact(*cache, entry, kept, count);
  if (status != FOVEA_OK) return status;
  fovea::keep_tokens(*cache, entry, kept, count);
  fovea::set_length(*cache, entry, count, cache->pinned_tokens);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_reset(fovea_kv_cache* cache, uint32_t entry) {
  const fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  if (entry != FOVEA_ALL_ENTRIES) return fovea_kv_truncate(cache, entry, 0);
  fovea::empty_entries(*cache);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_describe(const fovea_kv_cache* cache, fovea_attention_desc* desc) {
  const fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  if (!desc) return FOVEA_ERR_NULL;
  if (desc->struct_bytes != sizeof *desc) return FOVEA_ERR_STRUCT;
  const bool ring = fovea::is_ring(cache->kind);
  desc->kv_heads = cache->kv_heads;
  desc->head_dim = cache->head_dim;
  desc->value_dim = cache->value_dim;
  desc->max_batch = cache->batch;
  desc->max_kv_tokens = ring ? fovea::kMostTokens : cache->max_tokens;
  desc->key_dtype = cache->key_dtype;
  desc->value_dtype = cache->value_dtype;
  desc->rotation = cache->rotation;
  desc->rotation_seed = cache->rotation_seed;
  desc->kv_kind = cache->kind;
  desc->ring_tokens = ring ? cache->max_tokens : 0;
  desc->pinned_tokens = cache->pinned_tokens;
  desc->page_tokens = cache->page_tokens;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_attach(const fovea_kv_cache* cache, fovea_attention_args* args) {
  const fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  if (!args) return FOVEA_ERR_NULL;
  if (args->struct_bytes != sizeof *args) return FOVEA_ERR_STRUCT;
  args->batch = cache->batch;
  args->kv_tokens = fovea::longest_entry(*cache);
  args->kv_lengths = cache->lengths;
  args->kv = cache->source;
  return FOVEA_OK;
}
