// SPDX-License-Identifier: Apache-2.0
//
// Linear layers with integer products (FOVEA_COMPUTE_I8): the bits that fovea.h promises, on every target; and how far
// they are from sums in double.
#include "support/linear_case.h"

namespace fovea_test {
namespace {

constexpr fovea_dtype kGroupTypes[] = {FOVEA_I4,   FOVEA_Q8_0,   FOVEA_Q4_0,  FOVEA_Q4_1,   FOVEA_Q4_K,
                                       FOVEA_Q6_K, FOVEA_Q5_0,   FOVEA_Q5_1,  FOVEA_IQ4_NL, FOVEA_MXFP4,
                                       FOVEA_Q5_K, FOVEA_IQ4_XS, FOVEA_TQ2_0, FOVEA_Q3_K,   FOVEA_Q2_K};
constexpr fovea_dtype kNumbersOrCodes[] = {FOVEA_F32, FOVEA_I8};
constexpr Layout kRowLayouts[] = {Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed};

LinearProblem problem(uint32_t tokens, uint32_t in_dim = 19, uint32_t out_dim = 11, fovea_dtype dtype = FOVEA_I8) {
  LinearProblem p;
  p.compute = FOVEA_COMPUTE_I8, p.dtype = dtype, p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim;
  return p;
}
// Codes of one scale to codes.
LinearProblem of_codes(uint32_t tokens, uint32_t in_dim, uint32_t out_dim) {
  LinearProblem p = problem(tokens, in_dim, out_dim);
  p.x_dtype = p.y_dtype = FOVEA_I8, p.one_scale = true;
  return p;
}
// Such a case whose outputs are its biases.
LinearCase of_biases(LinearProblem p) {
  LinearCase test(p);
  for (size_t t = 0; t < p.tokens; ++t) test.x.row<int8_t>(t)[0] = 0;
  return test;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("linear i8: every count around those of vectors and tiles has the promised bits", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, in_dim, out_dim] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 9u, 12u, 16u, 17u, 47u, 49u},
             {1u, 3u, 4u, 5u, 15u, 16u, 17u, 33u, 63u, 64u, 65u, 130u}, {1u, 2u, 4u, 7u, 8u, 9u, 16u, 17u, 33u})) {
    if (++seed % 7 != 0) continue;
    LinearProblem p = problem(tokens, in_dim, out_dim);
    p.x_dtype = kNumbersOrCodes[seed % 2], p.y_dtype = seed % 3 ? FOVEA_F32 : FOVEA_I8;
    p.x_zero_point = p.x_dtype == FOVEA_I8 ? int32_t(seed % 256) - 128 : 0;
    p.placement = Placement(seed % 3), p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: any choice of types, bias, zeros, scales, strides and memory has the promised bits", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, x_dtype, y_dtype, bias, layout] :
       every({2u, 18u}, kNumbersOrCodes, kNumbersOrCodes,
             {LinearProblem::kNoBias, LinearProblem::kF32, LinearProblem::kI32}, kRowLayouts)) {
    LinearProblem p = problem(tokens, 35, 21);
    p.x_dtype = x_dtype, p.y_dtype = y_dtype, p.layout = layout;
    p.placement = Placement(++seed % 3), p.seed = seed;
    p.one_scale = bias == LinearProblem::kI32 || seed % 2;
    p.bias = bias == LinearProblem::kI32 && x_dtype == FOVEA_F32 ? LinearProblem::kNoBias : bias;
    if (x_dtype == FOVEA_I8) p.x_zero_point = int32_t(seed * 37 % 256) - 128;
    if (y_dtype == FOVEA_I8) p.y_zero_point = int32_t(seed * 53 % 256) - 128;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: weights in groups have the promised bits at every count", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, in_dim, out_dim, dtype] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 9u, 17u, 49u}, {1u, 15u, 31u, 32u, 33u, 63u, 64u, 65u, 96u, 130u, 257u, 577u},
             {1u, 4u, 7u, 8u, 9u, 16u, 17u, 33u, 49u, 97u}, kGroupTypes)) {
    if (++seed % 19 != 0) continue;
    LinearProblem p = problem(tokens, in_dim, out_dim, dtype);
    const uint64_t drawn = random_bits(1, seed);  // seed itself goes with the type
    p.x_dtype = kNumbersOrCodes[drawn % 2], p.y_dtype = drawn / 2 % 3 ? FOVEA_F32 : FOVEA_I8;
    p.x_zero_point = p.x_dtype == FOVEA_I8 && drawn / 8 % 4 != 1 ? int32_t(drawn / 64 % 256) - 128 : 0;
    p.layout = kRowLayouts[drawn / 16384 % 3], p.extreme = drawn / 65536 % 5 == 1;
    p.bias = drawn / 524288 % 7 < 2 ? LinearProblem::kNoBias : LinearProblem::kF32;
    p.placement = Placement(seed % 3), p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: groups whose codes are all at an extreme have exact sums", "[short]") {
  for (const auto& [dtype, tokens, weight, x, zero] :
       every(kGroupTypes, {1u, 3u, 20u}, {0x00, 0x7f, 0x80, 0xff}, {-128, 127}, {0, -128, 127})) {
    LinearProblem p = problem(tokens, 256, 17, dtype);
    p.x_dtype = FOVEA_I8, p.x_zero_point = zero;
    LinearCase test(p);
    for (size_t t = 0; t < tokens; ++t) memset(test.x.row(t), x, p.in_dim);
    for (const auto& [o, g] : indices<size_t>(p.out_dim, p.in_dim / group_elements(dtype))) {
      memset(test.w.row<uint8_t>(o) + g * group_bytes(dtype), weight, group_bytes(dtype));
      test.put_scale(o, g, 0.01f);
      if (test.has_least()) put_f16(test.group_scale(o, g) + 2, 0.5f);
    }
    REQUIRE(check_on_all_targets(test, test.targets()) == "");
  }
}

