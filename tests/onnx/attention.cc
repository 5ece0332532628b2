// SPDX-License-Identifier: Apache-2.0
//
// ONNX Attention (opsets 23 to 25) and FlexAttention (ai.onnx.preview, opset 1) as fovea_attention.
//
// Queries, keys, values and outputs are of the case's own types, float32, float16 or bfloat16, in arrays and in caches.
//
//     slot  input                                 here
//     0..2  Q, K, V, of rank 4 or 3               strides: [batch][heads][tokens][dim] or [batch][tokens][heads][dim]
//     3     attn_mask, bool or float              args.mask, which broadcasts as ONNX does
//     4, 5  past_key, past_value                  in front of K and V, copied, and in caches: the present outputs
//     6     nonpad_kv_seqlen                      args.kv_lengths
//     is_causal, and no past, no nonpad           FOVEA_CAUSAL_TOP_LEFT
//     is_causal, and past                         FOVEA_CAUSAL_POSITIONS: the first query stands behind the past
//     is_causal, and nonpad                       FOVEA_CAUSAL_BOTTOM_RIGHT of each entry's length
//     left_window_size, right_window_size         window_left, window_right, which count the query's own position too;
//                                                 without is_causal the same places by FOVEA_DIAGONAL_...
//     qk_matmul_output_mode 0, 1, 2, 3            FOVEA_SCORES_SCALED, _CAPPED, _MASKED, _SOFTMAX
//     score_mod                                   a modifier of scores, which runs the graph for each element
//     prob_mod                                    a modifier of weights, which does the same
#include <algorithm>
#include <optional>

#include "cache.h"
#include "graph.h"

namespace fovea_onnx {
namespace {

// past, then fresh, along tokens: [batch][heads][past tokens + fresh tokens][dim].
Tensor join(const Tensor* past, const Tensor& fresh, const Heads& shape, size_t past_tokens) {
  if (past != nullptr && past->dtype != fresh.dtype) throw Error("a past of another type");
  const size_t row_bytes = shape.dim * bytes_of(fresh.dtype);
  Tensor joined;
  joined.dtype = fresh.dtype;
  joined.shape = {shape.batch, shape.heads, past_tokens + shape.tokens, shape.dim};
  joined.bytes.reserve(element_count(joined.shape) * bytes_of(fresh.dtype) + 1);  // never without a pointer
  const auto put = [&joined](const uint8_t* from, size_t bytes) {
    joined.bytes.insert(joined.bytes.end(), from, from + bytes);
  };
  const fovea::View<const float> fresh_rows = shape.view(fresh.floats.data());
  for (size_t b = 0; b < shape.batch; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t past_bytes = past_tokens * row_bytes;
      if (past != nullptr) put(past->bytes.data() + (b * shape.heads + h) * past_bytes, past_bytes);
      for (size_t t = 0; t < shape.tokens; ++t) {
        const auto element = static_cast<size_t>(fresh_rows.row(b, h, t) - fresh_rows.data);
        put(fresh.bytes.data() + element * bytes_of(fresh.dtype), row_bytes);
      }
    }
  }
  joined.floats = widen(joined.dtype, joined.bytes.data(), element_count(joined.shape));
  return joined;
}

size_t past_tokens_of(const Tensor* past, const Heads& fresh) {
  if (past == nullptr) return 0;
  const Shape& s = past->shape;
  if (!past->is_float() || s.size() != 4 || s[0] != fresh.batch || s[1] != fresh.heads || s[3] != fresh.dim) {
    throw Error("past of shape " + to_string(s));
  }
  return s[2];
}

fovea_mask_kind mask_kind_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return FOVEA_MASK_F32;
    case DType::kF16: return FOVEA_MASK_F16;
    case DType::kBf16: return FOVEA_MASK_BF16;
    case DType::kBool: return FOVEA_MASK_BYTE;
    default: throw Error("attn_mask of this type");
  }
}

