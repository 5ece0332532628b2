// SPDX-License-Identifier: Apache-2.0
//
// Where keys and values come from: sources that hold the same keys give the same bits. attention_pairs_test.cc has each
// with each format and option.
#include "ground/targets/compiled.h"
#include "support/shuffler.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

Problem decode(uint32_t q_tokens, fovea_kv_kind kind, fovea_compute compute = FOVEA_COMPUTE_F32) {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = 300;
  p.head_dim = 40, p.value_dim = 24, p.key_dtype = FOVEA_F16, p.value_dtype = FOVEA_I8;
  p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  p.kv_lengths = {300, 213};
  p.kv_kind = kind;
  if (kind == FOVEA_KV_PAGED) p.page_tokens = 24;
  if (kind == FOVEA_KV_RING) p.ring_tokens = 307, p.pinned_tokens = 3;
  if (compute == FOVEA_COMPUTE_I8) p = p.with_integers(FOVEA_I4, FOVEA_I8);
  if (compute == FOVEA_COMPUTE_F16) p = p.with_halves();
  return p;
}

TEST_CASE("sources: whichever holds the keys, or pinned tokens and a window, the bits are the same", "[short]") {
  for (const auto& [compute, q_tokens, pinned, key_split_tokens] :
       every({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F16}, {1u, 2u, 40u}, {0u, 29u, 70u}, {0u, 64u})) {
    const auto problem = [&, q_count = q_tokens, pinned_tokens = pinned, products = compute](fovea_kv_kind kind) {
      Problem p = decode(q_count, kind, products);
      if (pinned_tokens == 0) return p;
      p.kv_lengths = {300, 100}, p.pinned_tokens = pinned_tokens, p.window_left = 61;
      if (kind == FOVEA_KV_RING) p.ring_tokens = pinned_tokens + p.window_left + q_count - 1;
      return p;
    };
    AttentionCase strided(problem(FOVEA_KV_STRIDED));
    for (const fovea_target target : strided.problem.targets()) {
      Run how{target};
      how.key_split_tokens = key_split_tokens;
      REQUIRE(strided.run(how) == "");
      for (const fovea_kv_kind kind : {FOVEA_KV_RING, FOVEA_KV_PAGED, FOVEA_KV_LOAD}) {
        AttentionCase other(problem(kind));
        REQUIRE(other.run(how) == "");
        CHECK(same_bits(other.outputs(), strided.outputs()));
      }
    }
  }
}

TEST_CASE("sources: a prefix and what follows it give the bits of one source, shared by entries or not", "[short]") {
  for (const auto& [compute, q_tokens, prefix, kind] :
       every({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8, FOVEA_COMPUTE_F16}, {1u, 3u, 40u}, {64u, 100u, 192u, 299u},
             {FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED})) {
    const auto problem = [&, q_count = q_tokens, products = compute, of = kind, tokens = prefix](uint64_t seed) {
      Problem p = decode(q_count, FOVEA_KV_STRIDED, products);
      p.batch = 6, p.kv_lengths = {300, tokens, 300, 213, 300, 80}, p.seed = seed, p.lse = true;
      if (seed == 0) return p;
      p.prefix_tokens = tokens, p.kv_kind = of;
      if (of == FOVEA_KV_RING) p.ring_tokens = 307;
      if (of == FOVEA_KV_PAGED) p.page_tokens = 24;
      return p;
    };
    Problem plain = problem(0);
    plain.seed = 4;
    AttentionCase whole(plain), apart(problem(4)), shared(problem(5));
    const Shuffler three(3);
    for (const fovea_target target : whole.problem.targets()) {
      const Run how{target}, workers{target, Budget::kNone, false, 0, three.executor()};
      REQUIRE(whole.run(how) == "");
      REQUIRE(apart.run(how) == "");
      CHECK(same_bits(apart.outputs(), whole.outputs()));
      REQUIRE(shared.run(how) == "");
      const Outputs together = shared.outputs();
      REQUIRE(shared.run(workers) == "");
      CHECK(same_bits(shared.outputs(), together));
      // The same rows, but each entry has a structure of its own.
      fovea_kv_prefix own[6];
      const fovea_kv_prefix* named[6] = {};
      const fovea_kv_prefix* const* const prefixes = shared.args.kv.prefixes;
      for (size_t b = 0; b < 6; ++b) {
        if (prefixes[b] != nullptr) own[b] = *prefixes[b], named[b] = &own[b];
      }
      shared.args.kv.prefixes = named;
      REQUIRE(shared.run(how) == "");
      CHECK(same_bits(shared.outputs(), together));
      // Two structures by turns.
      for (size_t b = 1; b < 6; ++b) {
        if (prefixes[b] == prefixes[0] && b % 3 != 2) named[b] = named[0];
      }
      REQUIRE(shared.run(workers) == "");
      CHECK(same_bits(shared.outputs(), together));
      shared.args.kv.prefixes = prefixes;
    }
  }
}

