// SPDX-License-Identifier: Apache-2.0
//
// Caches of keys and values: what is put in is there, in order and to within the format's error, whatever comes between;
// what does not fit changes nothing.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "catch.h"
#include "support/formats.h"
#include "support/problem.h"

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

fovea_kv_cache cache_of(const Kind& kind, fovea_dtype key_dtype, fovea_dtype value_dtype) {
  fovea_kv_cache c{};
  c.struct_bytes = sizeof c;
  c.kind = kind.kind;
  c.key_dtype = key_dtype, c.value_dtype = value_dtype;
  c.batch = 3, c.kv_heads = 2, c.head_dim = 36, c.value_dim = 20;
  c.max_tokens = kind.max_tokens, c.pinned_tokens = kind.pinned_tokens;
  c.page_tokens = kind.page_tokens, c.pages = kind.pages;
  return c;
}

// A cache beside what was put into it, token by token, and what of it must still be there.
class Model {
 public:
  Model(const Kind& kind, fovea_dtype key_dtype, fovea_dtype value_dtype, uint64_t seed)
      : cache(cache_of(kind, key_dtype, value_dtype)), entries_(cache.batch), seed_(seed) {
    const size_t bytes = fovea_kv_cache_bytes(&cache);
    memory = Guarded(bytes, 64, bytes % 64 == 0 ? Placement::kEnd : Placement::kStart);
    REQUIRE(fovea_kv_cache_init(&cache, memory.as<void>(), bytes) == FOVEA_OK);
    for (uint32_t page = 0; page < cache.pages; ++page) free_pages_.push_back((page * 7 + 3) % cache.pages);
  }

  fovea_kv_cache cache;
  Guarded memory;

  // Appends to entries [entry, entry + batch), as many tokens to each as counts says.
  fovea_status append(fovea_target target, uint32_t entry, const std::vector<uint32_t>& counts) {
    const auto batch = static_cast<uint32_t>(counts.size());
    const uint32_t tokens = *std::max_element(counts.begin(), counts.end());
    const size_t key_row = cache.head_dim + 1, value_row = cache.value_dim + 2;  // padded
    std::vector<float> keys(batch * cache.kv_heads * tokens * key_row),
        values(batch * cache.kv_heads * tokens * value_row);
    for (float& x : keys) x = random_normal(seed_, next_++);
    for (float& x : values) x = 3 * random_normal(seed_, next_++);
    fovea_kv_append_args a{};
    a.struct_bytes = sizeof a;
    a.target = target;
    a.entry = entry, a.batch = batch, a.tokens = tokens, a.counts = counts.data();
    const auto stride = [](size_t x) { return static_cast<ptrdiff_t>(x); };
    a.keys = {keys.data(), stride(cache.kv_heads * tokens * key_row), stride(tokens * key_row), stride(key_row)};
    a.values = {values.data(), stride(cache.kv_heads * tokens * value_row), stride(tokens * value_row),
                stride(value_row)};
    const fovea_status status = fovea_kv_append(&cache, &a);
    for (uint32_t b = 0; b < batch && status == FOVEA_OK; ++b) {
      Entry& e = entries_[entry + b];
      for (uint32_t t = 0; t < counts[b]; ++t) {
        std::vector<float> token;
        for (uint32_t h = 0; h < cache.kv_heads; ++h) {
          const float* key = keys.data() + ((b * cache.kv_heads + h) * tokens + t) * key_row;
          const float* value = values.data() + ((b * cache.kv_heads + h) * tokens + t) * value_row;
          token.insert(token.end(), key, key + cache.head_dim);
          token.insert(token.end(), value, value + cache.value_dim);
        }
        e.tokens.push_back(token);
        e.most = std::max<size_t>(e.most, e.tokens.size());
      }
    }
    return status;
  }

