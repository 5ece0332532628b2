// SPDX-License-Identifier: Apache-2.0
//
// ONNX RotaryEmbedding (opset 23) as fovea_rope.
//
//     slot  input                                 here
//     0     X, of rank 4 or 3                     strides: [batch][heads][tokens][dim] or [batch][tokens][heads][dim]
//     1, 2  cos_cache, sin_cache                  args.cos, args.sin: [positions][rotary_dim / 2]
//     3     position_ids [batch][tokens]          args.position_ids
//     no position_ids                             the caches are [batch][tokens][rotary_dim / 2]: token t of entry b is
//                                                 at position b * tokens + t of them, by args.first_positions
//     interleaved                                 FOVEA_ROPE_INTERLEAVED, else FOVEA_ROPE_HALF_SPLIT
//     rotary_embedding_dim                        args.rotary_dim: 0 is all
#include "fovea/fovea.hpp"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {

void run_rotary_embedding(const Case& test, fovea_target target, Verdict* verdict) {
  const Tensor &x = test.required_input(0), &cos = test.required_input(1), &sin = test.required_input(2);
  const Tensor* ids = test.input(3);
  const Heads shape(x, test.integer("num_heads", 0));

  fovea::RopeArgs args;
  args.target = target;
  args.batch = count32(shape.batch), args.heads = count32(shape.heads), args.tokens = count32(shape.tokens);
  args.dim = count32(shape.dim);
  args.rotary_dim = count32(static_cast<size_t>(test.integer("rotary_embedding_dim", 0)));
  args.layout = test.integer("interleaved", 0) != 0 ? FOVEA_ROPE_INTERLEAVED : FOVEA_ROPE_HALF_SPLIT;

  const size_t pairs = (args.rotary_dim != 0 ? args.rotary_dim : args.dim) / 2;
  const bool indexed = ids == nullptr;
  const Shape rows = {shape.batch, shape.tokens};
  if (!indexed && (ids->dtype != DType::kI64 || ids->shape != rows)) throw Error("position_ids");
  if (!cos.is_float() || !sin.is_float() || cos.shape != sin.shape || cos.shape.size() != (indexed ? 3 : 2) ||
      cos.shape.back() != pairs || (indexed && Shape(cos.shape.begin(), cos.shape.end() - 1) != rows)) {
    throw Error("caches of shape " + to_string(cos.shape) + " and " + to_string(sin.shape));
  }
  args.cos = cos.floats.data(), args.sin = sin.floats.data();
  args.table_stride = static_cast<ptrdiff_t>(pairs);
  args.table_positions = indexed ? shape.batch * shape.tokens : cos.shape[0];
  std::vector<int64_t> first(shape.batch);
  if (indexed) {
    for (size_t b = 0; b < shape.batch; ++b) first[b] = static_cast<int64_t>(b * shape.tokens);
    args.first_positions = first.data();
  } else {
    args.position_ids = ids->ints.data();
    args.position_ids_stride = static_cast<ptrdiff_t>(shape.tokens);
  }

  std::vector<float> out(x.floats.size(), kUnwritten);
  args.x = shape.view(x.floats.data());
  args.y = shape.view(out.data());
  const std::string where = fovea_target_name(target);
  verdict->accept(fovea::rope(args), "fovea_rope", where);
  verdict->compare(out, test.required_output(0), "Y", where);
}

}  // namespace fovea_onnx
