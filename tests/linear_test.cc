// SPDX-License-Identifier: Apache-2.0
//
// Linear layers, on every target: those with products of f32, and what holds whatever is multiplied. linear_i8_test.cc and
// linear_f16_test.cc have what is particular to integers and halves. tests/FIELDS.md says which test fails when a field is
// ignored.
#include "ground/targets/compiled.h"
#include "simd_tests.h"
#include "support/linear_case.h"
#include "support/operator.h"

namespace fovea_test {
namespace {

LinearProblem problem(fovea_compute compute, fovea_dtype dtype, uint32_t tokens, uint32_t in_dim, uint32_t out_dim) {
  LinearProblem p;
  p.compute = compute, p.dtype = dtype, p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim;
  return p;
}
LinearProblem problem(fovea_dtype dtype, uint32_t tokens, uint32_t in_dim, uint32_t out_dim) {
  return problem(FOVEA_COMPUTE_F32, dtype, tokens, in_dim, out_dim);
}

// Weights of each kind, and what multiplies them.
struct Product {
  fovea_compute compute;
  fovea_dtype dtype;
};
constexpr Product kProducts[] = {{FOVEA_COMPUTE_F32, FOVEA_F32}, {FOVEA_COMPUTE_F32, FOVEA_F16},
                                 {FOVEA_COMPUTE_F32, FOVEA_I8},  {FOVEA_COMPUTE_F16, FOVEA_F16},
                                 {FOVEA_COMPUTE_I8, FOVEA_I8},   {FOVEA_COMPUTE_I8, FOVEA_Q4_1}};

// Tokens few and many, products of each kind.
std::vector<LinearProblem> problems(const std::vector<uint32_t>& tokens, uint32_t in_dim, uint32_t out_dim) {
  std::vector<LinearProblem> all;
  for (const uint32_t count : tokens) {
    for (const Product& product : kProducts) {
      all.push_back(problem(product.compute, product.dtype, count, in_dim, out_dim));
    }
  }
  return all;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("linear: every count around those of vectors, blocks and tiles agrees with the reference", "[short]") {
  uint64_t seed = 0;
  for (const auto& [tokens, in_dim, out_dim] :
       every({1u, 2u, 3u, 4u, 5u, 8u, 9u, 12u, 13u, 16u, 17u, 47u, 48u, 49u, 65u},
             {1u, 2u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u}, {1u, 2u, 3u, 4u, 7u, 8u, 9u, 16u, 17u})) {
    if (++seed % 5 != 0 && in_dim != 17 && out_dim != 9) continue;
    LinearProblem p = problem(kTypes[seed % std::size(kTypes)], tokens, in_dim, out_dim);
    p.placement = Placement(seed % 3), p.seed = seed;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear: more inputs and outputs than a block takes agree with the reference") {
  for (const auto& [dtype, tokens, in_dim, out_dim] :
       every(kTypes, {1u, 3u, 20u}, {128u, 129u, 257u, 640u}, {64u, 65u, 131u})) {
    LinearProblem p = problem(dtype, tokens, in_dim, out_dim);
    p.seed = in_dim + out_dim;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear: any two of formats, counts, strides and memory agree with the reference", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    LinearProblem p;
    p.dtype = levels.choose(kTypes), p.bias = levels.choose({LinearProblem::kNoBias, LinearProblem::kF32});
    p.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed, Layout::kOneRow});
    p.placement = levels.choose(kPlacements);
    p.tokens = levels.choose({0u, 1u, 2u, 4u, 7u, 19u, 50u}), p.in_dim = levels.choose({1u, 5u, 30u, 64u, 140u});
    p.out_dim = levels.choose({1u, 6u, 40u, 70u}), p.seed = seed;
    return p;
  };
  run_array("linear", 9, make, [](const LinearProblem& p) { CHECK(run_on_all_targets(p) == ""); });
}

TEST_CASE("linear: NaN and infinity go where the sums take them, and nowhere else", "[short]") {
  for (const uint32_t tokens : {4u, 21u}) {
    LinearCase test(problem(FOVEA_F32, tokens, 40, 13));
    test.x.row<float>(1)[39] = kNaN;
    test.x.row<float>(2)[5] = kInfinity;
    test.w.row<float>(7)[3] = kNaN;
    test.w.row<float>(8)[20] = -kInfinity;
    test.bias.as<float>()[9] = kInfinity;
    test.w.row<float>(10)[5] = 0;  // times infinity
    CHECK(check_on_all_targets(test) == "");
    CHECK(std::isnan(test.y.get(0, 0, 2, 10)));
  }
}

TEST_CASE("linear: a scale of a group that is infinite or NaN makes its output so, and no other", "[short]") {
  for (const auto& [compute, dtype, tokens, bad] :
       every({FOVEA_COMPUTE_F32, FOVEA_COMPUTE_I8}, kTypes, {1u, 2u, 4u, 20u}, {kNaN, kInfinity, -kInfinity})) {
    if (!is_grouped(dtype) || dtype == FOVEA_MXFP4) continue;  // whose scales are all numbers
    LinearCase test(problem(compute, dtype, tokens, is_super(dtype) ? 530 : 70, 19));
    put_f16(test.group_scale(5, 1), bad), put_f16(test.group_scale(18, 2), bad);
    run_each_way(test, [&](fovea_target) {
      if (test.p.compute == FOVEA_COMPUTE_I8) CHECK(test.compare() == "");
      bool right = true;
      for (const auto& [t, o] : indices(test.p.tokens, test.p.out_dim)) {
        right = right && std::isfinite(test.y.get(0, 0, t, o)) == (o != 5 && o != 18);
      }
      CHECK(right);
    });
  }
}

TEST_CASE("linear: an activation has the bits of fovea_activation for the outputs without it", "[short]") {
  for (const auto& [kind, tokens] : every(kActivations, {1u, 3u, 9u, 40u})) {
    LinearProblem p = problem(kTypes[(kind + tokens) % std::size(kTypes)], tokens, 21, 67);
    p.layout = kind % 2 == 0 ? Layout::kPadded : p.tokens % 2 == 0 ? Layout::kReversed : Layout::kHeadsFirst;
    LinearCase plain(p), test(p);
    test.args.activation = kind;
    run_each_way(plain, [&, activation = kind](fovea_target target) {
      std::vector<float> want = plain.outputs();
      auto a = one_row<fovea_activation_args>(target, want.size(), want.data(), want.data());
      a.activation = activation;
      REQUIRE(fovea_activation(&a) == FOVEA_OK);
      REQUIRE(test.run(target) == FOVEA_OK);
      CHECK(test.outputs() == want);
    });
  }
}

// --------------------------------------------------------------------------------------------------------------- bits

TEST_CASE("linear: portable bits are those of the token, whatever else", "[short]") {
  for (const fovea_dtype dtype : kTypes) {
    std::vector<float> first[2];  // targets that do not fuse agree with one another too
    LinearCase test(problem(dtype, 53, 150, 75));
    test.args.portable_bits = 1;
    run_each_way(test, [&](fovea_target target) {
      const std::vector<float> all = test.outputs();
      if (first[fuses(target)].empty()) first[fuses(target)] = all;
      CHECK(same_bits(all, first[fuses(target)]));
      for (const uint32_t tokens : {1u, 2u, 7u, 30u}) {
        test.args.tokens = tokens;
        REQUIRE(test.run(target) == FOVEA_OK);
        CHECK(same_bits(test.outputs(), {all.begin(), all.begin() + ptrdiff_t(tokens * test.p.out_dim)}));
      }
      test.args.tokens = test.p.tokens;
    });
  }
}

TEST_CASE("linear: with products of integers or halves portable_bits change no bit", "[short]") {
  for (const LinearProblem& p : problems({2, 3, 41, 60}, 37, 70)) {
    if (p.compute == FOVEA_COMPUTE_F32) continue;
    LinearCase test(p), portable(p);
    portable.args.portable_bits = 1;
    run_each_way(test, [&](fovea_target target) {
      CHECK(test.compare() == "");
      portable.args.processor_features = test.args.processor_features;
      REQUIRE(portable.run(target) == FOVEA_OK);
      CHECK(same_bits(portable.outputs(), test.outputs()));
      const bool integers = p.compute == FOVEA_COMPUTE_I8;
      if (integers) CHECK(test.workspace_bytes() > 0);
      CHECK(test.workspace_bytes() <=
            (integers ? FOVEA_LINEAR_I8_WORKSPACE_BYTES(37) : FOVEA_LINEAR_WORKSPACE_BYTES(37, p.dtype)));
    });
  }
}

TEST_CASE("linear: a budget makes the workspace smaller, and no bit different", "[short]") {
  for (const LinearProblem& p : problems({2, 60}, 37, 20)) {
    LinearCase test(p);
    run_each_way(test, [&](fovea_target target) {
      const size_t budgets = check_budgets(test, target);
      if (p.tokens == 60) CHECK(budgets > 1);
    });
  }
}

TEST_CASE("linear: an executor changes no bit", "[short]") {
  for (const LinearProblem& p : problems({3, 70}, 29, 777)) {
    LinearCase test(p);
    run_each_way(test, [&](fovea_target target) {
      check_workers(test, target, [](const Shuffler& shuffler, uint32_t) { CHECK(shuffler.most_tasks >= 4); });
    });
  }
}

// ------------------------------------------------------------------------------------------------------------- memory

TEST_CASE("linear: workspace grows with tokens up to a tile, and few tokens need none", "[short]") {
  LinearProblem p;
  LinearCase test(p);
  for (const fovea_target target : targets()) {
    test.args.target = target, test.args.in_dim = 384;
    size_t before = 0;
    for (const uint32_t tokens : {0u, 1u, 2u, 5u, 9u, 17u, 33u, 48u, 49u, 1u << 30}) {
      test.args.tokens = tokens;
      const size_t bytes = bytes_of(fovea_linear_workspace_bytes, &test.args);
      CHECK(bytes >= before);
      CHECK((bytes == 0) == (tokens <= lanes(target) / 2));
      before = bytes;
    }
  }
  // Of a board, asked on a host.
  test.args.tokens = 100, test.args.target = FOVEA_TARGET_HELIUM;
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == 12 * 4 * (384 + 64));
  test.args.target = FOVEA_TARGET_SCALAR;
  const size_t rows = FOVEA_SIMD_LANES == 1 ? 4 : 3 * FOVEA_SIMD_LANES;  // of a tile
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == rows * 4 * (384 + 64));
  CHECK(refusal_of(fovea_linear_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
}

TEST_CASE("linear: the macro is an upper bound of the workspace, and what AVX-512 takes", "[short]") {
  LinearProblem p;
  LinearCase test(p);
  test.args.tokens = 1000;
  for (const auto& [dtype, in_dim] : every(kTypes, {1u, 7u, 9u, 384u, 1000u})) {
    size_t most = 0;
    for (const fovea_target target : targets()) {
      test.args.target = target, test.args.in_dim = in_dim, test.args.weights.dtype = dtype;
      most = std::max(most, bytes_of(fovea_linear_workspace_bytes, &test.args));
    }
    CHECK(most <= FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype));
    // With vectors of halves the macro counts more rows than a tile of f32 has.
    const bool is_exact = lanes(fovea_target_at(0)) == 16 && FOVEA_TILE_ROWS_MAX == 48;
    if (is_exact) CHECK(most == FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype));
  }
}

