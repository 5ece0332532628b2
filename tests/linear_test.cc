// SPDX-License-Identifier: Apache-2.0
//
// Linear layers against a reference in double, on every target. tests/FIELDS.md says which test fails when a field is
// ignored.
#include <cstdio>

#include "ground/targets/compiled.h"
#include "simd_tests.h"
#include "support/shuffler.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct LinearProblem {
  uint32_t tokens = 5, in_dim = 19, out_dim = 11;
  fovea_dtype dtype = FOVEA_F32;
  bool bias = true;
  Layout layout = Layout::kHeadsFirst;  // kOneRow: the inputs alone
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const LinearProblem& p, fovea_target target) {
  Text text;
  text << "linear " << p.tokens << "x" << p.in_dim << "x" << p.out_dim << " " << type_name(p.dtype)
       << (p.bias ? " " : " no bias ") << name(p.layout) << " " << name(p.placement) << " seed " << p.seed << " | "
       << fovea_target_name(target);
  return text.str();
}

class LinearCase {
 public:
  explicit LinearCase(const LinearProblem& problem) : p(problem), args{} {
    const auto place = [&](uint32_t rows, size_t dim, Layout layout) { return strides_of({1, 1, rows, dim}, layout); };
    const Strides of_y = place(p.tokens, p.out_dim, output_layout(p.layout)),
                  of_x = place(p.tokens, p.in_dim, p.layout);
    const Strides of_w = place(p.out_dim, row_units(p.dtype, p.in_dim), output_layout(p.layout));
    const size_t unit = unit_size(p.dtype), row_scale_count = row_scales(p.dtype, p.in_dim);
    y_ = Guarded(of_y.elements * sizeof(float), sizeof(float), p.placement);
    x_ = Guarded(of_x.elements * sizeof(float), sizeof(float), p.placement);
    w_ = Guarded(of_w.elements * unit, unit, p.placement);
    args.struct_bytes = sizeof args, args.tokens = p.tokens, args.in_dim = p.in_dim, args.out_dim = p.out_dim;
    args.y = y_.as<float>() + of_y.first, args.y_stride = of_y.token;
    args.x = x_.as<float>() + of_x.first, args.x_stride = of_x.token;
    args.weights.dtype = p.dtype;
    args.weights.data = w_.as<char>() + of_w.first * unit;
    args.weights.row_stride = of_w.token;
    for (const auto& [t, i] : indices<size_t>(p.tokens, p.in_dim)) *x(t, i) = random_normal(p.seed, t * 8192 + i);
    if (row_scale_count != 0) {
      const size_t size = scale_size(p.dtype);
      scales_ = Guarded(p.out_dim * row_scale_count * size, size, p.placement);
      args.weights.scales = scales_.as<void>();
    }
    for (size_t o = 0; o < p.out_dim; ++o) draw_row(o);
    if (p.bias) {
      bias_ = Guarded(p.out_dim * sizeof(float), sizeof(float), p.placement);
      for (size_t o = 0; o < p.out_dim; ++o) bias_.as<float>()[o] = random_normal(p.seed + 2, o);
      args.weights.bias = bias_.as<float>();
    }
  }

  float* x(size_t token, size_t i) const {
    return static_cast<float*>(const_cast<void*>(args.x)) + ptrdiff_t(token) * args.x_stride + ptrdiff_t(i);
  }
  float* y(size_t token, size_t o) const {
    return static_cast<float*>(args.y) + ptrdiff_t(token) * args.y_stride + ptrdiff_t(o);
  }
  template <class T>
  T* w(size_t o, size_t unit) const {
    return static_cast<T*>(const_cast<void*>(args.weights.data)) + ptrdiff_t(o) * args.weights.row_stride +
           ptrdiff_t(unit);
  }
  uint8_t* w_bytes(size_t o) const {
    return const_cast<uint8_t*>(static_cast<const uint8_t*>(args.weights.data)) +
           ptrdiff_t(o) * args.weights.row_stride * ptrdiff_t(unit_size(p.dtype));
  }
  uint8_t* w_scales(size_t o) const {
    return scales_.bytes() != 0 ? scales_.as<uint8_t>() + o * row_scales(p.dtype, p.in_dim) * scale_size(p.dtype)
                                : nullptr;
  }

