// SPDX-License-Identifier: Apache-2.0
//
// fovea.hpp says what fovea.h says, in C++.
#include "fovea/fovea.hpp"
#include "support/test.h"

namespace {

using fovea_test::bytes_of;
using fovea_test::indices;

constexpr size_t kBatch = 2, kTokens = 5, kQHeads = 4, kKvHeads = 2, kDim = 7;

// The value of an element, by its place in [batch][heads][tokens][dim] and a number for the array.
float element(size_t array, size_t b, size_t h, size_t t, size_t d) {
  return std::sin(float((((array * 3 + b) * 5 + h) * 7 + t) * 11 + d));
}

void fill(size_t array, size_t heads, fovea::View<float> view) {
  for (const auto& [b, h, t, d] : indices<size_t>(kBatch, heads, kTokens, kDim)) {
    view.row(b, h, t)[d] = element(array, b, h, t, d);
  }
}

fovea::AttentionDesc small_desc() {
  fovea::AttentionDesc desc;
  desc.q_heads = kQHeads, desc.kv_heads = kKvHeads, desc.head_dim = desc.value_dim = kDim;
  desc.max_batch = kBatch, desc.max_q_tokens = desc.max_kv_tokens = kTokens;
  desc.causal = FOVEA_CAUSAL_TOP_LEFT;
  return desc;
}

// Inputs, and an output, of small_desc(), each with the heads first.
struct SmallCall {
  std::vector<float> q = rows(kQHeads), keys = rows(kKvHeads), values = rows(kKvHeads), out = rows(kQHeads);
  fovea::View<float> key_view = fovea::heads_first(keys.data(), kKvHeads, kTokens, kDim);
  fovea::View<float> value_view = fovea::heads_first(values.data(), kKvHeads, kTokens, kDim);
  fovea::AttentionArgs args;
  fovea::AttentionWorkspace<kDim> workspace;

  SmallCall() {
    const auto q_view = fovea::heads_first(q.data(), kQHeads, kTokens, kDim);
    fill(0, kQHeads, q_view), fill(1, kKvHeads, key_view), fill(2, kKvHeads, value_view);
    args.batch = kBatch, args.q_tokens = args.kv_tokens = kTokens;
    args.q = q_view, args.kv.keys = key_view, args.kv.values = value_view;
    args.out = fovea::heads_first(out.data(), kQHeads, kTokens, kDim);
  }
  static std::vector<float> rows(size_t heads) { return std::vector<float>(kBatch * heads * kTokens * kDim, 3e33f); }
  // What a call with this plan writes.
  std::vector<float> run(const fovea::AttentionPlan& plan) {
    out.assign(out.size(), 3e33f);
    REQUIRE(plan.run(args, workspace) == FOVEA_OK);
    return out;
  }
};

fovea::AttentionPlan plan_of(const fovea::AttentionDesc& desc) {
  fovea::AttentionPlan plan;
  REQUIRE(plan.init(desc) == FOVEA_OK);
  return plan;
}

// The output in the order [batch][heads][tokens][dim], from inputs and an output that lie as the views say.
std::vector<float> attend(const fovea::PackedQkv<float>& in, fovea::View<float> out) {
  fill(0, kQHeads, in.q), fill(1, kKvHeads, in.keys), fill(2, kKvHeads, in.values);
  SmallCall call;
  call.args.q = in.q, call.args.kv.keys = in.keys, call.args.kv.values = in.values, call.args.out = out;
  REQUIRE(plan_of(small_desc()).run(call.args, call.workspace) == FOVEA_OK);
  std::vector<float> result;
  for (const auto& [b, h, t] : indices<size_t>(kBatch, kQHeads, kTokens)) {
    result.insert(result.end(), out.row(b, h, t), out.row(b, h, t) + kDim);
  }
  return result;
}

// Compiles for what converts to a Span of T, and says how long it was.
template <class T>
size_t size_of(fovea::Span<T> span) {
  return span.size();
}

// The function of C++ writes what that of C writes, which was not there, and returns its status. `args` point to `out`.
template <class Args, class Call, class CallOfC, class Out>
void check_same(Out& out, const Args& args, Call call, CallOfC call_of_c) {
  const Out before = out;
  REQUIRE(call(args) == FOVEA_OK);
  const Out made = out;
  CHECK(made != before);
  out = before;
  REQUIRE(call_of_c(&args) == FOVEA_OK);
  CHECK(made == out);
  Args wrong = args;
  wrong.struct_bytes -= 12;
  CHECK(call(wrong) == FOVEA_ERR_STRUCT);
}

}  // namespace

TEST_CASE("veneer: structures begin all zero but for their size, and have the size of those of C", "[veneer][short]") {
  STATIC_REQUIRE(sizeof(fovea::AttentionDesc) == sizeof(fovea_attention_desc));
  STATIC_REQUIRE(sizeof(fovea::AttentionArgs) == sizeof(fovea_attention_args));
  STATIC_REQUIRE(sizeof(fovea::SoftmaxArgs) == sizeof(fovea_softmax_args));

  constexpr fovea::AttentionDesc desc;
  STATIC_REQUIRE(desc.struct_bytes == sizeof(fovea_attention_desc));
  STATIC_REQUIRE((desc.scale == 0 && desc.causal == FOVEA_CAUSAL_NONE && desc.workspace_budget_bytes == 0));
  constexpr fovea::AttentionArgs args;
  STATIC_REQUIRE(args.struct_bytes == sizeof(fovea_attention_args));
  STATIC_REQUIRE((args.out.data == nullptr && args.mask.kind == FOVEA_MASK_NONE && args.sinks == nullptr));
  constexpr fovea::SoftmaxArgs softmax;
  STATIC_REQUIRE(softmax.struct_bytes == sizeof(fovea_softmax_args));
  STATIC_REQUIRE((softmax.y == nullptr && softmax.axis == 0 && softmax.mask == nullptr));
}

