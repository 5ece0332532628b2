// SPDX-License-Identifier: Apache-2.0
//
// ONNX RMSNormalization (opset 23) and LayerNormalization as fovea_norm; Gelu, HardSwish, Relu, Sigmoid, Swish and Tanh
// as fovea_activation.
#include <algorithm>

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
    verdict->accept(call(y.data(), in_place ? y.data() : x.floats.data()), name, where);
    verdict->compare(y, want, "Y", where);
  }
}

// The dimensions from `axis` on are one row. Fills in all but y, x and the bias.
void describe(const Case& test, fovea_target target, fovea_norm_kind kind, fovea::NormArgs* args) {
  const Tensor &x = test.required_input(0), &weight = test.required_input(1);
  if (!x.is_float()) throw Error("input of this type");
  if (test.integer("stash_type", 1) != 1) throw Error("a stash_type that is not float");
  const Split split = split_at(x.shape, test.integer("axis", -1));
  const Shape row(x.shape.end() - std::min<ptrdiff_t>(weight.shape.size(), x.shape.size()), x.shape.end());
  if (!weight.is_float() || weight.shape != row || element_count(row) != split.count * split.inner) {
    throw Error("scale of shape " + to_string(weight.shape));
  }
  args->target = target;
  args->norm = kind;
  args->epsilon = test.number("epsilon", 1e-5f);
  args->dim = count32(element_count(row));
  args->batch = args->heads = 1, args->tokens = count32(split.outer);
  args->weight = weight.floats.data();
}

void run(const Case& test, fovea::NormArgs args, Verdict* verdict) {
  run_rows(test.required_input(0), test.required_output(0), "fovea_norm", args.target, verdict,
           [&](float* out, const float* in) {
             args.y = fovea::tokens_of(out, args.tokens, args.dim),
             args.x = fovea::tokens_of(in, args.tokens, args.dim);
             return fovea::norm(args);
           });
}

fovea_activation_kind activation_of(const Case& test) {
  if (test.op == "Gelu") {
    const std::string form = test.text("approximate", "none");
    if (form != "none" && form != "tanh") throw Error("approximate " + form);
    return form == "none" ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_GELU_TANH;
  }
  if (test.op == "HardSwish") return FOVEA_ACTIVATION_HARD_SWISH;
  if (test.op == "Relu") return FOVEA_ACTIVATION_RELU;
  if (test.op == "Sigmoid") return FOVEA_ACTIVATION_SIGMOID;
  return test.op == "Tanh" ? FOVEA_ACTIVATION_TANH : FOVEA_ACTIVATION_SILU;
}

}  // namespace

void run_rms_normalization(const Case& test, fovea_target target, Verdict* verdict) {
  fovea::NormArgs args;
  describe(test, target, FOVEA_NORM_RMS, &args);
  run(test, args, verdict);
}

// Of the outputs only the first: mean and inverse deviation are ONNX's for training.
void run_layer_normalization(const Case& test, fovea_target target, Verdict* verdict) {
  fovea::NormArgs args;
  describe(test, target, FOVEA_NORM_LAYER, &args);
  if (const Tensor* bias = test.input(2)) args.bias = bias->floats.data();
  run(test, args, verdict);
}

void run_activation(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  if (!x.is_float()) throw Error("input of this type");

  fovea::ActivationArgs args;
  args.target = target;
  args.activation = activation_of(test);
  if (args.activation == FOVEA_ACTIVATION_SILU) {
    args.alpha = test.number("alpha", 1);
    if (args.alpha == 0) throw Error("an alpha of 0");
  }
  args.batch = args.heads = args.tokens = 1, args.dim = count32(element_count(x.shape));
  run_rows(x, test.required_output(0), "fovea_activation", target, verdict, [&](float* out, const float* in) {
    args.y = fovea::tokens_of(out, 1, args.dim), args.x = fovea::tokens_of(in, 1, args.dim);
    return fovea::activation(args);
  });
}

}  // namespace fovea_onnx
