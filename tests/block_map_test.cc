// SPDX-License-Identifier: Apache-2.0
//
// Block maps: blocks of keys that are not listed are hidden and cost nothing, others are as the mask and the limits say;
// maps are made from masks and functions, and wrong ones refused. Masks at the end of the keys, and trees of drafts.
// That maps agree with the reference beside any other option is shown in attention_pairs_test.cc.
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

Problem base() {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 70, p.kv_tokens = 300;
  p.head_dim = 20, p.value_dim = 12;
  return p;
}

Problem mapped(uint32_t q_block = 16, uint32_t kv_block = 64) {
  Problem p = base();
  p.map_q_block = q_block, p.map_kv_block = kv_block;
  return p;
}

// A map of the case's own, in place of a random one.
struct OwnMap {
  OwnMap(AttentionCase& test, uint32_t q_block, uint32_t kv_block, std::vector<uint32_t> offsets_of,
         std::vector<uint32_t> blocks_of)
      : offsets(std::move(offsets_of)), blocks(std::move(blocks_of)) {
    map = {q_block, kv_block, offsets.data(), 0, 0, blocks.data(), uint32_t(blocks.size())};
    test.args.block_map = &map;
  }
  OwnMap(const OwnMap&) = delete;

  std::vector<uint32_t> offsets, blocks;
  fovea_block_map map;
};

TEST_CASE("maps: with portable_bits a map that lists all has the bits of none, and any those of a mask", "[short]") {
  Problem masked = mapped(24);
  masked.mask = FOVEA_MASK_BYTE;
  for (const bool integers : {false, true}) {
    AttentionCase plain(integers ? base().with_integers() : base());
    for (const fovea_target target : plain.problem.targets()) {
      const Run how = {target, Budget::kNone, true};
      const Outputs whole = run(plain, how);
      std::vector<uint32_t> offsets, blocks;
      for (uint32_t r = 0; r <= 3; ++r) {
        offsets.push_back(5 * r);
        for (uint32_t c = 0; c < 5; ++c) blocks.push_back(c | (c % 2 == 0 ? FOVEA_BLOCK_ALL : 0));
      }
      OwnMap all(plain, 24, 64, offsets, blocks);
      CHECK(same_bits(run(plain, how), whole));
      plain.args.block_map = nullptr;
    }

    AttentionCase test(integers ? masked.with_integers() : masked);
    const Problem& p = test.problem;
    std::vector<uint8_t> equal(size_t{p.batch} * p.q_heads * p.q_tokens * p.kv_tokens);
    size_t at = 0;
    for (const auto& [b, h, i, j] : indices(p.batch, p.q_heads, p.q_tokens, p.kv_tokens)) {
      equal[at++] = visible(test.desc, test.args, b, h, i, j);
    }
    for (const fovea_target target : p.targets()) {
      const Run how = {target, Budget::kNone, true};
      const Outputs by_map = run(test, how);
      const fovea_attention_args before = test.args;
      const ptrdiff_t row = 300, head = 70 * row;
      test.args.block_map = nullptr;
      test.args.mask = {FOVEA_MASK_BYTE, 0, equal.data(), 4 * head, head, row, 0, nullptr, 0, nullptr};
      CHECK(same_bits(run(test, how), by_map));
      test.args = before;
    }
  }
}

TEST_CASE("maps: keys that a mask does not cover are hidden in blocks that need no mask, too", "[short]") {
  Problem p = base();
  p.mask = FOVEA_MASK_BYTE;
  AttentionCase test(p);
  std::memset(test.mask_byte(), 1, test.mask_elements());
  const OwnMap map(test, 70, 64, {0, 3}, {0 | FOVEA_BLOCK_ALL, 1 | FOVEA_BLOCK_ALL, 2});
  for (const auto& [target, covered] : every(targets(), {5u, 64u, 100u, 190u})) {
    test.args.mask.kv_tokens = covered;
    const Outputs got = run(test, {target, Budget::kNone, true});
    const std::vector<uint32_t> lengths(p.batch, covered);
    fovea_attention_args masked = test.args;
    test.args.block_map = nullptr, test.args.mask = {}, test.args.kv_lengths = lengths.data();
    CHECK(same_bits(run(test, {target, Budget::kNone, true}), got));
    test.args = masked;
  }
}

