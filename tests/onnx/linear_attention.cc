// SPDX-License-Identifier: Apache-2.0
//
// ONNX LinearAttention (opset 27) as fovea_delta, all tokens in one call and token by token.
//
//     slot  input                                 here
//     0..2  query, key, value                     strides: [batch][tokens][heads][dim], of the case's own types
//     3     past_state                            fovea_delta_set; without it the state begins with zeros
//     4     decay, of a head or of its keys       args.decay, as float
//     5     beta, of a head or of all heads       args.beta, as float; one for all heads is a head_stride of 0
//     output 1, present_state                     fovea_delta_get
//     update_rule                                 args.rule, FOVEA_DELTA_RULE_GATED_DELTA unless said otherwise
#include <algorithm>

#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

fovea_delta_rule rule_of(const std::string& rule) {
  if (rule == "gated_delta") return FOVEA_DELTA_RULE_GATED_DELTA;
  if (rule == "linear") return FOVEA_DELTA_RULE_LINEAR;
  if (rule == "gated") return FOVEA_DELTA_RULE_GATED;
  if (rule == "delta") return FOVEA_DELTA_RULE_DELTA;
  throw Error("update_rule " + rule);
}

// The inputs of a case as arguments, which refer to them.
struct Call {
  const Case& test;
  const Tensor &q = test.required_input(0), &k = test.required_input(1), &v = test.required_input(2);
  const Tensor *past = test.input(3), *decay = test.input(4), *beta = test.input(5);
  Heads q_shape{q, test.integer("q_num_heads", 0)};
  Heads k_shape{k, test.integer("kv_num_heads", 0)}, v_shape{v, test.integer("kv_num_heads", 0)};
  fovea::DeltaArgs args;

  explicit Call(const Case& test_case);
  fovea::View<const float> of_tokens(const Tensor& tensor, size_t heads, size_t dim) const;
  void take_gates();
};

Call::Call(const Case& test_case) : test(test_case) {
  const Tensor& out = test.required_output(0);
  if (q.shape.size() != 3 || k.shape.size() != 3 || v.shape.size() != 3 || k.dtype != q.dtype || v.dtype != q.dtype ||
      k_shape.batch != q_shape.batch || v_shape.batch != q_shape.batch || k_shape.tokens != q_shape.tokens ||
      v_shape.tokens != q_shape.tokens || k_shape.dim != q_shape.dim) {
    throw Error("query, key and value do not fit together");
  }
  if (past != nullptr &&
      (!past->is_float() || past->shape != Shape{v_shape.batch, v_shape.heads, k_shape.dim, v_shape.dim})) {
    throw Error("past_state of shape " + to_string(past->shape));
  }
  args.rule = rule_of(test.text("update_rule", "gated_delta"));
  args.batch = count32(q_shape.batch), args.tokens = count32(q_shape.tokens);
  args.q_heads = count32(q_shape.heads), args.k_heads = args.v_heads = count32(v_shape.heads);
  args.head_dim = count32(k_shape.dim), args.value_dim = count32(v_shape.dim), args.decay_dim = 1;
  args.scale = test.number("scale", 0);
  args.dtype = type_of(q.dtype), args.out_dtype = type_of(out.dtype);
  args.q = q_shape.view(q.bytes.data()), args.k = k_shape.view(k.bytes.data()), args.v = v_shape.view(v.bytes.data());
  take_gates();
}

// A float tensor [batch][tokens][heads * dim].
fovea::View<const float> Call::of_tokens(const Tensor& tensor, size_t heads, size_t dim) const {
  if (!tensor.is_float() || tensor.shape != Shape{q_shape.batch, q_shape.tokens, heads * dim}) {
    throw Error("decay or beta of shape " + to_string(tensor.shape));
  }
  return fovea::tokens_first(tensor.floats.data(), q_shape.tokens, heads, dim);
}

void Call::take_gates() {
  const bool gated = args.rule == FOVEA_DELTA_RULE_GATED || args.rule == FOVEA_DELTA_RULE_GATED_DELTA;
  const bool delta = args.rule == FOVEA_DELTA_RULE_DELTA || args.rule == FOVEA_DELTA_RULE_GATED_DELTA;
  if (gated != (decay != nullptr) || delta != (beta != nullptr)) throw Error("decay and beta do not fit the rule");
  if (decay != nullptr) {
    if (decay->shape.back() != v_shape.heads) args.decay_dim = args.head_dim;
    args.decay = of_tokens(*decay, v_shape.heads, args.decay_dim);
  }
  if (beta != nullptr) {
    const size_t heads = beta->shape.back() == 1 ? 1 : v_shape.heads;
    args.beta = of_tokens(*beta, heads, 1);
    if (heads == 1) args.beta.head_stride = 0;
  }
}

