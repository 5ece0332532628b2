// SPDX-License-Identifier: Apache-2.0
//
// Rotations against the Hadamard matrix in double, on every target.
#include "support/test.h"

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
    Text text;
    text << "rotate " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim << " block " << p.block
         << (p.inverse ? " inverse" : "") << (p.in_place ? " in place" : "") << (p.seed != 0 ? " signs" : "") << " | "
         << fovea_target_name(target);
    set_current_case(text.str());
    std::vector<std::vector<float>> rows;
    each([&](uint32_t b, uint32_t h, uint32_t t) { rows.push_back(x.numbers(b, h, t)); });
    const std::vector<double> signs = signs_of(p, target);
    args.target = target;
    if (!p.in_place) x.memory.read_only(true);
    const fovea_status status = fovea_hadamard(&args);
    if (!p.in_place) x.memory.read_only(false);
    if (status != FOVEA_OK) return text.str() + ": " + fovea_status_string(status);
    const double block = p.used_block();
    const std::string wrong = compare_rows(output(), [&](size_t row, size_t d, double* allowed) {
      double sum = 0;
      for (const float x_d : rows[row]) sum += std::fabs(double(x_d));
      *allowed = (std::log2(block) + 1) * 0x1p-24 * sum / std::sqrt(block);
      return wanted(rows[row], signs, uint32_t(d));
    });
    return wrong.empty() ? "" : text.str() + ": " + wrong;
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

}  // namespace

TEST_CASE("rotate: any rows, blocks and signs agree with the matrix", "[short][rotate]") {
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

TEST_CASE("rotate: all targets give the same bits, on all machines", "[short][rotate]") {
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

TEST_CASE("rotate: seeds give different signs, half of them negative", "[short][rotate]") {
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

TEST_CASE("rotate: NaN stays in its block", "[short][rotate]") {
  for (const fovea_target target : targets()) {
    for (const uint32_t block : {2u, 16u}) {
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
          right = right && (got != got) == (b == 1 && h == 0 && t == 2 && d / block == 35 / block);
        }
      });
      CHECK(right);
    }
  }
}

TEST_CASE("rotate: every misuse has its status, and nothing is written", "[short][rotate]") {
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

}  // namespace fovea_test
