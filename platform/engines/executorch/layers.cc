// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "graph.h"
#include "operators.h"

namespace fovea_executorch {
namespace {

constexpr size_t kMostDims = executorch::runtime::kTensorDimensionLimit;

bool is_f32(const Tensor& t) { return t.scalar_type() == ScalarType::Float && is_contiguous(t); }

// An optional f32 tensor [dim].
bool is_row(const OptionalTensor& t, ssize_t dim) { return !t || (t->dim() == 1 && t->size(0) == dim && is_f32(*t)); }

const float* numbers(const OptionalTensor& t) { return t ? t->const_data_ptr<float>() : nullptr; }

// x and out have the same type, which fovea reads and writes, and the same shape.
bool is_elementwise(Context& context, const Tensor& x, Tensor& out, fovea_dtype* dtype) {
  FOVEA_REQUIRE(context, format_of(x.scalar_type(), dtype) && is_contiguous(x) && is_contiguous(out), false);
  FOVEA_REQUIRE(context, out.scalar_type() == x.scalar_type(), false);
  FOVEA_REQUIRE(context, resize_tensor(out, x.sizes()) == Error::Ok, false);
  return true;
}

// A layer whose rows do not depend on one another, in parts of about equal counts of rows, one for each worker.
// compute(first, rows) computes a part. An element takes the time of about kWorkOfElement multiply-adds.
constexpr double kWorkOfElement = 8;

template <class Compute>
void share_rows(Context& context, const Tensor& x, size_t rows, Compute compute) {
  struct Parts {
    size_t rows, count;
    Compute& compute;
    std::atomic<fovea_status> status{FOVEA_OK};
    static void run(void* self, size_t index, uint32_t) {
      Parts& parts = *static_cast<Parts*>(self);
      const size_t first = parts.rows * index / parts.count, end = parts.rows * (index + 1) / parts.count;
      const fovea_status status = first == end ? FOVEA_OK : parts.compute(first, end - first);
      if (status != FOVEA_OK) parts.status = status;
    }
  };
  const Threads threads(kWorkOfElement * static_cast<double>(x.numel()));
  Parts parts{rows, threads.workers(), compute};
  const bool done = threads.run(parts.count, Parts::run, &parts);
  report(context, done ? parts.status.load() : FOVEA_ERR_EXECUTOR);
}

// The address of an element of a tensor.
const void* element(const Tensor& t, size_t index) {
  return static_cast<const uint8_t*>(t.const_data_ptr()) + index * static_cast<size_t>(t.element_size());
}
void* element(Tensor& t, size_t index) {
  return static_cast<uint8_t*>(t.mutable_data_ptr()) + index * static_cast<size_t>(t.element_size());
}

Tensor& norm_out(Context& context, fovea_norm_kind kind, const Tensor& x, const OptionalTensor& weight,
                 const OptionalTensor& bias, double epsilon, Tensor& out) {
  FOVEA_REQUIRE(context, x.dim() >= 1, out);
  const ssize_t dim = x.size(x.dim() - 1);
  FOVEA_REQUIRE(context, is_row(weight, dim) && is_row(bias, dim), out);
  fovea_dtype dtype;
  if (!is_elementwise(context, x, out, &dtype) || x.numel() == 0) return out;
  fovea_norm_args args = {};
  args.struct_bytes = sizeof args;
  args.norm = kind;
  args.epsilon = static_cast<float>(epsilon);
  args.batch = args.heads = 1;
  args.dim = static_cast<uint32_t>(dim);
  args.x_dtype = args.y_dtype = dtype;
  args.weight = numbers(weight);
  args.bias = numbers(bias);
  share_rows(context, x, static_cast<size_t>(x.numel() / dim), [&](size_t first, size_t rows) {
    fovea_norm_args part = args;
    part.tokens = static_cast<uint32_t>(rows);
    part.x = {element(x, first * args.dim), 0, 0, dim};
    part.y = {element(out, first * args.dim), x.numel(), x.numel(), dim};
    return fovea_norm(&part);
  });
  return out;
}

}  // namespace

bool activation_of(std::string_view name, fovea_activation_kind* kind) {
  constexpr struct {
    std::string_view name;
    fovea_activation_kind kind;
  } kNames[] = {
      {"none", FOVEA_ACTIVATION_IDENTITY},       {"relu", FOVEA_ACTIVATION_RELU},
      {"silu", FOVEA_ACTIVATION_SILU},           {"sigmoid", FOVEA_ACTIVATION_SIGMOID},
      {"tanh", FOVEA_ACTIVATION_TANH},           {"gelu", FOVEA_ACTIVATION_GELU},
      {"gelu_tanh", FOVEA_ACTIVATION_GELU_TANH}, {"hardswish", FOVEA_ACTIVATION_HARD_SWISH},
      {"relu6", FOVEA_ACTIVATION_RELU6},
  };
  for (const auto& known : kNames) {
    if (known.name == name) return *kind = known.kind, true;
  }
  return false;
}

bool resize_linear(Context& context, const Tensor& x, const Tensor& weight, Tensor& out) {
  FOVEA_REQUIRE(context, x.dim() >= 1 && weight.dim() == 2 && x.size(x.dim() - 1) == weight.size(1), false);
  FOVEA_REQUIRE(context, weight.size(0) > 0 && weight.size(1) > 0, false);
  executorch::aten::SizesType sizes[kMostDims];
  for (ssize_t i = 0; i < x.dim(); ++i) sizes[i] = x.sizes()[i];
  sizes[x.dim() - 1] = weight.sizes()[0];
  FOVEA_REQUIRE(context, executorch::runtime::resize_tensor(out, {sizes, static_cast<size_t>(x.dim())}) == Error::Ok,
                false);
  return true;
}

void run_linear(Context& context, fovea_linear_args& args) {
  const Threads threads(static_cast<double>(args.tokens) * args.in_dim * args.out_dim);
  args.executor = threads.executor();
  size_t bytes = 0;
  if (!report(context, fovea_linear_workspace_bytes(&args, &bytes))) return;
  void* const memory = workspace(context, bytes);
  if (memory != nullptr) report(context, fovea_linear(&args, memory, bytes));
}

Tensor& linear_out(Context& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                   std::string_view activation, Tensor& out) {
  fovea_linear_args args = {};
  FOVEA_REQUIRE(context, activation_of(activation, &args.activation), out);
  FOVEA_REQUIRE(context, is_f32(x) && is_f32(weight) && is_f32(out), out);
  FOVEA_REQUIRE(context, weight.dim() == 2 && is_row(bias, weight.size(0)), out);
  if (!resize_linear(context, x, weight, out)) return out;
  if (out.numel() == 0) return out;

  args.struct_bytes = sizeof args;
  args.in_dim = count(weight, 1);
  args.out_dim = count(weight, 0);
  args.tokens = static_cast<uint32_t>(x.numel() / args.in_dim);
  args.x = x.const_data_ptr();
  args.x_stride = args.in_dim;
  args.y = out.mutable_data_ptr();
  args.y_stride = args.out_dim;
  args.weights.data = weight.const_data_ptr();
  args.weights.row_stride = args.in_dim;
  args.weights.bias = numbers(bias);
  run_linear(context, args);
  return out;
}

Tensor& layer_norm_out(Context& context, const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                       double epsilon, Tensor& out) {
  return norm_out(context, FOVEA_NORM_LAYER, x, weight, bias, epsilon, out);
}

Tensor& rms_norm_out(Context& context, const Tensor& x, const OptionalTensor& weight, double epsilon, Tensor& out) {
  return norm_out(context, FOVEA_NORM_RMS, x, weight, {}, epsilon, out);
}

Tensor& activation_out(Context& context, const Tensor& x, const OptionalTensor& factor, std::string_view activation,
                       Tensor& out) {
  fovea_activation_args args = {};
  FOVEA_REQUIRE(context, activation_of(activation, &args.activation), out);
  if (factor) {
    FOVEA_REQUIRE(context, factor->scalar_type() == x.scalar_type() && factor->sizes() == x.sizes(), out);
    FOVEA_REQUIRE(context, is_contiguous(*factor), out);
  }
  if (!is_elementwise(context, x, out, &args.x_dtype) || x.numel() == 0) return out;
  args.struct_bytes = sizeof args;
  args.batch = args.heads = args.tokens = 1;
  args.y_dtype = args.x_dtype;
  share_rows(context, x, static_cast<size_t>(x.numel()), [&](size_t first, size_t elements) {
    fovea_activation_args part = args;
    part.dim = static_cast<uint32_t>(elements);
    part.x.data = element(x, first);
    part.factor.data = factor ? element(*factor, first) : nullptr;
    part.y = {element(out, first), x.numel(), x.numel(), x.numel()};
    return fovea_activation(&part);
  });
  return out;
}

Tensor& softmax_out(Context& context, const Tensor& x, int64_t dim, Tensor& out) {
  FOVEA_REQUIRE(context, x.scalar_type() == ScalarType::Float && dim >= -x.dim() && dim < x.dim(), out);
  fovea_dtype dtype;
  if (!is_elementwise(context, x, out, &dtype) || x.numel() == 0) return out;
  const int axis = static_cast<int>(dim < 0 ? dim + x.dim() : dim);
  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args;
  args.axis = static_cast<size_t>(x.size(axis));
  args.inner = static_cast<size_t>(stride_of(x, axis));
  const size_t slice = args.axis * args.inner;
  args.x_axis_stride = args.y_axis_stride = stride_of(x, axis);
  args.x_outer_stride = args.y_outer_stride = stride_of(x, axis) * x.size(axis);
  share_rows(context, x, static_cast<size_t>(x.numel()) / slice, [&](size_t first, size_t slices) {
    fovea_softmax_args part = args;
    part.outer = slices;
    part.x = x.const_data_ptr<float>() + first * slice;
    part.y = out.mutable_data_ptr<float>() + first * slice;
    return fovea_softmax(&part);
  });
  return out;
}

}  // namespace fovea_executorch