TEST_CASE("maps: a last block with so few queries that another kernel would be for them", "[short]") {
  for (const auto& [q_tokens, budget] : every({9u, 11u, 13u}, {Budget::kNone, Budget::kHalf})) {
    Problem p = mapped(8);
    p.q_tokens = q_tokens;
    CHECK(run_on_all_targets(p, budget) == "");
    CHECK(run_on_all_targets(p.with_integers(), budget) == "");
  }
  // Blocks of more queries, or keys, than there are.
  for (const Problem& p : {mapped(1000), mapped(16, 0xffffffc0u)}) CHECK(run_on_all_targets(p) == "");
}

TEST_CASE("maps: a loader is asked for the tiles that are listed, and no other", "[short]") {
  Problem p = base();
  p.kv_kind = FOVEA_KV_LOAD, p.lse = false;
  AttentionCase test(p), strided(base());
  const OwnMap map(test, 70, 128, {0, 2}, {0, 2 | FOVEA_BLOCK_ALL});  // keys 0 to 127 and 256 to 299
  strided.args.block_map = &map.map;
  for (const fovea_target target : targets()) {
    CHECK(strided.run({target}) == "");
    REQUIRE(test.run_unchecked({target}) == "");
    CHECK(same_bits(test.out(), strided.out()));
    const fovea::PlannedKernel& kernel = made(test.plan).kernels[1];
    const uint32_t rows = 2 * 70, block = kernel.tile_rows * kernel.tiles, blocks = (rows + block - 1) / block;
    CHECK(test.stored.loader.started == 2 * 2 * 3 * blocks);  // entries, key heads, tiles
    test.stored.loader.started = test.stored.loader.finished = 0;
  }
}

TEST_CASE("maps: entries of a ragged batch have lists of their own length", "[short]") {
  Problem p;
  p.q_tokens = 61, p.kv_tokens = 269, p.head_dim = 20, p.value_dim = 12, p.layout = Layout::kTokensFirst;
  constexpr uint32_t kQueries[] = {0, 3, 20, 21, 61}, kKeys[] = {0, 70, 75, 205, 269};  // where entries begin
  AttentionCase all(p);
  all.args.batch = 4, all.args.q_offsets = kQueries, all.args.kv_offsets = kKeys;
  all.desc.max_batch = 4, all.desc.max_q_tokens = 40, all.desc.max_kv_tokens = 130;
  std::vector<uint32_t> offsets, blocks;  // three lists of 16 queries, for keys of three blocks
  for (const auto& [b, r] : indices(4, 4)) {
    offsets.push_back(uint32_t(blocks.size()));
    for (uint32_t c = 0; c < 3 && r < 3; ++c) {
      if (random_bits(4, b * 9 + r * 3 + c) % 2 == 0) blocks.push_back(c);
    }
  }
  OwnMap own(all, 16, 64, offsets, blocks);
  own.map.batch_stride = 4;
  for (const fovea_target target : targets()) {
    all.desc.target = target;
    fovea_block_map map;
    std::vector<uint32_t> own_offsets, own_blocks;
    check_ragged(all, [&](uint32_t b, fovea_attention_args& one) {
      // The entry's keys have fewer blocks than the longest entry's.
      own_offsets = {0}, own_blocks.clear();
      for (uint32_t r = 0; r < 3; ++r) {
        for (uint32_t i = offsets[b * 4 + r]; i < offsets[b * 4 + r + 1]; ++i) {
          if (blocks[i] * 64 < one.kv_tokens) own_blocks.push_back(blocks[i]);
        }
        own_offsets.push_back(uint32_t(own_blocks.size()));
      }
      map = {16, 64, own_offsets.data(), 0, 0, own_blocks.data(), uint32_t(own_blocks.size())};
      one.block_map = &map;
    });
  }
}