// Memory for the library.
class Bytes {
 public:
  explicit Bytes(size_t bytes) : lines_(bytes / sizeof(Line) + 1) {}
  operator fovea::Span<std::byte>() {
    return {reinterpret_cast<std::byte*>(lines_.data()), lines_.size() * sizeof(Line)};
  }

 private:
  std::vector<Line> lines_;
};

fovea_in from_token(const fovea_in& array, uint32_t token, size_t unit) {
  if (array.data == nullptr) return array;
  fovea_in rest = array;
  rest.data = static_cast<const char*>(array.data) + token * static_cast<size_t>(array.token_stride) * unit;
  return rest;
}

// The arguments for `count` tokens from `token` on.
fovea::DeltaArgs part_of(const fovea::DeltaArgs& args, uint32_t token, uint32_t count, const Call& call) {
  const size_t unit = bytes_of(call.q.dtype), out_unit = bytes_of(call.test.required_output(0).dtype);
  fovea::DeltaArgs part = args;
  part.tokens = count;
  part.q = from_token(args.q, token, unit);
  part.k = from_token(args.k, token, unit);
  part.v = from_token(args.v, token, unit);
  part.decay = from_token(args.decay, token, sizeof(float));
  part.beta = from_token(args.beta, token, sizeof(float));
  part.out.data = static_cast<char*>(args.out.data) + token * static_cast<size_t>(args.out.token_stride) * out_unit;
  return part;
}

// `step` tokens in a call.
void attend(const Call& call, uint32_t step, fovea_target target, Verdict* verdict) {
  const std::string where = std::string(fovea_target_name(target)) + ", " + std::to_string(step) + " tokens a call";
  const Tensor& output = call.test.required_output(0);
  fovea::DeltaArgs args = call.args;
  args.target = target;
  Heads out_shape = call.q_shape;
  out_shape.dim = args.value_dim;
  std::vector<uint8_t> out(element_count(output.shape) * bytes_of(output.dtype) + 1, kUnwrittenByte);
  args.out = out_shape.view(out.data());

  size_t state_bytes = 0, workspace_bytes = 0;
  fovea_status status = fovea::delta_state_bytes(args.batch, args.v_heads, args.head_dim, args.value_dim,
                                                 args.decay_dim, &state_bytes);
  verdict->accept(status, "fovea_delta_state_bytes", where);
  verdict->accept(fovea::delta_workspace_bytes(args, &workspace_bytes), "fovea_delta_workspace_bytes", where);
  Bytes memory(state_bytes), workspace(workspace_bytes);
  fovea::DeltaState state;
  status = state.begin(memory, args.batch, args.v_heads, args.head_dim, args.value_dim, args.decay_dim);
  verdict->accept(status, "fovea_delta_begin", where);
  if (call.past != nullptr) {
    status = state.set(fovea::heads_first(call.past->floats.data(), args.v_heads, args.head_dim, args.value_dim));
    verdict->accept(status, "fovea_delta_set", where);
  }
  for (uint32_t token = 0; token < args.tokens; token += step) {
    status = state.run(part_of(args, token, std::min(step, args.tokens - token), call), workspace);
    verdict->accept(status, "fovea_delta", where);
  }
  verdict->compare(widen(output.dtype, out.data(), element_count(output.shape)), output, "output", where);

  const Tensor* const present = call.test.output(1);
  if (present == nullptr) return;
  std::vector<float> matrices(element_count(present->shape) + 1, kUnwritten);
  status = state.get(fovea::heads_first(matrices.data(), args.v_heads, args.head_dim, args.value_dim), target);
  verdict->accept(status, "fovea_delta_get", where);
  matrices.pop_back();
  verdict->compare(matrices, *present, "present_state", where);
}

}  // namespace

void run_linear_attention(const Case& test, fovea_target target, Verdict* verdict) {
  const Call call(test);
  for (const uint32_t step : {call.args.tokens, 1u}) attend(call, step, target, verdict);
}

}  // namespace fovea_onnx