  double weight(size_t o, size_t i) const { return double(element_of(p.dtype, w_bytes(o), w_scales(o), i)); }

  // Runs with exactly the workspace that is asked for, behind guards.
  fovea_status run(fovea_target target) {
    args.target = target;
    const Guarded workspace(fovea_linear_workspace_bytes(&args), FOVEA_WORKSPACE_ALIGNMENT,
                            p.placement == Placement::kOffset ? Placement::kEnd : p.placement);
    y_.fill();
    for (const Guarded* input : {&x_, &w_, &scales_, &bias_}) input->read_only(true);
    const fovea_status status =
        fovea_linear(&args, workspace.bytes() ? workspace.as<void>() : nullptr, workspace.bytes());
    for (const Guarded* input : {&x_, &w_, &scales_, &bias_}) input->read_only(false);
    REQUIRE(workspace.margin_intact());
    return status;
  }

  std::vector<float> outputs() const {
    std::vector<float> all;
    for (size_t t = 0; t < p.tokens; ++t) all.insert(all.end(), y(t, 0), y(t, 0) + p.out_dim);
    return all;
  }

  // "" or what is wrong.
  std::string check(fovea_target target) {
    const std::string full_name = name(p, target);
    set_current_case(full_name);
    const fovea_status status = run(target);
    if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);
    if (!y_.margin_intact()) return full_name + ": written outside of y";
    for (const auto& [t, o] : indices<size_t>(p.tokens, p.out_dim)) {
      double want = p.bias ? double(args.weights.bias[o]) : 0, magnitude = std::fabs(want);
      for (size_t i = 0; i < p.in_dim; ++i) {
        const double product = double(*x(t, i)) * weight(o, i);
        want += product;
        magnitude += std::fabs(product);
      }
      if (std::fabs(double(*y(t, o)) - want) <= linear_tolerance(magnitude, p.in_dim)) continue;
      Text text;
      text << full_name << ": [" << t << "][" << o << "] is " << *y(t, o) << ", want " << want;
      return text.str();
    }
    size_t touched = 0;
    for (size_t i = 0; i < y_.bytes(); i += sizeof(float)) {
      touched += !(y_.untouched(i) && y_.untouched(i + 1) && y_.untouched(i + 2) && y_.untouched(i + 3));
    }
    return touched == size_t{p.tokens} * p.out_dim ? "" : full_name + ": written between the rows";
  }

  LinearProblem p;
  fovea_linear_args args;
  Guarded y_, x_, w_, scales_, bias_;

 private:
  // Normal numbers between 2^-5 and 2 in size; any code.
  void draw_row(size_t o) {
    for (size_t i = 0; i < row_units(p.dtype, p.in_dim); ++i) {
      const uint64_t bits = random_bits(p.seed + 1, o * 8192 + i);
      const uint64_t exponent = bits >> 20 & 3;
      switch (p.dtype) {
        case FOVEA_F32: *w<float>(o, i) = random_normal(p.seed + 1, o * 8192 + i); break;
        case FOVEA_F16: *w<uint16_t>(o, i) = uint16_t((bits & 0x83ff) | (exponent + 12) << 10); break;
        case FOVEA_BF16: *w<uint16_t>(o, i) = uint16_t((bits & 0x807f) | (exponent + 124) << 7); break;
        case FOVEA_I8: *w<int8_t>(o, i) = int8_t(int(bits % 255) - 127); break;
        default: *w<uint8_t>(o, i) = uint8_t(bits >> 8); break;
      }
    }
    const auto scale = [&](size_t group) { return random_uniform(p.seed + 3, o * 256 + group, 0.001f, 0.02f); };
    if (p.dtype == FOVEA_I8) scales_.as<float>()[o] = scale(0);
    for (size_t g = 0; is_super(p.dtype) && g * 256 < p.in_dim; ++g) {
      uint8_t* const block = w_bytes(o) + g * group_bytes(p.dtype);
      put_f16(block + (p.dtype == FOVEA_Q4_K ? 0 : 208), scale(g) / 32);
      if (p.dtype == FOVEA_Q4_K) put_f16(block + 2, scale(g + 128) / 4);
    }
    for (size_t g = 0; is_grouped(p.dtype) && !is_super(p.dtype) && g * 32 < p.in_dim; ++g) {
      uint8_t* const group = p.dtype == FOVEA_I4 ? w_scales(o) + 2 * g : w_bytes(o) + g * group_bytes(p.dtype);
      put_f16(group, scale(g));
      if (p.dtype == FOVEA_Q4_1) put_f16(group + 2, -8 * scale(g + 128));
    }
  }
  static void put_f16(uint8_t* to, float x) {
    const auto bits = uint16_t(nearest_of(kF16, x));
    std::memcpy(to, &bits, sizeof bits);
  }
};