TEST_CASE("maps: blocks of a push are counted from its first key, which lies on the grid", "[short]") {
  Problem p = base();
  p.layout = Layout::kTokensFirst, p.map_batch = p.map_heads = false;
  AttentionCase test(p);
  const OwnMap whole(test, 16, 64, {0, 3, 5, 5, 8, 9}, {0, 2, 4, 1, 3, 0, 1, 3, 4});
  for (const fovea_target target : targets()) {
    CHECK(test.run({target, Budget::kNone, true}) == "");
    const std::vector<float> out = test.out();
    const TestStream stream(test.desc, target, true);
    for (const Piece piece : {Piece{0, 128}, {128, 192}, {192, 300}}) REQUIRE(stream.push(test, piece) == FOVEA_OK);
    // The next key has the position 300.
    const std::vector<uint8_t> before = stream.content();
    CHECK(stream.push(test, {0, 64}) == FOVEA_ERR_UNSUPPORTED);
    CHECK(stream.content() == before);
    fovea_attention_args end = test.args;
    end.block_map = nullptr;
    test.fill_outputs();
    REQUIRE(stream.end(end) == FOVEA_OK);
    CHECK(same_bits(test.out(), out));
  }
}

TEST_CASE("maps: what is wrong with one has its status, and nothing is written", "[short]") {
  struct Call {
    AttentionCase test{base()};
    OwnMap own{test, 16, 64, {0, 3, 5, 5, 8, 9}, {0, 2, 4, 1, 3, 0, 1, 3, 4}};
  };
  const std::vector<Misuse<Call>> all = {
      {"nothing", FOVEA_OK, [](Call&) {}},
      {"no queries in a block", FOVEA_ERR_MAP, [](auto& c) { c.own.map.q_block = 0; }},
      {"no keys in a block", FOVEA_ERR_MAP, [](auto& c) { c.own.map.kv_block = 0; }},
      {"32 keys in a block", FOVEA_ERR_MAP, [](auto& c) { c.own.map.kv_block = 32; }},
      {"96 keys in a block", FOVEA_ERR_MAP, [](auto& c) { c.own.map.kv_block = 96; }},
      {"larger blocks than the numbers are for", FOVEA_ERR_MAP, [](auto& c) { c.own.map.kv_block = 128; }},
      {"a block behind the keys", FOVEA_ERR_MAP, [](auto& c) { c.own.blocks[2] = 5; }},
      {"the last number", FOVEA_ERR_MAP, [](auto& c) { c.own.blocks[2] = 0xffffffffu; }},
      {"a block twice", FOVEA_ERR_MAP, [](auto& c) { c.own.blocks[1] = 0; }},
      {"a block twice, once all of it", FOVEA_ERR_MAP, [](auto& c) { c.own.blocks[1] = FOVEA_BLOCK_ALL; }},
      {"out of order", FOVEA_ERR_MAP, [](auto& c) { std::swap(c.own.blocks[3], c.own.blocks[4]); }},
      {"offsets that fall", FOVEA_ERR_MAP, [](auto& c) { c.own.offsets[2] = 2; }},
      {"offsets behind the blocks", FOVEA_ERR_MAP, [](auto& c) { c.own.offsets[5] = 10; }},
      {"fewer blocks than the offsets", FOVEA_ERR_MAP, [](auto& c) { c.own.map.block_count = 8; }},
      {"no offsets", FOVEA_ERR_NULL, [](auto& c) { c.own.map.offsets = nullptr; }},
      {"no blocks", FOVEA_ERR_NULL, [](auto& c) { c.own.map.blocks = nullptr; }},
      {"offsets off their alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.own.map.offsets = shifted<uint32_t>(c.own.offsets.data(), 2); }},
      {"blocks off their alignment", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.own.map.blocks = shifted<uint32_t>(c.own.blocks.data(), 1); }},
      {"offsets in the output", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.own.map.offsets = static_cast<const uint32_t*>(c.test.args.out.data); }},
      {"blocks in the output", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.own.map.blocks = static_cast<const uint32_t*>(c.test.args.lse.data); }},
      {"strides that overflow", FOVEA_ERR_SIZE, [](auto& c) { c.own.map.batch_stride = PTRDIFF_MAX; }},
  };
  for (const auto& wrong : all) {
    Call call;
    wrong.change(call);
    INFO(wrong.what);
    const std::string failed = call.test.run_unchecked({});
    CHECK(call.test.outputs_untouched() == (wrong.want != FOVEA_OK));
    CHECK(
        (wrong.want == FOVEA_OK ? failed.empty() : failed.find(fovea_status_string(wrong.want)) != std::string::npos));
  }
}

