// SPDX-License-Identifier: Apache-2.0
//
// Rotations against the Hadamard matrix in double, on every target; and caches and attention that rotate rows.
#include "support/cache_model.h"
#include "support/centered.h"
#include "support/rotated.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

constexpr uint32_t kDims[] = {1, 2, 3, 4, 8, 12, 16, 40, 64, 80, 96, 128, 256, 320};

struct RotateProblem {
  uint32_t batch = 2, heads = 2, tokens = 3, dim = 64, block = 0;
  uint64_t seed = 0;
  bool inverse = false, in_place = false, padded = false, tokens_first = false;
  Placement placement = Placement::kEnd;

  uint32_t used_block() const { return block != 0 ? block : dim & (0 - dim); }
};

struct RotateCase {
  RotateProblem p;
  Array x, y;
  fovea_hadamard_args args = {};

  explicit RotateCase(const RotateProblem& problem) : p(problem) {
    const Layout dense = p.tokens_first ? Layout::kTokensFirst : Layout::kHeadsFirst;
    x = array(p.padded ? Layout::kPadded : dense), y = array(p.padded ? dense : Layout::kPadded);
    x.draw(3);
    args.struct_bytes = sizeof args;
    args.batch = p.batch, args.heads = p.heads, args.tokens = p.tokens, args.dim = p.dim, args.block = p.block;
    args.inverse = p.inverse ? 1 : 0, args.seed = p.seed;
    args.x = x.in(), args.y = output().out();
  }

  Array array(Layout layout) const {
    return Array(FOVEA_F32, {p.batch, p.heads, p.tokens, p.dim}, layout, p.placement);
  }
  template <class F>
  void each(const F& f) const {
    for (const auto& [b, h, t] : indices(p.batch, p.heads, p.tokens)) f(b, h, t);
  }
  const Array& output() const { return p.in_place ? x : y; }

  // An element of the row by the definition.
  double wanted(const std::vector<float>& row, const std::vector<double>& signs, uint32_t i) const {
    const uint32_t block = p.used_block(), first = i / block * block;
    double sum = 0;
    for (uint32_t j = first; j < first + block; ++j) {
      const bool odd = __builtin_popcount((i - first) & (j - first)) % 2 != 0;
      sum += (odd ? -1.0 : 1.0) * (p.inverse ? 1.0 : signs[j]) * double(row[j]);
    }
    return sum * (p.inverse ? signs[i] : 1.0) / std::sqrt(double(block));
  }

  // Empty, or what is wrong.
  std::string run(fovea_target target) {
    const std::string text = Text() << "rotate " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim
                                    << " block " << p.block << (p.inverse ? " inverse" : "")
                                    << (p.in_place ? " in place" : "") << (p.seed != 0 ? " signs" : "") << " | "
                                    << fovea_target_name(target);
    set_current_case(text);
    std::vector<std::vector<float>> rows;
    each([&](uint32_t b, uint32_t h, uint32_t t) { rows.push_back(x.numbers(b, h, t)); });
    const std::vector<double> signs = signs_of(p, target);
    args.target = target;
    if (!p.in_place) x.memory.read_only(true);
    const fovea_status status = fovea_hadamard(&args);
    if (!p.in_place) x.memory.read_only(false);
    if (status != FOVEA_OK) return text + ": " + fovea_status_string(status);
    const double block = p.used_block();
    const std::string wrong = compare_rows(output(), [&](size_t row, size_t d, double* allowed) {
      double sum = 0;
      for (const float x_d : rows[row]) sum += std::fabs(double(x_d));
      *allowed = (std::log2(block) + 1) * 0x1p-24 * sum / std::sqrt(block);
      return wanted(rows[row], signs, uint32_t(d));
    });
    return wrong.empty() ? "" : text + ": " + wrong;
  }

  // What a rotation of blocks of one element does to a row of ones.
  static std::vector<double> signs_of(const RotateProblem& p, fovea_target target) {
    RotateProblem one;
    one.batch = one.heads = one.tokens = one.block = 1, one.dim = p.dim, one.seed = p.seed;
    RotateCase signs(one);
    std::fill(signs.x.row<float>(0, 0, 0), signs.x.row<float>(0, 0, 0) + p.dim, 1.0f);
    signs.args.target = target;
    REQUIRE(fovea_hadamard(&signs.args) == FOVEA_OK);
    std::vector<double> result(signs.y.row<float>(0, 0, 0), signs.y.row<float>(0, 0, 0) + p.dim);
    for (const double sign : result) REQUIRE(std::fabs(sign) == 1.0);
    return result;
  }
};