TEST_CASE("sources: a ring that wrapped around gives the bits of a window", "[short]") {
  for (const fovea_target target : targets()) {
    Problem window = decode(1, FOVEA_KV_STRIDED), ring = decode(1, FOVEA_KV_RING);
    window.kv_lengths = ring.kv_lengths = {300, 250};
    window.window_left = 101;
    ring.ring_tokens = 101, ring.pinned_tokens = 0, ring.allow_evicted = true;
    AttentionCase a(window), b(ring);
    REQUIRE(a.run({target}) == "");
    REQUIRE(b.run({target}) == "");
    CHECK(same_bits(a.out(), b.out()));
  }
}

TEST_CASE("sources: a mask that ends early does not bring back what a ring has lost", "[short]") {
  for (const auto& [pinned, q_tokens] : every({0u, 29u}, {1u, 49u})) {
    Problem p;
    p.q_tokens = q_tokens, p.kv_tokens = 189;
    p.kv_kind = FOVEA_KV_RING, p.ring_tokens = 155, p.pinned_tokens = pinned, p.allow_evicted = true;
    p.mask = FOVEA_MASK_BYTE, p.mask_missing = 30;
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("sources: a loader that fails ends the call, and every tile that was started is finished", "[short]") {
  for (const auto& [target, at_start, tile] : every(targets(), {true, false}, {0u, 1u, 2u, 3u, 4u, 5u, 6u})) {
    AttentionCase test(decode(3, FOVEA_KV_LOAD));
    TestLoader& loader = test.stored.loader;
    (at_start ? loader.fail_start_at : loader.fail_finish_at) = tile;
    CHECK(test.run_unchecked({target}).find(fovea_status_string(FOVEA_ERR_LOAD)) != std::string::npos);
    CHECK(loader.wrong == "");
    CHECK(loader.started == loader.finished + (at_start ? 1 : 0));
    CHECK(loader.finished <= tile + 1);
    // It comes back.
    loader.fail_start_at = loader.fail_finish_at = UINT32_MAX, loader.started = loader.finished = 0;
    CHECK(test.run({target}) == "");
  }
}

TEST_CASE("sources: a loader is asked for each tile once for each block of query rows", "[short]") {
  const auto asked = [](AttentionCase& test, const Run& run) {
    test.stored.loader.started = test.stored.loader.finished = 0;
    CHECK(test.run_unchecked(run) == "");
    return test.stored.loader.started;
  };
  for (const auto& [target, budget, key_split_tokens, q_tokens] :
       every(targets(), {Budget::kNone, Budget::kLeast}, {0u, 64u}, {1u, 4u, 25u, 60u})) {
    Problem p;
    p.q_heads = 4, p.kv_heads = 2;
    p.q_tokens = q_tokens, p.kv_tokens = 130;  // three tiles
    p.kv_kind = FOVEA_KV_LOAD;
    AttentionCase test(p);
    Run run{target, budget};
    run.key_split_tokens = key_split_tokens;
    const uint32_t started = asked(test, run), rows = 2 * q_tokens;
    const fovea::PlannedKernel& kernel = made(test.plan).kernels[rows > made(test.plan).kernels[0].most_rows];
    const uint32_t block = kernel.tile_rows * kernel.tiles;
    const uint32_t times = (rows + block - 1) / block;
    CHECK(started == 2 * 3 * times);

    // What no query of a block may see, the block does not ask for.
    p.causal = FOVEA_CAUSAL_TOP_LEFT;
    AttentionCase causal(p);
    CHECK(asked(causal, run) == 2 * times);  // queries end before the second tile

    // Scores out ask once more.
    if (key_split_tokens != 0) continue;
    p.causal = FOVEA_CAUSAL_NONE, p.stage = FOVEA_SCORES_SOFTMAX;
    AttentionCase scores(p);
    run.portable_bits = true;
    const uint32_t started_twice = asked(scores, run), tile_rows = made(scores.plan).kernels[1].tile_rows;
    const uint32_t tiles = (rows + tile_rows - 1) / tile_rows;
    const uint32_t block_rows = tile_rows * made(scores.plan).kernels[1].tiles;
    const uint32_t blocks = (rows + block_rows - 1) / block_rows;
    CHECK(started_twice == 2 * 3 * (blocks + tiles));
  }
}

TEST_CASE("sources: a push of which a tile cannot be loaded leaves the stream as it was", "[short]") {
  for (const auto& [target, q_tokens] : every(targets(), {1u, 40u})) {
    Problem p = decode(q_tokens, FOVEA_KV_LOAD);
    p.causal = FOVEA_CAUSAL_POSITIONS;
    p.positions = {300, 300};
    p.kv_lengths = {};
    AttentionCase test(p);
    REQUIRE(test.run({target}) == "");
    const std::vector<float> want = test.out();
    const TestStream stream(test.desc, target);
    TestLoader& loader = test.stored.loader;
    for (const uint32_t fails : {0u, 2u, 5u, 9u}) {
      loader.started = loader.finished = 0, loader.fail_finish_at = fails;
      const std::vector<uint8_t> before = stream.content();
      REQUIRE(stream.push(test.args) == FOVEA_ERR_LOAD);
      CHECK(stream.content() == before);
    }
    loader.fail_finish_at = UINT32_MAX;
    REQUIRE(stream.push(test.args) == FOVEA_OK);
    CHECK(stream.state()->next_key == 300);
    test.fill_outputs();
    REQUIRE(stream.end(test.args) == FOVEA_OK);
    CHECK(same_bits(test.out(), want));
    CHECK(loader.wrong == "");
  }
}

TEST_CASE("sources: a stream of a loader, with split keys and without room for any, takes none", "[short]") {
  for (const auto& [target, key_split_tokens] : every(targets(), {0u, 64u})) {
    Problem p = decode(3, FOVEA_KV_LOAD);
    p.kv_tokens = 0;
    p.kv_lengths = {};
    p.causal = FOVEA_CAUSAL_NONE;
    p.positions = {};
    AttentionCase test(p);
    test.expected();
    test.desc.key_split_tokens = key_split_tokens;
    const TestStream stream(test.desc, target);
    REQUIRE(made(stream.plan).desc.max_kv_tokens == 0);
    REQUIRE(stream.push(test.args) == FOVEA_OK);
    test.fill_outputs();
    REQUIRE(stream.end(test.args) == FOVEA_OK);
    CHECK(test.compare() == "");
  }
}

// A loader in front of another, that looks at whose turn it is.
struct Turns {
  explicit Turns(const fovea_loader* inner_) : loader{start, finish, this}, inner(inner_) {}

  static int start(void* self, const fovea_kv_tile* tile) {
    auto& me = *static_cast<Turns*>(self);
    if (tile->buffer != me.tiles[tile->worker % 4]++ % 2) me.wrong = true;
    return me.inner->start(me.inner->self, tile);
  }
  static int finish(void* self, const fovea_kv_tile* tile) {
    const auto& me = *static_cast<Turns*>(self);
    return me.inner->finish(me.inner->self, tile);
  }

  fovea_loader loader;
  const fovea_loader* inner;
  uint32_t tiles[4] = {};  // of each worker
  bool wrong = false;
};

}  // namespace

TEST_CASE("sources: a loader's buffers take turns for each worker, over all tasks of a call", "[short]") {
  Problem p = decode(3, FOVEA_KV_LOAD);  // three tiles a task
  p.q_heads = 6, p.kv_heads = 3;
  for (const auto& [target, workers, key_split_tokens] : every(targets(), {0u, 1u, 3u}, {0u, 64u})) {
    AttentionCase test(p);
    test.expected();
    Shuffler shuffler(workers);
    Run run{target};
    run.key_split_tokens = key_split_tokens;
    run.executor = workers ? shuffler.executor() : nullptr;
    Turns turns(test.args.kv.loader);
    test.args.kv.loader = &turns.loader;
    INFO(fovea_target_name(target) << ", " << workers << " workers");
    CHECK(test.run_unchecked(run) == "");
    CHECK(test.compare() == "");
    CHECK(!turns.wrong);
    CHECK(turns.tiles[0] > 3);
  }
}

TEST_CASE("sources: of a page table an entry's row ends with the pages that it needs", "[short]") {
  Problem p = decode(1, FOVEA_KV_PAGED);
  p.q_heads = 2, p.kv_heads = 1, p.value_dim = 2, p.layout = Layout::kHeadsFirst, p.causal = FOVEA_CAUSAL_NONE;
  p.positions = {};
  p.page_tokens = 16, p.batch = 2, p.kv_tokens = 48;
  p.kv_lengths = {48, 7};
  AttentionCase test(p);
  test.expected();
  // Three pages, one page, and at once the output.
  struct Packed {
    uint32_t table[4];
    float out[8];
  } packed{};
  const uint32_t* const table = test.args.kv.page_table;
  for (size_t i = 0; i < 3; ++i) packed.table[i] = table[i];
  packed.table[3] = table[test.args.kv.page_table_stride];
  for (const fovea_target target : targets()) {
    REQUIRE(test.run_unchecked({target}) == "");
    const std::vector<float> want = test.out();
    fovea_attention_args args = test.args;
    args.kv.page_table = packed.table, args.kv.page_table_stride = 3;
    args.out = {packed.out, 4, 2, 2};
    args.lse = {};
    CHECK(call_again(test, args) == FOVEA_OK);
    CHECK(std::memcmp(packed.out, want.data(), sizeof packed.out) == 0);
    args.out.data = packed.table + 3;  // the row itself is apart from outputs
    CHECK(call_again(test, args) == FOVEA_ERR_OVERLAP);
  }
}

TEST_CASE("sources: a stream of a loader whose plan has no queries takes keys in", "[short]") {
  Problem p = decode(3, FOVEA_KV_LOAD);
  p.q_tokens = 0, p.causal = FOVEA_CAUSAL_NONE;
  p.positions = {};
  AttentionCase test(p);
  const TestStream stream(test.desc);
  CHECK(stream.push(test.args) == FOVEA_OK);
  CHECK(stream.state()->next_key == p.kv_tokens);
  CHECK(stream.end(test.args) == FOVEA_OK);
}

// Their tiles do not lie on the grid of positions, and cross no page: there is no memory to gather f32 rows in.
TEST_CASE("sources: pages of whole tiles are pushed at any position", "[short]") {
  const fovea_dtype types[][2] = {{FOVEA_F32, FOVEA_F32}, {FOVEA_F16, FOVEA_F32},     {FOVEA_F32, FOVEA_I8},
                                  {FOVEA_BF16, FOVEA_I4}, {FOVEA_Q5_0, FOVEA_IQ4_NL}, {FOVEA_Q8_0, FOVEA_Q4_0}};
  for (const auto& [target, type, q_tokens, page_tokens] : every(targets(), types, {1u, 40u}, {64u, 128u})) {
    Problem p = decode(q_tokens, FOVEA_KV_PAGED);
    p.page_tokens = page_tokens, p.key_dtype = type[0], p.value_dtype = type[1];
    p.causal = FOVEA_CAUSAL_NONE, p.positions = {}, p.kv_lengths = {};
    AttentionCase test(p);
    REQUIRE(test.run({target}) == "");
    test.desc.max_prefix_tokens = q_tokens == 1 ? 64 : 0;  // of other calls of the plan
    TestStream stream(test.desc, target);
    const auto push_at = [&](int64_t first_key) {
      stream.begin(first_key);
      return stream.push(test.args);
    };
    for (const int64_t first_key : {0, 1, 10, 63, 64, 132}) {
      INFO(name(p) << " pushed at " << first_key);
      REQUIRE(push_at(first_key) == FOVEA_OK);
      test.fill_outputs();
      REQUIRE(stream.end(test.args) == FOVEA_OK);
      CHECK(test.compare() == "");
    }
    made(stream.plan).desc.dropout = 0.5f;
    const bool follows = (type[0] == FOVEA_F32 || type[1] == FOVEA_F32) && test.desc.max_prefix_tokens == 0;
    CHECK(push_at(12) == FOVEA_OK);
    CHECK(push_at(10) == (follows ? FOVEA_ERR_UNSUPPORTED : FOVEA_OK));
  }
}

TEST_CASE("sources: what is wrong with a source has its status, and nothing is written", "[short]") {
  const auto attend = [](AttentionCase& test) {
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    const Guarded workspace(made(test.plan).workspace_bytes, 64, Placement::kEnd);
    test.fill_outputs();
    const fovea_status status = fovea_attention(&test.plan, &test.args, workspace.as<void>(), workspace.bytes());
    CHECK((status == FOVEA_OK || (test.outputs_untouched() && workspace.untouched())));
    return status;
  };
  {
    AttentionCase pages(decode(1, FOVEA_KV_PAGED));
    CHECK(attend(pages) == FOVEA_OK);
    const uint32_t pool = pages.args.kv.pages;
    pages.args.kv.pages = 1;
    CHECK(attend(pages) == FOVEA_ERR_PAGE);
    pages.args.kv.pages = pool, pages.args.kv.page_table = nullptr;
    CHECK(attend(pages) == FOVEA_ERR_NULL);
    const uint32_t table[2 * 13] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, pool, pool};
    pages.args.kv.page_table = table, pages.args.kv.page_table_stride = 13;
    CHECK(attend(pages) == FOVEA_OK);  // the second entry has 213 tokens, on nine pages
    const uint32_t lengths[2] = {300, 217};
    pages.args.kv_lengths = lengths;
    CHECK(attend(pages) == FOVEA_ERR_PAGE);
    pages.args.kv.page_table = reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(table) + 1);
    CHECK(attend(pages) == FOVEA_ERR_ALIGNMENT);
    pages.args.kv.page_table = table, pages.args.kv_lengths = nullptr, pages.args.scores = pages.args.out;
    pages.args.scores_stage = FOVEA_SCORES_SCALED;
    CHECK(attend(pages) == FOVEA_ERR_UNSUPPORTED);
  }
  {
    AttentionCase ring(decode(1, FOVEA_KV_RING));
    CHECK(attend(ring) == FOVEA_OK);
    ring.desc.ring_tokens = 200;  // of which 197 are not pinned
    ring.desc.allow_evicted = 1;
    CHECK(attend(ring) == FOVEA_OK);
    const uint32_t good[2] = {103, 16}, early[2] = {103, 15}, late[2] = {301, 16}, far[2] = {103, 0u - 16};
    ring.args.kv.first_tokens = good;
    CHECK(attend(ring) == FOVEA_OK);
    ring.args.kv.first_tokens = early;
    CHECK(attend(ring) == FOVEA_ERR_LENGTH);
    for (const uint32_t* const wrong : {late, far}) {
      ring.args.kv.first_tokens = wrong;
      CHECK(attend(ring) == FOVEA_ERR_LENGTH);
    }
    Problem parted = decode(1, FOVEA_KV_RING);
    parted.pinned_tokens = 0, parted.prefix_tokens = 100, parted.kv_lengths = {110, 110};
    AttentionCase behind(parted);
    behind.args.kv.first_tokens = far + 1;
    behind.args.batch = 1;
    CHECK(attend(behind) == FOVEA_ERR_LENGTH);
    ring.args.kv.first_tokens = nullptr, ring.args.scores = ring.args.out;
    ring.args.scores_stage = FOVEA_SCORES_SOFTMAX;
    CHECK(attend(ring) == FOVEA_ERR_UNSUPPORTED);
    ring.args.scores_stage = FOVEA_SCORES_NONE;
    ring.args.scores = {};
    ring.desc.causal = FOVEA_CAUSAL_NONE;
    CHECK(TestStream(ring.desc).push(ring.args) == FOVEA_ERR_UNSUPPORTED);
  }
  {
    Problem p = decode(1, FOVEA_KV_STRIDED);
    p.prefix_tokens = 70;
    AttentionCase test(p);
    fovea_kv_prefix prefix = *test.args.kv.prefixes[0];
    const fovea_kv_prefix good = prefix, *const named[2] = {&prefix, nullptr};
    const fovea_kv_prefix* const* const both = test.args.kv.prefixes;
    const auto attend_with = [&](void (*change)(fovea_kv_prefix&, const AttentionCase&)) {
      prefix = good;
      change(prefix, test);
      return attend(test);
    };
    test.args.kv.prefixes = named;
    CHECK(attend_with([](auto&, auto&) {}) == FOVEA_OK);
    CHECK(attend_with([](auto& x, auto&) { x.struct_bytes -= 1; }) == FOVEA_ERR_STRUCT);
    CHECK(attend_with([](auto& x, auto&) { x.tokens = 71; }) == FOVEA_ERR_CAPACITY);
    CHECK(attend_with([](auto& x, auto&) { x.tokens = 0xffffffffu; }) == FOVEA_ERR_CAPACITY);
    CHECK(attend_with([](auto& x, auto&) { x.keys.data = nullptr; }) == FOVEA_ERR_NULL);
    CHECK(attend_with([](auto& x, auto&) { x.values.data = nullptr; }) == FOVEA_ERR_NULL);
    CHECK(attend_with([](auto& x, auto&) { x.value_scales.data = nullptr; }) == FOVEA_ERR_NULL);
    CHECK(attend_with([](auto& x, auto&) { x.keys.data = static_cast<const char*>(x.keys.data) + 1; }) ==
          FOVEA_ERR_ALIGNMENT);
    CHECK(attend_with([](auto& x, auto& of) { x.values.data = of.args.out.data; }) == FOVEA_ERR_OVERLAP);
    CHECK(attend_with([](auto& x, auto&) { x = sized<fovea_kv_prefix>(); }) == FOVEA_OK);  // of no tokens
    prefix = good;
    const fovea_out out = test.args.out;
    test.args.out.data = &prefix;
    CHECK(call_again(test, test.args) == FOVEA_ERR_OVERLAP);
    test.args.out = out;
    const fovea_in scales = test.args.kv.value_scales;
    test.args.kv.value_scales = {}, test.desc.value_scale = 0.5f;
    CHECK(attend(test) == FOVEA_ERR_UNSUPPORTED);
    CHECK(attend_with([](auto& x, auto&) { x.value_scales = {}; }) == FOVEA_OK);
    test.args.kv.value_scales = scales, test.desc.value_scale = 0;
    prefix = good, test.args.kv.prefixes = shifted<const fovea_kv_prefix*>(named, 1);
    CHECK(attend(test) == FOVEA_ERR_ALIGNMENT);
    test.args.kv.prefixes = both;
    test.desc.max_prefix_tokens = 69;
    CHECK(attend(test) == FOVEA_ERR_CAPACITY);
    test.desc.max_prefix_tokens = 0;
    CHECK(attend(test) == FOVEA_ERR_UNSUPPORTED);
    test.desc.max_prefix_tokens = 70;
    test.args.scores = test.args.out, test.args.scores_stage = FOVEA_SCORES_CAPPED;
    CHECK(attend(test) == FOVEA_ERR_UNSUPPORTED);
    test.args.scores = {}, test.args.scores_stage = FOVEA_SCORES_NONE;
    const uint32_t offsets[3] = {0, 200, 230};
    test.args.kv_offsets = offsets;
    CHECK(attend(test) == FOVEA_ERR_UNSUPPORTED);
    test.args.kv_offsets = nullptr, test.desc.causal = FOVEA_CAUSAL_NONE;
    CHECK(TestStream(test.desc).push(test.args) == FOVEA_ERR_UNSUPPORTED);
  }
  {
    AttentionCase load(decode(1, FOVEA_KV_LOAD));
    CHECK(attend(load) == FOVEA_OK);
    fovea_loader none = *load.args.kv.loader;
    none.start = nullptr;
    load.args.kv.loader = &none;
    CHECK(attend(load) == FOVEA_ERR_NULL);
    load.args.kv.loader = nullptr;
    CHECK(attend(load) == FOVEA_ERR_NULL);
  }
  {
    AttentionCase scales(decode(1, FOVEA_KV_STRIDED));
    CHECK(attend(scales) == FOVEA_OK);
    const void* const data = scales.args.kv.value_scales.data;
    scales.args.kv.value_scales.data = static_cast<const char*>(data) + 2;
    CHECK(attend(scales) == FOVEA_ERR_ALIGNMENT);
    scales.args.kv.value_scales.data = nullptr;
    CHECK(attend(scales) == FOVEA_ERR_NULL);
    scales.args.kv.value_scales.data = scales.args.out.data;
    CHECK(attend(scales) == FOVEA_ERR_OVERLAP);
  }
}

