// SPDX-License-Identifier: Apache-2.0
//
// ONNX Attention (opsets 23 to 25) as fovea_attention.
//
//     slot  input                                 here
//     0..2  Q, K, V, of rank 4 or 3               strides: [batch][heads][tokens][dim] or [batch][tokens][heads][dim]
//     3     attn_mask, bool or float              args.mask, which broadcasts as ONNX does, but not over keys
//     4, 5  past_key, past_value                  in front of K and V, copied, and in caches: the present outputs
//     6     nonpad_kv_seqlen                      args.kv_lengths
//     is_causal, and no past, no nonpad           FOVEA_CAUSAL_TOP_LEFT
//     is_causal, and past                         FOVEA_CAUSAL_POSITIONS: the first query stands behind the past
//     is_causal, and nonpad                       FOVEA_CAUSAL_BOTTOM_RIGHT of each entry's length
//     qk_matmul_output_mode 0, 1, 2, 3            FOVEA_SCORES_SCALED, _CAPPED, _MASKED, _SOFTMAX
#include <algorithm>

#include "cache.h"

namespace fovea_onnx {
namespace {

// past, then fresh, along tokens: [batch][heads][past tokens + fresh tokens][dim].
std::vector<float> join(const Tensor* past, const Tensor& fresh, const Heads& shape, size_t past_tokens) {
  const size_t tokens = past_tokens + shape.tokens;
  std::vector<float> joined(shape.batch * shape.heads * tokens * shape.dim + 1);  // never without a pointer
  const fovea::View<const float> from = shape.view(fresh.floats.data());
  float* to = joined.data();
  for (size_t b = 0; b < shape.batch; ++b) {
    for (size_t h = 0; h < shape.heads; ++h) {
      const size_t past_elements = past_tokens * shape.dim;
      if (past != nullptr) {
        to = std::copy_n(past->floats.data() + (b * shape.heads + h) * past_elements, past_elements, to);
      }
      for (size_t t = 0; t < shape.tokens; ++t) to = std::copy_n(from.row(b, h, t), shape.dim, to);
    }
  }
  joined.pop_back();
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

// attn_mask as fovea's mask. A mask of one column means that column for every key; fovea's keys are contiguous, so it
// is written out in full.
struct Mask {
  fovea_mask mask{};
  std::vector<float> floats;
  std::vector<uint8_t> bytes;

  Mask(const Tensor* tensor, size_t batch, size_t q_heads, size_t q_tokens, size_t kv_tokens) {
    if (tensor == nullptr) return;
    if (tensor->dtype == DType::kI64 || tensor->shape.size() > 4) throw Error("attn_mask of this type or rank");
    Shape s(4 - tensor->shape.size(), 1);
    s.insert(s.end(), tensor->shape.begin(), tensor->shape.end());
    const Shape full = {batch, q_heads, q_tokens};
    for (size_t i = 0; i < 3; ++i) {
      if (s[i] != 1 && s[i] != full[i]) throw Error("attn_mask of shape " + to_string(tensor->shape));
    }
    const size_t repeats = s[3] == 1 ? kv_tokens : 1;
    floats = repeat_each(tensor->floats, repeats);
    bytes = repeat_each(tensor->bytes, repeats);
    const size_t columns = s[3] * repeats;
    if (columns > kv_tokens) throw Error("attn_mask longer than the keys");

    const bool is_bool = tensor->dtype == DType::kBool;
    mask.kind = is_bool ? FOVEA_MASK_BYTE : FOVEA_MASK_F32;
    mask.data = is_bool ? static_cast<const void*>(bytes.data()) : floats.data();
    mask.kv_tokens = count32(columns);
    mask.q_stride = s[2] == 1 ? 0 : static_cast<ptrdiff_t>(columns);
    mask.head_stride = s[1] == 1 ? 0 : static_cast<ptrdiff_t>(s[2] * columns);
    mask.batch_stride = s[0] == 1 ? 0 : static_cast<ptrdiff_t>(s[1] * s[2] * columns);
  }

 private:
  template <class T>
  static std::vector<T> repeat_each(const std::vector<T>& column, size_t repeats) {
    std::vector<T> all;
    all.reserve(column.size() * repeats + 1);
    for (const T& element : column) all.insert(all.end(), repeats, element);
    return all;
  }
};

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
constexpr int64_t kUnset = 0, kFloat = 1, kFloat16 = 10, kBfloat16 = 16;

// fovea computes in float32. That serves a softmax asked for in float32 or narrower; the numbers are ONNX's of its
// types.
void check_softmax_precision(int64_t type) {
  if (type != kUnset && type != kFloat && type != kFloat16 && type != kBfloat16) {
    throw Error("softmax_precision " + std::to_string(type));
  }
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
    fovea::Plan plan;
    if (!verdict->accept(plan.init(desc), "fovea_plan_init", where)) return;

    std::vector<float> out(rows * out_shape.dim + 1, kUnwritten);
    args.out = out_shape.view(out.data());
    out.pop_back();

    std::vector<float> scores;
    if (with_scores) {
      scores.resize(rows * args.kv_tokens + 1, kUnwritten);
      args.scores = fovea::heads_first(scores.data(), out_shape.heads, out_shape.tokens, args.kv_tokens);
      args.scores_stage = stage;
      scores.pop_back();
    }

    std::vector<Line> workspace(plan.workspace_bytes() / sizeof(Line) + 1);
    const fovea_status status = plan.run(args, workspace.data(), plan.workspace_bytes());
    if (!verdict->accept(status, "fovea_attention", where)) return;
    verdict->compare(out, test.required_output(0), "Y", where);
    if (with_scores) verdict->compare(scores, *test.output(3), "qk_matmul_output", where);
  }
}

// The present outputs, [batch][kv_heads][tokens][dim].
void compare_present(const Case& test, const std::vector<float>& keys, const std::vector<float>& values,
                     const std::string& where, Verdict* verdict) {
  if (const Tensor* present = test.output(1)) verdict->compare_exactly(keys, *present, "present_key", where);
  if (const Tensor* present = test.output(2)) verdict->compare_exactly(values, *present, "present_value", where);
}

}  // namespace

void run_attention(const Case& test, fovea_target target, Verdict* verdict) {
  if (test.opset < 23 || test.opset > 25) throw Error("opset " + std::to_string(test.opset));
  test.allow(
      {"is_causal", "kv_num_heads", "q_num_heads", "qk_matmul_output_mode", "scale", "softcap", "softmax_precision"}, 6,
      3);
  check_softmax_precision(test.integer("softmax_precision", 0));

  const Tensor& q = test.required_input(0);
  const Tensor& k = test.required_input(1);
  const Tensor& v = test.required_input(2);
  const Tensor *past_key = test.input(4), *past_value = test.input(5), *nonpad = test.input(6);
  const Heads q_shape(q, test.integer("q_num_heads", 0));
  const Heads k_shape(k, test.integer("kv_num_heads", 0));
  const Heads v_shape(v, test.integer("kv_num_heads", 0));
  const size_t past_tokens = past_tokens_of(past_key, k_shape);
  const size_t kv_tokens = past_tokens + k_shape.tokens;
  if (q_shape.batch != k_shape.batch || q_shape.batch != v_shape.batch || k_shape.heads != v_shape.heads ||
      k_shape.tokens != v_shape.tokens || q_shape.dim != k_shape.dim ||
      past_tokens != past_tokens_of(past_value, v_shape)) {
    throw Error("Q, K and V do not fit together");
  }
  if (past_key != nullptr && nonpad != nullptr) throw Error("both past_key and nonpad_kv_seqlen");

  fovea::AttentionDesc desc;
  desc.q_heads = count32(q_shape.heads);
  desc.kv_heads = count32(k_shape.heads);
  desc.head_dim = count32(q_shape.dim);
  desc.value_dim = count32(v_shape.dim);
  desc.max_batch = count32(q_shape.batch);
  desc.max_q_tokens = count32(q_shape.tokens);
  desc.max_kv_tokens = count32(kv_tokens);
  desc.softcap = test.number("softcap", 0);
  desc.scale = test.number("scale", 0);
  if (test.attributes.count("scale") != 0 && desc.scale == 0) throw Error("a scale of 0");
  desc.target = target;

  fovea::AttentionArgs args;
  args.batch = desc.max_batch;
  args.q_tokens = desc.max_q_tokens;
  args.kv_tokens = desc.max_kv_tokens;

  args.q = q_shape.view(q.floats.data());
  args.kv.keys = k_shape.view(k.floats.data());
  args.kv.values = v_shape.view(v.floats.data());
  const std::string where = fovea_target_name(target);
  std::vector<float> keys, values;
  if (past_key != nullptr || test.output(1) != nullptr || test.output(2) != nullptr) {
    keys = join(past_key, k, k_shape, past_tokens);
    values = join(past_value, v, v_shape, past_tokens);
    args.kv.keys = fovea::heads_first(keys.data(), k_shape.heads, kv_tokens, k_shape.dim);
    args.kv.values = fovea::heads_first(values.data(), v_shape.heads, kv_tokens, v_shape.dim);
    compare_present(test, keys, values, where, verdict);
  }

  std::vector<uint32_t> kv_lengths;
  if (nonpad != nullptr) {
    if (nonpad->dtype != DType::kI64 || nonpad->shape != Shape{q_shape.batch}) throw Error("nonpad_kv_seqlen");
    for (const int64_t length : nonpad->ints) {
      if (length < 0) throw Error("a negative length");
      kv_lengths.push_back(count32(static_cast<size_t>(length)));
    }
    args.kv_lengths = kv_lengths.data();
  }

  const std::vector<int64_t> positions(q_shape.batch, static_cast<int64_t>(past_tokens));
  if (test.integer("is_causal", 0) != 0) {
    if (nonpad != nullptr) {
      desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    } else if (past_key != nullptr) {
      desc.causal = FOVEA_CAUSAL_POSITIONS;
      args.positions = positions.data();
    } else {
      desc.causal = FOVEA_CAUSAL_TOP_LEFT;
    }
  }

  const Mask mask(test.input(3), q_shape.batch, q_shape.heads, q_shape.tokens, kv_tokens);
  args.mask = mask.mask;

  Heads out_shape = q_shape;
  out_shape.dim = v_shape.dim;
  attend(test, desc, args, out_shape, where, verdict);
  if (past_key == nullptr) return;

  // The same from caches: the past is appended, then K and V.
  const Heads past_key_shape(*past_key, 0), past_value_shape(*past_value, 0);
  for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED}) {
    Cache cache(kind, k_shape, v_shape, kv_tokens, target, verdict);
    if (!cache.init() || !cache.append(*past_key, past_key_shape, *past_value, past_value_shape) ||
        !cache.append(k, k_shape, v, v_shape)) {
      return;
    }
    compare_present(test, cache.key_rows(), cache.value_rows(), cache.where(), verdict);
    if (!verdict->accept(cache.get().describe(desc), "fovea_kv_describe", cache.where()) ||
        !verdict->accept(cache.get().attach(args), "fovea_kv_attach", cache.where())) {
      return;
    }
    attend(test, desc, args, out_shape, cache.where(), verdict);
  }
}

}  // namespace fovea_onnx
