// SPDX-License-Identifier: Apache-2.0
//
// ONNX RMSNormalization (opset 23) as fovea_norm, and Swish (opset 24) as fovea_activation.
#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

// `call` takes outputs and inputs: first in arrays of their own, then in the same places.
template <class Call>
void run_rows(const Tensor& x, const Tensor& want, const std::string& name, fovea_target target, Verdict* verdict,
              Call call) {
  if (!want.is_float() || want.shape != x.shape) throw Error("output of this type or shape");
  for (const bool in_place : {false, true}) {
    std::vector<float> y(x.floats.size() + 1, kUnwritten);
    y.pop_back();
    if (in_place) y = x.floats;
    const std::string where = std::string(fovea_target_name(target)) + (in_place ? ", in place" : "");
    if (!verdict->accept(call(y.data(), in_place ? y.data() : x.floats.data()), name, where)) return;
    verdict->compare(y, want, "Y", where);
  }
}

}  // namespace

// The dimensions from `axis` on are one row.
void run_rms_normalization(const Case& test, fovea_target target, Verdict* verdict) {
  if (test.opset != 23) throw Error("opset " + std::to_string(test.opset));
  test.allow({"axis", "epsilon", "stash_type"}, 1, 0);
  const Tensor &x = test.required_input(0), &weight = test.required_input(1);
  if (!x.is_float()) throw Error("input of this type");
  if (test.integer("stash_type", 1) != 1) throw Error("a stash_type that is not float");
  const auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = test.integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw Error("axis out of range");
  const Shape row(x.shape.begin() + axis, x.shape.end());
  if (!weight.is_float() || weight.shape != row) throw Error("scale of shape " + to_string(weight.shape));

  fovea::NormArgs args;
  args.target = target;
  args.norm = FOVEA_NORM_RMS;
  args.epsilon = test.number("epsilon", 1e-5f);
  args.dim = count32(element_count(row));
  args.batch = args.heads = 1, args.tokens = count32(element_count(x.shape) / element_count(row));
  args.weight = weight.floats.data();
  run_rows(x, test.required_output(0), "fovea_norm", target, verdict, [&](float* out, const float* in) {
    args.y = fovea::tokens_of(out, args.tokens, args.dim), args.x = fovea::tokens_of(in, args.tokens, args.dim);
    return fovea::norm(args);
  });
}

void run_swish(const Case& test, fovea_target target, Verdict* verdict) {
  if (test.opset != 24) throw Error("opset " + std::to_string(test.opset));
  test.allow({"alpha"}, 0, 0);
  const Tensor& x = test.required_input(0);
  if (!x.is_float()) throw Error("input of this type");

  fovea::ActivationArgs args;
  args.target = target;
  args.activation = FOVEA_ACTIVATION_SILU;
  args.alpha = test.number("alpha", 1);
  if (args.alpha == 0) throw Error("an alpha of 0");
  args.batch = args.heads = args.tokens = 1, args.dim = count32(element_count(x.shape));
  run_rows(x, test.required_output(0), "fovea_activation", target, verdict, [&](float* out, const float* in) {
    args.y = fovea::tokens_of(out, 1, args.dim), args.x = fovea::tokens_of(in, 1, args.dim);
    return fovea::activation(args);
  });
}

}  // namespace fovea_onnx