TEST_CASE("rotate: any rows, blocks and signs agree with the matrix", "[short]") {
  for (const auto& [target, dim] : every(targets(), kDims)) {
    for (uint32_t block = 0; block == 0 || (block <= dim && dim % block == 0); block = block == 0 ? 1 : 2 * block) {
      for (const auto& [inverse, signs] : every({false, true}, {false, true})) {
        RotateProblem p;
        p.dim = dim, p.block = block, p.inverse = inverse, p.seed = signs ? 0x123456789abcdef0 : 0;
        const uint32_t which = dim + block + (inverse ? 1 : 0) + (signs ? 2 : 0);
        p.in_place = which % 3 == 0, p.padded = which % 5 < 2, p.tokens_first = which % 7 < 3;
        p.placement = which % 2 == 0 ? Placement::kOffset : which % 3 == 1 ? Placement::kEnd : Placement::kStart;
        CHECK(RotateCase(p).run(target) == "");
      }
    }
  }
}

TEST_CASE("rotate: all targets give the same bits, on all machines", "[short]") {
  constexpr uint64_t kRotated = 0x52094d8f309fc943u;
  for (const fovea_target target : targets()) {
    uint64_t hash = kHashOfNothing;
    for (const auto& [dim, seed] : every(kDims, {uint64_t{0}, uint64_t{0x9876543210}})) {
      RotateProblem p;
      p.dim = dim, p.seed = seed, p.padded = true;
      RotateCase test(p);
      REQUIRE(test.run(target) == "");
      hash = hash_bits(hash, test.y.numbers());
    }
    INFO(fovea_target_name(target));
    CHECK(hash == kRotated);
  }
}

TEST_CASE("rotate: seeds give different signs, half of them negative", "[short]") {
  RotateProblem p;
  p.dim = 256;
  std::vector<std::vector<double>> drawn;
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 32, uint64_t{3} << 32, ~uint64_t{0}}) {
    p.seed = seed;
    const std::vector<double> signs = RotateCase::signs_of(p, FOVEA_TARGET_BEST);
    const auto negative = std::count(signs.begin(), signs.end(), -1.0);
    CHECK(negative > 96);
    CHECK(negative < 160);
    for (const std::vector<double>& other : drawn) {
      size_t equal = 0;
      for (size_t d = 0; d < other.size(); ++d) equal += other[d] == signs[d] ? 1 : 0;
      CHECK(equal > 80);
      CHECK(equal < 176);
    }
    drawn.push_back(signs);
  }
}

TEST_CASE("rotate: NaN stays in its block", "[short]") {
  for (const auto& [target, block] : every(targets(), {2u, 16u})) {
    RotateProblem p;
    p.block = block;
    RotateCase test(p);
    test.x.row<float>(1, 0, 2)[35] = kNaN;
    test.args.target = target;
    REQUIRE(fovea_hadamard(&test.args) == FOVEA_OK);
    bool right = true;
    test.each([&](uint32_t b, uint32_t h, uint32_t t) {
      for (uint32_t d = 0; d < p.dim; ++d) {
        const float got = test.y.row<float>(b, h, t)[d];
        right = right && (got != got) == (b == 1 && h == 0 && t == 2 && d / p.block == 35 / p.block);
      }
    });
    CHECK(right);
  }
}

TEST_CASE("rotate: every misuse has its status, and nothing is written", "[short]") {
  std::vector<Misuse<RotateCase>> misuses = {
      {"no elements", FOVEA_ERR_DIM, [](auto& c) { c.args.dim = 0; }},
      {"a block that is no power of two", FOVEA_ERR_DIM, [](auto& c) { c.args.block = 24; }},
      {"a block that does not divide", FOVEA_ERR_DIM, [](auto& c) { c.args.block = 64; }},
      {"a block larger than a row", FOVEA_ERR_DIM, [](auto& c) { c.args.block = 0x80000000; }},
      {"y a row after x", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.tokens = 2, c.args.x = c.y.in(), c.args.x.data = c.y.row(0, 0, 1); }},
  };
  add_misuses(misuses);
  add_arrays(misuses, &fovea_hadamard_args::x, &fovea_hadamard_args::y);
  RotateProblem p;
  p.dim = 96;
  check_refused(
      misuses, [&] { return RotateCase(p); }, [](const RotateCase& c) { return fovea_hadamard(&c.args); },
      [](const RotateCase& c) { return c.y.memory.untouched(); });
  CHECK(fovea_hadamard(nullptr) == FOVEA_ERR_NULL);
}

constexpr fovea_hadamard_rows kRotations[] = {FOVEA_HADAMARD_KEYS, FOVEA_HADAMARD_VALUES, FOVEA_HADAMARD_BOTH};
constexpr uint64_t kSeed = 0x1234567890abcdefu;

constexpr uint32_t kHeads = 2, kDim = 48, kValueDim = 80, kTokens = 21;

