// SPDX-License-Identifier: Apache-2.0
//
// The checks of images of tokens, before anything is written.
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"
#include "core/cache/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/image.h"
#include "ground/base/key_places.h"

// An image comes from outside of the program: builds without checks refuse another shape or place, too.
#undef FOVEA_ERR_SIZE
#undef FOVEA_ERR_LENGTH

namespace fovea {
namespace {

constexpr uint32_t kImageMagic = 0x316b6f66;  // "fok1"

enum class ImageUse { kExport, kImport, kPrefix };

// Lays out an image of tokens, as kv_cache.h says: a strided cache of one entry with the header in the place of its length,
// then key_center. An image that is null measures it.
fovea_status lay_out_image(const MadeCache& c, uint32_t tokens, void* image, ImageCall* call) {
  fovea_kv_cache_desc desc = c;
  desc.struct_bytes = sizeof desc;
  desc.kind = FOVEA_KV_STRIDED;
  desc.batch = 1, desc.max_tokens = tokens;
  desc.pinned_tokens = desc.page_tokens = desc.pages = 0;
  CheckedSize bytes;
  FOVEA_RETURN_IF_ERROR(lay_out_cache(desc, image, &call->rows, &bytes));
  bytes.aligned();
  call->center = advanced(static_cast<char*>(image), ptrdiff_t(bytes.value));
  if (c.key_center) bytes.plus(center_bytes(c)).aligned();
  call->bytes = bytes.value;
  return bytes.overflow || bytes.value > PTRDIFF_MAX ? FOVEA_ERR_SIZE : FOVEA_OK;
}

// How many bytes are the same, before the first that differs. The library calls no memcmp.
size_t same_bytes(const void* a, const void* b, size_t count) {
  size_t same = 0;
  while (same < count && bytes_of(a)[same] == bytes_of(b)[same]) ++same;
  return same;
}

// Compares an image with what the cache and the arguments ask for. Reads all of it, but not past image_bytes: its checksum must be
// right.
fovea_status check_read(const MadeCache& c, void* image, size_t image_bytes, ImageUse use, ImageCall* call) {
  constexpr size_t kShape = offsetof(ImageHeader, parts), kOwner = offsetof(ImageHeader, position);
  if (image_bytes < sizeof(ImageHeader)) return FOVEA_ERR_IMAGE;
  uint32_t begin[3];  // magic, checksum, tokens
  __builtin_memcpy(begin, image, sizeof begin);
  call->header.checksum = begin[1], call->header.tokens = begin[2];
  const size_t same = same_bytes(image, &call->header, sizeof(ImageHeader));
  if (same < kShape) return FOVEA_ERR_IMAGE;
  if (same < kOwner) return FOVEA_ERR_SIZE;
  if (begin[2] > kMostTokens || begin[2] > image_bytes) return FOVEA_ERR_IMAGE;
  if (lay_out_image(c, begin[2], image, call) != FOVEA_OK || call->bytes > image_bytes ||
      image_checksum(image, call->bytes) != begin[1]) {
    return FOVEA_ERR_IMAGE;
  }
  if (same < sizeof(ImageHeader)) return FOVEA_ERR_STATE;
  const size_t mean = c.key_center ? center_bytes(c) : 0;
  if (same_bytes(c.key_center, call->center, mean) < mean) return FOVEA_ERR_SIZE;
  if (kHasPrefixes && use == ImageUse::kPrefix) return call->tokens > begin[2] ? FOVEA_ERR_LENGTH : FOVEA_OK;
  if (call->entry >= c.batch) return FOVEA_ERR_CAPACITY;
  if (call->first != c.lengths[call->entry] || call->tokens > begin[2]) return FOVEA_ERR_LENGTH;
  uint32_t newest = 0;
  return check_length(c, call->entry, call->first + call->tokens, &newest);
}

fovea_status check_export(const MadeCache& c, void* image, size_t image_bytes, ImageCall* call) {
  FOVEA_RETURN_IF_ERROR(check_held(c, call->entry, call->first, call->tokens));
  FOVEA_RETURN_IF_ERROR(lay_out_image(c, call->tokens, image, call));
  return image_bytes < call->bytes ? FOVEA_ERR_STATE : FOVEA_OK;
}

// The header that an image of these tokens has, without its checksum.
ImageHeader header_of(const MadeCache& c, const fovea_kv_image_args& a) {
  const uint32_t parts = (c.values_in_keys ? 1 : 0) + (c.key_center ? 2 : 0);
  return {kImageMagic,
          0,
          a.tokens,
          parts,
          c.key_dtype,
          c.value_dtype,
          c.kv_heads,
          c.head_dim,
          c.value_dim,
          c.hadamard,
          c.hadamard == FOVEA_HADAMARD_NONE ? 0 : c.hadamard_seed,
          a.position,
          a.fingerprint};
}

// Writes to the image of an export alone, and that later.
fovea_status resolve_image(const fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* of_image,
                           size_t image_bytes, ImageUse use, ImageCall* call) {
  void* const image = const_cast<void*>(of_image);
  FOVEA_RETURN_IF_ERROR(check_cache(cache));
  if (!args || !image) return FOVEA_ERR_NULL;
  FOVEA_RETURN_IF_ERROR(check_struct(*args));
  if (!kHasImages) return FOVEA_ERR_LEFT_OUT;
  const MadeCache& c = made(*cache);
  call->entry = args->entry, call->first = args->first, call->tokens = args->tokens;
  call->header = header_of(c, *args);
  FOVEA_RETURN_IF_ERROR(use == ImageUse::kExport ? check_export(c, image, image_bytes, call)
                                                 : check_read(c, image, image_bytes, use, call));
  Buffers buffers;
  buffers.add_memory(image, call->bytes);
  if (use == ImageUse::kExport) buffers.add_list(c.key_center, sizeof(float), size_t(c.kv_heads) * c.head_dim);
  return buffers.add_list(c.memory, 1, c.memory_bytes);
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_kv_image_bytes(const fovea_kv_cache* cache, uint32_t tokens, size_t* bytes) {
  FOVEA_RETURN_IF_ERROR(fovea::check_cache(cache));
  if (!bytes) return FOVEA_ERR_NULL;
  if (!fovea::kHasImages) return FOVEA_ERR_LEFT_OUT;
  fovea::ImageCall call;
  FOVEA_RETURN_IF_ERROR(fovea::lay_out_image(fovea::made(*cache), tokens, nullptr, &call));
  *bytes = call.bytes;
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_export(const fovea_kv_cache* cache, const fovea_kv_image_args* args, void* image,
                                        size_t image_bytes) {
  fovea::ImageCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_image(cache, args, image, image_bytes, fovea::ImageUse::kExport, &call));
  if (fovea::kHasImages) fovea::export_tokens(fovea::made(*cache), call, static_cast<uint8_t*>(image));
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_import(fovea_kv_cache* cache, const fovea_kv_image_args* args, const void* image,
                                        size_t image_bytes) {
  fovea::ImageCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_image(cache, args, image, image_bytes, fovea::ImageUse::kImport, &call));
  if (fovea::kHasImages) fovea::import_tokens(fovea::made(*cache), call);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_kv_image_prefix(const fovea_kv_cache* cache, const fovea_kv_image_args* args,
                                              const void* image, size_t image_bytes, fovea_kv_prefix* prefix) {
  if (!prefix) return FOVEA_ERR_NULL;
  if (!fovea::kHasPrefixes) return FOVEA_ERR_LEFT_OUT;
  fovea::ImageCall call;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_image(cache, args, image, image_bytes, fovea::ImageUse::kPrefix, &call));
  const fovea_kv_source& rows = call.rows.source;
  prefix->struct_bytes = sizeof *prefix, prefix->tokens = call.tokens;
  prefix->keys = rows.keys, prefix->values = rows.values;
  prefix->key_scales = rows.key_scales, prefix->value_scales = rows.value_scales;
  return FOVEA_OK;
}