// attn_mask as fovea's mask. A mask of one column means that column for every key.
fovea_mask mask_of(const Tensor* tensor, size_t batch, size_t q_heads, size_t q_tokens, size_t kv_tokens) {
  fovea_mask mask{};
  if (tensor == nullptr) return mask;
  if (tensor->shape.size() > 4) throw Error("attn_mask of this rank");
  Shape s(4 - tensor->shape.size(), 1);
  s.insert(s.end(), tensor->shape.begin(), tensor->shape.end());
  const Shape full = {batch, q_heads, q_tokens};
  for (size_t i = 0; i < 3; ++i) {
    if (s[i] != 1 && s[i] != full[i]) throw Error("attn_mask of shape " + to_string(tensor->shape));
  }
  if (s[3] == 0) throw Error("attn_mask without columns");
  mask.kind = mask_kind_of(tensor->dtype);
  mask.data = tensor->bytes.data();
  mask.broadcast_keys = s[3] == 1;
  mask.kv_tokens = count32(s[3] == 1 ? kv_tokens : s[3]);
  mask.q_stride = s[2] == 1 ? 0 : static_cast<ptrdiff_t>(s[3]);
  mask.head_stride = s[1] == 1 ? 0 : static_cast<ptrdiff_t>(s[2] * s[3]);
  mask.batch_stride = s[0] == 1 ? 0 : static_cast<ptrdiff_t>(s[1] * s[2] * s[3]);
  return mask;
}

fovea_scores_stage stage_of(int64_t mode) {
  switch (mode) {
    case 0: return FOVEA_SCORES_SCALED;
    case 1: return FOVEA_SCORES_CAPPED;
    case 2: return FOVEA_SCORES_MASKED;
    case 3: return FOVEA_SCORES_SOFTMAX;
    default: throw Error("qk_matmul_output_mode " + std::to_string(mode));
  }
}

// ONNX's numbers of its types; 0 where a case names none.
constexpr int64_t kUnset = 0, kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;

// fovea's softmax is always in float32, which is within the suite's bound of one in double too.
void check_softmax_precision(int64_t type) {
  if (type != kUnset && type != kFloat && type != kFloat16 && type != kDouble && type != kBfloat16) {
    throw Error("softmax_precision " + std::to_string(type));
  }
}

// A window of ONNX counts the positions beside the query's own, and -1 is none; fovea's counts that position too, and 0
// is none.
uint32_t window_of(const Case& test, const std::string& attribute) {
  const int64_t size = test.integer(attribute, -1);
  if (size < -1) throw Error(attribute + " " + std::to_string(size));
  return count32(static_cast<size_t>(size + 1));
}

// Where fovea writes scores out.
bool gives_scores(fovea_kv_kind kind, fovea_scores_stage stage) {
  return kind == FOVEA_KV_STRIDED || (kind == FOVEA_KV_PAGED && stage >= FOVEA_SCORES_MASKED);
}

// Y and qk_matmul_output from one source of keys and values. Twice: with the kernel that the plan likes best, and with
// the one that it takes for any count of rows.
void attend(const Case& test, fovea::AttentionDesc desc, fovea::AttentionArgs args, const Heads& out_shape,
            const std::string& source, Verdict* verdict) {
  const size_t rows = out_shape.batch * out_shape.heads * out_shape.tokens;
  const fovea_scores_stage stage = stage_of(test.integer("qk_matmul_output_mode", 0));
  const bool with_scores = test.output(3) != nullptr && gives_scores(desc.kv_kind, stage);
  for (const uint32_t portable_bits : {0u, 1u}) {
    const std::string where = source + (portable_bits != 0 ? ", portable_bits" : "");
    desc.portable_bits = portable_bits;
    fovea::AttentionPlan plan;
    verdict->accept(plan.init(desc), "fovea_attention_plan_init", where);

    const Tensor& y = test.required_output(0);
    std::vector<uint8_t> out(rows * out_shape.dim * bytes_of(y.dtype) + 1, kUnwrittenByte);
    args.out = out_shape.view(out.data());

    std::vector<float> scores;
    if (with_scores) {
      scores.resize(rows * args.kv_tokens + 1, kUnwritten);
      args.scores = fovea::heads_first(scores.data(), out_shape.heads, out_shape.tokens, args.kv_tokens);
      args.scores_stage = stage;
      scores.pop_back();
    }

    std::vector<Line> workspace(plan.workspace_bytes() / sizeof(Line) + 1);
    const fovea_status status = plan.run(args, workspace.data(), plan.workspace_bytes());
    verdict->accept(status, "fovea_attention", where);
    verdict->compare(widen(y.dtype, out.data(), rows * out_shape.dim), y, "Y", where);
    if (with_scores) verdict->compare(scores, *test.output(3), "qk_matmul_output", where);
  }
}

