// SPDX-License-Identifier: Apache-2.0
//
// Tensors of int8: queries, keys, values and outputs with a scale and a zero point each, scales a row or a channel. The
// reference takes the numbers that the codes stand for.
#include "support/reference.h"
#include "support/tensors.h"
#include "support/test.h"
#include "support/test_stream.h"

namespace fovea_test {
namespace {

Problem problem(uint32_t q_tokens, uint32_t kv_tokens) {
  Problem p;
  p.batch = 2, p.q_heads = 4, p.kv_heads = 2, p.q_tokens = q_tokens, p.kv_tokens = kv_tokens;
  p.head_dim = 40, p.value_dim = 24;
  return p.with_integers();
}

// "" if the numbers are those of the reference: scores and lse as far as floats go, outputs as weights of 8 bits allow.
std::string compare(const AttentionCase& test, const Attention& want) {
  const double error = normalised_error(test.out(), want.out);
  if (error > 1e-3) return "out " + std::to_string(error);
  const auto close_enough = [](const std::vector<float>& got, const std::vector<double>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!close(got[i], wanted[i], kShortExp2Error + 2e-5 * std::fabs(wanted[i]))) return false;
    }
    return true;
  };
  if (!test.args.lse.data) return "";
  return close_enough(test.lse(), want.lse) ? "" : "lse";
}

// "" if every target gives the same bits from both kernels, and these agree with the reference.
std::string run_everywhere(AttentionCase& test) {
  const Attention& want = test.expected();
  Outputs first;
  for (const auto& [target, portable] : every(test.problem.targets(), {false, true})) {
    std::string wrong = test.run_unchecked({target, Budget::kNone, portable});
    if (wrong.empty()) wrong = compare(test, want);
    if (first.out.empty()) first = test.outputs();
    if (wrong.empty() && !same_bits(first, test.outputs())) wrong = "other bits";
    if (!wrong.empty()) return std::string(fovea_target_name(target)) + ": " + wrong;
  }
  return "";
}

constexpr Zeros kZeros[] = {{0, 0, 0},         {7, 0, 0},        {0, -9, 0},  {0, 0, 11},
                            {-128, 127, -128}, {127, -128, 127}, {3, 5, -100}};

// For outputs.
Array codes_of(const Problem& p) {
  return Array(FOVEA_I8, {p.batch, p.q_heads, p.q_tokens, p.value_dim}, Layout::kHeadsFirst, Placement::kEnd);
}

}  // namespace

