// SPDX-License-Identifier: Apache-2.0
//
// Keys of a cache that are turned to other positions: what is stored then is what an append of the turned keys would store, and
// nothing else is written.
#include <cmath>

#include "support/cache_model.h"
#include "support/formats.h"
#include "support/rotated.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr uint32_t kHeads = 2, kHeadDim = 36, kValueDim = 20, kRotary = 16, kTokens = 41, kTable = 200;

const float* center() {
  static const std::vector<float> numbers = normal_numbers(size_t{kHeads} * kHeadDim, 77);
  return numbers.data();
}

fovea_kv_cache_desc cache_of(fovea_kv_kind kind, fovea_dtype keys) {
  auto c = sized<fovea_kv_cache_desc>();
  c.kind = kind, c.key_dtype = c.value_dtype = keys;
  c.batch = 2, c.kv_heads = kHeads, c.head_dim = kHeadDim, c.value_dim = kValueDim, c.max_tokens = 64;
  if (kind == FOVEA_KV_RING) c.pinned_tokens = 5, c.max_tokens = 32;
  if (kind == FOVEA_KV_PAGED) c.page_tokens = 16, c.pages = 8;
  return c;
}

constexpr fovea_kv_kind kKinds[] = {FOVEA_KV_STRIDED, FOVEA_KV_RING, FOVEA_KV_PAGED};

struct Made : CacheModel {
  explicit Made(const fovea_kv_cache_desc& desc) : CacheModel(desc, 5) {
    give_pages(1, 64);
    if (append(FOVEA_TARGET_BEST, 1, {kTokens}) != FOVEA_OK) std::abort();
  }
};

// Angles as turns, or as tables of them.
struct Rope {
  uint64_t turns[kRotary / 2];
  std::vector<float> cos = std::vector<float>(kTable * kRotary / 2), sin = cos;
  fovea_rope_args args = sized<fovea_rope_args>();

  Rope(fovea_rope_layout layout, bool tables, bool inverse) {
    if (fovea_rope_frequencies(turns, 0, 0, kRotary) != FOVEA_OK) std::abort();
    for (size_t i = 0; i < cos.size(); ++i) {
      const double angle =
          double(turns[i % (kRotary / 2)]) * std::ldexp(1, -64) * 2 * std::acos(-1.0) * double(i / (kRotary / 2));
      cos[i] = float(std::cos(angle)), sin[i] = float(std::sin(angle));
    }
    args.layout = layout, args.rotary_dim = kRotary, args.inverse = inverse;
    if (!tables) args.turns = turns;
    if (tables)
      args.cos = cos.data(), args.sin = sin.data(), args.table_stride = kRotary / 2, args.table_positions = kTable;
  }
};

fovea_kv_shift_args args_of(const Rope& rope, int64_t difference, const Guarded& workspace) {
  auto a = sized<fovea_kv_shift_args>();
  a.entry = 1, a.first = 17, a.tokens = 20, a.rope = &rope.args, a.difference = difference;
  a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
  return a;
}

// The keys of the call, as they are before they are rotated and centred, turned by fovea_rope: [kHeads][tokens][kHeadDim].
std::vector<float> turned_keys(const Made& made, const fovea_kv_shift_args& a) {
  const Cache& c = made.cache;
  const uint32_t first_turned = c.values_in_keys != 0 ? kValueDim : 0;
  std::vector<float> keys;
  for (const auto& [h, t] : indices(kHeads, a.tokens)) {
    std::vector<float> key = made.row(true, 1, h, a.first + t);
    for (uint32_t d = 0; c.key_center != nullptr && d < kHeadDim; ++d) key[d] += c.key_center[h * kHeadDim + d];
    if (rotates_keys(c.hadamard)) REQUIRE(rotate_rows(key.data(), 1, kHeadDim, c.hadamard_seed, true) == FOVEA_OK);
    fovea_rope_args rope = *a.rope;
    rope.target = a.target, rope.batch = rope.heads = rope.tokens = 1, rope.dim = kHeadDim - first_turned;
    rope.x = {key.data() + first_turned, 0, 0, 0}, rope.y = {key.data() + first_turned, 0, 0, 0};
    rope.position_offset = a.difference;
    if (rope.turns == nullptr && a.difference < 0)
      rope.position_offset = -a.difference, rope.inverse = rope.inverse == 0;
    REQUIRE(fovea_rope(&rope) == FOVEA_OK);
    keys.insert(keys.end(), key.begin(), key.end());
  }
  return keys;
}

}  // namespace

