// SPDX-License-Identifier: Apache-2.0
//
// A multi-head layer as the calls that it is made of: their arguments, where projections lie in the workspace, and
// every check before the first of them runs.
#include "multihead/plan.h"

#include "attention/plan.h"
#include "base/buffers.h"
#include "cache/resolve.h"
#include "linear/resolve.h"
#include "rope/resolve.h"
#include "targets/registry.h"

namespace fovea {
namespace {

constexpr uint32_t kMultiheadMagic = 0x666d6800u + FOVEA_VERSION;

// Elements of a token, in each projection.
struct Widths {
  uint64_t q, k, v, out;

  explicit Widths(const fovea_attention_desc& d)
      : q(uint64_t(d.q_heads) * d.head_dim),
        k(uint64_t(d.kv_heads) * d.head_dim),
        v(uint64_t(d.kv_heads) * d.value_dim),
        out(uint64_t(d.q_heads) * d.value_dim) {}
  uint64_t all() const { return q + k + v; }
};

// What the steps of a call share: workspace for attention, for any of the linear layers, and for a token of keys on its
// way into a cache. Not inlined, so that attention is planned on a smaller stack.
__attribute__((noinline)) fovea_status measure_shared(const fovea_multihead_plan& plan, uint64_t tokens,
                                                      const Widths& widths, CheckedSize* bytes) {
  const fovea_multihead_desc& m = plan.desc;
  *bytes = CheckedSize{size_t(widths.k)};
  bytes->times(sizeof(float)).aligned();
  if (plan.attention.workspace_bytes > bytes->value) bytes->value = plan.attention.workspace_bytes;
  fovea_linear_args a = {};
  a.struct_bytes = sizeof a;
  a.target = plan.attention.desc.target;
  a.portable_bits = m.attention.portable_bits;
  a.tokens = tokens < kMostTokens ? uint32_t(tokens) : kMostTokens;
  a.out_dim = 1;
  a.weights.dtype = m.weight_dtype;
  const uint32_t models[] = {m.d_model, m.key_model, m.value_model, uint32_t(widths.out)};
  for (const uint32_t in_dim : models) {
    a.in_dim = in_dim;
    LinearPlan linear;
    FOVEA_RETURN_IF_ERROR(plan_linear(a, &linear));
    CheckedSize layer{linear.worker_bytes};
    if (layer.times(worker_count(m.attention)).overflow) return FOVEA_ERR_SIZE;
    if (layer.value > bytes->value) bytes->value = layer.value;
  }
  return FOVEA_OK;
}

// Tokens [batch][tokens] of f32.
struct Tokens {
  float* data;
  uint32_t batch, count;
  ptrdiff_t batch_stride, token_stride;

  fovea_in heads(size_t dim) const { return {data, batch_stride, ptrdiff_t(dim), token_stride}; }
  fovea_out heads_out(size_t dim) const { return {data, batch_stride, ptrdiff_t(dim), token_stride}; }
};

template <class Array>
Tokens tokens_of(const Array& array, uint32_t batch, uint32_t count) {
  return {static_cast<float*>(const_cast<void*>(array.data)), batch, count, array.batch_stride, array.token_stride};
}

bool is_product(ptrdiff_t product, uint32_t a, ptrdiff_t b) {
  ptrdiff_t exact;
  return !__builtin_mul_overflow(ptrdiff_t(a), b, &exact) && exact == product;
}
bool batch_is_outer(const Tokens& x) { return x.batch == 1 || is_product(x.batch_stride, x.count, x.token_stride); }
bool tokens_are_outer(const Tokens& x) { return x.count == 1 || is_product(x.token_stride, x.batch, x.batch_stride); }

// A dense array for these tokens, in their order in memory, so that one linear layer may make all of it.
Tokens dense_like(const Tokens& x, float* data, ptrdiff_t width) {
  if (!batch_is_outer(x) && tokens_are_outer(x)) return {data, x.batch, x.count, width, width * ptrdiff_t(x.batch)};
  return {data, x.batch, x.count, width * ptrdiff_t(x.count), width};
}

// A call as it is laid out.
class Layout {
 public:
  Layout(const fovea_multihead_plan& plan, const fovea_multihead_args& args, const fovea_kv_cache* append_to)
      : plan_(plan), d_(plan.attention.desc), args_(args), append_to_(append_to), widths_(d_) {}

