// SPDX-License-Identifier: Apache-2.0
//
// Rings answer as plain keys do, or say that tokens are gone which queries are to see.
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr uint32_t kWindow = 20, kPinned = 4, kTokens = 300, kDim = 12, kMostNew = 5;

// A decoder's cache, and the layer that attends to it.
struct Decoder {
  fovea_kv_cache cache{};
  fovea_attention_plan plan{};
  Guarded memory, workspace;
  fovea_status planned;
  std::vector<float> out;

  // Of a ring, slots behind the pinned tokens.
  Decoder(fovea_kv_kind kind, uint32_t slots, uint32_t max_q_tokens, fovea_target target, uint32_t allow_evicted = 0,
          uint32_t window = kWindow, uint32_t key_split_tokens = 0) {
    cache.struct_bytes = sizeof cache, cache.kind = kind;
    cache.batch = 1, cache.kv_heads = 1, cache.head_dim = cache.value_dim = kDim;
    cache.max_tokens = kind == FOVEA_KV_RING ? kPinned + slots : kTokens;
    cache.pinned_tokens = kPinned;
    memory = Guarded((bytes_of(fovea_kv_cache_bytes, &cache) + 63) / 64 * 64, 64, Placement::kStart);
    REQUIRE(fovea_kv_cache_init(&cache, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    auto d = sized<fovea_attention_desc>();
    REQUIRE(fovea_kv_describe(&cache, &d) == FOVEA_OK);
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
    REQUIRE(fovea_kv_append(&cache, &a) == FOVEA_OK);
  }

  // The last tokens attend, each with a query that depends on its position.
  fovea_status attend(uint32_t tokens) {
    std::vector<float> q(tokens * 2 * kDim);
    for (size_t i = 0; i < q.size(); ++i) q[i] = random_normal(3, (length() - tokens) * 2 * kDim + i);
    auto a = sized<fovea_attention_args>();
    REQUIRE(fovea_kv_attach(&cache, &a) == FOVEA_OK);
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
  for (const fovea_target target : targets()) {
    for (const uint32_t most : {uint32_t{1}, uint32_t{2}, kMostNew}) {
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
        REQUIRE(fovea_kv_truncate(&ring.cache, 0, ring.length() - rejected) == FOVEA_OK);
        REQUIRE(fovea_kv_truncate(&plain.cache, 0, plain.length() - rejected) == FOVEA_OK);
      }
      Decoder small(FOVEA_KV_RING, kWindow + most - 2, most, target);
      CHECK(small.planned == FOVEA_ERR_RING);
    }
  }
}

TEST_CASE("ring: a draft that was put in token by token and taken back leaves all that is seen, or is refused",
          "[short]") {
  for (const auto& [target, spare] : every(targets(), {0u, 1u, 3u})) {
    for (uint32_t drafted = 0; drafted < 7; ++drafted) {
      Decoder ring(FOVEA_KV_RING, kWindow + spare, 1, target), plain(FOVEA_KV_STRIDED, 0, 1, target);
      for (Decoder* one : {&ring, &plain}) {
        one->append(100);
        for (uint32_t i = 0; i < drafted; ++i) one->append(1);
        REQUIRE(fovea_kv_truncate(&one->cache, 0, 100) == FOVEA_OK);
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
