// SPDX-License-Identifier: Apache-2.0
//
// Caches of keys and values: entries that are copied, shared and restored, and the ways in which tokens may come.
#include <cstdlib>

#include "support/cache_model.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr uint32_t kHeads = 2, kHeadDim = 36, kValueDim = 20;

fovea_kv_cache_desc cache_of(fovea_kv_kind kind, fovea_dtype type) {
  auto c = sized<fovea_kv_cache_desc>();
  c.kind = kind, c.key_dtype = c.value_dtype = type;
  c.batch = 3, c.kv_heads = kHeads, c.head_dim = kHeadDim, c.value_dim = kValueDim, c.max_tokens = 64;
  if (kind == FOVEA_KV_RING) c.pinned_tokens = 5;
  if (kind == FOVEA_KV_PAGED) c.page_tokens = 16, c.pages = 9;
  return c;
}

// A cache with pages from the last to the first, and what its memory held before a call that must change none of it.
struct Made : OwnedCache {
  explicit Made(const fovea_kv_cache_desc& desc) : OwnedCache(desc) {
    for (ptrdiff_t i = 0; page_table != nullptr && i < 3 * source.page_table_stride; ++i) {
      if (i < 9) page_table[i] = uint32_t(8 - i);
    }
  }
  template <class Call>
  fovea_status unchanged(const Call& call) {
    const std::vector<uint8_t> before = bytes();
    const fovea_status status = call();
    CHECK(status != FOVEA_OK);
    CHECK(bytes() == before);
    return status;
  }
};

// f32 tokens for all entries, and an append of them.
struct Tokens {
  std::vector<float> keys, values;
  fovea_kv_append_args args{};

  Tokens(uint32_t batch, uint32_t tokens, uint64_t seed = 1)
      : keys(normal_numbers(size_t{batch} * kHeads * tokens * kHeadDim, seed)),
        values(normal_numbers(size_t{batch} * kHeads * tokens * kValueDim, seed + 1)) {
    args.struct_bytes = sizeof args, args.batch = batch, args.tokens = tokens;
    const auto in = [&](const std::vector<float>& x, ptrdiff_t dim) {
      const ptrdiff_t head = ptrdiff_t(tokens) * dim;
      return fovea_in{x.data(), ptrdiff_t(kHeads) * head, head, dim};
    };
    args.keys = in(keys, kHeadDim), args.values = in(values, kValueDim);
  }
};

}  // namespace

TEST_CASE("cache: pages that two entries share are not copied, and none is copied over one that is read", "[short]") {
  Made c(cache_of(FOVEA_KV_PAGED, FOVEA_I8));
  const ptrdiff_t stride = c.source.page_table_stride;
  std::fill(c.page_table, c.page_table + 3 * stride, FOVEA_NO_PAGE);
  for (uint32_t page = 0; page < 4; ++page) c.page_table[page] = page;
  Tokens tokens(1, 60);
  REQUIRE(fovea_kv_append(c, &tokens.args) == FOVEA_OK);

  // The first two pages are shared, the third is its own.
  uint32_t* const second = c.page_table + stride;
  second[0] = 0, second[1] = 1, second[2] = 7;
  const auto row = [&](const fovea_in& in, uint32_t page) {
    return static_cast<const uint8_t*>(in.data) + page * in.batch_stride;
  };
  const size_t row_bytes = 16 * kHeads * kHeadDim;
  const std::vector<uint8_t> before = c.bytes();
  REQUIRE(fovea_kv_copy(c, 1, c, 0, 40) == FOVEA_OK);
  CHECK(c.lengths[1] == 40);
  CHECK(c.lengths[0] == 60);
  CHECK(std::memcmp(row(c.source.keys, 2), row(c.source.keys, 7), size_t{8} * kHeadDim) == 0);
  const auto at = size_t(row(c.source.keys, 0) - c.rows.as<uint8_t>());
  CHECK(std::memcmp(row(c.source.keys, 0), before.data() + at, 4 * row_bytes) == 0);
  Tokens more(1, 5, 9);
  more.args.entry = 1;
  REQUIRE(fovea_kv_append(c, &more.args) == FOVEA_OK);  // behind what is shared
  CHECK(std::memcmp(row(c.source.keys, 0), before.data() + at, 4 * row_bytes) == 0);

  const auto copy = [&](uint32_t count) { return c.unchanged([&] { return fovea_kv_copy(c, 1, c, 0, count); }); };
  second[2] = 1;  // which entry 0 has in another place
  CHECK(copy(40) == FOVEA_ERR_OVERLAP);
  second[2] = 3;  // and there it has tokens that are not copied
  CHECK(copy(40) == FOVEA_ERR_OVERLAP);
  second[2] = FOVEA_NO_PAGE;
  CHECK(copy(33) == FOVEA_ERR_FULL);
  second[2] = 9;
  CHECK(copy(33) == FOVEA_ERR_PAGE);
  CHECK(fovea_kv_copy(c, 1, c, 0, 32) == FOVEA_OK);  // all of it shared
  c.page_table[1] = FOVEA_NO_PAGE;
  CHECK(copy(32) == FOVEA_ERR_FULL);
}

