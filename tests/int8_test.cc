// SPDX-License-Identifier: Apache-2.0
//
// Integer products at the edges: rows as a cache may hold them though no conversion writes them, scales of any size,
// NaN and infinity in scales, and every width.
#include "support/test.h"

namespace fovea_test {
namespace {

Problem problem(uint32_t q_tokens, uint32_t kv_tokens) {
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = kv_tokens;
  p.head_dim = 40, p.value_dim = 24;
  return p.with_integers();
}

// Rows that take the few-rows kernel, where there is one, and rows that take the other.
constexpr uint32_t kQueries[] = {1, 2, 19};

// An int8 row of a case, and what the reference takes it for.
struct StoredRow {
  int8_t* codes;
  float* scale;
  float* numbers;
  uint32_t dim;

  void write(float new_scale, int code, int step = 0) const {
    *scale = new_scale;
    for (uint32_t d = 0; d < dim; ++d) codes[d] = int8_t(code + step * int(d));
    rescale(new_scale);
  }
  // The same codes with another scale; an infinite one counts as NaN.
  void rescale(float new_scale) const {
    *scale = new_scale;
    for (uint32_t d = 0; d < dim; ++d) numbers[d] = std::isfinite(new_scale) ? new_scale * float(codes[d]) : kNaN;
  }
};

StoredRow key_row(const AttentionCase& test, uint32_t b, uint32_t h, uint32_t j) {
  const fovea_kv_source& kv = test.args.kv;
  return {reinterpret_cast<int8_t*>(row_bytes(kv.keys, 1, b, h, j)), row(kv.key_scales, b, h, j), test.key(b, h, j),
          test.problem.head_dim};
}

StoredRow value_row(const AttentionCase& test, uint32_t b, uint32_t h, uint32_t j) {
  const fovea_kv_source& kv = test.args.kv;
  return {reinterpret_cast<int8_t*>(row_bytes(kv.values, 1, b, h, j)), row(kv.value_scales, b, h, j),
          test.value(b, h, j), test.problem.value_dim};
}

template <class Change>
void each_row(const AttentionCase& test, StoredRow (*row_of)(const AttentionCase&, uint32_t, uint32_t, uint32_t),
              Change change) {
  for (const auto& [h, j] : indices(test.problem.kv_heads, test.problem.kv_tokens)) change(row_of(test, 0, h, j), j);
}

// All queries multiplied by a factor, as the library and as the reference take them.
void scale_queries(const AttentionCase& test, float factor) {
  const Problem& p = test.problem;
  for (const auto& [h, i, d] : indices(p.q_heads, p.q_tokens, p.head_dim)) {
    row(test.args.q, 0, h, i)[d] *= factor;
    test.q(0, h, i)[d] *= factor;
  }
}

// "" if the case agrees with the reference on all targets, with the few-rows kernel and without it.
std::string run_both_ways(AttentionCase& test) {
  const std::string wrong = run_on_all_targets(test);
  return wrong.empty() ? run_on_all_targets(test, Budget::kNone, true) : wrong;
}

}  // namespace

TEST_CASE("int8: rows of every width agree with the reference", "[short]") {
  const fovea_dtype formats[] = {FOVEA_I8, FOVEA_I4, FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q5_0, FOVEA_Q5_1, FOVEA_IQ4_NL};
  for (uint32_t head_dim = 1; head_dim <= 80; ++head_dim) {
    Problem p;
    p.seed = head_dim, p.q_tokens = kQueries[head_dim % 3], p.kv_tokens = 70;
    p.head_dim = head_dim, p.value_dim = head_dim * 37 % 80 + 1;
    AttentionCase test(p.with_integers(formats[head_dim % 7], formats[head_dim % 5]));
    CHECK(run_both_ways(test) == "");
  }
}

TEST_CASE("int8: so do wide ones, up to the widest that is served", "[short]") {
  for (const auto& [head_dim, q_tokens] : every({127u, 128u, 129u, 200u, 1000u, 1023u, 1024u}, {1u, 5u})) {
    Problem p = problem(q_tokens, 66);
    p.head_dim = head_dim, p.value_dim = 3;
    AttentionCase keys(p);
    CHECK(run_both_ways(keys) == "");
    p.head_dim = 3, p.value_dim = head_dim;
    AttentionCase values(p);
    CHECK(run_both_ways(values) == "");
  }
}

TEST_CASE("int8: the description decides, not the rows", "[short]") {
  for (const uint32_t q_tokens : kQueries) {
    Problem p = problem(q_tokens, 90);
    p.stage = FOVEA_SCORES_SCALED;
    AttentionCase integers(p);
    p.compute = FOVEA_COMPUTE_F32;
    AttentionCase floats(p);
    CHECK(run_on_all_targets(floats) == "");
    const Outputs want = floats.outputs();
    CHECK(run_on_all_targets(integers) == "");
    CHECK(!same_bits(integers.out(), want.out));
    CHECK(!same_bits(integers.scores(), want.scores));
  }
}

TEST_CASE("int8: targets that extend another for its products of bytes take these", "[short]") {
  const auto dot_of = [](fovea_target target, fovea_compute compute) {
    AttentionCase test(problem(1, 1));
    test.desc.target = target, test.desc.compute = compute;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    return made(test.plan).dot;
  };
  const fovea_target pairs[][2] = {{FOVEA_TARGET_AVX512, FOVEA_TARGET_AVX512_VNNI},
                                   {FOVEA_TARGET_AVX2, FOVEA_TARGET_AVX2_VNNI}};
  const std::vector<fovea_target> all = targets_and_those_that_extend_them();
  for (const auto& pair : pairs) {
    if (std::count(all.begin(), all.end(), pair[1]) == 0) {
      skip(std::string(fovea_target_name(pair[1])) + " is not here");
      continue;
    }
    CHECK(dot_of(pair[1], FOVEA_COMPUTE_I8) != dot_of(pair[0], FOVEA_COMPUTE_I8));
    CHECK(dot_of(pair[1], FOVEA_COMPUTE_F32) == dot_of(pair[0], FOVEA_COMPUTE_F32));
  }
}

TEST_CASE("int8: codes of -128, which no conversion writes, are numbers as others", "[short]") {
  for (const uint32_t q_tokens : kQueries) {
    Problem p = problem(q_tokens, 130);
    p.head_dim = 1024, p.scale = 0.001f;
    AttentionCase test(p);
    each_row(test, key_row, [](const StoredRow& key, uint32_t j) { key.write(0.01f, j % 3 == 0 ? -128 : 127); });
    each_row(test, value_row, [](const StoredRow& value, uint32_t j) { value.write(0.5f, j % 2 == 0 ? -128 : 127); });
    if (q_tokens != 2) {  // all codes are 127: the largest sums there are
      scale_queries(test, 0.0f);
      for (const auto& [h, d] : indices(p.q_heads, p.head_dim)) {
        row(test.args.q, 0, h, 0)[d] = test.q(0, h, 0)[d] = -1.0f;
      }
    }
    CHECK(run_both_ways(test) == "");
  }
}

TEST_CASE("int8: queries of zeros give each key the same weight", "[short]") {
  for (const uint32_t q_tokens : kQueries) {
    AttentionCase test(problem(q_tokens, 64));
    scale_queries(test, 0.0f);
    each_row(test, value_row, [](const StoredRow& value, uint32_t j) { value.write(0.25f, int(j), 1); });
    CHECK(run_both_ways(test) == "");
    const std::vector<float> out = test.out();
    for (size_t i = 0; i < out.size(); ++i) {
      const float want = 0.25f * (31.5f + float(i % test.problem.value_dim));
      CHECK(std::fabs(out[i] - want) < 1e-6f * want);
    }
  }
}

TEST_CASE("int8: keys and values of any size, and queries that match them, agree with the reference", "[short]") {
  for (const auto& [q_tokens, size] : every(kQueries, {1e-30f, 1e-20f, 1e-5f, 1e5f, 1e20f, 1e30f})) {
    AttentionCase test(problem(q_tokens, 100));
    const auto rescale = [by = size](const StoredRow& row, uint32_t) { row.rescale(*row.scale * by); };
    scale_queries(test, 1 / size);
    each_row(test, key_row, rescale), each_row(test, value_row, rescale);
    INFO(size);
    CHECK(run_both_ways(test) == "");
  }
}

TEST_CASE("int8: values of very unequal sizes agree with the reference, and the smallest become 0", "[short]") {
  for (const uint32_t q_tokens : kQueries) {
    AttentionCase test(problem(q_tokens, 150));
    each_row(test, value_row, [](const StoredRow& value, uint32_t j) {
      value.rescale(*value.scale * std::exp2(random_uniform(7, j, -40.0f, 40.0f)));
    });
    CHECK(run_both_ways(test) == "");
    AttentionCase small(problem(q_tokens, 150));
    each_row(small, value_row, [](const StoredRow& value, uint32_t) { value.rescale(0x1p-126f); });
    CHECK(run_both_ways(small) == "");
    for (const float x : small.out()) CHECK(x == 0.0f);
  }
}

TEST_CASE("int8: beside a key of nearly all weight whose value is 0, other values are as exact as alone", "[short]") {
  for (const uint32_t q_tokens : kQueries) {
    Problem p = problem(q_tokens, 64);
    p.q_heads = p.kv_heads = 1, p.head_dim = 1, p.lse = false;
    AttentionCase test(p);
    for (uint32_t i = 0; i < q_tokens; ++i) row(test.args.q, 0, 0, i)[0] = test.q(0, 0, i)[0] = 1.0f;
    each_row(test, key_row, [](const StoredRow& key, uint32_t j) { key.write(0.1f, j == 9 ? 127 : -31); });  // e^15.8
    each_row(test, value_row,
             [](const StoredRow& value, uint32_t j) { j == 9 ? value.write(0x1p-126f, 0) : value.write(1.0f, 100); });
    CHECK(run_both_ways(test) == "");
    const float want = 6300.0f * std::exp(-15.8f);
    for (const float x : test.out()) CHECK(std::fabs(x - want) < 1e-3f * want);
  }
}

TEST_CASE("int8: a scale of NaN or infinity makes the rows NaN that see its key, and changes no other bit", "[short]") {
  struct Bad {
    bool of_keys;
    float scale;
  };
  constexpr Bad kBad[] = {{true, kNaN},       {true, kInfinity},   {false, kNaN},
                          {false, kInfinity}, {false, -kInfinity}, {false, -1.0f}};
  constexpr uint32_t kKey = 37;
  constexpr Option kHidden[] = {
      {"positions", [](auto& p) { p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {p.q_tokens == 1 ? 20 : 36}; }},
      {"a window", [](auto& p) { p.window_left = 30, p.positions = {60}; }},
      {"a mask of bytes", [](auto& p) { p.mask = FOVEA_MASK_BYTE; }},
      {"a mask of numbers", [](auto& p) { p.mask = FOVEA_MASK_F32, p.softcap = 3.0f; }},
      {"a length", [](auto& p) { p.kv_lengths = {kKey}; }},
      {"dropout", [](auto& p) { p.dropout = 0.5f, p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {30}; }},
  };
  for (const auto& [hidden, q_tokens, bad] : every(kHidden, {1u, 3u, 50u}, kBad)) {
    Problem p = problem(q_tokens, 100);
    p.sinks = true;
    hidden.set(p);
    AttentionCase good(p), test(p);
    (bad.of_keys ? key_row : value_row)(test, 0, 1, kKey).rescale(bad.scale);
    for (const auto& [target, portable] : every(p.targets(), {false, true})) {
      const Run how = {target, Budget::kNone, portable};
      INFO(name(p) << " | " << name(how) << " | " << bad.scale << (bad.of_keys ? " of a key" : " of a value"));
      Outputs want = run(good, how), got = run(test, how);
      for (const auto& [h, i] : indices(2, q_tokens)) {  // of the heads of key head 1
        if (!visible(test.desc, test.args, 0, h + 2, i, kKey)) continue;
        const size_t r = (h + 2) * q_tokens + i;
        std::fill_n(want.out.begin() + ptrdiff_t(r * p.value_dim), p.value_dim, kNaN);
        if (bad.of_keys) want.lse[r] = kNaN;
      }
      for (std::vector<float>* numbers : {&got.out, &got.lse}) {
        for (float& x : *numbers) x = std::isnan(x) ? kNaN : x;
      }
      CHECK(same_bits(got, want));
    }
  }
}

TEST_CASE("int8: what a query cannot see has no influence on its bits, whatever codes and scales it has", "[short]") {
  for (const auto& [q_tokens, seen] : every({1u, 4u, 33u}, {1u, 3u, 17u, 63u, 64u, 65u, 127u})) {
    Problem p = problem(q_tokens, 160);
    p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {int64_t{seen} - 1};
    AttentionCase plain(p), other(p);
    const uint32_t end = seen + q_tokens - 1;  // of the keys that the last query sees
    each_row(other, key_row, [first = seen](const StoredRow& key, uint32_t j) {
      if (j >= first) key.write(j % 2 == 0 ? kNaN : 1e20f, -128, 3);
    });
    each_row(other, value_row, [first = seen](const StoredRow& value, uint32_t j) {
      if (j >= first) value.write(j % 2 == 0 ? kInfinity : 1e30f, 127, 1);
    });
    for (const auto& [target, portable] : every(p.targets(), {false, true})) {
      const Run run = {target, Budget::kNone, portable};
      INFO(name(p) << " | " << name(run));
      REQUIRE(plain.run_unchecked(run) == "");
      REQUIRE(other.run_unchecked(run) == "");
      const std::vector<float> a = plain.out(), b = other.out();
      for (uint32_t h = 0; h < p.q_heads; ++h) {
        const size_t first = size_t{h} * q_tokens * p.value_dim;
        CHECK(std::memcmp(&a[first], &b[first], p.value_dim * sizeof(float)) == 0);
      }
      // A call without those keys.
      fovea_attention_args shorter = plain.args;
      shorter.kv_tokens = end;
      plain.fill_outputs();
      REQUIRE(call_again(plain, shorter) == FOVEA_OK);
      CHECK(same_bits(plain.out(), a));
    }
  }
}

TEST_CASE("int8: NaN or infinity in a query makes its row NaN, and no other", "[short]") {
  for (const auto& [q_tokens, bad] : every(kQueries, {kNaN, kInfinity, -kInfinity})) {
    AttentionCase test(problem(q_tokens, 70));
    row(test.args.q, 0, 2, q_tokens - 1)[39] = bad;
    for (uint32_t d = 0; d < test.problem.head_dim; ++d) test.q(0, 2, q_tokens - 1)[d] = kNaN;
    CHECK(run_both_ways(test) == "");
  }
}

TEST_CASE("int8: a score of infinity makes its row NaN, one of minus infinity has no weight", "[short]") {
  for (const auto& [q_tokens, edge] : every(kQueries, {false, true})) {
    for (const int sign : {1, -1, 0}) {  // 0: all keys have scores of minus infinity
      Problem p = problem(q_tokens, 90);
      p.head_dim = 1;
      if (edge) p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {50};
      const auto infinite = [&](AttentionCase& test) {
        for (const auto& [h, i] : indices(p.q_heads, p.q_tokens)) {
          row(test.args.q, 0, h, i)[0] = test.q(0, h, i)[0] = 100.0f;
        }
        each_row(test, key_row, [&](const StoredRow& key, uint32_t j) {
          const bool all = sign == 0, one = j == 20;
          key.write(all || one ? 3e38f : 1e-4f, all ? -127 : one ? 127 * sign : int(j));
        });
      };
      AttentionCase test(p);
      infinite(test);
      INFO(q_tokens << " queries, " << sign);
      CHECK(run_both_ways(test) == "");
      const float first = test.out()[0];
      CHECK((sign == 1 ? std::isnan(first) : std::isfinite(first)));
      if (sign == 0) CHECK(first == 0.0f);
      if (sign == 0) continue;
      AttentionCase bad(p);  // its NaN value counts
      infinite(bad);
      each_row(bad, value_row, [](const StoredRow& value, uint32_t j) {
        if (j == 20) value.rescale(kNaN);
      });
      CHECK(run_both_ways(bad) == "");
      CHECK(std::isnan(bad.out()[0]));
    }
  }
}

TEST_CASE("int8: sums over many keys are as exact as the weights", "[short]") {
  for (const uint32_t q_tokens : {1u, 5u}) {
    Problem p = problem(q_tokens, 20000);
    p.q_heads = p.kv_heads = 1, p.head_dim = p.value_dim = 2;
    AttentionCase test(p);
    scale_queries(test, 0.0f);
    double sum = 0;
    each_row(test, value_row, [&](const StoredRow& value, uint32_t j) {
      value.write(1.0f, int(random_bits(7, j) % 100));  // all weights times scales are the largest
      sum += double(value.numbers[0]);
    });
    for (const fovea_target target : p.targets()) {
      REQUIRE(test.run_unchecked({target}) == "");
      INFO(fovea_target_name(target));
      for (const float x : test.out()) CHECK(std::fabs(double(x) - sum / 20000) < 3e-5);
    }
  }
}

TEST_CASE("int8: rows alone and up to nine together have the bits of rows among many, in every width", "[short]") {
  constexpr uint32_t kDims[][2] = {{1, 1},   {7, 9},   {16, 16},   {31, 33},   {32, 32},  {64, 96},
                                   {80, 80}, {96, 64}, {128, 128}, {130, 129}, {160, 40}, {256, 300}};
  for (const auto& [dims, i] : every(kDims, {0u, 1u, 2u, 3u, 4u, 5u})) {
    Problem p = problem(45, i % 3 == 0 ? 83 : i % 3 == 1 ? 64 : 2);
    p.seed = dims[0] + i, p.q_heads = p.kv_heads = 1, p.head_dim = dims[0], p.value_dim = dims[1];
    if (i % 2 == 1) p.key_dtype = p.value_dtype = FOVEA_I4;
    if (i == 3) p.mask = FOVEA_MASK_BYTE;
    AttentionCase test(p);
    for (const fovea_target target : p.targets()) {
      const Outputs want = run(test, {target});
      call_with_some_queries(test, 9);
      INFO(name(p) << ": " << fovea_target_name(target));
      CHECK(same_bits(test.outputs(), want));
    }
  }
}

}  // namespace fovea_test
