// SPDX-License-Identifier: Apache-2.0
//
// Each field of fovea_attention_args against the calls that divide attention: pushes into a stream, its end, merged
// states, images of states, and split keys. No field may be lost between them.
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

using Args = fovea_attention_args;

// Which calls on a stream read a field.
enum class Reads {
  kPush,  // pushes: what they took is in the state
  kEnd,   // the end
  kBoth,  // both, and both refuse a wrong value
  kNone   // neither: both refuse it
};

// Memory for what an AttentionCase does not have.
struct Extra {
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

// A row of the table: neighbouring fields, [begin, end) in bytes of the structure.
struct Fields {
  const char* names;
  size_t begin, end;
  Reads reads;
  // Makes a call in which the fields matter, of the plain one.
  void (*ask)(Problem&);
  // Where they are read by one of the two: takes their effect away. Else: a wrong value.
  void (*spoil)(Args&);
  // What the problem cannot say.
  void (*prepare)(AttentionCase&, Extra&) = nullptr;
};

#define FIELD_BEGIN(name) offsetof(Args, name)
#define FIELD_END(name) offsetof(Args, name) + sizeof(Args::name)
#define FIELD(name) #name, FIELD_BEGIN(name), FIELD_END(name)
#define FIELDS(first, last) #first " to " #last, FIELD_BEGIN(first), FIELD_END(last)

void nothing(Problem&) {}

void make_query_codes(AttentionCase& test, Extra& extra) {
  const Problem& p = test.problem;
  const size_t rows = size_t{p.batch} * p.q_heads * p.q_tokens;
  for (size_t i = 0; i < rows * p.head_dim; ++i) extra.codes.push_back(int8_t(int(random_bits(3, i) % 255) - 127));
  for (size_t i = 0; i < rows; ++i) extra.scales.push_back(random_uniform(4, i, 0.01f, 0.03f));
  const auto dim = ptrdiff_t(p.head_dim), tokens = ptrdiff_t(p.q_tokens);
  const auto heads = ptrdiff_t(p.q_heads);
  test.desc.q_dtype = FOVEA_I8;
  test.args.q = {extra.codes.data(), heads * tokens * dim, tokens * dim, dim};
  test.args.q_scales = {extra.scales.data(), heads * tokens, tokens, 1};
}

void make_channel_scales(AttentionCase& test, Extra& extra) {
  const size_t channels = size_t{test.problem.kv_heads} * test.problem.value_dim;
  for (size_t i = 0; i < channels; ++i) extra.scales.push_back(random_uniform(5, i, -3.0f, 3.0f));
  test.args.value_channel_scales = extra.scales.data();
  test.args.value_channel_stride = ptrdiff_t(test.problem.value_dim);
}

void make_key_mass(AttentionCase& test, Extra& extra) {
  const Problem& p = test.problem;
  extra.scales.resize(size_t{p.batch} * p.kv_heads * p.kv_tokens);
  const auto tokens = ptrdiff_t(p.kv_tokens);
  test.args.key_mass = {extra.scales.data(), tokens * ptrdiff_t(p.kv_heads), tokens, 0};
}

constexpr uint32_t kQHeads = 4, kQTokens = 5;
constexpr int64_t kOtherPositions[] = {3, 40};
constexpr uint32_t kOffsets[] = {0, 1, 2};
constexpr float kOtherSinks[] = {9, 9, 9, 9};
int run_none(void*, size_t, void (*)(void*, size_t, uint32_t), void*) { return 0; }
constexpr fovea_executor kNoWorkers = {run_none, nullptr, 0};

const Fields kTable[] = {
    {FIELD(struct_bytes), Reads::kBoth, nothing, [](auto& a) { a.struct_bytes -= 12; }},
    {FIELD(batch), Reads::kBoth, nothing, [](auto& a) { --a.batch; }},
    {FIELD(q_tokens), Reads::kBoth, nothing, [](auto& a) { --a.q_tokens; }},
    {FIELD(kv_tokens), Reads::kPush, nothing, [](auto& a) { a.kv_tokens -= 20; }},
    {FIELD(out), Reads::kEnd, nothing,  // heads first, and tokens first
     [](auto& a) { a.out.token_stride = kQHeads * a.out.head_stride / kQTokens, a.out.head_stride /= kQTokens; }},
    {FIELD(lse), Reads::kEnd, [](auto& p) { p.lse = true; }, [](auto& a) { a.lse = {}; }},
    {FIELDS(scores, scores_stage), Reads::kNone, [](auto& p) { p.stage = FOVEA_SCORES_SOFTMAX; },
     [](auto& a) { a.scores = {}, a.scores_stage = FOVEA_SCORES_NONE; }},
    {FIELD(q), Reads::kPush, nothing, [](auto& a) { a.q.head_stride = 0; }},
    {FIELD(q_scales), Reads::kPush, [](auto& p) { p = p.with_integers(); },
     [](auto& a) { a.q_scales.token_stride = a.q_scales.head_stride = 0; }, make_query_codes},
    {FIELD(kv), Reads::kPush, nothing, [](auto& a) { a.kv.values.head_stride = 0; }},
    {FIELDS(value_channel_scales, value_channel_stride), Reads::kEnd, [](auto& p) { p = p.with_integers(); },
     [](auto& a) { a.value_channel_stride = 0; }, make_channel_scales},
    {FIELD(kv_lengths), Reads::kPush, [](auto& p) { p.kv_lengths = {30, 70}; },
     [](auto& a) { a.kv_lengths = nullptr; }},
    {FIELD(q_offsets), Reads::kNone, nothing, [](auto& a) { a.q_offsets = nullptr; },
     [](AttentionCase& test, Extra&) { test.args.q_offsets = kOffsets; }},
    {FIELD(kv_offsets), Reads::kNone, nothing, [](auto& a) { a.kv_offsets = nullptr; },
     [](AttentionCase& test, Extra&) { test.args.kv_offsets = kOffsets; }},
    {FIELD(first_positions), Reads::kPush, [](auto& p) { p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {100, 145}; },
     [](auto& a) { a.first_positions = kOtherPositions; }},
    {FIELD(mask), Reads::kPush, [](auto& p) { p.mask = FOVEA_MASK_F32; }, [](auto& a) { a.mask = {}; }},
    {FIELD(alibi_slopes), Reads::kPush, [](auto& p) { p.diagonal = FOVEA_DIAGONAL_TOP_LEFT, p.alibi = true; },
     [](auto& a) { a.alibi_slopes = nullptr; }},
    {FIELD(sinks), Reads::kEnd, [](auto& p) { p.sinks = true; }, [](auto& a) { a.sinks = kOtherSinks; }},
    {FIELDS(score_vector, score_vector_stride), Reads::kPush, [](auto& p) { p.score = FOVEA_SCORE_ADDITIVE; },
     [](auto& a) { a.score_vector += 1, a.score_vector_stride = 0; }},
    {FIELD(dropout_seed), Reads::kPush, [](auto& p) { p.dropout = 0.25f; }, [](auto& a) { ++a.dropout_seed; }},
    {FIELD(slow_workspace), Reads::kBoth, nothing,
     [](auto& a) { a.slow_workspace = static_cast<char*>(a.out.data) + 4, a.slow_workspace_bytes = 64; }},
    {FIELD(slow_workspace_bytes), Reads::kBoth, nothing, [](auto& a) { a.slow_workspace_bytes = 64; }},
    {FIELD(executor), Reads::kBoth, nothing, [](auto& a) { a.executor = &kNoWorkers; }},
    {FIELD(block_map), Reads::kPush, [](auto& p) { p.map_q_block = 2, p.map_kv_block = 64; },
     [](auto& a) { a.block_map = nullptr; }},
    {FIELD(modifier), Reads::kPush, [](auto& p) { p.modify_scores = true; }, [](auto& a) { a.modifier = nullptr; }},
    {FIELD(key_mass), Reads::kNone, nothing, [](auto& a) { a.key_mass = {}; }, make_key_mass},
    {FIELD(reserved), Reads::kBoth, nothing, [](auto& a) { set_reserved(a); }},
};

// The plain call: two key tiles and a part of one.
Problem plain() {
  Problem p;
  p.batch = 2, p.q_heads = kQHeads, p.kv_heads = 2, p.q_tokens = kQTokens, p.kv_tokens = 150;
  p.head_dim = 24, p.value_dim = 20, p.lse = false;
  return p;
}

// A case with a plan and memory for its calls, of which each returns what the outputs then are.
class Calls {
 public:
  Calls(const Fields& row, fovea_target target)
      : test(problem_of(row)), row_(row), stream_(prepared(0), target), split_(prepared(64), target) {}

