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

// A cache, beside a record of what was put into it, token by token, and of what must still be there.
class CacheModel {
 public:
  // The first part of `empty` is set, and valid.
  CacheModel(const fovea_kv_cache& empty, uint64_t seed);

  fovea_kv_cache cache;
  Guarded memory;

  // Appends counts[b] tokens of this type to entry + b. packed: the entries' tokens lie one after the other.
  fovea_status append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts,
                      fovea_dtype dtype = FOVEA_F32, bool packed = false);
  // Whether an entry has room for this many more tokens, or for this many in all: then they must not be refused.
  bool fits(uint32_t entry, uint32_t more) const { return has_room(entry, size_t{length(entry)} + more); }
  bool has_room(uint32_t entry, size_t tokens) const;
  // Gives an entry the pages that this many more tokens need, as far as there are free ones.
  void give_pages(uint32_t entry, uint32_t more);
  // Whether a ring would have to bring back tokens that are gone: it must refuse to.
  bool loses(uint32_t entry, uint32_t length) const;
  fovea_status truncate(uint32_t entry, uint32_t length);
  fovea_status reset(uint32_t entry);  // or FOVEA_ALL_ENTRIES
  // Copies the first tokens of another's entry. may_copy is what it must answer.
  fovea_status copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens);
  fovea_status may_copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens) const;
  // Goes on with a new cache that got the rows, page tables and lengths of this one, as from a file.
  fovea_status restore();
  // Takes tokens back and then sets the length to what it was, which changes nothing.
  fovea_status take_back_and_restore(uint32_t entry, uint32_t length);

  uint32_t length(uint32_t entry) const { return static_cast<uint32_t>(entries_[entry].tokens.size()); }
  // The oldest token, apart from pinned ones, that no other has replaced.
  uint32_t oldest(uint32_t entry) const;

  // "" if every token is where it should be, and attention over all of them is right.
  std::string check(fovea_target target);

  // A row of the cache, decoded.
  std::vector<float> row(bool keys, uint32_t b, uint32_t h, uint32_t t) const;

 private:
  struct Entry {
    std::vector<std::vector<float>> tokens;  // [kv_heads][key less key_center, value], as they were given
    size_t most = 0;                         // tokens that there ever were
  };

  // Two queries an entry over the cache, held against the reference over the decoded rows.
  std::string attend(fovea_target target);

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_pages_;
  uint64_t seed_, next_ = 0;
};

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SUPPORT_CACHE_MODEL_H_
