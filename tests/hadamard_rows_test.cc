// SPDX-License-Identifier: Apache-2.0
//
// Rotated keys and values: caches that rotate what is appended, and attention that rotates queries and takes the
// rotation of outputs back, which attention_pairs_test.cc has beside all options.
#include "support/centered.h"
#include "support/rotated.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

constexpr fovea_hadamard_rows kRotations[] = {FOVEA_HADAMARD_KEYS, FOVEA_HADAMARD_VALUES, FOVEA_HADAMARD_BOTH};
constexpr uint64_t kSeed = 0x1234567890abcdefu;

struct Made {
  fovea_kv_cache cache{};
  Guarded memory;

  explicit Made(const fovea_kv_cache& desc) : cache(desc), memory(bytes_of(fovea_kv_cache_bytes, &desc), 64, Placement::kStart) {
    REQUIRE(fovea_kv_cache_init(&cache, memory.as<void>(), memory.bytes()) == FOVEA_OK);
  }
};

constexpr uint32_t kHeads = 2, kDim = 48, kValueDim = 80, kTokens = 21;

fovea_kv_cache cache_of(fovea_dtype type, fovea_hadamard_rows rotation) {
  auto c = sized<fovea_kv_cache>();
  c.key_dtype = c.value_dtype = type;
  c.batch = 2, c.kv_heads = kHeads, c.head_dim = kDim, c.value_dim = kValueDim, c.max_tokens = 30;
  c.hadamard = rotation, c.hadamard_seed = kSeed;
  return c;
}

fovea_kv_append_args append_of(const std::vector<float>& keys, const std::vector<float>& values) {
  auto a = sized<fovea_kv_append_args>();
  a.batch = 2, a.tokens = kTokens;
  a.keys = {keys.data(), kHeads * kTokens * kDim, kTokens * kDim, kDim};
  a.values = {values.data(), kHeads * kTokens * kValueDim, kTokens * kValueDim, kValueDim};
  return a;
}

}  // namespace

TEST_CASE("rotation: integer products see a centre of rotated keys", "[short]") {
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 70, p.head_dim = 32, p.value_dim = 16;
  p = p.with_integers();
  p.lse = true;
  Centered test(p);
  for (const auto& [target, rotation] : every(p.targets(), kRotations)) {
    CHECK(compare_rotated(test, {target}, rotation, kSeed) == "");
  }
}

TEST_CASE("rotation: streams take the rotation back at their end, and their states merge", "[short]") {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = 3, p.kv_tokens = 150, p.head_dim = p.value_dim = 32;
  p.key_dtype = p.value_dtype = FOVEA_Q4_0;
  AttentionCase test(p);
  test.desc.hadamard = FOVEA_HADAMARD_BOTH, test.desc.hadamard_seed = kSeed;
  for (const fovea_target target : p.targets()) {
    REQUIRE(test.run_unchecked({target, Budget::kNone, false, 64}) == "");
    const Outputs want = test.outputs();
    const TestStream all(test.desc, target), part(test.desc, target);
    for (uint32_t first = 0; first < 3 * 64; first += 64) {
      const TestStream& stream = first == 0 ? all : part;
      stream.begin(first);
      REQUIRE(stream.push(test, {first, std::min(first + 64, p.kv_tokens)}) == FOVEA_OK);
      if (first != 0) REQUIRE(fovea_stream_merge(&all.plan, all.state(), part.state()) == FOVEA_OK);
    }
    test.fill_outputs();
    REQUIRE(all.end(test.args) == FOVEA_OK);
    CHECK(same_bits(test.outputs(), want));
  }
}