TEST_CASE("veneer: a view finds every element where its layout says that it lies", "[veneer][short]") {
  constexpr size_t kHeads = 3;
  std::vector<float> memory(kBatch * kTokens * (kHeads + 2 * kHeads) * kDim);
  float* const data = memory.data();
  const auto heads_first = fovea::heads_first(data, kHeads, kTokens, kDim);
  const auto tokens_first = fovea::tokens_first(data, kTokens, kHeads, kDim);
  const auto packed = fovea::packed_qkv(data, kTokens, kHeads, kHeads, kDim);
  for (const auto& [b, h, t] : indices<size_t>(kBatch, kHeads, kTokens)) {
    CHECK(heads_first.row(b, h, t) == data + ((b * kHeads + h) * kTokens + t) * kDim);
    CHECK(tokens_first.row(b, h, t) == data + ((b * kTokens + t) * kHeads + h) * kDim);
    CHECK(packed.q.row(b, h, t) == data + (((b * kTokens + t) * 3 + 0) * kHeads + h) * kDim);
    CHECK(packed.keys.row(b, h, t) == data + (((b * kTokens + t) * 3 + 1) * kHeads + h) * kDim);
    CHECK(packed.values.row(b, h, t) == data + (((b * kTokens + t) * 3 + 2) * kHeads + h) * kDim);
  }

  const fovea_in in = tokens_first;
  const fovea_out out = tokens_first;
  CHECK((in.data == data && out.data == data));
  CHECK((in.batch_stride == kTokens * kHeads * kDim && out.batch_stride == in.batch_stride));
  CHECK((in.head_stride == kDim && out.head_stride == in.head_stride));
  CHECK((in.token_stride == kHeads * kDim && out.token_stride == in.token_stride));
}

TEST_CASE("veneer: the layout of the arrays does not change a bit of the output", "[veneer][short]") {
  std::vector<float> q(kBatch * kQHeads * kTokens * kDim), keys(kBatch * kKvHeads * kTokens * kDim),
      values(keys.size());
  std::vector<float> packed(q.size() + keys.size() + values.size()), out(q.size(), 3e33f);

  const auto heads_first = attend(
      {fovea::heads_first(q.data(), kQHeads, kTokens, kDim), fovea::heads_first(keys.data(), kKvHeads, kTokens, kDim),
       fovea::heads_first(values.data(), kKvHeads, kTokens, kDim)},
      fovea::heads_first(out.data(), kQHeads, kTokens, kDim));
  CHECK(heads_first == out);
  const auto tokens_first = attend(
      {fovea::tokens_first(q.data(), kTokens, kQHeads, kDim), fovea::tokens_first(keys.data(), kTokens, kKvHeads, kDim),
       fovea::tokens_first(values.data(), kTokens, kKvHeads, kDim)},
      fovea::tokens_first(out.data(), kTokens, kQHeads, kDim));
  const auto from_packed = attend(fovea::packed_qkv(packed.data(), kTokens, kQHeads, kKvHeads, kDim),
                                  fovea::tokens_first(out.data(), kTokens, kQHeads, kDim));
  CHECK(tokens_first == heads_first);
  CHECK(from_packed == heads_first);
  // The first query sees the first key alone, so its output is that key's value.
  for (size_t d = 0; d < kDim; ++d) CHECK(std::fabs(heads_first[d] - element(2, 0, 0, 0, d)) < 1e-6f);
}

TEST_CASE("veneer: a plan answers as the functions of C do", "[veneer][short]") {
  const fovea::AttentionDesc desc = small_desc();
  fovea::AttentionPlan plan = plan_of(desc);
  fovea_attention_plan c_plan;
  REQUIRE(fovea_attention_plan_init(&c_plan, &desc) == FOVEA_OK);

  CHECK(plan.workspace_bytes() == bytes_of(fovea_attention_workspace_bytes, &c_plan));
  CHECK(plan.target() == fovea_attention_plan_desc(&c_plan)->target);
  CHECK(bytes_of(fovea_attention_workspace_bytes, &plan.get()) == plan.workspace_bytes());
  char text[200], c_text[200];
  CHECK(plan.describe(kTokens, kTokens, text) ==
        fovea_attention_plan_describe(&c_plan, kTokens, kTokens, c_text, sizeof c_text));
  CHECK(std::string(text) == c_text);

  fovea::AttentionDesc wrong = desc;
  wrong.kv_heads = kQHeads - 1;
  CHECK(plan.init(wrong) == FOVEA_ERR_HEADS);
}

TEST_CASE("veneer: a plan that was never made refuses to run", "[veneer][short]") {
  const fovea::AttentionPlan plan;
  CHECK(plan.workspace_bytes() == 0);
  fovea::AttentionWorkspace<kDim> workspace;
  CHECK(plan.run(fovea::AttentionArgs(), workspace) == FOVEA_ERR_PLAN);
}

TEST_CASE("veneer: a static workspace is aligned and as large as any plan of its dimensions wants", "[veneer][short]") {
  STATIC_REQUIRE(alignof(fovea::AttentionWorkspace<kDim>) == FOVEA_WORKSPACE_ALIGNMENT);
  fovea::AttentionWorkspace<kDim> workspace;
  fovea::AttentionPlan plan = plan_of(small_desc());
  CHECK(fovea::Span<std::byte>(workspace).size() >= plan.workspace_bytes());
  CHECK(fovea::Span<std::byte>(workspace).data() == workspace.bytes);
}

TEST_CASE("veneer: memory is as large as is asked, and aligned, also in an array", "[veneer][short]") {
  static fovea::Memory<FOVEA_STREAM_STATE_BYTES(3, 5)> memory[2];
  STATIC_REQUIRE(sizeof memory[0].bytes == FOVEA_STREAM_STATE_BYTES(3, 5));
  STATIC_REQUIRE(FOVEA_STREAM_STATE_BYTES(3, 5) % FOVEA_WORKSPACE_ALIGNMENT != 0);
  for (auto& part : memory) {
    CHECK(reinterpret_cast<uintptr_t>(part.bytes) % FOVEA_WORKSPACE_ALIGNMENT == 0);
    CHECK(fovea::Span<std::byte>(part).data() == part.bytes);
    CHECK(fovea::Span<std::byte>(part).size() == FOVEA_STREAM_STATE_BYTES(3, 5));
  }
}

TEST_CASE("veneer: a span is made of an array, of a container, and of a span to change", "[veneer][short]") {
  float array[3] = {};
  std::vector<float> vector(4);
  const std::vector<float> constant(5);
  CHECK(size_of<float>(array) == 3);
  CHECK(size_of<const float>(array) == 3);
  CHECK(size_of<float>(vector) == 4);
  CHECK(size_of<const float>(vector) == 4);
  CHECK(size_of<const float>(constant) == 5);
  CHECK(size_of<float>({vector.data(), 2}) == 2);
  const fovea::Span<float> span(vector);
  CHECK(size_of<const float>(span) == 4);
  span[1] = 2;
  float sum = 0;
  for (const float x : span) sum += x;
  CHECK(sum == 2);
  CHECK(fovea::Span<float>().empty());
}

