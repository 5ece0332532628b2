// SPDX-License-Identifier: Apache-2.0
#include <float.h>

#include <algorithm>

#include "graph.h"
#include "operators.h"

namespace fovea_executorch {
namespace {

// Softmax takes slices of at most this count of numbers together through f32, or one slice that has more.
constexpr ssize_t kSoftmaxNumbers = 1024;

bool is_i8(const Tensor& t) { return t.scalar_type() == ScalarType::Char && is_contiguous(t); }

// A number of the graph that must be one of the type that fovea has.
bool fits(int64_t number, int32_t* to) {
  *to = static_cast<int32_t>(number);
  return *to == number;
}

// x and out are int8 and have the same shape.
bool is_elementwise(Context& context, const Tensor& x, Tensor& out) {
  FOVEA_REQUIRE(context, is_i8(x) && is_i8(out), false);
  FOVEA_REQUIRE(context, executorch::runtime::resize_tensor(out, x.sizes()) == Error::Ok, false);
  return true;
}

bool is_row_of(const Tensor& t, ScalarType type, ssize_t dim) {
  return t.dim() == 1 && t.size(0) == dim && t.scalar_type() == type && is_contiguous(t);
}

struct NormNumbers {
  int64_t x_zero_point, y_zero_point, weight_multiplier, weight_shift, epsilon_multiplier, epsilon_shift;
};

Tensor& norm_out(Context& context, fovea_norm_kind kind, const Tensor& x, const Tensor& weight,
                 const OptionalTensor& bias, const NormNumbers& numbers, Tensor& out) {
  fovea_integer_norm_args args = {};
  FOVEA_REQUIRE(
      context,
      x.dim() >= 1 && fits(numbers.x_zero_point, &args.x_zero_point) && fits(numbers.y_zero_point, &args.y_zero_point),
      out);
  FOVEA_REQUIRE(context, fits(numbers.weight_multiplier, &args.weight_multiplier), out);
  FOVEA_REQUIRE(context, fits(numbers.weight_shift, &args.weight_shift), out);
  FOVEA_REQUIRE(context, fits(numbers.epsilon_multiplier, &args.epsilon_multiplier), out);
  FOVEA_REQUIRE(context, fits(numbers.epsilon_shift, &args.epsilon_shift), out);
  const ssize_t dim = x.size(x.dim() - 1);
  FOVEA_REQUIRE(context, is_row_of(weight, ScalarType::Short, dim), out);
  FOVEA_REQUIRE(context, !bias || is_row_of(*bias, ScalarType::Short, dim), out);
  if (!is_elementwise(context, x, out) || x.numel() == 0) return out;
  args.struct_bytes = sizeof args;
  args.norm = kind;
  args.batch = args.heads = 1;
  args.tokens = static_cast<uint32_t>(x.numel() / dim);
  args.dim = static_cast<uint32_t>(dim);
  args.x = {x.const_data_ptr(), 0, 0, dim};
  args.y = {out.mutable_data_ptr(), x.numel(), x.numel(), dim};
  args.weight = weight.const_data_ptr<int16_t>();
  args.bias = bias ? bias->const_data_ptr<int16_t>() : nullptr;
  report(context, fovea_integer_norm(&args));
  return out;
}

}  // namespace

Tensor& quantized_attention_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                                bool is_causal, int64_t query_zero_point, int64_t value_zero_point, int64_t out_zero_point,
                                int64_t score_multiplier, int64_t score_shift, int64_t out_multiplier,
                                int64_t out_shift, int64_t tokens_first, Tensor& out) {
  const GraphAttention call(query, key, value, out, tokens_first);
  fovea_integer_attention_args args = {};
  FOVEA_REQUIRE(context, is_i8(query) && is_i8(key) && is_i8(value) && is_i8(out), out);
  FOVEA_REQUIRE(context, fits(query_zero_point, &args.q_zero_point) && fits(value_zero_point, &args.value_zero_point), out);
  FOVEA_REQUIRE(context, fits(out_zero_point, &args.out_zero_point) && fits(score_multiplier, &args.score_multiplier),
                out);
  FOVEA_REQUIRE(context, fits(score_shift, &args.score_shift) && fits(out_multiplier, &args.out_multiplier), out);
  FOVEA_REQUIRE(context, fits(out_shift, &args.out_shift), out);
  if (!call.is_valid(context) || !call.resize(context) || out.numel() == 0) return out;
  args.struct_bytes = sizeof args;
  args.batch = count(query, 0);
  args.q_heads = count(query, call.q.heads);
  args.kv_heads = count(key, call.k.heads);
  args.q_tokens = count(query, call.q.tokens);
  args.kv_tokens = count(key, call.k.tokens);
  args.head_dim = count(query, 3);
  args.value_dim = count(value, 3);
  args.causal = is_causal ? FOVEA_CAUSAL_TOP_LEFT : FOVEA_CAUSAL_NONE;
  args.q = input(query, call.q);
  args.keys = input(key, call.k);
  args.values = input(value, call.v);
  args.y = output(out, call.o);
  size_t bytes = 0;
  if (!report(context, fovea_integer_attention_workspace_bytes(&args, &bytes))) return out;
  void* const memory = workspace(context, bytes);
  if (memory != nullptr) report(context, fovea_integer_attention(&args, memory, bytes));
  return out;
}

