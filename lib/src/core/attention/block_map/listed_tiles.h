// SPDX-License-Identifier: Apache-2.0
//
// Block maps: which key tiles a map block of queries attends to.
#ifndef FOVEA_SRC_ATTENTION_BLOCK_MAP_LISTED_TILES_H_
#define FOVEA_SRC_ATTENTION_BLOCK_MAP_LISTED_TILES_H_

#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/member_if.h"

namespace fovea {

// The number of a map block of keys that a list contains.
inline uint32_t block_number(uint32_t listed) { return listed & ~FOVEA_BLOCK_ALL; }

// The offsets of the lists of a key head of a batch entry: [map blocks of queries + 1].
inline const uint32_t* block_offsets(const fovea_block_map& map, uint32_t entry, uint32_t kv_head) {
  return map.offsets + ptrdiff_t(entry) * map.batch_stride + ptrdiff_t(kv_head) * map.head_stride;
}

// The key tiles of a map block of queries, in order: all, or those of a list.
class ListedTiles {
 public:
  ListedTiles() = default;
  ListedTiles(const AttentionCall& call, uint32_t entry, uint32_t kv_head, uint32_t q_block) {
    const fovea_block_map* const map = call.block_map();
    if (!map) return;
    const uint32_t* const offsets = block_offsets(*map, entry, kv_head) + q_block;
    kv_block_ = map->kv_block;
    next_ = map->blocks + offsets[0];
    end_ = map->blocks + offsets[1];
  }

  // Moves *first, the first key of a tile, to the next tile that is listed, or past all keys if none is. A tile that is
  // listed stays. The next call must not be for an earlier tile.
  void find(uint32_t* first) {
    if (kv_block_ == 0) return;
    while (next_ != end_ && block_number(*next_) < *first / kv_block_) ++next_;
    const uint32_t begin = next_ != end_ ? block_number(*next_) * kv_block_ : UINT32_MAX;
    if (*first < begin) *first = begin;
  }
  // Whether the mask applies in the tile that was found.
  bool masked() const { return kv_block_ == 0 || !(*next_ & FOVEA_BLOCK_ALL); }

 private:
  uint32_t kv_block_ = 0;  // 0 = all tiles
  const uint32_t *next_ = nullptr, *end_ = nullptr;
};
using ListedTilesIf = MemberIf<kHasBlockMaps, ListedTiles>;

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_BLOCK_MAP_LISTED_TILES_H_
