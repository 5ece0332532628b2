// SPDX-License-Identifier: Apache-2.0
#include "support/cache_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "support/formats.h"
#include "support/problem.h"
#include "support/reference.h"

namespace fovea_test {
namespace {

bool near(const float* want, const std::vector<float>& got, fovea_dtype type) {
  float largest = 0;
  for (size_t d = 0; d < got.size(); ++d) largest = std::max(largest, std::fabs(want[d]));
  for (size_t d = 0; d < got.size(); ++d) {
    const float allowed = type == FOVEA_F32    ? 0
                          : type == FOVEA_F16  ? std::fabs(want[d]) / 2048 + 1e-7f
                          : type == FOVEA_BF16 ? std::fabs(want[d]) / 256 + 1e-30f
                          : type == FOVEA_I8   ? largest / 253
                                               : largest / 6;
    if (std::fabs(got[d] - want[d]) > allowed) return false;
  }
  return true;
}

}  // namespace

CacheModel::CacheModel(const fovea_kv_cache& empty, uint64_t seed) : cache(empty), entries_(cache.batch), seed_(seed) {
  const size_t bytes = fovea_kv_cache_bytes(&cache);
  memory = Guarded(bytes, 64, bytes % 64 == 0 ? Placement::kEnd : Placement::kStart);
  if (fovea_kv_cache_init(&cache, memory.as<void>(), bytes) != FOVEA_OK) std::abort();
  for (uint32_t page = 0; page < cache.pages; ++page) free_pages_.push_back(cache.pages - 1 - page);
  for (size_t i = 0; i < free_pages_.size(); ++i)
    std::swap(free_pages_[i], free_pages_[random_bits(seed, i) % (i + 1)]);
}

fovea_status CacheModel::append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts) {
  const auto batch = static_cast<uint32_t>(counts.size());
  const uint32_t tokens = *std::max_element(counts.begin(), counts.end());
  const size_t key_row = cache.head_dim + 1, value_row = cache.value_dim + 2;  // padded
  std::vector<float> keys(batch * cache.kv_heads * tokens * key_row),
      values(batch * cache.kv_heads * tokens * value_row);
  for (float& x : keys) x = random_normal(seed_, next_++);
  for (float& x : values) x = 3 * random_normal(seed_, next_++);
  fovea_kv_append_args a{};
  a.struct_bytes = sizeof a;
  a.target = target;
  a.entry = entry, a.batch = batch, a.tokens = tokens, a.counts = counts.data();
  const auto stride = [](size_t x) { return static_cast<ptrdiff_t>(x); };
  a.keys = {keys.data(), stride(cache.kv_heads * tokens * key_row), stride(tokens * key_row), stride(key_row)};
  a.values = {values.data(), stride(cache.kv_heads * tokens * value_row), stride(tokens * value_row),
              stride(value_row)};
  const fovea_status status = fovea_kv_append(&cache, &a);
  for (uint32_t b = 0; b < batch && status == FOVEA_OK; ++b) {
    Entry& e = entries_[entry + b];
    for (uint32_t t = 0; t < counts[b]; ++t) {
      std::vector<float> token;
      for (uint32_t h = 0; h < cache.kv_heads; ++h) {
        const float* key = keys.data() + ((b * cache.kv_heads + h) * tokens + t) * key_row;
        const float* value = values.data() + ((b * cache.kv_heads + h) * tokens + t) * value_row;
        token.insert(token.end(), key, key + cache.head_dim);
        token.insert(token.end(), value, value + cache.value_dim);
      }
      e.tokens.push_back(token);
      e.most = std::max<size_t>(e.most, e.tokens.size());
    }
  }
  return status;
}

