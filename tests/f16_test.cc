// SPDX-License-Identifier: Apache-2.0
//
// Products of halves by their definition in fovea.h: chains of 32 multiply-adds, each of which rounds once to f16. And
// what becomes of numbers that f16 cannot hold.
#include "platform/platform.h"
#include "support/formats.h"
#include "support/reference.h"
#include "support/test.h"

namespace fovea_test {
namespace {

Problem problem(uint32_t q_tokens, uint32_t kv_tokens) {
  Problem p;
  p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = kv_tokens;
  p.head_dim = 75, p.value_dim = 21;
  return p.with_halves();
}

// The score of a query and a key in base 2.
float score(const AttentionCase& test, uint32_t h, uint32_t i, uint32_t j) {
  const uint32_t group = test.problem.q_heads / test.problem.kv_heads, dim = test.problem.head_dim;
  const float *q = test.q(0, h, i), *key = test.key(0, h / group, j);
  const float scale = made(test.plan).desc.scale * 1.44269504f;
  float sum = 0.0f, largest = 0.5f;
  for (uint32_t d = 0; d < dim; ++d) largest = std::max(largest, std::fabs(q[d] * scale));
  const float power = std::ldexp(1.0f, std::ilogb(largest) + 1);
  for (uint32_t d = 0; d < dim;) {
    double part = 0.0;
    const uint32_t end = std::min(dim, d + 32);
    for (; d < end; ++d) part = half_multiply_add(to_half(q[d] * scale / power), double{key[d]}, part);
    sum += float(part);
  }
  return sum * power;
}

// Sets element d of a key or value: as it is stored, and what the reference reads.
void set_key(const AttentionCase& test, uint32_t h, uint32_t j, uint32_t d, float x) {
  uint8_t* const key = row_bytes(test.args.kv.keys, 2, 0, h, j);
  reinterpret_cast<uint16_t*>(key)[d] = uint16_t(nearest_of(kF16, x));
  test.key(0, h, j)[d] = float(to_half(x));
}
void set_value(const AttentionCase& test, uint32_t h, uint32_t j, uint32_t d, float x) {
  uint8_t* const value = row_bytes(test.args.kv.values, 2, 0, h, j);
  reinterpret_cast<uint16_t*>(value)[d] = uint16_t(nearest_of(kF16, x));
  test.value(0, h, j)[d] = float(to_half(x));
}

// Both ways in which a target may multiply halves.
template <class Check>
void for_each_way(AttentionCase& test, const Check& check) {
  for (const auto& [target, features] : every(targets(), {fovea::platform::processor_features(), uint64_t{0}})) {
    test.desc.processor_features = features;
    REQUIRE(test.run_unchecked({target}) == "");
    check();
  }
}

}  // namespace

TEST_CASE("f16: scores are chains of 32 products, each rounded once", "[short]") {
  for (const uint32_t q_tokens : {1u, 7u}) {
    Problem p = problem(q_tokens, 70);
    p.stage = FOVEA_SCORES_SCALED;
    AttentionCase test(p);
    for (uint32_t d = 0; d < p.head_dim; ++d) test.q(0, 1, 0)[d] *= 1e6f;  // is divided by a power of two
    for_each_way(test, [&] {
      for (const auto& [h, i, j] : indices(p.q_heads, q_tokens, p.kv_tokens)) {
        CHECK(bits_of(row(test.args.scores, 0, h, i)[j]) == bits_of(score(test, h, i, j) * 0.693147181f));
      }
    });
  }
}

TEST_CASE("f16: whatever number of rows a call has, the bits of a row are the same", "[short]") {
  AttentionCase test(problem(40, 130));
  for_each_way(test, [&] {
    const Outputs want = test.outputs();
    call_with_some_queries(test, 7);
    CHECK(same_bits(test.outputs(), want));
  });
}

TEST_CASE("f16: few rows have the bits of f32 arithmetic that rounds to f16, with every option", "[short]") {
  const std::vector<void (*)(Problem&)> options = {
      [](Problem&) {},
      [](auto& p) { p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.window_left = 37, p.alibi = true; },
      [](auto& p) { p.mask = FOVEA_MASK_BYTE, p.sinks = true; },
      [](auto& p) { p.mask = FOVEA_MASK_F16, p.softcap = 2.0f, p.q_dtype = p.out_dtype = FOVEA_F16; },
      [](auto& p) { p.modify_scores = true, p.stage = FOVEA_SCORES_SOFTMAX; },
      [](auto& p) { p.batch = 2, p.kv_lengths = {129, 3}, p.stage = FOVEA_SCORES_MASKED; },
  };
  constexpr uint32_t kDims[][2] = {{136, 90}, {64, 64}, {41, 3}, {5, 17}};
  for (const auto& [dims, rows] : every(kDims, {1u, 2u})) {
    for (const auto& option : options) {
      Problem p = problem(1, 129);
      p.q_heads = rows * p.kv_heads, p.head_dim = dims[0], p.value_dim = dims[1];
      option(p);
      AttentionCase test(p);
      INFO(name(p));
      std::vector<std::vector<float>> outs;
      for_each_way(test, [&] { outs.push_back(test.out()); });
      for (const std::vector<float>& out : outs) {
        CHECK(std::memcmp(out.data(), outs[0].data(), out.size() * sizeof(float)) == 0);
      }
      for (const fovea_target target : targets()) CHECK(test.run({target}) == "");
    }
  }
}

TEST_CASE("f16: what f16 cannot hold becomes an infinity, and hidden keys stay hidden", "[short]") {
  Problem p = problem(2, 70);
  p.scale = 1.0f;
  p.causal = FOVEA_CAUSAL_TOP_LEFT;  // query i sees the keys up to i
  const struct {
    float query, key;
    bool held;
  } table[] = {{200, 200, true},    {65504, 1, true},  {300, 2047, true},
               {6e18f, 2047, true}, {2e24f, 1, false}, {300, 8188, false}};
  for (const auto& row : table) {
    AttentionCase test(p);
    for (uint32_t d = 0; d < p.head_dim; ++d) {
      test.q(0, 1, 0)[d] = row.query;
      set_key(test, 0, 0, d, row.key);
      set_key(test, 0, 69, d, kInfinity);  // which nobody sees
    }
    for (uint32_t d = 0; d < p.value_dim; ++d) {
      set_value(test, 1, 0, d, 65504.0f);
      set_value(test, 1, 1, d, 65504.0f);
      set_value(test, 0, 69, d, kNaN);
    }
    for (uint32_t d = 0; d < p.head_dim; ++d) set_key(test, 1, 1, d, test.key(0, 1, 0)[d]);
    for_each_way(test, [&] {
      const std::vector<float> out = test.out();
      for (uint32_t e = 0; e < p.value_dim; ++e) {
        const auto at = [&](uint32_t h, uint32_t i) { return out[(size_t{h} * p.q_tokens + i) * p.value_dim + e]; };
        CHECK(std::isfinite(at(0, 0)));
        CHECK(std::isfinite(at(0, 1)));
        CHECK((row.held ? at(1, 0) == test.value(0, 0, 0)[e] : std::isnan(at(1, 0))));  // else a score of +infinity
        CHECK(at(2, 0) == 65504.0f);                                                    // one weight of 1
        CHECK(at(2, 1) == kInfinity);                                                   // two weights of 1
      }
    });
  }
}

}  // namespace fovea_test
