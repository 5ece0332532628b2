// SPDX-License-Identifier: Apache-2.0
//
// Streams: keys in pieces give what one call gives, to the bit where they are split on the grid; states merge in any
// order, travel as images, and refuse what does not fit.
#include "core/attention/kernels.h"
#include "core/attention/layout.h"
#include "support/shuffler.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

constexpr size_t kAlignment = FOVEA_WORKSPACE_ALIGNMENT;

// All options that streams serve, with more rows than a tile and more keys than two tiles.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (uint32_t i = 0; i < 12; ++i) {
    Problem p = mixed_problem(i);
    p.seed = i + 100;
    if (i % 5 == 3) p.kv_lengths = std::vector<uint32_t>(p.batch, p.kv_tokens / 2 + 1);
    if (i % 4 == 1) p.score = i == 5 ? FOVEA_SCORE_DOT : FOVEA_SCORE_ADDITIVE;
    if (i % 6 > 3) p.dropout = 0.25f;
    p.modify_scores = i % 4 < 2;
    all.push_back(p);
  }
  for (const size_t i : {0u, 2u, 4u, 6u, 7u, 8u, 10u}) {
    all.push_back(all[i].with_integers(i == 6 ? FOVEA_I4 : FOVEA_I8, i == 7 ? FOVEA_I4 : FOVEA_I8));
    if (i == 6) all.push_back(all[i].with_halves());
  }
  return all;
}

// The keys cut at these places.
std::vector<Piece> pieces(uint32_t kv_tokens, const std::vector<uint32_t>& cuts) {
  std::vector<Piece> all;
  uint32_t begin = 0;
  for (const uint32_t cut : cuts) {
    if (cut > kv_tokens) break;
    all.push_back({begin, cut});
    begin = cut;
  }
  all.push_back({begin, kv_tokens});
  return all;
}

std::vector<uint32_t> at_every(uint32_t step) {
  std::vector<uint32_t> cuts;
  for (uint32_t cut = step; cut < 4096; cut += step) cuts.push_back(cut);
  return cuts;
}

// Streams of a case.
class Streamer : public TestStream {
 public:
  Streamer(AttentionCase& test, const Run& run) : TestStream(desc_of(test, run), run.target), test_(test) {
    set_current_case(name(test.problem) + " | stream | " + name(run));
    REQUIRE(bytes == FOVEA_STREAM_STATE_BYTES(size_t{test.desc.max_batch} * test.desc.q_heads * test.desc.max_q_tokens,
                                              test.desc.value_dim));
  }
  // positions: instead of the case's.
  void push(const Guarded& state, Piece piece, const int64_t* positions = nullptr) const {
    PieceArgs part(test_, piece);
    if (positions != nullptr) part.args.first_positions = positions;
    REQUIRE(TestStream::push(state, part.args) == FOVEA_OK);
  }
  void merge(const Guarded& into, const Guarded& from) const {
    REQUIRE(fovea_stream_merge(&plan, into.as<fovea_stream_state>(), from.as<fovea_stream_state>()) == FOVEA_OK);
  }
  // Into the outputs of the case. The state is not written.
  void end(const Guarded& state) const {
    fovea_attention_args args = test_.args;
    args.q = args.kv.keys = args.kv.values = {};
    args.kv_lengths = nullptr, args.first_positions = nullptr;
    args.mask = {};
    args.alibi_slopes = args.score_vector = nullptr, args.modifier = nullptr, args.kv_tokens = 0xffffffffu;
    test_.fill_outputs();
    state.read_only(true);
    const fovea_status status = TestStream::end(state, args);
    state.read_only(false);
    REQUIRE(status == FOVEA_OK);
    CHECK(workspace.margin_intact());
  }
  void push_all(const Guarded& state, const std::vector<Piece>& all) const {
    for (const Piece& piece : all) push(state, piece);
  }

 private:
  static fovea_attention_desc desc_of(const AttentionCase& test, const Run& run) {
    fovea_attention_desc d = test.desc;
    d.target = run.target, d.portable_bits = run.portable_bits;
    // Streams do not look at where a call splits keys.
    if (run.executor != nullptr) d.max_workers = run.executor->workers, d.key_split_tokens = 64;
    d.workspace_budget_bytes = budget_bytes(d, run.budget);
    return d;
  }