TEST_CASE("sources: the macro has room for any format, ring or pages", "[short]") {
  for (const auto& [kind, type, dim] :
       every({FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED}, {FOVEA_F32, FOVEA_F16, FOVEA_I8, FOVEA_I4, FOVEA_Q8_0},
             {1u, 7u, 64u, 130u})) {
    auto d = sized<fovea_attention_desc>();
    d.q_heads = 8, d.kv_heads = 2, d.head_dim = dim, d.value_dim = 131 - dim;
    d.max_batch = 2, d.max_q_tokens = 500, d.max_kv_tokens = 4000;
    d.key_dtype = type, d.value_dtype = type, d.kv_kind = kind;
    if (kind == FOVEA_KV_RING) d.ring_tokens = 100, d.pinned_tokens = 4, d.allow_evicted = 1;
    if (kind == FOVEA_KV_PAGED) d.page_tokens = 16;
    if (kind == FOVEA_KV_STRIDED) d.max_prefix_tokens = 100, d.max_batch = 1;
    for (const fovea_target target : targets()) {
      d.target = target;
      CHECK(made(plan_of(d)).workspace_bytes <= FOVEA_ATTENTION_KV_WORKSPACE_BYTES(d.head_dim, d.value_dim));
    }
  }
}

TEST_CASE("sources: on a target of one lane a format needs memory for a piece of a key tile alone", "[short]") {
  if (FOVEA_SIMD_LANES > 1) return fovea_test::skip("FOVEA_SIMD_HEADER has more than one lane");
  auto d = sized<fovea_attention_desc>();
  d.q_heads = d.kv_heads = 1, d.max_batch = 1, d.max_q_tokens = 4, d.max_kv_tokens = 1000;
  for (const auto& [dim, type] : every({8u, 32u, 128u}, {FOVEA_F16, FOVEA_I8, FOVEA_I4, FOVEA_Q8_0})) {
    d.head_dim = d.value_dim = dim, d.key_dtype = d.value_dtype = FOVEA_F32;
    const size_t f32 = bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR);
    const size_t keys = 4 * size_t{FOVEA_PIECE_KEYS} * dim, values = 4 * FOVEA_KEY_TILE * FOVEA_PIECE_ELEMENTS;
    d.key_dtype = d.value_dtype = type;
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == f32 + std::max(keys, values));
    d.key_dtype = FOVEA_F32;
    CHECK(bytes_of(fovea_attention_workspace_bytes_for, &d, FOVEA_TARGET_SCALAR) == f32 + values);
  }
}