  fovea_status check_counts() const;
  fovea_status check_weights();
  fovea_status check_memory(void* workspace, size_t workspace_bytes) const;
  void lay_out(void* workspace, MultiheadSteps* steps) const;

 private:
  bool attends() const { return append_to_ == nullptr; }
  bool projects_keys() const { return append_to_ || !args_.cache; }
  // The linear layers of this call.
  struct Layer {
    bool used;
    const fovea_linear_weights& weights;
    uint64_t in, out;
  };
  struct Layers {
    Layer all[4];
  };
  Layers layers() const {
    const fovea_multihead_desc& m = plan_.desc;
    return {{{attends(), w_.q, m.d_model, widths_.q},
             {projects_keys(), w_.k, m.key_model, widths_.k},
             {projects_keys(), w_.v, m.value_model, widths_.v},
             {attends(), w_.out, widths_.out, m.d_model}}};
  }
  Tokens x() const { return tokens_of(args_.x, args_.batch, args_.q_tokens); }
  Tokens y() const { return tokens_of(args_.y, args_.batch, args_.q_tokens); }
  Tokens keys() const { return args_.keys.data ? tokens_of(args_.keys, args_.batch, args_.kv_tokens) : x(); }
  Tokens values() const { return args_.values.data ? tokens_of(args_.values, args_.batch, args_.kv_tokens) : keys(); }

  fovea_status add_outputs(Buffers& buffers) const;
  fovea_status add_options(Buffers& buffers) const;
  uint32_t longest() const;
  uint32_t kv_tokens() const { return args_.cache ? longest() : keys().count; }  // that are attended to
  LinearStep linear_step(const fovea_linear_weights& weights, const Tokens& x, uint32_t in_dim, const Tokens& y,
                         uint64_t out_dim) const;
  fovea_rope_args turning(const Tokens& from, const Tokens& to, uint32_t heads) const;
  void lay_out_append(const Tokens& k, const Tokens& v, MultiheadSteps* steps) const;