  AttentionCase& test_;
};

bool same_bytes(const Guarded& a, const Guarded& b) {
  const fovea_stream_state& state = *a.as<fovea_stream_state>();
  const size_t bytes = FOVEA_STREAM_STATE_BYTES(size_t{state.batch} * state.q_heads * state.q_tokens, state.value_dim);
  return std::memcmp(a.as<void>(), b.as<void>(), bytes) == 0;
}

}  // namespace

TEST_CASE(
    "stream: keys in pieces of multiples of 64 give the bits of one call, other pieces its answer, with workers too",
    "[short][stream][executor]") {
  for (const Problem& problem : problems()) {
    AttentionCase test(problem);
    test.expected();
    for (const auto& [target, portable] : every(problem.targets(), {false, true})) {
      Run run = {target, portable ? Budget::kLeast : Budget::kNone, portable};
      INFO(name(problem) << " | " << name(run));
      const Outputs want = fovea_test::run(test, run);
      constexpr uint32_t kWorkers[] = {1, 2, 3, 5, 8, 64};
      Shuffler shuffler(kWorkers[problem.seed % 6]);
      if (!portable) run.executor = shuffler.executor();
      const Streamer stream(test, run);
      test.args.executor = run.executor;
      for (const std::vector<uint32_t>& cuts : {std::vector<uint32_t>{}, at_every(64), {0, 64, 64}, {128}}) {
        const Guarded state = stream.another();
        const size_t before = shuffler.runs;
        stream.push_all(state, pieces(problem.kv_tokens, cuts));
        CHECK(state.as<fovea_stream_state>()->next_key == problem.kv_tokens);
        stream.end(state);
        const bool several = problem.batch * problem.kv_heads > 1;
        if (several && !portable && cuts.empty()) CHECK(shuffler.runs == before + 2);
        CHECK(same_bits(test.outputs(), want));
      }
      for (const std::vector<uint32_t>& cuts : {at_every(1), at_every(7), {1, 40, 64, 65, 129}}) {
        const Guarded state = stream.another();
        stream.push_all(state, pieces(problem.kv_tokens, cuts));
        stream.end(state);
        CHECK(test.compare() == "");
      }
    }
  }
}

TEST_CASE("stream: an answer in between leaves the stream as it was", "[short]") {
  for (const fovea_target target : targets()) {
    AttentionCase test(problems()[4]);
    test.expected();
    const Streamer stream(test, {target});
    const std::vector<Piece> all = pieces(test.problem.kv_tokens, at_every(64));
    const Guarded quiet = stream.another(), looked_at = stream.another();
    for (const Piece& piece : all) {
      stream.push(quiet, piece);
      stream.push(looked_at, piece);
      stream.end(looked_at);
      stream.end(looked_at);
    }
    CHECK(same_bytes(quiet, looked_at));
    CHECK(test.compare() == "");
  }
}

TEST_CASE("stream: states merge to the answer over all keys, in any order and tree", "[short]") {
  for (const Problem& problem : problems()) {
    AttentionCase test(problem);
    test.expected();
    for (const fovea_target target : problem.targets()) {
      INFO(name(problem) << " | " << fovea_target_name(target));
      const Streamer stream(test, {target});
      const std::vector<Piece> parts = pieces(problem.kv_tokens, {37, 64, 100});
      const auto part = [&](size_t i) {
        Guarded state = stream.another(i < parts.size() ? parts[i].begin : problem.kv_tokens);
        if (i < parts.size()) stream.push(state, parts[i]);
        return state;
      };
      // ((0 1) (2 3)), of which each is also merged the other way round.
      const Guarded left = part(0), right = part(2);
      const Guarded left_reversed = part(1), right_reversed = part(3);
      stream.merge(left, left_reversed);
      stream.merge(left_reversed, part(0));
      CHECK(same_bytes(left, left_reversed));
      stream.merge(right, part(3));
      stream.merge(right_reversed, part(2));
      CHECK(same_bytes(right, right_reversed));
      stream.merge(left, right);
      CHECK(left.as<fovea_stream_state>()->next_key == problem.kv_tokens);
      stream.end(left);
      CHECK(test.compare() == "");
      // (((3 2) 1) 0), beginning with a state that saw nothing.
      const Guarded line = stream.another();
      for (size_t i = 4; i-- > 0;) stream.merge(line, part(i));
      stream.end(line);
      CHECK(test.compare() == "");
    }
  }
}