TEST_CASE("linear i8: outputs are near those of sums in double", "[short]") {
  for (const auto& [dtype, tokens] : every(kTypes, {2u, 20u})) {
    if (dtype < FOVEA_I8) continue;
    LinearProblem p = problem(tokens, 130, 9, dtype);
    p.bias = LinearProblem::kNoBias;
    LinearCase test(p);
    run_each_way(test, [&](fovea_target) {
      double error = 0, size = 0;
      for (const auto& [t, o] : indices(p.tokens, p.out_dim)) {
        double want = 0;
        for (size_t i = 0; i < p.in_dim; ++i) want += double(test.x.get(0, 0, t, i)) * double(test.weight(o, i));
        const double off = double(test.y.get(0, 0, t, o)) - want;
        error += off * off, size += want * want;
      }
      CHECK(error < 3e-4 * size);
    });
  }
}

TEST_CASE("linear i8: with weights in groups a very large input costs inputs of other groups nothing", "[short]") {
  for (const auto& [dtype, tokens] : every(kGroupTypes, {2u, 20u})) {
    const auto elements = uint32_t(group_elements(dtype));
    LinearCase test(problem(tokens, 3 * elements, 9, dtype)), large(test.p);
    for (LinearCase* c : {&test, &large}) {
      for (size_t o = 0; o < test.p.out_dim; ++o) {  // the group of that input counts for nothing
        c->put_scale(o, 1, 0.0f);
        if (c->has_least()) put_f16(c->group_scale(o, 1) + 2, 0.0f);
      }
    }
    for (size_t t = 0; t < tokens; ++t) large.x.row<float>(t)[elements + 8] = 3000.0f;
    run_each_way(test, [&](fovea_target target) {
      REQUIRE(large.run(target) == FOVEA_OK);
      CHECK(large.outputs() == test.outputs());
    });
  }
}

