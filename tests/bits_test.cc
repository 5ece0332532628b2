// SPDX-License-Identifier: Apache-2.0
//
// The same bits: with portable_bits, and with integer products in any case, the output of a query depends on its own
// inputs and on nothing else. All comparisons are of bytes.
#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

// Calls with every kind of option, with more rows than a tile and more keys than two tiles.
std::vector<Problem> problems() {
  constexpr Option kHeads[] = {{"pairs", [](auto& p) { p.q_heads = 4, p.kv_heads = 2; }},
                               {"one of keys", [](auto& p) { p.q_heads = 3, p.kv_heads = 1; }}};
  constexpr Option kQueries[] = {
      {"tiles", [](auto& p) { p.q_tokens = 130, p.head_dim = 33, p.value_dim = 64; }},
      {"one", [](auto& p) { p.q_tokens = 1, p.head_dim = 64, p.value_dim = 17, p.softcap = 2.0f, p.sinks = true; }},
      {"some", [](auto& p) { p.q_tokens = 37, p.head_dim = 5, p.value_dim = 3; }},
  };
  constexpr Option kKeys[] = {
      {"all", [](auto& p) { p.kv_tokens = 200; }},
      {"window", [](auto& p) { p.kv_tokens = 64, p.causal = FOVEA_CAUSAL_BOTTOM_RIGHT, p.window_left = 21; }},
      {"causal", [](auto& p) { p.kv_tokens = 83, p.causal = FOVEA_CAUSAL_TOP_LEFT, p.alibi = true; }},
      {"positions",
       [](auto& p) {
         p.kv_tokens = 131, p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {3, 70}, p.window_left = 77;
       }},
  };
  constexpr Option kStages[] = {
      {"none", [](auto& p) { p.stage = FOVEA_SCORES_NONE; }},
      {"float mask", [](auto& p) { p.stage = FOVEA_SCORES_SCALED, p.mask = FOVEA_MASK_F32; }},
      {"byte mask", [](auto& p) { p.stage = FOVEA_SCORES_CAPPED, p.mask = FOVEA_MASK_BYTE, p.mask_missing = 5; }},
      {"lengths", [](auto& p) { p.stage = FOVEA_SCORES_MASKED, p.kv_lengths = {p.kv_tokens, p.kv_tokens / 2 + 1}; }},
      {"scale", [](auto& p) { p.stage = FOVEA_SCORES_SOFTMAX, p.scale = -0.4f; }},
  };
  std::vector<Problem> all;
  for (uint32_t i = 0; i < 12; ++i) {
    Problem p;
    p.seed = i + 1, p.batch = 2;
    for (const Option& o : {kHeads[i % 2], kQueries[i % 3], kKeys[i % 4], kStages[i % 5]}) o.set(p);
    if (i >= 8) p.head_dim += 100;
    if (i == 3 || i == 10) p.score = FOVEA_SCORE_ADDITIVE;
    all.push_back(p);
  }
  return all;
}

// The same with integer products: of int8 rows, and of int4 rows among them.
std::vector<Problem> integer_problems() {
  std::vector<Problem> all;
  for (const Problem& p : problems()) {
    all.push_back(p.with_integers(p.seed % 3 == 0 ? FOVEA_I4 : FOVEA_I8, p.seed % 4 == 0 ? FOVEA_I4 : FOVEA_I8));
    if (p.seed % 5 == 2) all.back().q_dtype = FOVEA_BF16;
  }
  return all;
}

std::vector<Problem> all_problems() {
  std::vector<Problem> all = problems();
  for (const Problem& p : integer_problems()) {
    if (p.seed % 3 == 1) all.push_back(p);  // all of them would double what emulators need
  }
  return all;
}

// Of the outputs of problems. Some with dropout, which depends on the place in the batch, and so is not in problems().
uint64_t hash_outputs(const std::vector<Problem>& all, const Run& how, bool asks_processor = true) {
  uint64_t hash = kHashOfNothing;
  for (Problem p : all) {
    if (p.seed % 4 == 3) p.dropout = 0.3f;
    AttentionCase test(p);
    if (!asks_processor) test.desc.processor_features = 0;
    const Outputs o = run(test, how);
    hash = hash_bits(hash_bits(hash_bits(hash, o.out), o.lse), o.scores);
  }
  return hash;
}

void check_same(AttentionCase& one, AttentionCase& other) {
  for (const auto& [target, portable] : every(one.problem.targets(), {false, true})) {
    INFO(name(one.problem) << ": " << fovea_target_name(target));
    CHECK(same_bits(run(one, {target, Budget::kNone, portable}), run(other, {target, Budget::kNone, portable})));
  }
}

}  // namespace