TEST_CASE("stream: NaN in a state merges to NaN, whichever way round", "[short]") {
  Problem p;
  p.q_heads = 1, p.kv_heads = 1, p.q_tokens = 1, p.kv_tokens = 8, p.value_dim = 5;
  AttentionCase test(p);
  for (const fovea_target target : targets()) {
    const Streamer stream(test, {target});
    for (size_t field = 0; field < 7; ++field) {  // the maximum, the sum, or an output
      for (const bool empty : {false, true}) {
        const auto state = [&](bool spoilt) {
          Guarded made = stream.another();
          if (spoilt || !empty) stream.push(made, {0, spoilt ? 3u : 8u});
          if (spoilt) reinterpret_cast<float*>(made.as<fovea_stream_state>() + 1)[field] = NAN;
          return made;
        };
        const Guarded a = state(false), b = state(true);
        stream.merge(a, b);
        stream.merge(b, state(false));
        const float* const x = reinterpret_cast<const float*>(a.as<fovea_stream_state>() + 1);
        const float* const y = reinterpret_cast<const float*>(b.as<fovea_stream_state>() + 1);
        INFO(fovea_target_name(target) << ": number " << field << (empty ? ", and a state that saw nothing" : ""));
        CHECK(std::isnan(x[field]));
        for (size_t i = 0; i < 7; ++i) {
          CHECK(std::isnan(x[i]) == std::isnan(y[i]));
          CHECK((std::isnan(x[i]) || std::memcmp(&x[i], &y[i], sizeof(float)) == 0));
        }
      }
    }
  }
}

INSIDE_CASE("stream: ALiBi's distance is right from the first position to the last key there may be", "[short]") {
  constexpr uint32_t kFarthest = 1u << 30;  // in a push that begins off the grid
  for (const fovea_target target : targets()) {
    const fovea::AttentionKernels& kernels = fovea::attention_kernels(target);
    const fovea::AttentionKernel& kernel = kernels.list[fovea::kFewRowsServed ? uint32_t(fovea::kTileKernel) : 0];
    AttentionCase test{Problem()};
    test.desc.target = target;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    alignas(64) static char memory[64 * 1024];
    fovea::WorkerArrays arrays{};
    fovea::carve_worker(made(test.plan), {memory, sizeof memory, memory, 0}, made(test.plan).kernels[1], &arrays);
    fovea::QueryTile tile = arrays.tiles[0];
    tile.head_dim = tile.value_dim = tile.live = tile.group = 1, tile.row_lanes = 1;
    tile.columns = kernels.lanes;
    for (size_t i = 0; i < kernels.lanes; ++i) {
      fovea::alibi_pos(tile)[i] = -int32_t(kFarthest);
      fovea::alibi_far_pos(tile)[i] = 0.0f;
      fovea::alibi_slope(tile)[i] = -1.0f;
    }
    float zero = 0.0f;
    kernel.begin(tile, {&zero, 0, 0, FOVEA_F32}, 1.0f);
    fovea::ScoreSteps steps{};
    steps.alibi = true;
    fovea::KeyTile keys{};
    keys.first = kFarthest, keys.end = 63;
    keys.keys = keys.values = {&zero, nullptr, 0, 0, FOVEA_F32};
    kernel.attend(tile, keys, steps);
    CHECK(tile.row_max[0] == 2147483648.0f);
  }
}

