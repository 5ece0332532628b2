// SPDX-License-Identifier: Apache-2.0
//
// All checks of a call, before its first step runs.
#include "ground/base/arithmetic.h"
#include "layers/multihead/call.h"

#include "core/attention/call.h"
#include "core/attention/plan.h"
#include "core/cache/resolve.h"
#include "core/rope/resolve.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/strides.h"
#include "ground/formats/checks.h"
#include "ground/formats/formats.h"
#include "ground/targets/list.h"
#include "ground/targets/registry.h"
#include "layers/linear/resolve.h"
#include "layers/multihead/layer_resolve.h"

namespace fovea {
namespace {

// Checks that a cache is as the description says.
fovea_status check_cache_shape(const fovea_attention_desc& d, const MadeCache& c) {
  const bool same =
      c.kind == d.kv_kind && c.key_dtype == d.key_dtype && c.value_dtype == d.value_dtype && c.kv_heads == d.kv_heads &&
      c.head_dim == d.head_dim && c.value_dim == d.value_dim && c.page_tokens == d.page_tokens && !c.values_in_keys &&
      c.hadamard == d.hadamard && (c.hadamard == FOVEA_HADAMARD_NONE || c.hadamard_seed == d.hadamard_seed) &&
      (d.kv_kind != FOVEA_KV_RING || (c.max_tokens == d.ring_tokens && c.pinned_tokens == d.pinned_tokens));
  return same ? FOVEA_OK : FOVEA_ERR_SIZE;
}

}  // namespace

fovea_status LayerCall::check_counts() const {
  const fovea_attention_args& a = args_.attention;
  FOVEA_RETURN_IF_ERROR(check_struct(args_));
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;  // its size is a part of that of args_
  if (args_.rope) FOVEA_RETURN_IF_ERROR(check_struct(*args_.rope));
  if (config::kExecutor && a.executor && a.executor->workers > worker_count(d_)) return FOVEA_ERR_CAPACITY;
  if (args_.batch > d_.max_batch) return FOVEA_ERR_CAPACITY;
  if (attends()) {
    if (a.slow_workspace || a.slow_workspace_bytes || a.q_offsets || a.kv_offsets) return FOVEA_ERR_UNSUPPORTED;
    if (args_.q_tokens > d_.max_q_tokens) return FOVEA_ERR_CAPACITY;
    if (a.kv.prefixes && !args_.cache) return FOVEA_ERR_UNSUPPORTED;
  }
  if (projects_keys()) {
    if (keys().count > plan_.desc.max_new_tokens) return FOVEA_ERR_CAPACITY;
    return kHasChecks && values().count != keys().count ? FOVEA_ERR_SIZE : FOVEA_OK;
  }
  FOVEA_RETURN_IF_ERROR(check_cache(args_.cache));
  if (args_.keys.data || args_.values.data || a.kv_lengths) return FOVEA_ERR_UNSUPPORTED;
  return args_.batch > cache()->batch ? FOVEA_ERR_CAPACITY : FOVEA_OK;
}

// Checks that each input has as many elements as its linear layer reads, or as the heads have if there is no layer.
fovea_status LayerCall::check_weights() {
  const fovea_multihead_desc& m = plan_.desc;
  w_ = args_.weights;
  if (w_.reserved) return FOVEA_ERR_STRUCT;
  if (const MadeCache* c = cache()) {
    FOVEA_RETURN_IF_ERROR(check_cache_shape(d_, *c));
    if (d_.key_scale != 0.0f || d_.value_scale != 0.0f) return FOVEA_ERR_UNSUPPORTED;
  } else if (d_.kv_kind != FOVEA_KV_STRIDED || d_.hadamard != FOVEA_HADAMARD_NONE ||
             (d_.key_dtype != FOVEA_F32 && d_.key_scale == 0.0f) ||
             (d_.value_dtype != FOVEA_F32 && d_.value_scale == 0.0f)) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (kHasChecks && args_.rope && ((attends() && q_tensor().is_i8()) || (projects_keys() && k_tensor().is_i8()))) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (w_.qkv.data) {
    if (w_.q.data || w_.k.data || w_.v.data) return FOVEA_ERR_UNSUPPORTED;
    if (m.key_model != m.d_model || m.value_model != m.d_model) return FOVEA_ERR_SIZE;
    const ArrayShape rows = {
        {1, 0}, {1, 0}, {size_t(widths_.all()), w_.qkv.row_stride}, {dense_stride(m.weight_dtype, m.d_model), 1}};
    Span span;
    FOVEA_RETURN_IF_ERROR(check_array(w_.qkv.data, unit_bytes(m.weight_dtype), rows, false, &span));
    if (w_.qkv.dtype != m.weight_dtype) return FOVEA_ERR_UNSUPPORTED;
    w_.q = w_.qkv;
    w_.k = weights_from(w_.qkv, m.d_model, size_t(widths_.q));
    w_.v = weights_from(w_.qkv, m.d_model, size_t(widths_.q + widths_.k));
  }
  // x takes the place of keys or values that are not given, and must then be as wide.
  const uint32_t key_elements = args_.keys.data ? m.key_model : m.d_model;
  const uint32_t value_elements = args_.values.data ? m.value_model : key_elements;
  if (projects_keys() && (key_elements != m.key_model || value_elements != m.value_model)) return FOVEA_ERR_SIZE;
  if (!kHasChecks) return FOVEA_OK;
  for (const Linear& layer : linears().all) {
    if (!layer.used) continue;
    const fovea_linear_weights& w = layer.weights;
    if (w.reserved) return FOVEA_ERR_STRUCT;
    if (!w.data && (w.bias || w.bias_i32 || w.scales)) return FOVEA_ERR_NULL;
    if (!w.data && layer.in != layer.out) return FOVEA_ERR_SIZE;
    if (!w.data && !(layer.from == layer.to)) return FOVEA_ERR_UNSUPPORTED;
    if (w.data && w.dtype != m.weight_dtype) return FOVEA_ERR_UNSUPPORTED;
  }
  return FOVEA_OK;
}

// Checks outputs and the workspace against everything that any step reads. The steps check only what they write.
fovea_status LayerCall::check_memory(void* workspace, size_t workspace_bytes) const {
  const fovea_multihead_desc& m = plan_.desc;
  FOVEA_RETURN_IF_ERROR(fovea::check_memory(workspace, workspace_bytes, plan_.workspace_bytes));
  if (!kHasChecks) return FOVEA_OK;
  Buffers buffers;
  buffers.add_memory(workspace, workspace_bytes);
  if (attends()) add_outputs(buffers);
  if (const MadeCache* c = cache()) {
    buffers.add_list(c->memory, 1, c->memory_bytes);
    const size_t centers = size_t{c->kv_heads} * c->head_dim;
    buffers.add_list(c->key_center, sizeof(float), centers);
    if (kHasPrefixes && prefixes()) FOVEA_RETURN_IF_ERROR(add_prefixes(buffers, d_, args_.attention.kv, args_.batch));
  }
  const struct {
    bool used;
    Tokens tokens;
    size_t dim;
  } arrays[] = {{attends() || !args_.keys.data, x(), m.d_model},
                {projects_keys() && args_.keys.data, keys(), m.key_model},
                {projects_keys() && args_.values.data, values(), m.value_model}};
  for (const auto& array : arrays) {
    const Tokens& t = array.tokens;
    if (!array.used) continue;
    buffers.add_tokens(t.heads(0), t.tensor.unit_bytes(), {t.batch, 1, t.count}, array.dim);
  }
  for (const Linear& layer : linears().all) {
    const fovea_linear_weights& w = layer.weights;
    if (!layer.used || !w.data) continue;
    add_weights(buffers, w, size_t(layer.in), size_t(layer.out));
  }
  if (const fovea_rope_args* rope = args_.rope) {
    add_rope_tables(buffers, *rope, d_.head_dim);
    buffers.add_list(rope->first_positions, sizeof(int64_t), args_.batch);
  }
  return attends() ? add_options(buffers) : buffers.status();
}

void LayerCall::add_outputs(Buffers& buffers) const {
  const fovea_attention_args& a = args_.attention;
  const Tokens y = this->y();
  const size_t unit = y.tensor.unit_bytes();
  buffers.add_output(y.heads_out(0), unit, {y.batch, 1, y.count}, plan_.desc.d_model);
  if (a.lse.data) buffers.add_output(a.lse, sizeof(float), {args_.batch, d_.q_heads, args_.q_tokens}, 1);
  if (a.scores_stage != FOVEA_SCORES_NONE) {
    buffers.add_output(a.scores, sizeof(float), {args_.batch, d_.q_heads, args_.q_tokens}, kv_tokens());
  }
  if (kHasKeyMass && a.key_mass.data) {
    buffers.add_output(a.key_mass, sizeof(float), {args_.batch, d_.kv_heads, 1}, kv_tokens());
  }
}

fovea_status LayerCall::add_options(Buffers& buffers) const {
  const fovea_attention_args& a = args_.attention;
  buffers.add_list(a.kv_lengths, sizeof(uint32_t), args_.batch);
  buffers.add_list(a.first_positions, sizeof(int64_t), args_.batch);
  buffers.add_list(a.alibi_slopes, sizeof(float), d_.q_heads);
  buffers.add_list(a.sinks, sizeof(float), d_.q_heads);
  if (a.value_channel_scales) {
    const fovea_in scales = {a.value_channel_scales, 0, a.value_channel_stride, 0};
    buffers.add_input(scales, sizeof(float), {1, d_.kv_heads, 1}, d_.value_dim);
  }
  if (a.score_vector) {
    const fovea_in vector = {a.score_vector, 0, a.score_vector_stride, 0};
    buffers.add_input(vector, sizeof(float), {1, d_.kv_heads, 1}, d_.head_dim);
  }
  if (kHasBlockMaps && a.block_map) {
    FOVEA_RETURN_IF_ERROR(buffers.status());
    FOVEA_RETURN_IF_ERROR(add_block_map(buffers, *a.block_map, args_.batch, d_.kv_heads, args_.q_tokens));
  }
  return add_mask(buffers, a.mask, args_.batch, d_.q_heads, args_.q_tokens, kv_tokens());
}

fovea_status LayerCall::resolve_step(const fovea_linear_weights& weights, const Tokens& x, uint32_t in_dim,
                                     const Tokens& y, uint64_t out_dim, const Workspace& shared,
                                     LinearStep* step) const {
  if (!weights.data || x.batch == 0 || x.count == 0) return FOVEA_OK;
  fovea_linear_args a = {};
  a.struct_bytes = sizeof a;
  a.target = d_.target;
  a.processor_features = d_.processor_features;
  a.portable_bits = d_.portable_bits;
  a.compute = plan_.desc.linear_compute;
  if (x.tensor.is_i8()) a.x_dtype = FOVEA_I8, a.x_scales = x.tensor.scale, a.x_zero_point = x.tensor.zero;
  if (y.tensor.is_i8()) a.y_dtype = FOVEA_I8, a.y_scale = *y.tensor.scale, a.y_zero_point = y.tensor.zero;
  a.in_dim = in_dim;
  a.out_dim = uint32_t(out_dim);
  a.x = x.data;
  a.y = y.data;
  a.weights = weights;
  a.executor = args_.attention.executor;
  // One call is enough if all rows, in the order of entries or of tokens, are the same distance apart.
  const bool fits = uint64_t(x.batch) * x.count <= kMostTokens;
  const bool by_entry = fits && x.batch_is_outer() && y.batch_is_outer();
  const bool by_token = fits && !by_entry && x.tokens_are_outer() && y.tokens_are_outer();
  step->calls = by_entry || by_token ? 1 : x.batch;
  a.tokens = by_entry || by_token ? x.batch * x.count : x.count;
  a.x_stride = by_token ? x.batch_stride : x.token_stride;
  a.y_stride = by_token ? y.batch_stride : y.token_stride;
  step->x_step = stride_bytes(x.batch_stride, x.tensor.unit_bytes());
  step->y_step = stride_bytes(y.batch_stride, y.tensor.unit_bytes());
  return resolve_linear(a, shared.fast, shared.fast_bytes, &step->call);
}

fovea_status LayerCall::resolve_linear_steps(const Places& p, ProjectionSteps* steps) const {
  const fovea_multihead_desc& m = plan_.desc;
  if (p.packed) {
    FOVEA_RETURN_IF_ERROR(resolve_step(w_.qkv, x(), m.d_model, p.q, widths_.all(), p.shared, &steps->q));
  } else {
    if (attends()) FOVEA_RETURN_IF_ERROR(resolve_step(w_.q, x(), m.d_model, p.q, widths_.q, p.shared, &steps->q));
    if (projects_keys()) {
      FOVEA_RETURN_IF_ERROR(resolve_step(w_.k, keys(), m.key_model, p.k, widths_.k, p.shared, &steps->k));
      FOVEA_RETURN_IF_ERROR(resolve_step(w_.v, values(), m.value_model, p.v, widths_.v, p.shared, &steps->v));
    }
  }
  return FOVEA_OK;
}

fovea_status LayerCall::resolve_out(const Places& p, LinearStep* step) const {
  *step = {};
  return resolve_step(w_.out, p.o, uint32_t(widths_.out), y(), plan_.desc.d_model, p.shared, step);
}

// Projected heads are turned in place; heads that come straight from an input are turned into `to`.
fovea_status LayerCall::resolve_turn(const Tokens& from, const Tokens& to, uint32_t heads, RopeCall* turn) const {
  fovea_rope_args a = known_part(*args_.rope);
  a.target = kernels_of(d_.target);  // for calls without processor_features
  a.batch = from.batch;
  a.heads = heads;
  a.tokens = from.count;
  a.dim = d_.head_dim;
  a.x = from.heads(a.dim);
  a.y = to.heads_out(a.dim);
  a.position_ids = nullptr;
  a.position_ids_stride = 0;
  return resolve_rope(a, turn);
}

fovea_status LayerCall::resolve_append(const Places& p, AppendCall* append) const {
  fovea_kv_append_args a = {};
  a.struct_bytes = sizeof a;
  a.target = kernels_of(d_.target);
  a.batch = args_.batch;
  a.tokens = p.k.count;
  a.keys = p.k.heads(d_.head_dim);
  a.values = p.v.heads(d_.value_dim);
  a.rope = args_.rope;
  a.workspace = p.shared.fast;
  a.workspace_bytes = p.shared.fast_bytes;
  return fovea::resolve_append(*append_to_, a, append);
}

fovea_status LayerCall::resolve_turns(const Places& p, ProjectionSteps* steps) const {
  steps->turns_q = args_.rope != nullptr;
  steps->turns_k = args_.rope && projects_keys();
  if (steps->turns_q) {
    FOVEA_RETURN_IF_ERROR(resolve_turn(w_.q.data ? p.q : x(), p.q, d_.q_heads, &steps->turn_q));
  }
  if (steps->turns_k) {
    FOVEA_RETURN_IF_ERROR(resolve_turn(w_.k.data ? p.k : keys(), p.k, d_.kv_heads, &steps->turn_k));
  }
  return FOVEA_OK;
}

fovea_status LayerCall::resolve_attention(const Places& p, AttentionStep* step) const {
  step->shared = p.shared;
  fovea_attention_args& a = step->args;
  a = args_.attention;
  a.batch = args_.batch;
  a.q_tokens = args_.q_tokens;
  a.out = p.o.heads_out(d_.value_dim);
  a.q = p.q.heads(d_.head_dim);
  a.kv = {};
  a.kv_tokens = p.k.count;
  a.kv.keys = p.k.heads(d_.head_dim);
  a.kv.values = p.v.heads(d_.value_dim);
  if (args_.cache) {
    a.kv = cache()->source;
    a.kv.prefixes = prefixes();
    a.kv_lengths = cache()->lengths;
    a.kv_tokens = longest();
  }
  return check_attention(AttentionCall(plan_.attention, a, step->shared, nullptr));
}

fovea_status check_multihead(const MadeMultiheadPlan& plan, const fovea_multihead_args& args, void* workspace,
                             size_t workspace_bytes, const MadeCache* append_to) {
  if (!is_multihead_plan(plan)) return FOVEA_ERR_PLAN;
  LayerCall call(plan, args, append_to);
  FOVEA_RETURN_IF_ERROR(call.check_counts());
  FOVEA_RETURN_IF_ERROR(call.check_weights());
  FOVEA_RETURN_IF_ERROR(call.check_memory(workspace, workspace_bytes));
  if (append_to) return FOVEA_OK;
  const Places places = call.place(workspace);
  union {
    LinearStep out;
    AttentionStep attention;
  };
  FOVEA_RETURN_IF_ERROR(call.resolve_out(places, &out));
  return call.resolve_attention(places, &attention);
}

fovea_status resolve_projections(const MadeMultiheadPlan& plan, const fovea_multihead_args& args, void* workspace,
                                 const MadeCache* append_to, ProjectionSteps* steps) {
  LayerCall call(plan, args, append_to);
  FOVEA_RETURN_IF_ERROR(call.check_weights());
  *steps = {};
  const Places places = call.place(workspace);
  FOVEA_RETURN_IF_ERROR(call.resolve_linear_steps(places, steps));
  if (append_to) return call.resolve_append(places, &steps->append);
  return call.resolve_turns(places, steps);
}

fovea_status resolve_attention_step(const MadeMultiheadPlan& plan, const fovea_multihead_args& args, void* workspace,
                                    AttentionStep* step) {
  LayerCall call(plan, args, nullptr);
  FOVEA_RETURN_IF_ERROR(call.check_weights());
  return call.resolve_attention(call.place(workspace), step);
}

fovea_status resolve_out_step(const MadeMultiheadPlan& plan, const fovea_multihead_args& args, void* workspace,
                              LinearStep* step) {
  LayerCall call(plan, args, nullptr);
  FOVEA_RETURN_IF_ERROR(call.check_weights());
  return call.resolve_out(call.place(workspace), step);
}

}  // namespace fovea

