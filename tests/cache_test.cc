// SPDX-License-Identifier: Apache-2.0
//
// Caches of keys and values: what is put in is there, in order and to within the format's error, whatever comes
// between; what does not fit changes nothing.
#include "support/cache_steps.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct Kind {
  fovea_kv_kind kind;
  uint32_t max_tokens, pinned_tokens, page_tokens, pages;
};
constexpr Kind kKinds[] = {{FOVEA_KV_STRIDED, 150, 0, 0, 0},
                           {FOVEA_KV_RING, 48, 0, 0, 0},
                           {FOVEA_KV_RING, 75, 5, 0, 0},
                           {FOVEA_KV_PAGED, 150, 0, 16, 40}};

fovea_kv_cache_desc cache_of(const Kind& kind, fovea_dtype key_dtype, fovea_dtype value_dtype) {
  auto c = sized<fovea_kv_cache_desc>();
  c.kind = kind.kind, c.key_dtype = key_dtype, c.value_dtype = value_dtype;
  c.batch = 3, c.kv_heads = 2, c.head_dim = 36, c.value_dim = 20;
  c.max_tokens = kind.max_tokens, c.pinned_tokens = kind.pinned_tokens;
  c.page_tokens = kind.page_tokens, c.pages = kind.pages;
  return c;
}

// Numbers that are drawn one after the other.
struct Random {
  uint64_t seed, next = 0;

  uint32_t below(uint32_t bound) { return uint32_t(random_bits(seed, next++) % bound); }
  bool flag() { return below(2) != 0; }
  template <class T, size_t N>
  T choose(const T (&choices)[N]) {
    return choices[below(N)];
  }
};

// Another cache has the same rows, but is of another kind.
void run_steps(const Kind& kind, const Kind& other_kind, fovea_dtype keys, fovea_dtype values, bool values_in_keys,
               int steps) {
  fovea_kv_cache_desc empty = cache_of(kind, keys, values), beside = cache_of(other_kind, keys, values);
  empty.values_in_keys = beside.values_in_keys = values_in_keys;
  const uint64_t seed = 17 + keys;
  CacheModel model(empty, seed), other(beside, seed + 1);
  Random random = {seed + 5};
  for (int i = 0; i < steps; ++i) {
    INFO("step " << i << ", kinds " << kind.kind << " and " << other_kind.kind << ", " << type_name(keys) << "/"
                 << type_name(values) << (values_in_keys ? ", values in keys" : ""));
    REQUIRE(step(random, model, other) == "");
  }
}

// Values of the same format, or of another one.
void run_all_steps(int steps) {
  for (const auto& [i, type, in_keys] : every({0u, 1u, 2u, 3u}, kKeyTypes, {false, true})) {
    const fovea_dtype values = in_keys ? type : kKeyTypes[(type + 2) % std::size(kKeyTypes)];
    run_steps(kKinds[i], kKinds[(i + type) % 4], type, values, in_keys, steps);
  }
}

TEST_CASE("cache: whatever is put in, copied, taken back, left out and put in again is there", "[short]") {
  run_all_steps(25);
}

TEST_CASE("cache: the same for many steps") { run_all_steps(150); }

TEST_CASE("cache: a full one says so, and loses nothing", "[short]") {
  for (const Kind& kind : kKinds) {
    if (kind.kind == FOVEA_KV_RING) continue;
    CacheModel model(cache_of(kind, FOVEA_I8, FOVEA_F32), 3);
    model.give_pages(0, 100), model.give_pages(1, 20);
    REQUIRE(model.append(FOVEA_TARGET_BEST, 0, {100, 20}) == FOVEA_OK);
    const std::vector<uint8_t> before = model.cache.bytes();
    const auto same = [&]() { return model.cache.bytes() == before; };
    CHECK(model.append(FOVEA_TARGET_BEST, 0, {51}) == FOVEA_ERR_FULL);
    CHECK(same());
    CHECK(model.append(FOVEA_TARGET_BEST, 0, {1, 131}) == FOVEA_ERR_FULL);  // the second entry has no room
    CHECK(same());
    if (kind.kind == FOVEA_KV_PAGED) {
      CHECK(model.append(FOVEA_TARGET_BEST, 1, {13}) == FOVEA_ERR_FULL);  // there are pages for 32
      CHECK(same());
      model.cache.page_table[1 * model.cache.source.page_table_stride + 2] = 40;
      CHECK(model.append(FOVEA_TARGET_BEST, 1, {13}) == FOVEA_ERR_PAGE);
      model.cache.page_table[1 * model.cache.source.page_table_stride + 2] = FOVEA_NO_PAGE;
      CHECK(same());
    }
    CHECK(model.check(FOVEA_TARGET_BEST) == "");
  }
}

