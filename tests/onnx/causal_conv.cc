// SPDX-License-Identifier: Apache-2.0
//
// ONNX CausalConvWithState (opset 27) as fovea_conv1d, all tokens in one call and token by token.
//
//     slot  input                                 here
//     0     input [batch][channels][tokens]       args.x, as float
//     1     weight [channels][1][width]           args.weight
//     2     bias [channels]                       args.bias
//     3     past_state, or zeros                  args.state, whose order is [batch][width - 1][channels]
//     output 1, present_state                     the same after the call
//     activation "silu", "swish"                  args.silu
#include <algorithm>

#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

bool silu_of(const Case& test) {
  const std::string activation = test.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") throw Error("activation " + activation);
  return activation != "none";
}

// [batch][rows][columns] as [batch][columns][rows].
std::vector<float> transposed(const std::vector<float>& x, size_t batch, size_t rows, size_t columns) {
  std::vector<float> y(batch * rows * columns + 1, kUnwritten);
  for (size_t b = 0; b < batch; ++b) {
    for (size_t i = 0; i < rows * columns; ++i) {
      y[(b * columns + i % columns) * rows + i / columns] = x[b * rows * columns + i];
    }
  }
  y.pop_back();
  return y;
}

}  // namespace

void run_causal_conv(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor &x = test.required_input(0), &weight = test.required_input(1);
  const Tensor *const bias = test.input(2), *const past = test.input(3);
  if (!x.is_float() || x.shape.size() != 3) throw Error("input of this type or rank");
  const size_t batch = x.shape[0], channels = x.shape[1], tokens = x.shape[2];
  if (!weight.is_float() || weight.shape.size() != 3 || weight.shape[0] != channels || weight.shape[1] != 1 ||
      weight.shape[2] == 0) {
    throw Error("weight of shape " + to_string(weight.shape));
  }
  const size_t width = weight.shape[2], before = width - 1;
  if (bias != nullptr && (!bias->is_float() || bias->shape != Shape{channels})) throw Error("bias of this shape");
  if (past != nullptr && (!past->is_float() || past->shape != Shape{batch, channels, before})) {
    throw Error("past_state of shape " + to_string(past->shape));
  }

  for (const size_t step : {tokens, size_t{1}}) {
    std::vector<float> y(x.floats.size() + 1, kUnwritten), state(batch * before * channels + 1);
    if (past != nullptr) state = transposed(past->floats, batch, channels, before);
    fovea::Conv1dArgs args;
    args.target = target;
    args.batch = count32(batch), args.channels = count32(channels), args.kernel_size = count32(width);
    args.silu = silu_of(test);
    args.y_token_stride = args.x_token_stride = 1;
    args.y_channel_stride = args.x_channel_stride = static_cast<ptrdiff_t>(tokens);
    args.y_batch_stride = args.x_batch_stride = static_cast<ptrdiff_t>(channels * tokens);
    args.weight = weight.floats.data(), args.weight_stride = static_cast<ptrdiff_t>(width);
    args.bias = bias != nullptr ? bias->floats.data() : nullptr;
    args.state = before > 0 ? state.data() : nullptr;
    const std::string where = std::string(fovea_target_name(target)) + ", " + std::to_string(step) + " tokens a call";
    for (size_t token = 0; token < tokens; token += step) {
      args.tokens = count32(std::min(step, tokens - token));
      args.x = x.floats.data() + token, args.y = y.data() + token;
      verdict->accept(fovea::conv1d(args), "fovea_conv1d", where);
    }
    y.pop_back();
    verdict->compare(y, test.required_output(0), "output", where);
    if (const Tensor* present = test.output(1)) {
      verdict->compare_exactly(transposed(state, batch, before, channels), *present, "present_state", where);
    }
  }
}

}  // namespace fovea_onnx