TEST_CASE("veneer: softmax of spans is softmax of C, at its scale", "[veneer][short]") {
  const std::vector<float> in = {0.5f, -1.0f, 2.0f, 0.25f, 1.5f};
  std::vector<float> out(in.size()), of_spans(in.size());
  fovea::SoftmaxArgs args;
  args.x = in.data(), args.y = out.data();
  args.x_axis_stride = args.y_axis_stride = 1, args.outer = args.inner = 1, args.axis = in.size();
  for (const float scale : {1.0f, 3.0f}) {
    args.scale = scale, out.assign(in.size(), 0);
    check_same(out, args, [](const auto& a) { return fovea::softmax(a); }, fovea_softmax);
    REQUIRE(fovea::softmax(of_spans, in, scale) == FOVEA_OK);
    CHECK(of_spans == out);
    check_same(out, args, [](const auto& a) { return fovea::log_softmax(a); }, fovea_log_softmax);
    of_spans = in;
    REQUIRE(fovea::log_softmax(of_spans, of_spans, scale) == FOVEA_OK);
    CHECK(of_spans == out);
  }
  REQUIRE(fovea::softmax(of_spans, in) == FOVEA_OK);
  args.scale = 1;
  REQUIRE(fovea::softmax(args) == FOVEA_OK);
  CHECK(of_spans == out);

  std::vector<float> shorter(4, 7.0f);
  CHECK(fovea::softmax(shorter, in) == FOVEA_ERR_SIZE);
  CHECK(fovea::log_softmax(shorter, in) == FOVEA_ERR_SIZE);
  CHECK(shorter == std::vector<float>(4, 7.0f));
}

TEST_CASE("veneer: functions of rows of floats are those of C", "[veneer][short]") {
  const float x[4] = {1, -2, 3, 2.5f}, weight[2] = {0.5f, 2};
  std::vector<float> y(4, 3e33f);
  const auto same = [&](auto args, auto call, auto call_of_c) {
    args.batch = args.heads = args.tokens = 1, args.dim = 4, args.y.data = y.data();
    check_same(y, args, call, call_of_c);
  };
  fovea::NormArgs norm;
  fovea::ActivationArgs activation;
  fovea::HadamardArgs rotate;
  norm.x.data = activation.x.data = rotate.x.data = x, activation.activation = FOVEA_ACTIVATION_SILU, rotate.seed = 5;
  same(norm, fovea::norm, fovea_norm);
  same(activation, fovea::activation, fovea_activation);
  same(rotate, fovea::hadamard, fovea_hadamard);
  fovea::BinaryArgs pair;
  pair.a.data = pair.b.data = x;
  same(pair, fovea::add, fovea_add);
  same(pair, fovea::multiply, fovea_multiply);
  fovea::PoolingArgs pool;
  pool.batch = pool.heads = 1, pool.tokens = 2, pool.dim = 2;
  pool.x.data = x, pool.x.token_stride = 2, pool.y.data = y.data();
  check_same(y, pool, fovea::pooling, fovea_pooling);

  std::vector<uint64_t> turns(2), turns_of_c(2);
  REQUIRE(fovea::rope_frequencies(turns, 500, 0.5) == FOVEA_OK);
  REQUIRE(fovea_rope_frequencies(turns_of_c.data(), 500, 0.5, 4) == FOVEA_OK);
  CHECK(turns == turns_of_c);
  CHECK(fovea::rope_frequencies({}) == FOVEA_ERR_DIM);
  fovea::RopeArgs rope;
  rope.batch = rope.heads = rope.tokens = 1, rope.dim = 4, rope.layout = FOVEA_ROPE_HALF_SPLIT;
  rope.turns = turns.data(), rope.position_offset = 2, rope.x.data = x, rope.y.data = y.data();
  check_same(y, rope, fovea::rope, fovea_rope);

  fovea::Conv1dArgs conv;
  conv.batch = conv.channels = 1, conv.tokens = 4, conv.kernel_size = 2;
  conv.x_token_stride = conv.y_token_stride = conv.x_channel_stride = conv.y_channel_stride = 1;
  conv.weight = weight, conv.weight_stride = 2, conv.x = x, conv.y = y.data();
  check_same(y, conv, fovea::conv1d, fovea_conv1d);
  const std::uint32_t rows[2] = {1, 0};
  fovea::EmbeddingArgs embed;
  embed.tokens = embed.dim = embed.rows = 2;
  embed.y = y.data(), embed.y_stride = 2, embed.indices = rows, embed.table.data = x, embed.table.row_stride = 2;
  check_same(y, embed, fovea::embedding, fovea_embedding);
}

TEST_CASE("veneer: the largest elements are as many as the span holds", "[veneer][short]") {
  const float x[4] = {1, -2, 3, 2.5f};
  const std::int8_t codes[4] = {-128, 5, 7, 7};
  std::uint32_t best = 0, two[2];
  REQUIRE(fovea::argmax(x, &best) == FOVEA_OK);
  CHECK(best == 2);
  REQUIRE(fovea::integer_argmax(codes, &best) == FOVEA_OK);
  CHECK(best == 2);
  REQUIRE(fovea::top_k(x, two) == FOVEA_OK);
  CHECK((two[0] == 2 && two[1] == 3));
  REQUIRE(fovea::integer_top_k(codes, two) == FOVEA_OK);
  CHECK((two[0] == 2 && two[1] == 3));
}

TEST_CASE("veneer: integer attention is that of C, and sets multipliers and shifts", "[veneer][short]") {
  fovea::IntegerAttentionArgs args;
  STATIC_REQUIRE(sizeof args == sizeof(fovea_integer_attention_args));
  CHECK((args.struct_bytes == sizeof(fovea_integer_attention_args) && args.q.data == nullptr &&
         args.out_zero_point == 0));
  REQUIRE(args.set_score(0.001) == FOVEA_OK);
  REQUIRE(args.set_out(1.5) == FOVEA_OK);
  CHECK((args.score_shift == -9 && args.out_multiplier == 3 << 29 && args.out_shift == 1));
  CHECK(args.set_out(0) == FOVEA_ERR_NUMBER);
  const int8_t codes[3] = {1, 20, 30};
  int8_t out[2] = {};
  args.batch = args.q_heads = args.kv_heads = args.q_tokens = args.kv_tokens = args.head_dim = 1, args.value_dim = 2;
  args.q.data = args.keys.data = codes, args.values.data = codes + 1, args.out.data = out;
  alignas(FOVEA_WORKSPACE_ALIGNMENT) std::byte memory[FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(1, 2, 1)];
  CHECK(bytes_of(fovea::integer_attention_workspace_bytes, args) <= sizeof memory);
  REQUIRE(fovea::integer_attention(args, {memory, sizeof memory}) == FOVEA_OK);
  CHECK((out[0] == 30 && out[1] == 45));
  CHECK(fovea::integer_attention(args, {}) == FOVEA_ERR_NULL);
}