TEST_CASE("shift: keys of any kind and format become what an append of turned keys stores; all else stays", "[short]") {
  for (const auto& [kind, type, option] : every(kKinds, kKeyTypes, {0, 1, 2, 3})) {
    const std::vector<fovea_target> all = targets();
    const fovea_target target = all[(kind + type + option) % all.size()];
    fovea_kv_cache_desc desc = cache_of(kind, type);
    if (option == 1) desc.values_in_keys = 1;
    if (option == 2) desc.key_center = center(), desc.hadamard = FOVEA_HADAMARD_BOTH, desc.hadamard_seed = 3;
    INFO("kind " << kind << ", " << type_name(type) << ", option " << option << ", " << fovea_target_name(target));
    Made made(desc);
    const Rope rope(option == 0 ? FOVEA_ROPE_INTERLEAVED : FOVEA_ROPE_HALF_SPLIT, option == 3, type % 2 != 0);
    const Guarded workspace((option == 0 ? 1 : 3) * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
    fovea_kv_shift_args a = args_of(rope, option == 2 ? -17 : option == 3 ? -160 : int64_t{1} << 40, workspace);
    a.target = target;
    const std::vector<float> keys = turned_keys(made, a);
    const std::vector<uint8_t> before = made.cache.bytes();
    REQUIRE(fovea_kv_shift(made.cache, &a) == FOVEA_OK);
    CHECK(workspace.margin_intact());

    // The same rows, appended to another cache after as many tokens.
    Made want(desc);
    if (kind != FOVEA_KV_RING) REQUIRE(want.truncate(1, a.first) == FOVEA_OK);
    if (kind == FOVEA_KV_RING) REQUIRE(fovea_kv_set_length(want.cache, 1, a.first, a.first) == FOVEA_OK);
    want.give_pages(1, 64);
    std::vector<float> room(size_t{kHeads} * kHeadDim), values(size_t{kHeads} * a.tokens * kValueDim);
    auto append = sized<fovea_kv_append_args>();
    append.target = target, append.entry = 1, append.batch = 1, append.tokens = a.tokens;
    append.workspace = room.data(), append.workspace_bytes = room.size() * sizeof(float);
    append.keys = {keys.data(), 0, ptrdiff_t(a.tokens * kHeadDim), kHeadDim};
    append.values = {values.data(), 0, ptrdiff_t(a.tokens * kValueDim), kValueDim};
    REQUIRE(fovea_kv_append(want.cache, &append) == FOVEA_OK);
    std::vector<uint8_t> all_bytes = before;
    const auto take = [&, places = kind](const fovea_in& from, const fovea_in& to, size_t unit, size_t units) {
      for (const auto& [h, t] : indices(kHeads, a.tokens)) {
        size_t block = 1, from_block = 1, at = a.first + t;
        if (places == FOVEA_KV_RING) at = ring_slot(uint32_t(at), 32, 5);
        if (places == FOVEA_KV_PAGED) {
          const ptrdiff_t column = made.cache.source.page_table_stride + ptrdiff_t(at / 16);
          block = made.cache.page_table[column], from_block = want.cache.page_table[column], at %= 16;
        }
        const ptrdiff_t place = row_bytes(to, unit, block, h, at) - made.cache.rows.as<uint8_t>();
        std::memcpy(all_bytes.data() + place, row_bytes(from, unit, from_block, h, at), unit * units);
      }
    };
    take(want.cache.source.keys, made.cache.source.keys, unit_size(type), row_units(type, kHeadDim));
    if (scale_size(type) != 0) {
      take(want.cache.source.key_scales, made.cache.source.key_scales, scale_size(type), row_scales(type, kHeadDim));
    }
    CHECK(made.cache.bytes() == all_bytes);
    a.difference = 0;
    REQUIRE(fovea_kv_shift(made.cache, &a) == FOVEA_OK);
    CHECK(made.cache.bytes() == all_bytes);
  }
}

TEST_CASE("shift: keys that were turned on their way in are those of the other positions", "[short]") {
  const Rope rope(FOVEA_ROPE_HALF_SPLIT, false, false);
  const std::vector<float> keys = normal_numbers(size_t{kHeads} * kTokens * kHeadDim, 8);
  const std::vector<float> values(size_t{kHeads} * kTokens * kValueDim);
  for (const auto& [target, difference] : every(targets(), {int64_t{-17}, int64_t{100000}})) {
    const Guarded workspace(size_t{kHeads} * kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
    const auto append = [&, used = target](Cache& cache, int64_t offset) {
      fovea_rope_args turn = rope.args;
      turn.position_offset = offset;
      auto a = sized<fovea_kv_append_args>();
      a.target = used, a.entry = 1, a.batch = 1, a.tokens = kTokens, a.rope = &turn;
      a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
      a.keys = {keys.data(), 0, kTokens * kHeadDim, kHeadDim},
      a.values = {values.data(), 0, kTokens * kValueDim, kValueDim};
      REQUIRE(fovea_kv_append(cache, &a) == FOVEA_OK);
    };
    OwnedCache got(cache_of(FOVEA_KV_STRIDED, FOVEA_F32)), want(cache_of(FOVEA_KV_STRIDED, FOVEA_F32));
    append(got, 500), append(want, 500 + difference);
    fovea_kv_shift_args a = args_of(rope, difference, workspace);
    a.target = target, a.first = 0, a.tokens = kTokens;
    REQUIRE(fovea_kv_shift(got, &a) == FOVEA_OK);
    for (const auto& [h, t, d] : indices(kHeads, kTokens, kHeadDim)) {
      const double error = double{row(got.source.keys, 1, h, t)[d]} - double{row(want.source.keys, 1, h, t)[d]};
      CHECK(std::fabs(error) < 1e-5);
    }
  }
}

TEST_CASE("shift: every misuse has its status, and nothing is written", "[short]") {
  fovea_kv_cache_desc desc = cache_of(FOVEA_KV_PAGED, FOVEA_I8);
  const Guarded memory(4096, 64, Placement::kEnd);
  float* const mean = memory.as<float>() + 512;
  std::memcpy(mean, center(), sizeof(float) * kHeads * kHeadDim);
  desc.key_center = mean;
  Made made(desc);
  const Rope rope(FOVEA_ROPE_HALF_SPLIT, false, false), tables(FOVEA_ROPE_HALF_SPLIT, true, false);
  const Guarded workspace(kHeadDim * sizeof(float), sizeof(float), Placement::kEnd);
  const std::vector<uint8_t> before = made.cache.bytes();
  const auto shift = [&](const auto& change) {
    fovea_kv_shift_args a = args_of(rope, 3, workspace);
    fovea_rope_args own = rope.args;
    a.rope = &own;
    change(a, own);
    const fovea_status status = fovea_kv_shift(made.cache, &a);
    CHECK((made.cache.bytes() == before && workspace.untouched()));
    return status;
  };
  CHECK(shift([](auto& a, auto&) { a.struct_bytes -= 1; }) == FOVEA_ERR_STRUCT);
  CHECK(shift([](auto& a, auto&) { a.target = fovea_target(1000); }) == FOVEA_ERR_ENUM);
  CHECK(shift([](auto& a, auto&) { a.entry = 2; }) == FOVEA_ERR_CAPACITY);
  CHECK(shift([](auto& a, auto&) { a.first = 22; }) == FOVEA_ERR_LENGTH);
  CHECK(shift([](auto& a, auto&) { a.tokens = 25; }) == FOVEA_ERR_LENGTH);
  CHECK(shift([](auto& a, auto&) { a.entry = 0; }) == FOVEA_ERR_LENGTH);
  CHECK(shift([](auto& a, auto&) { a.rope = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(shift([](auto& a, auto&) { a.workspace = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(shift([](auto& a, auto&) { a.workspace = static_cast<char*>(a.workspace) + 2; }) == FOVEA_ERR_ALIGNMENT);
  CHECK(shift([](auto& a, auto&) { a.workspace_bytes -= 1; }) == FOVEA_ERR_WORKSPACE);
  CHECK(shift([&](auto& a, auto&) { a.workspace = made.cache.memory; }) == FOVEA_ERR_OVERLAP);
  CHECK(shift([&](auto& a, auto&) { a.workspace = mean - 1; }) == FOVEA_ERR_OVERLAP);
  CHECK(shift([](auto& a, auto& own) { own.turns = static_cast<uint64_t*>(a.workspace); }) == FOVEA_ERR_OVERLAP);
  CHECK(shift([](auto&, auto& own) { own.struct_bytes = 0; }) == FOVEA_ERR_STRUCT);
  CHECK(shift([](auto&, auto& own) { own.rotary_dim = kHeadDim + 2; }) == FOVEA_ERR_DIM);
  CHECK(shift([](auto&, auto& own) { own.turns = nullptr; }) == FOVEA_ERR_NULL);
  const auto by_tables = [&](int64_t difference) {
    return shift([&](auto& a, auto& own) { own = tables.args, a.difference = difference; });
  };
  CHECK(by_tables(kTable) == FOVEA_ERR_POSITION_RANGE);
  CHECK(by_tables(-int64_t{kTable}) == FOVEA_ERR_POSITION_RANGE);
  CHECK(by_tables(INT64_MIN) == FOVEA_ERR_POSITION_RANGE);
  uint32_t& page = made.cache.page_table[made.cache.source.page_table_stride + 2];
  const uint32_t old = page;
  page = FOVEA_NO_PAGE;
  CHECK(fovea_kv_shift(made.cache, nullptr) == FOVEA_ERR_NULL);
  const fovea_kv_shift_args right = args_of(rope, 3, workspace);
  CHECK(fovea_kv_shift(made.cache, &right) == FOVEA_ERR_FULL);
  page = 8;
  CHECK(fovea_kv_shift(made.cache, &right) == FOVEA_ERR_PAGE);
  page = old;
  CHECK(made.cache.bytes() == before);
  Cache raw = desc;
  CHECK(fovea_kv_shift(raw, &right) == FOVEA_ERR_PLAN);
  CHECK(fovea_kv_shift(nullptr, &right) == FOVEA_ERR_NULL);
  Made ring(cache_of(FOVEA_KV_RING, FOVEA_I8));  // has tokens 0 to 4, and from 14 on
  fovea_kv_shift_args early = right;
  early.first = 13;
  CHECK(fovea_kv_shift(ring.cache, &early) == FOVEA_ERR_LENGTH);
  early.first = 14;
  CHECK(fovea_kv_shift(ring.cache, &early) == FOVEA_OK);
}

}  // namespace fovea_test