extern "C" fovea_status fovea_multihead_plan_init(fovea_multihead_plan* plan, const fovea_multihead_desc* desc) {
  if (!plan || !desc) return FOVEA_ERR_NULL;
  return fovea::make_multihead_plan(*desc, FOVEA_TARGET_BEST, &fovea::made(*plan));
}

extern "C" fovea_status fovea_multihead_workspace_bytes(const fovea_multihead_plan* plan, size_t* bytes) {
  if (!plan || !bytes) return FOVEA_ERR_NULL;
  if (!fovea::is_multihead_plan(fovea::made(*plan))) return FOVEA_ERR_PLAN;
  *bytes = fovea::made(*plan).workspace_bytes;
  return FOVEA_OK;
}

extern "C" const fovea_multihead_desc* fovea_multihead_plan_desc(const fovea_multihead_plan* plan) {
  return plan && fovea::is_multihead_plan(fovea::made(*plan)) ? &fovea::made(*plan).desc : nullptr;
}

extern "C" fovea_status fovea_multihead_workspace_bytes_for(const fovea_multihead_desc* desc, fovea_target target,
                                                            size_t* bytes) {
  return fovea::most_workspace<fovea::MadeMultiheadPlan, fovea::make_multihead_plan>(desc, target, bytes);
}

