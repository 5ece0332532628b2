// SPDX-License-Identifier: Apache-2.0
//
// A call of a multi-head layer, from which the steps of layers/multihead/call.h are made.
#ifndef FOVEA_SRC_MULTIHEAD_LAYER_RESOLVE_H_
#define FOVEA_SRC_MULTIHEAD_LAYER_RESOLVE_H_

#include "core/attention/plan.h"
#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "layers/linear/call.h"
#include "layers/multihead/call.h"

namespace fovea {

// What is in the storage of a plan.
struct MadeMultiheadPlan {
  uint32_t magic;
  size_t shared_bytes;        // of workspace, which attention and the linear layers use one after the other
  size_t workspace_bytes;     // in all
  fovea_multihead_desc desc;  // each 0 that stands for a default is replaced by the default
  MadePlan attention;         // of the attention between the linear layers
};
static_assert(sizeof(MadeMultiheadPlan) <= sizeof(fovea_multihead_plan) && alignof(MadeMultiheadPlan) <= 8);

inline MadeMultiheadPlan& made(fovea_multihead_plan& plan) { return *reinterpret_cast<MadeMultiheadPlan*>(plan.bytes); }
inline const MadeMultiheadPlan& made(const fovea_multihead_plan& plan) {
  return *reinterpret_cast<const MadeMultiheadPlan*>(plan.bytes);
}

// Elements of one token in each projection.
struct Widths {
  uint64_t q, k, v, out;

  explicit Widths(const fovea_attention_desc& d)
      : q(uint64_t(d.q_heads) * d.head_dim),
        k(uint64_t(d.kv_heads) * d.head_dim),
        v(uint64_t(d.kv_heads) * d.value_dim),
        out(uint64_t(d.q_heads) * d.value_dim) {}
  uint64_t all() const { return q + k + v; }
};

// What the elements of an array are: f32, or codes of I8 with one scale and one zero point.
struct Tensor {
  const float* scale;  // null = f32. It points into the plan
  int32_t zero;

  // A scale of 0 means f32.
  static Tensor of(const float& scale, int32_t zero) {
    return kHasI8Linear && scale != 0.0f ? Tensor{&scale, zero} : Tensor{nullptr, 0};
  }
  bool is_i8() const { return kHasI8Linear && scale; }
  size_t unit_bytes() const { return is_i8() ? sizeof(int8_t) : sizeof(float); }
  bool operator==(const Tensor& other) const {
    if (!is_i8() || !other.is_i8()) return is_i8() == other.is_i8();
    return *scale == *other.scale && zero == other.zero;
  }
};

// Rows [batch][tokens].
struct Tokens {
  void* data;
  uint32_t batch, count;
  ptrdiff_t batch_stride, token_stride;
  Tensor tensor;

  fovea_in heads(size_t dim) const { return {data, batch_stride, ptrdiff_t(dim), token_stride}; }
  fovea_out heads_out(size_t dim) const { return {data, batch_stride, ptrdiff_t(dim), token_stride}; }
  // Whether all rows, in the order of entries or of tokens, are the same distance apart.
  bool batch_is_outer() const;
  bool tokens_are_outer() const;
};

template <class Array>
Tokens tokens_of(const Array& array, uint32_t batch, uint32_t count, const Tensor& tensor) {
  return {const_cast<void*>(array.data), batch, count, array.batch_stride, array.token_stride, tensor};
}

// Where the projections of a call are, and the workspace that its steps share.
struct Places {
  Tokens q, k, v, o;
  bool packed;  // q, k and v are parts of the same rows
  Workspace shared;
};

// A call as it was given. Its functions are called in the order in which they are declared: those that check or resolve
// are in resolve.cc, the others in layer_resolve.cc.
class LayerCall {
 public:
  LayerCall(const MadeMultiheadPlan& plan, const fovea_multihead_args& args, const MadeCache* append_to)
      : plan_(plan), d_(plan.attention.desc), args_(args), append_to_(append_to), widths_(d_) {}