  // Gives an entry the pages that this many more tokens need.
  void give_pages(uint32_t entry, uint32_t more) {
    if (cache.kind != FOVEA_KV_PAGED) return;
    const size_t tokens = entries_[entry].tokens.size() + more;
    for (size_t column = 0; column * cache.page_tokens < tokens; ++column) {
      uint32_t& page = cache.page_table[entry * cache.source.page_table_stride + static_cast<ptrdiff_t>(column)];
      if (page != FOVEA_NO_PAGE || free_pages_.empty()) continue;
      page = free_pages_.back();
      free_pages_.pop_back();
    }
  }

  fovea_status truncate(uint32_t entry, uint32_t length) {
    const fovea_status status = fovea_kv_truncate(&cache, entry, length);
    if (status != FOVEA_OK) return status;
    Entry& e = entries_[entry];
    e.tokens.resize(length);
    if (length <= cache.pinned_tokens) e.most = length;
    if (cache.kind != FOVEA_KV_PAGED) return status;
    for (ptrdiff_t column = (length + cache.page_tokens - 1) / cache.page_tokens;
         column < cache.source.page_table_stride; ++column) {
      uint32_t& page = cache.page_table[entry * cache.source.page_table_stride + column];
      if (page != FOVEA_NO_PAGE) free_pages_.push_back(page);
      page = FOVEA_NO_PAGE;
    }
    return status;
  }

  uint32_t length(uint32_t entry) const { return static_cast<uint32_t>(entries_[entry].tokens.size()); }
  // The oldest token behind the pinned ones that no other has replaced.
  uint32_t oldest(uint32_t entry) const {
    const auto most = static_cast<uint32_t>(entries_[entry].most);
    if (cache.kind != FOVEA_KV_RING || most <= cache.max_tokens) return cache.pinned_tokens;
    return most - (cache.max_tokens - cache.pinned_tokens);
  }

  // "" if every token is where it should be, and attention over all of them is right.
  std::string check(fovea_target target) {
    if (!memory.margin_intact()) return "written outside the memory";
    for (uint32_t b = 0; b < cache.batch; ++b) {
      if (cache.lengths[b] != length(b)) return "length of entry " + std::to_string(b);
      if (cache.kind == FOVEA_KV_RING && cache.first_tokens[b] != oldest(b))
        return "first token of entry " + std::to_string(b);
      for (uint32_t t = 0; t < length(b); ++t) {
        if (t >= cache.pinned_tokens && t < oldest(b)) continue;
        for (uint32_t h = 0; h < cache.kv_heads; ++h) {
          const float* want = entries_[b].tokens[t].data() + h * (cache.head_dim + cache.value_dim);
          if (!near(want, row(true, b, h, t), cache.key_dtype) ||
              !near(want + cache.head_dim, row(false, b, h, t), cache.value_dtype)) {
            return "token " + std::to_string(t) + " of entry " + std::to_string(b);
          }
        }
      }
    }
    return attend(target);
  }

  // A row of the cache, decoded.
  std::vector<float> row(bool keys, uint32_t b, uint32_t h, uint32_t t) const {
    size_t block = b, at = t;
    if (cache.kind == FOVEA_KV_RING && t >= cache.pinned_tokens) {
      at = cache.pinned_tokens + (t - cache.pinned_tokens) % (cache.max_tokens - cache.pinned_tokens);
    }
    if (cache.kind == FOVEA_KV_PAGED) {
      block = cache.page_table[b * cache.source.page_table_stride + t / cache.page_tokens];
      at = t % cache.page_tokens;
    }
    const fovea_in& data = keys ? cache.source.keys : cache.source.values;
    const fovea_in& scales = keys ? cache.source.key_scales : cache.source.value_scales;
    const fovea_dtype type = keys ? cache.key_dtype : cache.value_dtype;
    const auto place = [&](const fovea_in& in, size_t unit) {
      const ptrdiff_t elements = static_cast<ptrdiff_t>(block) * in.batch_stride +
                                 static_cast<ptrdiff_t>(h) * in.head_stride +
                                 static_cast<ptrdiff_t>(at) * in.token_stride;
      return static_cast<const uint8_t*>(in.data) + elements * static_cast<ptrdiff_t>(unit);
    };
    const uint8_t* const units = place(data, unit_size(type));
    const uint8_t* const scale = scale_size(type) != 0 ? place(scales, scale_size(type)) : nullptr;
    std::vector<float> x(keys ? cache.head_dim : cache.value_dim);
    for (size_t d = 0; d < x.size(); ++d) x[d] = element_of(type, units, scale, d);
    return x;
  }