  AttentionCase test;

  static Problem problem_of(const Fields& row) {
    Problem p = plain();
    row.ask(p);
    return p;
  }
  Args spoilt() const {
    Args args = test.args;
    row_.spoil(args);
    return args;
  }

  Outputs whole(const Args& args) { return outputs_of(call(stream_, args), args); }
  Outputs split(const Args& args) { return outputs_of(call(split_, args), args); }

  fovea_status push(const Guarded& state, Piece piece, const Args& args) const {
    PieceArgs part(test, piece);
    Args pushed = args;
    pushed.kv.keys.data = part.args.kv.keys.data, pushed.kv.key_scales.data = part.args.kv.key_scales.data;
    pushed.kv.values.data = part.args.kv.values.data, pushed.kv.value_scales.data = part.args.kv.value_scales.data;
    pushed.kv_tokens = std::min(piece.end, args.kv_tokens) - piece.begin;
    if (args.kv_lengths != nullptr) pushed.kv_lengths = part.args.kv_lengths;
    if (args.mask.data != nullptr) pushed.mask = part.args.mask;
    if (args.block_map != nullptr) pushed.block_map = part.args.block_map;
    return stream_.push(state, pushed);
  }
  fovea_status end(const Guarded& state, const Args& args) const { return stream_.end(state, args); }
  // All keys in pushes of whole tiles. What has effect at the end must not be touched by them.
  Outputs streamed(const Args& pushed, const Args& ended) {
    const Guarded state = begin(0);
    test.fill_outputs();
    for (const Piece& piece : pieces()) REQUIRE(push(state, piece, pushed) == FOVEA_OK);
    CHECK(test.outputs_untouched());
    return outputs_of(end(state, ended), ended);
  }
  // Two states, of which one travels as an image before they are merged.
  Outputs merged(const Args& args) {
    const Guarded first = begin(0), last = begin(pieces()[0].end), image(stream_.bytes, 1, Placement::kEnd);
    REQUIRE(push(first, pieces()[0], args) == FOVEA_OK);
    for (size_t i = 1; i < pieces().size(); ++i) REQUIRE(push(last, pieces()[i], args) == FOVEA_OK);
    REQUIRE(fovea_stream_export(last.as<fovea_stream_state>(), image.as<void>(), image.bytes()) == FOVEA_OK);
    const Guarded again = begin(0);
    REQUIRE(fovea_stream_import(again.as<fovea_stream_state>(), stream_.bytes, image.as<void>(), image.bytes()) ==
            FOVEA_OK);
    REQUIRE(fovea_stream_merge(&stream_.plan, first.as<fovea_stream_state>(), again.as<fovea_stream_state>()) ==
            FOVEA_OK);
    return outputs_of(end(first, args), args);
  }

