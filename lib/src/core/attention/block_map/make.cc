// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/block_map/make.h"

#include "core/attention/block_map/listed_tiles.h"
#include "ground/base/carver.h"
#include "ground/base/status.h"

namespace fovea {
namespace {

// What the query heads of the block's head group see of it.
fovea_block_kind kind_by_mask(const BlockMapCall& c, const fovea_block& block) {
  bool some = false, all = true;
  for (uint32_t h = 0; h < c.group; ++h) {
    for (uint32_t i = 0; i < block.queries; ++i) {
      const uint8_t* const row = static_cast<const uint8_t*>(c.mask->data) +
                                 ptrdiff_t(block.batch) * c.mask->batch_stride +
                                 ptrdiff_t(block.kv_head * c.group + h) * c.mask->head_stride +
                                 ptrdiff_t(block.first_query + i) * c.mask->token_stride + block.first_key;
      for (uint32_t j = 0; j < block.keys; ++j) {
        some |= row[j] != 0;
        all &= row[j] != 0;
      }
      if (some && !all) return FOVEA_BLOCK_PARTIAL;
    }
  }
  return some ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_HIDDEN;
}

// For each map block of queries, calls begin_list(), and then take(number, kind) for each map block of keys that is not
// hidden, in the order of the lists; calls begin_list() once more after the last one of a key head. Stops if take() returns
// false.
template <class BeginList, class Take>
fovea_status for_each_block(const BlockMapCall& call, const BeginList& begin_list, const Take& take) {
  const uint32_t q_blocks = divide_up(call.q_tokens, call.q_block);
  const uint32_t kv_blocks = divide_up(call.kv_tokens, call.kv_block);
  for (uint32_t batch = 0; batch < call.batch; ++batch) {
    for (uint32_t head = 0; head < call.kv_heads; ++head) {
      for (uint32_t r = 0; r < q_blocks; ++r) {
        begin_list();
        for (uint32_t c = 0; c < kv_blocks; ++c) {
          fovea_block block = {batch, head, r * call.q_block, call.q_block, c * call.kv_block, call.kv_block};
          if (call.q_tokens - block.first_query < block.queries) block.queries = call.q_tokens - block.first_query;
          if (call.kv_tokens - block.first_key < block.keys) block.keys = call.kv_tokens - block.first_key;
          const fovea_block_kind kind = call.classify ? call.classify(call.self, &block) : kind_by_mask(call, block);
          if (kind != FOVEA_BLOCK_HIDDEN && !take(c, kind)) return FOVEA_ERR_ENUM;
        }
      }
      begin_list();
    }
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status count_blocks(const BlockMapCall& call, uint64_t* count) {
  *count = 0;
  return for_each_block(
      call, [] {},
      [&](uint32_t, fovea_block_kind kind) {
        ++*count;
        return uint32_t(kind) <= FOVEA_BLOCK_FULL;
      });
}

fovea_status make_block_map(const BlockMapCall& call, fovea_block_map* map) {
  uint64_t count;
  FOVEA_RETURN_IF_ERROR(count_blocks(call, &count));
  if (count > call.most_blocks) return FOVEA_ERR_CAPACITY;
  const size_t lists = size_t{divide_up(call.q_tokens, call.q_block)} + 1;
  uint32_t done = 0;
  uint32_t* offset = call.offsets;
  const auto begin_list = [&] { *offset++ = done; };
  // If classify() returns more blocks on this second pass, they are dropped. No kind is refused.
  const auto take = [&](uint32_t number, fovea_block_kind kind) {
    if (done < count) call.blocks[done++] = number | (kind == FOVEA_BLOCK_FULL ? FOVEA_BLOCK_ALL : 0);
    return true;
  };
  (void)for_each_block(call, begin_list, take);
  *map = {call.q_block,
          call.kv_block,
          call.offsets,
          call.batch == 1 ? 0 : ptrdiff_t(lists * call.kv_heads),
          call.kv_heads == 1 ? 0 : ptrdiff_t(lists),
          call.blocks,
          done};
  return FOVEA_OK;
}

void make_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride) {
  for (uint32_t i = 0; i < tokens; ++i) {
    uint8_t* const row = mask + i * row_stride;
    if (parents[i] < 0) {
      __builtin_memset(row, 0, tokens);
    } else {
      __builtin_memcpy(row, mask + size_t(parents[i]) * row_stride, tokens);
    }
    row[i] = 1;
  }
}

}  // namespace fovea