std::string run_on_all_targets(const LinearProblem& problem) { return check_on_all_targets(LinearCase(problem)); }

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("linear: every count around those of vectors, blocks and tiles agrees with the reference", "[short]") {
  uint64_t seed = 0;
  for (uint32_t tokens : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 12u, 13u, 16u, 17u, 47u, 48u, 49u, 65u}) {
    for (uint32_t in_dim : {1u, 2u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u}) {
      for (uint32_t out_dim : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 16u, 17u}) {
        if (++seed % 5 != 0 && in_dim != 17 && out_dim != 9) continue;
        LinearProblem p;
        p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim;
        p.dtype = kTypes[seed % std::size(kTypes)];
        p.placement = Placement(seed % 3);
        p.seed = seed;
        REQUIRE(run_on_all_targets(p) == "");
      }
    }
  }
}

TEST_CASE("linear: more inputs and outputs than a block takes agree with the reference") {
  for (const auto& [dtype, tokens, in_dim, out_dim] :
       every(kTypes, {1u, 3u, 20u}, {128u, 129u, 257u, 640u}, {64u, 65u, 131u})) {
    LinearProblem p;
    p.tokens = tokens, p.in_dim = in_dim, p.out_dim = out_dim, p.dtype = dtype, p.seed = in_dim + out_dim;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("linear: any two of formats, counts, strides and memory agree with the reference", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    LinearProblem p;
    p.dtype = levels.choose(kTypes), p.bias = levels.flag();
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
    LinearProblem p;
    p.tokens = tokens, p.in_dim = 40, p.out_dim = 13;
    LinearCase test(p);
    *test.x(1, 39) = kNaN;
    *test.x(2, 5) = kInfinity;
    *test.w<float>(7, 3) = kNaN;
    *test.w<float>(8, 20) = -kInfinity;
    const_cast<float*>(test.args.weights.bias)[9] = kInfinity;
    *test.w<float>(10, 5) = 0;  // times infinity
    for (const fovea_target target : targets()) {
      REQUIRE(test.run(target) == FOVEA_OK);
      INFO(name(p, target));
      for (const auto& [t, o] : indices<size_t>(tokens, p.out_dim)) {
        const float got = *test.y(t, o);
        if (t == 1 || o == 7 || (t == 2 && o == 10)) {
          CHECK(std::isnan(got));
        } else if (t == 2 && (o == 8 || o == 9)) {
          CHECK(!std::isfinite(got));
        } else if (t == 2 || o == 8 || o == 9) {
          CHECK(std::isinf(got));
        } else {
          CHECK(std::isfinite(got));
        }
      }
    }
  }
}

TEST_CASE("linear: an activation has the bits of fovea_activation for the outputs without it", "[short]") {
  for (uint32_t kind = 0; kind <= FOVEA_ACTIVATION_TANH; ++kind) {
    for (const uint32_t tokens : {1u, 3u, 9u, 40u}) {
      LinearProblem p;
      p.tokens = tokens, p.in_dim = 21, p.out_dim = 67;
      p.dtype = kTypes[(kind + tokens) % std::size(kTypes)];
      p.layout = kind % 2 == 0 ? Layout::kPadded : tokens % 2 == 0 ? Layout::kReversed : Layout::kHeadsFirst;
      LinearCase test(p);
      for (const fovea_target target : targets()) {
        test.args.activation = FOVEA_ACTIVATION_IDENTITY;
        REQUIRE(test.run(target) == FOVEA_OK);
        std::vector<float> want = test.outputs();
        auto a = sized<fovea_activation_args>();
        a.target = target, a.activation = fovea_activation_kind(kind);
        a.batch = a.heads = a.tokens = 1, a.dim = uint32_t(want.size());
        a.x.data = a.y.data = want.data();
        REQUIRE(fovea_activation(&a) == FOVEA_OK);
        test.args.activation = a.activation;
        REQUIRE(test.run(target) == FOVEA_OK);
        INFO(name(p, target) << " activation " << kind);
        CHECK(test.outputs() == want);
        CHECK(test.y_.margin_intact());
      }
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- bits

TEST_CASE("linear: portable bits are those of the token, whatever else", "[short]") {
  for (const fovea_dtype dtype : kTypes) {
    std::vector<float> first[2];  // targets that do not fuse agree with one another too
    LinearProblem p;
    p.tokens = 53, p.in_dim = 150, p.out_dim = 75, p.dtype = dtype;
    LinearCase test(p);
    test.args.portable_bits = 1;
    for (const fovea_target target : targets()) {
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<float> all = test.outputs();
      if (first[fuses(target)].empty()) first[fuses(target)] = all;
      CHECK(same_bits(all, first[fuses(target)]));
      for (const uint32_t tokens : {1u, 2u, 7u, 30u}) {
        test.args.tokens = tokens;
        REQUIRE(test.run(target) == FOVEA_OK);
        test.args.tokens = p.tokens;
        std::vector<float> some = test.outputs(), want = all;
        some.resize(tokens * p.out_dim), want.resize(some.size());
        CHECK(same_bits(some, want));
      }
    }
  }
}

TEST_CASE("linear: a budget makes the workspace smaller, and no bit different", "[short]") {
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_I8}) {
    LinearProblem p;
    p.tokens = 60, p.in_dim = 37, p.out_dim = 20, p.dtype = dtype;
    LinearCase test(p);
    for (const fovea_target target : targets()) {
      INFO(name(p, target));
      test.args.workspace_budget_bytes = 0;
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<float> want = test.outputs();
      size_t bytes = fovea_linear_workspace_bytes(&test.args), steps = 0;
      while (bytes > 0) {
        test.args.workspace_budget_bytes = bytes;
        CHECK(fovea_linear_workspace_bytes(&test.args) == bytes);
        REQUIRE(test.run(target) == FOVEA_OK);
        CHECK(same_bits(test.outputs(), want));
        test.args.workspace_budget_bytes = bytes - 1;
        bytes = fovea_linear_workspace_bytes(&test.args);
        ++steps;
      }
      CHECK(steps > 1);
      CHECK(fovea_linear(&test.args, test.y_.as<void>(), 1 << 20) == FOVEA_ERR_BUDGET);
    }
  }
}

TEST_CASE("linear: an executor changes no bit", "[short]") {
  for (const auto& [tokens, dtype] : every({3u, 70u}, {FOVEA_F32, FOVEA_F16})) {
    LinearProblem p;
    p.tokens = tokens, p.in_dim = 29, p.out_dim = 777, p.dtype = dtype;
    LinearCase test(p);
    for (const fovea_target target : targets()) {
      INFO(name(p, target));
      test.args.executor = nullptr;
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<float> want = test.outputs();
      const size_t bytes = fovea_linear_workspace_bytes(&test.args);
      for (const uint32_t workers : {1u, 2u, 3u, 64u}) {
        Shuffler shuffler(workers);
        test.args.executor = shuffler.executor();
        CHECK(fovea_linear_workspace_bytes(&test.args) == bytes * workers);
        REQUIRE(test.run(target) == FOVEA_OK);
        CHECK(shuffler.most_tasks >= 4);
        CHECK(same_bits(test.outputs(), want));
      }
    }
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
      const size_t bytes = fovea_linear_workspace_bytes(&test.args);
      CHECK(bytes >= before);
      CHECK((bytes == 0) == (tokens <= lanes(target) / 2));
      before = bytes;
    }
  }
  // Of a board, asked on a host.
  test.args.tokens = 100, test.args.target = FOVEA_TARGET_HELIUM;
  CHECK(fovea_linear_workspace_bytes(&test.args) == 12 * 4 * (384 + 64));
  test.args.target = FOVEA_TARGET_SCALAR;
  const size_t rows = FOVEA_SIMD_LANES == 1 ? 4 : 3 * FOVEA_SIMD_LANES;  // of a tile
  CHECK(fovea_linear_workspace_bytes(&test.args) == rows * 4 * (384 + 64));
  CHECK(fovea_linear_workspace_bytes(nullptr) == 0);
}

TEST_CASE("linear: the macro is an upper bound of the workspace, and what AVX-512 takes", "[short]") {
  LinearProblem p;
  LinearCase test(p);
  test.args.tokens = 1000;
  for (const auto& [dtype, in_dim] : every(kTypes, {1u, 7u, 9u, 384u, 1000u})) {
    size_t most = 0;
    for (const fovea_target target : targets()) {
      test.args.target = target, test.args.in_dim = in_dim, test.args.weights.dtype = dtype;
      most = std::max(most, fovea_linear_workspace_bytes(&test.args));
    }
    CHECK(most <= FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype));
    // With vectors of halves the macro counts more rows than a tile of f32 has.
    const bool is_exact = lanes(fovea_target_at(0)) == 16 && FOVEA_TILE_ROWS_MAX == 48;
    if (is_exact) CHECK(most == FOVEA_LINEAR_WORKSPACE_BYTES(in_dim, dtype));
  }
}