  Guarded begin(int64_t first_key) const { return stream_.another(first_key); }
  std::vector<Piece> pieces() const { return {{0, 64}, {64, test.problem.kv_tokens}}; }

 private:
  fovea_attention_desc prepared(uint32_t key_split_tokens) {
    if (key_split_tokens == 0 && row_.prepare != nullptr) row_.prepare(test, extra_);
    fovea_attention_desc d = test.desc;
    d.key_split_tokens = key_split_tokens;
    return d;
  }
  static fovea_status call(const TestStream& of, const Args& args) {
    return fovea_attention(&of.plan, &args, of.workspace.as<void>(), of.workspace.bytes());
  }
  // Of the call that has just been made, with this status. The next call finds them filled again.
  Outputs outputs_of(fovea_status status, const Args& args) {
    REQUIRE(status == FOVEA_OK);
    Outputs got;
    got.out = test.out();
    const Problem& p =
        test.problem;  // an lse that was not asked for is not there: the memory sanitizer would see it read
    got.lse =
        args.lse.data != nullptr ? test.lse() : std::vector<float>(size_t{p.batch} * p.q_heads * p.q_tokens, -1.0f);
    test.fill_outputs();
    return got;
  }

  const Fields& row_;
  Extra extra_;
  const TestStream stream_, split_;
};

// The largest difference of any two outputs; an infinity only equals itself.
float distance(const Outputs& a, const Outputs& b) {
  float most = 0;
  const auto compare = [&](const std::vector<float>& x, const std::vector<float>& y) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::memcmp(&x[i], &y[i], sizeof(float)) == 0) continue;
      const float off = std::fabs(x[i] - y[i]);
      most = off <= most ? most : std::isfinite(off) ? off : 1e30f;
    }
  };
  compare(a.out, b.out);
  compare(a.lse, b.lse);
  return most;
}

}  // namespace