TEST_CASE("tensors: scales and zero points are those of the numbers", "[short]") {
  for (const auto& [zeros, q_tokens] : every(kZeros, {1u, 2u, 19u})) {
    INFO(zeros.q << ", " << zeros.key << ", " << zeros.value << ", " << q_tokens << " queries");
    Tensors test(problem(q_tokens, 90), zeros);
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("tensors: every step between the products sees scores without zero points", "[short]") {
  constexpr Option kSteps[] = {
      {"softcap", [](auto& p) { p.softcap = 2.0f; }},
      {"ALiBi", [](auto& p) { p.alibi = true, p.positions = {80, 3}; }},
      {"a mask of bytes", [](auto& p) { p.mask = FOVEA_MASK_BYTE; }},
      {"a mask of numbers", [](auto& p) { p.mask = FOVEA_MASK_F32; }},
      {"a causal limit", [](auto& p) { p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.kv_lengths = {40, 90}; }},
      {"sinks", [](auto& p) { p.sinks = true; }},
      {"few keys", [](auto& p) { p.kv_lengths = {0, 3}; }},
  };
  for (const auto& [step, q_tokens] : every(kSteps, {1u, 19u})) {
    Problem p = problem(q_tokens, 90);
    step.set(p);
    INFO(step.name << ": " << name(p));
    Tensors test(p, {-20, 30, 40});
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("tensors: scores that are written out are those of the numbers", "[short]") {
  for (const auto& [stage, q_tokens] :
       every({FOVEA_SCORES_SCALED, FOVEA_SCORES_CAPPED, FOVEA_SCORES_MASKED, FOVEA_SCORES_SOFTMAX}, {1u, 19u})) {
    Problem p = problem(q_tokens, 70);
    p.softcap = 30.0f, p.stage = stage;
    Tensors test(p, {-20, 30, 40});
    CHECK(run_everywhere(test) == "");
    CHECK(normalised_error(test.scores(), test.expected().scores) < 1e-8);
  }
}

TEST_CASE("tensors: the widest rows stay exact", "[short]") {
  for (const uint32_t head_dim : {1u, 15u, 64u, 1000u, 1024u}) {
    Problem p = problem(5, 66);
    p.batch = 1, p.head_dim = head_dim, p.value_dim = 3;
    Tensors test(p, {-128, 127, 5});
    test.desc.q_scale = 0.002f;
    test.enter();
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("tensors: a row of queries, keys or values may have its own scale", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    const Problem p = problem(q_tokens, 90);
    const auto check = [&](fovea_in fovea_attention_args::* of_call, fovea_in fovea_kv_source::* of_source,
                           float fovea_attention_desc::* scale, int32_t fovea_attention_desc::* zero, uint32_t heads,
                           uint32_t tokens) {
      Tensors test(p, {-20, 30, 40});
      const Array scales(FOVEA_F32, {2, heads, tokens, 1}, Layout::kHeadsFirst, Placement::kEnd);
      for (size_t i = 0; i < scales.rows(); ++i) {
        *scales.row<float>(i) = test.desc.*scale * random_uniform(p.seed + 41, i, 0.2f, 1.0f);
      }
      (of_call != nullptr ? test.args.*of_call : test.args.kv.*of_source) = scales.in();
      test.desc.*scale = 0, test.desc.*zero = 0;
      test.enter();
      CHECK(run_everywhere(test) == "");
    };
    check(&fovea_attention_args::q_scales, nullptr, &fovea_attention_desc::q_scale, &fovea_attention_desc::q_zero_point,
          p.q_heads, p.q_tokens);
    check(nullptr, &fovea_kv_source::key_scales, &fovea_attention_desc::key_scale,
          &fovea_attention_desc::key_zero_point, p.kv_heads, p.kv_tokens);
    check(nullptr, &fovea_kv_source::value_scales, &fovea_attention_desc::value_scale,
          &fovea_attention_desc::value_zero_point, p.kv_heads, p.kv_tokens);
  }
}

TEST_CASE("tensors: a query's scale that is NaN or infinite makes its row NaN, and changes no other bit", "[short]") {
  for (const auto& [q_tokens, bad, softcap] : every({1u, 2u, 19u}, {kNaN, kInfinity, -kInfinity}, {0.0f, 10.0f})) {
    Problem p = problem(q_tokens, 90);
    p.softcap = softcap, p.kv_lengths = {90, 70};
    Tensors test(p, {0, 0, 0});
    const Array scales(FOVEA_F32, {p.batch, p.q_heads, q_tokens, 1}, Layout::kHeadsFirst, Placement::kEnd);
    for (size_t i = 0; i < scales.rows(); ++i) *scales.row<float>(i) = 0.03f;
    test.desc.q_scale = 0, test.args.q_scales = scales.in();
    const size_t row = (size_t{1} * p.q_heads + 2) * q_tokens + q_tokens / 2;
    for (const auto& [target, portable] : every(p.targets(), {false, true})) {
      *scales.row<float>(row) = 0.03f;
      REQUIRE(test.run_unchecked({target, Budget::kNone, portable}) == "");
      Outputs want = test.outputs();
      std::fill_n(want.out.begin() + ptrdiff_t(row * p.value_dim), p.value_dim, kNaN);
      want.lse[row] = kNaN;
      *scales.row<float>(row) = bad;
      REQUIRE(test.run_unchecked({target, Budget::kNone, portable}) == "");
      Outputs got = test.outputs();
      for (float& x : got.out) x = std::isnan(x) ? kNaN : x;
      for (float& x : got.lse) x = std::isnan(x) ? kNaN : x;
      CHECK(same_bits(got, want));
    }
  }
}

TEST_CASE("tensors: strides of an array that is not there mean nothing", "[short]") {
  Problem p = problem(3, 20);
  Tensors test(p, {0, 0, 0});
  CHECK(run_everywhere(test) == "");
  const std::vector<float> want = test.out();
  const uint32_t offsets[] = {0, 3, 6};
  test.args.q_tokens = 6, test.desc.max_q_tokens = 6;
  const auto dim = ptrdiff_t(p.head_dim), value_dim = ptrdiff_t(p.value_dim);
  // Entries one after the other, of whose heads only the first is looked at.
  fovea_attention_desc d = test.desc;
  d.q_heads = d.kv_heads = 1, d.max_q_tokens = 3, d.max_batch = 2;
  fovea_attention_args a = test.args;
  a.q_tokens = 6, a.q_offsets = offsets;
  a.q = {test.args.q.data, 0, 0, dim};
  a.q_scales = {nullptr, 8, 4, 2};
  a.lse = {};
  std::vector<float> out(size_t{6} * p.value_dim), alone(out.size());
  a.out = {out.data(), 0, 0, value_dim};
  const fovea_attention_plan plan = plan_of(d);
  REQUIRE(call_of(plan, a) == FOVEA_OK);
  a.q_scales = {};
  a.out.data = alone.data();
  REQUIRE(call_of(plan, a) == FOVEA_OK);
  CHECK(same_bits(out, alone));
}

TEST_CASE("tensors: one scale is the same as an array of it", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    Tensors test(problem(q_tokens, 90), {0, 0, 0});
    CHECK(run_everywhere(test) == "");
    const Outputs want = test.outputs();
    const float q = test.desc.q_scale, key = test.desc.key_scale, value = test.desc.value_scale;
    test.args.q_scales.data = &q, test.args.kv.key_scales.data = &key, test.args.kv.value_scales.data = &value;
    test.desc.q_scale = test.desc.key_scale = test.desc.value_scale = 0;
    CHECK(run_everywhere(test) == "");
    CHECK(same_bits(test.outputs(), want));
  }
}

TEST_CASE("tensors: values of zero count in how exact weights are", "[short]") {
  Problem p;
  p.head_dim = p.value_dim = 1, p.kv_tokens = 3;
  for (const uint32_t q_tokens : {1u, 19u}) {
    p.q_tokens = q_tokens;
    Tensors test(p.with_integers(), {0, 0, 0});
    test.desc.q_scale = 1.0f, test.desc.key_scale = 1.08f;
    // The first key's weight is 1, and those of the others are .4 of a step of 1 / 255: as codes they are nothing.
    const int8_t keys[] = {6, 0, 0}, values[] = {0, 100, 70};
    for (uint32_t i = 0; i < q_tokens; ++i) row_bytes(test.args.q, 1, 0, 0, i)[0] = 1, test.q(0, 0, i)[0] = 1.0f;
    for (uint32_t j = 0; j < p.kv_tokens; ++j) {
      row_bytes(test.args.kv.keys, 1, 0, 0, j)[0] = uint8_t(keys[j]);
      row_bytes(test.args.kv.values, 1, 0, 0, j)[0] = uint8_t(values[j]);
      test.key(0, 0, j)[0] = number(test.desc.key_scale, 0, keys[j]);
      test.value(0, 0, j)[0] = number(test.desc.value_scale, 0, values[j]);
    }
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("tensors: int8 rows with one scale serve products of floats too", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    Problem p = problem(q_tokens, 90);
    p.compute = FOVEA_COMPUTE_F32;
    AttentionCase test(p);
    test.desc.key_scale = 0.25f, test.desc.value_scale = 0.5f;
    for (const auto& [b, h, j] : indices(p.batch, p.kv_heads, p.kv_tokens)) {
      const auto* keys = reinterpret_cast<const int8_t*>(row_bytes(test.args.kv.keys, 1, b, h, j));
      const auto* values = reinterpret_cast<const int8_t*>(row_bytes(test.args.kv.values, 1, b, h, j));
      for (uint32_t d = 0; d < p.head_dim; ++d) test.key(b, h, j)[d] = number(0.25f, 0, keys[d]);
      for (uint32_t d = 0; d < p.value_dim; ++d) test.value(b, h, j)[d] = number(0.5f, 0, values[d]);
    }
    test.args.kv.key_scales = {}, test.args.kv.value_scales = {};
    CHECK(run_on_all_targets(test) == "");
  }
}

TEST_CASE("tensors: values may have a scale a channel", "[short]") {
  for (const auto& [q_tokens, each_head] : every({1u, 2u, 19u}, {false, true})) {
    const Problem p = problem(q_tokens, 90);
    Tensors test(p, {-20, 30, 40});
    Guarded channels((each_head ? 2 : 1) * p.value_dim * sizeof(float), sizeof(float), Placement::kEnd);
    for (size_t i = 0; i < channels.bytes() / sizeof(float); ++i) {
      channels.as<float>()[i] = random_uniform(5, i, -2.0f, 2.0f);
    }
    test.args.value_channel_scales = channels.as<float>();
    test.args.value_channel_stride = each_head ? ptrdiff_t(p.value_dim) : 0;
    test.enter();
    CHECK(run_everywhere(test) == "");
  }
}

TEST_CASE("tensors: a channel's scale of NaN or infinity reaches its element of each output, and no other", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    const Problem p = problem(q_tokens, 90);
    Tensors test(p, {-20, 30, 40});
    std::vector<float> channels(p.value_dim, 2.0f);
    test.args.value_channel_scales = channels.data();
    for (const fovea_target target : p.targets()) {
      channels[7] = 2.0f;
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> want = test.out();
      for (const float bad : {kNaN, kInfinity, -kInfinity}) {
        channels[7] = bad;
        REQUIRE(test.run_unchecked({target}) == "");
        const std::vector<float> got = test.out();
        bool right = true;
        for (size_t i = 0; i < got.size(); ++i) {
          const float product = want[i] * bad;
          right = right && (i % p.value_dim != 7  ? got[i] == want[i]
                            : std::isnan(product) ? std::isnan(got[i])
                                                  : got[i] == product);
        }
        CHECK(right);
      }
    }
  }
}

TEST_CASE("tensors: values that are all 0 give 0, whatever their zero point and the weights' rounding", "[short]") {
  for (const auto& [q_tokens, sinks] : every({1u, 2u, 19u}, {false, true})) {
    Problem p = problem(q_tokens, 130);
    p.sinks = sinks;
    p.kv_lengths = {64, 130};
    Tensors test(p, {0, 0, -128});
    for (const auto& [b, h, j] : indices(p.batch, p.kv_heads, p.kv_tokens)) {
      std::memset(row_bytes(test.args.kv.values, 1, b, h, j), -128, 24);
    }
    for (const auto& [target, portable] : every(p.targets(), {false, true})) {
      REQUIRE(test.run_unchecked({target, Budget::kNone, portable}) == "");
      const std::vector<float> out = test.out();
      CHECK(std::all_of(out.begin(), out.end(), [](float y) { return std::fabs(y) < 2e-5f; }));
    }
  }
}

TEST_CASE("tensors: an output is the nearest code, and the last one beyond the range", "[short]") {
  for (const uint32_t q_tokens : {1u, 2u, 19u}) {
    const Problem p = problem(q_tokens, 90);
    Tensors test(p, {-20, 30, 40});
    for (const fovea_target target : p.targets()) {
      test.desc.out_dtype = FOVEA_F32, test.desc.out_scale = 0, test.desc.out_zero_point = 0;
      const fovea_out floats = test.args.out;
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> want = test.out();
      for (const float scale : {0.005f, 0.05f, 1e-9f}) {
        test.desc.out_dtype = FOVEA_I8, test.desc.out_scale = scale, test.desc.out_zero_point = -17;
        const Array codes = codes_of(p);
        test.args.out = codes.out();
        REQUIRE(test.run_unchecked({target}) == "");
        bool right = codes.memory.margin_intact();
        for (size_t i = 0; i < want.size(); ++i) {
          const float code = std::nearbyint(want[i] * (1.0f / scale)) - 17.0f;
          right = right && codes.memory.as<int8_t>()[i] == int8_t(std::min(127.0f, std::max(-128.0f, code)));
        }
        CHECK(right);
      }
      test.args.out = floats;
    }
  }
}

TEST_CASE("tensors: an output that is no number, or of no key, is the zero point", "[short]") {
  for (const uint32_t q_tokens : {1u, 19u}) {
    Problem p = problem(q_tokens, 90);
    p.kv_lengths = {0, 90};
    Tensors test(p, {-20, 30, 0});
    test.desc.value_scale = 0, test.args.kv.value_scales.data = &kNaN;
    test.desc.out_dtype = FOVEA_I8, test.desc.out_scale = 0.05f, test.desc.out_zero_point = 99;
    Array codes = codes_of(p);
    test.args.out = codes.out();
    for (const fovea_target target : p.targets()) {
      codes.memory.fill();
      REQUIRE(test.run_unchecked({target}) == "");
      const std::vector<float> all = codes.numbers();
      CHECK(std::all_of(all.begin(), all.end(), [](float code) { return code == 99; }));
    }
  }
}

TEST_CASE("tensors: split keys, streams and a loader give the same bits", "[short]") {
  struct Copies {
    const Tensors& test;
    static int start(void* self, const fovea_kv_tile* tile) {
      const Tensors& from = static_cast<Copies*>(self)->test;
      const Problem& p = from.problem;
      if (tile->key_scales != nullptr || tile->value_scales != nullptr) return 1;
      for (uint32_t t = 0; t < tile->count; ++t) {
        const uint32_t token = tile->first + t;
        std::memcpy(static_cast<int8_t*>(tile->keys) + size_t{t} * p.head_dim,
                    row_bytes(from.args.kv.keys, 1, tile->batch, tile->kv_head, token), p.head_dim);
        std::memcpy(static_cast<int8_t*>(tile->values) + size_t{t} * p.value_dim,
                    row_bytes(from.args.kv.values, 1, tile->batch, tile->kv_head, token), p.value_dim);
      }
      return 0;
    }
  };
  for (const uint32_t q_tokens : {1u, 19u}) {
    Problem p = problem(q_tokens, 150);
    p.lse = false;
    Tensors test(p, {-20, 30, 40});
    CHECK(run_everywhere(test) == "");
    const std::vector<float> want = test.out();
    for (const fovea_target target : p.targets()) {
      const TestStream stream(test.desc, target);
      for (const Piece piece : {Piece{0, 64}, {64, 128}, {128, 150}}) REQUIRE(stream.push(test, piece) == FOVEA_OK);
      test.fill_outputs();
      REQUIRE(stream.end(test.args) == FOVEA_OK);
      CHECK(same_bits(test.out(), want));

      fovea_attention_desc d = test.desc;
      d.target = target, d.kv_kind = FOVEA_KV_LOAD;
      Copies copies{test};
      const fovea_loader loader = {Copies::start, nullptr, &copies};
      fovea_attention_args loads = test.args;
      loads.kv = {};
      loads.kv.loader = &loader;
      test.fill_outputs();
      REQUIRE(call_of(plan_of(d), loads) == FOVEA_OK);
      CHECK(same_bits(test.out(), want));

      REQUIRE(test.run_unchecked({target, Budget::kNone, false, 64}) == "");
      CHECK(compare(test, test.expected()) == "");
    }
  }
}

TEST_CASE("tensors: scales that contradict the description are refused", "[short]") {
  static const float one[2] = {1.0f, 1.0f};
  using A = fovea_attention_args;
  const std::vector<Misuse<A>> with_scales = {
      {"nothing", FOVEA_OK, [](A&) {}},
      {"scales of queries", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.q_scales.data = one; }},
      {"scales of keys", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.kv.key_scales.data = one; }},
      {"scales of values", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.kv.value_scales.data = one; }},
      {"scales of channels misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& a) { a.value_channel_scales = shifted<float>(one, 1); }},
      {"scales of channels in out", FOVEA_ERR_OVERLAP,
       [](auto& a) { a.value_channel_scales = static_cast<const float*>(a.out.data); }},
  };
  const std::vector<Misuse<A>> without_scale = {
      {"no scales of queries", FOVEA_ERR_NULL, [](A&) {}},
      {"scales of queries in out", FOVEA_ERR_OVERLAP, [](auto& a) { a.q_scales.data = a.out.data; }},
  };
  Tensors test(problem(2, 9), {0, 0, 0});
  for (const bool has_scale : {true, false}) {
    if (!has_scale) test.desc.q_scale = 0;
    REQUIRE(fovea_attention_plan_init(&test.plan, &test.desc) == FOVEA_OK);
    fovea_status status = FOVEA_OK;
    check_refused<A>(
        has_scale ? with_scales : without_scale, [&] { return test.fill_outputs(), test.args; },
        [&](A& a) { return status = call_again(test, a); },
        [&](A&) { return status == FOVEA_OK || test.outputs_untouched(); });
  }
}

}  // namespace fovea_test