// ------------------------------------------------------------------------------------------------------------- misuse

TEST_CASE("linear: the stride of a single token, or of a single output, may be any number", "[short]") {
  const uint32_t counts[][2] = {{1, 11}, {70, 1}, {1, 1}};  // tokens, outputs
  for (const fovea_dtype dtype : kTypes) {
    for (const uint32_t(&count)[2] : counts) {
      LinearProblem p;
      p.dtype = dtype, p.tokens = count[0], p.out_dim = count[1];
      LinearCase test(p);
      if (p.tokens == 1) test.args.x_stride = PTRDIFF_MAX, test.args.y_stride = PTRDIFF_MIN;
      if (p.out_dim == 1) test.args.weights.row_stride = PTRDIFF_MAX;
      for (const bool portable : {false, true}) {
        test.args.portable_bits = portable;
        for (const fovea_target target : targets()) CHECK(test.check(target) == "");
      }
    }
  }
}

TEST_CASE("linear: no tokens write nothing, whatever the pointers", "[short]") {
  LinearCase test(LinearProblem{});
  test.args.tokens = 0;
  CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_OK);
  CHECK(test.y_.untouched());
  test.args.x = nullptr, test.args.y = nullptr, test.args.weights.data = nullptr;
  CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_OK);
  test.args.in_dim = 0;
  CHECK(fovea_linear(&test.args, nullptr, 0) == FOVEA_ERR_DIM);
  CHECK(fovea_linear(nullptr, nullptr, 0) == FOVEA_ERR_NULL);
}

