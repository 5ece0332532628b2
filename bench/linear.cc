// SPDX-License-Identifier: Apache-2.0
#include "bench/linear.h"

#include <initializer_list>

namespace fovea::bench {
namespace {

// Elements between 0.5 and 2 in size, of either sign; of i8, of any size.
uint32_t weight_word(fovea_dtype dtype, uint32_t bits) {
  switch (dtype) {
    case FOVEA_F32: return (bits & 0x80ffffffu) | 0x3f000000u;
    case FOVEA_F16: return (bits & 0x87ff87ffu) | 0x38003800u;
    case FOVEA_BF16: return (bits & 0x80ff80ffu) | 0x3f003f00u;
    default: return bits;
  }
}

}  // namespace

size_t LinearCall::arena_bytes(const LinearShape& shape, fovea_target target) {
  LinearCall call;
  Arena counter;
  call.take(shape, target, counter);
  return counter.used();
}

void LinearCall::take(const LinearShape& s, fovea_target target, Arena& arena) {
  const size_t elements = size_t{s.in_dim} * s.out_dim;
  x_.take(arena, size_t{s.tokens} * s.in_dim, 1.0f);
  bias_.take(arena, s.out_dim, 1.0f);
  if (s.dtype == FOVEA_I8) scales_.take(arena, s.out_dim, 0.01f);
  words_ = s.dtype == FOVEA_F32 ? elements : s.dtype == FOVEA_I8 ? (elements + 3) / 4 : (elements + 1) / 2;
  weights_ = arena.take<uint32_t>(words_);
  y_ = arena.take<float>(size_t{s.tokens} * s.out_dim);
  args_.struct_bytes = sizeof args_;
  args_.target = target;
  args_.tokens = s.tokens;
  args_.in_dim = s.in_dim;
  args_.out_dim = s.out_dim;
  args_.y = y_;
  args_.y_stride = s.out_dim;
  args_.x = x_.data();
  args_.x_stride = s.in_dim;
  args_.weights = {s.dtype, weights_, static_cast<ptrdiff_t>(s.in_dim), scales_.data(), bias_.data()};
  workspace_bytes_ = fovea_linear_workspace_bytes(&args_);
  workspace_ = arena.take<unsigned char>(workspace_bytes_);
}

fovea_status LinearCall::init(const LinearShape& s, fovea_target target, Arena& arena) {
  take(s, target, arena);
  if (!workspace_) return status_ = FOVEA_ERR_SIZE;
  for (RandomFloats* array : {&x_, &bias_, &scales_}) array->draw_all();
  uint32_t bits = 1;
  for (size_t i = 0; i < words_; ++i) weights_[i] = weight_word(s.dtype, bits = bits * 1664525u + 1013904223u);
  call();
  return status_;
}

void LinearCall::call() {
  const fovea_status status = fovea_linear(&args_, workspace_, workspace_bytes_);
  if (status != FOVEA_OK) status_ = status;
}

void LinearCall::redraw(uint32_t round) { x_.draw_some(round); }

bool LinearCall::output_is_finite() const {
  for (size_t i = 0; i < size_t{args_.tokens} * args_.out_dim; ++i) {
    if (y_[i] - y_[i] != 0.0f) return false;
  }
  return true;
}

}  // namespace fovea::bench
