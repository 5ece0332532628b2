// SPDX-License-Identifier: Apache-2.0
//
// ONNX Softmax and LogSoftmax as fovea_softmax and fovea_log_softmax.
#include "fovea/fovea.hpp"
#include "operators.h"

namespace fovea_onnx {

void run_softmax(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor& x = test.required_input(0);
  const Tensor& y = test.required_output(0);
  if (!x.is_float() || x.shape.empty()) throw Error("input of this type or rank");

  // From opset 13 on, the softmax is along one axis, the last unless said otherwise. Before it, all dimensions from
  // `axis` (1 unless said otherwise) on were taken as one.
  const bool one_axis = test.opset >= 13;
  Split split = split_at(x.shape, test.integer("axis", one_axis ? -1 : 1));
  if (!one_axis) split.count *= split.inner, split.inner = 1;
  std::vector<float> out(x.floats.size() + 1, kUnwritten);
  fovea::SoftmaxArgs args;
  args.target = target;
  args.y = out.data(), args.x = x.floats.data();
  args.x_axis_stride = args.y_axis_stride = static_cast<ptrdiff_t>(split.inner);
  args.x_outer_stride = args.y_outer_stride = static_cast<ptrdiff_t>(split.count * split.inner);
  args.outer = split.outer, args.axis = split.count, args.inner = split.inner, args.scale = 1;

  const bool log = test.op == "LogSoftmax";
  const std::string where = fovea_target_name(target);
  const fovea_status status = log ? fovea::log_softmax(args) : fovea::softmax(args);
  verdict->accept(status, log ? "fovea_log_softmax" : "fovea_softmax", where);
  out.pop_back();
  verdict->compare(out, y, test.outputs.at(0).name, where);
}

}  // namespace fovea_onnx