TEST_CASE("cache: bits do not depend on the target, nor on how tokens are put in", "[short]") {
  for (const auto& [kind, type] : every(kKinds, kKeyTypes)) {
    std::vector<float> want;
    for (const fovea_target target : targets()) {
      if (flushes_subnormals(target)) {
        skip(std::string("subnormal numbers are 0 on ") + fovea_target_name(target));
        continue;
      }
      CacheModel model(cache_of(kind, type, type), 9);
      model.give_pages(0, 90);
      REQUIRE(model.append(target, 0, {90}) == FOVEA_OK);
      std::vector<float> got;
      for (uint32_t t = model.oldest(0); t < 90; ++t) {
        const std::vector<float> key = model.row(true, 0, 1, t), value = model.row(false, 0, 1, t);
        got.insert(got.end(), key.begin(), key.end());
        got.insert(got.end(), value.begin(), value.end());
      }
      if (want.empty()) want = got;
      CHECK(got == want);
    }
  }
}

TEST_CASE("cache: keys may be turned on their way in", "[short]") {
  const Kind& kind = kKinds[2];
  const uint32_t tokens = 100, heads = 2, dim = 36;
  std::vector<uint64_t> turns(9);
  REQUIRE(fovea_rope_frequencies(turns.data(), 0, 0, 18) == FOVEA_OK);
  const std::vector<float> keys = normal_numbers(heads * tokens * dim, 4), values(heads * tokens * 20, 1.0f);
  std::vector<float> turned(keys.size());
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = 18;
  rope.turns = turns.data();
  rope.position_offset = 1000;
  for (const fovea_target target : targets()) {
    fovea_rope_args whole = rope;
    whole.target = target, whole.batch = 1, whole.heads = heads, whole.tokens = tokens, whole.dim = dim;
    whole.x = {keys.data(), 0, tokens * dim, dim};
    whole.y = {turned.data(), 0, tokens * dim, dim};
    REQUIRE(fovea_rope(&whole) == FOVEA_OK);
    OwnedCache c(cache_of(kind, FOVEA_F32, FOVEA_F32));
    auto a = sized<fovea_kv_append_args>();
    a.target = target, a.entry = 1, a.batch = 1, a.rope = &rope;
    for (const uint32_t at_once : {1u, 3u}) {  // tokens that the workspace has room for
      REQUIRE(fovea_kv_reset(c, 1) == FOVEA_OK);
      Guarded workspace(at_once * heads * dim * sizeof(float), sizeof(float), Placement::kEnd);
      a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
      for (uint32_t done = 0; done < tokens; done += 25) {
        a.tokens = 25;
        a.keys = {keys.data() + done * dim, 0, tokens * dim, dim};
        a.values = {values.data(), 0, tokens * 20, 20};
        REQUIRE(fovea_kv_append(c, &a) == FOVEA_OK);
      }
      CHECK(workspace.margin_intact());
      for (uint32_t t = c.first_tokens[1]; t < tokens; ++t) {
        const float* got = row(c.source.keys, 1, 1, ring_slot(t, c.max_tokens, c.pinned_tokens));
        REQUIRE(std::memcmp(got, turned.data() + (tokens + t) * dim, dim * sizeof(float)) == 0);
      }
    }
    // What is wrong with the turning is found before anything is written.
    const uint32_t length = c.lengths[1];
    a.workspace_bytes = heads * dim * sizeof(float) - 1;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_WORKSPACE);
    a.workspace_bytes += 1;
    a.workspace = nullptr;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_NULL);
    a.workspace = c.memory;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_OVERLAP);
    Guarded workspace(200 * heads * dim * sizeof(float), sizeof(float), Placement::kEnd);
    a.workspace = workspace.as<void>();
    // All of the workspace may be written, not only what one token needs; and the cache.
    a.workspace_bytes = workspace.bytes();
    for (char* const written : {workspace.as<char>() + workspace.bytes() - 25 * heads * dim * sizeof(float),
                                static_cast<char*>(c.memory) + 64}) {
      const auto overlaps = [&](void (*change)(fovea_kv_append_args&, fovea_rope_args&, void*)) {
        fovea_kv_append_args own = a;
        fovea_rope_args own_rope = rope;
        own.rope = &own_rope;
        change(own, own_rope, written);
        return fovea_kv_append(c, &own) == FOVEA_ERR_OVERLAP;
      };
      using A = fovea_kv_append_args;
      using R = fovea_rope_args;
      CHECK(overlaps([](A& own, R&, void* at) { own.keys.data = at; }));
      CHECK(overlaps([](A& own, R&, void* at) { own.values.data = at; }));
      CHECK(overlaps([](A& own, R&, void* at) { own.counts = static_cast<uint32_t*>(at); }));
      CHECK(overlaps([](A&, R& own, void* at) { own.turns = static_cast<uint64_t*>(at); }));
      CHECK(overlaps([](A&, R& own, void* at) {
        static const float table[9] = {};
        own.turns = nullptr, own.cos = table, own.sin = static_cast<float*>(at), own.table_positions = 1;
      }));
    }
    a.workspace_bytes = SIZE_MAX;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_SIZE);
    a.workspace_bytes = workspace.bytes();
    CHECK(workspace.untouched());
    fovea_rope_args wrong = rope;
    a.rope = &wrong;
    wrong.rotary_dim = 17;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_DIM);
    wrong = rope, wrong.struct_bytes = 0;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_STRUCT);
    wrong = rope, wrong.position_offset = INT64_MAX;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_SIZE);
    wrong = rope, wrong.turns = nullptr;
    CHECK(fovea_kv_append(c, &a) == FOVEA_ERR_NULL);
    CHECK(c.lengths[1] == length);
  }
}

