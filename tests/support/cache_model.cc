// SPDX-License-Identifier: Apache-2.0
#include "support/cache_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/array.h"
#include "support/formats.h"
#include "support/problem.h"
#include "support/reference.h"
#include "support/rotated.h"

namespace fovea_test {
namespace {

// `got` is a decoded row, or the beginning of one; `dim` is the length of the row.
bool near(const float* want, size_t dim, const std::vector<float>& got, fovea_dtype type) {
  const size_t group = is_grouped(type) ? 32 : dim;
  float largest = 0;  // largest of the elements that share a scale
  for (size_t d = 0; d < got.size(); ++d) {
    if (d % group == 0) {
      largest = 0;
      for (size_t i = d; i < std::min(dim, d + group); ++i) largest = std::max(largest, std::fabs(want[i]));
    }
    const float allowed = type == FOVEA_F32    ? 0
                          : type == FOVEA_F16  ? std::fabs(want[d]) / 2048 + 1e-7f
                          : type == FOVEA_BF16 ? std::fabs(want[d]) / 256 + 1e-30f
                          : type == FOVEA_I8   ? largest / 253
                          : type == FOVEA_Q8_0 ? largest / 252 + 4e-6f
                                               : largest / 6;
    if (std::fabs(got[d] - want[d]) > allowed) return false;
  }
  return true;
}

// New rows [blocks][kv_heads][tokens][dim] of a type, with two elements after each; and the floats that they stand for.
struct NewRows {
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  fovea_in in{};

  NewRows(fovea_dtype type, size_t blocks, size_t heads, size_t tokens, size_t dim, float factor, uint64_t seed)
      : floats(blocks * heads * tokens * (dim + 2)) {
    const auto stride = [](size_t x) { return ptrdiff_t(x); };
    for (size_t i = 0; i < floats.size(); ++i) floats[i] = factor * random_normal(seed, i);
    in = {floats.data(), stride(heads * tokens * (dim + 2)), stride(tokens * (dim + 2)), stride(dim + 2)};
    if (type == FOVEA_F32) return;
    for (float& x : floats) {
      halves.push_back(uint16_t(nearest_of(half_of(type), x)));
      x = float(value_of(half_of(type), halves.back()));
    }
    in.data = halves.data();
  }
  const float* row(size_t block, size_t head, size_t token) const {
    fovea_in all = in;
    all.data = floats.data();
    return fovea_test::row(all, block, head, token);
  }
};

}  // namespace

CacheModel::CacheModel(const fovea_kv_cache_desc& empty, uint64_t seed) : cache(empty), entries_(cache.batch), seed_(seed) {
  for (uint32_t page = 0; page < cache.pages; ++page) free_pages_.push_back(cache.pages - 1 - page);
  for (size_t i = 0; i < free_pages_.size(); ++i) {
    std::swap(free_pages_[i], free_pages_[random_bits(seed, i) % (i + 1)]);
  }
}

fovea_status CacheModel::append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts,
                                fovea_dtype dtype, bool packed) {
  const auto batch = uint32_t(counts.size());
  std::vector<uint32_t> offsets = {uint32_t(next_ % 3)};
  for (const uint32_t count : counts) offsets.push_back(offsets.back() + count);
  const uint32_t tokens = packed ? offsets.back() : *std::max_element(counts.begin(), counts.end());
  const uint32_t blocks = packed ? 1 : batch, heads = cache.kv_heads;
  const NewRows keys(dtype, blocks, heads, tokens, cache.head_dim, 1, seed_ + next_++);
  const NewRows values(dtype, blocks, heads, tokens, cache.value_dim, 3, seed_ + next_++);
  auto a = sized<fovea_kv_append_args>();
  a.target = target, a.entry = entry, a.batch = batch, a.tokens = tokens;
  a.counts = packed ? nullptr : counts.data();
  a.offsets = packed ? offsets.data() : nullptr;
  a.dtype = dtype, a.keys = keys.in;
  if (cache.values_in_keys == 0) a.values = values.in;
  const size_t token_bytes = size_t{4} * heads * std::max(cache.head_dim, cache.value_dim);
  const Guarded workspace(token_bytes * (1 + next_ % 4), sizeof(float), Placement::kEnd);
  if (dtype != FOVEA_F32 || cache.key_center != nullptr || cache.hadamard != FOVEA_HADAMARD_NONE) {
    a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
  }
  const fovea_status status = fovea_kv_append(cache, &a);
  for (uint32_t b = 0; b < batch && status == FOVEA_OK; ++b) {
    Entry& e = entries_[entry + b];
    for (uint32_t t = 0; t < counts[b]; ++t) {
      std::vector<float> token;
      for (uint32_t h = 0; h < heads; ++h) {
        const float* const key = packed ? keys.row(0, h, offsets[b] + t) : keys.row(b, h, t);
        const float* const value = packed ? values.row(0, h, offsets[b] + t) : values.row(b, h, t);
        token.insert(token.end(), key, key + cache.head_dim);
        float* const own_key = token.data() + token.size() - cache.head_dim;
        if (rotates_keys(cache.hadamard)) rotate_rows(own_key, 1, cache.head_dim, cache.hadamard_seed);
        for (uint32_t d = 0; cache.key_center != nullptr && d < cache.head_dim; ++d) {
          token[token.size() - cache.head_dim + d] -= cache.key_center[size_t{h} * cache.head_dim + d];
        }
        token.insert(token.end(), value, value + cache.value_dim);
        float* const own_value = token.data() + token.size() - cache.value_dim;
        if (rotates_values(cache.hadamard)) rotate_rows(own_value, 1, cache.value_dim, cache.hadamard_seed);
      }
      e.tokens.push_back(token);
      e.most = std::max<size_t>(e.most, e.tokens.size());
    }
  }
  return status;
}

