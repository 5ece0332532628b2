// SPDX-License-Identifier: Apache-2.0
//
// Multi-head layers against plain loops in double, on every target.
#include "support/multihead.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

LayerProblem make_problem(Levels& levels, uint64_t seed) {
  struct Heads {
    uint32_t q, kv, head_dim, value_dim;
  };
  LayerProblem p;
  p.seed = seed;
  p.batch = levels.choose({1u, 2u, 3u}), p.q_tokens = levels.choose({1u, 2u, 7u, 33u});
  p.kv_tokens = levels.choose({1u, 5u, 66u});
  const Heads heads = levels.choose<Heads>({{1, 1, 8, 8}, {4, 4, 6, 6}, {6, 2, 5, 9}, {8, 1, 16, 3}});
  p.q_heads = heads.q, p.kv_heads = heads.kv, p.head_dim = heads.head_dim, p.value_dim = heads.value_dim;
  p.keys = levels.choose({kSelf, kKeys, kKeysAndValues});
  p.d_model = levels.choose<uint32_t>({24, 7, 40});
  const uint32_t key_model = levels.choose<uint32_t>({24, 11}), value_model = levels.choose<uint32_t>({24, 13});
  p.key_model = p.keys == kSelf ? p.d_model : key_model;
  p.value_model = p.keys == kKeysAndValues ? value_model : p.key_model;
  p.dtype = levels.choose(kTypes), p.bias = levels.flag(), p.packed = levels.flag();
  if (p.packed) p.key_model = p.value_model = p.d_model;
  p.order = levels.choose({Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded});
  p.causal = levels.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT});
  p.padding = levels.choose({kNoPadding, kHalves, kAnywhere});
  p.mask = levels.choose({kNoMask, kBool2, kFloat3}), p.scores = levels.flag(), p.portable_bits = levels.flag();
  const int without = levels.choose({0, 1, 2, 3, 4, 5});
  p.no_q = without == 1 && !p.packed && p.d_model == p.q_heads * p.head_dim;
  p.no_k = without == 2 && !p.packed && p.key_model == p.kv_heads * p.head_dim;
  p.no_v = without == 3 && !p.packed && p.value_model == p.kv_heads * p.value_dim;
  p.no_out = without == 4 && p.d_model == p.q_heads * p.value_dim;
  return p;
}

// Keys and values of other models than x, more than a key tile.
LayerProblem cross_problem() {
  LayerProblem p;
  p.keys = kKeysAndValues;
  p.key_model = 11, p.value_model = 13, p.kv_tokens = 70, p.scores = false;
  return p;
}

// The largest difference, relative to the largest number.
float difference(const std::vector<float>& got, const std::vector<float>& want) {
  float largest = 0, difference = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    difference = std::max(difference, std::fabs(got[i] - want[i]));
  }
  return difference / largest;
}

}  // namespace

TEST_CASE("multihead: a block map and a modifier are those of its attention", "[short]") {
  LayerProblem p;
  p.batch = 2, p.q_tokens = 20, p.kv_tokens = 150, p.keys = kKeys, p.mask = kBool2;
  for (const fovea_target target : targets()) {
    LayerCase layer(p);
    // Keys 64 to 127 are hidden from the first eight queries, in the plain loops by a mask.
    std::fill_n(layer.mask.as<uint8_t>(), layer.mask.bytes(), uint8_t{1});
    for (size_t i = 0; i < 8; ++i) std::fill_n(layer.mask.as<uint8_t>() + i * 150 + 64, 64, uint8_t{0});
    layer.args.attention.mask = {};
    static const uint32_t offsets[] = {0, 2, 5, 8}, blocks[] = {0, 2, 0, 1, 2, 0, 1, 2};
    const fovea_block_map map = {8, 64, offsets, 0, 0, blocks, 8};
    layer.args.attention.block_map = &map;
    REQUIRE(layer.run(target) == FOVEA_OK);
    CHECK(layer.compare() == "");

    // The function does what the mask did.
    const fovea_modifier modifier = {
        [](void*, const fovea_score_block* block) {
          for (const auto& [r, k] : indices(block->rows, block->keys)) {
            const int64_t key = block->first_key + k;
            if (block->tokens[r] >= 8 || key < 64 || key >= 128) continue;
            block->data[ptrdiff_t(r) * block->row_stride + ptrdiff_t(k) * block->key_stride] = -kInfinity;
          }
        },
        nullptr, nullptr};
    layer.args.attention.block_map = nullptr, layer.args.attention.modifier = &modifier;
    REQUIRE(layer.run(target) == FOVEA_OK);
    CHECK(layer.compare() == "");
  }
}

