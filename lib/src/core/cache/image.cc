// SPDX-License-Identifier: Apache-2.0
//
// Images of tokens of an entry. kv_cache.h says how their bytes are laid out.
#include "ground/base/arithmetic.h"
#include "core/cache/call.h"

#include "ground/base/image.h"
#include "ground/base/key_places.h"

namespace fovea {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "an image has numbers as they are in memory");
static_assert(offsetof(ImageHeader, checksum) == kChecksumAt, "where all images have it");
static_assert(sizeof(ImageHeader) == FOVEA_WORKSPACE_ALIGNMENT, "the lengths of `rows` are in its place");

uint32_t image_checksum(const void* image, size_t bytes) {
  return checksum_of(static_cast<const uint8_t*>(image), bytes);
}

void export_tokens(const MadeCache& c, ImageCall& call, uint8_t* image) {
  constexpr size_t kLine = FOVEA_WORKSPACE_ALIGNMENT;
  if (kSlowImages) {
    __builtin_memset(image, 0, call.bytes);
  } else {  // what is before an array; the header and rows are written later
    const fovea_kv_source& rows = call.rows.source;
    const void* const ends[] = {rows.key_scales.data, rows.values.data, rows.value_scales.data, call.center,
                                image + call.bytes};
    for (const void* end : ends) {
      if (end) __builtin_memset(image + (static_cast<const uint8_t*>(end) - image) - kLine, 0, kLine);
    }
  }
  __builtin_memcpy(image, &call.header, sizeof call.header);
  if (c.key_center) __builtin_memcpy(call.center, c.key_center, center_bytes(c));
  copy_tokens(call.rows, 0, 0, c, call.entry, call.first, call.tokens, 0);
  call.header.checksum = image_checksum(image, call.bytes);
  __builtin_memcpy(image, &call.header, sizeof call.header);
}

void import_tokens(MadeCache& c, const ImageCall& call) {
  const uint32_t end = call.first + call.tokens, slots = c.max_tokens - c.pinned_tokens;
  uint32_t oldest = is_ring(c.kind) ? c.first_tokens[call.entry] : 0;
  if (end > c.max_tokens && end - slots > oldest) oldest = end - slots;  // a ring
  copy_tokens(c, call.entry, call.first, call.rows, 0, 0, call.tokens, oldest);
  set_length(c, call.entry, end, oldest);
}

}  // namespace fovea