TEST_CASE("cache: what is wrong has its status", "[short]") {
  using C = fovea_kv_cache_desc;
  const auto init = [](void (*change)(C&)) {
    C d = cache_of(kKinds[0], FOVEA_F32, FOVEA_F32);
    Guarded memory((bytes_of(fovea_kv_cache_bytes, &d) + 63) / 64 * 64, 64, Placement::kEnd);
    change(d);
    fovea_kv_cache cache{}, before{};
    const fovea_status status = fovea_kv_cache_init(&cache, &d, memory.as<void>(), memory.bytes());
    CHECK((status == FOVEA_OK || (memory.untouched() && std::memcmp(&cache, &before, sizeof cache) == 0)));
    CHECK((fovea_kv_cache_arrays(&cache) != nullptr) == (status == FOVEA_OK));
    return status;
  };
  CHECK(init([](C&) {}) == FOVEA_OK);
  CHECK(init([](auto& c) { c.struct_bytes = 0; }) == FOVEA_ERR_STRUCT);
  CHECK(init([](auto& c) { c.kind = enum_of<fovea_kv_kind>(4); }) == FOVEA_ERR_ENUM);
  CHECK(init([](auto& c) { c.key_dtype = kNoType; }) == FOVEA_ERR_ENUM);
  CHECK(init([](auto& c) { c.value_dtype = enum_of<fovea_dtype>(kNegative); }) == FOVEA_ERR_ENUM);
  CHECK(init([](auto& c) { c.kind = FOVEA_KV_LOAD; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(init([](auto& c) { c.kv_heads = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](auto& c) { c.head_dim = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](auto& c) { c.value_dim = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](auto& c) { c.max_tokens = (1u << 30) + 1; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.pinned_tokens = c.max_tokens; }) == FOVEA_OK);
  CHECK(init([](auto& c) { c.kind = FOVEA_KV_RING, c.pinned_tokens = c.max_tokens; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.page_tokens = 16; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.pages = 16; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.kind = FOVEA_KV_PAGED; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.batch = 0xffffffffu, c.kv_heads = 0xffffffffu; }) == FOVEA_ERR_SIZE);
  CHECK(init([](auto& c) { c.batch = 4; }) == FOVEA_ERR_WORKSPACE);
  Cache huge_pages = cache_of(kKinds[0], FOVEA_F32, FOVEA_F32);
  huge_pages.kind = FOVEA_KV_PAGED, huge_pages.page_tokens = 0xfffffff0u;
  CHECK(bytes_of(fovea_kv_cache_bytes, &huge_pages) > 0);
  huge_pages.pages = 0;
  Guarded no_pages(4096, 64, Placement::kEnd);
  REQUIRE(huge_pages.init(no_pages.as<void>(), no_pages.bytes()) == FOVEA_OK);
  CHECK(huge_pages.source.page_table_stride == 1);
  CHECK(init([](auto& c) { c.batch = 0; }) == FOVEA_OK);

  Cache c = cache_of(kKinds[0], FOVEA_F32, FOVEA_I8);
  Guarded memory((bytes_of(fovea_kv_cache_bytes, &c) + 63) / 64 * 64 + 64, 64, Placement::kEnd);
  CHECK(fovea_kv_cache_init(nullptr, &c, memory.as<void>(), memory.bytes()) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_cache_init(c, nullptr, memory.as<void>(), memory.bytes()) == FOVEA_ERR_NULL);
  CHECK((fovea_kv_cache_arrays(nullptr) == nullptr && fovea_kv_cache_arrays(c) == nullptr));
  CHECK(c.init(nullptr, memory.bytes()) == FOVEA_ERR_NULL);
  CHECK(c.init(memory.as<char>() + 4, memory.bytes() - 4) == FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_kv_reset(c, 0) == FOVEA_ERR_PLAN);  // not made
  REQUIRE(c.init(memory.as<void>(), memory.bytes()) == FOVEA_OK);

  std::vector<float> rows(3 * 2 * 4 * 36);
  auto good = sized<fovea_kv_append_args>();
  good.batch = 3, good.tokens = 4;
  good.keys = {rows.data(), 2 * 4 * 36, 4 * 36, 36};
  good.values = {rows.data(), 2 * 4 * 20, 4 * 20, 20};
  const auto append = [&](void (*change)(fovea_kv_append_args&)) {
    fovea_kv_append_args a = good;
    change(a);
    const std::vector<uint8_t> before(memory.as<uint8_t>(), memory.as<uint8_t>() + memory.bytes());
    const fovea_status status = fovea_kv_append(c, &a);
    CHECK((status == FOVEA_OK || std::memcmp(before.data(), memory.as<void>(), before.size()) == 0));
    return status;
  };
  using A = fovea_kv_append_args;
  static const uint32_t kTooMany[3] = {0, 4, 5}, kSome[3] = {0, 4, 1};
  CHECK(append([](A&) {}) == FOVEA_OK);
  CHECK(append([](auto& a) { a.counts = kSome; }) == FOVEA_OK);
  CHECK(c.lengths[0] == 4);
  CHECK(c.lengths[1] == 8);
  CHECK(c.lengths[2] == 5);
  CHECK(append([](auto& a) { a.struct_bytes = 1; }) == FOVEA_ERR_STRUCT);
  CHECK(append([](auto& a) { a.target = enum_of<fovea_target>(40); }) == FOVEA_ERR_ENUM);
  CHECK(append([](auto& a) { a.entry = 1; }) == FOVEA_ERR_CAPACITY);
  CHECK(append([](auto& a) { a.entry = 0xffffffffu; }) == FOVEA_ERR_CAPACITY);
  CHECK(append([](auto& a) { a.counts = kTooMany; }) == FOVEA_ERR_LENGTH);
  CHECK(append([](auto& a) { a.keys.data = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(append([](auto& a) { a.values.data = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(append([](auto& a) { a.keys.data = static_cast<const char*>(a.keys.data) + 1; }) == FOVEA_ERR_ALIGNMENT);
  CHECK(append([](auto& a) { a.values.batch_stride = PTRDIFF_MAX; }) == FOVEA_ERR_SIZE);
  CHECK(append([](auto& a) { a.keys.token_stride = 0; }) == FOVEA_ERR_STRIDE);
  CHECK(append([](auto& a) { a.values.token_stride = 0; }) == FOVEA_ERR_STRIDE);
  CHECK(append([](auto& a) { a.tokens = 0; }) == FOVEA_OK);
  fovea_kv_append_args own = good;
  own.keys.data = c.memory;
  CHECK(fovea_kv_append(c, &own) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_kv_append(nullptr, &good) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_append(c, nullptr) == FOVEA_ERR_NULL);

  // The workspace of an append: of the widest row of each head, where rows are converted.
  const auto workspace_of = fovea_kv_append_workspace_bytes;
  size_t needed = 7;
  CHECK((workspace_of(c, &good, &needed) == FOVEA_OK && needed == 0));
  own = good, own.dtype = FOVEA_F16, own.tokens = 0, own.workspace = rows.data();
  CHECK(bytes_of(workspace_of, c, &own) == 2 * 36 * sizeof(float));
  own.workspace_bytes = 2 * 36 * sizeof(float) - 1;
  CHECK(fovea_kv_append(c, &own) == FOVEA_ERR_WORKSPACE);
  ++own.workspace_bytes;
  CHECK(fovea_kv_append(c, &own) == FOVEA_OK);
  CHECK((refusal_of(workspace_of, nullptr, &own) == FOVEA_ERR_NULL && workspace_of(c, &own, nullptr) == FOVEA_ERR_NULL));

  CHECK(fovea_kv_truncate(c, 3, 0) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_kv_truncate(c, 2, 6) == FOVEA_ERR_LENGTH);
  CHECK(fovea_kv_reset(c, 3) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_kv_reset(c, 1) == FOVEA_OK);
  CHECK(c.lengths[1] == 0);
  CHECK(c.lengths[0] == 4);
  CHECK(fovea_kv_reset(c, FOVEA_ALL_ENTRIES) == FOVEA_OK);
  CHECK(c.lengths[0] + c.lengths[1] + c.lengths[2] == 0);
  CHECK(fovea_kv_describe(c, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_attach(c, nullptr) == FOVEA_ERR_NULL);
  for (const uint32_t wrong : {uint32_t{0}, uint32_t{1}, uint32_t{65536}}) {
    fovea_attention_desc d{}, d_before{};
    d.struct_bytes = d_before.struct_bytes = wrong;
    CHECK(fovea_kv_describe(c, &d) == FOVEA_ERR_STRUCT);
    CHECK(std::memcmp(&d, &d_before, sizeof d) == 0);
    fovea_attention_args a{}, a_before{};
    a.struct_bytes = a_before.struct_bytes = wrong;
    CHECK(fovea_kv_attach(c, &a) == FOVEA_ERR_STRUCT);
    CHECK(std::memcmp(&a, &a_before, sizeof a) == 0);
  }
  CHECK(refusal_of(fovea_kv_cache_bytes, nullptr) == FOVEA_ERR_NULL);
  C empty = cache_of(kKinds[0], FOVEA_F32, FOVEA_F32);
  empty.batch = 0;
  CHECK(bytes_of(fovea_kv_cache_bytes, &empty) == 0);
}

TEST_CASE("cache: the macros have room for any strided cache, ring or pages, and hardly more", "[short]") {
  for (const auto& [keys, values, kind, dim] : every(kKeyTypes, kKeyTypes, kKinds, {1u, 31u, 32u, 33u, 128u})) {
    Cache c = cache_of(kind, keys, values);
    c.head_dim = dim, c.value_dim = 161 - dim;
    const size_t most = kind.pages == 0 ? FOVEA_KV_CACHE_BYTES(keys, values, 3, 2, c.max_tokens, dim, c.value_dim)
                                        : FOVEA_KV_PAGED_CACHE_BYTES(keys, values, 3, 2, c.max_tokens, dim, c.value_dim,
                                                                     c.page_tokens, c.pages);
    CHECK(bytes_of(fovea_kv_cache_bytes, &c) <= most);
    CHECK(bytes_of(fovea_kv_cache_bytes, &c) + 512 > most);
  }
}

constexpr uint32_t kWindow = 20, kPinned = 4, kTokens = 300, kDim = 12, kMostNew = 5;

// A decoder's cache, and the layer that attends to it.
struct Decoder {
  OwnedCache cache;
  fovea_attention_plan plan{};
  Guarded workspace;
  fovea_status planned;
  std::vector<float> out;

  // Of a ring, slots behind the pinned tokens.
  Decoder(fovea_kv_kind kind, uint32_t slots, uint32_t max_q_tokens, fovea_target target, uint32_t allow_evicted = 0,
          uint32_t window = kWindow, uint32_t key_split_tokens = 0)
      : cache({0, kind, FOVEA_F32, FOVEA_F32, 1, 1, kDim, kDim, kind == FOVEA_KV_RING ? kPinned + slots : kTokens, kPinned, 0, 0, 0,
               FOVEA_HADAMARD_NONE, nullptr, 0}) {
    auto d = sized<fovea_attention_desc>();
    REQUIRE(fovea_kv_describe(cache, &d) == FOVEA_OK);
    d.q_heads = 2, d.max_q_tokens = max_q_tokens, d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, d.window_left = window;
    d.allow_evicted = allow_evicted, d.target = target, d.key_split_tokens = key_split_tokens;
    planned = fovea_attention_plan_init(&plan, &d);
    if (planned == FOVEA_OK) workspace = Guarded(made(plan).workspace_bytes, 64, Placement::kStart);
    out.resize(kMostNew * 2 * kDim);
  }

  uint32_t length() const { return cache.lengths[0]; }

  void append(uint32_t tokens) {
    std::vector<float> keys(tokens * kDim), values(tokens * kDim);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = random_normal(1, length() * kDim + i), values[i] = random_normal(2, length() * kDim + i);
    }
    auto a = sized<fovea_kv_append_args>();
    a.batch = 1, a.tokens = tokens;
    a.keys = {keys.data(), 0, 0, kDim}, a.values = {values.data(), 0, 0, kDim};
    REQUIRE(fovea_kv_append(cache, &a) == FOVEA_OK);
  }

  // The last tokens attend, each with a query that depends on its position.
  fovea_status attend(uint32_t tokens) {
    std::vector<float> q(tokens * 2 * kDim);
    for (size_t i = 0; i < q.size(); ++i) q[i] = random_normal(3, (length() - tokens) * 2 * kDim + i);
    auto a = sized<fovea_attention_args>();
    REQUIRE(fovea_kv_attach(cache, &a) == FOVEA_OK);
    a.q_tokens = tokens;
    a.q = {q.data(), 0, kDim, 2 * kDim};
    a.out = {out.data(), 0, kDim, 2 * kDim};
    std::fill(out.begin(), out.end(), -7.0f);
    return fovea_attention(&plan, &a, workspace.as<void>(), workspace.bytes());
  }

  bool same_bits(const Decoder& other) const { return fovea_test::same_bits(out, other.out); }
  bool untouched() const { return out == std::vector<float>(out.size(), -7.0f); }
};

}  // namespace

TEST_CASE("ring: window and chunk are room enough for any chunks and any drafts of them", "[short]") {
  for (const auto& [target, most] : every(targets(), {uint32_t{1}, uint32_t{2}, kMostNew})) {
    const uint32_t split = most == 1 ? 0 : 64;
    Decoder ring(FOVEA_KV_RING, kWindow + most - 1, most, target, 0, kWindow, split);
    Decoder plain(FOVEA_KV_STRIDED, 0, most, target, 0, kWindow, split);
    REQUIRE(ring.planned == FOVEA_OK);
    // Of the parts of 64 only those with pinned tokens, and those with others, of which no more than two are there.
    CHECK(made(ring.plan).split_bytes ==
          (split ? size_t{3} * most * 2 * (kDim + 2) * sizeof(float) + 63 : 0) / 64 * 64);
    for (uint64_t step = 0; plain.length() + most <= kTokens; ++step) {
      const auto tokens = uint32_t(1 + random_bits(5, step) % most);
      ring.append(tokens), plain.append(tokens);
      REQUIRE(ring.attend(tokens) == FOVEA_OK);
      REQUIRE(plain.attend(tokens) == FOVEA_OK);
      CHECK(ring.same_bits(plain));
      // Some, or all but one, are rejected. Of one token none is, or there would be no end.
      const auto rejected = uint32_t(random_bits(6, step) % tokens);
      REQUIRE(fovea_kv_truncate(ring.cache, 0, ring.length() - rejected) == FOVEA_OK);
      REQUIRE(fovea_kv_truncate(plain.cache, 0, plain.length() - rejected) == FOVEA_OK);
    }
    Decoder small(FOVEA_KV_RING, kWindow + most - 2, most, target);
    CHECK(small.planned == FOVEA_ERR_RING);
  }
}

TEST_CASE("ring: a draft put in token by token and taken back leaves all that is seen, or is refused", "[short]") {
  for (const auto& [target, spare, drafted] : every(targets(), {0u, 1u, 3u}, {0u, 1u, 2u, 3u, 4u, 5u, 6u})) {
    Decoder ring(FOVEA_KV_RING, kWindow + spare, 1, target), plain(FOVEA_KV_STRIDED, 0, 1, target);
    for (Decoder* one : {&ring, &plain}) {
      one->append(100);
      for (uint32_t i = 0; i < drafted; ++i) one->append(1);
      REQUIRE(fovea_kv_truncate(one->cache, 0, 100) == FOVEA_OK);
    }
    // window_left + n - 1 slots are enough for n taken back. Else there are too few until that many came again.
    for (uint32_t i = 1; i <= 8; ++i) {
      ring.append(1), plain.append(1);
      REQUIRE(plain.attend(1) == FOVEA_OK);
      const bool refused = i + spare < drafted;
      REQUIRE(ring.attend(1) == (refused ? FOVEA_ERR_RING : FOVEA_OK));
      CHECK((refused ? ring.untouched() : ring.same_bits(plain)));
    }
  }
}

TEST_CASE("ring: with allow_evicted queries see what is there", "[short]") {
  for (const fovea_target target : targets()) {
    Decoder strict(FOVEA_KV_RING, kWindow, 1, target, 0, 0), ring(FOVEA_KV_RING, kWindow, 1, target, 1, 0),
        window(FOVEA_KV_STRIDED, 0, 1, target), all(FOVEA_KV_STRIDED, 0, 1, target, 0, 0);
    CHECK(strict.planned == FOVEA_ERR_RING);
    for (uint32_t t = 0; t < 90; ++t) {
      Decoder& plain = t < kPinned + kWindow ? all : window;
      for (Decoder* one : {&ring, &window, &all}) one->append(1);
      REQUIRE(ring.attend(1) == FOVEA_OK);
      REQUIRE(plain.attend(1) == FOVEA_OK);
      CHECK(ring.same_bits(plain));
    }
  }
}

TEST_CASE("ring: a call is refused for tokens that are gone by any count", "[short]") {
  // Slots for 60 + 19 - 1 tokens behind the pinned ones: those from 122 on are there, which the first query sees.
  Problem p;
  p.batch = 2, p.q_heads = 2, p.q_tokens = 19, p.kv_tokens = 200;
  p.kv_kind = FOVEA_KV_RING, p.ring_tokens = 82, p.pinned_tokens = 4, p.window_left = 60;
  p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
  REQUIRE(p.ring_suffices());
  const auto refused = [](const Problem& problem) {
    bool all = true, none = true;
    for (const fovea_target target : targets()) {
      AttentionCase test(problem);
      CHECK(test.run({target}) == "");
      (test.outputs_untouched() ? none : all) = false;
    }
    CHECK(all != none);
    return all;
  };
  CHECK(!refused(p));
  p.first_tokens = {122, 122};
  CHECK(!refused(p));
  p.first_tokens = {122, 123};
  CHECK(refused(p));
  p.kv_lengths = {200, 201 - 19};
  p.first_tokens = {122, 104};
  CHECK(!refused(p));
  p.first_tokens = {};
  p.kv_lengths = {82, 60};
  CHECK(!refused(p));
  p.kv_lengths = {};
  // At positions of the caller's choice.
  p.causal = FOVEA_CAUSAL_POSITIONS;
  for (const int64_t position : {-30, -15, -14, 0, 180, 181, 182, 400}) {
    p.positions = {181, position};
    const bool sees_first = position + 18 >= 4;
    CHECK(refused(p) == (sees_first && position < 181));
  }
  // Not by the numbers in a mask, but by how many it covers.
  p.positions = {181, 20};
  p.mask = FOVEA_MASK_BYTE;
  CHECK(refused(p));
  p.mask_missing = 200 - 4;
  CHECK(!refused(p));
  p.mask_missing = 200 - 5;
  CHECK(refused(p));
}

}  // namespace fovea_test