TEST_CASE("multihead: any two choices of shapes and options agree with plain loops", "[short]") {
  size_t without = 0;
  const size_t rows = run_array("multihead", 2, make_problem, [&](const LayerProblem& p) {
    without += p.no_q + p.no_k + p.no_v + p.no_out;
    for (const fovea_target target : targets()) {
      LayerCase test(p);
      set_current_case(name(p, target));
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.compare() == "");
      CHECK(test.workspace.margin_intact());
    }
  });
  CHECK(rows > 20);
  CHECK(without > 1);
}

TEST_CASE("multihead: layers that are left out take tokens as they are", "[short]") {
  for (const fovea_target target : targets()) {
    for (int which = 0; which < 16; ++which) {
      LayerProblem p;
      p.q_heads = p.kv_heads = 4;
      p.no_q = which & 1, p.no_k = which & 2, p.no_v = which & 4, p.no_out = which & 8;
      p.keys = which % 3 == 0 ? kSelf : kKeys;
      p.order = which % 2 == 0 ? Layout::kPadded : Layout::kTokensFirst;
      LayerCase test(p);
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.compare() == "");
    }
  }
}

TEST_CASE("multihead: packed weights, the order of tokens and an executor change no bit", "[short]") {
  for (const fovea_target target : targets()) {
    LayerProblem p;
    p.q_tokens = 37, p.d_model = p.key_model = p.value_model = 50, p.packed = true;
    LayerCase packed(p);
    INFO(name(p, target));
    REQUIRE(packed.run(target) == FOVEA_OK);

    p.order = Layout::kTokensFirst;
    LayerCase turned(p);
    REQUIRE(turned.run(target) == FOVEA_OK);
    CHECK(same_bits(turned.answer(), packed.answer()));

    p.order = Layout::kHeadsFirst, p.packed = false;
    LayerCase parts(p);
    REQUIRE(parts.run(target) == FOVEA_OK);
    CHECK(same_bits(parts.answer(), packed.answer()));

    Shuffler shuffler(3);
    parts.desc.attention.max_workers = 3, parts.args.attention.executor = shuffler.executor();
    REQUIRE(parts.run(target) == FOVEA_OK);
    CHECK(shuffler.all_tasks > 4);
    CHECK(same_bits(parts.answer(), packed.answer()));
  }
}

TEST_CASE("multihead: keys that are projected once and kept give the bits of those projected each time", "[short]") {
  for (const fovea_target target : targets()) {
    const LayerProblem p = cross_problem();
    LayerCase test(p);
    INFO(name(p, target));
    REQUIRE(test.run(target) == FOVEA_OK);
    for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING}) {
      LayerCache kept(p, kind, FOVEA_F32, 72);
      LayerCase again(p);
      again.plan_for(kept, p.kv_tokens, target);
      REQUIRE(again.append(kept) == FOVEA_OK);
      again.attend_to(kept);
      for (int call = 0; call < 2; ++call) {
        REQUIRE(again.call() == FOVEA_OK);
        CHECK(same_bits(again.answer(), test.answer()));
      }
    }
  }
}

