// SPDX-License-Identifier: Apache-2.0
//
// fovea/kv_cache.hpp: caches: the keys and values of sequences that grow. kv_cache.h is the manual.
#ifndef FOVEA_KV_CACHE_HPP_
#define FOVEA_KV_CACHE_HPP_

#include <cstddef>
#include <cstdint>

#include "fovea/base.hpp"
#include "fovea/kv_cache.h"

namespace fovea {
FOVEA_LEAN_BEGIN_

using KvCacheDesc = Sized<fovea_kv_cache_desc>;
using KvAppendArgs = Sized<fovea_kv_append_args>;
using KvImageArgs = Sized<fovea_kv_image_args>;
using KvPrefix = Sized<fovea_kv_prefix>;
using KvShiftArgs = Sized<fovea_kv_shift_args>;

inline fovea_status kv_cache_bytes(const fovea_kv_cache_desc& desc, std::size_t* bytes) {
  return fovea_kv_cache_bytes(&desc, bytes);
}

// The keys and values of some sequences. They and their lengths are in memory of the caller, and a KvCache points to
// it: a copy of a KvCache points to the same cache. Until init has returned FOVEA_OK, the other functions return
// FOVEA_ERR_PLAN. An init that fails leaves the KvCache as it was.
class KvCache {
 public:
  // memory: at least kv_cache_bytes(desc), 64-byte aligned.
  fovea_status init(const fovea_kv_cache_desc& desc, Span<std::byte> memory) {
    return fovea_kv_cache_init(&cache_, &desc, memory.data(), memory.size());
  }

  fovea_status append(const fovea_kv_append_args& args) { return fovea_kv_append(&cache_, &args); }
  fovea_status append_workspace_bytes(const fovea_kv_append_args& args, std::size_t* bytes) const {
    return fovea_kv_append_workspace_bytes(&cache_, &args, bytes);
  }
  fovea_status truncate(std::uint32_t entry, std::uint32_t length) { return fovea_kv_truncate(&cache_, entry, length); }
  fovea_status reset(std::uint32_t entry = FOVEA_ALL_ENTRIES) { return fovea_kv_reset(&cache_, entry); }
  fovea_status set_length(std::uint32_t entry, std::uint32_t length, std::uint32_t first_token = 0) {
    return fovea_kv_set_length(&cache_, entry, length, first_token);
  }
  // Makes this entry the first `tokens` tokens of from_entry, which is in another cache or in this one.
  fovea_status copy(std::uint32_t entry, const KvCache& from, std::uint32_t from_entry, std::uint32_t tokens) {
    return fovea_kv_copy(&cache_, entry, &from.cache_, from_entry, tokens);
  }
  // Keeps only these tokens of the entry, in increasing order.
  fovea_status compact(std::uint32_t entry, Span<const std::uint32_t> kept) {
    if (kept.size() > 0xffffffff) return FOVEA_ERR_LENGTH;
    return fovea_kv_compact(&cache_, entry, kept.data(), std::uint32_t(kept.size()));
  }
  fovea_status shift(const fovea_kv_shift_args& args) { return fovea_kv_shift(&cache_, &args); }
  // Write an image of tokens, which has image_bytes() bytes, and append tokens of one.
  fovea_status image_bytes(std::uint32_t tokens, std::size_t* bytes) const {
    return fovea_kv_image_bytes(&cache_, tokens, bytes);
  }
  fovea_status export_to(const fovea_kv_image_args& args, Span<std::byte> image) const {
    return fovea_kv_export(&cache_, &args, image.data(), image.size());
  }
  fovea_status import_from(const fovea_kv_image_args& args, Span<const std::byte> image) {
    return fovea_kv_import(&cache_, &args, image.data(), image.size());
  }
  // The prefix points into the image.
  fovea_status prefix_of(const fovea_kv_image_args& args, Span<const std::byte> image, fovea_kv_prefix& prefix) const {
    return fovea_kv_image_prefix(&cache_, &args, image.data(), image.size(), &prefix);
  }

  fovea_status describe(fovea_attention_desc& desc) const { return fovea_kv_describe(&cache_, &desc); }
  fovea_status attach(fovea_attention_args& args) const { return fovea_kv_attach(&cache_, &args); }

  // Lengths, and the page table, which the caller fills in. Null until init has returned FOVEA_OK.
  const fovea_kv_arrays* arrays() const { return fovea_kv_cache_arrays(&cache_); }
  const fovea_kv_cache& get() const { return cache_; }

 private:
  friend class Multihead;
  fovea_kv_cache cache_ = {};
};

FOVEA_LEAN_END_
}  // namespace fovea

#endif  // FOVEA_KV_CACHE_HPP_
