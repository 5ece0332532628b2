// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/cache/call.h"
#include "fovea/fovea.h"
#include "support/guarded.h"

namespace fovea_test {

// A cache of which tests see, and may spoil, what programs do not. In calls it stands for a pointer to its storage.
struct Cache : fovea::MadeCache {
  Cache(const fovea_kv_cache_desc& desc = {}) : MadeCache{} {
    static_cast<fovea_kv_cache_desc&>(*this) = desc, struct_bytes = sizeof desc;
  }

  // Made anew, as its description now says.
  fovea_status init(void* at, size_t bytes) {
    fovea_kv_cache_desc desc = *this;
    desc.struct_bytes = sizeof desc;
    return fovea_kv_cache_init(*this, &desc, at, bytes);
  }
  operator fovea_kv_cache*() { return reinterpret_cast<fovea_kv_cache*>(static_cast<MadeCache*>(this)); }
  operator const fovea_kv_cache*() const { return *const_cast<Cache*>(this); }
};

// A cache in memory of exactly its bytes.
struct OwnedCache : Cache {
  explicit OwnedCache(const fovea_kv_cache_desc& desc) : Cache(desc) {
    const size_t needed = bytes_of(fovea_kv_cache_bytes, this);
    rows = Guarded(needed, 64, needed % 64 == 0 ? Placement::kEnd : Placement::kStart);
    if (init(rows.as<void>(), needed) != FOVEA_OK) std::abort();
  }
  std::vector<uint8_t> bytes() const { return {rows.as<uint8_t>(), rows.as<uint8_t>() + rows.bytes()}; }
  Guarded rows;
};

// A cache, with a record of each token that was appended and of those that it must still hold.
class CacheModel {
 public:
  // `empty` is valid.
  CacheModel(const fovea_kv_cache_desc& empty, uint64_t seed);

  OwnedCache cache;

  // Appends counts[b] tokens of this type to entry + b. packed: the entries' tokens are adjacent.
  fovea_status append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts,
                      fovea_dtype dtype = FOVEA_F32, bool packed = false);
  // Whether an entry has room for `more` tokens, or for `tokens` in all: then they must not be refused.
  bool fits(uint32_t entry, uint32_t more) const { return has_room(entry, size_t{length(entry)} + more); }
  bool has_room(uint32_t entry, size_t tokens) const;
  // Gives an entry the pages for `more` tokens, as far as pages are free.
  void give_pages(uint32_t entry, uint32_t more);
  // Whether this length would need tokens that the ring has replaced: it must then be refused.
  bool loses(uint32_t entry, uint32_t length) const;
  fovea_status truncate(uint32_t entry, uint32_t length);
  fovea_status reset(uint32_t entry);  // or FOVEA_ALL_ENTRIES
  // Copies the first tokens of an entry of another cache. may_copy says what status it must return.
  fovea_status copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens);
  fovea_status may_copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens) const;
  // An image of tokens of an entry, with this position and fingerprint; empty if it is refused, as may_export says.
  std::vector<uint8_t> image(const fovea_kv_image_args& args) const;
  bool may_export(const fovea_kv_image_args& args) const;
  // Appends tokens of an entry of another cache, which an image brings.
  fovea_status take_in(const fovea_kv_image_args& args, const std::vector<uint8_t>& image, const CacheModel& from,
                       const fovea_kv_image_args& held);
  // Keeps listed tokens of an entry, which are valid.
  fovea_status compact(uint32_t entry, const std::vector<uint32_t>& kept);
  // Replaces the cache by a new one with the same rows, page tables and lengths, as from a file.
  fovea_status restore();
  // Truncates an entry and then sets its old length again, which changes nothing.
  fovea_status take_back_and_restore(uint32_t entry, uint32_t length);

  uint32_t length(uint32_t entry) const { return static_cast<uint32_t>(entries_[entry].tokens.size()); }
  // The oldest token that is still stored, apart from pinned ones.
  uint32_t oldest(uint32_t entry) const;

  // "" if every token is stored in its place, and attention over all of them is right; else what is wrong.
  std::string check(fovea_target target);

  // A row of the cache, decoded.
  std::vector<float> row(bool keys, uint32_t b, uint32_t h, uint32_t t) const;

 private:
  struct Entry {
    std::vector<std::vector<float>> tokens;  // [kv_heads][key minus key_center, value], before conversion
    size_t most = 0;                         // the largest number of tokens so far
  };

  // Compares two queries an entry over the cache with the reference over the decoded rows.
  std::string attend(fovea_target target);

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_pages_;
  uint64_t seed_, next_ = 0;
};

}  // namespace fovea_test