// The present outputs, [batch][kv_heads][tokens][dim].
void compare_present(const Case& test, const std::vector<float>& keys, const std::vector<float>& values,
                     const std::string& where, Verdict* verdict) {
  if (const Tensor* present = test.output(1)) verdict->compare_exactly(keys, *present, "present_key", where);
  if (const Tensor* present = test.output(2)) verdict->compare_exactly(values, *present, "present_value", where);
}

// The inputs of a case, and what they say of fovea's description and arguments, which refer to them.
struct Call {
  const Case& test;
  const Tensor &q = test.required_input(0), &k = test.required_input(1), &v = test.required_input(2);
  const Tensor *past_key = test.input(4), *past_value = test.input(5), *nonpad = test.input(6);
  Heads q_shape{q, test.integer("q_num_heads", 0)};
  Heads k_shape{k, test.integer("kv_num_heads", 0)}, v_shape{v, test.integer("kv_num_heads", 0)};
  size_t past_tokens = past_tokens_of(past_key, k_shape), kv_tokens = past_tokens + k_shape.tokens;
  fovea::AttentionDesc desc;
  fovea::AttentionArgs args;
  Tensor keys, values;  // with the past in front
  std::vector<uint32_t> kv_lengths;
  std::vector<int64_t> positions;

  explicit Call(const Case& test_case);
  Call(const Call&) = delete;
  Heads out_shape() const {
    Heads shape = q_shape;
    shape.dim = v_shape.dim;
    return shape;
  }
  void describe();
  void take_keys();
  void take_lengths();
  void place();
};

Call::Call(const Case& test_case) : test(test_case) {
  if (q_shape.batch != k_shape.batch || q_shape.batch != v_shape.batch || k_shape.heads != v_shape.heads ||
      k_shape.tokens != v_shape.tokens || q_shape.dim != k_shape.dim ||
      past_tokens != past_tokens_of(past_value, v_shape)) {
    throw Error("Q, K and V do not fit together");
  }
  if (past_key != nullptr && nonpad != nullptr) throw Error("both past_key and nonpad_kv_seqlen");
  if (test.required_output(0).dtype != q.dtype) throw Error("Y of another type than Q");
  describe();
  take_keys();
  take_lengths();
  place();
  args.mask = mask_of(test.input(3), q_shape.batch, q_shape.heads, q_shape.tokens, kv_tokens);
}

void Call::describe() {
  desc.q_heads = count32(q_shape.heads);
  desc.kv_heads = count32(k_shape.heads);
  desc.head_dim = count32(q_shape.dim);
  desc.value_dim = count32(v_shape.dim);
  args.batch = desc.max_batch = count32(q_shape.batch);
  args.q_tokens = desc.max_q_tokens = count32(q_shape.tokens);
  args.kv_tokens = desc.max_kv_tokens = count32(kv_tokens);
  desc.q_dtype = desc.out_dtype = type_of(q.dtype);
  desc.key_dtype = type_of(k.dtype);
  desc.value_dtype = type_of(v.dtype);
  desc.softcap = test.number("softcap", 0);
  desc.scale = test.number("scale", 0);
  if (test.attributes.count("scale") != 0 && desc.scale == 0) throw Error("a scale of 0");
  desc.window_left = window_of(test, "left_window_size");
  desc.window_right = window_of(test, "right_window_size");
}

void Call::take_keys() {
  args.q = q_shape.view(q.bytes.data());
  args.kv.keys = k_shape.view(k.bytes.data());
  args.kv.values = v_shape.view(v.bytes.data());
  if (past_key == nullptr && test.output(1) == nullptr && test.output(2) == nullptr) return;
  keys = join(past_key, k, k_shape, past_tokens);
  values = join(past_value, v, v_shape, past_tokens);
  args.kv.keys = fovea::heads_first(keys.bytes.data(), k_shape.heads, kv_tokens, k_shape.dim);
  args.kv.values = fovea::heads_first(values.bytes.data(), v_shape.heads, kv_tokens, v_shape.dim);
}