// ---- Ragged batches

TEST_CASE("ragged: each entry has the bits of a call of its own", "[short]") {
  constexpr uint32_t kEntries = 5;
  // Where they begin.
  constexpr uint32_t kQueries[] = {0, 3, 3, 20, 21, 61}, kKeys[] = {0, 70, 75, 75, 205, 269};
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.head_dim = 20, p.value_dim = 12, p.q_tokens = 61, p.kv_tokens = 269;
  p.layout = Layout::kTokensFirst, p.alibi = p.sinks = true;
  for (const auto& [target, choice] : every(targets(), {0u, 1u, 2u, 3u})) {
    const bool masked = choice % 2 == 1;
    AttentionCase all(p);
    all.desc.target = target;
    all.desc.key_split_tokens = choice < 2 ? 0 : 64;
    all.desc.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, all.desc.max_batch = kEntries, all.desc.max_q_tokens = 40;
    all.desc.max_kv_tokens = 130;
    std::vector<uint8_t> mask(kEntries * 40 * 130);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = random_bits(7, i) % 3 != 0;
    const uint32_t lengths[kEntries] = {60, 5, 0, 130, 33};
    all.args.batch = kEntries, all.args.q_offsets = kQueries, all.args.kv_offsets = kKeys;
    all.args.kv_lengths = masked ? lengths : nullptr;
    if (masked) all.args.mask = {FOVEA_MASK_BYTE, 130, mask.data(), 40 * 130, 0, 130, 0, nullptr, 0, nullptr};
    check_ragged(all, [&](uint32_t b, fovea_attention_args& one) {
      one.kv_lengths = masked ? &lengths[b] : nullptr;
      if (masked) one.mask.data = mask.data() + b * 40 * 130, one.mask.kv_tokens = one.kv_tokens;
    });
  }
}