TEST_CASE("rotation: a cache stores turned, then rotated, then centred rows", "[short]") {
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  const std::vector<float> values = normal_numbers(size_t{2} * kHeads * kTokens * kValueDim, 5);
  const std::vector<float> center = normal_numbers(kHeads * kDim, 6);
  uint64_t turns[8];
  REQUIRE(fovea_rope_frequencies(turns, 0, 0, 16) == FOVEA_OK);
  auto rope = sized<fovea_rope_args>();
  rope.layout = FOVEA_ROPE_HALF_SPLIT, rope.rotary_dim = 16, rope.turns = turns;
  const auto turned_by = [&](fovea_target target) {  // targets that do not fuse multiply-adds have other bits
    std::vector<float> turned = keys;
    fovea_rope_args all = rope;
    all.target = target, all.batch = 2, all.heads = kHeads, all.tokens = kTokens, all.dim = kDim;
    all.x = append_of(turned, values).keys;
    all.y = {turned.data(), all.x.batch_stride, all.x.head_stride, all.x.token_stride};
    REQUIRE(fovea_rope(&all) == FOVEA_OK);
    return turned;
  };
  for (const fovea_hadamard_rows rotation : kRotations) {
    std::vector<float> new_values = values;
    if (rotates_values(rotation)) rotate_rows(new_values.data(), new_values.size() / kValueDim, kValueDim, kSeed);
    for (const fovea_dtype type : kKeyTypes) {
      for (const uint32_t options : {0u, 1u}) {  // with turned and centred keys, or neither
        for (const fovea_target target : targets()) {
          INFO(type_name(type) << " rotation " << uint32_t{rotation} << " options " << options);
          fovea_kv_cache plain = cache_of(type, FOVEA_HADAMARD_NONE), rotated = cache_of(type, rotation);
          if (options != 0) plain.key_center = rotated.key_center = center.data();
          std::vector<float> new_keys = options != 0 ? turned_by(target) : keys;
          if (rotates_keys(rotation)) rotate_rows(new_keys.data(), keys.size() / kDim, kDim, kSeed);
          Made want(plain), got(rotated);
          const size_t row = options != 0 || rotation != FOVEA_HADAMARD_KEYS ? kValueDim : kDim;
          const Guarded room(kHeads * row * sizeof(float), sizeof(float), Placement::kEnd);
          fovea_kv_append_args a = append_of(new_keys, new_values);
          a.target = target;
          a.workspace = room.as<void>(), a.workspace_bytes = room.bytes();
          REQUIRE(fovea_kv_append(&want.cache, &a) == FOVEA_OK);
          a.keys.data = keys.data(), a.values.data = values.data();
          if (options != 0) a.rope = &rope;
          REQUIRE(fovea_kv_append(&got.cache, &a) == FOVEA_OK);
          CHECK(std::memcmp(want.memory.as<char>(), got.memory.as<char>(), want.memory.bytes()) == 0);
          CHECK(room.margin_intact());
        }
      }
    }
  }
}

TEST_CASE("rotation: a cache describes its rotation, and half-precision tokens are rotated as their numbers",
          "[short]") {
  std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  std::vector<float> values = normal_numbers(size_t{2} * kHeads * kTokens * kValueDim, 5);
  std::vector<uint16_t> half_keys, half_values;
  for (float& x : keys) half_keys.push_back(uint16_t(bits_of(x) >> 16)), x = float_of(bits_of(x) >> 16 << 16);
  for (float& x : values) half_values.push_back(uint16_t(bits_of(x) >> 16)), x = float_of(bits_of(x) >> 16 << 16);
  Made want(cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH)), got(cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH));
  std::vector<float> room(4 * kHeads * kValueDim);
  fovea_kv_append_args a = append_of(keys, values);
  a.workspace = room.data(), a.workspace_bytes = room.size() * sizeof(float);
  REQUIRE(fovea_kv_append(&want.cache, &a) == FOVEA_OK);
  a.dtype = FOVEA_BF16, a.keys.data = half_keys.data(), a.values.data = half_values.data();
  REQUIRE(fovea_kv_append(&got.cache, &a) == FOVEA_OK);
  CHECK(std::memcmp(want.memory.as<char>(), got.memory.as<char>(), want.memory.bytes()) == 0);

  auto d = sized<fovea_attention_desc>();
  REQUIRE(fovea_kv_describe(&got.cache, &d) == FOVEA_OK);
  CHECK(d.hadamard == FOVEA_HADAMARD_BOTH);
  CHECK(d.hadamard_seed == kSeed);
}

