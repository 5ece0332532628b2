// SPDX-License-Identifier: Apache-2.0
//
// ONNX Softmax and LogSoftmax as fovea_softmax_f32 and fovea_log_softmax_f32.
#include "operators.h"

namespace fovea_onnx {

void run_softmax(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  const Tensor& y = test.required_output(0);
  if (!x.is_float() || x.shape.empty()) throw Error("input of this type or rank");

  // From opset 13 on, the softmax is along one axis, the last unless said otherwise. Before it, all dimensions from
  // `axis` (1 unless said otherwise) on were taken as one.
  const bool one_axis = test.opset >= 13;
  const auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = test.integer("axis", one_axis ? -1 : 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw Error("axis out of range");

  const auto before = x.shape.begin() + axis;
  const auto after = one_axis ? before + 1 : x.shape.end();
  const size_t outer = element_count(Shape(x.shape.begin(), before));
  const size_t count = element_count(Shape(before, after));
  const size_t inner = element_count(Shape(after, x.shape.end()));

  std::vector<float> out;
  out.reserve(x.floats.size() + 1);
  out.resize(x.floats.size(), kUnwritten);
  fovea_softmax_args args{};
  args.struct_bytes = sizeof args;
  args.target = target;
  args.out = out.data();
  args.in = x.floats.data();
  args.in_axis_stride = args.out_axis_stride = static_cast<ptrdiff_t>(inner);
  args.in_outer_stride = args.out_outer_stride = static_cast<ptrdiff_t>(count * inner);
  args.outer = outer;
  args.axis = count;
  args.inner = inner;
  args.scale = 1;

  const bool log = test.op == "LogSoftmax";
  const std::string where = fovea_target_name(target);
  const fovea_status status = log ? fovea_log_softmax_f32(&args) : fovea_softmax_f32(&args);
  verdict->accept(status, log ? "fovea_log_softmax_f32" : "fovea_softmax_f32", where);
  verdict->compare(out, y, test.outputs.at(0).name, where);
}

}  // namespace fovea_onnx
