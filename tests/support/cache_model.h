// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_CACHE_MODEL_H_
#define FOVEA_TESTS_SUPPORT_CACHE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fovea/fovea.h"
#include "support/guarded.h"

namespace fovea_test {

// A cache beside what was put into it, token by token, and what of it must still be there.
class CacheModel {
 public:
  // The first part of `empty` is set, and valid.
  CacheModel(const fovea_kv_cache& empty, uint64_t seed);

  fovea_kv_cache cache;
  Guarded memory;

  // Appends to entries [entry, entry + batch), as many tokens to each as counts says.
  fovea_status append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts);
  // Whether these many more tokens of an entry have room: they must not be refused then.
  bool fits(uint32_t entry, uint32_t more) const;
  // Gives an entry the pages that this many more tokens need, as long as there are any.
  void give_pages(uint32_t entry, uint32_t more);
  // Whether a ring would have to bring back tokens that are gone: it must refuse to.
  bool loses(uint32_t entry, uint32_t length) const;
  fovea_status truncate(uint32_t entry, uint32_t length);
  fovea_status reset(uint32_t entry);  // or FOVEA_ALL_ENTRIES

  uint32_t length(uint32_t entry) const { return static_cast<uint32_t>(entries_[entry].tokens.size()); }
  // The oldest token behind the pinned ones that no other has replaced.
  uint32_t oldest(uint32_t entry) const;

  // "" if every token is where it should be, and attention over all of them is right.
  std::string check(fovea_target target);

  // A row of the cache, decoded.
  std::vector<float> row(bool keys, uint32_t b, uint32_t h, uint32_t t) const;

 private:
  struct Entry {
    std::vector<std::vector<float>> tokens;  // [kv_heads][key, value]
    size_t most = 0;                         // that there ever were
  };

  // Two queries an entry over the cache, held against the reference over the decoded rows.
  std::string attend(fovea_target target);

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_pages_;
  uint64_t seed_, next_ = 0;
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_CACHE_MODEL_H_