// A problem of linear attention.
struct DeltaProblem {
  static constexpr uint32_t kHeads = kKvHeads, kKeys = kDim, kValues = 5;
  static constexpr size_t kStateBytes = FOVEA_DELTA_STATE_BYTES(kBatch, kHeads, kKeys, kValues, 1);
  using StateMemory = fovea::Memory<kStateBytes>;

  std::vector<float> k, v, out;
  fovea::DeltaArgs args;
  fovea::Memory<FOVEA_DELTA_WORKSPACE_BYTES(kKeys, 1)> workspace;

  DeltaProblem() : k(kBatch * kHeads * kTokens * kKeys), v(kBatch * kHeads * kTokens * kValues), out(v.size()) {
    for (size_t i = 0; i < k.size(); ++i) k[i] = element(0, 0, 0, 0, i);
    for (size_t i = 0; i < v.size(); ++i) v[i] = element(1, 0, 0, 0, i);
    args.batch = kBatch, args.q_heads = args.k_heads = args.v_heads = kHeads, args.tokens = kTokens;
    args.head_dim = kKeys, args.value_dim = kValues, args.decay_dim = 1;
    args.q = args.k = fovea::heads_first(k.data(), kHeads, kTokens, kKeys);
    args.v = fovea::heads_first(v.data(), kHeads, kTokens, kValues);
    args.out = fovea::heads_first(out.data(), kHeads, kTokens, kValues);
  }
  fovea::Status begin(fovea::DeltaState& state, StateMemory& memory) const {
    return state.begin(memory, kBatch, kHeads, kKeys, kValues);
  }
  std::vector<float> matrices_of(const fovea::DeltaState& state) const {
    std::vector<float> s(kBatch * kHeads * kKeys * kValues);
    CHECK(state.get(fovea::heads_first(s.data(), kHeads, kKeys, kValues)) == FOVEA_OK);
    return s;
  }
};

TEST_CASE("veneer: linear attention is that of C", "[veneer][short]") {
  STATIC_REQUIRE(sizeof(fovea::DeltaArgs) == sizeof(fovea_delta_args));
  DeltaProblem p;
  CHECK((p.args.struct_bytes == sizeof(fovea_delta_args) && p.args.decay.data == nullptr && !p.args.executor));
  DeltaProblem::StateMemory memory, c_memory;
  fovea::DeltaState state;
  CHECK(bytes_of(fovea::delta_state_bytes, kBatch, p.kHeads, p.kKeys, p.kValues, 1u) == p.kStateBytes);
  CHECK(bytes_of(fovea::delta_workspace_bytes, p.args) == bytes_of(fovea_delta_workspace_bytes, &p.args));
  REQUIRE(p.begin(state, memory) == FOVEA_OK);
  REQUIRE(state.run(p.args, p.workspace) == FOVEA_OK);
  CHECK(state.run(p.args, {p.workspace.bytes, 0}) == FOVEA_ERR_WORKSPACE);

  const std::vector<float> out = p.out;
  p.out.assign(out.size(), 0);
  CHECK(out != p.out);
  fovea_delta_state* const c_state = reinterpret_cast<fovea_delta_state*>(c_memory.bytes);
  REQUIRE(fovea_delta_begin(c_state, sizeof c_memory, kBatch, p.kHeads, p.kKeys, p.kValues, 1) == FOVEA_OK);
  REQUIRE(fovea_delta(c_state, &p.args, p.workspace.bytes, sizeof p.workspace.bytes) == FOVEA_OK);
  CHECK(out == p.out);

  const std::vector<float> whole = p.matrices_of(state);
  std::vector<float> s(whole.size());
  const fovea_out after = fovea::heads_first(s.data(), p.kHeads, p.kKeys, p.kValues);
  const std::size_t bytes = bytes_of(fovea::delta_matrices_workspace_bytes, p.args);
  CHECK(bytes == bytes_of(fovea_delta_matrices_workspace_bytes, &p.args));
  fovea::Memory<FOVEA_DELTA_STATE_BYTES(1, 1, p.kKeys, p.kValues, 1) + sizeof p.workspace> workspace;
  REQUIRE(bytes <= sizeof workspace);
  p.out.assign(out.size(), 0);
  CHECK(fovea::delta_matrices(p.args, nullptr, after, {workspace.bytes, 0}) == FOVEA_ERR_WORKSPACE);
  REQUIRE(fovea::delta_matrices(p.args, nullptr, after, workspace) == FOVEA_OK);
  CHECK(out == p.out);
  CHECK(s == whole);
}

TEST_CASE("veneer: a state of linear attention gives tokens back, begins again, and travels", "[veneer][short]") {
  DeltaProblem p;
  DeltaProblem::StateMemory memory;
  fovea::DeltaState state, other;
  REQUIRE(p.begin(state, memory) == FOVEA_OK);
  CHECK(state.state() == reinterpret_cast<const fovea_delta_state*>(memory.bytes));
  CHECK(state.state_bytes() == p.kStateBytes);
  REQUIRE(state.run(p.args, p.workspace) == FOVEA_OK);
  const std::vector<float> whole = p.matrices_of(state);
  std::vector<std::byte> image(p.kStateBytes);
  REQUIRE(state.export_to(image) == FOVEA_OK);

  CHECK(state.pending() == kTokens - 4);
  REQUIRE(state.roll_back(1, 1) == FOVEA_OK);
  CHECK((state.pending() == 0 && state.pending(0) == 1));
  REQUIRE(state.reset(1) == FOVEA_OK);
  std::vector<float> begun = whole;
  const auto second = begun.begin() + ptrdiff_t(begun.size() / 2);
  std::fill(second, begun.end(), 0.0f);
  CHECK(p.matrices_of(state) == begun);
  const float* const given = whole.data() + whole.size() / 2;
  REQUIRE(state.set(fovea::heads_first(given, p.kHeads, p.kKeys, p.kValues), 1) == FOVEA_OK);
  CHECK(p.matrices_of(state) == whole);

  REQUIRE(other.import_from(memory, image) == FOVEA_OK);
  CHECK(other.pending() == 1);
  image[0] ^= std::byte{1};
  CHECK(other.import_from(memory, image) == FOVEA_ERR_IMAGE);
}