TEST_CASE("ragged: more entries without queries, times heads, than a size_t counts are refused", "[short]") {
  if (sizeof(size_t) > 4) return skip("entries of this number fit no memory where a size_t has 64 bits");
  constexpr uint32_t kMany = 1u << 16;
  std::vector<uint32_t> q_offsets(kMany + 1, 1);
  q_offsets[0] = 0;
  std::vector<float> out(kMany, 7.0f);
  const float one = 1.0f;
  auto d = sized<fovea_attention_desc>();
  d.q_heads = d.kv_heads = d.max_batch = kMany;
  d.head_dim = d.value_dim = d.max_q_tokens = d.max_kv_tokens = 1;
  const fovea_attention_plan plan = plan_of(d);
  auto a = sized<fovea_attention_args>();
  a.q_tokens = a.kv_tokens = 1;
  a.out = {out.data(), 0, 1, kMany};
  a.q = {&one, 0, 0, 0};
  a.kv.keys = a.kv.values = a.q;
  a.q_offsets = q_offsets.data();
  a.batch = kMany;
  CHECK(call_of(plan, a) == FOVEA_ERR_SIZE);
  CHECK(std::count(out.begin(), out.end(), 7.0f) == ptrdiff_t{kMany});
  a.batch = 2;
  CHECK(call_of(plan, a) == FOVEA_OK);
  CHECK(std::count(out.begin(), out.end(), 1.0f) == ptrdiff_t{kMany});
}