TEST_CASE("stream: a state goes on on another target, and as an image; with integer products to the bit", "[short]") {
  for (const bool integers : {false, true}) {
    AttentionCase test(integers ? problems()[0].with_integers() : problems()[0]);
    const std::vector<fovea_target> targets = test.problem.targets();
    test.expected();
    const Outputs want = run(test, {targets[0]});
    const std::vector<Piece> all = pieces(test.problem.kv_tokens, at_every(integers ? 64 : 50));
    for (size_t i = 0; i < targets.size(); ++i) {
      const Streamer stream(test, {targets[i]});
      const size_t bytes = bytes_of(fovea_stream_state_bytes, &stream.plan, test.problem.batch, test.problem.q_tokens);
      Guarded state = stream.another();
      for (size_t k = 0; k < all.size(); ++k) {
        Streamer(test, {targets[(i + k) % targets.size()]}).push(state, all[k]);
        const Guarded image(bytes, 1, Placement::kEnd);
        REQUIRE(fovea_stream_export(state.as<fovea_stream_state>(), image.as<void>(), bytes) == FOVEA_OK);
        CHECK(image.margin_intact());
        state.fill();
        image.read_only(true);
        REQUIRE(fovea_stream_import(state.as<fovea_stream_state>(), bytes, image.as<void>(), bytes) == FOVEA_OK);
      }
      stream.end(state);
      CHECK(test.compare() == "");
      if (integers) CHECK(same_bits(test.outputs(), want));
    }
  }
}

TEST_CASE("stream: pages hold keys whose tiles begin within a page", "[short]") {
  for (const auto& [dtype, integers, q_tokens] :
       every({FOVEA_F32, FOVEA_F16, FOVEA_I8, FOVEA_I4, FOVEA_Q8_0, FOVEA_Q4_0}, {false, true}, {1u, 13u})) {
    Problem p;
    p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 200, p.head_dim = 24;
    p.key_dtype = p.value_dtype = dtype, p.kv_kind = FOVEA_KV_PAGED, p.page_tokens = 64;
    if (integers && dtype != FOVEA_I8 && !is_grouped(dtype)) continue;
    if (integers) p = p.with_integers(dtype, FOVEA_I8);
    AttentionCase test(p);
    test.expected();
    for (const auto& [target, portable] : every(p.targets(), {false, true})) {
      const Streamer stream(test, {target, Budget::kNone, portable});
      for (const int64_t first_key : {int64_t{24}, int64_t{100}}) {
        const Guarded state = stream.another(first_key);
        stream.push(state, {0, p.kv_tokens});
        stream.end(state);
        INFO(name(p) << " | " << fovea_target_name(target) << ", first key " << first_key);
        CHECK(test.compare() == "");
      }
    }
  }
}