TEST_CASE("veneer: a state of linear attention that never began refuses", "[veneer][short]") {
  DeltaProblem p;
  DeltaProblem::StateMemory memory;
  fovea::DeltaState state;
  CHECK(state.begin({memory.bytes, 64}, kBatch, p.kHeads, p.kKeys, p.kValues) == FOVEA_ERR_STATE);
  CHECK(state.state() == nullptr);
  CHECK(state.state_bytes() == 0);
  CHECK(state.pending() == 0);
  CHECK(state.run(p.args, p.workspace) == FOVEA_ERR_NULL);
  CHECK(state.reset() == FOVEA_ERR_NULL);
  CHECK(state.set(p.args.k) == FOVEA_ERR_NULL);
  CHECK(state.get(p.args.out) == FOVEA_ERR_NULL);
  CHECK(state.roll_back(0) == FOVEA_ERR_NULL);
  CHECK(state.export_to(memory) == FOVEA_ERR_NULL);
}

TEST_CASE("veneer: layers on int8 tensors are those of C", "[veneer][short]") {
  const int8_t x[4] = {1, -20, 30, 127};
  const int16_t weight[4] = {30000, 20000, -10000, 5};
  std::vector<int8_t> y(4, -128);
  int8_t table[256], table_of_c[256];
  const auto same = [&](auto args, auto call, auto call_of_c) {
    args.batch = args.heads = args.tokens = 1, args.dim = 4, args.y.data = y.data();
    check_same(y, args, call, call_of_c);
    y.assign(4, -128);
  };
  fovea::IntegerNormArgs norm;
  norm.x.data = x, norm.weight = weight;
  REQUIRE(norm.set_weight(0x1p-11) == FOVEA_OK);
  REQUIRE(norm.set_epsilon(0.01) == FOVEA_OK);
  same(norm, fovea::integer_norm, fovea_integer_norm);
  fovea::IntegerBinaryArgs pair;
  pair.a.data = pair.b.data = x;
  REQUIRE(pair.set_a(0.5) == FOVEA_OK);
  REQUIRE(pair.set_b(0.25) == FOVEA_OK);
  same(pair, fovea::integer_add, fovea_integer_add);
  same(pair, fovea::integer_multiply, fovea_integer_multiply);
  REQUIRE(fovea::integer_activation_table(FOVEA_ACTIVATION_GELU, 0.05f, 1, 0.03f, -2, table) == FOVEA_OK);
  REQUIRE(fovea_integer_activation_table(FOVEA_ACTIVATION_GELU, 0, 0.05f, 1, 0.03f, -2, table_of_c) == FOVEA_OK);
  CHECK(std::equal(table, table + 256, table_of_c));
  fovea::IntegerActivationArgs gelu;
  gelu.x.data = x, gelu.table = table;
  same(gelu, fovea::integer_activation, fovea_integer_activation);
  fovea::IntegerHardSwishArgs swish;
  swish.x.data = x;
  REQUIRE(swish.set_three(3 / 0.05) == FOVEA_OK);
  REQUIRE(swish.set_out(0.01) == FOVEA_OK);
  same(swish, fovea::integer_hard_swish, fovea_integer_hard_swish);
  fovea::IntegerMeanArgs mean;
  mean.x.data = x;
  REQUIRE(mean.set_out(1.5) == FOVEA_OK);
  same(mean, fovea::integer_mean, fovea_integer_mean);
}

TEST_CASE("veneer: linear is linear of C", "[veneer][short]") {
  constexpr size_t kIn = 9, kOut = 4, kRows = 20;
  std::vector<float> x(kRows * kIn), weights(kOut * kIn), y(kRows * kOut);
  for (size_t i = 0; i < x.size(); ++i) x[i] = element(0, 0, 0, 0, i);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = element(1, 0, 0, 0, i);
  fovea::LinearArgs args;
  args.tokens = kRows, args.in_dim = kIn, args.out_dim = kOut;
  args.x = x.data(), args.x_stride = kIn, args.y = y.data(), args.y_stride = kOut;
  args.weights = fovea::linear_weights(weights.data(), kIn);
  static fovea::Memory<FOVEA_LINEAR_WORKSPACE_BYTES(kIn, FOVEA_F32)> workspace;
  CHECK(bytes_of(fovea::linear_workspace_bytes, args) == bytes_of(fovea_linear_workspace_bytes, &args));
  check_same(
      y, args, [](const auto& a) { return fovea::linear(a, workspace); },
      [](const auto* a) { return fovea_linear(a, workspace.bytes, sizeof workspace.bytes); });
  CHECK(fovea::linear(args, {workspace.bytes, 64}) == FOVEA_ERR_WORKSPACE);
}

TEST_CASE("veneer: statuses and targets have names", "[veneer][short]") {
  CHECK(std::string(fovea::to_string(FOVEA_OK)) == fovea_status_string(FOVEA_OK));
  CHECK(std::string(fovea::to_string(FOVEA_ERR_HEADS)) == fovea_status_string(FOVEA_ERR_HEADS));
  CHECK(std::string(fovea::to_string(FOVEA_TARGET_SCALAR)) == "scalar");
}