 private:
  struct Entry {
    std::vector<std::vector<float>> tokens;  // [kv_heads][key, value]
    size_t most = 0;                         // that there ever were
  };

  static bool near(const float* want, const std::vector<float>& got, fovea_dtype type) {
    float largest = 0;
    for (size_t d = 0; d < got.size(); ++d) largest = std::max(largest, std::fabs(want[d]));
    for (size_t d = 0; d < got.size(); ++d) {
      const float allowed = type == FOVEA_F32    ? 0
                            : type == FOVEA_F16  ? std::fabs(want[d]) / 2048 + 1e-7f
                            : type == FOVEA_BF16 ? std::fabs(want[d]) / 256 + 1e-30f
                            : type == FOVEA_I8   ? largest / 253
                                                 : largest / 6;
      if (std::fabs(got[d] - want[d]) > allowed) return false;
    }
    return true;
  }

  // Two queries an entry over the cache, held against the reference over the decoded rows.
  std::string attend(fovea_target target) {
    fovea_attention_desc d{};
    d.struct_bytes = sizeof d;
    REQUIRE(fovea_kv_describe(&cache, &d) == FOVEA_OK);
    d.q_heads = 4, d.max_q_tokens = 2;
    d.causal = FOVEA_CAUSAL_BOTTOM_RIGHT;
    d.target = target;
    fovea_plan plan{};
    REQUIRE(fovea_plan_init(&plan, &d) == FOVEA_OK);
    fovea_attention_args a{};
    a.struct_bytes = sizeof a;
    REQUIRE(fovea_kv_attach(&cache, &a) == FOVEA_OK);
    a.q_tokens = 2;
    std::vector<float> q(cache.batch * 4 * 2 * cache.head_dim), out(cache.batch * 4 * 2 * cache.value_dim);
    for (size_t i = 0; i < q.size(); ++i) q[i] = random_normal(seed_ + 1, i);
    const auto dims = [](uint32_t heads, uint32_t tokens, uint32_t dim, auto* array) {
      array->token_stride = dim, array->head_stride = static_cast<ptrdiff_t>(tokens) * dim;
      array->batch_stride = static_cast<ptrdiff_t>(heads) * tokens * dim;
    };
    a.q.data = q.data(), a.out.data = out.data();
    dims(4, 2, cache.head_dim, &a.q), dims(4, 2, cache.value_dim, &a.out);
    const Guarded workspace(plan.workspace_bytes, 64, Placement::kStart);
    const fovea_status status = fovea_attention(&plan, &a, workspace.as<void>(), workspace.bytes());
    if (status != FOVEA_OK) return fovea_status_string(status);

    // The same keys as f32 arrays. Of the ring's, those that are gone are not looked at.
    fovea_attention_args truth = a;
    std::vector<float> keys(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.head_dim, NAN);
    std::vector<float> values(size_t{cache.batch} * cache.kv_heads * a.kv_tokens * cache.value_dim, NAN);
    truth.kv.keys.data = keys.data(), truth.kv.values.data = values.data();
    dims(cache.kv_heads, a.kv_tokens, cache.head_dim, &truth.kv.keys);
    dims(cache.kv_heads, a.kv_tokens, cache.value_dim, &truth.kv.values);
    for (uint32_t b = 0; b < cache.batch; ++b) {
      for (uint32_t h = 0; h < cache.kv_heads; ++h) {
        for (uint32_t t = 0; t < length(b); ++t) {
          const std::vector<float> key = row(true, b, h, t), value = row(false, b, h, t);
          const size_t at = (size_t{b} * cache.kv_heads + h) * a.kv_tokens + t;
          std::copy(key.begin(), key.end(), keys.begin() + static_cast<ptrdiff_t>(at * cache.head_dim));
          std::copy(value.begin(), value.end(), values.begin() + static_cast<ptrdiff_t>(at * cache.value_dim));
        }
      }
    }
    const Attention want = attention(d, truth);
    for (size_t i = 0; i < out.size(); ++i) {
      if (!close(out[i], want.out[i], want.out_tolerance[i / cache.value_dim]))
        return "attention, at " + std::to_string(i);
    }
    return "";
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_pages_;
  uint64_t seed_, next_ = 0;
};

void run_operations(const Kind& kind, fovea_dtype keys, fovea_dtype values, uint64_t seed, int operations) {
  Model model(kind, keys, values, seed);
  const std::vector<fovea_target> all = targets();
  for (int i = 0; i < operations; ++i) {
    const uint64_t bits = random_bits(seed + 5, static_cast<uint64_t>(i));
    const fovea_target target = all[bits % all.size()];
    const auto entry = static_cast<uint32_t>(bits >> 8) % 3;
    const uint32_t length = model.length(entry);
    INFO("operation " << i << ", kind " << kind.kind << ", " << type_name(keys) << "/" << type_name(values));
    switch (bits >> 16 & 7) {
      case 0: {
        const auto to = static_cast<uint32_t>(bits >> 24) % (length + 1);
        const bool lost = to > model.cache.pinned_tokens && to < model.oldest(entry);
        CHECK(model.truncate(entry, to) == (lost ? FOVEA_ERR_LENGTH : FOVEA_OK));
        break;
      }
      case 1:
        if ((bits >> 24) % 4 == 0) CHECK(model.truncate(entry, 0) == FOVEA_OK);
        break;
      default: {
        const uint32_t batch = 1 + static_cast<uint32_t>(bits >> 20) % (3 - entry);
        std::vector<uint32_t> counts;
        bool fits = true;
        for (uint32_t b = 0; b < batch; ++b) {
          counts.push_back(static_cast<uint32_t>(bits >> (24 + 6 * b)) % 20);
          if ((bits >> 60) == 3) counts.back() += 60;
          if (kind.kind != FOVEA_KV_RING) fits = fits && model.length(entry + b) + counts.back() <= kind.max_tokens;
        }
        for (uint32_t b = 0; b < batch && fits; ++b) model.give_pages(entry + b, counts[b]);
        CHECK(model.append(target, entry, counts) == (fits ? FOVEA_OK : FOVEA_ERR_FULL));
      }
    }
    REQUIRE(model.check(target) == "");
  }
}

}  // namespace

