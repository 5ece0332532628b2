// SPDX-License-Identifier: Apache-2.0
#include "support/stored.h"

#include <algorithm>
#include <cstring>

#include "support/array.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/reference.h"

namespace fovea_test {
namespace {

bool aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

}  // namespace

TestLoader::TestLoader() { loader_.start = start, loader_.finish = finish; }

void TestLoader::serve(const fovea_attention_desc& desc, const fovea_kv_source& dense) {
  loader_.self = this;
  desc_ = desc;
  dense_ = dense;
}

int TestLoader::start(void* self, const fovea_kv_tile* tile) { return static_cast<TestLoader*>(self)->start(*tile); }
int TestLoader::finish(void* self, const fovea_kv_tile* tile) { return static_cast<TestLoader*>(self)->finish(*tile); }

int TestLoader::start(const fovea_kv_tile& tile) {
  if (tile.count == 0 || tile.count > FOVEA_KEY_TILE) wrong = "a tile of no keys, or of more than 64";
  if (pending_.size() >= 2) wrong = "more than two tiles at once";
  if (!aligned(tile.keys) || !aligned(tile.values) || !aligned(tile.key_scales) || !aligned(tile.value_scales)) {
    wrong = "a buffer is not aligned";
  }
  if ((tile.key_scales != nullptr) != (scale_size(desc_.key_dtype) != 0)) wrong = "scales of keys";
  if ((tile.value_scales != nullptr) != (scale_size(desc_.value_dtype) != 0)) wrong = "scales of values";
  if (started++ == fail_start_at) return 1;
  // The buffer's content may not be used until the tile is finished.
  std::memset(tile.keys, 0xff, tile.count * row_units(desc_.key_dtype, desc_.head_dim) * unit_size(desc_.key_dtype));
  std::memset(tile.values, 0xff,
              tile.count * row_units(desc_.value_dtype, desc_.value_dim) * unit_size(desc_.value_dtype));
  pending_.push_back(tile);
  return 0;
}

int TestLoader::finish(const fovea_kv_tile& tile) {
  if (pending_.empty() || std::memcmp(&pending_.front(), &tile, sizeof tile) != 0) {
    wrong = "a tile is finished that was not the first to be started";
    return 1;
  }
  pending_.erase(pending_.begin());
  if (finished++ == fail_finish_at) return 1;
  copy(tile, dense_.keys, desc_.key_dtype, false, desc_.head_dim, tile.keys);
  copy(tile, dense_.values, desc_.value_dtype, false, desc_.value_dim, tile.values);
  copy(tile, dense_.key_scales, desc_.key_dtype, true, desc_.head_dim, tile.key_scales);
  copy(tile, dense_.value_scales, desc_.value_dtype, true, desc_.value_dim, tile.value_scales);
  return 0;
}

void TestLoader::copy(const fovea_kv_tile& tile, const fovea_in& from, fovea_dtype type, bool scales, size_t dim,
                      void* to) const {
  const size_t unit = scales ? scale_size(type) : unit_size(type);
  const size_t bytes = unit * (scales ? row_scales(type, dim) : row_units(type, dim));
  for (uint32_t t = 0; t < tile.count && bytes != 0; ++t) {
    std::memcpy(static_cast<uint8_t*>(to) + t * bytes,
                row_bytes(from, unit, tile.batch, tile.kv_head, first + tile.first + t), bytes);
  }
}

void StoredKeys::make(Array* array, fovea_dtype type, size_t dim, size_t blocks, size_t heads, size_t tokens,
                      Placement placement, size_t padding) {
  const auto one = [&](Guarded* buffer, fovea_in* in, size_t units, size_t size) {
    const size_t token = units + padding, head = tokens * token + padding, block = heads * head + padding;
    const bool some = blocks * heads * tokens * units != 0;
    const size_t count = some ? (blocks - 1) * block + (heads - 1) * head + (tokens - 1) * token + units : 0;
    *buffer = Guarded(count * size, size, placement);
    *in = {buffer->as<void>(), ptrdiff_t(block), ptrdiff_t(head), ptrdiff_t(token)};
  };
  one(&array->data, &array->rows, row_units(type, dim), unit_size(type));
  if (scale_size(type) != 0) one(&array->scales, &array->row_scales, row_scales(type, dim), scale_size(type));
}

void StoredKeys::store(const fovea_attention_desc& d, fovea_attention_args* args, Placement placement, uint64_t seed,
                       bool padded) {
  const bool ring = d.kv_kind == FOVEA_KV_RING, paged = d.kv_kind == FOVEA_KV_PAGED, load = d.kv_kind == FOVEA_KV_LOAD;
  const uint32_t batch = args->batch, all_tokens = args->kv_tokens;
  const fovea_attention_args all = *args;
  const auto before = [&](uint32_t b) { return prefix_of(d, all, b); };
  const auto length = [&](uint32_t b) {
    return (all.kv_lengths != nullptr ? all.kv_lengths[b] : all_tokens) - before(b);
  };
  const uint32_t kv_tokens = all_tokens - uint32_t(d.max_prefix_tokens);  // of the source itself
  const size_t padding = padded && !load ? 3 : 0;
  size_t blocks = batch, tokens = kv_tokens;
  if (ring) tokens = d.ring_tokens;
  uint32_t columns = 0;  // columns of the page table
  if (paged) {
    columns = kv_tokens / d.page_tokens + 1;
    blocks = size_t{batch} * columns + 3;  // some belong to no entry
    tokens = d.page_tokens;
  }
  make(&keys_, d.key_dtype, d.head_dim, blocks, d.kv_heads, tokens, placement, padding);
  make(&values_, d.value_dtype, d.value_dim, blocks, d.kv_heads, tokens, placement, padding);

  if (paged) {
    std::vector<uint32_t> pages(blocks);
    for (size_t i = 0; i < blocks; ++i) pages[i] = uint32_t(i);
    for (size_t i = blocks; i > 1; --i) std::swap(pages[i - 1], pages[random_bits(seed + 31, i) % i]);
    // After an entry's last page the table's content may not be read.
    page_table_ = Guarded(size_t{batch} * columns * sizeof(uint32_t), sizeof(uint32_t), placement);
    for (uint32_t b = 0; b < batch; ++b) {
      for (uint32_t c = 0; c * d.page_tokens < length(b); ++c) {
        page_table_.as<uint32_t>()[b * columns + c] = pages[size_t{b} * columns + c];
      }
    }
  }
  // Prefixes of the same length are shared, for most seeds: their rows then are those of the first that has them.
  std::vector<uint32_t> holders(batch);
  prefixes_ = std::vector<Prefix>(batch);
  for (uint32_t b = 0; b < batch; ++b) {
    const bool shares = b != 0 && seed % 4 != 0 && before(b) == before(b - 1);
    holders[b] = shares ? holders[b - 1] : b;
    if (!shares) {
      make(&prefixes_[b].keys, d.key_dtype, d.head_dim, 1, d.kv_heads, before(b), placement, padding);
      make(&prefixes_[b].values, d.value_dtype, d.value_dim, 1, d.kv_heads, before(b), placement, padding);
      continue;
    }
    for (const auto& [h, j] : indices(d.kv_heads, before(b))) {
      for (const auto& [array, dim] : {std::pair(&all.kv.keys, d.head_dim), std::pair(&all.kv.values, d.value_dim)}) {
        float *const own = row(*array, b, h, j), *const held = row(*array, holders[b], h, j);
        if (held[0] != held[0]) std::copy_n(own, dim, held);
        if (own[0] == own[0]) std::copy_n(held, dim, own);
      }
    }
  }
  const auto place = [&](uint32_t b, uint32_t j, size_t* block, size_t* token) {
    *block = b, *token = j;
    if (ring) *token = ring_slot(j, d.ring_tokens, d.pinned_tokens);
    if (paged) *block = page_table_.as<uint32_t>()[b * columns + j / d.page_tokens], *token = j % d.page_tokens;
  };

  for (const bool of_keys : {true, false}) {
    const fovea_in& f32 = of_keys ? args->kv.keys : args->kv.values;
    const fovea_dtype type = of_keys ? d.key_dtype : d.value_dtype;
    const uint32_t dim = of_keys ? d.head_dim : d.value_dim;
    for (const auto& [b, h] : indices(batch, d.kv_heads)) {
      const Prefix& prefix = prefixes_[holders[b]];
      for (uint32_t j = 0; j < before(b) + (d.kv_kind == FOVEA_KV_STRIDED ? kv_tokens : length(b)); ++j) {
        if (j == all_tokens) break;
        float* const x = row(f32, b, h, j);
        if (x[0] != x[0]) continue;
        size_t block = 0, token = j;
        const bool own = j >= before(b);
        if (own) place(b, j - before(b), &block, &token);
        const Array& array = own ? of_keys ? keys_ : values_ : of_keys ? prefix.keys : prefix.values;
        void* data = row_bytes(array.rows, unit_size(type), block, h, token);
        void* scales = row_bytes(array.row_scales, scale_size(type), block, h, token);
        encode_row(type, x, dim, data, scales);
        for (uint32_t e = 0; e < dim; ++e) x[e] = element_of(type, data, scales, e);
        if (d.compute == FOVEA_COMPUTE_I8 && type != FOVEA_I8) round_to_i8(x, dim, 1.0f);
      }
    }
  }

  fovea_kv_source& kv = args->kv;
  kv.keys = keys_.rows, kv.values = values_.rows;
  kv.key_scales = keys_.row_scales, kv.value_scales = values_.row_scales;
  if (paged) {
    kv.page_table = page_table_.as<uint32_t>();
    kv.page_table_stride = columns;
    kv.pages = uint32_t(blocks);
  }
  if (d.max_prefix_tokens != 0) {
    named_prefixes_ = Guarded(batch * sizeof(void*), sizeof(void*), placement);
    kv_lengths_ = Guarded(batch * sizeof(uint32_t), sizeof(uint32_t), placement);
    if (kv.first_tokens != nullptr) first_tokens_ = Guarded(batch * sizeof(uint32_t), sizeof(uint32_t), placement);
    for (uint32_t b = 0; b < batch; ++b) {
      Prefix& prefix = prefixes_[b];
      prefix.described = {sizeof prefix.described, before(b),
                          prefix.keys.rows,        prefix.values.rows,
                          prefix.keys.row_scales,  prefix.values.row_scales};
      prefix.described.keys.batch_stride = prefix.described.value_scales.batch_stride = PTRDIFF_MAX;
      named_prefixes_.as<const fovea_kv_prefix*>()[b] = before(b) != 0 ? &prefixes_[holders[b]].described : nullptr;
      kv_lengths_.as<uint32_t>()[b] = length(b);
      if (kv.first_tokens != nullptr) {
        first_tokens_.as<uint32_t>()[b] = kv.first_tokens[b] - std::min(kv.first_tokens[b], before(b));
      }
    }
    kv.prefixes = named_prefixes_.as<const fovea_kv_prefix*>();
    if (kv.first_tokens != nullptr) kv.first_tokens = first_tokens_.as<uint32_t>();
    args->kv_tokens = kv_tokens, args->kv_lengths = kv_lengths_.as<uint32_t>();
  }
  if (load) {
    loader.serve(d, kv);
    kv = {};
    kv.loader = loader.loader();
  }
}

void StoredKeys::read_only(bool on) const {
  for (const Guarded* buffer : {&keys_.data, &keys_.scales, &values_.data, &values_.scales, &page_table_}) {
    buffer->read_only(on);
  }
  for (const Prefix& prefix : prefixes_) {
    for (const Guarded* buffer : {&prefix.keys.data, &prefix.keys.scales, &prefix.values.data, &prefix.values.scales}) {
      buffer->read_only(on);
    }
  }
}

}  // namespace fovea_test