  fovea_status check_counts() const;
  fovea_status check_weights();
  fovea_status check_memory(void* workspace, size_t workspace_bytes) const;
  Places place(void* workspace) const;
  fovea_status resolve_linear_steps(const Places& places, ProjectionSteps* steps) const;
  fovea_status resolve_append(const Places& places, AppendCall* append) const;
  fovea_status resolve_turns(const Places& places, ProjectionSteps* steps) const;
  fovea_status resolve_attention(const Places& places, AttentionStep* step) const;
  fovea_status resolve_out(const Places& places, LinearStep* step) const;

 private:
  bool attends() const { return append_to_ == nullptr; }
  // That of the arguments is read once check_cache has seen it. Null = none.
  const MadeCache* cache() const { return append_to_ ? append_to_ : args_.cache ? &made(*args_.cache) : nullptr; }
  bool projects_keys() const { return append_to_ || !args_.cache; }
  // The linear layers, and which of them this call uses.
  struct Linear {
    bool used;
    const fovea_linear_weights& weights;
    uint64_t in, out;
    Tensor from, to;
  };
  struct FourLinears {
    Linear all[4];
  };
  FourLinears linears() const {
    const fovea_multihead_desc& m = plan_.desc;
    return {{{attends(), w_.q, m.d_model, widths_.q, in_tensor(), q_tensor()},
             {projects_keys(), w_.k, m.key_model, widths_.k, in_tensor(), k_tensor()},
             {projects_keys(), w_.v, m.value_model, widths_.v, in_tensor(), v_tensor()},
             {attends(), w_.out, widths_.out, m.d_model, o_tensor(), out_tensor()}}};
  }
  // The formats of x, keys and values; of their projections; of the heads' outputs; of y.
  Tensor in_tensor() const { return Tensor::of(plan_.desc.x_scale, plan_.desc.x_zero_point); }
  Tensor q_tensor() const { return Tensor::of(d_.q_scale, d_.q_zero_point); }
  Tensor k_tensor() const { return Tensor::of(d_.key_scale, d_.key_zero_point); }
  Tensor v_tensor() const { return Tensor::of(d_.value_scale, d_.value_zero_point); }
  Tensor o_tensor() const { return Tensor::of(d_.out_scale, d_.out_zero_point); }
  Tensor out_tensor() const { return Tensor::of(plan_.desc.y_scale, plan_.desc.y_zero_point); }
  Tokens x() const { return tokens_of(args_.x, args_.batch, args_.q_tokens, in_tensor()); }
  Tokens y() const { return tokens_of(args_.y, args_.batch, args_.q_tokens, out_tensor()); }
  Tokens keys() const {
    return args_.keys.data ? tokens_of(args_.keys, args_.batch, args_.kv_tokens, in_tensor()) : x();
  }
  Tokens values() const {
    return args_.values.data ? tokens_of(args_.values, args_.batch, args_.kv_tokens, in_tensor()) : keys();
  }
  // The most tokens that the cache has in an entry of the call.
  uint32_t longest() const;
  // The tokens that are attended to.
  uint32_t kv_tokens() const { return (args_.cache ? longest() : keys().count) + (prefixes() ? most_prefix(d_) : 0); }
  const fovea_kv_prefix* const* prefixes() const { return attends() ? args_.attention.kv.prefixes : nullptr; }

  void add_outputs(Buffers& buffers) const;
  fovea_status add_options(Buffers& buffers) const;
  fovea_status resolve_step(const fovea_linear_weights& weights, const Tokens& x, uint32_t in_dim, const Tokens& y,
                            uint64_t out_dim, const Workspace& shared, LinearStep* step) const;
  fovea_status resolve_turn(const Tokens& from, const Tokens& to, uint32_t heads, RopeCall* turn) const;

  const MadeMultiheadPlan& plan_;
  const fovea_attention_desc& d_;
  const fovea_multihead_args& args_;
  const MadeCache* append_to_;
  const Widths widths_;
  fovea_multihead_weights w_ = {};  // q, k and v point into qkv where that is given
};

// Plans for this machine or, if target is not FOVEA_TARGET_BEST, for a machine with that target.
fovea_status make_multihead_plan(const fovea_multihead_desc& desc, fovea_target target, MadeMultiheadPlan* plan);
[[gnu::pure]] bool is_multihead_plan(const MadeMultiheadPlan& plan);

}  // namespace fovea

#endif  // FOVEA_SRC_MULTIHEAD_LAYER_RESOLVE_H_
