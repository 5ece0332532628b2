// SPDX-License-Identifier: Apache-2.0
//
// Which keys a query may see, from counts and positions alone.
#ifndef FOVEA_SRC_ATTENTION_LIMITS_H_
#define FOVEA_SRC_ATTENTION_LIMITS_H_

#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/member_if.h"

namespace fovea {

// Keys [first, end) that some batch entry has.
struct KeyRange {
  uint32_t first, end;
  bool pinned;  // window_left does not hide them
};

// Whether a query may see a key but not all keys before it.
constexpr bool kMayHideEarlierKeys = kHasWindows || kHasRings || kHasStates;

// The positions of the queries of a batch entry, and how far each sees. Keys are counted from key 0 of limits_of.
struct KeyLimits {
  int64_t first;                                                        // position of query 0
  uint32_t keys;                                                        // no query sees a key from this one on
  uint32_t right;                                                       // window, 0 = unlimited; causal is 1
  [[no_unique_address]] MemberIf<kMayHideEarlierKeys, uint32_t> begin;  // no query sees a key before this one
  [[no_unique_address]] MemberIf<kHasWindows, uint32_t> left;           // window, 0 = unlimited
  // Work begins on the grid of key tiles, but not before this key: 0, or the first of a push.
  [[no_unique_address]] MemberIf<kHasStreams, uint32_t> entered;

  bool limited() const { return left || right || begin > entered; }

  // By its position, a query may see the keys [lo, hi).
  uint32_t lo(uint32_t token) const {
    const int64_t position = first + token;
    // At positions up to 0 the window hides no key; far below 0 the difference would overflow.
    return left && position > 0 ? clamp(position - left + 1) : uint32_t(begin);
  }
  uint32_t hi(uint32_t token) const { return right ? clamp(first + token + right) : keys; }
  // Leaves only the keys of this range.
  void keep(const KeyRange& range) {
    keys = keys < range.end ? keys : range.end;
    begin = begin > range.first ? uint32_t(begin) : range.first;
    if (begin > keys) begin = keys;
    if (range.pinned) left = 0;
  }
  // What keep changes, to be restored.
  struct Kept {
    uint32_t keys, begin, left;
  };
  Kept kept() const { return {keys, begin, left}; }
  void restore(const Kept& before) {
    keys = before.keys;
    begin = before.begin;
    left = before.left;
  }
  uint32_t clamp(int64_t key) const {
    return key < int64_t(begin) ? uint32_t(begin) : key > int64_t(keys) ? keys : uint32_t(key);
  }
};

// The limits of an entry. Key 0 is the entry's first key, except in a call on a stream: there it is at the last
// position on the grid of key tiles that is not after the call's first key. So key tiles are those of one call with all
// keys. Where tiles follow pages, key 0 is the first key of the call.
KeyLimits limits_of(const AttentionCall& call, uint32_t entry);

// The keys of an entry that exist, with indices as in limits_of. Where a window or a ring separates pinned tokens
// from the others, there are two ranges: the pinned ones, and the others. A ring's prefix is such a range, too, but windows
// hide its tokens.
struct ExistingKeys {
  uint32_t pinned, first;  // the end of the pinned ones, the first of the others
  uint32_t count;
  [[no_unique_address]] MemberIf<kHasPrefixes, bool> prefixed;

  KeyRange range(uint32_t index) const {
    if (count == 1) return {0, UINT32_MAX, false};
    return index == 0 ? KeyRange{0, pinned, !prefixed} : KeyRange{first, UINT32_MAX, false};
  }
};
// Whether there may be two.
constexpr bool kHasRanges = kHasRings;
ExistingKeys ranges_of(const AttentionCall& call, uint32_t entry);

// The oldest token after the pinned ones that a ring still holds. The tokens between these and it are gone.
uint32_t ring_first(const AttentionCall& call, uint32_t entry);

// Whether some query would see a token that is gone.
bool sees_gone_token(const AttentionCall& call, uint32_t entry);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_LIMITS_H_