// fovea.h promises it of IEEE targets with a fused multiply-add. The others, and those of 32-bit Arm, whose vectors
// flush subnormal numbers, agree with one another on these problems too.
TEST_CASE("bits: all targets that fuse multiply-adds give the same, on all machines, as do all others", "[short]") {
  // Of the outputs of all problems(). A change to the kernels that is meant to change bits sets them anew.
  constexpr uint64_t kFused = 0x28d7fc91f7c98c8cu, kTwiceRounded = 0x6b6043501048c9c2u;
  uint64_t split[2] = {};  // with the keys in parts
  for (const fovea_target target : targets()) {
    const uint64_t hash = hash_outputs(problems(), {target, Budget::kNone, true});
    const uint64_t of_parts = hash_outputs(problems(), {target, Budget::kNone, true, 64});
    uint64_t& first = split[fuses(target)];
    if (first == 0) first = of_parts;
    INFO(fovea_target_name(target));
    CHECK(hash == (fuses(target) ? kFused : kTwiceRounded));
    CHECK(of_parts == first);
  }
}

TEST_CASE("bits: with integer products all targets give the same, on all machines, for few rows and many", "[short]") {
  constexpr uint64_t kWhole = 0x930ae6c85c2375b1u, kSplit = 0x6ceadecdf2271c72u;
  for (const auto& [target, portable] : every(targets_and_those_that_extend_them(), {false, true})) {
    INFO(fovea_target_name(target) << ", portable bits " << portable);
    CHECK(hash_outputs(integer_problems(), {target, Budget::kNone, portable}) == kWhole);
    CHECK(hash_outputs(integer_problems(), {target, Budget::kNone, portable, 64}) == kSplit);
  }
}

TEST_CASE("bits: with products of halves all targets give the same, with arithmetic of halves and without", "[short]") {
  constexpr uint64_t kWhole = 0xff28bae3efeae805u, kSplit = 0x493f2013d00d7aaeu;
  std::vector<Problem> all;
  for (const Problem& p : problems()) {
    if (p.seed % 2 != 0) continue;  // f32 arithmetic takes long
    all.push_back(p.with_halves());
    if (p.seed % 5 == 2) all.back().q_dtype = all.back().out_dtype = FOVEA_F16;
  }
  for (const auto& [target, halves] : every(targets(), {true, false})) {
    INFO(fovea_target_name(target) << ", the processor's halves " << halves);
    CHECK(hash_outputs(all, {target, Budget::kNone, halves}, halves) == kWhole);
    CHECK(hash_outputs(all, {target, Budget::kNone, halves, 64}, halves) == kSplit);
  }
}

// Layer normalisation with a residual, and each activation of its result; RMS normalisation, and SiLU with a factor.
TEST_CASE("bits: layer normalisation and activations are the same on targets that fuse, and on all others", "[short]") {
  constexpr uint64_t kFused = 0x6db294d3bbd65eacu, kTwiceRounded = 0xa985efd10af9846eu;
  constexpr uint32_t kDim = 301;
  std::vector<float> x(kDim), residual(kDim), weight(kDim), bias(kDim), y(kDim), z(kDim), first[2];
  for (uint32_t i = 0; i < kDim; ++i) {
    x[i] = random_normal(21, i) + 3, residual[i] = random_normal(22, i);
    weight[i] = random_normal(23, i), bias[i] = random_normal(24, i);
  }
  for (const fovea_target target : targets()) {
    auto norm = one_row<fovea_norm_args>(target, kDim, x.data(), y.data());
    norm.norm = FOVEA_NORM_LAYER, norm.epsilon = 1e-5f, norm.residual.data = residual.data();
    norm.weight = weight.data(), norm.bias = bias.data();
    REQUIRE(fovea_norm(&norm) == FOVEA_OK);
    uint64_t hash = hash_bits(kHashOfNothing, y);
    for (uint32_t kind = 0; kind <= FOVEA_ACTIVATION_TANH; ++kind) {
      auto a = one_row<fovea_activation_args>(target, kDim, y.data(), z.data());
      a.activation = fovea_activation_kind(kind);
      REQUIRE(fovea_activation(&a) == FOVEA_OK);
      hash = hash_bits(hash, z);
    }
    INFO(fovea_target_name(target));
    CHECK(hash == (fuses(target) ? kFused : kTwiceRounded));
    norm.norm = FOVEA_NORM_RMS, norm.bias = nullptr;
    REQUIRE(fovea_norm(&norm) == FOVEA_OK);
    auto gated = one_row<fovea_activation_args>(target, kDim, y.data(), z.data());
    gated.activation = FOVEA_ACTIVATION_SILU, gated.factor.data = x.data();
    REQUIRE(fovea_activation(&gated) == FOVEA_OK);
    std::vector<float>& other = first[fuses(target)];
    if (other.empty()) other = z;
    CHECK(same_bits(other, z));
  }
}