namespace {

// Not inlined: the stack of the first is free when the second begins.
__attribute__((noinline)) fovea_status project(const fovea::MadeMultiheadPlan& plan, const fovea_multihead_args& args,
                                               void* workspace, fovea::MadeCache* append_to) {
  fovea::ProjectionSteps steps;
  const fovea_status status = fovea::resolve_projections(plan, args, workspace, append_to, &steps);
  return status == FOVEA_OK ? fovea::run_projections(&steps, append_to) : status;
}
__attribute__((noinline)) fovea_status attend(const fovea::MadeMultiheadPlan& plan, const fovea_multihead_args& args,
                                              void* workspace) {
  union {
    fovea::AttentionStep attention;
    fovea::LinearStep out;
  };
  fovea_status status = fovea::resolve_attention_step(plan, args, workspace, &attention);
  if (status == FOVEA_OK) status = fovea::run_attention_step(plan.attention, attention);
  if (status == FOVEA_OK) status = fovea::resolve_out_step(plan, args, workspace, &out);
  return status == FOVEA_OK ? fovea::run_linear_step(&out) : status;
}

}  // namespace

extern "C" fovea_status fovea_multihead(const fovea_multihead_plan* plan, const fovea_multihead_args* args,
                                        void* workspace, size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea_status status = fovea::check_multihead(fovea::made(*plan), *args, workspace, workspace_bytes, nullptr);
  if (status == FOVEA_OK) status = project(fovea::made(*plan), *args, workspace, nullptr);
  return status == FOVEA_OK ? attend(fovea::made(*plan), *args, workspace) : status;
}

extern "C" fovea_status fovea_multihead_append(const fovea_multihead_plan* plan, fovea_kv_cache* cache,
                                               const fovea_multihead_args* args, void* workspace,
                                               size_t workspace_bytes) {
  if (!plan || !args) return FOVEA_ERR_NULL;
  fovea_status status = fovea::check_cache(cache);
  if (status != FOVEA_OK) return status;
  fovea::MadeCache& c = fovea::made(*cache);
  status = fovea::check_multihead(fovea::made(*plan), *args, workspace, workspace_bytes, &c);
  return status == FOVEA_OK ? project(fovea::made(*plan), *args, workspace, &c) : status;
}