TEST_CASE("stream: an image has a fixed form, and none that is damaged is taken", "[short]") {
  auto d = sized<fovea_attention_desc>();
  d.q_heads = d.kv_heads = d.head_dim = d.max_batch = d.max_q_tokens = 1, d.value_dim = 2;
  const fovea_attention_plan plan = plan_of(d);
  const size_t bytes = bytes_of(fovea_stream_state_bytes, &plan, 1, 1);
  REQUIRE(bytes == 80);
  const Guarded state(128, kAlignment, Placement::kStart);
  REQUIRE(fovea_stream_begin(&plan, state.as<fovea_stream_state>(), bytes, 1, 1, 0x123456789ll) == FOVEA_OK);
  uint8_t image[80] = {};
  REQUIRE(fovea_stream_export(state.as<fovea_stream_state>(), image, sizeof image) == FOVEA_OK);
  // The checksum is that of any CRC-32, as of Python's zlib.crc32 over these bytes.
  const uint8_t wanted[80] = {'f', 'o', 's', '1', 0, 0, 0,    0,    1, 0, 0, 0, 1,    0,    0,    0,    1, 0, 0, 0,
                              1,   0,   0,   0,   2, 0, 0,    0,    0, 0, 0, 0, 0x89, 0x67, 0x45, 0x23, 1, 0, 0, 0,
                              0,   0,   0,   0,   0, 0, 0,    0,    0, 0, 0, 0, 0,    0,    0,    0,    0, 0, 0, 0,
                              0,   0,   0,   0,   0, 0, 0x80, 0xff, 0, 0, 0, 0, 0,    0,    0,    0,    0, 0, 0, 0};
  for (size_t i = 0; i < sizeof image; ++i) {
    INFO(i);
    if (i < 4 || i >= 8) CHECK(int{image[i]} == int{wanted[i]});
  }
  const uint32_t stored = image[4] | uint32_t{image[5]} << 8 | uint32_t{image[6]} << 16 | uint32_t{image[7]} << 24;
  CHECK(stored == crc_of({wanted, wanted + sizeof wanted}));

  const Guarded other(128, kAlignment, Placement::kStart);
  fovea_stream_state* const to = other.as<fovea_stream_state>();
  for (size_t bit = 0; bit < 8 * sizeof image; ++bit) {
    INFO(bit);
    image[bit / 8] = uint8_t(image[bit / 8] ^ 1u << bit % 8);
    CHECK(fovea_stream_import(to, 128, image, sizeof image) == FOVEA_ERR_IMAGE);
    image[bit / 8] = uint8_t(image[bit / 8] ^ 1u << bit % 8);
  }
  for (size_t count = 0; count < sizeof image; ++count) {
    const Guarded part(count, 1, Placement::kEnd);
    std::memcpy(part.as<void>(), image, count);
    CHECK(fovea_stream_import(to, 128, part.as<void>(), count) == FOVEA_ERR_IMAGE);
  }
  CHECK(fovea_stream_import(to, sizeof image - 1, image, sizeof image) == FOVEA_ERR_STATE);
  CHECK(fovea_stream_import(nullptr, 128, image, sizeof image) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_import(to, 128, nullptr, sizeof image) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_import(reinterpret_cast<fovea_stream_state*>(other.as<char>() + 8), 100, image, sizeof image) ==
        FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_stream_import(to, 128, to, 80) == FOVEA_ERR_IMAGE);
  CHECK(other.untouched());
  REQUIRE(fovea_stream_import(to, 80, image, sizeof image) == FOVEA_OK);
  CHECK(same_bytes(state, other));
  CHECK(fovea_stream_export(to, image, 79) == FOVEA_ERR_STATE);
  CHECK(fovea_stream_export(to, nullptr, 80) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_export(nullptr, image, 80) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_export(to, other.as<char>() + 40, 80) == FOVEA_ERR_OVERLAP);
}

TEST_CASE("stream: positions go on far beyond what a call may hold", "[short]") {
  constexpr int64_t kFar = int64_t{1} << 50, kMost = int64_t{1} << 62;
  struct Place {
    bool limited;  // by a window over the last keys, which has run for long; else it hides no key, all on its right
    int64_t near, first_key, position;
  };
  for (const auto& [target, place] :
       every(targets(), {Place{true, 140, kFar, kFar + 140}, Place{false, -10, kMost - 256, -kMost}})) {
    Problem p;
    p.q_heads = 2, p.q_tokens = 3, p.kv_tokens = 150, p.head_dim = 16, p.value_dim = 9;
    p.positions = {place.near}, p.window_left = place.limited ? 90 : 1000, p.alibi = place.limited;
    if (place.limited) p.causal = FOVEA_CAUSAL_POSITIONS;
    AttentionCase test(p);
    test.expected();
    REQUIRE(test.run_unchecked({target}) == "");
    const std::vector<float> out = test.out();
    const Streamer stream(test, {target});
    const Guarded state = stream.another(place.first_key);
    for (const Piece& piece : pieces(p.kv_tokens, at_every(64))) stream.push(state, piece, &place.position);
    stream.end(state);
    CHECK(same_bits(test.out(), out));
  }
}

TEST_CASE("stream: of pushes of one key the stride between keys may be anything", "[short]") {
  Problem p;
  p.q_heads = 2, p.q_tokens = 3, p.kv_tokens = 1, p.head_dim = 16, p.value_dim = 9;
  AttentionCase test(p);
  test.expected();
  for (const fovea_target target : targets()) {
    REQUIRE(test.run_unchecked({target}) == "");
    const std::vector<float> out = test.out();
    AttentionCase far(p);
    far.args.kv.keys.token_stride = far.args.kv.values.token_stride = PTRDIFF_MAX / 5;
    const Streamer stream(far, {target});
    for (const int64_t first_key : {0, 13, 63}) {
      const Guarded state = stream.another(first_key);
      stream.push(state, {0, 1});
      stream.end(state);
      CHECK(same_bits(far.out(), out));
    }
  }
}

