// SPDX-License-Identifier: Apache-2.0
#include "conv1d/resolve.h"

#include "base/buffers.h"
#include "base/status.h"
#include "conv1d/call.h"
#include "targets/registry.h"

namespace fovea {
namespace {

bool in_place(const fovea_conv1d_args& a) {
  return a.y == a.x && (a.batch == 1 || a.y_batch_stride == a.x_batch_stride) &&
         (a.tokens == 1 || a.y_token_stride == a.x_token_stride) &&
         (a.channels == 1 || a.y_channel_stride == a.x_channel_stride);
}

fovea_status check_apart(const void* data, const Dimensions& dimensions, const Span (&outputs)[2]) {
  Span span;
  FOVEA_RETURN_IF_ERROR(check_array(data, sizeof(float), dimensions, false, &span));
  return outputs[0].overlaps(span) || outputs[1].overlaps(span) ? FOVEA_ERR_OVERLAP : FOVEA_OK;
}

}  // namespace

fovea_status check_conv1d_args(const fovea_conv1d_args& a) {
  if (a.struct_bytes != sizeof a) return FOVEA_ERR_STRUCT;
  if (!is_target(a.target)) return FOVEA_ERR_ENUM;
  if (!resolve_target(a.target)) return FOVEA_ERR_TARGET;
  if (a.channels == 0 || a.width == 0 || a.width > FOVEA_CONV1D_MOST_WIDTH) return FOVEA_ERR_DIM;
  if (a.batch == 0 || a.tokens == 0) return FOVEA_OK;
  if (!channels_last(a) && !channels_first(a)) return FOVEA_ERR_STRIDE;

  const Dimensions y = {{a.batch, a.y_batch_stride}, {a.tokens, a.y_token_stride}, {a.channels, a.y_channel_stride}, {1, 1}};
  const Dimensions x = {{a.batch, a.x_batch_stride}, {a.tokens, a.x_token_stride}, {a.channels, a.x_channel_stride}, {1, 1}};
  const size_t past = a.width - 1;
  size_t entry;
  if (__builtin_mul_overflow(past, size_t(a.channels), &entry) || entry > size_t(PTRDIFF_MAX)) return FOVEA_ERR_SIZE;
  const Dimensions state = {
      {a.batch, ptrdiff_t(entry)}, {past, ptrdiff_t(a.channels)}, {a.channels, 1}, {1, 1}};
  Span outputs[2] = {}, in;
  FOVEA_RETURN_IF_ERROR(check_array(a.y, sizeof(float), y, true, &outputs[0]));
  if (a.state) FOVEA_RETURN_IF_ERROR(check_array(a.state, sizeof(float), state, true, &outputs[1]));
  if (outputs[0].overlaps(outputs[1])) return FOVEA_ERR_OVERLAP;
  FOVEA_RETURN_IF_ERROR(check_array(a.x, sizeof(float), x, false, &in));
  if ((!in_place(a) && outputs[0].overlaps(in)) || outputs[1].overlaps(in)) return FOVEA_ERR_OVERLAP;
  const Dimensions weight = {{1, 0}, {1, 0}, {a.channels, a.weight_stride}, {a.width, 1}};
  FOVEA_RETURN_IF_ERROR(check_apart(a.weight, weight, outputs));
  const Dimensions bias = {{1, 0}, {1, 0}, {1, 0}, {a.channels, 1}};
  return a.bias ? check_apart(a.bias, bias, outputs) : FOVEA_OK;
}

}  // namespace fovea
