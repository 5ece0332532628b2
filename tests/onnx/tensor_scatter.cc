// SPDX-License-Identifier: Apache-2.0
//
// ONNX TensorScatter (opset 24) as caches of fovea, which hold the tensor both as keys and as values.
//
//     slot  input                                 here
//     0     past_cache, of rank 4 or 3            appended to an empty cache that it fills:
//                                                 [batch][heads][tokens][dim] or [batch][tokens][dim]
//     2     write_indices [batch], or zeros       fovea_kv_truncate of each entry: the rows behind keep what they hold
//     1     update                                appended
//     mode "linear"                               FOVEA_KV_STRIDED
//     mode "circular"                             FOVEA_KV_RING, whose token j is in slot j % slots
//     axis                                        that of tokens, the last but one
#include "cache.h"

namespace fovea_onnx {
namespace {

fovea_kv_kind kind_of(const std::string& mode) {
  if (mode != "linear" && mode != "circular") throw Error("mode " + mode);
  return mode == "linear" ? FOVEA_KV_STRIDED : FOVEA_KV_RING;
}

}  // namespace

void run_tensor_scatter(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor &past = test.required_input(0), &update = test.required_input(1);
  const Heads shape(past, 1), update_shape(update, 1);
  const auto rank = static_cast<int64_t>(past.shape.size());
  const int64_t axis = test.integer("axis", -2);
  if (axis != -2 && axis != rank - 2) throw Error("axis " + std::to_string(axis));
  if (update.shape.size() != past.shape.size() || update_shape.batch != shape.batch ||
      update_shape.heads != shape.heads || update_shape.dim != shape.dim) {
    throw Error("past_cache and update do not fit together");
  }
  const Tensor* const indices = test.input(2);
  if (indices != nullptr && (indices->dtype != DType::kI64 || indices->shape != Shape{shape.batch})) {
    throw Error("write_indices");
  }

  Cache cache(kind_of(test.text("mode", "linear")), shape, shape, shape.tokens, target, verdict);
  cache.append(past, shape, past, shape);
  for (size_t b = 0; b < shape.batch; ++b) {
    const int64_t index = indices != nullptr ? indices->ints[b] : 0;
    if (index < 0) throw Error("a negative index");
    cache.truncate(b, static_cast<size_t>(index));
  }
  cache.append(update, update_shape, update, update_shape);
  const Tensor& present = test.required_output(0);
  verdict->compare_exactly(cache.key_rows(), present, "present_cache in keys", cache.where());
  verdict->compare_exactly(cache.value_rows(), present, "present_cache in values", cache.where());
}

}  // namespace fovea_onnx
