// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions on rows: softmax, rope, Hadamard and conv1d.
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

// A softmax of three rows of 100, or along the middle axis of [2][9][19], with a mask that hides some elements.
fovea_status softmax_of(Trial& trial, bool rows, bool logarithm) {
  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.outer = rows ? 3 : 2, args.axis = rows ? 100 : 9, args.inner = rows ? 1 : 19;
  const size_t count = args.outer * args.axis * args.inner;
  float* const mask = trial.numbers(count);
  for (size_t i = 0; mask && i < count; i += 7) mask[i] = -__builtin_inff();
  float* const out = trial.zeros<float>(count);
  args.x = trial.numbers(count), args.mask = mask, args.y = out;
  args.x_axis_stride = args.mask_axis_stride = args.y_axis_stride = static_cast<ptrdiff_t>(args.inner);
  args.x_outer_stride = args.mask_outer_stride = args.y_outer_stride = static_cast<ptrdiff_t>(args.axis * args.inner);
  args.mask_inner_stride = 1;
  args.scale = 1.5f;
  return trial.digest_after(logarithm ? fovea_log_softmax(&args) : fovea_softmax(&args), out, count);
}

fovea_status softmax_rows(Trial& trial) { return softmax_of(trial, true, false); }
fovea_status softmax_columns(Trial& trial) { return softmax_of(trial, false, false); }
fovea_status softmax_log(Trial& trial) { return softmax_of(trial, false, true); }

constexpr uint32_t kRopeHeads = 2, kRopeTokens = 3, kRopeDim = 22, kRotaryDim = 20;

fovea_status rope_of(Trial& trial, fovea_rope_layout layout) {
  fovea_rope_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = 1, args.heads = kRopeHeads, args.tokens = kRopeTokens, args.dim = kRopeDim, args.rotary_dim = kRotaryDim;
  args.layout = layout, args.position_offset = 123456789;
  uint64_t* const turns = trial.zeros<uint64_t>(kRotaryDim / 2);
  constexpr size_t kCount = kRopeHeads * kRopeTokens * kRopeDim;
  float* const out = trial.zeros<float>(kCount);
  args.turns = turns;
  args.x = {trial.numbers(kCount), 0, kRopeTokens * kRopeDim, kRopeDim};
  args.y = {out, 0, kRopeTokens * kRopeDim, kRopeDim};
  FOVEA_RETURN_IF_ERROR(fovea_rope_frequencies(turns, 10000.0, 1.0, kRotaryDim));
  return trial.digest_after(fovea_rope(&args), out, kCount);
}

fovea_status rope_interleaved(Trial& trial) { return rope_of(trial, FOVEA_ROPE_INTERLEAVED); }
fovea_status rope_half_split(Trial& trial) { return rope_of(trial, FOVEA_ROPE_HALF_SPLIT); }

fovea_status hadamard_rows(Trial& trial) {
  constexpr uint32_t kTokens = 2, kDim = 96;
  fovea_hadamard_args args = {};
  args.struct_bytes = sizeof args, args.target = trial.kernels();
  args.batch = args.heads = 1, args.tokens = kTokens, args.dim = kDim, args.seed = 0x9876543210u;
  float* const y = trial.zeros<float>(kTokens * kDim);
  args.x = {trial.numbers(kTokens * kDim), 0, 0, kDim};
  args.y = {y, 0, 0, kDim};
  return trial.digest_after(fovea_hadamard(&args), y, kTokens * kDim);
}

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

FOVEA_SELFTEST_PART_(softmax, SOFTMAX)
FOVEA_SELFTEST_PART_(rope, ROPE)
FOVEA_SELFTEST_PART_(hadamard, HADAMARD)
FOVEA_SELFTEST_PART_(conv1d, CONV1D)
