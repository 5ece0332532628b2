// SPDX-License-Identifier: Apache-2.0
#include "bench/rows.h"

#include <initializer_list>

namespace fovea::bench {
namespace {

constexpr uint32_t kWidth = 4;  // of the convolution
constexpr float kEpsilon = 1e-6f;

bool has_other(const RowsShape& s) {
  return s.layer == RowsLayer::kGatedNorm || s.layer == RowsLayer::kSwiGlu || s.layer == RowsLayer::kResidualNorm;
}

template <class Args>
void put_rows(const RowsShape& s, fovea_target target, float* y, const float* x, Args* args) {
  args->struct_bytes = sizeof *args;
  args->target = target;
  args->batch = args->heads = 1;
  args->tokens = s.tokens;
  args->dim = s.dim;
  args->y = {y, 0, 0, static_cast<ptrdiff_t>(s.dim)};
  args->x = {x, 0, 0, static_cast<ptrdiff_t>(s.dim)};
}

}  // namespace

Work work_of(const RowsShape& s) {
  Work work = {};
  work.bytes = work.working_set_bytes = 4.0 * s.tokens * s.dim * (has_other(s) ? 3 : 2);
  work.row_fill = 1;
  return work;
}

void RowsCall::take(const RowsShape& s, Arena& arena) {
  shape_ = s;
  out_count_ = size_t{s.tokens} * s.dim;
  x_.take(arena, out_count_, 3.0f);
  other_.take(arena, has_other(s) ? out_count_ : 0, 3.0f);
  weight_.take(arena, size_t{s.dim} * kWidth, 1.0f);
  state_.take(arena, size_t{s.dim} * (kWidth - 1), 3.0f);
  out_ = arena.take<float>(out_count_);
}

void RowsCall::describe(fovea_target target) {
  const fovea_in other = {other_.data(), 0, 0, static_cast<ptrdiff_t>(shape_.dim)};
  put_rows(shape_, target, out_, x_.data(), &norm_);
  const bool layer_norm = shape_.layer == RowsLayer::kLayerNorm || shape_.layer == RowsLayer::kResidualNorm;
  norm_.norm = layer_norm ? FOVEA_NORM_LAYER : shape_.layer == RowsLayer::kL2Norm ? FOVEA_NORM_L2 : FOVEA_NORM_RMS;
  if (layer_norm) norm_.bias = weight_.data() + shape_.dim;
  if (shape_.layer == RowsLayer::kResidualNorm) norm_.residual = other;
  norm_.epsilon = kEpsilon;
  if (shape_.layer != RowsLayer::kL2Norm) norm_.weight = weight_.data();
  if (shape_.layer == RowsLayer::kGatedNorm) norm_.gate = other, norm_.gate_activation = FOVEA_ACTIVATION_SILU;
  put_rows(shape_, target, out_, x_.data(), &activation_);
  activation_.activation = shape_.layer == RowsLayer::kGelu ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_SILU;
  if (shape_.layer == RowsLayer::kSwiGlu) activation_.factor = other;
  conv_.struct_bytes = sizeof conv_;
  conv_.target = target;
  conv_.batch = 1;
  conv_.tokens = shape_.tokens;
  conv_.channels = shape_.dim;
  conv_.kernel_size = kWidth;
  conv_.silu = 1;
  conv_.y = out_;
  conv_.x = x_.data();
  conv_.y_token_stride = conv_.x_token_stride = static_cast<ptrdiff_t>(shape_.dim);
  conv_.y_channel_stride = conv_.x_channel_stride = 1;
  conv_.weight = weight_.data();
  conv_.weight_stride = kWidth;
  conv_.state = state_.data();
}

fovea_status RowsCall::init(const RowsShape& s, fovea_target target, Arena& arena) {
  take(s, arena);
  if (!out_) return status_ = FOVEA_ERR_SIZE;
  for (RandomFloats* array : {&x_, &other_, &weight_, &state_}) array->draw_all();
  describe(target);
  call();
  return status_;
}

fovea_status RowsCall::call_once() const {
  switch (shape_.layer) {
    case RowsLayer::kConv1d: return fovea_conv1d(&conv_);
    case RowsLayer::kGelu:
    case RowsLayer::kSwiGlu: return fovea_activation(&activation_);
    default: return fovea_norm(&norm_);
  }
}

void RowsCall::call() { note(call_once()); }

void RowsCall::redraw(uint32_t round) { x_.draw_some(round); }

}  // namespace fovea::bench