// ------------------------------------------------------------------------------------------------------------- misuse

TEST_CASE("linear: the stride of a single token, or of a single output, may be any number", "[short]") {
  constexpr uint32_t kCounts[][2] = {{1, 11}, {70, 1}, {1, 1}};  // tokens, outputs
  for (const auto& [dtype, count, portable] : every(kTypes, kCounts, {false, true})) {
    LinearCase test(problem(dtype, count[0], 19, count[1]));
    if (count[0] == 1) test.args.x_stride = PTRDIFF_MAX, test.args.y_stride = PTRDIFF_MIN;
    if (count[1] == 1) test.args.weights.row_stride = PTRDIFF_MAX;
    test.args.portable_bits = portable;
    CHECK(check_on_all_targets(test) == "");
  }
}

TEST_CASE("linear: no tokens write nothing, whatever the pointers", "[short]") {
  for (const Product& product : kProducts) {
    LinearCase test(problem(product.compute, product.dtype, 5, 19, 11));
    test.args.tokens = 0;
    CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_OK);
    CHECK(test.y.memory.untouched());
    test.args.x = nullptr, test.args.y = nullptr, test.args.weights.data = nullptr;
    CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_OK);
    test.args.in_dim = 0;
    CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_ERR_DIM);
  }
  CHECK(fovea_linear(nullptr, nullptr, 0) == FOVEA_ERR_NULL);
}