TEST_CASE("veneer: a stream is that of C, in memory of the caller's", "[veneer][short]") {
  fovea::AttentionDesc desc = small_desc();
  desc.causal = FOVEA_CAUSAL_NONE;
  const fovea::AttentionPlan plan = plan_of(desc);
  constexpr size_t kRows = kBatch * kQHeads * kTokens;
  CHECK(plan.state_bytes(kBatch, kTokens) == bytes_of(fovea_stream_state_bytes, &plan.get(), kBatch, kTokens));
  SmallCall call;
  fovea::AttentionArgs& args = call.args;
  auto& workspace = call.workspace;
  const std::vector<float> out = call.run(plan);

  // The first two keys go into one state, the others into another, which travels as an image.
  fovea::StreamState<kRows, kDim> first_memory, other_memory, memory;
  STATIC_REQUIRE(alignof(decltype(memory)) == FOVEA_WORKSPACE_ALIGNMENT);
  fovea::Stream first, other, arrived;
  REQUIRE(first.begin(plan, first_memory, kBatch, kTokens) == FOVEA_OK);
  REQUIRE(other.begin(plan, other_memory, kBatch, kTokens, 2) == FOVEA_OK);
  CHECK(other.next_key() == 2);
  CHECK(other.state() == reinterpret_cast<const fovea_stream_state*>(other_memory.bytes));
  CHECK(first.state_bytes() == fovea::Span<std::byte>(memory).size());
  args.kv_tokens = 2;
  REQUIRE(first.push(args, workspace) == FOVEA_OK);
  args.kv_tokens = kTokens - 2;
  args.kv.keys.data = call.key_view.row(0, 0, 2), args.kv.values.data = call.value_view.row(0, 0, 2);
  REQUIRE(other.push(args, workspace) == FOVEA_OK);
  CHECK(other.next_key() == kTokens);
  std::vector<std::byte> image(other.state_bytes());
  REQUIRE(other.export_to(image) == FOVEA_OK);
  REQUIRE(arrived.import_from(plan, memory, image) == FOVEA_OK);
  REQUIRE(first.merge(arrived) == FOVEA_OK);
  REQUIRE(first.end(args, workspace) == FOVEA_OK);
  for (size_t i = 0; i < out.size(); ++i) CHECK(std::fabs(out[i] - call.out[i]) < 1e-6f);
  CHECK(first.end(args, {workspace.bytes, 0}) == FOVEA_ERR_WORKSPACE);
  CHECK(first.push(args, {workspace.bytes, 0}) == FOVEA_ERR_WORKSPACE);

  image[0] ^= std::byte{1};
  CHECK(arrived.import_from(plan, memory, image) == FOVEA_ERR_IMAGE);
  // Now, as before it began, it has no state.
  CHECK(arrived.state() == nullptr);
  CHECK(arrived.state_bytes() == 0);
  CHECK(arrived.next_key() == 0);
  CHECK(arrived.push(args, workspace) == FOVEA_ERR_NULL);
  CHECK(arrived.end(args, workspace) == FOVEA_ERR_NULL);
  CHECK(arrived.merge(first) == FOVEA_ERR_NULL);
  CHECK(first.merge(arrived) == FOVEA_ERR_NULL);
  CHECK(arrived.export_to(image) == FOVEA_ERR_NULL);
  CHECK(arrived.begin(plan, {memory.bytes, 64}, kBatch, kTokens) == FOVEA_ERR_STATE);
  CHECK(arrived.begin(fovea::AttentionPlan(), memory, kBatch, kTokens) == FOVEA_ERR_PLAN);
}

TEST_CASE("veneer: a cache is that of C, in memory of the caller's", "[veneer][short]") {
  STATIC_REQUIRE(sizeof(fovea::KvCacheDesc) == sizeof(fovea_kv_cache_desc));
  STATIC_REQUIRE(sizeof(fovea::KvAppendArgs) == sizeof(fovea_kv_append_args));
  fovea::KvCacheDesc cache_desc;
  CHECK((cache_desc.struct_bytes == sizeof(fovea_kv_cache_desc) && cache_desc.batch == 0));
  cache_desc.batch = kBatch, cache_desc.kv_heads = kKvHeads, cache_desc.head_dim = cache_desc.value_dim = kDim;
  cache_desc.max_tokens = kTokens + 2;
  constexpr size_t kBytes = FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, kBatch, kKvHeads, kTokens + 2, kDim, kDim);
  static fovea::Memory<kBytes> memory;
  CHECK(bytes_of(fovea::kv_cache_bytes, cache_desc) == bytes_of(fovea_kv_cache_bytes, &cache_desc));
  CHECK(bytes_of(fovea::kv_cache_bytes, cache_desc) <= kBytes);

  fovea::AttentionPlan plan = plan_of(small_desc());
  SmallCall call;
  fovea::AttentionArgs& args = call.args;
  const std::vector<float> out = call.run(plan);

  fovea::KvAppendArgs append;
  CHECK((append.struct_bytes == sizeof(fovea_kv_append_args) && append.keys.data == nullptr && append.rope == nullptr));
  append.batch = kBatch, append.tokens = kTokens, append.keys = call.key_view, append.values = call.value_view;
  fovea::AttentionDesc desc;
  desc.q_heads = kQHeads, desc.max_q_tokens = kTokens, desc.causal = FOVEA_CAUSAL_TOP_LEFT;

  // Before it began it is none.
  fovea::KvCache cache;
  CHECK(cache.append(append) == FOVEA_ERR_PLAN);
  CHECK(cache.truncate(0, 0) == FOVEA_ERR_PLAN);
  CHECK(cache.reset() == FOVEA_ERR_PLAN);
  CHECK(cache.describe(desc) == FOVEA_ERR_PLAN);
  CHECK((cache.attach(args) == FOVEA_ERR_PLAN && cache.arrays() == nullptr));
  CHECK(cache.init(cache_desc, {memory.bytes, 64}) == FOVEA_ERR_WORKSPACE);
  CHECK(cache.reset() == FOVEA_ERR_PLAN);

  REQUIRE(cache.init(cache_desc, memory) == FOVEA_OK);
  const fovea_kv_arrays* const arrays = cache.arrays();
  CHECK(arrays->source.page_table == nullptr);
  REQUIRE(cache.append(append) == FOVEA_OK);
  CHECK(cache.append(append) == FOVEA_ERR_FULL);
  CHECK(cache.init(cache_desc, {memory.bytes, 64}) == FOVEA_ERR_WORKSPACE);  // which leaves it as it is
  REQUIRE(cache.describe(desc) == FOVEA_OK);
  CHECK((desc.kv_heads == kKvHeads && desc.max_batch == kBatch && desc.max_kv_tokens == kTokens + 2));
  REQUIRE(cache.attach(args) == FOVEA_OK);
  CHECK((args.kv_tokens == kTokens && args.kv_lengths == arrays->lengths));
  REQUIRE(plan.init(desc) == FOVEA_OK);
  CHECK(call.run(plan) == out);

  fovea::KvCache same = cache;
  REQUIRE(same.truncate(1, 2) == FOVEA_OK);
  CHECK((arrays->lengths[0] == kTokens && arrays->lengths[1] == 2));
  REQUIRE(cache.reset(0) == FOVEA_OK);
  CHECK((arrays->lengths[0] == 0 && arrays->lengths[1] == 2));
  REQUIRE(cache.set_length(1, 3) == FOVEA_OK);
  REQUIRE(cache.copy(0, cache, 1, 1) == FOVEA_OK);
  CHECK((arrays->lengths[0] == 1 && arrays->lengths[1] == 3));
  CHECK(arrays->source.keys.data != nullptr);
  CHECK(fovea::KvCache().copy(0, cache, 1, 1) == FOVEA_ERR_PLAN);
  const std::uint32_t last[] = {1};
  CHECK(fovea::KvCache().compact(1, last) == FOVEA_ERR_PLAN);
  REQUIRE(same.compact(1, last) == FOVEA_OK);
  CHECK(arrays->lengths[1] == 1);
  CHECK(fovea::KvCache().set_length(0, 0) == FOVEA_ERR_PLAN);

  fovea::KvImageArgs image_args;
  CHECK((image_args.struct_bytes == sizeof(fovea_kv_image_args) && image_args.tokens == 0));
  image_args.entry = 1, image_args.tokens = 1;
  static fovea::Memory<64 + 2 * 64 * kKvHeads * kDim> image;
  std::size_t image_bytes = 0;
  REQUIRE((cache.image_bytes(1, &image_bytes) == FOVEA_OK && image_bytes <= sizeof image.bytes));
  CHECK(cache.export_to(image_args, {image.bytes, image_bytes - 1}) == FOVEA_ERR_STATE);
  REQUIRE(cache.export_to(image_args, {image.bytes, image_bytes}) == FOVEA_OK);
  image_args.first = 1;
  CHECK(same.import_from(image_args, {image.bytes, image_bytes - 1}) == FOVEA_ERR_IMAGE);
  REQUIRE(same.import_from(image_args, {image.bytes, image_bytes}) == FOVEA_OK);
  CHECK(arrays->lengths[1] == 2);
  fovea::KvShiftArgs shift_args;
  CHECK((shift_args.struct_bytes == sizeof(fovea_kv_shift_args) && shift_args.rope == nullptr));
  CHECK(cache.shift(shift_args) == FOVEA_ERR_NULL);
  REQUIRE(cache.reset() == FOVEA_OK);
  CHECK(arrays->lengths[1] == 0);
}