TEST_CASE("maps: offsets of ragged entries are looked at before a map that goes by them", "[short]") {
  Problem p;
  p.q_tokens = 6, p.kv_tokens = 9;
  AttentionCase test(p);
  test.desc.max_batch = 2, test.desc.max_q_tokens = 4000;
  REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
  const uint32_t q_offsets[] = {0, 4000, 6};
  test.args.batch = 2, test.args.q_tokens = 4000, test.args.q_offsets = q_offsets;
  Guarded offsets(4 * sizeof(uint32_t), sizeof(uint32_t), Placement::kEnd);
  std::fill_n(offsets.as<uint32_t>(), 4, 0u);
  const fovea_block_map map = {1, 64, offsets.as<uint32_t>(), 0, 0, nullptr, 0};
  test.args.block_map = &map;
  test.fill_outputs();
  // What is behind the four offsets may be a buffer of the call.
  const fovea_status status = call_again(test, test.args);
  CHECK((status == FOVEA_ERR_LENGTH || status == FOVEA_ERR_OVERLAP));
  CHECK(test.outputs_untouched());
}

TEST_CASE("maps: lists that entries and heads do not share are looked at, each", "[short]") {
  AttentionCase test(base());
  std::vector<uint32_t> offsets, blocks;
  for (uint32_t i = 0; i < 4; ++i) {  // entries and key heads, each with one list
    offsets.push_back(uint32_t(blocks.size()));
    blocks.push_back(i), blocks.push_back(4);
    offsets.push_back(uint32_t(blocks.size()));
  }
  OwnMap own(test, 100, 64, offsets, blocks);
  own.map.batch_stride = 4, own.map.head_stride = 2;
  CHECK(run_on_all_targets(test) == "");
  for (size_t i = 0; i < 4; ++i) {
    std::swap(own.blocks[2 * i], own.blocks[2 * i + 1]);
    CHECK(test.run_unchecked({}).find(fovea_status_string(FOVEA_ERR_MAP)) != std::string::npos);
    std::swap(own.blocks[2 * i], own.blocks[2 * i + 1]);
  }
}

// ---- What makes maps and masks

struct MapMaker {
  MapMaker() {
    args.struct_bytes = sizeof args;
    args.batch = 2, args.q_heads = 4, args.kv_heads = 2, args.q_tokens = 70, args.kv_tokens = 300;
    args.q_block = 16, args.kv_block = 64;
    offsets = Guarded(2 * 2 * 6 * sizeof(uint32_t), sizeof(uint32_t), Placement::kEnd);
    args.offsets = offsets.as<uint32_t>();
  }
  uint32_t count() const {
    uint32_t blocks_of_map = 0;
    REQUIRE(fovea_block_map_count(&args, &blocks_of_map) == FOVEA_OK);
    return blocks_of_map;
  }
  void room(uint32_t count) {
    blocks = Guarded(count * sizeof(uint32_t), sizeof(uint32_t), Placement::kEnd);
    args.blocks = blocks.as<uint32_t>();
    args.most_blocks = count;
  }

  fovea_block_map_args args{};
  Guarded offsets, blocks;
  fovea_block_map map{};
};