TEST_CASE("cache: a length that is set says what is there", "[short]") {
  for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING}) {
    // The rows of one cache, brought into another as a file would bring them.
    Made saved(cache_of(kind, FOVEA_F16)), c(cache_of(kind, FOVEA_F16));
    const bool ring = kind == FOVEA_KV_RING;
    Tokens tokens(1, 45);
    REQUIRE(fovea_kv_append(saved, &tokens.args) == FOVEA_OK);
    if (ring) REQUIRE(fovea_kv_append(saved, &tokens.args) == FOVEA_OK);
    const ptrdiff_t rows = static_cast<const char*>(c.source.keys.data) - c.rows.as<char>();
    std::memcpy(c.rows.as<char>() + rows, saved.rows.as<char>() + rows, c.rows.bytes() - size_t(rows));
    const uint32_t length = saved.lengths[0];
    CHECK(fovea_kv_set_length(c, 0, length, ring ? saved.first_tokens[0] : 0) == FOVEA_OK);
    CHECK(c.bytes() == saved.bytes());

    const auto set = [&](uint32_t entry, uint32_t count, uint32_t first) {
      return c.unchanged([&] { return fovea_kv_set_length(c, entry, count, first); });
    };
    CHECK(set(3, 1, 0) == FOVEA_ERR_CAPACITY);
    CHECK(set(0, ring ? (1u << 30) + 1 : 65, 0) == FOVEA_ERR_FULL);
    CHECK(set(0, 10, ring ? 11 : 1) == FOVEA_ERR_LENGTH);
    CHECK(fovea_kv_set_length(c, 0, 0, 0) == FOVEA_OK);
    CHECK(c.lengths[0] == 0);
    if (ring) {
      const auto sets = [&](uint32_t count, uint32_t first, uint32_t want) {
        CHECK(fovea_kv_set_length(c, 1, count, first) == FOVEA_OK);
        return c.lengths[1] == count && c.first_tokens[1] == want;
      };
      CHECK(set(0, 200, 140) == FOVEA_ERR_LENGTH);  // 60 where 59 fit
      CHECK(sets(200, 141, 141));
      CHECK(sets(200, 200, 200));
      CHECK(sets(200, 0, 141));
      CHECK(sets(64, 0, 5));
      CHECK(sets(65, 0, 6));
      CHECK(sets(20, 3, 5));
      CHECK(sets(4, 9, 5));  // pinned ones alone
    }
    if (kind == FOVEA_KV_PAGED) {
      c.page_table[1] = 9;
      CHECK(set(0, 17, 0) == FOVEA_ERR_PAGE);
      c.page_table[1] = FOVEA_NO_PAGE;
      CHECK(set(0, 17, 0) == FOVEA_ERR_FULL);
      CHECK(fovea_kv_set_length(c, 0, 16, 0) == FOVEA_OK);
    }
  }
}

