// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fovea/fovea.h"
#include "support/formats.h"
#include "support/problem.h"

namespace fovea_test {

// Some of the keys of a call: [begin, end).
struct Piece {
  uint32_t begin, end;
};

// The arguments for some of the keys; of keys in pages, from the first of a page on. Owns what they point to.
class PieceArgs {
 public:
  PieceArgs(const AttentionCase& test, Piece piece) : args(test.args) {
    const Problem& p = test.problem;
    args.kv_tokens = piece.end - piece.begin;
    take_keys(p, piece);
    for (const uint32_t length : p.kv_lengths) lengths_.push_back(part(length, piece));
    if (!lengths_.empty()) args.kv_lengths = lengths_.data();
    if (p.mask != FOVEA_MASK_NONE) take_mask(p, piece);
    if (args.block_map != nullptr) take_map(p, *args.block_map, piece);
    args.out = args.lse = {};  // not used
    args.sinks = nullptr;
  }
  PieceArgs(const PieceArgs&) = delete;

  fovea_attention_args args;

 private:
  // The number of those keys among the first `count` that are in the piece.
  static uint32_t part(uint32_t count, Piece piece) {
    return count <= piece.begin ? 0 : std::min(count, piece.end) - piece.begin;
  }

  void take_keys(const Problem& p, Piece piece) {
    if (p.kv_kind == FOVEA_KV_PAGED) args.kv.page_table += piece.begin / p.page_tokens;
    if (p.kv_kind != FOVEA_KV_STRIDED) return;
    const auto skip = [&](fovea_in& array, size_t element_bytes) {
      const ptrdiff_t elements = static_cast<ptrdiff_t>(piece.begin) * array.token_stride;
      array.data = static_cast<const char*>(array.data) + elements * static_cast<ptrdiff_t>(element_bytes);
    };
    skip(args.kv.keys, unit_size(p.key_dtype));
    skip(args.kv.values, unit_size(p.value_dtype));
    skip(args.kv.key_scales, scale_size(p.key_dtype));
    skip(args.kv.value_scales, scale_size(p.value_dtype));
  }

  // A mask at the end requires that all entries have the same length.
  void take_mask(const Problem& p, Piece piece) {
    fovea_mask& mask = args.mask;
    const uint32_t first = mask.at_end != 0 ? p.kv_tokens - mask.kv_tokens : 0;
    const uint32_t column = piece.begin > first ? piece.begin - first : 0;
    mask.data = static_cast<const char*>(mask.data) + (p.mask_keys ? column : 0) * mask_element_size(p.mask);
    if (mask.kv_tokens == 0 || mask.kv_tokens == FOVEA_MASK_NO_KEYS) return;
    const uint32_t begin = std::max(piece.begin, first), covered = first + mask.kv_tokens;
    mask.kv_tokens = begin < piece.end ? part(covered, {begin, piece.end}) : 0;
    if (mask.kv_tokens != 0) return;
    if (mask.at_end != 0) {
      mask = {};
    } else {
      mask.kv_tokens = FOVEA_MASK_NO_KEYS;
    }
  }

  // The map has blocks of 64 keys if the piece does not begin with one of the original map's blocks.
  void take_map(const Problem& p, const fovea_block_map& map, Piece piece) {
    const uint32_t size = piece.begin % map.kv_block == 0 ? map.kv_block : FOVEA_KEY_TILE;
    const uint32_t lists = (p.q_tokens + map.q_block - 1) / map.q_block, blocks = (args.kv_tokens + size - 1) / size;
    const uint32_t arrays = (p.map_batch ? p.batch : 1) * (p.map_heads ? p.kv_heads : 1);
    for (uint32_t i = 0; i < arrays * (lists + 1); ++i) {
      offsets_.push_back(static_cast<uint32_t>(blocks_.size()));
      if (i % (lists + 1) == lists) continue;
      for (uint32_t c = 0; c < blocks; ++c) {
        const uint32_t whole = (piece.begin + c * size) / map.kv_block;
        for (uint32_t at = map.offsets[i]; at < map.offsets[i + 1]; ++at) {
          if ((map.blocks[at] & ~FOVEA_BLOCK_ALL) == whole) blocks_.push_back(c | (map.blocks[at] & FOVEA_BLOCK_ALL));
        }
      }
    }
    map_ = map;
    map_.kv_block = size;
    map_.offsets = offsets_.data();
    map_.blocks = blocks_.data(), map_.block_count = static_cast<uint32_t>(blocks_.size());
    args.block_map = &map_;
  }

  std::vector<uint32_t> lengths_, offsets_, blocks_;
  fovea_block_map map_;
};

}  // namespace fovea_test