TEST_CASE("linear i8: sums over more inputs than are multiplied at a time are exact", "[short]") {
  for (const auto& [tokens, in_dim] : every({1u, 17u}, {127u, 129u, 257u, 512u, 513u, 1025u, 2050u})) {
    LinearProblem p = problem(tokens, in_dim, in_dim < 600 ? 66 : 9);
    p.x_dtype = kNumbersOrCodes[in_dim % 2], p.x_zero_point = p.x_dtype == FOVEA_I8 ? 127 : 0;
    p.extreme = in_dim % 4 != 1, p.seed = in_dim;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: sums over the most inputs are exact") {
  for (const auto& [tokens, zero] : every({1u, 9u}, {-128, 127})) {
    LinearProblem p = problem(tokens, 65536, 3);
    p.x_dtype = FOVEA_I8, p.bias = LinearProblem::kNoBias, p.x_zero_point = zero, p.extreme = true;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear i8: NaN and infinity in a token or a scale reach the outputs that they belong to", "[short]") {
  for (const auto& [tokens, bad, x_dtype, y_dtype] :
       every({2u, 19u}, {kNaN, kInfinity, -kInfinity}, kNumbersOrCodes, kNumbersOrCodes)) {
    LinearProblem p = problem(tokens);
    p.x_dtype = x_dtype, p.y_dtype = y_dtype, p.y_zero_point = y_dtype == FOVEA_I8 ? 5 : 0;
    LinearCase test(p);
    if (x_dtype == FOVEA_I8) {
      test.x_scales.as<float>()[1] = bad;
    } else {
      test.x.row<float>(1)[18] = bad, test.scales.as<float>()[3] = bad;
    }
    CHECK(check_on_all_targets(test, test.targets()) == "");
  }
}

TEST_CASE("linear i8: output codes are rounded to even and saturate", "[short]") {
  for (const auto& [tokens, zero] : every({2u, 17u}, {-128, -3, 0, 127})) {
    LinearProblem p = of_codes(tokens, 1, 40);
    p.bias = LinearProblem::kNoBias, p.y_scale = 2.0f, p.y_zero_point = zero;
    LinearCase test(p);
    test.x_scales.as<float>()[0] = 1.0f;
    for (size_t t = 0; t < p.tokens; ++t) test.x.row<int8_t>(t)[0] = 1;
    for (size_t o = 0; o < p.out_dim; ++o) {
      test.w.row<int8_t>(o)[0] = int8_t(int(o) - 20);  // quotients of o / 2 - 10: ties
      test.scales.as<float>()[o] = o % 8 == 7 ? 1e30f : o % 8 == 6 ? 100.0f : 1.0f;
    }
    CHECK(check_on_all_targets(test, test.targets()) == "");
  }
}

TEST_CASE("linear i8: output codes are those of a division, however near a half the quotient is", "[short]") {
  for (const auto& [scale, tokens, odd] : every({0.03f, 0x1.fffffep-1f, 0x1.000002p0f, 3.7e-5f, 7.1e9f, 1e-20f, 1e30f},
                                                {1u, 3u, 22u}, {0.0f, kInfinity, -kInfinity, 1e25f, kNaN})) {
    LinearProblem p = of_codes(tokens, 1, 520);
    p.y_scale = scale, p.y_zero_point = 1;
    LinearCase test = of_biases(p);
    float* const bias = test.bias.as<float>();
    for (size_t o = 0; o < p.out_dim; ++o) {
      const double half = double(o / 2) - 130 + 0.5;
      bias[o] = float(half * double(scale));
      if (o % 2 != 0) bias[o] = std::nextafter(bias[o], o % 4 == 1 ? kInfinity : -kInfinity);
    }
    bias[70] = odd;
    CHECK(check_on_all_targets(test, test.targets()) == "");
  }
}

TEST_CASE("linear i8: an activation comes before the code, with the same bits on every target", "[short]") {
  for (const auto& [kind, dtype, tokens] : every(kActivations, {FOVEA_I8, FOVEA_I4, FOVEA_Q4_1}, {1u, 3u, 20u})) {
    LinearProblem p = problem(tokens, 37, 19, dtype);
    LinearCase plain(p);
    p.activation = kind;
    LinearCase active(p);
    p.y_dtype = FOVEA_I8, p.y_zero_point = -3;
    LinearCase codes(p);
    std::vector<float> first;
    run_each_way(active, [&, activation = kind](fovea_target target) {
      REQUIRE(plain.run(target) == FOVEA_OK);
      REQUIRE(codes.run(target) == FOVEA_OK);
      std::vector<float> near = plain.outputs();
      const std::vector<float> got = active.outputs(), code = codes.outputs();
      auto a = one_row<fovea_activation_args>(FOVEA_TARGET_BEST, near.size(), near.data(), near.data());
      a.activation = activation;
      REQUIRE(fovea_activation(&a) == FOVEA_OK);
      bool right = true;
      for (size_t i = 0; i < got.size(); ++i) {
        right = right && std::fabs(got[i] - near[i]) <= 1e-5f * std::fabs(near[i]) + 1e-36f;
        right = right && code[i] == float(codes.code_of(got[i]));
      }
      CHECK(right);
      if (first.empty()) first = got;
      CHECK(same_bits(first, got));
    });
  }
}

TEST_CASE("linear i8: ReLU and ReLU6 limit outputs before the code, whatever its zero and scale", "[short]") {
  for (const auto& [kind, scale, zero, odd, tokens] :
       every({FOVEA_ACTIVATION_RELU, FOVEA_ACTIVATION_RELU6}, {0.03f, 6.0f / 255, 0.04f, 7.0f, 1e-20f, 1e30f},
             {-128, -3, 127}, {0.0f, kInfinity, -kInfinity, kNaN}, {1u, 3u, 22u})) {
    LinearProblem p = of_codes(tokens, 1, 131);
    p.y_scale = scale, p.y_zero_point = zero, p.activation = kind;
    LinearCase test = of_biases(p);
    float* const bias = test.bias.as<float>();
    for (size_t o = 0; o < p.out_dim; ++o) bias[o] = (float(o) - 40.5f) * 4 * scale;
    bias[3] = 6.0f, bias[4] = std::nextafter(6.0f, 0.0f), bias[5] = std::nextafter(6.0f, 7.0f);
    bias[6] = -0.0f, bias[7] = -6.0f, bias[8] = odd;
    run_each_way(test, [&](fovea_target) {
      bool right = true;
      for (const auto& [t, o] : indices(p.tokens, p.out_dim)) {
        float want = bias[o] < 0.0f ? 0.0f : bias[o];
        if (p.activation == FOVEA_ACTIVATION_RELU6 && want > 6.0f) want = 6.0f;
        right = right && test.y.get(0, 0, t, o) == float(test.code_of(want));
      }
      CHECK(right);
    });
  }
}

// ------------------------------------------------------------------------------------------------------------- memory

TEST_CASE("linear i8: workspace grows with tokens up to a tile, and the macro is a bound", "[short]") {
  LinearCase test(problem(5));
  for (const fovea_target target : test.targets()) {
    test.args.target = target;
    for (const auto& [in_dim, dtype] :
         every({1u, 3u, 13u, 16u, 17u, 32u, 384u, 2048u}, {FOVEA_I8, FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q4_K, FOVEA_Q6_K})) {
      test.args.in_dim = in_dim;
      test.args.weights.dtype = dtype;
      size_t before = 0;
      for (const uint32_t tokens : {0u, 1u, 2u, 5u, 8u, 9u, 17u, 33u, 48u, 49u, 96u, 97u, 128u, 1u << 30}) {
        test.args.tokens = tokens;
        const size_t bytes = bytes_of(fovea_linear_workspace_bytes, &test.args);
        CHECK(bytes >= before);
        CHECK(bytes <= FOVEA_LINEAR_I8_WORKSPACE_BYTES(in_dim));
        before = bytes;
      }
    }
  }
  // Of a board, asked on a host.
  test.args.in_dim = 384, test.args.tokens = 100, test.args.target = FOVEA_TARGET_HELIUM;
  test.args.weights.dtype = FOVEA_I8;
  const size_t bytes = 12 * 384 + 64 + 12 * 4 * 64 + 4 * 64;
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == bytes);
  test.args.weights.dtype = FOVEA_Q4_0;
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == bytes + 12 * 4 * (384 / 32));
  test.args.x_dtype = FOVEA_I8;  // then one scale serves all groups
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == bytes + 64);
}