fovea_block_kind by_hash(void* self, const fovea_block* block) {
  const uint64_t bits = random_bits(*static_cast<const uint64_t*>(self),
                                    ((block->batch * 2u + block->kv_head) * 70u + block->first_query) * 300u +
                                        block->first_key + 1000000u * block->queries + 100000000u * block->keys);
  return fovea_block_kind(bits % 3);
}

}  // namespace

TEST_CASE("map makers: a mask and a function that agree make the same map, and a call is as with the mask", "[short]") {
  AttentionCase test(base());
  const Problem& p = test.problem;
  std::vector<uint8_t> mask(size_t{p.batch} * p.q_heads * p.q_tokens * p.kv_tokens);
  const ptrdiff_t row = 300, head = 70 * row, entry = 4 * head;
  for (const auto& [b, h, i, j] : indices(p.batch, p.q_heads, p.q_tokens, p.kv_tokens)) {
    // Nothing, some, all, or all by one head of a group and nothing by the other.
    const uint64_t kind = random_bits(5, ((b * 2 + h / 2) * 5 + i / 16) * 5 + j / 64) % 4;
    const bool seen =
        kind == 2 || (kind == 1 && random_bits(6, h * 70 * 300 + i * 300 + j) % 2 == 0) || (kind == 3 && h % 2 == 1);
    mask[size_t(b * entry + h * head + i * row) + j] = seen ? uint8_t(1 + j % 255) : 0;
  }
  MapMaker maker;
  maker.args.mask = {mask.data(), entry, head, row};
  const uint32_t count = maker.count();
  CHECK((count > 0 && count < 2 * 2 * 5 * 5));
  maker.room(count);
  REQUIRE(fovea_block_map_make(&maker.args, &maker.map) == FOVEA_OK);
  CHECK(maker.map.block_count == count);
  CHECK((maker.map.q_block == 16 && maker.map.kv_block == 64));
  for (const auto& [b, h, r] : indices(2, 2, 5)) {
    const uint32_t* const list = maker.map.offsets + b * maker.map.batch_stride + h * maker.map.head_stride + r;
    std::vector<uint32_t> want;
    for (uint32_t c = 0; c < 5; ++c) {
      const uint64_t kind = random_bits(5, ((b * 2 + h) * 5 + r) * 5 + c) % 4;
      if (kind != 0) want.push_back(c | (kind == 2 ? FOVEA_BLOCK_ALL : 0));
    }
    CHECK(want == std::vector<uint32_t>(maker.map.blocks + list[0], maker.map.blocks + list[1]));
  }
  test.args.mask = {FOVEA_MASK_BYTE, 0, mask.data(), entry, head, row, 0, nullptr, 0, nullptr};
  for (const fovea_target target : targets()) {
    const Run how = {target, Budget::kNone, true};
    test.args.block_map = nullptr;
    const Outputs by_mask = run(test, how);
    test.args.block_map = &maker.map;
    CHECK(same_bits(run(test, how), by_mask));
  }
}

TEST_CASE("map makers: a function is asked for each block, and what it says is listed", "[short]") {
  for (const uint32_t shared : {0u, 1u, 2u, 3u}) {
    MapMaker maker;
    if (shared & 1) maker.args.batch = 1;
    if (shared & 2) maker.args.kv_heads = 1;
    uint64_t seed = 9;
    maker.args.classify = by_hash, maker.args.self = &seed;
    maker.room(maker.count());
    REQUIRE(fovea_block_map_make(&maker.args, &maker.map) == FOVEA_OK);
    CHECK((maker.map.batch_stride == 0) == ((shared & 1) != 0));
    CHECK((maker.map.head_stride == 0) == ((shared & 2) != 0));
    uint32_t listed = 0;
    for (const auto& [b, h, r] : indices(maker.args.batch, maker.args.kv_heads, 5)) {
      const uint32_t* const list = maker.map.offsets + b * maker.map.batch_stride + h * maker.map.head_stride + r;
      CHECK(list[0] == listed);
      for (uint32_t c = 0; c < 5; ++c) {
        const fovea_block block = {b, h, r * 16, r == 4 ? 6u : 16u, c * 64, c == 4 ? 44u : 64u};
        const fovea_block_kind kind = by_hash(&seed, &block);
        if (kind == FOVEA_BLOCK_HIDDEN) continue;
        CHECK(maker.map.blocks[listed] == (c | (kind == FOVEA_BLOCK_FULL ? FOVEA_BLOCK_ALL : 0)));
        ++listed;
      }
      CHECK(list[1] == listed);
    }
    CHECK(listed == maker.map.block_count);
  }
}