TEST_CASE("cache: whatever is put in, taken back and put in again is there", "[short]") {
  const fovea_dtype pairs[][2] = {{FOVEA_F32, FOVEA_F16}, {FOVEA_I8, FOVEA_BF16}, {FOVEA_I4, FOVEA_I8}};
  for (const Kind& kind : kKinds) {
    for (const auto& pair : pairs) run_operations(kind, pair[0], pair[1], 17 + pair[0], 25);
  }
}

TEST_CASE("cache: the same for many operations") {
  for (const Kind& kind : kKinds) {
    for (const fovea_dtype type : kTypes) run_operations(kind, type, kTypes[(type + 2) % 5], 40 + type, 150);
  }
}

TEST_CASE("cache: a full one says so, and loses nothing", "[short]") {
  for (const Kind& kind : kKinds) {
    if (kind.kind == FOVEA_KV_RING) continue;
    Model model(kind, FOVEA_I8, FOVEA_F32, 3);
    model.give_pages(0, 100), model.give_pages(1, 20);
    REQUIRE(model.append(FOVEA_TARGET_BEST, 0, {100, 20}) == FOVEA_OK);
    const std::vector<uint8_t> before(model.memory.as<uint8_t>(), model.memory.as<uint8_t>() + model.memory.bytes());
    const auto same = [&]() { return std::memcmp(before.data(), model.memory.as<void>(), before.size()) == 0; };
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
  for (const Kind& kind : kKinds) {
    for (const fovea_dtype type : {FOVEA_F16, FOVEA_I8, FOVEA_I4}) {
      std::vector<float> want;
      for (const fovea_target target : targets()) {
        if (flushes_subnormals(target)) continue;
        Model model(kind, type, type, 9);
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
}

TEST_CASE("cache: keys may be turned on their way in", "[short]") {
  const Kind& kind = kKinds[2];
  const uint32_t tokens = 100, heads = 2, dim = 36;
  std::vector<uint64_t> turns(9);
  REQUIRE(fovea_rope_frequencies(turns.data(), 0, 0, 18) == FOVEA_OK);
  std::vector<float> keys(heads * tokens * dim), values(heads * tokens * 20, 1.0f), turned(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = random_normal(4, i);
  fovea_rope_args rope{};
  rope.struct_bytes = sizeof rope;
  rope.layout = FOVEA_ROPE_HALF_SPLIT;
  rope.rotary_dim = 18;
  rope.turns = turns.data();
  rope.position_offset = 1000;
  for (const fovea_target target : targets()) {
    fovea_rope_args whole = rope;
    whole.target = target;
    whole.batch = 1, whole.heads = heads, whole.tokens = tokens, whole.dim = dim;
    whole.in = {keys.data(), 0, tokens * dim, dim};
    whole.out = {turned.data(), 0, tokens * dim, dim};
    REQUIRE(fovea_rope_f32(&whole) == FOVEA_OK);
    fovea_kv_cache c = cache_of(kind, FOVEA_F32, FOVEA_F32);
    Guarded memory((fovea_kv_cache_bytes(&c) + 63) / 64 * 64, 64, Placement::kEnd);
    REQUIRE(fovea_kv_cache_init(&c, memory.as<void>(), memory.bytes()) == FOVEA_OK);
    fovea_kv_append_args a{};
    a.struct_bytes = sizeof a;
    a.target = target;
    a.entry = 1, a.batch = 1;
    a.rope = &rope;
    for (const uint32_t at_once : {1u, 3u}) {  // tokens that the workspace has room for
      REQUIRE(fovea_kv_reset(&c, 1) == FOVEA_OK);
      Guarded workspace(at_once * heads * dim * sizeof(float), sizeof(float), Placement::kEnd);
      a.workspace = workspace.as<void>(), a.workspace_bytes = workspace.bytes();
      for (uint32_t done = 0; done < tokens; done += 25) {
        a.tokens = 25;
        a.keys = {keys.data() + done * dim, 0, tokens * dim, dim};
        a.values = {values.data(), 0, tokens * 20, 20};
        REQUIRE(fovea_kv_append(&c, &a) == FOVEA_OK);
      }
      CHECK(workspace.margin_intact());
      for (uint32_t t = c.first_tokens[1]; t < tokens; ++t) {
        const uint32_t slot = 5 + (t - 5) % 70;
        const float* got = static_cast<const float*>(c.source.keys.data) + c.source.keys.batch_stride +
                           c.source.keys.head_stride + static_cast<ptrdiff_t>(slot) * c.source.keys.token_stride;
        REQUIRE(std::memcmp(got, turned.data() + (tokens + t) * dim, dim * sizeof(float)) == 0);
      }
    }
    // What is wrong with the turning is found before anything is written.
    const uint32_t length = c.lengths[1];
    a.workspace_bytes = heads * dim * sizeof(float) - 1;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_WORKSPACE);
    a.workspace_bytes += 1;
    a.workspace = nullptr;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_NULL);
    a.workspace = c.memory;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_OVERLAP);
    Guarded workspace(heads * dim * sizeof(float), sizeof(float), Placement::kEnd);
    a.workspace = workspace.as<void>();
    fovea_rope_args wrong = rope;
    a.rope = &wrong;
    wrong.rotary_dim = 17;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_DIM);
    wrong = rope, wrong.struct_bytes = 0;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_STRUCT);
    wrong = rope, wrong.position_offset = INT64_MAX;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_SIZE);
    wrong = rope, wrong.turns = nullptr;
    CHECK(fovea_kv_append(&c, &a) == FOVEA_ERR_NULL);
    CHECK(c.lengths[1] == length);
  }
}