bool CacheModel::has_room(uint32_t entry, size_t tokens) const {
  if (cache.kind == FOVEA_KV_RING) return true;
  if (tokens > cache.max_tokens) return false;
  for (size_t column = 0; cache.kind == FOVEA_KV_PAGED && column * cache.page_tokens < tokens; ++column) {
    const ptrdiff_t at = entry * cache.source.page_table_stride + ptrdiff_t(column);
    if (cache.page_table[at] == FOVEA_NO_PAGE) return false;
  }
  return true;
}

void CacheModel::give_pages(uint32_t entry, uint32_t more) {
  if (cache.kind != FOVEA_KV_PAGED) return;
  const size_t tokens = entries_[entry].tokens.size() + more;
  for (size_t column = 0; column * cache.page_tokens < tokens && column * cache.page_tokens < cache.max_tokens;
       ++column) {
    uint32_t& page = cache.page_table[entry * cache.source.page_table_stride + ptrdiff_t(column)];
    if (page != FOVEA_NO_PAGE || free_pages_.empty()) continue;
    page = free_pages_.back();
    free_pages_.pop_back();
  }
}

fovea_status CacheModel::reset(uint32_t entry) {
  const fovea_status status = fovea_kv_reset(cache, entry);
  for (uint32_t b = 0; b < cache.batch && status == FOVEA_OK; ++b) {
    if (entry == b || entry == FOVEA_ALL_ENTRIES) entries_[b] = {};
  }
  return status;
}

bool CacheModel::loses(uint32_t entry, uint32_t to) const {
  return cache.kind == FOVEA_KV_RING && to > cache.pinned_tokens && to < oldest(entry);
}

fovea_status CacheModel::truncate(uint32_t entry, uint32_t length) {
  const fovea_status status = fovea_kv_truncate(cache, entry, length);
  if (status != FOVEA_OK) return status;
  Entry& e = entries_[entry];
  e.tokens.resize(length);
  if (length <= cache.pinned_tokens) e.most = length;
  if (cache.kind != FOVEA_KV_PAGED) return status;
  for (ptrdiff_t column = (length + cache.page_tokens - 1) / cache.page_tokens; column < cache.source.page_table_stride;
       ++column) {
    uint32_t& page = cache.page_table[entry * cache.source.page_table_stride + column];
    if (page != FOVEA_NO_PAGE) free_pages_.push_back(page);
    page = FOVEA_NO_PAGE;
  }
  return status;
}

fovea_status CacheModel::may_copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens) const {
  const Cache& other = from.cache;
  const bool same_ring =
      cache.kind == other.kind && cache.max_tokens == other.max_tokens && cache.pinned_tokens == other.pinned_tokens;
  if ((cache.kind == FOVEA_KV_RING || other.kind == FOVEA_KV_RING) && !same_ring) return FOVEA_ERR_SIZE;
  if (tokens > from.length(from_entry) || from.loses(from_entry, tokens)) return FOVEA_ERR_LENGTH;
  return has_room(entry, tokens) ? FOVEA_OK : FOVEA_ERR_FULL;
}

fovea_status CacheModel::copy(uint32_t entry, const CacheModel& from, uint32_t from_entry, uint32_t tokens) {
  const fovea_status status = fovea_kv_copy(cache, entry, from.cache, from_entry, tokens);
  if (status != FOVEA_OK) return status;
  Entry copied = from.entries_[from_entry];
  copied.tokens.resize(tokens);
  if (tokens <= cache.pinned_tokens) copied.most = tokens;
  entries_[entry] = copied;
  return status;
}