TEST_CASE("map makers: what is wrong has its status, and nothing is written", "[short]") {
  using A = fovea_block_map_args;
  std::vector<Misuse<MapMaker>> table = {
      {"nothing", FOVEA_OK, [](MapMaker&) {}},
      {"mask and function", FOVEA_ERR_UNSUPPORTED, [](auto& m) { m.args.mask.data = &m; }},
      {"a mask that overflows", FOVEA_ERR_SIZE,
       [](auto& m) { m.args.classify = nullptr, m.args.mask = {&m, 0, PTRDIFF_MAX, 0}; }},
      {"a mask in the lists", FOVEA_ERR_OVERLAP,
       [](auto& m) { m.args.classify = nullptr, m.args.mask = {m.args.offsets, 0, 0, 0}; }},
      {"a kind that is none", FOVEA_ERR_ENUM,
       [](auto& m) {
         m.args.classify = [](void*, const fovea_block* block) {
           return enum_of<fovea_block_kind>(block->first_query == 64 ? 3 : 1);
         };
       }},
      {"more queries than there may be", FOVEA_ERR_SIZE,
       [](auto& m) { m.args.q_tokens = 0xffffffffu, m.args.q_block = 1, m.args.offsets = nullptr; }},
      {"a kind of -1", FOVEA_ERR_ENUM,
       [](auto& m) {
         m.args.classify = [](void*, const fovea_block*) { return enum_of<fovea_block_kind>(kNegative); };
       }},
      {"too little room", FOVEA_ERR_CAPACITY, [](auto& m) { m.args.most_blocks -= 1; }},
      {"offsets in the blocks", FOVEA_ERR_OVERLAP, [](auto& m) { m.args.blocks = m.args.offsets + 3; }},
  };
  add_struct_misuses(table);
  add_misaligned(table, &A::offsets, &A::blocks);
  add_misuses(table, FOVEA_ERR_DIM, {&A::q_heads, &A::kv_heads}, {0});
  add_misuses(table, FOVEA_ERR_HEADS, {&A::q_heads}, {3});
  add_misuses(table, FOVEA_ERR_MAP, {&A::q_block, &A::kv_block}, {0});
  add_misuses(table, FOVEA_ERR_MAP, {&A::kv_block}, {65});
  add_misuses(table, FOVEA_ERR_NULL, {&A::classify}, {nullptr});
  add_misuses(table, FOVEA_ERR_NULL, {&A::offsets, &A::blocks}, {nullptr});
  add_misuses(table, FOVEA_ERR_SIZE, {&A::kv_tokens}, {0xffffffffu});
  for (const auto& wrong : table) {
    MapMaker maker;
    uint64_t seed = 9;
    maker.args.classify = by_hash, maker.args.self = &seed;
    maker.room(maker.count());
    wrong.change(maker);
    maker.offsets.fill(), maker.blocks.fill();
    INFO(wrong.what);
    CHECK(fovea_block_map_make(&maker.args, &maker.map) == wrong.want);
    CHECK((maker.offsets.untouched() && maker.blocks.untouched()) == (wrong.want != FOVEA_OK));
    CHECK((maker.map.q_block == 0) == (wrong.want != FOVEA_OK));
  }
  fovea_block_map map{};
  fovea_block_map_args none{};
  CHECK(fovea_block_map_make(nullptr, &map) == FOVEA_ERR_NULL);
  CHECK(fovea_block_map_make(&none, nullptr) == FOVEA_ERR_NULL);
  uint32_t count = 7;
  CHECK((fovea_block_map_count(nullptr, &count) == FOVEA_ERR_NULL && fovea_block_map_count(&none, nullptr) == FOVEA_ERR_NULL));
  CHECK((fovea_block_map_count(&none, &count) == FOVEA_ERR_STRUCT && count == 7));
}

