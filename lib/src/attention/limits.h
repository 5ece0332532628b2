// SPDX-License-Identifier: Apache-2.0
//
// Which keys a query may see by its place: from counts and positions alone.
#ifndef FOVEA_SRC_ATTENTION_LIMITS_H_
#define FOVEA_SRC_ATTENTION_LIMITS_H_

#include "attention/call.h"
#include "fovea/fovea.h"

namespace fovea {

// Keys [first, end) that some batch entry has.
struct KeyRange {
  uint32_t first, end;
  bool pinned;  // window_left does not hide them
};

// Keys that a query may see by its position: [lo, hi).
struct Visible {
  uint32_t lo, hi;
};

// Where the queries of a batch entry sit, and how far each sees.
struct Positions {
  int64_t first;         // position of query 0
  uint32_t begin, keys;  // no query sees a key before begin, or from keys on
  uint32_t left, right;  // windows, 0 = unlimited; causal is right = 1
  uint32_t entered;      // key tiles are entered on the grid, but not before this key: 0, or the first of a push

  bool limited() const { return left || right || begin > entered; }

  Visible visible(uint32_t token) const {
    const int64_t position = first + token;
    // Before position 1 a window reaches no key on its left; far before, the difference would overflow.
    return {left && position > 0 ? clamp(position - left + 1) : begin, right ? clamp(position + right) : keys};
  }
  // Leaves only the keys of this range.
  void keep(const KeyRange& range) {
    begin = begin > range.first ? begin : range.first;
    keys = keys < range.end ? keys : range.end;
    if (keys < begin) keys = begin;
    if (range.pinned) left = 0;
  }
  uint32_t clamp(int64_t key) const {
    return key < int64_t(begin) ? begin : key > int64_t(keys) ? keys : uint32_t(key);
  }
};

// In a call on a stream, key 0 is the last position on the grid of key tiles before the call's keys, so that tiles lie
// where the tiles of a whole call lie. Where tiles follow pages, key 0 is the first key of the call.
Positions positions_of(const AttentionCall& call, uint32_t entry);

// The keys of an entry that are there, counted as its positions are. Where a window or a ring parts pinned tokens from
// the others, there are two ranges: the pinned ones, and the others.
struct KeyRanges {
  KeyRange range[2];
  uint32_t count;

  static constexpr bool can_part() { return kHasRings; }
  uint32_t size() const { return can_part() ? count : 1; }
};
KeyRanges parted_ranges(const AttentionCall& call, uint32_t entry);
inline KeyRanges ranges_of(const AttentionCall& call, uint32_t entry) {
  return KeyRanges::can_part() ? parted_ranges(call, entry) : KeyRanges{};
}

// The oldest token behind the pinned ones that a ring still holds. The tokens between them are gone.
uint32_t ring_first(const AttentionCall& call, uint32_t entry);

// Whether some query would see a token that is gone.
bool sees_gone_token(const AttentionCall& call, uint32_t entry);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_LIMITS_H_