  const fovea_multihead_plan& plan_;
  const fovea_attention_desc& d_;
  const fovea_multihead_args& args_;
  const fovea_kv_cache* append_to_;
  const Widths widths_;
  fovea_multihead_weights w_ = {};  // with those of qkv in their places
};

fovea_status Layout::check_counts() const {
  if (args_.struct_bytes != sizeof args_ || args_.attention.struct_bytes != sizeof args_.attention) {
    return FOVEA_ERR_STRUCT;
  }
  if (args_.rope && args_.rope->struct_bytes != sizeof *args_.rope) return FOVEA_ERR_STRUCT;
  const fovea_attention_args& a = args_.attention;
  if (config::kExecutor && a.executor && a.executor->workers > worker_count(d_)) return FOVEA_ERR_CAPACITY;
  if (args_.batch > d_.max_batch) return FOVEA_ERR_CAPACITY;
  if (attends()) {
    if (a.slow_workspace || a.slow_workspace_bytes || a.q_offsets || a.kv_offsets) return FOVEA_ERR_UNSUPPORTED;
    if (args_.q_tokens > d_.max_q_tokens) return FOVEA_ERR_CAPACITY;
  }
  if (projects_keys()) {
    if (keys().count > plan_.desc.max_new_tokens) return FOVEA_ERR_CAPACITY;
    return values().count != keys().count ? FOVEA_ERR_SIZE : FOVEA_OK;
  }
  const fovea_kv_cache& c = *args_.cache;
  FOVEA_RETURN_IF_ERROR(check_cache(&c));
  if (args_.keys.data || args_.values.data || a.kv_lengths) return FOVEA_ERR_UNSUPPORTED;
  return args_.batch > c.batch ? FOVEA_ERR_CAPACITY : FOVEA_OK;
}

// A cache as the description has it.
fovea_status check_cache_shape(const fovea_attention_desc& d, const fovea_kv_cache& c) {
  const bool same = c.kind == d.kv_kind && c.key_dtype == d.key_dtype && c.value_dtype == d.value_dtype &&
                    c.kv_heads == d.kv_heads && c.head_dim == d.head_dim && c.value_dim == d.value_dim &&
                    c.page_tokens == d.page_tokens && !c.values_in_keys &&
                    (d.kv_kind != FOVEA_KV_RING ||
                     (c.max_tokens == d.ring_tokens && c.pinned_tokens == d.pinned_tokens));
  return same ? FOVEA_OK : FOVEA_ERR_SIZE;
}

// What is projected has the elements that its layer, or the heads where there is none, take.
fovea_status Layout::check_weights() {
  const fovea_multihead_desc& m = plan_.desc;
  w_ = args_.weights;
  if (const fovea_kv_cache* cache = append_to_ ? append_to_ : args_.cache) {
    FOVEA_RETURN_IF_ERROR(check_cache_shape(d_, *cache));
  } else if (d_.kv_kind != FOVEA_KV_STRIDED || d_.key_dtype != FOVEA_F32 || d_.value_dtype != FOVEA_F32) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  if (w_.qkv.data) {
    if (w_.q.data || w_.k.data || w_.v.data) return FOVEA_ERR_UNSUPPORTED;
    if (m.key_model != m.d_model || m.value_model != m.d_model) return FOVEA_ERR_SIZE;
    const Dimensions rows = {{1, 0}, {1, 0}, {size_t(widths_.all()), w_.qkv.row_stride}, {m.d_model, 1}};
    Span span;
    FOVEA_RETURN_IF_ERROR(check_array(w_.qkv.data, unit_bytes(m.weight_dtype), rows, false, &span));
    const auto rows_from = [&](uint64_t first) {
      fovea_linear_weights part = w_.qkv;
      part.data = static_cast<const char*>(part.data) +
                  ptrdiff_t(first) * part.row_stride * ptrdiff_t(unit_bytes(m.weight_dtype));
      if (part.scales) part.scales += first;
      if (part.bias) part.bias += first;
      return part;
    };
    w_.q = w_.qkv;
    w_.k = rows_from(widths_.q);
    w_.v = rows_from(widths_.q + widths_.k);
  }
  // x is keys or values where these are not given, and must then be as wide.
  const uint32_t key_elements = args_.keys.data ? m.key_model : m.d_model;
  const uint32_t value_elements = args_.values.data ? m.value_model : key_elements;
  if (projects_keys() && (key_elements != m.key_model || value_elements != m.value_model)) return FOVEA_ERR_SIZE;
  for (const Layer& layer : layers().all) {
    if (!layer.used) continue;
    if (!layer.weights.data && (layer.weights.bias || layer.weights.scales)) return FOVEA_ERR_NULL;
    if (!layer.weights.data && layer.in != layer.out) return FOVEA_ERR_SIZE;
    if (layer.weights.data && layer.weights.dtype != m.weight_dtype) return FOVEA_ERR_UNSUPPORTED;
  }
  return FOVEA_OK;
}

// The most tokens that the cache holds of an entry of the call.
uint32_t Layout::longest() const {
  uint32_t most = 0;
  for (uint32_t b = 0; b < args_.batch; ++b) {
    if (args_.cache->lengths[b] > most) most = args_.cache->lengths[b];
  }
  return most;
}

// Outputs and the workspace are apart from all that any step reads: steps check only what they write themselves.
fovea_status Layout::check_memory(void* workspace, size_t workspace_bytes) const {
  const fovea_multihead_desc& m = plan_.desc;
  if (!workspace) return FOVEA_ERR_NULL;
  if (!is_aligned(workspace, FOVEA_WORKSPACE_ALIGNMENT)) return FOVEA_ERR_ALIGNMENT;
  if (workspace_bytes < plan_.workspace_bytes) return FOVEA_ERR_WORKSPACE;
  Buffers buffers;
  FOVEA_RETURN_IF_ERROR(buffers.add_memory(workspace, workspace_bytes));
  if (attends()) FOVEA_RETURN_IF_ERROR(add_outputs(buffers));
  if (const fovea_kv_cache* cache = append_to_ ? append_to_ : args_.cache) {
    FOVEA_RETURN_IF_ERROR(buffers.add_list(cache->memory, 1, cache->memory_bytes));
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
    FOVEA_RETURN_IF_ERROR(buffers.add_input(t.heads(0), sizeof(float), t.batch, 1, t.count, array.dim));
  }
  for (const Layer& layer : layers().all) {
    const fovea_linear_weights& w = layer.weights;
    if (!layer.used || !w.data) continue;
    const fovea_in rows = {w.data, 0, 0, w.row_stride};
    FOVEA_RETURN_IF_ERROR(buffers.add_input(rows, unit_bytes(w.dtype), 1, 1, size_t(layer.out), size_t(layer.in)));
    FOVEA_RETURN_IF_ERROR(buffers.add_list(w.scales, sizeof(float), size_t(layer.out)));
    FOVEA_RETURN_IF_ERROR(buffers.add_list(w.bias, sizeof(float), size_t(layer.out)));
  }
  if (const fovea_rope_args* rope = args_.rope) {
    FOVEA_RETURN_IF_ERROR(add_rope_tables(buffers, *rope, d_.head_dim));
    FOVEA_RETURN_IF_ERROR(buffers.add_list(rope->positions, sizeof(int64_t), args_.batch));
  }
  return attends() ? add_options(buffers) : FOVEA_OK;
}

fovea_status Layout::add_outputs(Buffers& buffers) const {
  const fovea_attention_args& a = args_.attention;
  const Tokens y = this->y();
  FOVEA_RETURN_IF_ERROR(buffers.add_output(y.heads_out(0), sizeof(float), y.batch, 1, y.count, plan_.desc.d_model));
  if (a.lse.data) {
    FOVEA_RETURN_IF_ERROR(buffers.add_output(a.lse, sizeof(float), args_.batch, d_.q_heads, args_.q_tokens, 1));
  }
  if (a.scores_stage == FOVEA_SCORES_NONE) return FOVEA_OK;
  return buffers.add_output(a.scores, sizeof(float), args_.batch, d_.q_heads, args_.q_tokens, kv_tokens());
}

fovea_status Layout::add_options(Buffers& buffers) const {
  const fovea_attention_args& a = args_.attention;
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.kv_lengths, sizeof(uint32_t), args_.batch));
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.positions, sizeof(int64_t), args_.batch));
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.alibi_slopes, sizeof(float), d_.q_heads));
  FOVEA_RETURN_IF_ERROR(buffers.add_list(a.sinks, sizeof(float), d_.q_heads));
  if (a.score_vector) {
    const fovea_in vector = {a.score_vector, 0, a.score_vector_stride, 0};
    FOVEA_RETURN_IF_ERROR(buffers.add_input(vector, sizeof(float), 1, d_.kv_heads, 1, d_.head_dim));
  }
  return add_mask(buffers, a.mask, args_.batch, d_.q_heads, args_.q_tokens, kv_tokens());
}