TEST_CASE("ragged: offsets that fall, or reach too far, are refused", "[short]") {
  Problem p;
  p.q_tokens = 6, p.kv_tokens = 9;
  AttentionCase test(p);
  test.desc.max_batch = 2;
  REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
  test.args.batch = 2;
  const auto attend = [&](std::vector<uint32_t> q, std::vector<uint32_t> kv) {
    test.args.q_offsets = q.empty() ? nullptr : q.data();
    test.args.kv_offsets = kv.empty() ? nullptr : kv.data();
    test.fill_outputs();
    const fovea_status status = call_again(test, test.args);
    CHECK((status == FOVEA_OK || test.outputs_untouched()));
    return status;
  };
  CHECK(attend({0, 4, 6}, {0, 4, 9}) == FOVEA_OK);
  CHECK(attend({1, 1, 5}, {3, 3, 3}) == FOVEA_OK);
  CHECK(attend({0, 4, 7}, {0, 4, 9}) == FOVEA_ERR_LENGTH);
  CHECK(attend({0, 4, 6}, {0, 4, 10}) == FOVEA_ERR_LENGTH);
  CHECK(attend({0, 4, 3}, {0, 4, 9}) == FOVEA_ERR_LENGTH);
  CHECK(attend({0, 4, 6}, {5, 4, 9}) == FOVEA_ERR_LENGTH);
  const uint32_t too_long[2] = {5, 5};
  test.args.kv_lengths = too_long;
  CHECK(attend({0, 4, 6}, {0, 4, 9}) == FOVEA_ERR_LENGTH);
  test.args.kv_lengths = nullptr, test.args.q_tokens = 13, test.args.kv_tokens = 19;
  CHECK(attend({0, 4, 6}, {0, 4, 9}) == FOVEA_ERR_CAPACITY);
  test.args.q_tokens = 12, test.args.kv_tokens = 18;
  CHECK(attend({0, 7, 8}, {0, 4, 9}) == FOVEA_ERR_CAPACITY);
  CHECK(attend({0, 4, 6}, {0, 10, 12}) == FOVEA_ERR_CAPACITY);
  test.args.q_tokens = 6, test.args.kv_tokens = 9, test.args.scores = test.args.out;
  test.args.scores_stage = FOVEA_SCORES_SOFTMAX;
  CHECK(attend({0, 4, 6}, {0, 4, 9}) == FOVEA_ERR_UNSUPPORTED);
  CHECK(attend({}, {0, 4, 9}) == FOVEA_ERR_UNSUPPORTED);
  CHECK(attend({0, 4, 6}, {}) == FOVEA_ERR_UNSUPPORTED);
}

}  // namespace fovea_test
