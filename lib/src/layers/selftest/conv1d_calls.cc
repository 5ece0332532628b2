// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

fovea_status conv1d_silu(Trial& trial) {
  constexpr uint32_t kTokens = 6, kChannels = 21, kWidth = 4;
  fovea_conv1d_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = 1, args.tokens = kTokens, args.channels = kChannels, args.kernel_size = kWidth, args.silu = 1;
  float* const y = trial.zeros<float>(kTokens * kChannels);
  args.y = y, args.x = trial.numbers(kTokens * kChannels);
  args.y_token_stride = args.x_token_stride = kChannels, args.y_channel_stride = args.x_channel_stride = 1;
  args.weight = trial.numbers(kChannels * kWidth), args.weight_stride = kWidth, args.bias = trial.numbers(kChannels);
  args.state = trial.numbers((kWidth - 1) * kChannels);
  FOVEA_RETURN_IF_ERROR(fovea_conv1d(&args));
  trial.digest(y, kTokens * kChannels);
  trial.digest(args.state, (kWidth - 1) * kChannels);
  return FOVEA_OK;
}

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(conv1d, CONV1D)