bool CacheModel::fits(uint32_t entry, uint32_t more) const {
  const size_t tokens = size_t{length(entry)} + more;
  if (cache.kind == FOVEA_KV_RING) return true;
  if (tokens > cache.max_tokens) return false;
  for (size_t column = 0; cache.kind == FOVEA_KV_PAGED && column * cache.page_tokens < tokens; ++column) {
    const ptrdiff_t at = entry * cache.source.page_table_stride + static_cast<ptrdiff_t>(column);
    if (cache.page_table[at] == FOVEA_NO_PAGE) return false;
  }
  return true;
}

void CacheModel::give_pages(uint32_t entry, uint32_t more) {
  if (cache.kind != FOVEA_KV_PAGED) return;
  const size_t tokens = entries_[entry].tokens.size() + more;
  for (size_t column = 0; column * cache.page_tokens < tokens && column * cache.page_tokens < cache.max_tokens;
       ++column) {
    uint32_t& page = cache.page_table[entry * cache.source.page_table_stride + static_cast<ptrdiff_t>(column)];
    if (page != FOVEA_NO_PAGE || free_pages_.empty()) continue;
    page = free_pages_.back();
    free_pages_.pop_back();
  }
}

fovea_status CacheModel::reset(uint32_t entry) {
  const fovea_status status = fovea_kv_reset(&cache, entry);
  for (uint32_t b = 0; b < cache.batch && status == FOVEA_OK; ++b) {
    if (entry == b || entry == FOVEA_ALL_ENTRIES) entries_[b] = {};
  }
  return status;
}

bool CacheModel::loses(uint32_t entry, uint32_t to) const {
  return cache.kind == FOVEA_KV_RING && to > cache.pinned_tokens && to < oldest(entry);
}

