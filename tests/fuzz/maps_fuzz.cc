// SPDX-License-Identifier: Apache-2.0
//
// What makes block maps and masks of trees, with any numbers in any field, in memory of exactly the bytes that they
// reach. What is refused must have changed nothing; a map lists what the mask or the function says, and nothing else.
#include <algorithm>
#include <cstring>

#include "fuzz/draw.h"

namespace fovea_test {
namespace {

constexpr double kMostWork = 1e6;  // elements of the masks, or blocks, that are looked at

fovea_block_kind by_hash(void* self, const fovea_block* block) {
  const uint64_t bits = random_bits(*static_cast<const uint64_t*>(self),
                                    (uint64_t{block->first_query} << 32 | block->first_key) +
                                        (uint64_t{block->batch} << 20) + (uint64_t{block->kv_head} << 50));
  return enum_of<fovea_block_kind>(uint32_t(bits % 3));
}

fovea_block_kind kind_of(const fovea_block_map_args& a, const fovea_block& block) {
  if (a.classify != nullptr) return a.classify(a.self, &block);
  const uint32_t group = a.q_heads / a.kv_heads;
  bool none = true, all = true;
  for (const auto& [h, i, j] : indices(group, block.queries, block.keys)) {
    const ptrdiff_t at = ptrdiff_t(block.batch) * a.mask.batch_stride +
                         ptrdiff_t(block.kv_head * group + h) * a.mask.head_stride +
                         ptrdiff_t(block.first_query + i) * a.mask.token_stride + ptrdiff_t(block.first_key + j);
    (static_cast<const uint8_t*>(a.mask.data)[at] != 0 ? none : all) = false;
  }
  return none ? FOVEA_BLOCK_HIDDEN : all ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_PARTIAL;
}

uint32_t blocks_of(uint32_t tokens, uint32_t size) { return uint32_t((uint64_t{tokens} + size - 1) / size); }

void check_map(const fovea_block_map_args& a, const fovea_block_map& map) {
  const uint32_t lists = blocks_of(a.q_tokens, a.q_block), blocks = blocks_of(a.kv_tokens, a.kv_block);
  uint32_t listed = 0;
  for (const auto& [b, h] : indices(a.batch, a.kv_heads)) {
    const uint32_t* const offsets = map.offsets + ptrdiff_t(b) * map.batch_stride + ptrdiff_t(h) * map.head_stride;
    for (uint32_t r = 0; r < lists; ++r) {
      expect(offsets[r] == listed, "a list begins elsewhere");
      for (uint32_t c = 0; c < blocks; ++c) {
        fovea_block block = {b, h, r * a.q_block, a.q_block, c * a.kv_block, a.kv_block};
        block.queries = std::min(block.queries, a.q_tokens - block.first_query);
        block.keys = std::min(block.keys, a.kv_tokens - block.first_key);
        const fovea_block_kind kind = kind_of(a, block);
        if (kind == FOVEA_BLOCK_HIDDEN) continue;
        expect(listed < map.block_count, "too few blocks are listed");
        const uint32_t all = kind == FOVEA_BLOCK_FULL ? FOVEA_BLOCK_ALL : 0;
        expect(map.blocks[listed++] == (c | all), "another block is listed");
      }
      expect(offsets[r + 1] == listed, "a list ends elsewhere");
    }
  }
  expect(listed == map.block_count, "too many blocks are listed");
}

void run_map(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_block_map_args a{};
  a.struct_bytes = struct_bytes(bytes, sizeof a);
  a.batch = count(bytes, 3), a.kv_heads = count(bytes, 3);
  a.q_heads = bytes.below(24) == 1 ? word(bytes) : a.kv_heads * (1 + bytes.below(3));
  a.q_tokens = count(bytes, 40), a.kv_tokens = bytes.below(24) == 1 ? word(bytes) : bytes.count_below(300);
  a.q_block = bytes.below(24) == 1 ? word(bytes) : 1 + bytes.below(20);
  a.kv_block = bytes.below(24) == 1 ? word(bytes) : 64 * (1 + bytes.below(3));
  uint64_t seed = bytes.take<uint8_t>();
  const bool by_mask = bytes.flag();
  if (by_mask != (bytes.below(24) == 1)) {
    draw(bytes, memory, &a.mask, {a.batch, a.q_heads, a.q_tokens, a.kv_tokens}, 1);
  }
  if (by_mask == (bytes.below(24) == 1)) a.classify = by_hash, a.self = &seed;
  const uint64_t lists = a.q_block == 0 ? 0 : (uint64_t{a.q_tokens} + a.q_block - 1) / a.q_block;
  const uint64_t blocks = a.kv_block == 0 ? 0 : (uint64_t{a.kv_tokens} + a.kv_block - 1) / a.kv_block;
  const double heads = (1.0 + a.batch) * (1.0 + a.q_heads);
  const double work = heads * (1.0 + (by_mask ? double{1} * a.q_tokens * a.kv_tokens : double{1} * lists * blocks));
  if (work > kMostWork || (1.0 + double(lists)) * (1.0 + a.kv_heads) * (1.0 + a.batch) > kMostWork) return;
  const auto offsets = ptrdiff_t(lists + 1);
  a.offsets = static_cast<uint32_t*>(
      memory.array(4, size_t(offsets), {a.batch, a.kv_heads}, {offsets * ptrdiff_t(a.kv_heads), offsets}, true));
  if (!memory.complete) return;
  uint32_t needed = 0;
  fovea_block_map_count(&a, &needed);
  a.most_blocks = bytes.below(16) == 1 ? bytes.below(needed + 1) : needed;
  a.blocks = memory.out<uint32_t>(a.most_blocks);
  if (!memory.complete) return;
  spoil(bytes, {&a.offsets, &a.blocks});
  spoil(bytes, {&a.mask.data}, false);
  fovea_block_map map{};
  const fovea_status status = unchanged_if_refused(memory, [&] { return fovea_block_map_make(&a, &map); });
  if (status == FOVEA_OK) check_map(a, map);
  if (status != FOVEA_OK) expect(map.q_block == 0, "a refused map was written");
}

void run_tree(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  const uint32_t tokens = bytes.below(40);
  const ptrdiff_t row_stride = bytes.below(8) == 1 ? stride(bytes) : ptrdiff_t(tokens + bytes.below(3));
  uint32_t next = 0;
  const int32_t* parents = list<int32_t>(memory, tokens, [&] {
    const uint32_t i = next++;
    return bytes.below(64) == 1 ? int32_t(word(bytes)) : int32_t(bytes.below(i + 1)) - 1;
  });
  auto* const mask = memory.out<uint8_t>(tokens, {tokens}, {row_stride});
  if (!memory.complete) return;
  const fovea_status status =
      unchanged_if_refused(memory, [&] { return fovea_tree_mask(parents, tokens, mask, size_t(row_stride)); });
  for (const auto& [i, j] : indices(status == FOVEA_OK ? tokens : 0, tokens)) {
    bool ancestor = false;
    for (auto at = int32_t(i); at >= 0; at = parents[at]) ancestor |= at == int32_t(j);
    expect(mask[ptrdiff_t(i) * row_stride + ptrdiff_t(j)] == (ancestor ? 1 : 0), "a tree's mask is wrong");
  }
}

}  // namespace

void run(Bytes bytes) {
  if (bytes.below(4) == 0) return run_tree(bytes);
  run_map(bytes);
}

}  // namespace fovea_test