TEST_CASE("rotation: every misuse has its status", "[short]") {
  Problem p;
  p.head_dim = 24, p.value_dim = 20, p.q_tokens = 5, p.kv_tokens = 9;
  AttentionCase test(p);
  fovea_attention_plan plan;
  const auto planned = [&](fovea_hadamard_rows rotation, void (*change)(fovea_attention_desc&)) {
    fovea_attention_desc d = test.desc;
    change(d);
    d.hadamard = rotation;
    return fovea_attention_plan_init(&plan, &d);
  };
  using D = fovea_attention_desc;
  CHECK(planned(enum_of<fovea_hadamard_rows>(4), [](D&) {}) == FOVEA_ERR_ENUM);
  CHECK(planned(enum_of<fovea_hadamard_rows>(kNegative), [](D&) {}) == FOVEA_ERR_ENUM);
  const auto additive = [](auto& d) { d.score = FOVEA_SCORE_ADDITIVE; };
  CHECK(planned(FOVEA_HADAMARD_KEYS, additive) == FOVEA_ERR_UNSUPPORTED);
  CHECK(planned(FOVEA_HADAMARD_VALUES, additive) == FOVEA_OK);
  const auto half = [](auto& d) { d.q_dtype = d.out_dtype = FOVEA_F16; };
  CHECK(planned(FOVEA_HADAMARD_KEYS, half) == FOVEA_OK);
  CHECK(planned(FOVEA_HADAMARD_VALUES, half) == FOVEA_ERR_UNSUPPORTED);
  const auto codes = [](auto& d) { d.q_dtype = d.key_dtype = d.value_dtype = FOVEA_I8, d.compute = FOVEA_COMPUTE_I8; };
  CHECK(planned(FOVEA_HADAMARD_KEYS, codes) == FOVEA_ERR_UNSUPPORTED);
  CHECK(planned(FOVEA_HADAMARD_VALUES, codes) == FOVEA_OK);

  AttentionCase integers(p.with_integers());
  const std::vector<float> factors(p.value_dim, 2.0f);
  integers.args.value_channel_scales = factors.data();
  CHECK(integers.run_unchecked({}) == "");
  integers.desc.hadamard = FOVEA_HADAMARD_KEYS;
  CHECK(integers.run_unchecked({}) == "");
  integers.desc.hadamard = FOVEA_HADAMARD_VALUES;
  CHECK(integers.run_unchecked({}).find(fovea_status_string(FOVEA_ERR_UNSUPPORTED)) != std::string::npos);
  CHECK(integers.outputs_untouched());

  fovea_kv_cache c = cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH);
  CHECK(bytes_of(fovea_kv_cache_bytes, &c) != 0);
  c.values_in_keys = 1, c.value_dim = kDim;
  CHECK(refusal_of(fovea_kv_cache_bytes, &c) == FOVEA_ERR_UNSUPPORTED);
  CHECK(fovea_kv_cache_init(&c, nullptr, 0) == FOVEA_ERR_UNSUPPORTED);
  c.hadamard = FOVEA_HADAMARD_NONE;
  CHECK(bytes_of(fovea_kv_cache_bytes, &c) != 0);
  c.hadamard = enum_of<fovea_hadamard_rows>(4);
  CHECK(fovea_kv_cache_init(&c, nullptr, 0) == FOVEA_ERR_ENUM);

  // A workspace, which rotated values alone need, too, and copies among caches that are rotated alike.
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  const std::vector<float> values = normal_numbers(size_t{2} * kHeads * kTokens * kValueDim, 5);
  for (const fovea_hadamard_rows rotation : kRotations) {
    Made made(cache_of(FOVEA_I8, rotation)), other(cache_of(FOVEA_I8, FOVEA_HADAMARD_NONE));
    std::vector<float> room(kHeads * (rotates_values(rotation) ? kValueDim : kDim));
    fovea_kv_append_args a = append_of(keys, values);
    CHECK(fovea_kv_append(&made.cache, &a) == FOVEA_ERR_NULL);
    a.workspace = room.data(), a.workspace_bytes = room.size() * sizeof(float) - 1;
    CHECK(fovea_kv_append(&made.cache, &a) == FOVEA_ERR_WORKSPACE);
    a.workspace_bytes += 1;
    a.values.data = room.data();
    CHECK(fovea_kv_append(&made.cache, &a) == FOVEA_ERR_OVERLAP);
    a.values.data = values.data();
    CHECK(fovea_kv_append(&made.cache, &a) == FOVEA_OK);
    CHECK(fovea_kv_copy(&other.cache, 0, &made.cache, 0, 3) == FOVEA_ERR_SIZE);
    fovea_kv_cache seed = cache_of(FOVEA_I8, rotation);
    ++seed.hadamard_seed;
    Made differs(seed), same(cache_of(FOVEA_I8, rotation));
    CHECK(fovea_kv_copy(&differs.cache, 0, &made.cache, 0, 3) == FOVEA_ERR_SIZE);
    CHECK(fovea_kv_copy(&same.cache, 0, &made.cache, 0, 3) == FOVEA_OK);
  }
}

TEST_CASE("rotation: the workspace is within the macros for static arrays", "[short]") {
  for (const auto& [q_tokens, head_dim] : every({1u, 3u, 200u}, {1u, 24u, 128u})) {
    auto d = sized<fovea_attention_desc>();
    d.q_heads = d.kv_heads = 1, d.head_dim = d.value_dim = head_dim;
    d.max_batch = 1, d.max_q_tokens = q_tokens, d.max_kv_tokens = 100, d.hadamard = FOVEA_HADAMARD_BOTH;
    const size_t more = FOVEA_ATTENTION_HADAMARD_WORKSPACE_BYTES(head_dim);
    const auto fits = [&](fovea_dtype type, fovea_compute compute, size_t bytes) {
      fovea_attention_plan plan;
      d.key_dtype = d.value_dtype = type, d.compute = compute;
      return fovea_attention_plan_init(&plan, &d) == FOVEA_OK && made(plan).workspace_bytes <= bytes;
    };
    CHECK(fits(FOVEA_F32, FOVEA_COMPUTE_F32, FOVEA_ATTENTION_WORKSPACE_BYTES(head_dim, head_dim) + more));
    CHECK(fits(FOVEA_F32, FOVEA_COMPUTE_F32, FOVEA_ATTENTION_WORKSPACE_BYTES_FOR(head_dim, head_dim, q_tokens) + more));
    CHECK(
        fits(FOVEA_I4, FOVEA_COMPUTE_F32, FOVEA_ATTENTION_KV_WORKSPACE_BYTES_FOR(head_dim, head_dim, q_tokens) + more));
    CHECK(
        fits(FOVEA_I8, FOVEA_COMPUTE_I8, FOVEA_ATTENTION_I8_WORKSPACE_BYTES_FOR(head_dim, head_dim, q_tokens) + more));
  }
}

}  // namespace fovea_test