// A softmax and a log-softmax of rows, or of columns side by side; every other call has a scale and a mask.
uint64_t hash_softmax(uint64_t hash, fovea_target target, size_t outer, size_t axis, size_t inner) {
  const size_t count = outer * axis * inner;
  std::vector<float> in(count), mask(count), out(count);
  for (size_t i = 0; i < count; ++i) {
    in[i] = random_bits(axis, i) % 19 == 0 ? -kInfinity : random_uniform(axis + 1, i, -9.0f, 9.0f);
    mask[i] = random_bits(axis + 2, i) % 7 == 0 ? -kInfinity : random_uniform(axis + 3, i, -2.0f, 2.0f);
  }
  auto args = sized<fovea_softmax_args>();
  args.target = target;
  args.y = out.data(), args.x = in.data();
  args.outer = outer, args.axis = axis, args.inner = inner;
  args.y_axis_stride = args.x_axis_stride = args.mask_axis_stride = ptrdiff_t(inner);
  args.y_outer_stride = args.x_outer_stride = args.mask_outer_stride = ptrdiff_t(axis * inner);
  args.mask_inner_stride = 1;
  for (const bool masked : {false, true}) {
    args.mask = masked ? mask.data() : nullptr;
    args.scale = masked ? 0.7f : 1.0f;
    REQUIRE(fovea_softmax(&args) == FOVEA_OK);
    hash = hash_bits(hash, out);
    REQUIRE(fovea_log_softmax(&args) == FOVEA_OK);
    hash = hash_bits(hash, out);
  }
  return hash;
}

TEST_CASE("bits: a softmax of rows has them of all targets with 16 strands to a sum, of columns of all", "[short]") {
  constexpr uint64_t kRows[2] = {0x542276fdc634fc1fu, 0xbe1e089e4986892fu},
                     kColumns[2] = {0xe20c78c952842459u, 0xb6f4e488a937d07du};  // twice rounded, fused
  for (const fovea_target target : targets_and_best()) {
    INFO(fovea_target_name(target));
    const fovea_target runs = target == FOVEA_TARGET_BEST ? fovea_target_at(0) : target;
    uint64_t rows = kHashOfNothing, columns = rows;
    for (const size_t axis : {1u, 2u, 9u, 33u, 64u, 70u}) columns = hash_softmax(columns, target, 2, axis, 19);
    CHECK(columns == kColumns[fuses(target)]);
    // Fewer strands where a vector has one lane, and where there are 8 registers.
    if (runs == FOVEA_TARGET_SCALAR || runs == FOVEA_TARGET_HELIUM) continue;
    for (const size_t axis : {1u, 2u, 9u, 16u, 31u, 32u, 33u, 64u, 100u, 197u, 256u, 257u, 1000u, 1024u, 4131u}) {
      rows = hash_softmax(rows, target, 5, axis, 1);
    }
    CHECK(hash_softmax(rows, target, 1, 70001, 1) == kRows[fuses(target)]);
  }
}