TEST_CASE("linear: every misuse has its status, and nothing is written", "[short]") {
  using A = fovea_linear_args;
  constexpr ptrdiff_t kMost = PTRDIFF_MAX;
  std::vector<Misuse<LinearCall>> all = {
      {"unknown type", FOVEA_ERR_ENUM, [](auto& c) { c.args.weights.dtype = kNoType; }},
      {"negative type", FOVEA_ERR_ENUM, [](auto& c) { c.args.weights.dtype = enum_of<fovea_dtype>(kNegative); }},
      {"no weights", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.data = nullptr; }},
      {"weights.reserved", FOVEA_ERR_STRUCT, [](auto& c) { set_reserved(c.args.weights); }},
      {"no scales", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.dtype = FOVEA_I8; }},
      {"no scales of groups", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.dtype = FOVEA_I4; }},
      {"scales without use", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.scales = c.args.x; }},
      {"y misaligned", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.args.y = c.y.row(0) + 1; }},
      {"x misaligned", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.args.x = c.x.row(0) + 2; }},
      {"weights misaligned", FOVEA_ERR_ALIGNMENT, [](auto& c) { c.args.weights.data = c.w.row(0) + 2; }},
      {"bias misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.weights.bias = shifted<float>(c.args.weights.bias, 1); }},
      {"tokens of y overlap", FOVEA_ERR_STRIDE, [](auto& c) { --c.args.y_stride; }},
      {"x is y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y; }},
      {"x ends in y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.y.row(19) + 4 * 10, c.args.x_stride = 0; }},
      {"weights in y", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.weights.data = c.args.y, c.args.weights.row_stride = 0; }},
      {"bias in y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.weights.bias = static_cast<float*>(c.args.y); }},
      {"y in the workspace", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.y = c.workspace + c.workspace_bytes - 4; }},
      {"x in the workspace", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.workspace; }},
      {"weights in the workspace", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.weights.data = c.workspace, c.args.weights.row_stride = 0; }},
      {"weights too far", FOVEA_ERR_SIZE, [](auto& c) { c.args.weights.row_stride = kMost / 4; }},
  };
  add_misuses(all);
  add_workspace_misuses(all);
  const auto no_activation = enum_of<fovea_activation_kind>(9);
  add_misuses(all, FOVEA_ERR_ENUM, {&A::activation}, {no_activation});
  add_misuses(all, FOVEA_ERR_DIM, {&A::in_dim, &A::out_dim}, {0});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::tokens}, {(1u << 30) + 1});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::in_dim, &A::out_dim}, {0x80000000u, 0xffffffffu});
  add_misuses(all, FOVEA_ERR_NULL, {&A::y}, {nullptr});
  add_misuses(all, FOVEA_ERR_NULL, {&A::x}, {nullptr});
  add_misuses(all, FOVEA_ERR_STRIDE, {&A::y_stride}, {0});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::y_stride, &A::x_stride}, {kMost, -kMost});
  LinearProblem p;
  p.tokens = 20, p.placement = Placement::kStart;
  check_refused(p, all);
}