void Call::take_lengths() {
  if (nonpad == nullptr) return;
  if (nonpad->dtype != DType::kI64 || nonpad->shape != Shape{q_shape.batch}) throw Error("nonpad_kv_seqlen");
  for (const int64_t length : nonpad->ints) {
    if (length < 0) throw Error("a negative length");
    kv_lengths.push_back(count32(static_cast<size_t>(length)));
  }
  args.kv_lengths = kv_lengths.data();
}

// Where the queries stand among the keys: at the end of each entry's length, behind the past, or from the first on.
void Call::place() {
  const bool at_end = nonpad != nullptr, behind_past = past_key != nullptr;
  if (test.integer("is_causal", 0) != 0) {
    desc.causal = at_end ? FOVEA_CAUSAL_BOTTOM_RIGHT : behind_past ? FOVEA_CAUSAL_POSITIONS : FOVEA_CAUSAL_TOP_LEFT;
  } else if (desc.window_left != 0 || desc.window_right != 0) {
    desc.diagonal = at_end        ? FOVEA_DIAGONAL_BOTTOM_RIGHT
                    : behind_past ? FOVEA_DIAGONAL_POSITIONS
                                  : FOVEA_DIAGONAL_TOP_LEFT;
  }
  if (desc.causal != FOVEA_CAUSAL_POSITIONS && desc.diagonal != FOVEA_DIAGONAL_POSITIONS) return;
  positions.assign(q_shape.batch, static_cast<int64_t>(past_tokens));
  args.first_positions = positions.data();
}

// The same from caches: the past is appended, then K and V.
void attend_to_caches(const Call& call, Verdict* verdict) {
  const Heads past_key_shape(*call.past_key, 0), past_value_shape(*call.past_value, 0);
  for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED}) {
    fovea::AttentionDesc desc = call.desc;
    fovea::AttentionArgs args = call.args;
    Cache cache(kind, call.k_shape, call.v_shape, call.kv_tokens, desc.target, verdict);
    cache.append(*call.past_key, past_key_shape, *call.past_value, past_value_shape);
    cache.append(call.k, call.k_shape, call.v, call.v_shape);
    compare_present(call.test, cache.key_rows(), cache.value_rows(), cache.where(), verdict);
    verdict->accept(cache.get().describe(desc), "fovea_kv_describe", cache.where());
    verdict->accept(cache.get().attach(args), "fovea_kv_attach", cache.where());
    desc.max_kv_tokens = args.kv_tokens;  // a ring takes any number: these fit
    attend(call.test, desc, args, call.out_shape(), cache.where(), verdict);
  }
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

}  // namespace

void run_attention(const Case& test, fovea_target target, Verdict* verdict) {
  check_softmax_precision(test.integer("softmax_precision", kUnset));

  Call call(test);
  call.desc.target = target;
  const std::string where = fovea_target_name(target);
  if (!call.keys.bytes.empty()) compare_present(test, call.keys.floats, call.values.floats, where, verdict);
  attend(test, call.desc, call.args, call.out_shape(), where, verdict);
  if (call.past_key != nullptr) attend_to_caches(call, verdict);
}

void run_flex_attention(const Case& test, fovea_target target, Verdict* verdict) {
  Call call(test);
  call.desc.target = target;
  const Shape scores = {call.q_shape.batch, call.q_shape.heads, call.q_shape.tokens, call.k_shape.tokens};
  const Change score_mod(test, "score_mod", scores), prob_mod(test, "prob_mod", scores);
  const fovea::Modifier both(score_mod, prob_mod);
  fovea_modifier modifier = both;  // without what the case has not
  if (!score_mod.is_there()) modifier.score_mod = nullptr;
  if (!prob_mod.is_there()) modifier.weight_mod = nullptr;
  call.args.modifier = &modifier;
  attend(test, call.desc, call.args, call.out_shape(), fovea_target_name(target), verdict);
}

}  // namespace fovea_onnx