TEST_CASE("linear: every misuse has its status, and nothing is written", "[short]") {
  static Shuffler none(0), two(2), many(4097);
  static const fovea_executor without_run = {nullptr, nullptr, 1};
  struct Call {
    LinearCase& test;
    fovea_linear_args& args;
    void* workspace;
    size_t workspace_bytes;
  };
  constexpr ptrdiff_t kMost = PTRDIFF_MAX;
  const std::vector<Misuse<Call>> all = {
      {"struct_bytes 0", FOVEA_ERR_STRUCT, [](auto& c) { c.args.struct_bytes = 0; }},
      {"struct_bytes too large", FOVEA_ERR_STRUCT, [](auto& c) { c.args.struct_bytes += 8; }},
      {"unknown target", FOVEA_ERR_ENUM, [](auto& c) { c.args.target = enum_of<fovea_target>(40); }},
      {"negative target", FOVEA_ERR_ENUM, [](auto& c) { c.args.target = enum_of<fovea_target>(kNegative); }},
      {"another machine's target", FOVEA_ERR_TARGET, [](auto& c) { c.args.target = kForeign; }},
      {"unknown type", FOVEA_ERR_ENUM, [](auto& c) { c.args.weights.dtype = kNoType; }},
      {"negative type", FOVEA_ERR_ENUM, [](auto& c) { c.args.weights.dtype = enum_of<fovea_dtype>(kNegative); }},
      {"unknown activation", FOVEA_ERR_ENUM, [](auto& c) { c.args.activation = enum_of<fovea_activation_kind>(9); }},
      {"in_dim 0", FOVEA_ERR_DIM, [](auto& c) { c.args.in_dim = 0; }},
      {"out_dim 0", FOVEA_ERR_DIM, [](auto& c) { c.args.out_dim = 0; }},
      {"too many tokens", FOVEA_ERR_SIZE, [](auto& c) { c.args.tokens = (1u << 30) + 1; }},
      {"too many inputs", FOVEA_ERR_SIZE, [](auto& c) { c.args.in_dim = 0x80000000u; }},
      {"too many outputs", FOVEA_ERR_SIZE, [](auto& c) { c.args.out_dim = 0xffffffffu; }},
      {"no y", FOVEA_ERR_NULL, [](auto& c) { c.args.y = nullptr; }},
      {"no x", FOVEA_ERR_NULL, [](auto& c) { c.args.x = nullptr; }},
      {"no weights", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.data = nullptr; }},
      {"no workspace", FOVEA_ERR_NULL, [](auto& c) { c.workspace = nullptr; }},
      {"no scales", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.dtype = FOVEA_I8; }},
      {"no scales of groups", FOVEA_ERR_NULL, [](auto& c) { c.args.weights.dtype = FOVEA_I4; }},
      {"scales without use", FOVEA_ERR_UNSUPPORTED, [](auto& c) { c.args.weights.scales = c.args.x; }},
      {"a workspace too small", FOVEA_ERR_WORKSPACE, [](auto& c) { --c.workspace_bytes; }},
      {"no bytes of workspace", FOVEA_ERR_WORKSPACE, [](auto& c) { c.workspace_bytes = 0; }},
      {"a workspace for one worker", FOVEA_ERR_WORKSPACE, [](auto& c) { c.args.executor = two.executor(); }},
      {"the smallest budget", FOVEA_ERR_BUDGET, [](auto& c) { c.args.workspace_budget_bytes = 1; }},
      {"workspace misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.workspace = static_cast<char*>(c.workspace) + 32, c.workspace_bytes -= 32; }},
      {"y misaligned", FOVEA_ERR_ALIGNMENT,
       [](Call& c) { c.args.y = reinterpret_cast<float*>(c.test.y_.as<char>() + 1); }},
      {"x misaligned", FOVEA_ERR_ALIGNMENT,
       [](Call& c) { c.args.x = reinterpret_cast<float*>(c.test.x_.as<char>() + 2); }},
      {"weights misaligned", FOVEA_ERR_ALIGNMENT, [](Call& c) { c.args.weights.data = c.test.w_.as<char>() + 2; }},
      {"bias misaligned", FOVEA_ERR_ALIGNMENT,
       [](Call& c) { c.args.weights.bias = reinterpret_cast<float*>(c.test.bias_.as<char>() + 1); }},
      {"tokens of y overlap", FOVEA_ERR_STRIDE, [](auto& c) { --c.args.y_stride; }},
      {"tokens of y are one", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y_stride = 0; }},
      {"x is y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y; }},
      {"x ends in y", FOVEA_ERR_OVERLAP,
       [](Call& c) { c.args.x = c.test.y_.as<float>() + c.test.y_.bytes() / 4 - 1, c.args.x_stride = 0; }},
      {"weights in y", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.weights.data = c.args.y, c.args.weights.row_stride = 0; }},
      {"bias in y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.weights.bias = static_cast<float*>(c.args.y); }},
      {"y in the workspace", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.y = static_cast<float*>(c.workspace) + c.workspace_bytes / 4 - 1; }},
      {"x in the workspace", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = static_cast<float*>(c.workspace); }},
      {"weights in the workspace", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.weights.data = c.workspace, c.args.weights.row_stride = 0; }},
      {"y too far", FOVEA_ERR_SIZE, [](auto& c) { c.args.y_stride = kMost; }},
      {"x too far", FOVEA_ERR_SIZE, [](auto& c) { c.args.x_stride = -kMost; }},
      {"weights too far", FOVEA_ERR_SIZE, [](auto& c) { c.args.weights.row_stride = kMost / 4; }},
      {"a workspace behind all memory", FOVEA_ERR_SIZE, [](auto& c) { c.workspace_bytes = SIZE_MAX; }},
      {"an executor without run", FOVEA_ERR_NULL, [](auto& c) { c.args.executor = &without_run; }},
      {"an executor without workers", FOVEA_ERR_CAPACITY, [](auto& c) { c.args.executor = none.executor(); }},
      {"an executor with too many workers", FOVEA_ERR_CAPACITY, [](auto& c) { c.args.executor = many.executor(); }},
  };
  for (const auto& misuse : all) {
    LinearProblem p;
    p.tokens = 20, p.placement = Placement::kStart;
    LinearCase test(p);
    const size_t bytes = fovea_linear_workspace_bytes(&test.args);
    const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    Call call = {test, test.args, workspace.as<void>(), bytes};
    misuse.change(call);
    INFO(misuse.what);
    set_current_case(misuse.what);
    const fovea_status status = fovea_linear(&test.args, call.workspace, call.workspace_bytes);
    CHECK(std::string(fovea_status_string(status)) == fovea_status_string(misuse.want));
    CHECK(test.y_.untouched());
    CHECK(test.y_.margin_intact());
    CHECK(workspace.untouched());
  }
}

