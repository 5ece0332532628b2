// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "layers/selftest/trial.h"

namespace fovea {
namespace {

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

}  // namespace
}  // namespace fovea

FOVEA_SELFTEST_PART_(rope, ROPE)