TEST_CASE("multihead: the first tokens of a cache may be a prefix of another", "[short]") {
  const LayerProblem p = cross_problem();
  LayerCache whole(p, FOVEA_KV_STRIDED, FOVEA_F32, 72), rest(p, FOVEA_KV_PAGED, FOVEA_F32, 72);
  LayerCase test(p);
  test.plan_for(whole, p.kv_tokens, FOVEA_TARGET_BEST);
  REQUIRE(test.append(whole) == FOVEA_OK);
  test.attend_to(whole);
  REQUIRE(test.call() == FOVEA_OK);
  const std::vector<float> want = test.answer();

  constexpr uint32_t kTokens = 20;
  std::vector<fovea_kv_prefix> prefixes(p.batch);
  std::vector<const fovea_kv_prefix*> named(p.batch);
  for (uint32_t b = 0; b < p.batch; ++b) {
    prefixes[b] = {sizeof(fovea_kv_prefix), kTokens, whole.source.keys, whole.source.values, {}, {}};
    for (fovea_in* array : {&prefixes[b].keys, &prefixes[b].values}) array->data = row(*array, b, 0, 0);
    named[b] = &prefixes[b];
    auto of = sized<fovea_kv_image_args>();
    of.entry = b, of.first = kTokens, of.tokens = p.kv_tokens - kTokens;
    std::vector<uint8_t> image(bytes_of(fovea_kv_image_bytes, whole, of.tokens));
    REQUIRE(fovea_kv_export(whole, &of, image.data(), image.size()) == FOVEA_OK);
    of.first = 0;
    REQUIRE(fovea_kv_import(rest, &of, image.data(), image.size()) == FOVEA_OK);
  }
  test.desc.attention.max_prefix_tokens = kTokens;
  test.plan_for(rest, p.kv_tokens, FOVEA_TARGET_BEST);
  test.attend_to(rest);
  test.args.attention.kv.prefixes = named.data();
  REQUIRE(test.call() == FOVEA_OK);
  CHECK(same_bits(test.answer(), want));

  prefixes[0].tokens = kTokens + 1;
  CHECK(test.call() == FOVEA_ERR_CAPACITY);
  prefixes[0].tokens = kTokens, prefixes[0].keys.data = test.args.y.data;
  CHECK(test.call() == FOVEA_ERR_OVERLAP);
  prefixes[0].keys.data = test.workspace.as<void>();
  CHECK(test.call() == FOVEA_ERR_OVERLAP);
  const LayerCase none(p);
  test.args.cache = nullptr, test.args.keys = none.args.keys, test.args.values = none.args.values;
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
}

TEST_CASE("multihead: products with the rows of an int8 cache may be of integers", "[short]") {
  const LayerProblem p = cross_problem();
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_I8, 72);
    LayerCase test(p);
    test.plan_for(kept, p.kv_tokens, target);
    REQUIRE(test.append(kept) == FOVEA_OK);
    test.attend_to(kept);
    REQUIRE(test.call() == FOVEA_OK);
    const std::vector<float> want = test.answer();
    test.desc.attention.compute = FOVEA_COMPUTE_I8;
    REQUIRE(test.run(target) == FOVEA_OK);
    INFO(fovea_target_name(target));
    CHECK(difference(test.answer(), want) > 0);
    CHECK(difference(test.answer(), want) < 0.03f);
  }
}

TEST_CASE("multihead: a cache may be rotated, if the description is; keys that are not kept may not", "[short]") {
  const LayerProblem p = cross_problem();
  for (const fovea_target target : targets()) {
    std::vector<float> answers[2];
    for (const fovea_hadamard_rows rotation : {FOVEA_HADAMARD_NONE, FOVEA_HADAMARD_BOTH}) {
      LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_F32, 72);
      kept.hadamard = rotation, kept.hadamard_seed = 5;
      LayerCase test(p);
      test.plan_for(kept, p.kv_tokens, target);
      if (rotation != FOVEA_HADAMARD_NONE) {
        CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
        kept.hadamard_seed = 6;
        CHECK(test.append(kept) == FOVEA_ERR_SIZE);
        kept.hadamard_seed = 5, kept.hadamard = FOVEA_HADAMARD_KEYS;
        CHECK(test.append(kept) == FOVEA_ERR_SIZE);
        kept.hadamard = rotation;
      }
      REQUIRE(test.append(kept) == FOVEA_OK);
      test.attend_to(kept);
      REQUIRE(test.call() == FOVEA_OK);
      answers[rotation != FOVEA_HADAMARD_NONE] = test.answer();
    }
    CHECK(difference(answers[1], answers[0]) > 0);
    CHECK(difference(answers[1], answers[0]) < 1e-5f);
  }
}

TEST_CASE("multihead: a decoder, a token or more at a time, gives the bits of one call", "[short]") {
  for (const auto& [target, turned, kind] :
       every(targets_and_those_that_extend_them(), {false, true}, {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING})) {
    LayerProblem p;
    p.q_tokens = 67, p.causal = FOVEA_CAUSAL_TOP_LEFT, p.scores = false, p.portable_bits = true;
    p.packed = turned;
    uint64_t turns[3];
    REQUIRE(fovea_rope_frequencies(turns, 100.0, 0.0, p.head_dim) == FOVEA_OK);
    LayerCase whole(p), decoder(p);
    for (LayerCase* const layer : {&whole, &decoder}) {
      layer->rope.turns = turns;
      if (turned) layer->args.rope = &layer->rope;
    }
    INFO(name(p, target) << " cache of kind " << kind << (turned ? " rope" : ""));
    REQUIRE(whole.run(target) == FOVEA_OK);
    if (!turned) CHECK(whole.compare() == "");
    LayerCache kept(p, kind, FOVEA_F32, 70);
    decoder.decode(target, kept, 5, [](uint32_t first) { return first % 4 == 3 ? uint32_t{5} : uint32_t{1}; });
    CHECK(same_bits(decoder.answer(), whole.answer()));
    CHECK(decoder.workspace.margin_intact());
  }
}