fovea_status CacheModel::truncate(uint32_t entry, uint32_t length) {
  const fovea_status status = fovea_kv_truncate(&cache, entry, length);
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

uint32_t CacheModel::oldest(uint32_t entry) const {
  const auto most = static_cast<uint32_t>(entries_[entry].most);
  if (cache.kind != FOVEA_KV_RING || most <= cache.max_tokens) return cache.pinned_tokens;
  return most - (cache.max_tokens - cache.pinned_tokens);
}

std::string CacheModel::check(fovea_target target) {
  if (!memory.margin_intact()) return "written outside the memory";
  for (uint32_t b = 0; b < cache.batch; ++b) {
    if (cache.lengths[b] != length(b)) return "length of entry " + std::to_string(b);
    if (cache.kind == FOVEA_KV_RING && cache.first_tokens[b] != oldest(b))
      return "first token of entry " + std::to_string(b);
    for (uint32_t t = 0; t < length(b); ++t) {
      if (t >= cache.pinned_tokens && t < oldest(b)) continue;
      for (uint32_t h = 0; h < cache.kv_heads; ++h) {
        const float* want = entries_[b].tokens[t].data() + h * (cache.head_dim + cache.value_dim);
        if (!near(want, row(true, b, h, t), cache.key_dtype) ||
            !near(want + cache.head_dim, row(false, b, h, t), cache.value_dtype)) {
          return "token " + std::to_string(t) + " of entry " + std::to_string(b);
        }
      }
    }
  }
  return attend(target);
}

std::vector<float> CacheModel::row(bool keys, uint32_t b, uint32_t h, uint32_t t) const {
  size_t block = b, at = t;
  if (cache.kind == FOVEA_KV_RING && t >= cache.pinned_tokens) {
    at = cache.pinned_tokens + (t - cache.pinned_tokens) % (cache.max_tokens - cache.pinned_tokens);
  }
  if (cache.kind == FOVEA_KV_PAGED) {
    block = cache.page_table[b * cache.source.page_table_stride + t / cache.page_tokens];
    at = t % cache.page_tokens;
  }
  const fovea_in& data = keys ? cache.source.keys : cache.source.values;
  const fovea_in& scales = keys ? cache.source.key_scales : cache.source.value_scales;
  const fovea_dtype type = keys ? cache.key_dtype : cache.value_dtype;
  const auto place = [&](const fovea_in& in, size_t unit) {
    const ptrdiff_t elements = static_cast<ptrdiff_t>(block) * in.batch_stride +
                               static_cast<ptrdiff_t>(h) * in.head_stride +
                               static_cast<ptrdiff_t>(at) * in.token_stride;
    return static_cast<const uint8_t*>(in.data) + elements * static_cast<ptrdiff_t>(unit);
  };
  const uint8_t* const units = place(data, unit_size(type));
  const uint8_t* const scale = scale_size(type) != 0 ? place(scales, scale_size(type)) : nullptr;
  std::vector<float> x(keys ? cache.head_dim : cache.value_dim);
  for (size_t d = 0; d < x.size(); ++d) x[d] = element_of(type, units, scale, d);
  return x;
}

std::string CacheModel::attend(fovea_target target) {
  fovea_attention_desc d{};
  d.struct_bytes = sizeof d;
  if (fovea_kv_describe(&cache, &d) != FOVEA_OK) return "describe";
  const uint32_t heads = 2 * cache.kv_heads;
  d.q_heads = heads, d.max_q_tokens = 2;
  d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  d.target = target;
  fovea_plan plan{};
  if (fovea_plan_init(&plan, &d) != FOVEA_OK) return "plan";
  fovea_attention_args a{};
  a.struct_bytes = sizeof a;
  if (fovea_kv_attach(&cache, &a) != FOVEA_OK) return "attach";
  a.q_tokens = 2;
  std::vector<float> q(size_t{cache.batch} * heads * 2 * cache.head_dim),
      out(size_t{cache.batch} * heads * 2 * cache.value_dim);
  for (size_t i = 0; i < q.size(); ++i) q[i] = random_normal(seed_ + 1, i);
  const auto dims = [](uint32_t array_heads, uint32_t tokens, uint32_t dim, auto* array) {
    array->token_stride = dim, array->head_stride = static_cast<ptrdiff_t>(tokens) * dim;
    array->batch_stride = static_cast<ptrdiff_t>(array_heads) * tokens * dim;
  };
  a.q.data = q.data(), a.out.data = out.data();
  dims(heads, 2, cache.head_dim, &a.q), dims(heads, 2, cache.value_dim, &a.out);
  const Guarded workspace(plan.workspace_bytes, 64, Placement::kEnd);
  const fovea_status status = fovea_attention(&plan, &a, workspace.as<void>(), workspace.bytes());
  if (status != FOVEA_OK) return fovea_status_string(status);

  // The same keys as f32 arrays. Of the ring's, those that are gone are not looked at.
  fovea_attention_args truth = a;
  std::vector<float> keys(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.head_dim, NAN);
  std::vector<float> values(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.value_dim, NAN);
  truth.kv.keys.data = keys.data(), truth.kv.values.data = values.data();
  dims(cache.kv_heads, a.kv_tokens, cache.head_dim, &truth.kv.keys);
  dims(cache.kv_heads, a.kv_tokens, cache.value_dim, &truth.kv.values);
  for (uint32_t b = 0; b < cache.batch; ++b) {
    for (uint32_t h = 0; h < cache.kv_heads; ++h) {
      for (uint32_t t = 0; t < length(b); ++t) {
        const std::vector<float> key = row(true, b, h, t), value = row(false, b, h, t);
        const size_t at = (size_t{b} * cache.kv_heads + h) * a.kv_tokens + t;
        std::copy(key.begin(), key.end(), keys.begin() + static_cast<ptrdiff_t>(at * cache.head_dim));
        std::copy(value.begin(), value.end(), values.begin() + static_cast<ptrdiff_t>(at * cache.value_dim));
      }
    }
  }
  const Attention want = attention(d, truth);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!close(out[i], want.out[i], want.out_tolerance[i / cache.value_dim]))
      return "attention, at " + std::to_string(i);
  }
  return "";
}

}  // namespace fovea_test
