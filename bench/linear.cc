// SPDX-License-Identifier: Apache-2.0
#include "bench/linear.h"

#include <cstring>
#include <initializer_list>

#include "platform/platform.h"

namespace fovea::bench {
namespace {

// Elements with absolute values from 0.5 to 2, of either sign; of i8 and of groups, any codes.
uint32_t weight_word(fovea_dtype dtype, uint32_t bits) {
  switch (dtype) {
    case FOVEA_F32: return (bits & 0x80ffffffu) | 0x3f000000u;
    case FOVEA_F16: return (bits & 0x87ff87ffu) | 0x38003800u;
    case FOVEA_BF16: return (bits & 0x80ff80ffu) | 0x3f003f00u;
    default: return bits;
  }
}

constexpr size_t kGroup = 32;  // elements of a group

size_t row_scales(const LinearShape& s) {
  return s.dtype == FOVEA_I8 ? 1 : s.dtype == FOVEA_I4 ? (s.in_dim + kGroup - 1) / kGroup : 0;
}
size_t scale_bytes(fovea_dtype dtype) { return dtype == FOVEA_I8 ? sizeof(float) : sizeof(uint16_t); }
size_t unit_bytes(fovea_dtype dtype) {
  return dtype == FOVEA_F32 ? 4 : dtype == FOVEA_F16 || dtype == FOVEA_BF16 ? 2 : 1;
}
size_t row_bytes(const LinearShape& s) {
  return FOVEA_ROW_BYTES_(s.dtype, s.in_dim) - row_scales(s) * scale_bytes(s.dtype);
}

constexpr uint16_t kScale = 0x211f, kLeast = 0xa91f;  // 0.01 and -0.04 in f16

// The numbers that are stored in blocks before their codes.
void put_block_scales(unsigned char* weights, const LinearShape& s) {
  const size_t block = FOVEA_ROW_BYTES_(s.dtype, kGroup);
  for (size_t at = 0; at < row_bytes(s) * s.out_dim; at += block) {
    std::memcpy(weights + at, &kScale, sizeof kScale);
    if (s.dtype == FOVEA_Q4_1) std::memcpy(weights + at + sizeof kScale, &kLeast, sizeof kLeast);
  }
}

}  // namespace

Work work_of(const LinearShape& s, size_t workspace_bytes) {
  const double weight_bytes = static_cast<double>(FOVEA_ROW_BYTES_(s.dtype, s.in_dim)) * s.out_dim;
  Work work = {};
  work.flops = 2 * static_cast<double>(s.in_dim) * s.out_dim * s.tokens;
  work.bytes = weight_bytes + 4.0 * s.tokens * (static_cast<double>(s.in_dim) + s.out_dim);
  work.working_set_bytes = work.bytes + static_cast<double>(workspace_bytes);
  work.row_fill = 1;
  return work;
}

void LinearCall::take(const LinearShape& s, fovea_target target, Arena& arena) {
  x_.take(arena, size_t{s.tokens} * s.in_dim, 1.0f);
  bias_.take(arena, s.out_dim, 1.0f);
  if (s.dtype == FOVEA_I8) scales_.take(arena, s.out_dim, 0.01f);
  if (s.dtype == FOVEA_I4) group_scales_ = arena.take<uint16_t>(row_scales(s) * s.out_dim);
  words_ = (row_bytes(s) * s.out_dim + 3) / 4;
  weights_ = arena.take<uint32_t>(words_);
  out_count_ = size_t{s.tokens} * s.out_dim;
  out_ = arena.take<float>(out_count_);
  args_.struct_bytes = sizeof args_;
  args_.target = target;
  args_.compute = s.compute;
  args_.processor_features = platform::processor_features();
  args_.tokens = s.tokens;
  args_.in_dim = s.in_dim;
  args_.out_dim = s.out_dim;
  args_.y = out_;
  args_.y_stride = s.out_dim;
  args_.x = x_.data();
  args_.x_stride = s.in_dim;
  const void* const scales = s.dtype == FOVEA_I4 ? static_cast<const void*>(group_scales_) : scales_.data();
  const auto stride = static_cast<ptrdiff_t>(row_bytes(s) / unit_bytes(s.dtype));
  args_.weights = {s.dtype, weights_, stride, scales, bias_.data(), nullptr, nullptr};
  apart_ = s.apart;
  if (!apart_) args_.activation = s.activation;
  activation_.struct_bytes = sizeof activation_;
  activation_.target = target;
  activation_.activation = s.activation;
  activation_.batch = activation_.heads = 1, activation_.tokens = s.tokens, activation_.dim = s.out_dim;
  activation_.y = {out_, 0, 0, static_cast<ptrdiff_t>(s.out_dim)};
  activation_.x = {out_, 0, 0, static_cast<ptrdiff_t>(s.out_dim)};
  workspace_bytes_ = bytes_of(fovea_linear_workspace_bytes, &args_);
  workspace_ = arena.take<unsigned char>(workspace_bytes_);
}

fovea_status LinearCall::init(const LinearShape& s, fovea_target target, Arena& arena) {
  take(s, target, arena);
  if (!workspace_) return status_ = FOVEA_ERR_SIZE;
  for (RandomFloats* array : {&x_, &bias_, &scales_}) array->draw_all();
  uint32_t bits = 1;
  for (size_t i = 0; i < words_; ++i) weights_[i] = weight_word(s.dtype, bits = bits * 1664525u + 1013904223u);
  for (size_t i = 0; group_scales_ && i < row_scales(s) * s.out_dim; ++i) group_scales_[i] = kScale;
  if (s.dtype >= FOVEA_Q8_0) put_block_scales(reinterpret_cast<unsigned char*>(weights_), s);
  call();
  return status_;
}

void LinearCall::call() {
  fovea_status status = fovea_linear(&args_, workspace_, workspace_bytes_);
  if (status == FOVEA_OK && apart_) status = fovea_activation(&activation_);
  note(status);
}

void LinearCall::redraw(uint32_t round) { x_.draw_some(round); }

}  // namespace fovea::bench