TEST_CASE("multihead: rope turns queries and keys as fovea_rope does, and no values", "[short]") {
  for (const fovea_target target : targets()) {
    LayerProblem p;
    p.q_heads = p.kv_heads = 4, p.no_q = p.no_k = true, p.scores = false, p.portable_bits = true;
    p.causal = FOVEA_CAUSAL_TOP_LEFT;
    uint64_t turns[3];
    REQUIRE(fovea_rope_frequencies(turns, 100.0, 0.0, p.head_dim) == FOVEA_OK);
    LayerCase test(p), by_hand(p);
    test.rope.turns = turns, test.args.rope = &test.rope;
    INFO(name(p, target));
    REQUIRE(test.run(target) == FOVEA_OK);

    const TokenArray turned(p, p.x, p.q_tokens, p.d_model);
    fovea_rope_args rope = test.rope;
    rope.target = target;  // some fuse multiply-adds
    rope.batch = p.batch, rope.heads = p.q_heads, rope.tokens = p.q_tokens, rope.dim = p.head_dim;
    rope.x = test.x.in(p.head_dim), rope.y = turned.out(p.head_dim);
    REQUIRE(fovea_rope(&rope) == FOVEA_OK);
    by_hand.args.x = by_hand.args.keys = turned.in();
    by_hand.args.values = test.x.in();
    by_hand.args.kv_tokens = p.q_tokens;
    REQUIRE(by_hand.run(target) == FOVEA_OK);
    CHECK(same_bits(test.answer(), by_hand.answer()));
  }
}

TEST_CASE("multihead: key_mass is the sum of the weights, and overlaps no array of the layer", "[short]") {
  const LayerProblem p;
  const uint32_t keys = p.keys_of_call(), group = p.q_heads / p.kv_heads, last = 2;
  const auto head = ptrdiff_t(keys);
  for (const fovea_target target : targets()) {
    LayerCase test(p);
    INFO(name(p, target));
    std::vector<float> mass(size_t{p.batch} * p.kv_heads * keys);
    fovea_out& out = test.args.attention.key_mass;
    const fovea_out valid = {mass.data(), head * ptrdiff_t(p.kv_heads), head, 0};
    out = valid;
    test.desc.attention.key_mass_queries = last;
    REQUIRE(test.run(target) == FOVEA_OK);
    for (size_t row = 0; row < mass.size(); ++row) {
      const size_t j = row % keys, kv_head = row / keys % p.kv_heads, b = row / keys / p.kv_heads;
      double sum = 0;
      for (size_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        for (size_t i = p.q_tokens - last; i < p.q_tokens; ++i) {
          sum += double{test.scores.get(b, h, i, j)};
        }
      }
      CHECK(std::abs(double{mass[row]} - sum) < 1e-6);
    }
    const std::vector<float> answer = test.answer();
    const fovea_multihead_weights& w = test.args.weights;
    const void* const taken[] = {test.args.x.data, test.args.y.data, w.q.data,
                                 w.out.data,       w.out.bias,       test.workspace.as<void>()};
    for (const void* const data : taken) {
      out.data = const_cast<void*>(data);
      CHECK(test.call() == FOVEA_ERR_OVERLAP);
    }
    CHECK(same_bits(test.answer(), answer));
  }
}

TEST_CASE("multihead: linear layers of integers or halves are those of fovea_linear, bit for bit", "[short]") {
  for (const auto& [dtype, q_tokens] : every({FOVEA_I8, FOVEA_I4, FOVEA_Q4_1, FOVEA_F16}, {2u, 21u, 22u})) {
    LayerProblem p;
    p.batch = 1, p.q_tokens = q_tokens, p.dtype = dtype, p.packed = dtype == FOVEA_I8 && q_tokens != 21;
    p.linear_compute = dtype == FOVEA_F16 ? FOVEA_COMPUTE_F16 : FOVEA_COMPUTE_I8;
    p.scores = false, p.portable_bits = true;
    LayerCase test(p);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(same_bits(test.answer(), test.by_steps()));
    }
  }
}

