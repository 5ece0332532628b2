// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_CACHE_H_
#define FOVEA_TESTS_SUPPORT_CACHE_H_

#include <cstdlib>
#include <vector>

#include "core/cache/call.h"
#include "fovea/fovea.h"
#include "support/guarded.h"

namespace fovea_test {

// A cache of which tests see, and may spoil, what programs do not. In calls it stands for a pointer to its storage.
struct Cache : fovea::MadeCache {
  Cache() : MadeCache{} { struct_bytes = sizeof(fovea_kv_cache_desc); }
  Cache(const fovea_kv_cache_desc& desc) : MadeCache{} { static_cast<fovea_kv_cache_desc&>(*this) = desc; }

  // Made anew, as its description now says.
  fovea_status init(void* at, size_t bytes) {
    const fovea_kv_cache_desc desc = *this;
    return fovea_kv_cache_init(*this, &desc, at, bytes);
  }
  operator fovea_kv_cache*() { return reinterpret_cast<fovea_kv_cache*>(static_cast<MadeCache*>(this)); }
  operator const fovea_kv_cache*() const {
    return reinterpret_cast<const fovea_kv_cache*>(static_cast<const MadeCache*>(this));
  }
};

// A cache in memory of exactly its bytes.
struct OwnedCache : Cache {
  explicit OwnedCache(const fovea_kv_cache_desc& desc) : Cache(desc) {
    const size_t needed = bytes_of(fovea_kv_cache_bytes, &desc);
    rows = Guarded(needed, 64, needed % 64 == 0 ? Placement::kEnd : Placement::kStart);
    if (init(rows.as<void>(), needed) != FOVEA_OK) std::abort();
  }
  std::vector<uint8_t> bytes() const { return {rows.as<uint8_t>(), rows.as<uint8_t>() + rows.bytes()}; }

  Guarded rows;
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_CACHE_H_
