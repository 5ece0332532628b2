// SPDX-License-Identifier: Apache-2.0
#include "cache.h"

#include <algorithm>

namespace fovea_onnx {
namespace {

constexpr uint32_t kPageTokens = 5;  // an odd one, so that tokens cross pages

const char* name_of(fovea_kv_kind kind) {
  return kind == FOVEA_KV_RING ? "ring" : kind == FOVEA_KV_PAGED ? "paged" : "strided";
}

}  // namespace

Cache::Cache(fovea_kv_kind kind, const Heads& keys, const Heads& values, size_t max_tokens, fovea_target target,
             Verdict* verdict)
    : key_dtype_(keys.dtype),
      value_dtype_(values.dtype),
      target_(target),
      where_(std::string(name_of(kind)) + ", " + fovea_target_name(target)),
      verdict_(verdict) {
  desc_.kind = kind;
  desc_.key_dtype = type_of(keys.dtype);
  desc_.value_dtype = type_of(values.dtype);
  desc_.batch = count32(keys.batch);
  desc_.kv_heads = count32(keys.heads);
  desc_.head_dim = count32(keys.dim);
  desc_.value_dim = count32(values.dim);
  desc_.max_tokens = count32(max_tokens);
  if (kind == FOVEA_KV_PAGED) {
    desc_.page_tokens = kPageTokens;
    desc_.pages = desc_.batch * ((desc_.max_tokens + kPageTokens - 1) / kPageTokens);
  }
  size_t bytes = 0;
  verdict_->accept(fovea::kv_cache_bytes(desc_, &bytes), "fovea_kv_cache_bytes", where_);
  memory_.resize(bytes / sizeof(Line) + 1);
  std::byte* const memory = reinterpret_cast<std::byte*>(memory_.data());
  std::fill_n(memory, bytes, std::byte{kUnwrittenByte});
  verdict_->accept(cache_.init(desc_, {memory, bytes}), "fovea_kv_cache_init", where_);
  // From the last page to the first.
  for (uint32_t i = 0; i < desc_.pages; ++i) cache_.arrays()->page_table[i] = desc_.pages - 1 - i;
}

void Cache::append(const Tensor& keys, const Heads& key_shape, const Tensor& values, const Heads& value_shape) {
  fovea::KvAppendArgs args;
  args.target = target_;
  args.batch = desc_.batch;
  args.tokens = count32(key_shape.tokens);
  if (keys.dtype != values.dtype) throw Error("keys and values of two types");
  args.dtype = type_of(keys.dtype);
  args.keys = key_shape.view(keys.bytes.data());
  args.values = value_shape.view(values.bytes.data());
  std::vector<Line> workspace(key_shape.heads * std::max(key_shape.dim, value_shape.dim));
  args.workspace = workspace.data();
  args.workspace_bytes = workspace.size() * sizeof(Line);
  verdict_->accept(cache_.append(args), "fovea_kv_append", where_);
}

void Cache::truncate(size_t entry, size_t length) {
  verdict_->accept(cache_.truncate(count32(entry), count32(length)), "fovea_kv_truncate", where_);
}

std::vector<float> Cache::key_rows() const { return rows(cache_.arrays()->source.keys, key_dtype_, desc_.head_dim); }
std::vector<float> Cache::value_rows() const { return rows(cache_.arrays()->source.values, value_dtype_, desc_.value_dim); }

std::vector<float> Cache::rows(const fovea_in& array, DType dtype, size_t dim) const {
  const auto element_bytes = static_cast<ptrdiff_t>(bytes_of(dtype));
  const fovea::View<const uint8_t> view = {static_cast<const uint8_t*>(array.data), array.batch_stride * element_bytes,
                                           array.head_stride * element_bytes, array.token_stride * element_bytes};
  const uint32_t columns = desc_.batch != 0 ? desc_.pages / desc_.batch : 0;  // of the page table
  std::vector<float> all;
  for (uint32_t b = 0; b < desc_.batch; ++b) {
    for (uint32_t h = 0; h < desc_.kv_heads; ++h) {
      for (uint32_t t = 0; t < desc_.max_tokens; ++t) {
        const bool paged = desc_.kind == FOVEA_KV_PAGED;
        const uint32_t block = paged ? cache_.arrays()->page_table[b * columns + t / kPageTokens] : b;
        const std::vector<float> row = widen(dtype, view.row(block, h, paged ? t % kPageTokens : t), dim);
        all.insert(all.end(), row.begin(), row.end());
      }
    }
  }
  return all;
}

}  // namespace fovea_onnx