LinearStep Layout::linear_step(const fovea_linear_weights& weights, const Tokens& x, uint32_t in_dim, const Tokens& y,
                               uint64_t out_dim) const {
  LinearStep step = {};
  if (!weights.data || x.batch == 0 || x.count == 0) return step;
  fovea_linear_args& a = step.args;
  a.struct_bytes = sizeof a;
  a.target = d_.target;
  a.portable_bits = d_.portable_bits;
  a.in_dim = in_dim;
  a.out_dim = uint32_t(out_dim);
  a.x = x.data;
  a.y = y.data;
  a.weights = weights;
  a.executor = args_.attention.executor;
  step.calls = 1;
  a.tokens = x.batch * x.count;
  a.x_stride = x.token_stride;
  a.y_stride = y.token_stride;
  if (uint64_t(x.batch) * x.count <= kMostTokens) {
    if (batch_is_outer(x) && batch_is_outer(y)) return step;
    if (tokens_are_outer(x) && tokens_are_outer(y)) {
      a.x_stride = x.batch_stride;
      a.y_stride = y.batch_stride;
      return step;
    }
  }
  step.calls = x.batch;
  a.tokens = x.count;
  step.x_step = x.batch_stride;
  step.y_step = y.batch_stride;
  return step;
}

// Heads are turned where they are, or into `to` where nothing projected them.
fovea_rope_args Layout::turning(const Tokens& from, const Tokens& to, uint32_t heads) const {
  fovea_rope_args turn = *args_.rope;
  turn.target = d_.target;
  turn.batch = from.batch;
  turn.heads = heads;
  turn.tokens = from.count;
  turn.dim = d_.head_dim;
  turn.in = from.heads(turn.dim);
  turn.out = to.heads_out(turn.dim);
  turn.token_positions = nullptr;
  turn.token_positions_stride = 0;
  return turn;
}