TEST_CASE("cache: what cannot be copied has its status, and changes nothing", "[short]") {
  Made to(cache_of(FOVEA_KV_STRIDED, FOVEA_I4));
  Tokens tokens(3, 20);
  REQUIRE(fovea_kv_append(to, &tokens.args) == FOVEA_OK);
  const auto copy_from = [&](void (*change)(fovea_kv_cache_desc&)) {
    fovea_kv_cache_desc desc = cache_of(FOVEA_KV_STRIDED, FOVEA_I4);
    change(desc);
    Made from(desc);
    REQUIRE(fovea_kv_set_length(from, 0, 10, 0) == FOVEA_OK);
    return to.unchanged([&] { return fovea_kv_copy(to, 1, from, 0, 10); });
  };
  CHECK(copy_from([](auto& c) { c.key_dtype = FOVEA_I8; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.value_dtype = FOVEA_F16; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.kv_heads = 1; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.head_dim = 35; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.value_dim = 21; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.values_in_keys = 1; }) == FOVEA_ERR_SIZE);
  CHECK(copy_from([](auto& c) { c.kind = FOVEA_KV_RING; }) == FOVEA_ERR_SIZE);

  const auto copy = [&](uint32_t to_entry, const fovea_kv_cache* from, uint32_t from_entry, uint32_t count) {
    return to.unchanged([&] { return fovea_kv_copy(to, to_entry, from, from_entry, count); });
  };
  CHECK(copy(3, to, 0, 1) == FOVEA_ERR_CAPACITY);
  CHECK(copy(0, to, 3, 1) == FOVEA_ERR_CAPACITY);
  CHECK(copy(0, to, 1, 21) == FOVEA_ERR_LENGTH);
  CHECK(copy(0, nullptr, 1, 2) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_copy(nullptr, 0, to, 1, 2) == FOVEA_ERR_NULL);
  Cache raw = cache_of(FOVEA_KV_STRIDED, FOVEA_I4);
  CHECK(copy(0, raw, 1, 2) == FOVEA_ERR_PLAN);
  CHECK(fovea_kv_copy(raw, 0, to, 1, 2) == FOVEA_ERR_PLAN);
  CHECK(fovea_kv_set_length(raw, 0, 0, 0) == FOVEA_ERR_PLAN);

  // Two caches in one memory, of which one begins inside the other.
  Cache small = cache_of(FOVEA_KV_STRIDED, FOVEA_I4);
  small.batch = 1, small.max_tokens = 8;
  Guarded memory(to.memory_bytes + 64, 64, Placement::kStart);
  Cache outer = cache_of(FOVEA_KV_STRIDED, FOVEA_I4);
  REQUIRE(outer.init(memory.as<void>(), memory.bytes()) == FOVEA_OK);
  REQUIRE(small.init(memory.as<char>() + 1024, memory.bytes() - 1024) == FOVEA_OK);
  CHECK(fovea_kv_copy(outer, 0, small, 0, 0) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_kv_copy(small, 0, outer, 0, 0) == FOVEA_ERR_OVERLAP);

  // An entry to itself: its first tokens stay.
  CHECK(fovea_kv_copy(to, 2, to, 2, 13) == FOVEA_OK);
  CHECK(to.lengths[2] == 13);
}

TEST_CASE("cache: a list of tokens that cannot be kept has its status, and changes nothing", "[short]") {
  for (const fovea_kv_kind kind : {FOVEA_KV_STRIDED, FOVEA_KV_PAGED, FOVEA_KV_RING}) {
    Made c(cache_of(kind, FOVEA_I8));
    Tokens tokens(1, 40);
    REQUIRE(fovea_kv_append(c, &tokens.args) == FOVEA_OK);
    const auto compact = [&](uint32_t entry, const std::vector<uint32_t>& kept) {
      return c.unchanged([&] { return fovea_kv_compact(c, entry, kept.data(), uint32_t(kept.size())); });
    };
    CHECK(compact(3, {0}) == FOVEA_ERR_CAPACITY);
    CHECK(compact(0, {0, 40}) == FOVEA_ERR_LENGTH);
    CHECK(compact(0, {7, 7}) == FOVEA_ERR_LENGTH);
    CHECK(compact(0, {7, 6}) == FOVEA_ERR_LENGTH);
    CHECK(compact(1, {0}) == FOVEA_ERR_LENGTH);
    CHECK(c.unchanged([&] { return fovea_kv_compact(c, 0, nullptr, 1); }) == FOVEA_ERR_NULL);
    CHECK(c.unchanged([&] { return fovea_kv_compact(c, 0, c.lengths, 1); }) == FOVEA_ERR_OVERLAP);
    const std::vector<uint32_t> aligned(2);
    const auto* const between = reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(aligned.data()) + 1);
    CHECK(c.unchanged([&] { return fovea_kv_compact(c, 0, between, 1); }) == FOVEA_ERR_ALIGNMENT);
    Cache raw = cache_of(kind, FOVEA_I8);
    CHECK(fovea_kv_compact(raw, 0, nullptr, 0) == FOVEA_ERR_PLAN);
    CHECK(fovea_kv_compact(nullptr, 0, nullptr, 0) == FOVEA_ERR_NULL);
    if (kind == FOVEA_KV_RING) {
      REQUIRE(fovea_kv_append(c, &tokens.args) == FOVEA_OK);
      CHECK(compact(0, {5}) == FOVEA_ERR_LENGTH);  // the oldest that is still there is 21
      CHECK(compact(0, {4, 20}) == FOVEA_ERR_LENGTH);
      c.first_tokens[0] = 0;  // is wrong, and two tokens have one slot
      CHECK(compact(0, {6, 65}) == FOVEA_ERR_LENGTH);
    }
    if (kind == FOVEA_KV_PAGED) {
      c.page_table[1] = 9;
      CHECK(compact(0, {0, 30}) == FOVEA_ERR_PAGE);
      c.page_table[1] = FOVEA_NO_PAGE;
      CHECK(compact(0, {0, 30}) == FOVEA_ERR_FULL);
      const std::vector<uint32_t> first = {0, 15};
      CHECK(fovea_kv_compact(c, 0, first.data(), 2) == FOVEA_OK);
      CHECK(c.lengths[0] == 2);
    }
    CHECK(fovea_kv_compact(c, 0, nullptr, 0) == FOVEA_OK);
    CHECK(c.lengths[0] == 0);
  }
}