TEST_CASE("multihead: the workspace is what a plan says, on every target, and the macro is not less", "[short]") {
  for (const uint32_t head_dim : {1u, 17u, 64u}) {
    LayerProblem p;
    p.head_dim = p.value_dim = head_dim, p.d_model = p.key_model = p.value_model = 100;
    LayerCase test(p);
    for (const fovea_target target : targets()) {
      REQUIRE(test.run(target) == FOVEA_OK);
      const size_t bytes = bytes_of(fovea_multihead_workspace_bytes, &test.plan);
      CHECK(bytes == bytes_of(fovea_multihead_workspace_bytes_for, &test.desc, target));
      CHECK(bytes <= bytes_of(fovea_multihead_workspace_bytes_for, &test.desc, FOVEA_TARGET_BEST));
      CHECK(bytes <= FOVEA_MULTIHEAD_WORKSPACE_BYTES(100, p.q_heads, p.kv_heads, head_dim, p.batch * p.q_tokens,
                                                     p.batch * p.q_tokens, FOVEA_F32));
      CHECK(fovea_multihead(&test.plan, &test.args, test.workspace.as<void>(), bytes - 1) == FOVEA_ERR_WORKSPACE);
    }
  }
  for (const auto& [head_dim, d_model, q_tokens, new_tokens, dtype] :
       every({1u, 17u, 64u}, {1u, 100u, 700u}, {1u, 5u, 33u, 200u}, {1u, 60u},
             {FOVEA_F32, FOVEA_F16, FOVEA_I8, FOVEA_Q4_0})) {
    auto d = sized<fovea_multihead_desc>();
    d.attention.struct_bytes = sizeof d.attention;
    d.attention.q_heads = 4, d.attention.kv_heads = 2, d.attention.head_dim = d.attention.value_dim = head_dim;
    d.attention.max_batch = 2, d.attention.max_q_tokens = q_tokens, d.attention.max_kv_tokens = 60;
    d.attention.portable_bits = q_tokens == 5, d.max_new_tokens = new_tokens;
    d.d_model = d_model, d.key_model = 30, d.weight_dtype = dtype;
    INFO("head_dim " << head_dim << " d_model " << d_model << " queries " << q_tokens << " keys " << new_tokens);
    const size_t most = FOVEA_MULTIHEAD_WORKSPACE_BYTES(std::max<uint32_t>(d_model, 30), 4, 2, head_dim, 2 * q_tokens,
                                                        2 * new_tokens, dtype);
    for (const fovea_target target : targets()) {
      const size_t bytes = bytes_of(fovea_multihead_workspace_bytes_for, &d, target);
      CHECK(bytes > 0);
      CHECK(bytes <= most);
      fovea_multihead_desc halves = d;
      halves.linear_compute = FOVEA_COMPUTE_F16;
      CHECK(bytes_of(fovea_multihead_workspace_bytes_for, &halves, target) <= most);  // 0 where weights are not halves
      if (dtype < FOVEA_I8) continue;
      fovea_multihead_desc integers = d;
      integers.linear_compute = FOVEA_COMPUTE_I8;
      const size_t integer_bytes = bytes_of(fovea_multihead_workspace_bytes_for, &integers, target);
      CHECK(integer_bytes > 0);
      CHECK(integer_bytes <= FOVEA_MULTIHEAD_I8_WORKSPACE_BYTES(std::max<uint32_t>(d_model, 30), 4, 2, head_dim,
                                                                2 * q_tokens, 2 * new_tokens));
    }
  }
  // Of a ring with any number of tokens, new ones are as many as there is room for.
  auto ring = sized<fovea_multihead_desc>();
  ring.attention.struct_bytes = sizeof ring.attention;
  ring.attention.q_heads = ring.attention.kv_heads = ring.attention.head_dim = ring.attention.value_dim = 8;
  ring.attention.max_batch = ring.attention.max_q_tokens = 1, ring.attention.max_kv_tokens = 1u << 30;
  ring.attention.kv_kind = FOVEA_KV_RING, ring.attention.ring_tokens = 24, ring.attention.allow_evicted = 1;
  fovea_multihead_plan plan{};
  REQUIRE(fovea_multihead_plan_init(&plan, &ring) == FOVEA_OK);
  CHECK(fovea_multihead_plan_desc(&plan)->max_new_tokens == 24);
  CHECK(fovea_multihead_plan_desc(nullptr) == nullptr);
  CHECK(refusal_of(fovea_multihead_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
  const fovea_multihead_plan no_plan{};
  CHECK(fovea_multihead_plan_desc(&no_plan) == nullptr);
  CHECK(refusal_of(fovea_multihead_workspace_bytes, &no_plan) == FOVEA_ERR_PLAN);
  CHECK(refusal_of(fovea_multihead_workspace_bytes_for, nullptr, FOVEA_TARGET_BEST) == FOVEA_ERR_NULL);
}

TEST_CASE("multihead: every misuse has its status, and nothing is written", "[short]") {
  LayerProblem p;
  p.keys = kKeys;
  using D = fovea_multihead_desc;
  std::vector<Misuse<D>> of_plans = {
      {"attention.struct_bytes", FOVEA_ERR_STRUCT, [](auto& d) { d.attention.struct_bytes -= 4; }},
      {"weights of q4_1", FOVEA_OK, [](auto& d) { d.weight_dtype = FOVEA_Q4_1; }},
      {"keys of q4_1", FOVEA_ERR_UNSUPPORTED, [](auto& d) { d.attention.key_dtype = FOVEA_Q4_1; }},
      {"halves of bf16", FOVEA_ERR_UNSUPPORTED,
       [](auto& d) { d.linear_compute = FOVEA_COMPUTE_F16, d.weight_dtype = FOVEA_BF16; }},
      {"halves of f16", FOVEA_OK, [](auto& d) { d.linear_compute = FOVEA_COMPUTE_F16, d.weight_dtype = FOVEA_F16; }},
      {"queries of f16", FOVEA_ERR_UNSUPPORTED, [](auto& d) { d.attention.q_dtype = FOVEA_F16; }},
      {"outputs of bf16", FOVEA_ERR_UNSUPPORTED, [](auto& d) { d.attention.out_dtype = FOVEA_BF16; }},
      {"a loader", FOVEA_ERR_UNSUPPORTED, [](auto& d) { d.attention.kv_kind = FOVEA_KV_LOAD; }},
      {"heads", FOVEA_ERR_HEADS, [](auto& d) { d.attention.kv_heads = 3; }},
      {"head_dim", FOVEA_ERR_SIZE, [](auto& d) { d.attention.head_dim = 1u << 30; }},
      {"tokens", FOVEA_ERR_SIZE,
       [](auto& d) { d.attention.max_batch = 0xffffffffu, d.attention.max_q_tokens = 1u << 28; }},
  };
  add_struct_misuses(of_plans);
  add_misuses(of_plans, FOVEA_ERR_ENUM, {&D::weight_dtype}, {kNoType});
  add_misuses(of_plans, FOVEA_ERR_ENUM, {&D::linear_compute}, {fovea_compute(77)});
  add_misuses(of_plans, FOVEA_ERR_UNSUPPORTED, {&D::linear_compute}, {FOVEA_COMPUTE_F16, FOVEA_COMPUTE_I8});
  fovea_multihead_plan plan{};
  check_refused(
      of_plans, [&] { return LayerCase(p).desc; }, [&](const auto& d) { return fovea_multihead_plan_init(&plan, &d); },
      [](const auto&) { return true; });
  CHECK(fovea_multihead_plan_init(nullptr, nullptr) == FOVEA_ERR_NULL);

  std::vector<Misuse<LayerCase>> misuses = {
      {"plan", FOVEA_ERR_PLAN, [](auto& c) { made(c.plan).magic ^= 1; }},
      {"attention.struct_bytes", FOVEA_ERR_STRUCT, [](auto& c) { c.args.attention.struct_bytes = 0; }},
      {"weights.reserved", FOVEA_ERR_STRUCT, [](auto& c) { set_reserved(c.args.weights); }},
      {"weights.out.reserved", FOVEA_ERR_STRUCT, [](auto& c) { set_reserved(c.args.weights.out); }},
      {"batch", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.batch; }},
      {"q_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.q_tokens; }},
      {"kv_tokens", FOVEA_ERR_CAPACITY, [](auto& c) { ++c.args.kv_tokens; }},
      {"values without keys of as many", FOVEA_ERR_SIZE,
       [](auto& c) {
         c.args.keys = {};
         c.args.values = c.keys.in();
         c.args.kv_tokens = c.p.q_tokens - 1;
       }},
      {"x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }},
      {"y", FOVEA_ERR_NULL, [](auto& c) { c.args.y.data = nullptr; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.token_stride = 1; }},
      {"x's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.x.token_stride = 0; }},
      {"x's alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.x.data = static_cast<const char*>(c.args.x.data) + 1; }},
      {"x's strides", FOVEA_ERR_SIZE, [](auto& c) { c.args.x.token_stride = PTRDIFF_MAX / 2; }},
      {"a bias of no layer", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.k.data = nullptr; }},
      {"both kinds of weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.qkv = c.args.weights.q; }},
      {"weights of another type", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.v.dtype = FOVEA_F16; }},
      {"scales of f32", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.v.scales = c.args.weights.v.bias; }},
      {"no weights for other widths", FOVEA_ERR_SIZE, [](auto& c) { c.args.weights.k = {}; }},
      {"slow workspace", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.slow_workspace_bytes = 64; }},
      {"ragged", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.q_offsets = c.lengths.data(); }},
      {"executor", FOVEA_ERR_CAPACITY,
       [](auto& c) {
         static const fovea_executor two = {[](void*, size_t, void (*)(void*, size_t, uint32_t), void*) { return 0; },
                                            nullptr, 2};
         c.args.attention.executor = &two;
       }},
      {"lengths", FOVEA_ERR_LENGTH,
       [](auto& c) {
         c.lengths[1] = 8;
         c.args.attention.kv_lengths = c.lengths.data();
       }},
      {"score_vector", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.attention.score_vector = c.args.weights.q.bias; }},
      {"rope", FOVEA_ERR_STRUCT,
       [](auto& c) {
         static const fovea_rope_args none{};
         c.args.rope = &none;
       }},
  };
  add_struct_misuses(misuses);
  // Whatever is read must not be in y, in the scores or in the workspace.
  static fovea_block_map map;
  static const uint32_t offsets[16] = {};
  const std::pair<const char*, void (*)(LayerCase&, void*)> inputs[] = {
      {"x", [](auto& c, void* at) { c.args.x.data = at; }},
      {"keys", [](auto& c, void* at) { c.args.keys.data = at; }},
      {"weights", [](auto& c, void* at) { c.args.weights.k.data = at; }},
      {"a bias", [](auto& c, void* at) { c.args.weights.out.bias = static_cast<float*>(at); }},
      {"lengths", [](auto& c, void* at) { c.args.attention.kv_lengths = static_cast<uint32_t*>(at); }},
      {"positions", [](auto& c, void* at) { c.args.attention.first_positions = static_cast<int64_t*>(at); }},
      {"slopes", [](auto& c, void* at) { c.args.attention.alibi_slopes = static_cast<float*>(at); }},
      {"sinks", [](auto& c, void* at) { c.args.attention.sinks = static_cast<float*>(at); }},
      {"a score vector", [](auto& c, void* at) { c.args.attention.score_vector = static_cast<float*>(at); }},
      {"a mask",
       [](auto& c, void* at) { c.args.attention.mask.kind = FOVEA_MASK_F32, c.args.attention.mask.data = at; }},
      {"a block map", [](auto&, void* at) { map = {1, 64, static_cast<uint32_t*>(at), 0, 0, nullptr, 0}; }},
      {"its blocks", [](auto&, void* at) { map = {1, 64, offsets, 0, 0, static_cast<uint32_t*>(at), 1}; }},
      {"rope's turns", [](auto& c, void* at) { c.rope.turns = static_cast<uint64_t*>(at); }},
      {"rope's positions", [](auto& c, void* at) { c.rope.first_positions = static_cast<int64_t*>(at); }},
      {"rope's table",
       [](auto& c, void* at) { c.rope.cos = c.rope.sin = static_cast<float*>(at), c.rope.table_positions = 2; }},
  };
  for (const auto& [what, put] : inputs) {
    for (const int where : {0, 1, 2}) {
      misuses.push_back({what, FOVEA_ERR_OVERLAP, [change = put, where](LayerCase& c) {
                           map = {};
                           void* const scores = c.args.attention.scores.data;
                           change(c, where == 0 ? c.args.y.data : where == 1 ? scores : c.workspace.as<void>());
                           if (map.q_block != 0) c.args.attention.block_map = &map;
                           if (c.rope.turns || c.rope.first_positions || c.rope.cos) c.args.rope = &c.rope;
                         }});
    }
  }
  const auto make = [&] {
    LayerCase test(p);
    REQUIRE(test.make_plan(FOVEA_TARGET_BEST) == FOVEA_OK);
    return test;
  };
  check_refused(
      misuses, make, [](LayerCase& c) { return c.call(); },
      [](const LayerCase& c) { return c.y.memory.untouched() && c.scores.memory.untouched(); });

  LayerCase test(p);
  REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
  void* const workspace = test.workspace.as<void>();
  const size_t bytes = test.workspace.bytes();
  CHECK(fovea_multihead(nullptr, &test.args, workspace, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, nullptr, workspace, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, &test.args, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead(&test.plan, &test.args, static_cast<char*>(workspace) + 4, bytes) == FOVEA_ERR_ALIGNMENT);

  // A prompt of many tokens into a cache by a plan for one at a time, with fields that it does not look at; and scores
  // of as many keys as the cache holds, with y right behind them.
  {
    LayerProblem one = p;
    one.batch = 1, one.keys = kSelf, one.q_tokens = 5;
    LayerCase decoder(one);
    LayerCache cache(one, FOVEA_KV_STRIDED, FOVEA_F32, 64);
    decoder.desc.attention.max_q_tokens = 1;
    decoder.plan_for(cache, 8, FOVEA_TARGET_BEST);
    const fovea_kv_cache unused{};
    decoder.args.cache = &unused;
    decoder.args.attention.q_offsets = decoder.lengths.data();
    CHECK(decoder.append(cache) == FOVEA_OK);
    decoder.args.attention.q_offsets = nullptr, decoder.args.cache = cache;
    CHECK(decoder.call() == FOVEA_ERR_CAPACITY);
    decoder.args.q_tokens = 1;
    std::vector<float> outputs(size_t{one.q_heads} * 5 + one.d_model);
    decoder.args.attention.scores = {outputs.data(), 0, 5, 5};
    decoder.args.y.data = outputs.data() + one.q_heads * 5;
    CHECK(decoder.call() == FOVEA_OK);
    decoder.args.y.data = outputs.data() + one.q_heads * 5 - 1;
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);

    // What was subtracted from keys is read, too.
    decoder.args.attention.scores = {}, decoder.args.attention.scores_stage = FOVEA_SCORES_NONE;
    decoder.args.y.data = outputs.data() + one.q_heads * 5;
    Guarded room(size_t{one.kv_heads} * one.head_dim * sizeof(float), sizeof(float), Placement::kEnd);
    std::memset(room.as<void>(), 0, room.bytes());
    cache.key_center = room.as<float>();
    CHECK(decoder.call() == FOVEA_OK);
    cache.key_center = decoder.workspace.as<float>();
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);
    CHECK(decoder.append(cache) == FOVEA_ERR_OVERLAP);
    cache.key_center = static_cast<float*>(decoder.args.y.data);
    CHECK(decoder.call() == FOVEA_ERR_OVERLAP);
  }

  // Caches.
  CHECK(fovea_multihead_append(&test.plan, nullptr, &test.args, workspace, bytes) == FOVEA_ERR_NULL);
  Cache none;
  CHECK(test.append(none) == FOVEA_ERR_PLAN);
  LayerCache kept(p, FOVEA_KV_STRIDED, FOVEA_F32, 10);
  CHECK(fovea_multihead_append(&test.plan, kept, &test.args, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_multihead_append(&test.plan, kept, &test.args, workspace, bytes - 1) == FOVEA_ERR_WORKSPACE);
  REQUIRE(test.append(kept) == FOVEA_OK);
  CHECK(test.append(kept) == FOVEA_ERR_FULL);
  CHECK(kept.lengths[0] == p.kv_tokens);
  test.args.cache = kept;
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);  // keys besides
  test.args.keys = {};
  CHECK(test.call() == FOVEA_OK);
  kept.values_in_keys = 1;
  CHECK(test.call() == FOVEA_ERR_SIZE);
  CHECK(test.append(kept) == FOVEA_ERR_SIZE);
  kept.values_in_keys = 0;
  test.args.attention.kv_lengths = test.lengths.data();
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
  test.args.attention.kv_lengths = nullptr;
  const LayerCache narrow(p, FOVEA_KV_STRIDED, FOVEA_F16, 10);
  test.args.cache = narrow;
  CHECK(test.call() == FOVEA_ERR_SIZE);
  test.desc.attention.key_dtype = test.desc.attention.value_dtype = FOVEA_F16;
  REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
  test.args.cache = nullptr;  // projected keys are f32
  CHECK(test.call() == FOVEA_ERR_UNSUPPORTED);
}

}  // namespace fovea_test