TEST_CASE("linear: a scale of a group that is infinite or NaN makes its output so, and no other", "[short]") {
  for (const fovea_dtype dtype : kTypes) {
    if (!is_grouped(dtype)) continue;
    for (const uint32_t tokens : {1u, 2u, 4u, 20u}) {
      for (const uint16_t bits : {0x7c00, 0xfc00, 0x7e00}) {
        LinearProblem p;
        p.tokens = tokens, p.in_dim = is_super(dtype) ? 530 : 70, p.out_dim = 19;
        p.dtype = dtype;
        LinearCase test(p);
        // Output 5 in its second group, output 18 in its last.
        const auto put = [&](size_t output, size_t group) {
          uint8_t* const own = test.w_bytes(output) + group * group_bytes(dtype) + (dtype == FOVEA_Q6_K ? 208 : 0);
          std::memcpy(dtype == FOVEA_I4 ? test.w_scales(output) + 2 * group : own, &bits, sizeof bits);
        };
        put(5, 1), put(18, 2);
        for (const fovea_target target : targets()) {
          INFO(name(p, target));
          REQUIRE(test.run(target) == FOVEA_OK);
          bool right = true;
          for (const auto& [t, o] : indices<size_t>(tokens, p.out_dim)) {
            right = right && std::isfinite(*test.y(t, o)) == (o != 5 && o != 18);
          }
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("linear: scales of groups are looked at as the other arrays are", "[short]") {
  LinearProblem p;
  p.tokens = 3, p.in_dim = 70, p.dtype = FOVEA_I4;
  LinearCase test(p);
  void* const own = test.scales_.as<void>();
  test.args.weights.scales = test.scales_.as<char>() + 1;
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_ERR_ALIGNMENT);
  test.args.weights.scales = test.y_.as<char>() + test.y_.bytes() - 2;  // the first scale is the last bytes of y
  CHECK(test.run(FOVEA_TARGET_BEST) == FOVEA_ERR_OVERLAP);
  // The last of all scales, and of no row of fewer groups.
  test.args.weights.scales = test.y_.as<char>() - 2 * (size_t{p.out_dim} * 3 - 1);
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
  const size_t bytes = fovea_linear_workspace_bytes(&test.args);
  REQUIRE(test.run(fovea_target_at(0)) == FOVEA_OK);
  CHECK(same_bits(test.outputs(), best));
  CHECK(fovea_linear_workspace_bytes(&test.args) == bytes);
}

}  // namespace fovea_test