Tensor& quantized_linear_out(Context& context, const Tensor& x, const Tensor& weight, const Tensor& weight_scales,
                             const OptionalTensor& bias, double x_scale, int64_t x_zero_point, double y_scale,
                             int64_t y_zero_point, std::string_view activation, Tensor& out) {
  fovea_linear_args args = {};
  FOVEA_REQUIRE(context, activation_of(activation, &args.activation), out);
  FOVEA_REQUIRE(context, is_i8(x) && is_i8(weight) && is_i8(out), out);
  FOVEA_REQUIRE(context, weight.dim() == 2, out);
  FOVEA_REQUIRE(context, is_row_of(weight_scales, ScalarType::Float, weight.size(0)), out);
  FOVEA_REQUIRE(context, !bias || is_row_of(*bias, ScalarType::Float, weight.size(0)), out);
  FOVEA_REQUIRE(context, fits(x_zero_point, &args.x_zero_point) && fits(y_zero_point, &args.y_zero_point), out);
  if (!resize_linear(context, x, weight, out) || out.numel() == 0) return out;

  const float scale = static_cast<float>(x_scale);
  args.struct_bytes = sizeof args;
  args.compute = FOVEA_COMPUTE_I8;
  args.in_dim = count(weight, 1);
  args.out_dim = count(weight, 0);
  args.tokens = static_cast<uint32_t>(x.numel() / args.in_dim);
  args.x_dtype = args.y_dtype = FOVEA_I8;
  args.x = x.const_data_ptr();
  args.x_stride = args.in_dim;
  args.y = out.mutable_data_ptr();
  args.y_stride = args.out_dim;
  args.weights.dtype = FOVEA_I8;
  args.weights.data = weight.const_data_ptr();
  args.weights.row_stride = args.in_dim;
  args.weights.scales = weight_scales.const_data_ptr();
  args.weights.bias = bias ? bias->const_data_ptr<float>() : nullptr;
  args.x_scales = &scale;
  args.y_scale = static_cast<float>(y_scale);
  run_linear(context, args);
  return out;
}

Tensor& quantized_layer_norm_out(Context& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                                 int64_t x_zero_point, int64_t y_zero_point, int64_t weight_multiplier,
                                 int64_t weight_shift, int64_t epsilon_multiplier, int64_t epsilon_shift, Tensor& out) {
  return norm_out(context, FOVEA_NORM_LAYER, x, weight, bias,
                  {x_zero_point, y_zero_point, weight_multiplier, weight_shift, epsilon_multiplier, epsilon_shift},
                  out);
}

Tensor& quantized_rms_norm_out(Context& context, const Tensor& x, const Tensor& weight, int64_t x_zero_point,
                               int64_t y_zero_point, int64_t weight_multiplier, int64_t weight_shift,
                               int64_t epsilon_multiplier, int64_t epsilon_shift, Tensor& out) {
  return norm_out(context, FOVEA_NORM_RMS, x, weight, {},
                  {x_zero_point, y_zero_point, weight_multiplier, weight_shift, epsilon_multiplier, epsilon_shift},
                  out);
}

Tensor& quantized_activation_out(Context& context, const Tensor& x, const Tensor& table, Tensor& out) {
  FOVEA_REQUIRE(context, is_row_of(table, ScalarType::Char, 256), out);
  if (!is_elementwise(context, x, out) || x.numel() == 0) return out;
  fovea_integer_activation_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = args.heads = args.tokens = 1;
  args.dim = static_cast<uint32_t>(x.numel());
  args.x.data = x.const_data_ptr();
  args.y = {out.mutable_data_ptr(), x.numel(), x.numel(), x.numel()};
  args.table = table.const_data_ptr<int8_t>();
  report(context, fovea_integer_activation(&args));
  return out;
}

Tensor& quantized_softmax_out(Context& context, const Tensor& x, int64_t dim, double x_scale, double y_scale,
                              int64_t y_zero_point, Tensor& out) {
  FOVEA_REQUIRE(context, dim >= -x.dim() && dim < x.dim(), out);
  const float in_scale = static_cast<float>(x_scale), out_scale = static_cast<float>(y_scale);
  FOVEA_REQUIRE(context, in_scale >= FLT_MIN && in_scale <= FLT_MAX && out_scale >= FLT_MIN && out_scale <= FLT_MAX,
                out);
  FOVEA_REQUIRE(context, y_zero_point >= -128 && y_zero_point <= 127, out);
  if (!is_elementwise(context, x, out) || x.numel() == 0) return out;
  const int axis = static_cast<int>(dim < 0 ? dim + x.dim() : dim);
  const ssize_t slice = stride_of(x, axis) * x.size(axis);
  const ssize_t numbers = std::min(x.numel(), std::max<ssize_t>(1, kSoftmaxNumbers / slice) * slice);
  float* const memory = static_cast<float*>(temporary(context, static_cast<size_t>(numbers) * sizeof(float)));
  if (memory == nullptr) return out;

  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args;
  args.axis = static_cast<size_t>(x.size(axis));
  args.inner = static_cast<size_t>(stride_of(x, axis));
  args.x = args.y = memory;
  args.x_axis_stride = args.y_axis_stride = stride_of(x, axis);
  args.x_outer_stride = args.y_outer_stride = slice;
  fovea_status status = FOVEA_OK;
  for (ssize_t done = 0; done < x.numel() && status == FOVEA_OK; done += numbers) {
    const ssize_t now = std::min(numbers, x.numel() - done);
    args.outer = static_cast<size_t>(now / slice);
    const size_t elements = static_cast<size_t>(now);
    status = fovea_quantize_from_i8(x.const_data_ptr<int8_t>() + done, elements, in_scale, 0, memory);
    if (status == FOVEA_OK) status = fovea_softmax(&args);
    if (status != FOVEA_OK) break;
    status = fovea_quantize_to_i8(memory, elements, out_scale, static_cast<int32_t>(y_zero_point),
                                  out.mutable_data_ptr<int8_t>() + done);
  }
  report(context, status);
  return out;
}

}  // namespace fovea_executorch
