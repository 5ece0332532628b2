// SPDX-License-Identifier: Apache-2.0
//
// FLASH_ATTN_EXT: softmax(scale * q k^T + slope * mask) v.
#include <algorithm>
#include <cmath>

#include "context.h"

namespace fovea_ggml {
namespace {

constexpr uint32_t kMostHeads = 1024;  // slopes are on the stack

// Few queries make few tasks: then their keys are divided, too. The bits depend on that, so it does not on threads.
constexpr int64_t kFewQueries = 8, kManyKeys = 1024;
constexpr uint32_t kKeysOfTask = 512;

// Formats of keys and values that the library reads where they are. Others are widened, a tile at a time.
bool reads(const ggml_tensor* rows) {
  const int format = format_of(rows->type);
  const bool of_keys = format <= FOVEA_Q4_0 || (format >= FOVEA_Q5_0 && format <= FOVEA_IQ4_NL);
  return format >= 0 && of_keys && has_rows(rows);
}

fovea_attention_desc description_of(const ggml_tensor* node, uint32_t workers) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2];
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = static_cast<uint32_t>(q->ne[2]);
  desc.kv_heads = static_cast<uint32_t>(k->ne[2]);
  desc.head_dim = static_cast<uint32_t>(q->ne[0]);
  desc.value_dim = static_cast<uint32_t>(v->ne[0]);
  desc.scale = option(node, 0);
  desc.softcap = option(node, 2);
  desc.max_batch = static_cast<uint32_t>(q->ne[3]);
  desc.max_q_tokens = static_cast<uint32_t>(q->ne[1]);
  desc.max_kv_tokens = static_cast<uint32_t>(k->ne[1]);
  desc.max_workers = workers;
  desc.processor_features = fovea::platform::processor_features();
  if (q->ne[1] * q->ne[3] <= kFewQueries && k->ne[1] >= kManyKeys) desc.key_split_tokens = kKeysOfTask;
  if (reads(k) && reads(v)) {
    desc.key_dtype = static_cast<fovea_dtype>(format_of(k->type));
    desc.value_dtype = static_cast<fovea_dtype>(format_of(v->type));
    const bool halves = desc.key_dtype == FOVEA_F16 && desc.value_dtype == FOVEA_F16 && multiplies_halves();
    desc.compute = halves ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_F32;
  } else {
    desc.kv_kind = FOVEA_KV_LOAD;
  }
  return desc;
}

fovea_in in(const ggml_tensor* t) { return {t->data, stride(t, 3), stride(t, 2), stride(t, 1)}; }

int load(void* self, const fovea_kv_tile* tile) {
  const auto* node = static_cast<const ggml_tensor*>(self);
  for (int i = 1; i <= 2; ++i) {  // keys, values
    const ggml_tensor* const rows = node->src[i];
    const char* from = static_cast<const char*>(rows->data) + tile->batch * rows->nb[3] + tile->kv_head * rows->nb[2];
    float* const to = static_cast<float*>(i == 1 ? tile->keys : tile->values);
    for (uint32_t t = 0; t < tile->count; ++t) {
      widen(rows, from + (tile->first + t) * rows->nb[1], to + t * rows->ne[0]);
    }
  }
  return 0;
}

// Slopes as ggml has them: powers of 2^(-max_bias / n) for the first n heads, n a power of two, and of its root for the
// rest.
void set_slopes(float max_bias, uint32_t heads, float* slopes) {
  uint32_t whole = 1;
  while (2 * whole <= heads) whole *= 2;
  const float power = -max_bias / static_cast<float>(whole), base = std::exp2(power), root = std::exp2(power / 2);
  for (uint32_t h = 0; h < heads; ++h) {
    slopes[h] =
        h < whole ? std::pow(base, static_cast<float>(h + 1)) : std::pow(root, static_cast<float>(2 * (h - whole) + 1));
  }
}

