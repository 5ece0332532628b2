// SPDX-License-Identifier: Apache-2.0
#include <float.h>

#include <algorithm>

#include "graph.h"
#include "operators.h"

namespace fovea_executorch {
namespace {

enum TokensFirst : int64_t { kQuery = 1, kKey = 2, kValue = 4, kOut = 8 };

Layout layout_of(int64_t tokens_first, TokensFirst tensor) {
  return tokens_first & tensor ? kTokensFirst : kHeadsFirst;
}

// Dimensions that are missing or 1 are broadcast.
bool set_mask(Context& context, const GraphAttention& call, const OptionalTensor& mask, fovea_mask* to) {
  if (!mask) return true;
  const bool is_bytes = mask->scalar_type() == ScalarType::Bool;
  fovea_dtype dtype = FOVEA_F32;
  FOVEA_REQUIRE(context, is_bytes || format_of(mask->scalar_type(), &dtype), false);
  FOVEA_REQUIRE(context, mask->dim() <= 4 && is_contiguous(*mask), false);
  const ssize_t sizes[4] = {call.query.size(0), call.query.size(call.q.heads), call.query.size(call.q.tokens),
                            call.key.size(call.k.tokens)};
  ptrdiff_t strides[4] = {};
  const int missing = 4 - static_cast<int>(mask->dim());
  for (int i = missing; i < 4; ++i) {
    const ssize_t size = mask->size(i - missing);
    FOVEA_REQUIRE(context, size == sizes[i] || size == 1, false);
    if (size != 1) strides[i] = stride_of(*mask, i - missing);
  }
  to->kind = is_bytes             ? FOVEA_MASK_BYTE
             : dtype == FOVEA_F32 ? FOVEA_MASK_F32
             : dtype == FOVEA_F16 ? FOVEA_MASK_F16
                                  : FOVEA_MASK_BF16;
  to->data = mask->const_data_ptr();
  to->batch_stride = strides[0];
  to->head_stride = strides[1];
  to->q_stride = strides[2];
  to->broadcast_keys = strides[3] == 0;
  return true;
}

bool has_format(Context& context, const GraphAttention& call, fovea_dtype* dtype) {
  const ScalarType type = call.query.scalar_type();
  FOVEA_REQUIRE(context, format_of(type, dtype) && call.key.scalar_type() == type, false);
  FOVEA_REQUIRE(context, call.value.scalar_type() == type && call.out.scalar_type() == type, false);
  return true;
}

}  // namespace

GraphAttention::GraphAttention(const Tensor& q, const Tensor& k, const Tensor& v, Tensor& o, int64_t tokens_first)
    : query(q),
      key(k),
      value(v),
      out(o),
      q(layout_of(tokens_first, kQuery)),
      k(layout_of(tokens_first, kKey)),
      v(layout_of(tokens_first, kValue)),
      o(layout_of(tokens_first, kOut)) {}

bool GraphAttention::is_valid(Context& context) const {
  FOVEA_REQUIRE(context, query.dim() == 4 && key.dim() == 4 && value.dim() == 4, false);
  FOVEA_REQUIRE(context, is_contiguous(query) && is_contiguous(key) && is_contiguous(value) && is_contiguous(out),
                false);
  FOVEA_REQUIRE(context, query.size(0) == key.size(0) && key.size(0) == value.size(0), false);
  FOVEA_REQUIRE(context, query.size(3) == key.size(3) && query.size(3) > 0 && value.size(3) > 0, false);
  FOVEA_REQUIRE(context, key.size(k.heads) == value.size(v.heads), false);
  FOVEA_REQUIRE(context, key.size(k.tokens) == value.size(v.tokens), false);
  FOVEA_REQUIRE(context, key.size(k.heads) > 0 && query.size(q.heads) % key.size(k.heads) == 0, false);
  return true;
}

bool GraphAttention::resize(Context& context) const {
  executorch::aten::SizesType sizes[4] = {query.sizes()[0], 0, 0, value.sizes()[3]};
  sizes[o.heads] = query.sizes()[q.heads];
  sizes[o.tokens] = query.sizes()[q.tokens];
  FOVEA_REQUIRE(context, executorch::runtime::resize_tensor(out, {sizes, 4}) == Error::Ok, false);
  return true;
}

Tensor& attention_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                      const OptionalTensor& mask, bool is_causal, std::optional<double> scale, int64_t tokens_first,
                      Tensor& out) {
  const GraphAttention call(query, key, value, out, tokens_first);
  fovea_dtype dtype;
  fovea_attention_args args = {};
  if (!has_format(context, call, &dtype) || !call.is_valid(context)) return out;
  if (!set_mask(context, call, mask, &args.mask) || !call.resize(context)) return out;
  if (out.numel() == 0) return out;

  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = count(query, call.q.heads);
  desc.kv_heads = count(key, call.k.heads);
  desc.head_dim = count(query, 3);
  desc.value_dim = count(value, 3);
  args.batch = count(query, 0);
  desc.max_batch = std::max<uint32_t>(args.batch, 1);
  desc.max_q_tokens = args.q_tokens = count(query, call.q.tokens);
  desc.max_kv_tokens = args.kv_tokens = count(key, call.k.tokens);
  desc.causal = is_causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;
  // A scale of 0 would be the default: this one makes all scores as good as 0.
  if (scale) desc.scale = *scale == 0 ? FLT_MIN : static_cast<float>(*scale);
  desc.q_dtype = desc.key_dtype = desc.value_dtype = desc.out_dtype = dtype;
  args.struct_bytes = sizeof args;
  args.q = input(query, call.q);
  args.kv.keys = input(key, call.k);
  args.kv.values = input(value, call.v);
  args.out = output(out, call.o);
  attend(context, desc, args);
  return out;
}

}  // namespace fovea_executorch