std::vector<uint8_t> CacheModel::image(const fovea_kv_image_args& args) const {
  const Guarded bytes(bytes_of(fovea_kv_image_bytes, cache, args.tokens), 1, Placement::kEnd);
  const fovea_status status = fovea_kv_export(cache, &args, bytes.as<void>(), bytes.bytes());
  if (!bytes.margin_intact() || (status != FOVEA_OK && !bytes.untouched())) std::abort();
  if (status != FOVEA_OK) return {};
  return {bytes.as<uint8_t>(), bytes.as<uint8_t>() + bytes.bytes()};
}

bool CacheModel::may_export(const fovea_kv_image_args& args) const {
  const uint32_t first = std::max(args.first, cache.pinned_tokens), end = args.first + args.tokens;
  return end <= length(args.entry) && (cache.kind != FOVEA_KV_RING || first >= end || first >= oldest(args.entry));
}

fovea_status CacheModel::take_in(const fovea_kv_image_args& args, const std::vector<uint8_t>& image,
                                 const CacheModel& from, const fovea_kv_image_args& held) {
  const Guarded bytes(image.size(), 1, Placement::kEnd);
  std::memcpy(bytes.as<void>(), image.data(), image.size());
  const fovea_status status = fovea_kv_import(cache, &args, bytes.as<void>(), bytes.bytes());
  if (status != FOVEA_OK) return status;
  Entry& e = entries_[args.entry];
  const std::vector<std::vector<float>> tokens = from.entries_[held.entry].tokens;
  const auto first = tokens.begin() + ptrdiff_t(held.first);
  e.tokens.insert(e.tokens.end(), first, first + ptrdiff_t(args.tokens));
  e.most = std::max<size_t>(e.most, e.tokens.size());
  return status;
}

fovea_status CacheModel::compact(uint32_t entry, const std::vector<uint32_t>& kept) {
  std::vector<uint32_t> more = kept;  // one more token, which is not kept
  more.push_back(kept.empty() ? 0 : kept.back() + 1);
  const fovea_status status = fovea_kv_compact(cache, entry, more.data(), uint32_t(kept.size()));
  if (status != FOVEA_OK) return status;
  Entry left;
  for (const uint32_t token : kept) left.tokens.push_back(entries_[entry].tokens[token]);
  left.most = kept.size();
  entries_[entry] = left;
  return status;
}

fovea_status CacheModel::restore() {
  OwnedCache other(static_cast<const fovea_kv_cache_desc&>(cache));
  std::memcpy(other.rows.as<void>(), cache.rows.as<void>(), cache.rows.bytes());
  std::memset(other.lengths, 0xa5, cache.batch * sizeof(uint32_t));
  for (uint32_t b = 0; b < cache.batch; ++b) {
    const uint32_t first = cache.kind == FOVEA_KV_RING ? cache.first_tokens[b] : 0;
    const fovea_status status = fovea_kv_set_length(other, b, cache.lengths[b], first);
    if (status != FOVEA_OK) return status;
  }
  cache = std::move(other);
  return FOVEA_OK;
}

fovea_status CacheModel::take_back_and_restore(uint32_t entry, uint32_t length) {
  const uint32_t before = cache.lengths[entry], first = cache.first_tokens != nullptr ? cache.first_tokens[entry] : 0;
  const fovea_status status = fovea_kv_truncate(cache, entry, length);
  return status == FOVEA_OK ? fovea_kv_set_length(cache, entry, before, first) : status;
}

uint32_t CacheModel::oldest(uint32_t entry) const {
  const auto most = uint32_t(entries_[entry].most);
  if (cache.kind != FOVEA_KV_RING || most <= cache.max_tokens) return cache.pinned_tokens;
  return most - (cache.max_tokens - cache.pinned_tokens);
}

std::string CacheModel::check(fovea_target target) {
  if (!cache.rows.margin_intact()) return "written outside the memory";
  for (uint32_t b = 0; b < cache.batch; ++b) {
    if (cache.lengths[b] != length(b)) return "length of entry " + std::to_string(b);
    if (cache.kind == FOVEA_KV_RING && cache.first_tokens[b] != oldest(b)) {
      return "first token of entry " + std::to_string(b);
    }
    for (uint32_t t = 0; t < length(b); ++t) {
      if (t >= cache.pinned_tokens && t < oldest(b)) continue;
      for (uint32_t h = 0; h < cache.kv_heads; ++h) {
        const float* const key = entries_[b].tokens[t].data() + h * (cache.head_dim + cache.value_dim);
        const bool in_keys = cache.values_in_keys != 0;
        if (!near(key, cache.head_dim, row(true, b, h, t), cache.key_dtype) ||
            !near(in_keys ? key : key + cache.head_dim, in_keys ? cache.head_dim : cache.value_dim, row(false, b, h, t),
                  cache.value_dtype)) {
          return "token " + std::to_string(t) + " of entry " + std::to_string(b);
        }
      }
    }
  }
  return attend(target);
}