void Layout::lay_out_append(const Tokens& k, const Tokens& v, MultiheadSteps* steps) const {
  fovea_kv_append_args& a = steps->append;
  a.struct_bytes = sizeof a;
  a.target = d_.target;
  a.batch = args_.batch;
  a.tokens = k.count;
  a.keys = k.heads(d_.head_dim);
  a.values = v.heads(d_.value_dim);
  a.rope = args_.rope;
  a.workspace = steps->shared.fast;
  a.workspace_bytes = steps->shared.fast_bytes;
}

// The workspace: projections, then what the steps share. Packed projections are rows of one array.
void Layout::lay_out(void* workspace, MultiheadSteps* steps) const {
  *steps = {};
  const fovea_multihead_desc& m = plan_.desc;
  const bool packed = args_.weights.qkv.data && attends() && projects_keys() && !args_.keys.data && !args_.values.data;
  const bool turns = attends() && args_.rope;
  const size_t q_rows = size_t(args_.batch) * args_.q_tokens, k_rows = size_t(args_.batch) * keys().count;
  Carver carver(workspace);
  const auto project = [&](const Tokens& from, size_t rows, uint64_t width) {
    return dense_like(from, carver.take<float>(size_t(width), rows), ptrdiff_t(width));
  };
  Tokens q = x(), k = keys(), v = values(), o = y();
  if (packed) {
    q = k = v = project(x(), q_rows, widths_.all());
    k.data += widths_.q;
    v.data += widths_.q + widths_.k;
    steps->q = linear_step(w_.qkv, x(), m.d_model, q, widths_.all());
  } else {
    if (attends() && (w_.q.data || turns)) q = project(x(), q_rows, widths_.q);
    if (projects_keys() && (w_.k.data || turns)) k = project(keys(), k_rows, widths_.k);
    if (projects_keys() && w_.v.data) v = project(values(), k_rows, widths_.v);
    if (attends()) steps->q = linear_step(w_.q, x(), m.d_model, q, widths_.q);
    if (projects_keys()) steps->k = linear_step(w_.k, keys(), m.key_model, k, widths_.k);
    if (projects_keys()) steps->v = linear_step(w_.v, values(), m.value_model, v, widths_.v);
  }
  if (attends() && w_.out.data) {
    o = project(y(), q_rows, widths_.out);
    steps->out = linear_step(w_.out, o, uint32_t(widths_.out), y(), m.d_model);
  }
  steps->shared = {static_cast<char*>(workspace) + carver.slow_bytes().value, plan_.shared_bytes, nullptr, 0};
  if (!attends()) return lay_out_append(k, v, steps);

  steps->turns_q = turns;
  steps->turns_k = turns && projects_keys();
  if (steps->turns_q) steps->turn_q = turning(w_.q.data ? q : x(), q, d_.q_heads);
  if (steps->turns_k) steps->turn_k = turning(w_.k.data ? k : keys(), k, d_.kv_heads);
  fovea_attention_args& a = steps->attention;
  a = args_.attention;
  a.batch = args_.batch;
  a.q_tokens = args_.q_tokens;
  a.out = o.heads_out(d_.value_dim);
  a.q = q.heads(d_.head_dim);
  a.kv = {};
  a.kv_tokens = k.count;
  a.kv.keys = k.heads(d_.head_dim);
  a.kv.values = v.heads(d_.value_dim);
  if (!args_.cache) return;
  a.kv = args_.cache->source;
  a.kv_lengths = args_.cache->lengths;
  a.kv_tokens = longest();
}

fovea_status check_step(LinearStep* step, const Workspace& shared) {
  if (step->calls == 0) return FOVEA_OK;
  FOVEA_RETURN_IF_ERROR(plan_linear(step->args, &step->plan));
  return check_linear_args(step->args, step->plan, shared.fast, shared.fast_bytes);
}

