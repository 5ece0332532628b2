// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/block_map/make.h"

#include "core/attention/block_map/listed_tiles.h"
#include "core/attention/call.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "ground/base/status.h"

namespace fovea {
namespace {

bool sizes_served(uint32_t q_block, uint32_t kv_block) {
  return q_block != 0 && kv_block != 0 && kv_block % kKeyTile == 0;
}

// Checks one list: numbers of map blocks, in rising order.
fovea_status check_list(const uint32_t* listed, const uint32_t* end, uint32_t blocks) {
  uint32_t least = 0;
  for (; listed != end; ++listed) {
    const uint32_t number = block_number(*listed);
    if (number < least || number >= blocks) return FOVEA_ERR_MAP;
    least = number + 1;
  }
  return FOVEA_OK;
}

fovea_status check_lists_of_head(const fovea_block_map& map, const uint32_t* offsets, uint32_t lists, uint32_t blocks) {
  for (uint32_t r = 0; r < lists; ++r) {
    if (offsets[r] > offsets[r + 1] || offsets[r + 1] > map.block_count) return FOVEA_ERR_MAP;
    FOVEA_RETURN_IF_ERROR(check_list(map.blocks + offsets[r], map.blocks + offsets[r + 1], blocks));
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status add_block_map(Buffers& buffers, const fovea_block_map& map, size_t batch, size_t kv_heads,
                           uint32_t queries) {
  if (!sizes_served(map.q_block, map.kv_block)) return FOVEA_ERR_MAP;
  if (map.block_count > 0 && !map.blocks) return FOVEA_ERR_NULL;
  const fovea_in offsets = {map.offsets, map.batch_stride, map.head_stride, 0};
  const uint32_t lists = divide_up(queries, map.q_block);
  if (lists == UINT32_MAX) return FOVEA_ERR_SIZE;
  buffers.add_input(offsets, sizeof(uint32_t), {batch, kv_heads, lists != 0}, size_t{lists} + 1);
  return buffers.add_list(map.blocks, sizeof(uint32_t), map.block_count);
}

fovea_status check_block_map(const AttentionCall& call, uint32_t queries, uint32_t keys) {
  const fovea_block_map* const map = call.block_map();
  const uint32_t lists = divide_up(queries, map->q_block), blocks = divide_up(keys, map->kv_block);
  if (lists == 0) return FOVEA_OK;
  // Lists that entries or heads share are checked once.
  const uint32_t entries = map->batch_stride == 0 && call.batch() > 1 ? 1 : call.batch();
  const uint32_t heads = map->head_stride == 0 ? 1 : call.desc.kv_heads;
  for (uint32_t entry = 0; entry < entries; ++entry) {
    for (uint32_t head = 0; head < heads; ++head) {
      FOVEA_RETURN_IF_ERROR(check_lists_of_head(*map, block_offsets(*map, entry, head), lists, blocks));
    }
  }
  return FOVEA_OK;
}

// Without `writes`, only map blocks are counted, and the output arrays are not checked.
fovea_status resolve_block_map(const fovea_block_map_args& a, bool writes, BlockMapCall* call) {
  if (!kHasBlockMaps) return FOVEA_ERR_LEFT_OUT;
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  if (a.q_heads == 0 || a.kv_heads == 0) return FOVEA_ERR_DIM;
  if (a.q_heads % a.kv_heads != 0) return FOVEA_ERR_HEADS;
  if (a.q_tokens > kMostTokens || a.kv_tokens > kMostTokens) return FOVEA_ERR_SIZE;
  if (!sizes_served(a.q_block, a.kv_block)) return FOVEA_ERR_MAP;
  if (a.classify && a.mask.data) return FOVEA_ERR_UNSUPPORTED;
  BlockMapCall& c = *call;
  c.batch = a.batch, c.kv_heads = a.kv_heads, c.q_tokens = a.q_tokens, c.kv_tokens = a.kv_tokens;
  c.q_block = a.q_block, c.kv_block = a.kv_block;
  c.group = a.q_heads / a.kv_heads;
  c.mask = &a.mask, c.classify = a.classify, c.self = a.self;
  c.offsets = a.offsets, c.blocks = a.blocks, c.most_blocks = a.most_blocks;
  Buffers buffers;
  if (writes) {
    const size_t lists = size_t{divide_up(a.q_tokens, a.q_block)} + 1;
    CheckedSize entry{lists};
    if (entry.times(a.kv_heads).overflow || entry.value > PTRDIFF_MAX) return FOVEA_ERR_SIZE;
    const fovea_out offsets = {a.offsets, ptrdiff_t(entry.value), ptrdiff_t(lists), 0};
    buffers.add_output(offsets, sizeof(uint32_t), {a.batch, a.kv_heads, 1}, lists);
    buffers.add_output(a.blocks, sizeof(uint32_t), a.most_blocks);
  }
  if (a.classify) return buffers.status();
  return buffers.add_input(a.mask, 1, {a.batch, a.q_heads, a.q_tokens}, a.kv_tokens);
}

fovea_status check_tree(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride) {
  if (!kHasBlockMaps) return FOVEA_ERR_LEFT_OUT;
  if (tokens == 0) return FOVEA_OK;
  if (tokens > kMostTokens) return FOVEA_ERR_SIZE;
  if (!parents) return FOVEA_ERR_NULL;
  if (row_stride > PTRDIFF_MAX) return FOVEA_ERR_SIZE;
  Buffers buffers;
  buffers.add_output({mask, 0, 0, ptrdiff_t(row_stride)}, 1, {1, 1, tokens}, tokens);
  FOVEA_RETURN_IF_ERROR(buffers.add_list(parents, sizeof *parents, tokens));
  for (uint32_t i = 0; i < tokens; ++i) {
    if (parents[i] < -1 || int64_t{parents[i]} >= int64_t{i}) return FOVEA_ERR_MASK;
  }
  return FOVEA_OK;
}

}  // namespace fovea

extern "C" fovea_status fovea_block_map_make(const fovea_block_map_args* args, fovea_block_map* map) {
  if (!args || !map) return FOVEA_ERR_NULL;
  fovea::BlockMapCall call;
  const fovea_status status = fovea::resolve_block_map(*args, true, &call);
  return status == FOVEA_OK ? fovea::make_block_map(call, map) : status;
}

extern "C" fovea_status fovea_block_map_count(const fovea_block_map_args* args, uint32_t* count) {
  if (!args || !count) return FOVEA_ERR_NULL;
  fovea::BlockMapCall call;
  uint64_t blocks;
  FOVEA_RETURN_IF_ERROR(fovea::resolve_block_map(*args, false, &call));
  FOVEA_RETURN_IF_ERROR(fovea::count_blocks(call, &blocks));
  if (blocks > UINT32_MAX) return FOVEA_ERR_SIZE;
  *count = uint32_t(blocks);
  return FOVEA_OK;
}

extern "C" fovea_status fovea_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride) {
  const fovea_status status = fovea::check_tree(parents, tokens, mask, row_stride);
  if (status == FOVEA_OK) fovea::make_tree_mask(parents, tokens, mask, row_stride);
  return status;
}
