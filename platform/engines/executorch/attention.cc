// SPDX-License-Identifier: Apache-2.0
#include <float.h>

#include <algorithm>

#include "operators.h"

namespace fovea_executorch {
namespace {

// Rows of int8 and what makes numbers of them: x = scale * (code - zero).
struct Codes {
  const int8_t* data;
  const int8_t* zeros;  // one for each row, as scales
  const float* scales;
  ptrdiff_t batch_stride, head_stride, token_stride;  // in rows
  uint32_t dim;
};

Codes codes_of(const Tensor& t, const Tensor& zeros, const Tensor& scales, Layout layout) {
  const ptrdiff_t dim = t.size(3);
  return {t.const_data_ptr<int8_t>(), zeros.const_data_ptr<int8_t>(),   scales.const_data_ptr<float>(),
          stride_of(t, 0) / dim,      stride_of(t, layout.heads) / dim, stride_of(t, layout.tokens) / dim,
          static_cast<uint32_t>(dim)};
}

void widen_row(const Codes& codes, ptrdiff_t row, float* numbers) {
  const int8_t* const data = codes.data + row * codes.dim;
  const float scale = codes.scales[row];
  const int32_t zero = codes.zeros[row];
  for (uint32_t d = 0; d < codes.dim; ++d) numbers[d] = static_cast<float>(data[d] - zero) * scale;
}

// Brings key tiles as f32, so that the numbers of a whole cache are never in memory.
struct CodeTiles {
  Codes keys, values;

  static int start(void* self, const fovea_kv_tile* tile) {
    const CodeTiles& tiles = *static_cast<const CodeTiles*>(self);
    widen(tiles.keys, *tile, static_cast<float*>(tile->keys));
    widen(tiles.values, *tile, static_cast<float*>(tile->values));
    return 0;
  }

  static void widen(const Codes& codes, const fovea_kv_tile& tile, float* numbers) {
    const ptrdiff_t first = tile.batch * codes.batch_stride + tile.kv_head * codes.head_stride;
    for (uint32_t i = 0; i < tile.count; ++i, numbers += codes.dim) {
      widen_row(codes, first + static_cast<ptrdiff_t>(tile.first + i) * codes.token_stride, numbers);
    }
  }
};

// What the operators share: shapes are checked, then a description and arguments are made of them.
struct Attention {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  int64_t start_pos;
  const OptionalTensor& mask;
  bool is_causal;
  std::optional<double> scale;
  Tensor& out;
  Layout layout = kTokensFirst;

  uint32_t q_tokens() const { return count(query, layout.tokens); }
  uint32_t room() const { return count(key, layout.tokens); }  // tokens of the cache
  uint32_t keys() const { return mask ? room() : static_cast<uint32_t>(start_pos) + q_tokens(); }
  bool has_mask() const { return mask && mask->numel() > 0; }

  bool is_valid(Context& context) const;
  bool is_mask_valid(Context& context) const;
  void describe(fovea_attention_desc* desc, fovea_attention_args* args) const;
};

bool Attention::is_mask_valid(Context& context) const {
  if (!mask) return true;
  FOVEA_REQUIRE(context, !is_causal, false);
  FOVEA_REQUIRE(context, mask->dim() == 2 && mask->scalar_type() == ScalarType::Float && is_contiguous(*mask), false);
  if (mask->numel() == 0) return true;
  FOVEA_REQUIRE(context, count(*mask, 0) == q_tokens() && count(*mask, 1) == room(), false);
  return true;
}

bool Attention::is_valid(Context& context) const {
  FOVEA_REQUIRE(context, query.dim() == 4 && key.dim() == 4 && value.dim() == 4, false);
  FOVEA_REQUIRE(context, query.scalar_type() == key.scalar_type() && key.scalar_type() == value.scalar_type(), false);
  FOVEA_REQUIRE(context, is_contiguous(query) && is_contiguous(key) && is_contiguous(value), false);
  FOVEA_REQUIRE(context, query.size(3) == key.size(3) && key.size(3) == value.size(3), false);
  FOVEA_REQUIRE(context, query.size(0) <= key.size(0) && query.size(0) <= value.size(0), false);
  FOVEA_REQUIRE(context, key.size(layout.heads) == value.size(layout.heads), false);
  FOVEA_REQUIRE(context, key.size(layout.heads) > 0 && query.size(layout.heads) % key.size(layout.heads) == 0, false);
  if (!is_mask_valid(context)) return false;
  FOVEA_REQUIRE(context, value.size(layout.tokens) >= (mask ? key.size(layout.tokens) : 0), false);
  if (mask) return true;
  const int64_t tokens = query.size(layout.tokens);
  FOVEA_REQUIRE(context, start_pos >= 0 && start_pos <= key.size(layout.tokens) - tokens, false);
  FOVEA_REQUIRE(context, start_pos <= value.size(layout.tokens) - tokens, false);
  return true;
}

void Attention::describe(fovea_attention_desc* desc, fovea_attention_args* args) const {
  *desc = {};
  desc->struct_bytes = sizeof *desc;
  desc->q_heads = count(query, layout.heads);
  desc->kv_heads = count(key, layout.heads);
  desc->head_dim = desc->value_dim = count(query, 3);
  desc->max_batch = std::max<uint32_t>(count(query, 0), 1);
  desc->max_q_tokens = q_tokens();
  desc->max_kv_tokens = keys();
  desc->causal = is_causal ? FOVEA_CAUSAL_BOTTOM_RIGHT : FOVEA_CAUSAL_NONE;  // the last query sees the last key
  // A scale of 0 would be the default: this one makes all scores as good as 0.
  if (scale) desc->scale = *scale == 0 ? FLT_MIN : static_cast<float>(*scale);

  *args = {};
  args->struct_bytes = sizeof *args;
  args->batch = count(query, 0);
  args->q_tokens = desc->max_q_tokens;
  args->kv_tokens = desc->max_kv_tokens;
  args->q = input(query, layout);
  args->kv.keys = input(key, layout);
  args->kv.values = input(value, layout);
  args->out = output(out, layout);
  if (!has_mask()) return;
  args->mask.kind = FOVEA_MASK_F32;
  args->mask.data = mask->const_data_ptr();
  args->mask.q_stride = mask->size(1);
}

Tensor& compute(Context& context, const Attention& attention) {
  Tensor& out = attention.out;
  if (!attention.is_valid(context)) return out;
  fovea_dtype dtype;
  FOVEA_REQUIRE(context, format_of(attention.query.scalar_type(), &dtype), out);
  FOVEA_REQUIRE(context, out.scalar_type() == attention.query.scalar_type(), out);
  FOVEA_REQUIRE(context, resize_tensor(out, attention.query.sizes()) == Error::Ok, out);
  if (out.numel() == 0) return out;
  fovea_attention_desc desc;
  fovea_attention_args args;
  attention.describe(&desc, &args);
  desc.q_dtype = desc.key_dtype = desc.value_dtype = desc.out_dtype = dtype;
  attend(context, desc, args);
  return out;
}

// zeros and scales have one element for each row of t.
bool are_codes(Context& context, const Tensor& t, const OptionalTensor& zeros, const OptionalTensor& scales) {
  FOVEA_REQUIRE(context, t.scalar_type() == ScalarType::Char && zeros && scales, false);
  FOVEA_REQUIRE(context, zeros->scalar_type() == ScalarType::Char && scales->scalar_type() == ScalarType::Float, false);
  FOVEA_REQUIRE(context, zeros->dim() == 4 && scales->dim() == 4, false);
  FOVEA_REQUIRE(context, is_contiguous(*zeros) && is_contiguous(*scales), false);
  for (int i = 0; i < 3; ++i) {
    FOVEA_REQUIRE(context, zeros->size(i) == t.size(i) && scales->size(i) == t.size(i), false);
  }
  FOVEA_REQUIRE(context, zeros->size(3) == 1 && scales->size(3) == 1, false);
  return true;
}

}  // namespace

Tensor& custom_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                        int64_t start_pos, const OptionalTensor& attn_mask, double, bool is_causal,
                        std::optional<double> scale, Tensor& out) {
  return compute(context, {query, key, value, start_pos, attn_mask, is_causal, scale, out});
}

