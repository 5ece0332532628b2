// SPDX-License-Identifier: Apache-2.0
//
// ONNX FlexAttention (ai.onnx.preview, opset 1) as fovea_attention with a modifier.
//
//     slot  input                                 here
//     0..2  Q, K, V: [batch][heads][tokens][dim]  of their own types; float64 is rounded to float32, and so is Y
//     score_mod                                   a modifier of scores, which runs the graph for each element
//     prob_mod                                    a modifier of weights, which does the same
#include <optional>

#include "graph.h"
#include "heads.h"
#include "operators.h"

namespace fovea_onnx {
namespace {

// float64 as float32.
Tensor narrowed(const Tensor& tensor) {
  if (tensor.dtype != DType::kF64) return tensor;
  Tensor result = tensor;
  result.dtype = DType::kF32;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(result.floats.data());
  result.bytes.assign(bytes, bytes + result.floats.size() * sizeof(float));
  return result;
}

// What a graph that is an attribute of the case makes of elements of this shape.
class Change {
 public:
  Change(const Case& test, const std::string& attribute, const Shape& shape) {
    if (test.attributes.count(attribute) != 0) graph_.emplace(test.folder / (attribute + ".graph"), shape);
  }
  bool is_there() const { return graph_.has_value(); }

  float operator()(float element, const fovea::ScorePlace& at) const {
    return graph_->change(element, {at.batch, at.head, at.token, static_cast<size_t>(at.key)});
  }

 private:
  std::optional<Graph> graph_;
};

// Y, which has this shape. Twice: with the kernel that the plan likes best, and with the one that it takes for any
// count of rows.
void attend(fovea::AttentionDesc desc, fovea::AttentionArgs args, const Heads& shape, const Tensor& want,
            Verdict* verdict) {
  const size_t elements = element_count(want.shape);
  for (const uint32_t portable_bits : {0u, 1u}) {
    const std::string where =
        std::string(fovea_target_name(desc.target)) + (portable_bits != 0 ? ", portable_bits" : "");
    desc.portable_bits = portable_bits;
    fovea::Plan plan;
    if (!verdict->accept(plan.init(desc), "fovea_plan_init", where)) return;
    std::vector<uint8_t> out(elements * bytes_of(want.dtype) + 1, kUnwrittenByte);
    args.out = shape.view(out.data());
    std::vector<Line> workspace(plan.workspace_bytes() / sizeof(Line) + 1);
    const fovea_status status = plan.run(args, workspace.data(), plan.workspace_bytes());
    if (!verdict->accept(status, "fovea_attention", where)) return;
    verdict->compare(widen(want.dtype, out.data(), elements), want, "Y", where);
  }
}

}  // namespace

void run_flex_attention(const Case& test, fovea_target target, Verdict* verdict) {
  if (test.opset != 1) throw Error("opset " + std::to_string(test.opset));
  test.allow({"prob_mod", "scale", "score_mod"}, 2, 0);
  const Tensor q = narrowed(test.required_input(0)), k = narrowed(test.required_input(1)),
               v = narrowed(test.required_input(2)), want = narrowed(test.required_output(0));
  const Heads q_shape(q, 0), k_shape(k, 0), v_shape(v, 0), out_shape(want, 0);
  if (q_shape.batch != k_shape.batch || q_shape.batch != v_shape.batch || k_shape.heads != v_shape.heads ||
      k_shape.tokens != v_shape.tokens || q_shape.dim != k_shape.dim) {
    throw Error("Q, K and V do not fit together");
  }
  if (want.dtype != q.dtype || want.shape != Shape{q_shape.batch, q_shape.heads, q_shape.tokens, v_shape.dim}) {
    throw Error("Y of another type than Q, or another shape");
  }

  fovea::AttentionDesc desc;
  fovea::AttentionArgs args;
  desc.target = target;
  desc.q_heads = count32(q_shape.heads), desc.kv_heads = count32(k_shape.heads);
  desc.head_dim = count32(q_shape.dim), desc.value_dim = count32(v_shape.dim);
  args.batch = desc.max_batch = count32(q_shape.batch);
  args.q_tokens = desc.max_q_tokens = count32(q_shape.tokens);
  args.kv_tokens = desc.max_kv_tokens = count32(k_shape.tokens);
  desc.q_dtype = desc.out_dtype = type_of(q.dtype);
  desc.key_dtype = type_of(k.dtype), desc.value_dtype = type_of(v.dtype);
  desc.scale = test.number("scale", 0);
  if (test.attributes.count("scale") != 0 && desc.scale == 0) throw Error("a scale of 0");
  args.q = q_shape.view(q.bytes.data());
  args.kv.keys = k_shape.view(k.bytes.data()), args.kv.values = v_shape.view(v.bytes.data());

  const Shape scores = {q_shape.batch, q_shape.heads, q_shape.tokens, k_shape.tokens};
  const Change score_mod(test, "score_mod", scores), prob_mod(test, "prob_mod", scores);
  const fovea::Modifier both(score_mod, prob_mod);
  fovea_modifier modifier = both;  // without what the case has not
  if (!score_mod.is_there()) modifier.scores = nullptr;
  if (!prob_mod.is_there()) modifier.weights = nullptr;
  args.modifier = &modifier;
  attend(desc, args, out_shape, want, verdict);
}

}  // namespace fovea_onnx