TEST_CASE("cache: pages before the first dropped token, and after the last kept one, are not written", "[short]") {
  Made c(cache_of(FOVEA_KV_PAGED, FOVEA_Q4_0));
  Tokens tokens(1, 60);
  REQUIRE(fovea_kv_append(c, &tokens.args) == FOVEA_OK);
  std::vector<uint32_t> kept;
  for (uint32_t token = 0; token < 60; ++token) {
    if (token < 17 || token % 4 == 0) kept.push_back(token);
  }
  const std::vector<uint8_t> before = c.bytes();
  REQUIRE(fovea_kv_compact(c, 0, kept.data(), uint32_t(kept.size())) == FOVEA_OK);
  const auto* const pages = static_cast<const uint8_t*>(c.source.keys.data);
  const ptrdiff_t page_bytes = c.source.keys.batch_stride;
  for (const uint32_t column : {0u, 2u, 3u}) {
    const ptrdiff_t at = pages + ptrdiff_t(c.page_table[column]) * page_bytes - c.rows.as<uint8_t>();
    CHECK(std::memcmp(c.rows.as<uint8_t>() + at, before.data() + at, size_t(page_bytes)) == 0);
  }
}

TEST_CASE("cache: half-precision and packed tokens leave what f32 tokens of the same numbers leave", "[short]") {
  const uint32_t counts[] = {7, 0, 19}, offsets[] = {2, 9, 9, 28}, batch = 3, most = 19, all = 30;
  for (const fovea_dtype type : kKeyTypes) {
    for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
      Tokens plain(batch, most);
      std::vector<uint16_t> half_keys(kHeads * all * kHeadDim), half_values(kHeads * all * kValueDim);
      std::vector<float> keys(half_keys.size()), values(half_values.size());
      const auto pack = [&](std::vector<float>& from, std::vector<float>& to, std::vector<uint16_t>& halves,
                            size_t dim) {
        for (float& x : from) {
          if (dtype != FOVEA_F32) x = float(value_of(half_of(dtype), nearest_of(half_of(dtype), x)));
        }
        for (size_t b = 0; b < batch; ++b) {
          for (size_t i = 0; i < kHeads * counts[b] * dim; ++i) {
            const size_t head = i / (counts[b] * dim), rest = i % (counts[b] * dim);
            const size_t at = (head * all + offsets[b]) * dim + rest;
            to[at] = from[(b * kHeads + head) * most * dim + rest];
            if (dtype != FOVEA_F32) halves[at] = uint16_t(nearest_of(half_of(dtype), to[at]));
          }
        }
      };
      pack(plain.keys, keys, half_keys, kHeadDim);
      pack(plain.values, values, half_values, kValueDim);
      for (const fovea_target target : targets()) {
        INFO(type_name(dtype) << " into " << type_name(type) << " on " << fovea_target_name(target));
        Made want(cache_of(FOVEA_KV_STRIDED, type)), got(cache_of(FOVEA_KV_STRIDED, type));
        plain.args.target = target, plain.args.counts = counts;
        REQUIRE(fovea_kv_append(want, &plain.args) == FOVEA_OK);
        Guarded workspace(3 * kHeads * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
        fovea_kv_append_args a = plain.args;
        a.counts = nullptr, a.offsets = offsets, a.tokens = all - 1, a.dtype = dtype;
        const bool half = dtype != FOVEA_F32;
        a.keys = {half ? static_cast<void*>(half_keys.data()) : keys.data(), 0, all * kHeadDim, kHeadDim};
        a.values = {half ? static_cast<void*>(half_values.data()) : values.data(), 0, all * kValueDim, kValueDim};
        if (half) a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
        REQUIRE(fovea_kv_append(got, &a) == FOVEA_OK);
        CHECK(got.bytes() == want.bytes());
        CHECK(workspace.margin_intact());
      }
    }
  }
}