Tensor& sdpa_with_kv_cache_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                               Tensor& key_cache, Tensor& value_cache, int64_t start_pos, int64_t seq_len,
                               const OptionalTensor& attn_mask, double, bool is_causal, std::optional<double> scale,
                               Tensor& out) {
  FOVEA_REQUIRE(context, seq_len >= 0 && start_pos >= 0, out);
  FOVEA_REQUIRE(context, key_cache.dim() == 4 && start_pos + seq_len <= key_cache.size(1), out);
  FOVEA_REQUIRE(context, value_cache.dim() == 4 && start_pos + seq_len <= value_cache.size(1), out);
  const Attention attention{query, key_cache, value_cache, start_pos, attn_mask, is_causal, scale, out};
  if (!attention.is_valid(context)) return out;
  update_cache_out(context, key, key_cache, start_pos, out);
  if (context.failure_state() != Error::Ok) return out;
  update_cache_out(context, value, value_cache, start_pos, out);
  if (context.failure_state() != Error::Ok) return out;
  return compute(context, attention);
}

Tensor& custom_quantized_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                                  int64_t start_pos, const OptionalTensor& attn_mask, double, bool is_causal,
                                  std::optional<double> scale, const OptionalTensor& q_zero_points,
                                  const OptionalTensor& q_scales, const OptionalTensor& k_zero_points,
                                  const OptionalTensor& k_scales, const OptionalTensor& v_zero_points,
                                  const OptionalTensor& v_scales, bool is_seq_at_dim_2, Tensor& out) {
  const Layout layout = is_seq_at_dim_2 ? kHeadsFirst : kTokensFirst;
  const Attention attention{query, key, value, start_pos, attn_mask, is_causal, scale, out, layout};
  if (query.scalar_type() != ScalarType::Char) return compute(context, attention);
  if (!attention.is_valid(context)) return out;
  if (!are_codes(context, query, q_zero_points, q_scales) || !are_codes(context, key, k_zero_points, k_scales) ||
      !are_codes(context, value, v_zero_points, v_scales)) {
    return out;
  }
  FOVEA_REQUIRE(context, out.scalar_type() == ScalarType::Float, out);
  FOVEA_REQUIRE(context, resize_tensor(out, query.sizes()) == Error::Ok, out);
  if (out.numel() == 0) return out;

  float* const numbers = static_cast<float*>(temporary(context, query.numel() * sizeof(float)));  // as query
  if (numbers == nullptr) return out;
  const Codes q = codes_of(query, *q_zero_points, *q_scales, layout);
  const ptrdiff_t rows = query.numel() / q.dim;
  for (ptrdiff_t row = 0; row < rows; ++row) widen_row(q, row, numbers + row * q.dim);

  CodeTiles tiles{codes_of(key, *k_zero_points, *k_scales, layout), codes_of(value, *v_zero_points, *v_scales, layout)};
  const fovea_loader loader{CodeTiles::start, nullptr, &tiles};
  fovea_attention_desc desc;
  fovea_attention_args args;
  attention.describe(&desc, &args);
  desc.kv_kind = FOVEA_KV_LOAD;
  args.q.data = numbers;
  args.kv = {};
  args.kv.loader = &loader;
  attend(context, desc, args);
  return out;
}

}  // namespace fovea_executorch