TEST_CASE("veneer: a lambda is an executor", "[veneer][short]") {
  fovea::AttentionDesc desc = small_desc();
  desc.max_workers = 3;
  const fovea::AttentionPlan plan = plan_of(desc);
  SmallCall call;
  fovea::AttentionArgs& args = call.args;
  const fovea_test::Guarded memory(plan.workspace_bytes(), FOVEA_WORKSPACE_ALIGNMENT, fovea_test::Placement::kEnd);
  const fovea::Span<std::byte> workspace(memory.as<std::byte>(), memory.bytes());
  REQUIRE(plan.run(args, workspace) == FOVEA_OK);
  const std::vector<float> alone = call.out;

  size_t ran = 0;
  int answer = 0;
  const auto run = [&](size_t tasks, fovea::Task task) {
    for (size_t i = tasks; i-- > 0; ++ran) task(i, uint32_t(i % 3));
    return answer;
  };
  const fovea_executor executor = fovea::executor_of(run, 3);
  CHECK(executor.workers == 3);
  args.executor = &executor;
  call.out.assign(alone.size(), 3e33f);
  REQUIRE(plan.run(args, workspace) == FOVEA_OK);
  CHECK(ran >= kBatch * kKvHeads);
  CHECK(call.out == alone);
  answer = 1;
  CHECK(plan.run(args, workspace) == FOVEA_ERR_EXECUTOR);
}

TEST_CASE("veneer: a lambda makes a block map, as a function of C does", "[veneer][short]") {
  fovea::BlockMapArgs args;
  STATIC_REQUIRE(sizeof args == sizeof(fovea_block_map_args));
  CHECK(args.struct_bytes == sizeof(fovea_block_map_args));
  args.batch = 1, args.q_heads = args.kv_heads = 2, args.q_tokens = args.kv_tokens = 200;
  args.q_block = args.kv_block = 64;
  uint32_t offsets[2 * 5], blocks[32];
  args.offsets = offsets, args.blocks = blocks, args.most_blocks = 32;

  uint32_t asked = 0;
  const auto causal = [&asked](const fovea_block& block) {
    ++asked;
    if (block.kv_head == 1 && block.first_key == 0) return FOVEA_BLOCK_HIDDEN;
    if (block.first_key >= block.first_query + block.queries) return FOVEA_BLOCK_HIDDEN;
    return block.first_key + block.keys <= block.first_query + 1 ? FOVEA_BLOCK_FULL : FOVEA_BLOCK_PARTIAL;
  };
  uint32_t count = 0;
  REQUIRE((fovea::block_map_count(args, causal, &count) == FOVEA_OK && count == 10 + 6));
  CHECK(asked == 2 * 4 * 4);
  fovea_block_map map{};
  REQUIRE(fovea::make_block_map(args, causal, map) == FOVEA_OK);
  CHECK((map.offsets == offsets && map.blocks == blocks && map.block_count == 16));
  const uint32_t want_offsets[] = {0, 1, 3, 6, 10, 10, 10, 11, 13, 16};
  CHECK(std::equal(offsets, offsets + 10, want_offsets));
  const uint32_t all = FOVEA_BLOCK_ALL;
  const uint32_t want_blocks[] = {0,       all, 1, all,     all | 1, 2,       all,     all | 1,
                                  all | 2, 3,   1, all | 1, 2,       all | 1, all | 2, 3};
  CHECK(std::equal(blocks, blocks + 16, want_blocks));
  args.most_blocks = 15;
  CHECK(fovea::make_block_map(args, causal, map) == FOVEA_ERR_CAPACITY);

  // By a mask: every query sees every second key.
  std::vector<uint8_t> mask(200);
  for (size_t j = 0; j < mask.size(); ++j) mask[j] = j % 2;
  args.mask.data = mask.data();
  CHECK(fovea::make_block_map(args, causal, map) == FOVEA_ERR_UNSUPPORTED);
  REQUIRE((fovea::block_map_count(args, &count) == FOVEA_OK && count == 2 * 4 * 4));
  args.q_heads = args.kv_heads = 1, args.most_blocks = 16;
  REQUIRE(fovea::make_block_map(args, map) == FOVEA_OK);
  CHECK((map.head_stride == 0 && map.block_count == 16 && blocks[15] == 3));
}

