// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/conv1d/call.h"

#include "fovea/fovea.h"
#include "ground/base/buffers.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

namespace fovea {
namespace {

// Which of the two dimensions vectors run along.
bool channels_last(const fovea_conv1d_args& a) {
  return a.channels == 1 || (a.x_channel_stride == 1 && a.y_channel_stride == 1);
}
bool channels_first(const fovea_conv1d_args& a) {
  return a.tokens == 1 || (a.x_token_stride == 1 && a.y_token_stride == 1);
}

fovea_status check_args(const fovea_conv1d_args& a, const Conv1dKernels** kernels) {
  FOVEA_RETURN_IF_ERROR(check_struct(a));
  const TargetTraits* traits;
  FOVEA_RETURN_IF_ERROR(find_target(a.target, &traits));
  *kernels = &conv1d_kernels(traits->target);
  if (a.channels == 0 || a.kernel_size == 0 || a.kernel_size > FOVEA_CONV1D_MAX_KERNEL_SIZE) return FOVEA_ERR_DIM;
  if (a.batch == 0 || a.tokens == 0) return FOVEA_OK;
  if (kHasChecks && !channels_last(a) && !channels_first(a)) return FOVEA_ERR_STRIDE;

  const size_t past = a.kernel_size - 1;
  size_t entry;
  if (__builtin_mul_overflow(past, size_t(a.channels), &entry) || entry > size_t(PTRDIFF_MAX)) return FOVEA_ERR_SIZE;
  const fovea_out y = {a.y, a.y_batch_stride, a.y_token_stride, a.y_channel_stride};
  const fovea_in x = {a.x, a.x_batch_stride, a.x_token_stride, a.x_channel_stride};
  const fovea_out state = {a.state, ptrdiff_t(entry), ptrdiff_t(a.channels), 0};
  Buffers buffers;
  buffers.add_output(y, sizeof(float), {a.batch, a.tokens, a.channels}, 1);
  if (a.state) buffers.add_output(state, sizeof(float), {a.batch, past, 1}, a.channels);
  buffers.add_in_place(y, sizeof(float), x, sizeof(float), {a.batch, a.tokens, a.channels}, 1);
  const fovea_in weight = {a.weight, 0, 0, a.weight_stride};
  buffers.add_input(weight, sizeof(float), {1, 1, a.channels}, a.kernel_size);
  return buffers.add_list(a.bias, sizeof(float), a.channels);
}

}  // namespace

fovea_status resolve_conv1d(const fovea_conv1d_args& a, Conv1dCall* call) {
  FOVEA_RETURN_IF_ERROR(check_args(a, &call->kernels));
  // With one channel, or one token, the stride of that dimension may be anything: lanes run along the other dimension.
  const bool last = channels_last(a) && !(a.channels == 1 && channels_first(a));
  call->channels_last = last;
  call->batch = a.tokens == 0 ? 0 : a.batch;
  call->x_batch_stride = a.x_batch_stride, call->y_batch_stride = a.y_batch_stride;
  Convolution& c = call->convolution;
  c.x = a.x, c.x_stride = last ? a.x_token_stride : a.x_channel_stride;
  c.y = a.y, c.y_stride = last ? a.y_token_stride : a.y_channel_stride;
  c.weight = a.weight, c.weight_stride = a.weight_stride;
  c.bias = a.bias, c.state = a.state;
  c.tokens = a.tokens, c.channels = a.channels, c.width = a.kernel_size;
  c.silu = a.silu != 0;
  return FOVEA_OK;
}

}  // namespace fovea

FOVEA_C_CALL_(fovea_conv1d, fovea_conv1d_args, resolve_conv1d, run_conv1d)