std::vector<float> CacheModel::row(bool keys, uint32_t b, uint32_t h, uint32_t t) const {
  size_t block = b, at = t;
  if (cache.kind == FOVEA_KV_RING) at = ring_slot(t, cache.max_tokens, cache.pinned_tokens);
  if (cache.kind == FOVEA_KV_PAGED) {
    block = cache.page_table[b * cache.source.page_table_stride + t / cache.page_tokens];
    at = t % cache.page_tokens;
  }
  const fovea_in& data = keys ? cache.source.keys : cache.source.values;
  const fovea_in& scales = keys ? cache.source.key_scales : cache.source.value_scales;
  const fovea_dtype type = keys ? cache.key_dtype : cache.value_dtype;
  const uint8_t* const units = row_bytes(data, unit_size(type), block, h, at);
  const uint8_t* const scale = scale_size(type) != 0 ? row_bytes(scales, scale_size(type), block, h, at) : nullptr;
  std::vector<float> x(keys ? cache.head_dim : cache.value_dim);
  for (size_t d = 0; d < x.size(); ++d) x[d] = element_of(type, units, scale, d);
  return x;
}

std::string CacheModel::attend(fovea_target target) {
  auto d = sized<fovea_attention_desc>();
  if (fovea_kv_describe(cache, &d) != FOVEA_OK) return "describe";
  const uint32_t heads = 2 * cache.kv_heads;
  d.q_heads = heads, d.max_q_tokens = 2, d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, d.target = target;
  const uint32_t slots = cache.max_tokens - cache.pinned_tokens;
  if (cache.kind == FOVEA_KV_RING && slots > 1 && seed_ % 2 == 0) {
    d.window_left = slots - 1;  // the largest for two queries
  } else {
    d.allow_evicted = 1;
  }
  fovea_attention_plan plan{};
  if (fovea_attention_plan_init(&plan, &d) != FOVEA_OK) return "plan";
  auto a = sized<fovea_attention_args>();
  if (fovea_kv_attach(cache, &a) != FOVEA_OK) return "attach";
  a.q_tokens = 2;
  std::vector<float> q(size_t{cache.batch} * heads * 2 * cache.head_dim),
      out(size_t{cache.batch} * heads * 2 * cache.value_dim);
  for (size_t i = 0; i < q.size(); ++i) q[i] = random_normal(seed_ + 1, i);
  const auto dims = [](uint32_t array_heads, uint32_t tokens, uint32_t dim, auto* array) {
    array->token_stride = dim, array->head_stride = ptrdiff_t(tokens) * dim;
    array->batch_stride = ptrdiff_t(array_heads) * tokens * dim;
  };
  a.q.data = q.data(), a.out.data = out.data();
  dims(heads, 2, cache.head_dim, &a.q), dims(heads, 2, cache.value_dim, &a.out);
  const Guarded workspace(made(plan).workspace_bytes, 64, Placement::kEnd);
  const fovea_status status = fovea_attention(&plan, &a, workspace.as<void>(), workspace.bytes());
  if (d.allow_evicted == 0 && sees_gone_token(d, a)) return status == FOVEA_ERR_RING ? "" : "a token is gone";
  if (status != FOVEA_OK) return fovea_status_string(status);

  // The same keys as f32 arrays. The ring's replaced tokens are not read.
  fovea_attention_args truth = a;
  std::vector<float> keys(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.head_dim, NAN);
  std::vector<float> values(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.value_dim, NAN);
  truth.kv.keys.data = keys.data(), truth.kv.values.data = values.data();
  dims(cache.kv_heads, a.kv_tokens, cache.head_dim, &truth.kv.keys);
  dims(cache.kv_heads, a.kv_tokens, cache.value_dim, &truth.kv.values);
  for (const auto& [b, h] : indices(cache.batch, cache.kv_heads)) {
    for (uint32_t t = 0; t < length(b); ++t) {
      const std::vector<float> key = row(true, b, h, t), value = row(false, b, h, t);
      const size_t at = (size_t{b} * cache.kv_heads + h) * a.kv_tokens + t;
      std::copy(key.begin(), key.end(), keys.begin() + ptrdiff_t(at * cache.head_dim));
      std::copy(value.begin(), value.end(), values.begin() + ptrdiff_t(at * cache.value_dim));
    }
  }
  // The reference looks at rotated queries, and its outputs are rotated as ours are when they are rotated again.
  if (rotates_keys(d.hadamard)) rotate_rows(q.data(), q.size() / cache.head_dim, cache.head_dim, d.hadamard_seed);
  if (rotates_values(d.hadamard)) {
    rotate_rows(out.data(), out.size() / cache.value_dim, cache.value_dim, d.hadamard_seed);
  }
  const Attention want = attention(d, truth);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!close(out[i], want.out[i], want.out_tolerance[i / cache.value_dim])) {
      return "attention, at " + std::to_string(i);
    }
  }
  return "";
}

}  // namespace fovea_test
