// SPDX-License-Identifier: Apache-2.0
#include "attention/limits.h"

#include "base/key_places.h"

namespace fovea {

EntryQueries queries_of(const fovea_attention_args& args, uint32_t batch) {
  if (!config::kRagged || !args.q_offsets) return {args.q_tokens, batch, 0};
  return {args.q_offsets[batch + 1] - args.q_offsets[batch], 0, args.q_offsets[batch]};
}

uint32_t key_count(const fovea_attention_args& args, uint32_t batch) {
  if (args.kv_lengths) return args.kv_lengths[batch];
  return config::kRagged && args.kv_offsets ? args.kv_offsets[batch + 1] - args.kv_offsets[batch] : args.kv_tokens;
}

Positions positions_of(const fovea_attention_desc& d, const fovea_attention_args& args, const StreamCall* stream,
                       uint32_t batch) {
  Positions p;
  p.begin = p.entered = 0;
  p.keys = key_count(args, batch);
  p.first = args.positions ? args.positions[batch] : 0;
  if (d.diagonal == FOVEA_DIAGONAL_BOTTOM_RIGHT) {
    p.first = int64_t(p.keys) - int64_t(queries_of(args, batch).count);
  }
  p.left = config::kWindows ? d.window_left : 0;
  p.right = d.causal != FOVEA_CAUSAL_NONE ? 1 : config::kWindows ? d.window_right : 0;
  // A mask that ends early hides the keys behind it.
  const uint32_t covered = config::kMask ? mask_columns(args.mask, p.keys) : p.keys;
  if (covered < p.keys) p.keys = covered;
  if (config::kStreams && stream) {
    p.begin = p.entered = uint32_t(stream->first_key % (tiles_follow_pages(d) ? 1 : kKeyTile));
    p.keys = stream->ends ? p.begin : p.begin + p.keys;
    p.first -= stream->first_key - p.begin;
  }
  return p;
}

uint32_t ring_first(const fovea_attention_desc& d, const fovea_attention_args& args, uint32_t batch) {
  const uint32_t length = key_count(args, batch);
  const uint32_t first = args.kv.first_tokens     ? args.kv.first_tokens[batch]
                         : length > d.ring_tokens ? length - (d.ring_tokens - d.pinned_tokens)
                                                  : d.pinned_tokens;
  return first < d.pinned_tokens ? d.pinned_tokens : first;
}

KeyRanges ranges_of(const fovea_attention_desc& d, const fovea_attention_args& args, const StreamCall* stream,
                    uint32_t batch) {
  uint32_t pinned = d.pinned_tokens;
  if (config::kStreams && stream) {
    const int64_t before = stream->first_key - positions_of(d, args, stream, batch).begin;
    pinned = pinned > before ? uint32_t(pinned - before) : 0;
  }
  const uint32_t first = d.kv_kind == FOVEA_KV_RING ? ring_first(d, args, batch) : pinned;
  const bool window = config::kWindows && d.window_left;
  if (first == pinned && (pinned == 0 || !window)) return {{{0, UINT32_MAX, false}, {}}, 1};
  return {{{0, pinned, true}, {first, UINT32_MAX, false}}, 2};
}

bool sees_gone_token(const fovea_attention_desc& d, const fovea_attention_args& args, uint32_t batch) {
  Positions gone = positions_of(d, args, nullptr, batch);
  gone.keep({d.pinned_tokens, ring_first(d, args, batch), false});
  const uint32_t queries = gone.begin < gone.keys ? queries_of(args, batch).count : 0;
  for (uint32_t token = 0; token < queries; ++token) {
    const Visible visible = gone.visible(token);
    if (visible.lo < visible.hi) return true;
  }
  return false;
}

}  // namespace fovea