TEST_CASE("cache: each entry may have an offset of its own for the turning of its keys", "[short]") {
  uint64_t turns[4];
  REQUIRE(fovea_rope_frequencies(turns, 0, 0, 8) == FOVEA_OK);
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_INTERLEAVED, rope.rotary_dim = 8, rope.turns = turns, rope.position_offset = 100;
  const int64_t offsets[] = {-3, 0, 1000}, none[] = {7, 7, 7};
  rope.first_positions = none;  // is not read
  Tokens tokens(3, 6);
  Guarded workspace(kHeads * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
  tokens.args.workspace = workspace.as<void>(), tokens.args.workspace_bytes = workspace.bytes();
  Made want(cache_of(FOVEA_KV_RING, FOVEA_F32)), got(cache_of(FOVEA_KV_RING, FOVEA_F32));
  for (int twice = 0; twice < 2; ++twice) {
    fovea_kv_append_args a = tokens.args;
    a.rope = &rope, a.position_offsets = offsets;
    REQUIRE(fovea_kv_append(got, &a) == FOVEA_OK);
    for (uint32_t b = 0; b < 3; ++b) {
      fovea_rope_args own = rope;
      own.position_offset += offsets[b];
      a = tokens.args;
      a.rope = &own, a.entry = b, a.batch = 1;
      a.keys.data = tokens.keys.data() + b * a.keys.batch_stride;
      a.values.data = tokens.values.data() + b * a.values.batch_stride;
      REQUIRE(fovea_kv_append(want, &a) == FOVEA_OK);
    }
    CHECK(got.bytes() == want.bytes());
  }
  const int64_t far[] = {0, INT64_MAX - 50, 0};
  fovea_kv_append_args a = tokens.args;
  a.rope = &rope, a.position_offsets = far;
  CHECK(got.unchanged([&] { return fovea_kv_append(got, &a); }) == FOVEA_ERR_SIZE);
  rope.position_offset = INT64_MAX - 50;
  CHECK(got.unchanged([&] { return fovea_kv_append(got, &a); }) == FOVEA_ERR_SIZE);
  a.rope = nullptr;
  CHECK(got.unchanged([&] { return fovea_kv_append(got, &a); }) == FOVEA_ERR_NULL);
  a.rope = &rope;
  a.position_offsets = reinterpret_cast<const int64_t*>(a.workspace);
  CHECK(got.unchanged([&] { return fovea_kv_append(got, &a); }) == FOVEA_ERR_OVERLAP);
}

TEST_CASE("cache: values that are the first elements of keys take no memory, and are not turned", "[short]") {
  fovea_kv_cache_desc desc = cache_of(FOVEA_KV_STRIDED, FOVEA_F32), apart = desc;
  desc.values_in_keys = 1;
  CHECK(bytes_of(fovea_kv_cache_bytes, &desc) + kHeads * 3 * 64 * kValueDim * sizeof(float) == bytes_of(fovea_kv_cache_bytes, &apart));
  CHECK(bytes_of(fovea_kv_cache_bytes, &desc) <= FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 3, kHeads, 64, kHeadDim, 0));
  CHECK(bytes_of(fovea_kv_cache_bytes, &desc) + 512 > FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 3, kHeads, 64, kHeadDim, 0));
  fovea_kv_cache_desc wrong = desc;
  wrong.value_dtype = FOVEA_F16;
  CHECK(refusal_of(fovea_kv_cache_bytes, &wrong) == FOVEA_ERR_SIZE);
  wrong = desc, wrong.value_dim = kHeadDim + 1;
  CHECK(refusal_of(fovea_kv_cache_bytes, &wrong) == FOVEA_ERR_SIZE);

  // Keys of a latent vector and, behind it, elements that are turned by their position.
  uint64_t turns[4];
  REQUIRE(fovea_rope_frequencies(turns, 0, 0, 8) == FOVEA_OK);
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = 8, rope.turns = turns;
  Tokens tokens(3, 11);
  std::vector<float> turned = tokens.keys;
  fovea_rope_args behind = rope;
  behind.batch = 3, behind.heads = kHeads, behind.tokens = 11, behind.dim = kHeadDim - kValueDim;
  behind.x = tokens.args.keys;
  behind.x.data = turned.data() + kValueDim;
  behind.y = {turned.data() + kValueDim, behind.x.batch_stride, behind.x.head_stride, behind.x.token_stride};
  REQUIRE(fovea_rope(&behind) == FOVEA_OK);
  Made made(desc);
  fovea_kv_append_args a = tokens.args;
  a.values = {};
  a.rope = &rope;
  Guarded workspace(2 * kHeads * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
  a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
  REQUIRE(fovea_kv_append(made, &a) == FOVEA_OK);
  const fovea_kv_source& source = made.source;
  CHECK(source.values.data == source.keys.data);
  for (ptrdiff_t row = 0; row < ptrdiff_t(3 * kHeads); ++row) {
    const float* const got = static_cast<const float*>(source.keys.data) + row / 2 * source.keys.batch_stride +
                             row % 2 * source.keys.head_stride;
    CHECK(std::memcmp(got, turned.data() + row * 11 * kHeadDim, 11 * kHeadDim * sizeof(float)) == 0);
  }
  rope.rotary_dim = kHeadDim - kValueDim + 2;
  CHECK(made.unchanged([&] { return fovea_kv_append(made, &a); }) == FOVEA_ERR_DIM);
}

