// SPDX-License-Identifier: Apache-2.0
#include "bench/delta.h"

#include <cmath>
#include <initializer_list>

namespace fovea::bench {
namespace {

constexpr float kUnitVariance = 1.7320508f;               // half the width of a spread of variance 1
constexpr float kDecaySpread = 0.1f, kBetaSpread = 0.5f;  // decays are e^-0.2 to 1, betas 0 to 1

// Strides of [batch][tokens][heads][dim].
template <class Array, class T>
Array tokens_first(T* data, const DeltaShape& s, uint32_t dim) {
  const auto row = static_cast<ptrdiff_t>(dim), token = row * static_cast<ptrdiff_t>(s.heads);
  return {data, token * static_cast<ptrdiff_t>(s.tokens), row, token};
}

}  // namespace

Work work_of(const DeltaShape& s, size_t workspace_bytes) {
  const double heads = static_cast<double>(s.batch) * s.heads;
  const double matrices = heads * s.head_dim * s.value_dim;
  const double rows = heads * s.tokens * (2.0 * s.head_dim + 2.0 * s.value_dim + s.decay_dim + 1);
  const double passes = s.tokens == 1 ? 1.25 : 2;
  Work work = {};
  work.flops = 2 * 3 * matrices * s.tokens;
  work.bytes = 4 * (passes * matrices + rows);
  work.working_set_bytes = 4 * (matrices + rows) + static_cast<double>(workspace_bytes);
  work.row_fill = 1;
  return work;
}

void DeltaCall::take(const DeltaShape& s, fovea_target target, Arena& arena) {
  const size_t rows = size_t{s.batch} * s.heads * s.tokens;
  decay_count_ = rows * s.decay_dim, beta_count_ = rows, out_count_ = rows * s.value_dim;
  q_.take(arena, rows * s.head_dim, kUnitVariance);
  k_.take(arena, rows * s.head_dim, kUnitVariance / std::sqrt(static_cast<float>(s.head_dim)));
  v_.take(arena, rows * s.value_dim, kUnitVariance);
  decay_.take(arena, decay_count_, kDecaySpread);
  beta_.take(arena, beta_count_, kBetaSpread);
  out_ = arena.take<float>(out_count_);
  args_.struct_bytes = sizeof args_;
  args_.target = target;
  args_.rule = s.rule;
  args_.batch = s.batch;
  args_.q_heads = args_.k_heads = args_.v_heads = s.heads;
  args_.head_dim = s.head_dim;
  args_.value_dim = s.value_dim;
  args_.decay_dim = s.decay_dim;
  args_.tokens = s.tokens;
  args_.out = tokens_first<fovea_out>(out_, s, s.value_dim);
  args_.q = tokens_first<fovea_in>(q_.data(), s, s.head_dim);
  args_.k = tokens_first<fovea_in>(k_.data(), s, s.head_dim);
  args_.v = tokens_first<fovea_in>(v_.data(), s, s.value_dim);
  args_.decay = tokens_first<fovea_in>(decay_.data(), s, s.decay_dim);
  args_.beta = tokens_first<fovea_in>(beta_.data(), s, 1);
  state_bytes_ = bytes_of(fovea_delta_state_bytes, s.batch, s.heads, s.head_dim, s.value_dim, s.decay_dim);
  state_ = reinterpret_cast<fovea_delta_state*>(arena.take<unsigned char>(state_bytes_));
  workspace_bytes_ = bytes_of(fovea_delta_workspace_bytes, &args_);
  workspace_ = arena.take<unsigned char>(workspace_bytes_);
}

fovea_status DeltaCall::init(const DeltaShape& s, fovea_target target, Arena& arena) {
  take(s, target, arena);
  if (!workspace_) return status_ = FOVEA_ERR_SIZE;
  for (RandomFloats* array : {&q_, &k_, &v_, &decay_, &beta_}) array->draw_all();
  for (size_t i = 0; i < decay_count_; ++i) decay_.data()[i] -= kDecaySpread;
  for (size_t i = 0; i < beta_count_; ++i) beta_.data()[i] += kBetaSpread;
  status_ = fovea_delta_begin(state_, state_bytes_, s.batch, s.heads, s.head_dim, s.value_dim, s.decay_dim);
  if (status_ == FOVEA_OK) call();
  return status_;
}

void DeltaCall::call() { note(fovea_delta(state_, &args_, workspace_, workspace_bytes_)); }

void DeltaCall::redraw(uint32_t round) {
  for (RandomFloats* array : {&q_, &k_, &v_}) array->draw_some(round);
}

}  // namespace fovea::bench