fovea_kv_cache_desc cache_of(fovea_dtype type, fovea_hadamard_rows rotation) {
  auto c = sized<fovea_kv_cache_desc>();
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
          fovea_kv_cache_desc plain = cache_of(type, FOVEA_HADAMARD_NONE), rotated = cache_of(type, rotation);
          if (options != 0) plain.key_center = rotated.key_center = center.data();
          std::vector<float> new_keys = options != 0 ? turned_by(target) : keys;
          if (rotates_keys(rotation)) rotate_rows(new_keys.data(), keys.size() / kDim, kDim, kSeed);
          OwnedCache want(plain), got(rotated);
          const size_t row = options != 0 || rotation != FOVEA_HADAMARD_KEYS ? kValueDim : kDim;
          const Guarded room(kHeads * row * sizeof(float), sizeof(float), Placement::kEnd);
          fovea_kv_append_args a = append_of(new_keys, new_values);
          a.target = target;
          a.workspace = room.as<void>(), a.workspace_bytes = room.bytes();
          REQUIRE(fovea_kv_append(want, &a) == FOVEA_OK);
          a.keys.data = keys.data(), a.values.data = values.data();
          if (options != 0) a.rope = &rope;
          REQUIRE(fovea_kv_append(got, &a) == FOVEA_OK);
          CHECK(want.bytes() == got.bytes());
          CHECK(room.margin_intact());
        }
      }
    }
  }
}

TEST_CASE("rotation: a cache describes its rotation, and half-precision tokens rotate as their numbers", "[short]") {
  std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  std::vector<float> values = normal_numbers(size_t{2} * kHeads * kTokens * kValueDim, 5);
  std::vector<uint16_t> half_keys, half_values;
  for (float& x : keys) half_keys.push_back(uint16_t(bits_of(x) >> 16)), x = float_of(bits_of(x) >> 16 << 16);
  for (float& x : values) half_values.push_back(uint16_t(bits_of(x) >> 16)), x = float_of(bits_of(x) >> 16 << 16);
  OwnedCache want(cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH)), got(cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH));
  std::vector<float> room(4 * kHeads * kValueDim);
  fovea_kv_append_args a = append_of(keys, values);
  a.workspace = room.data(), a.workspace_bytes = room.size() * sizeof(float);
  REQUIRE(fovea_kv_append(want, &a) == FOVEA_OK);
  a.dtype = FOVEA_BF16, a.keys.data = half_keys.data(), a.values.data = half_values.data();
  REQUIRE(fovea_kv_append(got, &a) == FOVEA_OK);
  CHECK(want.bytes() == got.bytes());

  auto d = sized<fovea_attention_desc>();
  REQUIRE(fovea_kv_describe(got, &d) == FOVEA_OK);
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

  Cache c = cache_of(FOVEA_I8, FOVEA_HADAMARD_BOTH);
  CHECK(bytes_of(fovea_kv_cache_bytes, &c) != 0);
  c.values_in_keys = 1, c.value_dim = kDim;
  CHECK(refusal_of(fovea_kv_cache_bytes, &c) == FOVEA_ERR_UNSUPPORTED);
  CHECK(c.init(nullptr, 0) == FOVEA_ERR_UNSUPPORTED);
  c.hadamard = FOVEA_HADAMARD_NONE;
  CHECK(bytes_of(fovea_kv_cache_bytes, &c) != 0);
  c.hadamard = enum_of<fovea_hadamard_rows>(4);
  CHECK(c.init(nullptr, 0) == FOVEA_ERR_ENUM);

  // A workspace, which rotated values alone need, too, and copies among caches that are rotated alike.
  const std::vector<float> keys = normal_numbers(size_t{2} * kHeads * kTokens * kDim, 4);
  const std::vector<float> values = normal_numbers(size_t{2} * kHeads * kTokens * kValueDim, 5);
  for (const fovea_hadamard_rows rotation : kRotations) {
    OwnedCache made(cache_of(FOVEA_I8, rotation)), other(cache_of(FOVEA_I8, FOVEA_HADAMARD_NONE));
    std::vector<float> room(kHeads * (rotates_values(rotation) ? kValueDim : kDim));
    fovea_kv_append_args a = append_of(keys, values);
    CHECK(fovea_kv_append(made, &a) == FOVEA_ERR_NULL);
    a.workspace = room.data(), a.workspace_bytes = room.size() * sizeof(float) - 1;
    CHECK(fovea_kv_append(made, &a) == FOVEA_ERR_WORKSPACE);
    a.workspace_bytes += 1;
    a.values.data = room.data();
    CHECK(fovea_kv_append(made, &a) == FOVEA_ERR_OVERLAP);
    a.values.data = values.data();
    CHECK(fovea_kv_append(made, &a) == FOVEA_OK);
    CHECK(fovea_kv_copy(other, 0, made, 0, 3) == FOVEA_ERR_SIZE);
    fovea_kv_cache_desc seed = cache_of(FOVEA_I8, rotation);
    ++seed.hadamard_seed;
    OwnedCache differs(seed), same(cache_of(FOVEA_I8, rotation));
    CHECK(fovea_kv_copy(differs, 0, made, 0, 3) == FOVEA_ERR_SIZE);
    CHECK(fovea_kv_copy(same, 0, made, 0, 3) == FOVEA_OK);
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