TEST_CASE("cache: what is wrong with halves and offsets has its status", "[short]") {
  Made made(cache_of(FOVEA_KV_STRIDED, FOVEA_I8));
  Tokens tokens(3, 8);
  Guarded workspace(kHeads * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
  tokens.args.workspace = workspace.as<void>(), tokens.args.workspace_bytes = workspace.bytes();
  const auto append = [&](void (*change)(fovea_kv_append_args&)) {
    fovea_kv_append_args a = tokens.args;
    change(a);
    const fovea_status status = made.unchanged([&] { return fovea_kv_append(made, &a); });
    CHECK(workspace.untouched());
    return status;
  };
  static const uint32_t kFalls[] = {0, 4, 3, 8}, kTooFar[] = {0, 4, 6, 9}, kRight[] = {0, 2, 5, 8}, kMore[] = {2, 4, 3};
  CHECK(append([](auto& a) { a.dtype = kNoType; }) == FOVEA_ERR_ENUM);
  CHECK(append([](auto& a) { a.dtype = FOVEA_I8; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(append([](auto& a) { a.dtype = FOVEA_I4; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(append([](auto& a) { a.dtype = FOVEA_F16, a.workspace = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(append([](auto& a) { a.dtype = FOVEA_F16, a.workspace_bytes -= 1; }) == FOVEA_ERR_WORKSPACE);
  CHECK(append([](auto& a) { a.dtype = FOVEA_BF16, a.keys.data = a.workspace; }) == FOVEA_ERR_OVERLAP);
  CHECK(append([](auto& a) { a.offsets = kFalls; }) == FOVEA_ERR_LENGTH);
  CHECK(append([](auto& a) { a.offsets = kTooFar; }) == FOVEA_ERR_LENGTH);
  CHECK(append([](auto& a) { a.offsets = kRight, a.counts = kMore; }) == FOVEA_ERR_LENGTH);
  fovea_kv_append_args a = tokens.args;
  a.offsets = made.lengths;
  CHECK(made.unchanged([&] { return fovea_kv_append(made, &a); }) == FOVEA_ERR_OVERLAP);
  static const uint32_t kSome[] = {1, 0, 3};
  a.offsets = kRight, a.counts = kSome;
  CHECK(fovea_kv_append(made, &a) == FOVEA_OK);
  CHECK(made.lengths[0] == 1);
  CHECK(made.lengths[1] == 0);
  CHECK(made.lengths[2] == 3);
}

}  // namespace fovea_test