fovea_status check_desc(const fovea_multihead_desc& m) {
  const fovea_attention_desc& d = m.attention;
  if (m.struct_bytes != sizeof m) return FOVEA_ERR_STRUCT;
  if (uint32_t(m.weight_dtype) > FOVEA_I4) return FOVEA_ERR_ENUM;
  if (d.q_dtype != FOVEA_F32 || d.out_dtype != FOVEA_F32 || d.kv_kind == FOVEA_KV_LOAD) return FOVEA_ERR_UNSUPPORTED;
  // What a linear layer counts in 32 bits.
  const Widths widths(d);
  return widths.q > INT32_MAX || widths.out > INT32_MAX || widths.all() > INT32_MAX ? FOVEA_ERR_SIZE : FOVEA_OK;
}

}  // namespace

fovea_status make_multihead_plan(const fovea_multihead_desc& desc, fovea_target target, fovea_multihead_plan* plan) {
  FOVEA_RETURN_IF_ERROR(check_desc(desc));
  fovea_multihead_plan made = {};  // desc may be that of *plan
  made.desc = desc;
  FOVEA_RETURN_IF_ERROR(target == FOVEA_TARGET_BEST ? make_plan(desc.attention, &made.attention)
                                                    : make_plan_for(desc.attention, target, &made.attention));
  const fovea_attention_desc& d = made.attention.desc;
  const Widths widths(d);
  fovea_multihead_desc& m = made.desc;
  m.attention = d;
  if (m.d_model == 0) m.d_model = uint32_t(widths.q);
  if (m.key_model == 0) m.key_model = m.d_model;
  if (m.value_model == 0) m.value_model = m.key_model;
  if (m.max_new_tokens == 0) m.max_new_tokens = d.max_kv_tokens;
  made.magic = kMultiheadMagic;

  const uint64_t q_rows = uint64_t(d.max_batch) * d.max_q_tokens, k_rows = uint64_t(d.max_batch) * m.max_new_tokens;
  CheckedSize shared;
  FOVEA_RETURN_IF_ERROR(measure_shared(made, q_rows > k_rows ? q_rows : k_rows, widths, &shared));
  if (q_rows > SIZE_MAX || k_rows > SIZE_MAX) return FOVEA_ERR_SIZE;
  Carver carver(nullptr);
  carver.take<float>(size_t(q_rows), size_t(widths.q));
  carver.take<float>(size_t(q_rows), size_t(widths.out));
  carver.take<float>(size_t(k_rows), size_t(widths.k));  // One array of packed projections is not larger than three.
  carver.take<float>(size_t(k_rows), size_t(widths.v));
  const CheckedSize all = carver.slow_bytes().plus(shared);
  if (all.overflow) return FOVEA_ERR_SIZE;
  made.shared_bytes = shared.value;
  made.workspace_bytes = all.value;
  *plan = made;
  return FOVEA_OK;
}

bool is_multihead_plan(const fovea_multihead_plan& plan) { return plan.magic == kMultiheadMagic; }

fovea_status plan_multihead_call(const fovea_multihead_plan& plan, const fovea_multihead_args& args, void* workspace,
                                 size_t workspace_bytes, const fovea_kv_cache* append_to, MultiheadSteps* steps) {
  if (!is_multihead_plan(plan)) return FOVEA_ERR_PLAN;
  Layout layout(plan, args, append_to);
  FOVEA_RETURN_IF_ERROR(layout.check_counts());
  FOVEA_RETURN_IF_ERROR(layout.check_weights());
  FOVEA_RETURN_IF_ERROR(layout.check_memory(workspace, workspace_bytes));
  layout.lay_out(workspace, steps);
  LinearStep* const linear[] = {&steps->q, &steps->k, &steps->v, &steps->out};
  for (LinearStep* step : linear) FOVEA_RETURN_IF_ERROR(check_step(step, steps->shared));
  if (append_to) return check_append(*append_to, steps->append);
  if (steps->turns_q) FOVEA_RETURN_IF_ERROR(check_rope_args(steps->turn_q));
  if (steps->turns_k) FOVEA_RETURN_IF_ERROR(check_rope_args(steps->turn_k));
  return check_attention_args(plan.attention, steps->attention, steps->shared, nullptr);
}

}  // namespace fovea