TEST_CASE("veneer: a tree mask is that of C", "[veneer][short]") {
  const int32_t parents[] = {-1, 0, 0, 2, -1};
  uint8_t mask[5 * 6], c_mask[5 * 6];
  std::memset(mask, 7, sizeof mask), std::memset(c_mask, 7, sizeof c_mask);
  REQUIRE(fovea::tree_mask(parents, mask, 6) == FOVEA_OK);
  REQUIRE(fovea_tree_mask(parents, 5, c_mask, 6) == FOVEA_OK);
  CHECK(std::equal(mask, mask + 30, c_mask));
  CHECK(fovea::tree_mask(parents, mask, 4) == FOVEA_ERR_STRIDE);
}

// A number that tells places apart.
float number_of(const fovea::ScorePlace& at) {
  return float(at.batch + 3 * at.head + 7 * at.token) + 0.5f * float(at.key) + 0.25f * float(at.position) +
         0.125f * at.distance() - 64 * float(at.relative);
}

TEST_CASE("veneer: a modifier changes each element of a block, by its place, and nothing else", "[veneer][short]") {
  constexpr uint32_t kMostRows = 19, kMostKeys = 21, kStride = 24;
  uint32_t heads[kMostRows], tokens[kMostRows];
  for (uint32_t r = 0; r < kMostRows; ++r) heads[r] = 4 + r % 3, tokens[r] = 2 + r / 3;
  const fovea::ScoreModifier scores([](float x, const fovea::ScorePlace& at) { return 2 * x + number_of(at); });
  const fovea::WeightModifier weights([](float x, const fovea::ScorePlace& at) { return 3 * x + number_of(at); });
  const fovea::Modifier both([](float x, const fovea::ScorePlace&) { return x + 1; },
                             [](float x, const fovea::ScorePlace&) { return x + 2; });
  CHECK((scores.weight_mod == nullptr && weights.score_mod == nullptr));

  for (const bool rows_first : {false, true}) {
    for (uint32_t rows = 1; rows <= kMostRows; ++rows) {
      for (uint32_t keys = 1; keys <= kMostKeys; keys += rows % 4 + 1) {
        INFO("rows " << rows << ", keys " << keys << ", rows first " << rows_first);
        std::vector<float> data(kStride * kStride);
        for (size_t i = 0; i < data.size(); ++i) data[i] = float(i % 13);
        std::vector<float> want = data;
        const ptrdiff_t row_stride = rows_first ? kStride : 1, key_stride = rows_first ? 1 : kStride;
        for (const auto& [r, k] : indices(rows, keys)) {
          float& x = want[r * size_t(row_stride) + k * size_t(key_stride)];
          const int64_t key = 300 + k, position = 1000 + tokens[r];
          const fovea::ScorePlace at = {5, heads[r], tokens[r], position, key, int32_t(key - position)};
          x = 3 * (2 * x + number_of(at)) + number_of(at) + 3;
        }
        const fovea_score_block block = {data.data(), row_stride, key_stride, rows, keys, 5,
                                         1,           heads,      tokens,     1000, 300,  0};
        scores.score_mod(scores.self, &block);
        weights.weight_mod(weights.self, &block);
        both.score_mod(both.self, &block);
        both.weight_mod(both.self, &block);
        CHECK(data == want);
      }
    }
  }
}

TEST_CASE("veneer: a multi-head layer, and its cache", "[veneer][short]") {
  constexpr std::size_t kModel = 8, kSteps = 3;
  fovea::MultiheadDesc desc;
  desc.attention.q_heads = desc.attention.kv_heads = 2, desc.attention.head_dim = desc.attention.value_dim = 4;
  desc.attention.max_batch = 1, desc.attention.max_q_tokens = desc.attention.max_kv_tokens = kSteps;
  desc.attention.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, desc.attention.portable_bits = 1;
  fovea::Multihead layer;
  fovea::MultiheadArgs args;
  CHECK(layer.workspace_bytes() == 0);
  CHECK(layer.run(args, {}) == FOVEA_ERR_PLAN);
  REQUIRE(layer.init(desc) == FOVEA_OK);
  CHECK(layer.desc()->d_model == kModel);

  std::vector<float> weights(kModel * kModel), bias(kModel), x(kSteps * kModel), y(x.size()), step(x.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = float(i * 7 % 11) / 11.0f - 0.4f;
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 5 % 13) / 6.0f - 1.0f;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = float(i);
  const fovea_linear_weights each = fovea::linear_weights(weights.data(), kModel, bias.data());
  CHECK((each.data == weights.data() && each.bias == bias.data() && each.row_stride == 8 && each.dtype == FOVEA_F32));
  args.weights.q = args.weights.k = args.weights.v = args.weights.out = each;
  args.batch = 1, args.q_tokens = kSteps;
  args.x = fovea::tokens_of(x.data(), kSteps, kModel);
  args.y = fovea::tokens_of(y.data(), kSteps, kModel);
  static fovea::Memory<2048> cache_memory;
  const fovea_test::Guarded memory(layer.workspace_bytes(), FOVEA_WORKSPACE_ALIGNMENT, fovea_test::Placement::kEnd);
  const fovea::Span<std::byte> workspace(memory.as<std::byte>(), memory.bytes());
  REQUIRE(layer.run(args, workspace) == FOVEA_OK);

  fovea::KvCacheDesc cache_desc;
  cache_desc.batch = 1, cache_desc.kv_heads = 2, cache_desc.head_dim = cache_desc.value_dim = 4;
  cache_desc.max_tokens = kSteps;
  fovea::KvCache cache;
  REQUIRE(cache.init(cache_desc, cache_memory) == FOVEA_OK);
  args.q_tokens = 1;
  for (std::size_t t = 0; t < kSteps; ++t) {
    args.x.data = x.data() + t * kModel;
    args.y.data = step.data() + t * kModel;
    args.cache = nullptr;
    REQUIRE(layer.append(cache, args, workspace) == FOVEA_OK);
    args.cache = &cache.get();
    REQUIRE(layer.run(args, workspace) == FOVEA_OK);
  }
  CHECK(step == y);
}