TEST_CASE("map makers: a function that changes its mind finds no room for more", "[short]") {
  MapMaker maker;
  uint32_t calls = 0;
  maker.args.self = &calls;
  maker.args.classify = [](void* self, const fovea_block*) {
    return (*static_cast<uint32_t*>(self))++ < 100 ? FOVEA_BLOCK_HIDDEN : FOVEA_BLOCK_FULL;
  };
  maker.room(0);
  CHECK(fovea_block_map_make(&maker.args, &maker.map) == FOVEA_OK);
  CHECK(maker.map.block_count == 0);
}

TEST_CASE("masks at the end: the same bits as a mask of all keys that shows the first", "[short]") {
  for (const auto& [kind, q_tokens, integers] :
       every({FOVEA_MASK_BYTE, FOVEA_MASK_F32, FOVEA_MASK_BF16}, {1u, 3u, 20u}, {false, true})) {
    Problem p = base();
    p.q_tokens = q_tokens;
    p.kv_lengths = {300, 201};
    p.mask = kind, p.mask_at_end = true;
    if (integers) p = p.with_integers();
    AttentionCase test(p);
    REQUIRE((test.args.mask.at_end == 1 && test.args.mask.kv_tokens == 100));
    CHECK(run_on_all_targets(test) == "");
    const size_t unit = mask_element_size(kind);
    std::vector<uint8_t> whole(size_t{2} * 4 * q_tokens * 300 * unit);
    size_t row = 0;
    for (const auto& [b, h, i] : indices(2, 4, q_tokens)) {
      uint8_t* const to = whole.data() + row++ * 300 * unit;
      std::memset(to, kind == FOVEA_MASK_BYTE ? 1 : 0, 300 * unit);
      const fovea_mask& m = test.args.mask;
      const ptrdiff_t at = b * m.batch_stride + h * m.head_stride + ptrdiff_t(i) * m.q_stride;
      std::memcpy(to + (p.kv_lengths[b] - 100) * unit, static_cast<const uint8_t*>(m.data) + at * ptrdiff_t(unit),
                  100 * unit);
    }
    for (const fovea_target target : p.targets()) {
      const Outputs at_end = run(test, {target});
      const fovea_mask before = test.args.mask;
      const ptrdiff_t head = 300 * ptrdiff_t(q_tokens);
      test.args.mask = {kind, 0, whole.data(), 4 * head, head, 300, 0, nullptr, 0, nullptr};
      const Outputs by_all = run(test, {target});
      test.args.mask = before;
      if (kind == FOVEA_MASK_BYTE) {
        CHECK(same_bits(at_end, by_all));
      } else {
        CHECK(test.compare() == "");
      }
    }
  }
}