TEST_CASE("linear: scales of groups are looked at as the other arrays are", "[short]") {
  LinearProblem p;
  p.tokens = 3, p.in_dim = 70, p.dtype = FOVEA_I4;
  LinearCase test(p);
  void* const own = test.scales.as<void>();
  test.args.weights.scales = test.scales.as<char>() + 1;
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_ERR_ALIGNMENT);
  char* const y = test.y.memory.as<char>();
  test.args.weights.scales = y + test.y.memory.bytes() - 2;  // the first scale is the last bytes of y
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_ERR_OVERLAP);
  // The last of all scales, and of no row of fewer groups.
  test.args.weights.scales = y - 2 * (size_t{p.out_dim} * 3 - 1);
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_ERR_OVERLAP);
  test.args.weights.scales = own;
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
}

TEST_CASE("linear: an executor that fails is told of", "[short]") {
  LinearProblem p;
  p.out_dim = 600;
  LinearCase test(p);
  for (const fovea_target target : targets()) {
    Shuffler shuffler(3);
    test.args.executor = shuffler.executor();
    CHECK(test.run(target) == FOVEA_OK);
    shuffler.answer = 1;
    CHECK(test.run(target) == FOVEA_ERR_EXECUTOR);
    shuffler.answer = 0, shuffler.added = 3;
    CHECK(test.run(target) == FOVEA_ERR_EXECUTOR);
    shuffler.added = 0;
    for (const size_t beyond : {size_t{1}, size_t{2}, size_t{SIZE_MAX} - shuffler.most_tasks}) {
      shuffler.beyond = beyond;
      CHECK(test.run(target) == FOVEA_ERR_EXECUTOR);
    }
    shuffler.beyond = 0;
    for (size_t left_out = 1; left_out <= shuffler.most_tasks; ++left_out) {
      shuffler.left_out = left_out;
      CHECK(test.run(target) == (kCountsTasks ? FOVEA_ERR_EXECUTOR : FOVEA_OK));
    }
  }
}

TEST_CASE("linear: BEST is the first target", "[short]") {
  LinearProblem p;
  p.tokens = 30;
  LinearCase test(p);
  REQUIRE(test.run(FOVEA_TARGET_BEST) == FOVEA_OK);
  const std::vector<float> best = test.outputs();
  const size_t bytes = bytes_of(fovea_linear_workspace_bytes, &test.args);
  REQUIRE(test.run(fovea_target_at(0)) == FOVEA_OK);
  CHECK(same_bits(test.outputs(), best));
  CHECK(bytes_of(fovea_linear_workspace_bytes, &test.args) == bytes);
}

}  // namespace fovea_test