TEST_CASE("cache: what is wrong has its status", "[short]") {
  const auto init = [](void (*change)(fovea_kv_cache&)) {
    fovea_kv_cache c = cache_of(kKinds[0], FOVEA_F32, FOVEA_F32);
    Guarded memory((fovea_kv_cache_bytes(&c) + 63) / 64 * 64, 64, Placement::kEnd);
    change(c);
    const fovea_status status = fovea_kv_cache_init(&c, memory.as<void>(), memory.bytes());
    CHECK((status == FOVEA_OK || memory.untouched()));
    return status;
  };
  using C = fovea_kv_cache;
  CHECK(init([](C&) {}) == FOVEA_OK);
  CHECK(init([](C& c) { c.struct_bytes = 0; }) == FOVEA_ERR_STRUCT);
  CHECK(init([](C& c) { c.kind = enum_of<fovea_kv_kind>(4); }) == FOVEA_ERR_ENUM);
  CHECK(init([](C& c) { c.key_dtype = enum_of<fovea_dtype>(5); }) == FOVEA_ERR_ENUM);
  CHECK(init([](C& c) { c.value_dtype = enum_of<fovea_dtype>(kNegative); }) == FOVEA_ERR_ENUM);
  CHECK(init([](C& c) { c.kind = FOVEA_KV_LOAD; }) == FOVEA_ERR_UNSUPPORTED);
  CHECK(init([](C& c) { c.kv_heads = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](C& c) { c.head_dim = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](C& c) { c.value_dim = 0; }) == FOVEA_ERR_DIM);
  CHECK(init([](C& c) { c.max_tokens = (1u << 30) + 1; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.pinned_tokens = 1; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.kind = FOVEA_KV_RING, c.pinned_tokens = c.max_tokens; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.page_tokens = 16; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.pages = 16; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.kind = FOVEA_KV_PAGED; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.batch = 0xffffffffu, c.kv_heads = 0xffffffffu; }) == FOVEA_ERR_SIZE);
  CHECK(init([](C& c) { c.batch = 4; }) == FOVEA_ERR_WORKSPACE);
  CHECK(init([](C& c) { c.batch = 0; }) == FOVEA_OK);

  fovea_kv_cache c = cache_of(kKinds[0], FOVEA_F32, FOVEA_I8);
  Guarded memory((fovea_kv_cache_bytes(&c) + 63) / 64 * 64 + 64, 64, Placement::kEnd);
  CHECK(fovea_kv_cache_init(nullptr, memory.as<void>(), memory.bytes()) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_cache_init(&c, nullptr, memory.bytes()) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_cache_init(&c, memory.as<char>() + 4, memory.bytes() - 4) == FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_kv_reset(&c, 0) == FOVEA_ERR_PLAN);  // not made
  REQUIRE(fovea_kv_cache_init(&c, memory.as<void>(), memory.bytes()) == FOVEA_OK);

  std::vector<float> rows(3 * 2 * 4 * 36);
  fovea_kv_append_args good{};
  good.struct_bytes = sizeof good;
  good.batch = 3, good.tokens = 4;
  good.keys = {rows.data(), 2 * 4 * 36, 4 * 36, 36};
  good.values = {rows.data(), 2 * 4 * 20, 4 * 20, 20};
  const auto append = [&](void (*change)(fovea_kv_append_args&)) {
    fovea_kv_append_args a = good;
    change(a);
    const std::vector<uint8_t> before(memory.as<uint8_t>(), memory.as<uint8_t>() + memory.bytes());
    const fovea_status status = fovea_kv_append(&c, &a);
    CHECK((status == FOVEA_OK || std::memcmp(before.data(), memory.as<void>(), before.size()) == 0));
    return status;
  };
  using A = fovea_kv_append_args;
  static const uint32_t kTooMany[3] = {0, 4, 5}, kSome[3] = {0, 4, 1};
  CHECK(append([](A&) {}) == FOVEA_OK);
  CHECK(append([](A& a) { a.counts = kSome; }) == FOVEA_OK);
  CHECK(c.lengths[0] == 4);
  CHECK(c.lengths[1] == 8);
  CHECK(c.lengths[2] == 5);
  CHECK(append([](A& a) { a.struct_bytes = 1; }) == FOVEA_ERR_STRUCT);
  CHECK(append([](A& a) { a.target = enum_of<fovea_target>(9); }) == FOVEA_ERR_ENUM);
  CHECK(append([](A& a) { a.entry = 1; }) == FOVEA_ERR_CAPACITY);
  CHECK(append([](A& a) { a.entry = 0xffffffffu; }) == FOVEA_ERR_CAPACITY);
  CHECK(append([](A& a) { a.counts = kTooMany; }) == FOVEA_ERR_LENGTH);
  CHECK(append([](A& a) { a.keys.data = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(append([](A& a) { a.values.data = nullptr; }) == FOVEA_ERR_NULL);
  CHECK(append([](A& a) { a.keys.data = static_cast<const char*>(a.keys.data) + 1; }) == FOVEA_ERR_ALIGNMENT);
  CHECK(append([](A& a) { a.values.batch_stride = PTRDIFF_MAX; }) == FOVEA_ERR_SIZE);
  CHECK(append([](A& a) { a.tokens = 0; }) == FOVEA_OK);
  fovea_kv_append_args own = good;
  own.keys.data = c.memory;
  CHECK(fovea_kv_append(&c, &own) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_kv_append(nullptr, &good) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_append(&c, nullptr) == FOVEA_ERR_NULL);

  CHECK(fovea_kv_truncate(&c, 3, 0) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_kv_truncate(&c, 2, 6) == FOVEA_ERR_LENGTH);
  CHECK(fovea_kv_reset(&c, 3) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_kv_reset(&c, 1) == FOVEA_OK);
  CHECK(c.lengths[1] == 0);
  CHECK(c.lengths[0] == 4);
  CHECK(fovea_kv_reset(&c, FOVEA_ALL_ENTRIES) == FOVEA_OK);
  CHECK(c.lengths[0] + c.lengths[1] + c.lengths[2] == 0);
  CHECK(fovea_kv_describe(&c, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_attach(&c, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_kv_cache_bytes(nullptr) == 0);
}

TEST_CASE("cache: the macro has room for any strided cache or ring", "[short]") {
  for (const fovea_dtype keys : kTypes) {
    for (const fovea_dtype values : kTypes) {
      for (const Kind& kind : {kKinds[0], kKinds[2]}) {
        for (const uint32_t dim : {1u, 31u, 32u, 33u, 128u}) {
          fovea_kv_cache c = cache_of(kind, keys, values);
          c.head_dim = dim, c.value_dim = 161 - dim;
          const size_t most =
              FOVEA_KV_CACHE_BYTES(keys, values, c.batch, c.kv_heads, c.max_tokens, c.head_dim, c.value_dim);
          CHECK(fovea_kv_cache_bytes(&c) <= most);
          CHECK(fovea_kv_cache_bytes(&c) + 512 > most);
        }
      }
    }
  }
}

}  // namespace fovea_test