TEST_CASE("masks at the end: before them keys are seen whatever their head's factor", "[short]") {
  for (const uint32_t q_tokens : {1u, 20u}) {
    Problem p = base();
    p.q_tokens = q_tokens, p.mask = FOVEA_MASK_F32, p.mask_at_end = true;
    AttentionCase test(p);
    const std::vector<float> infinite(4, kInfinity);
    std::fill_n(test.mask_f32(), test.mask_elements(), -0.001f);  // -inf with the factor
    test.args.mask.head_factors = infinite.data();
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("masks at the end: in a push they are at the end of its keys", "[short]") {
  for (const uint32_t q_tokens : {1u, 20u}) {
    Problem p = base();
    p.q_tokens = q_tokens, p.layout = Layout::kTokensFirst, p.mask = FOVEA_MASK_BYTE, p.mask_at_end = true;
    AttentionCase test(p);
    for (const fovea_target target : targets()) {
      REQUIRE(test.run({target, Budget::kNone, true}) == "");
      const std::vector<float> out = test.out();
      const TestStream stream(test.desc, target, true);
      for (const Piece piece : {Piece{0, 64}, Piece{64, 300}}) {
        PieceArgs part(test, piece);
        part.args.mask = piece.begin == 0 ? fovea_mask{} : test.args.mask;
        REQUIRE(stream.push(part.args) == FOVEA_OK);
      }
      test.fill_outputs();
      REQUIRE(stream.end(test.args) == FOVEA_OK);
      CHECK(same_bits(test.out(), out));
    }
  }
}

TEST_CASE("trees: a token sees itself and its ancestors", "[short]") {
  //      0   1       two children of the context
  //     / \   \.
  //    2   3   4
  //    |  / \.
  //    5 6   7
  constexpr int32_t kParents[] = {-1, -1, 0, 0, 1, 2, 3, 3};
  constexpr uint32_t kTokens = 8, kStride = 11;
  Guarded mask((kTokens - 1) * kStride + kTokens, 1, Placement::kEnd);
  mask.fill();
  REQUIRE(fovea_tree_mask(kParents, kTokens, mask.as<uint8_t>(), kStride) == FOVEA_OK);
  for (uint32_t i = 0; i < kTokens; ++i) {
    for (uint32_t j = 0; j < kTokens; ++j) {
      bool ancestor = false;
      for (auto at = int32_t(i); at >= 0; at = kParents[at]) ancestor |= at == int32_t(j);
      CHECK(mask.as<uint8_t>()[i * kStride + j] == (ancestor ? 1 : 0));
    }
    for (uint32_t j = kTokens; j < kStride && i + 1 < kTokens; ++j) CHECK(mask.untouched(i * kStride + j));
  }

  // Each draft has the answer of its branch behind the context.
  Problem p;
  p.q_heads = 2, p.kv_heads = 1, p.q_tokens = kTokens, p.kv_tokens = 100 + kTokens, p.head_dim = 16, p.value_dim = 8;
  AttentionCase test(p);
  test.args.mask = {FOVEA_MASK_BYTE, kTokens, mask.as<void>(), 0, 0, kStride, 0, nullptr, 1, nullptr};
  CHECK(run_on_all_targets(test) == "");
}

TEST_CASE("trees: a parent that is no earlier token is refused, and nothing is written", "[short]") {
  Guarded mask(16, 1, Placement::kEnd);
  int32_t parents[4] = {-1, 0, 1, 2};
  const auto make = [&](uint32_t tokens, size_t stride) {
    return fovea_tree_mask(parents, tokens, mask.as<uint8_t>(), stride);
  };
  for (const int wrong : {3, 4, 1000, -2, -2147483647 - 1, 2147483647}) {
    parents[3] = wrong;
    mask.fill();
    CHECK(make(4, 4) == FOVEA_ERR_MASK);
    CHECK(mask.untouched());
  }
  parents[3] = 0;
  CHECK(make(4, 3) == FOVEA_ERR_STRIDE);
  CHECK(make(4, SIZE_MAX) == FOVEA_ERR_SIZE);
  CHECK(make(4, size_t{PTRDIFF_MAX}) == FOVEA_ERR_SIZE);
  CHECK(fovea_tree_mask(nullptr, 4, mask.as<uint8_t>(), 4) == FOVEA_ERR_NULL);
  CHECK(fovea_tree_mask(parents, 4, nullptr, 4) == FOVEA_ERR_NULL);
  CHECK(fovea_tree_mask(parents, 4, reinterpret_cast<uint8_t*>(parents), 4) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_tree_mask(nullptr, 0, nullptr, 0) == FOVEA_OK);
  CHECK(mask.untouched());
  CHECK(make(4, 4) == FOVEA_OK);
}

}  // namespace fovea_test