TEST_CASE("streams and splits: the table has every field of the arguments", "[short]") {
  size_t end = 0;
  for (const Fields& row : kTable) {
    INFO(row.names);
    CHECK(row.begin >= end);
    CHECK(row.begin - end < alignof(Args));  // padding
    end = row.end;
  }
  CHECK(sizeof(Args) - end < alignof(Args));
}

TEST_CASE("streams and splits: each field has its effect on a stream, merged states and split keys", "[short]") {
  for (const Fields& row : kTable) {
    if (row.reads != Reads::kPush && row.reads != Reads::kEnd) continue;
    for (const fovea_target target : Calls::problem_of(row).targets()) {
      INFO(row.names << " | " << fovea_target_name(target));
      Calls calls(row, target);
      const Args &asked = calls.test.args, spoilt = calls.spoilt();
      const Outputs want = calls.whole(asked), other = calls.whole(spoilt);
      const float tolerance = calls.test.problem.compute == FOVEA_COMPUTE_I8 ? 1e-3f : 1e-5f;
      CHECK(distance(want, other) > 20 * tolerance);
      CHECK(distance(calls.split(asked), want) < tolerance);
      CHECK(same_bits(calls.streamed(asked, asked), want));
      const bool pushes = row.reads == Reads::kPush;
      CHECK(same_bits(calls.streamed(pushes ? asked : spoilt, pushes ? spoilt : asked), want));
      CHECK(same_bits(calls.streamed(pushes ? spoilt : asked, pushes ? asked : spoilt), other));
      CHECK(distance(calls.merged(asked), want) < tolerance);
    }
  }
}

TEST_CASE("streams and splits: what pushes and ends cannot serve, and what is wrong, both refuse", "[short]") {
  for (const Fields& row : kTable) {
    if (row.reads != Reads::kNone && row.reads != Reads::kBoth) continue;
    for (const fovea_target target : Calls::problem_of(row).targets()) {
      INFO(row.names << " | " << fovea_target_name(target));
      Calls calls(row, target);
      const bool served = row.reads == Reads::kBoth;
      const Args good = served ? calls.test.args : calls.spoilt(), bad = served ? calls.spoilt() : calls.test.args;
      const Guarded state = calls.begin(0);
      REQUIRE(calls.push(state, {0, 64}, good) == FOVEA_OK);
      calls.test.fill_outputs();
      state.read_only(true);
      const fovea_status pushed = calls.push(state, {64, 150}, bad), ended = calls.end(state, bad);
      state.read_only(false);
      CHECK(pushed != FOVEA_OK);
      CHECK(ended != FOVEA_OK);
      if (!served) CHECK((pushed == FOVEA_ERR_UNSUPPORTED && ended == FOVEA_ERR_UNSUPPORTED));
      CHECK(calls.test.outputs_untouched());
      CHECK(calls.end(state, good) == FOVEA_OK);
    }
  }
}

}  // namespace fovea_test