// How many keys the first query sees, where a mask of 0 and -inf shows it the first ones, and each later query one more;
// else 0. The library then skips keys that are hidden, and adds no mask.
int64_t causal_keys(const ggml_tensor* node) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *mask = node->src[3];
  if (!mask || mask->ne[2] != 1 || mask->ne[3] != 1) return 0;
  const auto row = [&](int64_t i) { return static_cast<const uint16_t*>(mask->data) + i * stride(mask, 1); };
  const int64_t keys = k->ne[1], first = std::find(row(0), row(0) + keys, 0xfc00) - row(0);
  if (first == 0 || first + q->ne[1] - 1 > keys) return 0;
  for (int64_t i = 0; i < q->ne[1]; ++i) {
    uint32_t wrong = 0;
    for (int64_t j = 0; j < first + i; ++j) wrong |= row(i)[j];
    for (int64_t j = first + i; j < keys; ++j) wrong |= row(i)[j] ^ 0xfc00u;
    if (wrong) return 0;
  }
  return first;
}

// A mask of one head and entry, or one for each.
bool spreads(int64_t of_mask, int64_t of_queries) { return of_mask == 1 || of_mask == of_queries; }

bool takes(const ggml_tensor* node) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3];
  if (q->type != GGML_TYPE_F32 || !has_rows(q) || !widens(k) || !widens(v) || q->ne[2] > kMostHeads ||
      k->ne[2] != v->ne[2] || k->ne[3] != q->ne[3] || v->ne[3] != q->ne[3]) {
    return false;
  }
  if (mask && !(mask->type == GGML_TYPE_F16 && has_rows(mask) && mask->ne[0] >= k->ne[1] && mask->ne[1] >= q->ne[1] &&
                spreads(mask->ne[2], q->ne[2]) && spreads(mask->ne[3], q->ne[3]))) {
    return false;
  }
  const fovea_attention_desc desc = description_of(node, 1);
  fovea_attention_plan plan;  // a scale of 0 means another one to the library
  return desc.scale != 0 && fovea_attention_plan_init(&plan, &desc) == FOVEA_OK;
}

bool compute(Context& context, ggml_tensor* node) {
  const ggml_tensor *q = node->src[0], *k = node->src[1], *mask = node->src[3], *sinks = node->src[4];
  fovea_attention_desc desc = description_of(node, context.workers());
  const int64_t seen = causal_keys(node);
  if (seen != 0) desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  fovea_attention_plan plan;
  if (!report(node, fovea_attention_plan_init(&plan, &desc))) return false;
  fovea_attention_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = desc.max_batch;
  args.q_tokens = desc.max_q_tokens;
  args.kv_tokens = seen != 0 ? static_cast<uint32_t>(seen) + args.q_tokens - 1 : desc.max_kv_tokens;
  args.q = in(q);
  args.out = {node->data, stride(node, 3), stride(node, 1), stride(node, 2)};  // [batch][tokens][heads][value_dim]
  const fovea_loader loader = {load, nullptr, node};
  if (desc.kv_kind == FOVEA_KV_LOAD) {
    args.kv.loader = &loader;
  } else {
    args.kv.keys = in(k);
    args.kv.values = in(node->src[2]);
  }
  float slopes[kMostHeads];
  if (mask && seen == 0) {
    args.mask.kind = FOVEA_MASK_F16;
    args.mask.data = mask->data;
    args.mask.batch_stride = mask->ne[3] > 1 ? stride(mask, 3) : 0;
    args.mask.head_stride = mask->ne[2] > 1 ? stride(mask, 2) : 0;
    args.mask.q_stride = stride(mask, 1);
    const float max_bias = option(node, 1);
    if (max_bias > 0) {
      set_slopes(max_bias, desc.q_heads, slopes);
      args.mask.head_factors = slopes;
    }
  }
  if (sinks) args.sinks = static_cast<const float*>(sinks->data);
  args.executor = context.executor();
  size_t bytes = 0;
  if (!report(node, fovea_attention_workspace_bytes(&plan, &bytes))) return false;
  void* const workspace = context.memory(bytes);
  return report(node, workspace ? fovea_attention(&plan, &args, workspace, bytes) : FOVEA_ERR_WORKSPACE);
}

}  // namespace

const Operator kAttend = {GGML_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT", takes, compute};

}  // namespace fovea_ggml
