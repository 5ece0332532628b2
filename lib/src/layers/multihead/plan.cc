// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/multihead/layer_resolve.h"

#include "core/attention/plan.h"
#include "ground/base/buffers.h"
#include "ground/base/carver.h"
#include "layers/linear/resolve.h"

namespace fovea {
namespace {

constexpr uint32_t kMultiheadMagic = magic_of("multihead plan");

bool is_f32_or_i8(fovea_dtype dtype) { return dtype == FOVEA_F32 || dtype == FOVEA_I8; }

// A tensor of the layer is f32, or I8 with one scale. Attention checks the scales in its description.
fovea_status check_tensors(const fovea_multihead_desc& m) {
  const fovea_attention_desc& d = m.attention;
  if (!is_f32_or_i8(m.x_dtype) || !is_f32_or_i8(m.y_dtype) || !is_f32_or_i8(d.q_dtype) || !is_f32_or_i8(d.out_dtype)) {
    return FOVEA_ERR_UNSUPPORTED;
  }
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(m.x_scale, m.x_zero_point, m.x_dtype));
  FOVEA_RETURN_IF_ERROR(check_scale_and_zero(m.y_scale, m.y_zero_point, m.y_dtype));
  const bool x = m.x_scale != 0.0f, y = m.y_scale != 0.0f, q = d.q_scale != 0.0f;
  if ((m.x_dtype == FOVEA_I8 && !x) || (m.y_dtype == FOVEA_I8 && !y)) return FOVEA_ERR_NUMBER;
  const bool any = x || y || q || d.key_scale != 0.0f || d.value_scale != 0.0f || d.out_scale != 0.0f;
  if (any && m.linear_compute != FOVEA_COMPUTE_I8) return FOVEA_ERR_UNSUPPORTED;
  return d.q_dtype == FOVEA_I8 && !q ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK;
}

fovea_status check_desc(const fovea_multihead_desc& m) {
  const fovea_attention_desc& d = m.attention;
  FOVEA_RETURN_IF_ERROR(check_struct(m));
  if (d.struct_bytes != sizeof d) return FOVEA_ERR_STRUCT;  // its size is a part of that of m
  if (!is_dtype(m.weight_dtype) || uint32_t(m.linear_compute) > FOVEA_COMPUTE_F16) return FOVEA_ERR_ENUM;
  if (!is_dtype(m.x_dtype) || !is_dtype(m.y_dtype)) return FOVEA_ERR_ENUM;
  if (d.kv_kind == FOVEA_KV_LOAD) return FOVEA_ERR_UNSUPPORTED;
  FOVEA_RETURN_IF_ERROR(check_tensors(m));
  // A linear layer counts these in 32 bits.
  const Widths widths(d);
  return widths.q > INT32_MAX || widths.out > INT32_MAX || widths.all() > INT32_MAX ? FOVEA_ERR_SIZE : FOVEA_OK;
}

// The workspace that the steps of a call share. It is enough for attention, for each linear layer, and for the keys,
// or the values, of one token that is appended to a cache. Not inlined, so that planning attention needs less stack.
__attribute__((noinline)) fovea_status measure_shared(const MadeMultiheadPlan& plan, uint64_t tokens,
                                                      const Widths& widths, CheckedSize* bytes) {
  const fovea_multihead_desc& m = plan.desc;
  *bytes = CheckedSize{size_t(rotates_values(m.attention) && widths.v > widths.k ? widths.v : widths.k)};
  bytes->times(sizeof(float)).aligned();
  if (plan.attention.workspace_bytes > bytes->value) bytes->value = plan.attention.workspace_bytes;
  fovea_linear_args a = {};
  a.struct_bytes = sizeof a;
  a.target = plan.attention.desc.target;
  a.processor_features = m.attention.processor_features;
  a.portable_bits = m.attention.portable_bits;
  a.compute = m.linear_compute;
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

}  // namespace

fovea_status make_multihead_plan(const fovea_multihead_desc& desc, fovea_target target, MadeMultiheadPlan* plan) {
  FOVEA_RETURN_IF_ERROR(check_desc(desc));
  MadeMultiheadPlan made = {};  // desc may be plan->desc
  made.desc = desc;
  made.desc.struct_bytes = sizeof made.desc;
  FOVEA_RETURN_IF_ERROR(target == FOVEA_TARGET_BEST ? make_plan(desc.attention, &made.attention)
                                                    : make_plan_for(desc.attention, target, &made.attention));
  const fovea_attention_desc& d = made.attention.desc;
  const Widths widths(d);
  fovea_multihead_desc& m = made.desc;
  m.attention = d;
  if (m.d_model == 0) m.d_model = uint32_t(widths.q);
  if (m.key_model == 0) m.key_model = m.d_model;
  if (m.value_model == 0) m.value_model = m.key_model;
  if (m.max_new_tokens == 0) m.max_new_tokens = most_kept(d);
  made.magic = kMultiheadMagic;

  const uint64_t q_rows = uint64_t(d.max_batch) * d.max_q_tokens, k_rows = uint64_t(d.max_batch) * m.max_new_tokens;
  CheckedSize shared;
  FOVEA_RETURN_IF_ERROR(measure_shared(made, q_rows > k_rows ? q_rows : k_rows, widths, &shared));
  if (q_rows > SIZE_MAX || k_rows > SIZE_MAX) return FOVEA_ERR_SIZE;
  Carver carver(nullptr);  // one array of packed projections is not larger than these
  const auto unit = [](const float& scale) { return Tensor::of(scale, 0).unit_bytes(); };
  carver.take(size_t(q_rows), size_t(widths.q), unit(d.q_scale));
  carver.take(size_t(q_rows), size_t(widths.out), unit(d.out_scale));
  carver.take(size_t(k_rows), size_t(widths.k), unit(d.key_scale));
  carver.take(size_t(k_rows), size_t(widths.v), unit(d.value_scale));
  const CheckedSize all = carver.slow_bytes().plus(shared);
  if (all.overflow) return FOVEA_ERR_SIZE;
  made.shared_bytes = shared.value;
  made.workspace_bytes = all.value;
  *plan = made;
  return FOVEA_OK;
}

bool is_multihead_plan(const MadeMultiheadPlan& plan) { return plan.magic == kMultiheadMagic; }

}  // namespace fovea
