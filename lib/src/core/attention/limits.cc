// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/limits.h"

#include "ground/base/key_places.h"

namespace fovea {

KeyLimits limits_of(const AttentionCall& call, uint32_t entry) {
  const fovea_attention_desc& d = call.desc;
  KeyLimits p;
  p.begin = 0;
  p.entered = 0;
  p.keys = call.key_count(entry);
  p.first = call.positions() ? call.positions()[entry] : 0;
  if (d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT) {
    p.first = int64_t(p.keys) - int64_t(call.queries(entry).count);
  }
  p.left = window_left(d);
  p.right = d.causal != FOVEA_CAUSAL_NONE ? 1 : window_right(d);
  // A mask that ends early hides the keys past its end.
  const bool ends = call.is_masked() && !call.mask_at_end();
  const uint32_t covered = ends ? mask_columns(call.mask(), p.keys) : p.keys;
  if (covered < p.keys) p.keys = covered;
  if (const StreamCall* const stream = call.stream()) {
    const uint32_t begin = uint32_t(stream->first_key % (tiles_follow_pages(d) ? 1 : kKeyTile));
    p.begin = begin;
    p.entered = begin;
    p.keys = stream->ends ? begin : begin + p.keys;
    p.first -= stream->first_key - begin;
  }
  return p;
}

uint32_t ring_first(const AttentionCall& call, uint32_t entry) {
  const fovea_attention_desc& d = call.desc;
  const uint32_t length = call.own_count(entry);
  const uint32_t first = call.kv().first_tokens   ? call.kv().first_tokens[entry]
                         : length > d.ring_tokens ? length - (d.ring_tokens - d.pinned_tokens)
                                                  : d.pinned_tokens;
  return call.prefix_tokens(entry) + (first < d.pinned_tokens ? d.pinned_tokens : first);
}

ExistingKeys ranges_of(const AttentionCall& call, uint32_t entry) {
  const fovea_attention_desc& d = call.desc;
  uint32_t pinned = d.pinned_tokens;
  if (const StreamCall* const stream = call.stream()) {
    const int64_t before = stream->first_key - limits_of(call, entry).begin;
    pinned = pinned > before ? uint32_t(pinned - before) : 0;
  }
  const bool prefixed = is_ring(d) && call.prefix_tokens(entry) != 0;
  if (prefixed) pinned = call.prefix_tokens(entry);
  const uint32_t first = is_ring(d) ? ring_first(call, entry) : pinned;
  const bool window = window_left(d) != 0 && !prefixed;
  return {pinned, first, first == pinned && (pinned == 0 || !window) ? 1u : 2u, prefixed};
}

bool sees_gone_token(const AttentionCall& call, uint32_t entry) {
  const fovea_attention_desc& d = call.desc;
  KeyLimits gone = limits_of(call, entry);
  gone.keep({d.pinned_tokens + call.prefix_tokens(entry), ring_first(call, entry), false});
  const uint32_t queries = gone.begin < gone.keys ? call.queries(entry).count : 0;
  for (uint32_t token = 0; token < queries; ++token) {
    if (gone.lo(token) < gone.hi(token)) return true;
  }
  return false;
}

}  // namespace fovea