TEST_CASE("bits: no second run, placement of the data or layout of the workspace changes them", "[short]") {
  for (const Problem& p : all_problems()) {
    for (const fovea_target target : p.targets()) {
      AttentionCase test(p);
      const Outputs want = run(test, {target, Budget::kNone, true});
      CHECK(same_bits(run(test, {target, Budget::kNone, true}), want));
      for (const Placement placement : {Placement::kStart, Placement::kOffset}) {
        Problem moved = p;
        moved.placement = placement;
        AttentionCase other(moved);
        INFO(name(moved) << ": " << fovea_target_name(target));
        CHECK(same_bits(run(other, {target, Budget::kNone, true}), want));
      }
      // A workspace on any multiple of 64 bytes, with any content, larger than needed.
      Guarded memory(made(test.plan).workspace_bytes + 4096, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
      for (const size_t offset : {size_t{0}, size_t{64}, size_t{128}, size_t{2048 + 192}}) {
        std::memset(memory.as<uint8_t>(), int(offset / 64), memory.bytes());
        test.fill_outputs();
        const size_t bytes = memory.bytes() - offset;
        REQUIRE(fovea_attention(&test.plan, &test.args, memory.as<uint8_t>() + offset, bytes) == FOVEA_OK);
        CHECK(same_bits(test.outputs(), want));
      }
    }
  }
}

TEST_CASE("bits: the place in a batch does not change them", "[short]") {
  for (Problem p : all_problems()) {
    p.batch = 3;
    if (!p.kv_lengths.empty()) p.kv_lengths.assign(3, p.kv_tokens / 2 + 1);
    if (!p.positions.empty()) p.positions.assign(3, 11);
    p.mask_batch = false;
    AttentionCase many(p);
    many.args.q.batch_stride = many.args.kv.keys.batch_stride = many.args.kv.values.batch_stride = 0;
    many.args.kv.key_scales.batch_stride = many.args.kv.value_scales.batch_stride = 0;
    for (const fovea_target target : p.targets()) {
      const Outputs want = run(many, {target, Budget::kNone, true});
      const size_t each = want.out.size() / 3;
      for (size_t b = 1; b < 3; ++b) {
        INFO(name(p) << ": " << fovea_target_name(target) << ", entry " << b);
        CHECK(std::memcmp(want.out.data(), want.out.data() + b * each, each * sizeof(float)) == 0);
      }
      many.args.batch = 1;
      many.fill_outputs();
      REQUIRE(call_again(many, many.args) == FOVEA_OK);
      CHECK(same_bits(many.out(), {want.out.begin(), want.out.begin() + ptrdiff_t(each)}));
      many.args.batch = 3;
    }
  }
}

TEST_CASE("bits: a query's do not depend on the other queries of the call", "[short]") {
  for (Problem p : all_problems()) {
    if (p.q_tokens == 1) continue;
    if (p.causal == FOVEA_CAUSAL_TOP_LEFT) p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {0, 0};
    if (p.causal == FOVEA_CAUSAL_BOTTOM_RIGHT) p.causal = FOVEA_CAUSAL_POSITIONS, p.positions = {40, 9};
    p.stage = FOVEA_SCORES_NONE;
    AttentionCase test(p);
    for (const fovea_target target : p.targets()) {
      const Outputs want = run(test, {target, Budget::kNone, true});
      call_with_some_queries(test, 3);  // at every place of a vector and of a tile
      INFO(name(p) << ": " << fovea_target_name(target));
      CHECK(same_bits(test.outputs(), want));
    }
  }
}

// Widened, but for the lowest number of f16, which hides there alone.
TEST_CASE("bits: a mask of f16 or bf16 has those of the same numbers in f32", "[short]") {
  for (Problem p : all_problems()) {
    p.mask_batch = p.seed % 2 != 0;
    for (const fovea_mask_kind kind : {FOVEA_MASK_F16, FOVEA_MASK_BF16}) {
      p.mask = kind;
      AttentionCase narrow(p);
      p.mask = FOVEA_MASK_F32;
      AttentionCase wide(p);
      REQUIRE(wide.mask_elements() == narrow.mask_elements());
      for (size_t i = 0; i < wide.mask_elements(); ++i) {
        const uint16_t bits = narrow.mask_half()[i];
        const bool lowest = kind == FOVEA_MASK_F16 && bits == 0xfbff;
        const Half format = kind == FOVEA_MASK_F16 ? kF16 : kBf16;
        wide.mask_f32()[i] = float(value_of(format, lowest ? 0xfc00u : bits));
      }
      check_same(narrow, wide);
    }
  }
}

TEST_CASE("bits: a mask of one element a row has those of it for each key, and factors of 2 double it", "[short]") {
  for (Problem p : all_problems()) {
    p.mask = FOVEA_MASK_F32, p.mask_missing = 3, p.mask_keys = false, p.mask_factors = true;
    AttentionCase one(p);
    p.mask_keys = true, p.mask_factors = false;
    AttentionCase each(p);
    each.args.q = one.args.q, each.args.kv = one.args.kv;  // where other keys have no data
    for (uint32_t h = 0; h < p.q_heads; ++h) one.mask_factors()[h] = 2;
    const size_t columns = p.kv_tokens - 3;
    for (const auto& [row, j] : indices<size_t>(one.mask_elements(), columns)) {
      each.mask_f32()[row * columns + j] = 2 * one.mask_f32()[row];
    }
    check_same(one, each);
  }
}

TEST_CASE("bits: hidden keys behind the last visible one do not change them", "[short]") {
  for (const uint32_t keys : {1u, 7u, 63u, 64u, 65u, 100u, 128u, 130u}) {
    Problem p;
    p.q_tokens = 9, p.kv_tokens = 200, p.head_dim = 17, p.value_dim = 20, p.batch = 2, p.q_heads = 2;
    p.kv_lengths = {keys, keys};
    for (const Problem& problem : {p, p.with_integers()}) {
      AttentionCase test(problem);
      for (const fovea_target target : problem.targets()) {
        const Outputs want = run(test, {target, Budget::kNone, true});
        fovea_attention_args shorter = test.args;
        shorter.kv_tokens = keys, shorter.kv_lengths = nullptr;
        test.fill_outputs();
        REQUIRE(call_again(test, shorter) == FOVEA_OK);
        INFO(name(problem) << ": " << fovea_target_name(target));
        CHECK(same_bits(test.outputs(), want));
      }
    }
  }
}

}  // namespace fovea_test