TEST_CASE("misuse: what does not fit a stream is refused, and nothing is written", "[short]") {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 70;
  AttentionCase test(p);
  const Streamer stream(test, {});
  const fovea_attention_plan& plan = stream.plan;
  const size_t bytes = bytes_of(fovea_stream_state_bytes, &plan, p.batch, p.q_tokens),
               workspace_bytes = bytes_of(fovea_attention_workspace_bytes, &plan);
  const Guarded workspace(workspace_bytes, kAlignment, Placement::kEnd);
  const Guarded memory((bytes + 2 * kAlignment) / kAlignment * kAlignment, kAlignment, Placement::kStart);
  fovea_stream_state* const state = memory.as<fovea_stream_state>();

  CHECK(refusal_of(fovea_stream_state_bytes, nullptr, 1, 1) == FOVEA_ERR_NULL);
  CHECK(refusal_of(fovea_stream_state_bytes, &plan, 0xffffffffu, 0xffffffffu) == FOVEA_ERR_SIZE);
  CHECK(fovea_stream_begin(nullptr, state, bytes, 2, 3, 0) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_begin(&plan, nullptr, bytes, 2, 3, 0) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_begin(&plan, state, bytes - 1, 2, 3, 0) == FOVEA_ERR_STATE);
  CHECK(fovea_stream_begin(&plan, state, bytes, 3, 3, 0) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_stream_begin(&plan, state, bytes, 2, 4, 0) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_stream_begin(&plan, state, bytes, 2, 3, -1) == FOVEA_ERR_SIZE);
  CHECK(fovea_stream_begin(&plan, state, bytes, 2, 3, (int64_t{1} << 62) + 1) == FOVEA_ERR_SIZE);
  CHECK(fovea_stream_begin(&plan, reinterpret_cast<fovea_stream_state*>(memory.as<char>() + 4), bytes, 2, 3, 0) ==
        FOVEA_ERR_ALIGNMENT);
  fovea_attention_plan no_plan = plan;
  made(no_plan).magic ^= 1;
  CHECK(refusal_of(fovea_stream_state_bytes, &no_plan, 1, 1) == FOVEA_ERR_PLAN);
  CHECK(fovea_stream_begin(&no_plan, state, bytes, 2, 3, 0) == FOVEA_ERR_PLAN);
  fovea_attention_desc d = test.desc;
  d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  fovea_attention_plan bottom_right = plan_of(d);
  CHECK(fovea_stream_begin(&bottom_right, state, bytes, 2, 3, 0) == FOVEA_ERR_UNSUPPORTED);
  d.causal = FOVEA_CAUSAL_NONE, d.diagonal = FOVEA_DIAGONAL_BOTTOM_RIGHT, d.window_left = 3;
  bottom_right = plan_of(d);
  CHECK(fovea_stream_begin(&bottom_right, state, bytes, 2, 3, 0) == FOVEA_ERR_UNSUPPORTED);
  CHECK(memory.untouched());

  const PieceArgs piece(test, {0, 70});
  const auto push = [&](const fovea_attention_plan* with, fovea_stream_state* into, const fovea_attention_args& args) {
    return fovea_stream_push(with, into, &args, workspace.as<void>(), workspace_bytes);
  };
  CHECK(push(&plan, state, piece.args) == FOVEA_ERR_STATE);  // there is none
  REQUIRE(fovea_stream_begin(&plan, state, bytes, 2, 3, 0) == FOVEA_OK);
  const Guarded before = stream.another();
  CHECK(push(nullptr, state, piece.args) == FOVEA_ERR_NULL);
  CHECK(push(&plan, nullptr, piece.args) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_push(&plan, state, nullptr, workspace.as<void>(), workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_push(&plan, state, &piece.args, nullptr, workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_push(&plan, state, &piece.args, workspace.as<void>(), workspace_bytes - 1) == FOVEA_ERR_WORKSPACE);
  CHECK(push(&no_plan, state, piece.args) == FOVEA_ERR_PLAN);
  CHECK(push(&bottom_right, state, piece.args) == FOVEA_ERR_UNSUPPORTED);
  const Misuse<fovea_attention_args> of_pushes[] = {
      {"struct_bytes", FOVEA_ERR_STRUCT, [](auto& a) { a.struct_bytes -= 12; }},
      {"batch", FOVEA_ERR_STATE, [](auto& a) { a.batch = 1; }},
      {"q_tokens", FOVEA_ERR_STATE, [](auto& a) { a.q_tokens = 2; }},
      {"kv_tokens", FOVEA_ERR_CAPACITY, [](auto& a) { a.kv_tokens = 71; }},
      {"scores", FOVEA_ERR_UNSUPPORTED,
       [&](auto& a) { a.scores_stage = FOVEA_SCORES_SOFTMAX, a.scores = test.args.out; }},
      {"q in the state", FOVEA_ERR_OVERLAP, [&](auto& a) { a.q.data = state; }},
      {"no keys", FOVEA_ERR_NULL, [](auto& a) { a.kv.keys.data = nullptr; }},
  };
  for (const auto& misuse : of_pushes) {
    fovea_attention_args args = piece.args;
    misuse.change(args);
    INFO(misuse.what);
    CHECK(push(&plan, state, args) == misuse.want);
  }
  for (uint32_t* const field :
       {&state->magic, &state->batch, &state->q_heads, &state->kv_heads, &state->q_tokens, &state->value_dim}) {
    const uint32_t kept = *field;
    *field += 1;
    CHECK(push(&plan, state, piece.args) == FOVEA_ERR_STATE);
    *field = 0x80000001u;
    CHECK(push(&plan, state, piece.args) == FOVEA_ERR_STATE);
    *field = kept;
  }
  state->next_key = (int64_t{1} << 62) - 69;
  CHECK(push(&plan, state, piece.args) == FOVEA_ERR_SIZE);
  state->next_key = -1;
  CHECK(push(&plan, state, piece.args) == FOVEA_ERR_STATE);
  state->next_key = 0;
  CHECK(same_bytes(memory, before));

  CHECK(fovea_stream_merge(&plan, state, state) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_stream_merge(&plan, state, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_merge(&plan, nullptr, state) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_merge(nullptr, state, before.as<fovea_stream_state>()) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_merge(&no_plan, state, before.as<fovea_stream_state>()) == FOVEA_ERR_PLAN);
  for (uint32_t fovea_stream_state::* const field :
       {&fovea_stream_state::magic, &fovea_stream_state::batch, &fovea_stream_state::q_tokens}) {
    before.as<fovea_stream_state>()->*field -= 1;
    CHECK(fovea_stream_merge(&plan, state, before.as<fovea_stream_state>()) == FOVEA_ERR_STATE);
    before.as<fovea_stream_state>()->*field += 1;
  }

  test.fill_outputs();
  CHECK(fovea_stream_end(nullptr, state, &test.args, workspace.as<void>(), workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_end(&plan, nullptr, &test.args, workspace.as<void>(), workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_end(&plan, state, nullptr, workspace.as<void>(), workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_end(&plan, state, &test.args, nullptr, workspace_bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_stream_end(&plan, state, &test.args, workspace.as<void>(), workspace_bytes - 1) == FOVEA_ERR_WORKSPACE);
  const Misuse<fovea_attention_args> of_ends[] = {
      {"q_tokens", FOVEA_ERR_STATE, [](auto& a) { a.q_tokens = 2; }},
      {"no out", FOVEA_ERR_NULL, [](auto& a) { a.out.data = nullptr; }},
      {"out in the state", FOVEA_ERR_OVERLAP, [&](auto& a) { a.out.data = state; }},
      {"lse is out", FOVEA_ERR_OVERLAP, [](auto& a) { a.lse.data = a.out.data; }},
  };
  for (const auto& misuse : of_ends) {
    fovea_attention_args args = test.args;
    misuse.change(args);
    INFO(misuse.what);
    CHECK(fovea_stream_end(&plan, state, &args, workspace.as<void>(), workspace_bytes) == misuse.want);
  }
  CHECK(test.outputs_untouched());
  CHECK(same_bytes(memory, before));
}

}  // namespace fovea_test