TEST_CASE("linear i8: every misuse has its status, and nothing is written", "[short]") {
  using A = fovea_linear_args;
  std::vector<Misuse<LinearCall>> all = {
      {"f32 weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F32; }},
      {"f16 weights", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_F16; }},
      {"an integer bias with groups", FOVEA_ERR_UNSUPPORTED,
       [](LinearCall& c) {
         c.args.weights.dtype = FOVEA_I4, c.args.weights.bias = nullptr, c.args.x_scales_stride = 0;
         c.args.weights.bias_i32 = c.bias.as<int32_t>();
       }},
      {"scales of blocks", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.dtype = FOVEA_Q8_0; }},
      {"scales of f32 x", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_zero_point = 0; }},
      {"a stride of scales of f32 x", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_zero_point = 0, c.args.x_scales = nullptr; }},
      {"a zero of f32 x", FOVEA_ERR_UNSUPPORTED,
       [](auto& c) { c.args.x_dtype = FOVEA_F32, c.args.x_scales = nullptr; }},
      {"a scale of f32 y", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_F32, c.args.y_zero_point = 0; }},
      {"a zero of f32 y", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.y_dtype = FOVEA_F32, c.args.y_scale = 0.0f; }},
      {"both biases", FOVEA_ERR_UNSUPPORTED,
       [](LinearCall& c) { c.args.weights.bias_i32 = c.bias.as<int32_t>(), c.args.x_scales_stride = 0; }},
      {"an integer bias with many scales", FOVEA_ERR_UNSUPPORTED,
       [](LinearCall& c) { c.args.weights.bias_i32 = c.bias.as<int32_t>(), c.args.weights.bias = nullptr; }},
      {"no scales of weights", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.scales = nullptr; }},
      {"an integer bias misaligned", FOVEA_ERR_ALIGNMENT,
       [](LinearCall& c) {
         c.args.weights.bias = nullptr, c.args.x_scales_stride = 0;
         c.args.weights.bias_i32 = shifted<int32_t>(c.bias.as<char>(), 2);
       }},
      {"x is y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y; }},
      {"tokens of y overlap", FOVEA_ERR_STRIDE, [](auto& c) { --c.args.y_stride; }},
  };
  add_misaligned(all, &A::x_scales);
  add_misuses(all, FOVEA_ERR_ENUM, {&A::compute}, {fovea_compute(3)});
  add_misuses(all, FOVEA_ERR_UNSUPPORTED, {&A::compute}, {FOVEA_COMPUTE_F16, FOVEA_COMPUTE_F32});
  add_misuses(all, FOVEA_ERR_ENUM, {&A::processor_features}, {1ull << 63});
  add_misuses(all, FOVEA_ERR_ENUM, {&A::x_dtype, &A::y_dtype}, {fovea_dtype(99)});
  add_misuses(all, FOVEA_ERR_UNSUPPORTED, {&A::x_dtype, &A::y_dtype}, {FOVEA_F16, FOVEA_BF16});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::x_zero_point, &A::y_zero_point}, {-129, 128});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::y_scale}, {1e-39f, 0x1.8p126f, 0.0f, -1.0f, kInfinity, kNaN});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::in_dim}, {65537});
  add_misuses(all, FOVEA_ERR_NULL, {&A::x_scales}, {nullptr});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::x_scales_stride}, {PTRDIFF_MAX});
  LinearProblem p = problem(20, 19, 12);
  p.x_dtype = p.y_dtype = FOVEA_I8, p.x_zero_point = 3, p.y_zero_point = -3, p.placement = Placement::kStart;
  check_refused(p, all);
}

}  // namespace fovea_test
