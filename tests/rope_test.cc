// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding against a reference in double, on every target.
#include <cstdio>

#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kTurn = 18446744073709551616.0;  // 2^64

struct RopeProblem {
  uint32_t batch = 2, heads = 3, tokens = 5, dim = 8, rotary_dim = 0;
  fovea_rope_layout layout = FOVEA_ROPE_HALF_SPLIT;
  enum Angles { kTurns, kTables, kWideTables } angles = kTurns;  // wide: other numbers between the rows
  enum Positions { kNone, kOfEntries, kOfTokens, kOfTokensShared } positions = kNone;
  int64_t offset = 0;
  Layout strides = Layout::kHeadsFirst, out_strides = Layout::kHeadsFirst;
  bool in_place = false;  // not with kBroadcast; with the strides of the input
  bool inverse = false;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const RopeProblem& p, fovea_target target) {
  static const char* const kAngles[] = {"turns", "tables", "wide tables"};
  static const char* const kPositions[] = {"no positions", "positions", "token positions", "shared token positions"};
  return Text() << "rope " << p.batch << "x" << p.heads << "x" << p.tokens << "x" << p.dim << " rotary_dim "
                << p.rotary_dim << (p.layout == FOVEA_ROPE_INTERLEAVED ? " interleaved " : " half-split ")
                << kAngles[p.angles] << ", " << kPositions[p.positions] << " + " << p.offset << ", " << name(p.strides)
                << " " << name(p.out_strides) << (p.in_place ? " in place" : "") << (p.inverse ? " inverse" : "") << " "
                << name(p.placement) << " seed " << p.seed << " | " << fovea_target_name(target);
}

class RopeCase {
 public:
  explicit RopeCase(const RopeProblem& problem) : p(problem), args{} {
    args.struct_bytes = sizeof args, args.batch = p.batch, args.heads = p.heads, args.tokens = p.tokens;
    args.dim = p.dim, args.rotary_dim = p.rotary_dim, args.layout = p.layout, args.inverse = p.inverse;
    args.position_offset = p.offset;
    out_ = array(output_layout(p.in_place ? p.strides : p.out_strides)), args.y = out_.out();
    if (!p.in_place) in_ = array(p.strides);
    args.x = (p.in_place ? out_ : in_).in();
    make_positions();
    make_angles();
    fill();
  }

  size_t rotary_dim() const { return p.rotary_dim ? p.rotary_dim : p.dim; }
  size_t pairs() const { return rotary_dim() / 2; }

  // Random inputs, and NaN all around them.
  void fill() {
    out_.memory.fill();
    each([&](size_t b, size_t h, size_t t, size_t d) {
      const uint64_t index = ((b * 64 + h) * 4096 + t) * 4096 + d;
      *const_cast<float*>(in(b, h, t, d)) = random_normal(p.seed, index);
    });
  }

  const float* in(size_t b, size_t h, size_t t, size_t d) const { return row(args.x, b, h, t) + d; }
  float* out(size_t b, size_t h, size_t t, size_t d) const { return row(args.y, b, h, t) + d; }
  template <class Function>
  void each(Function function) const {
    for (const auto& [b, h, t, d] : indices<size_t>(p.batch, p.heads, p.tokens, p.dim)) function(b, h, t, d);
  }

  int64_t position(size_t b, size_t t) const {
    if (p.positions == RopeProblem::kOfTokens) return p.offset + token_positions_.as<int64_t>()[b * p.tokens + t];
    if (p.positions == RopeProblem::kOfTokensShared) return p.offset + token_positions_.as<int64_t>()[t];
    const int64_t first = p.positions == RopeProblem::kOfEntries ? positions_.as<int64_t>()[b] : 0;
    return p.offset + first + int64_t(t);
  }

  // cos and sin as they should be.
  void angle(size_t b, size_t t, size_t pair, double* cos, double* sin) const {
    const int64_t at = position(b, t);
    if (p.angles == RopeProblem::kTurns) {
      const uint64_t phase = uint64_t(at) * turns_.as<uint64_t>()[pair];
      const double radians = 2 * kPi * (double(phase) / kTurn);
      *cos = std::cos(radians), *sin = std::sin(radians);
    } else {
      *cos = double(args.cos[at * args.table_stride + ptrdiff_t(pair)]);
      *sin = double(args.sin[at * args.table_stride + ptrdiff_t(pair)]);
    }
    if (p.inverse) *sin = -*sin;
  }

  // "" or what is wrong.
  std::string check(fovea_target target) {
    args.target = target;
    const std::string full_name = name(p, target);
    set_current_case(full_name);
    std::vector<float> before;
    each([&](size_t b, size_t h, size_t t, size_t d) { before.push_back(*in(b, h, t, d)); });
    const Guarded* const inputs[] = {&in_.memory, &turns_, &cos_, &sin_, &positions_, &token_positions_};
    for (const Guarded* input : inputs) input->read_only(true);
    const fovea_status status = fovea_rope(&args);
    for (const Guarded* input : inputs) input->read_only(false);
    if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);

    const bool split = p.layout == FOVEA_ROPE_HALF_SPLIT;
    const std::string wrong = compare_rows(out_, [&](size_t r, size_t d, double* allowed) {
      const float* const x = before.data() + r * p.dim;
      if (d >= rotary_dim()) return double{x[d]};
      const size_t pair = split ? d % pairs() : d / 2;
      const bool second = split ? d >= pairs() : d % 2 == 1;
      const double a = double(x[split ? pair : 2 * pair]), other = double(x[split ? pair + pairs() : 2 * pair + 1]);
      double cos, sin;
      angle(r / p.tokens / p.heads, r % p.tokens, pair, &cos, &sin);
      *allowed = rope_tolerance(a, other, p.angles == RopeProblem::kTurns ? kTurnError : 0);
      return second ? other * cos + a * sin : a * cos - other * sin;
    });
    return wrong.empty() ? "" : full_name + ": " + wrong;
  }

  RopeProblem p;
  fovea_rope_args args;
  Array out_, in_;
  Guarded turns_, cos_, sin_, positions_, token_positions_;

 private:
  Array array(Layout layout) const {
    return Array(FOVEA_F32, {p.batch, p.heads, p.tokens, p.dim}, layout, p.placement);
  }

  // Tables end after position 60.
  void make_positions() {
    const bool far = p.angles == RopeProblem::kTurns;
    const auto random_position = [&](size_t i) {
      const uint64_t bits = random_bits(p.seed + 8, i);
      return far ? int64_t(bits) >> 30 : int64_t(bits % 40);
    };
    if (p.positions == RopeProblem::kOfEntries) {
      positions_ = Guarded(p.batch * sizeof(int64_t), sizeof(int64_t), p.placement);
      for (size_t b = 0; b < p.batch; ++b) positions_.as<int64_t>()[b] = random_position(b);
      args.first_positions = positions_.as<int64_t>();
    } else if (p.positions != RopeProblem::kNone) {
      const bool shared = p.positions == RopeProblem::kOfTokensShared;
      const size_t count = size_t{shared ? 1 : p.batch} * p.tokens;
      token_positions_ = Guarded(count * sizeof(int64_t), sizeof(int64_t), p.placement);
      for (size_t i = 0; i < count; ++i) token_positions_.as<int64_t>()[i] = random_position(i);
      args.position_ids = token_positions_.as<int64_t>();
      args.position_ids_stride = shared ? 0 : ptrdiff_t(p.tokens);
    }
  }

  void make_angles() {
    if (p.angles == RopeProblem::kTurns) {
      turns_ = Guarded(pairs() * sizeof(uint64_t), sizeof(uint64_t), p.placement);
      for (size_t i = 0; i < pairs(); ++i) turns_.as<uint64_t>()[i] = random_bits(p.seed + 6, i);
      args.turns = turns_.as<uint64_t>();
      return;
    }
    constexpr size_t kPositions = 60;
    const size_t stride = pairs() + (p.angles == RopeProblem::kWideTables ? 3 : 0);
    const size_t elements = (kPositions - 1) * stride + pairs();
    cos_ = Guarded(elements * sizeof(float), sizeof(float), p.placement);
    sin_ = Guarded(elements * sizeof(float), sizeof(float), p.placement);
    for (const auto& [at, i] : indices<size_t>(kPositions, pairs())) {
      const float radians = random_uniform(p.seed + 7, at * 4096 + i, -4.0f, 4.0f);
      cos_.as<float>()[at * stride + i] = std::cos(radians);
      sin_.as<float>()[at * stride + i] = std::sin(radians);
    }
    args.cos = cos_.as<float>(), args.sin = sin_.as<float>();
    args.table_stride = ptrdiff_t(stride);
    args.table_positions = kPositions;
  }
};

std::string run_on_all_targets(const RopeProblem& problem) {
  RopeCase test(problem);
  for (const fovea_target target : targets()) {
    test.fill();
    const std::string wrong = test.check(target);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

constexpr fovea_rope_layout kRopeLayouts[] = {FOVEA_ROPE_INTERLEAVED, FOVEA_ROPE_HALF_SPLIT};

// cos and sin as a target computes them: pairs (1, 0) are turned into (cos, sin) exactly.
void turn_ones(fovea_target target, const std::vector<uint64_t>& turns, int64_t position, std::vector<float>* turned) {
  turned->assign(2 * turns.size(), 0.0f);
  std::fill_n(turned->begin(), turns.size(), 1.0f);
  auto args = sized<fovea_rope_args>();
  args.target = target, args.batch = args.heads = args.tokens = 1;
  args.dim = uint32_t(turned->size());
  args.layout = FOVEA_ROPE_HALF_SPLIT;
  args.y.data = turned->data();
  args.x.data = turned->data();
  args.turns = turns.data();
  args.position_offset = position;
  REQUIRE(fovea_rope(&args) == FOVEA_OK);
}

// Largest errors of cos and sin of these phases, in 2^-64 turns.
double worst_error(fovea_target target, const std::vector<uint64_t>& phases, std::vector<float>* memory) {
  turn_ones(target, phases, 1, memory);
  double worst = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    // As a signed number, which is exact enough around 0 too.
    const double radians = 2 * kPi * (double(int64_t(phases[i])) / kTurn);
    worst = std::max(worst, std::fabs(double((*memory)[i]) - std::cos(radians)));
    worst = std::max(worst, std::fabs(double((*memory)[phases.size() + i]) - std::sin(radians)));
  }
  return worst;
}

// What core/rope/rope.inl states.
double stated_error(fovea_target target) { return fuses(target) ? 8.5e-8 : 8.8e-8; }

}  // namespace

// ------------------------------------------------------------------------------------------------------------- angles

TEST_CASE("rope: cos and sin are as exact as stated, of any angle", "[short]") {
  std::vector<uint64_t> phases;
  for (uint64_t i = 0; i < 4000; ++i) phases.push_back(random_bits(3, i));
  // Around every eighth of a turn, where quarters change, and around 0.
  for (uint64_t eighth = 0; eighth < 8; ++eighth) {
    for (uint32_t bit = 0; bit < 62; ++bit) {
      phases.push_back((eighth << 61) + (uint64_t{1} << bit));
      phases.push_back((eighth << 61) - (uint64_t{1} << bit));
    }
    phases.push_back(eighth << 61);
  }
  std::vector<float> memory;
  for (const fovea_target target : targets()) {
    INFO(fovea_target_name(target));
    CHECK(worst_error(target, phases, &memory) <= stated_error(target));
  }
}

TEST_CASE("rope: cos and sin are as exact as stated, of every 61st of all angles that differ", "[slow]") {
  std::vector<uint64_t> phases(4096);
  std::vector<float> memory;
  for (const bool fused : {true, false}) {
    for (const fovea_target target : targets()) {
      if (fuses(target) != fused) continue;
      double worst = 0;
      for (uint64_t angle = 0; angle < uint64_t{1} << 32; angle += phases.size() * 61) {
        for (size_t i = 0; i < phases.size(); ++i) phases[i] = (angle + 61 * i) << 32;
        worst = std::max(worst, worst_error(target, phases, &memory));
      }
      std::printf("rope: %s, largest error of cos and sin %.3e\n", fovea_target_name(target), worst);
      CHECK(worst <= stated_error(target));
      break;  // the best target that fuses, and the best that does not
    }
  }
}

TEST_CASE("rope: frequencies are right to the units of 2^-64 turns that are stated", "[short]") {
  // By mpmath 1.3.0 with 400 bits: nint(scale * base**(-2 i / dim) / (2 pi) * 2**64).
  struct Frequency {
    double base;
    uint32_t dim, pair;
    double scale;
    uint64_t turns;
  };
  const Frequency table[] = {
      {10000.0, 2, 0, 1.0, 0x28be60db9391054au},
      {10000.0, 128, 1, 1.0, 0x234855e55644662fu},
      {10000.0, 128, 63, 1.0, 0x00013458e2f59024u},
      {10000.0, 64, 7, 0.125, 0x00addd39d0d81aefu},
      {500000.0, 128, 17, 1.0, 0x013f8796b76e6bcdu},
      {1e6, 256, 100, 1.0, 0x000036d52f1b06a3u},
      {82684.21875, 128, 31, 1.0, 0x002b4b27e97cd53du},
      {10000.0, 6, 2, 0.3, 0x0006bdd105d4f86du},
      {1e300, 8, 1, 1.0, 0u},
      {1.0, 16, 5, 1.0, 0x28be60db9391054au},
      {1.5, 4096, 2047, 1.0, 0x1b2af65e9c97644bu},
      {1e7, 96, 5, 1.0, 0x0799f52bd28131f0u},
      {1e9, 20, 9, 0x1p-30, 0x16u},
      {1.0 + 0x1p-36, 1510, 754, 1.0, 0x28be60db9105fc47u},
  };
  for (const Frequency& f : table) {
    const Guarded turns(f.dim / 2 * sizeof(uint64_t), sizeof(uint64_t), Placement::kEnd);
    INFO(f.base << " " << f.dim << " " << f.pair << " " << f.scale);
    REQUIRE(fovea_rope_frequencies(turns.as<uint64_t>(), f.base, f.scale, f.dim) == FOVEA_OK);
    CHECK(turns.margin_intact());
    const auto off = int64_t(turns.as<uint64_t>()[f.pair] - f.turns);
    CHECK(std::fabs(double(off)) <= f.dim / (f.base < 1.5 ? 4 : 16) + 2);
  }
}

TEST_CASE("rope: frequencies fall from 1 radian as powers of the base", "[short]") {
  for (const auto& [dim, base, scale] :
       every({2u, 4u, 6u, 22u, 64u, 80u, 128u, 256u, 1000u}, {1.0, 1.25, 2.0, 100.0, 10000.0, 500000.0, 1e7, 1e30},
             {1.0, 0.25, 1.0 / 3})) {
    std::vector<uint64_t> turns(dim / 2);
    REQUIRE(fovea_rope_frequencies(turns.data(), base, scale, dim) == FOVEA_OK);
    for (size_t i = 0; i < turns.size(); ++i) {
      const double want = scale * std::pow(base, -2.0 * double(i) / dim) / (2 * kPi);
      INFO(dim << " " << base << " " << scale << " " << i);
      REQUIRE(std::fabs(double(turns[i]) / kTurn - want) <= 1e-15 * want + 1e-17);
    }
  }
  std::vector<uint64_t> by_default(32), named(32);
  CHECK(fovea_rope_frequencies(by_default.data(), 0, 0, 64) == FOVEA_OK);
  CHECK(fovea_rope_frequencies(named.data(), 10000, 1, 64) == FOVEA_OK);
  CHECK(by_default == named);
}

TEST_CASE("rope: angles are right to 1e-6 at any position to 2^20, before and after 0", "[short]") {
  // Random ones, both ends, and those at which an angle of 1 radian a position is next to a quarter of a turn:
  // numerators of the continued fraction of pi / 2.
  std::vector<int64_t> positions = {0,     1,      2,      3,      11,     33,     344,    355,           51819,
                                    52174, 104348, 208341, 260515, 312689, 573204, 833719, (1 << 20) - 1, 1 << 20};
  for (uint64_t i = 0; i < 10; ++i) positions.push_back(int64_t(random_bits(5, i) >> 44));
  std::vector<float> turned;
  for (const auto& [dim, base] : every({64u, 128u, 256u}, {10000.0, 500000.0, 1e6})) {
    std::vector<uint64_t> turns(dim / 2);
    REQUIRE(fovea_rope_frequencies(turns.data(), base, 0, dim) == FOVEA_OK);
    for (const fovea_target target : targets()) {
      double worst = 0;
      for (const int64_t magnitude : positions) {
        for (const int64_t position : {magnitude, -magnitude}) {
          turn_ones(target, turns, position, &turned);
          for (size_t i = 0; i < turns.size(); ++i) {
            // In double: off by 2^20 * 2^-52 or a little more.
            const double angle = double(position) * std::pow(base, -2.0 * double(i) / dim);
            worst = std::max(worst, std::fabs(double(turned[i]) - std::cos(angle)));
            worst = std::max(worst, std::fabs(double(turned[turns.size() + i]) - std::sin(angle)));
          }
        }
      }
      INFO(fovea_target_name(target) << " " << dim << " " << base);
      CHECK(worst <= 2e-7);
    }
  }
}

TEST_CASE("rope: angles are right at positions far beyond", "[short]") {
  // By mpmath 1.3.0 with 400 bits.
  struct Angle {
    double base;
    uint32_t dim, pair;
    int64_t position;
    double cos, sin;
  };
  const Angle table[] = {
      {10000.0, 128, 0, 1, 0.54030230586813972, 0.84147098480789651},
      {10000.0, 128, 3, 1048576, -0.076711552309515641, -0.9970533274315193},
      {10000.0, 128, 0, -1048576, 0.94380839390131198, -0.33049314002173467},
      {500000.0, 128, 11, 999983, 0.87450268953183129, 0.48502066554075146},
      {1e6, 256, 1, 4294967296, 0.89729389278239804, 0.44143365297110095},
      {10000.0, 128, 2, -4294967295, -0.086843000330108653, 0.99622201004277392},
      {10000.0, 256, 5, 68719476736, -0.14804226881081033, -0.98898103452257757},
      {1e6, 128, 0, -68719489081, 0.99828512474293697, 0.058538958967330268},
      {10000.0, 64, 31, 68719476736, -0.38223107111580703, 0.92406677695589882},
  };
  std::vector<float> turned;
  for (const Angle& a : table) {
    std::vector<uint64_t> turns(a.dim / 2);
    REQUIRE(fovea_rope_frequencies(turns.data(), a.base, 0, a.dim) == FOVEA_OK);
    for (const fovea_target target : targets()) {
      turn_ones(target, turns, a.position, &turned);
      INFO(fovea_target_name(target) << " " << a.base << " " << a.dim << " " << a.pair << " " << a.position);
      const double bound = std::fabs(double(a.position)) <= 4294967296.0 ? 2e-7 : 1e-6;
      CHECK(std::fabs(double(turned[a.pair]) - a.cos) <= bound);
      CHECK(std::fabs(double(turned[turns.size() + a.pair]) - a.sin) <= bound);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("rope: every dim and every part of it agrees with the reference", "[short]") {
  for (uint32_t dim = 2; dim <= 70; ++dim) {
    for (uint32_t rotary_dim = 2; rotary_dim <= dim; rotary_dim += dim < 20 ? 2 : 14) {
      for (const fovea_rope_layout layout : kRopeLayouts) {
        RopeProblem p;
        p.batch = p.heads = 1, p.tokens = 2, p.dim = dim, p.rotary_dim = rotary_dim, p.layout = layout;
        p.offset = 3, p.in_place = dim % 3 == 0;
        p.placement = Placement((dim + rotary_dim / 2) % 3);
        REQUIRE(run_on_all_targets(p) == "");
      }
    }
  }
}

TEST_CASE("rope: rows longer than the table of angles, and more tokens than it, agree with the reference", "[short]") {
  for (const auto& [dim, tokens, layout] : every({126u, 128u, 130u, 256u, 300u}, {1u, 2u, 9u}, kRopeLayouts)) {
    RopeProblem p;
    p.dim = dim, p.tokens = tokens;
    p.rotary_dim = dim == 300 ? 280 : 0;
    p.layout = layout, p.positions = RopeProblem::kOfEntries;
    REQUIRE(run_on_all_targets(p) == "");
  }
  RopeProblem many;
  many.dim = 4, many.tokens = 131, many.heads = 2;
  REQUIRE(run_on_all_targets(many) == "");
}

TEST_CASE("rope: any two of layout, angles, positions and strides agree with the reference", "[short]") {
  struct Dims {
    uint32_t dim, rotary_dim;
  };
  const auto make = [](Levels& levels, uint64_t seed) {
    RopeProblem p;
    p.layout = levels.choose(kRopeLayouts);
    p.angles = levels.choose({RopeProblem::kTurns, RopeProblem::kTables, RopeProblem::kWideTables});
    p.positions = levels.choose(
        {RopeProblem::kNone, RopeProblem::kOfEntries, RopeProblem::kOfTokens, RopeProblem::kOfTokensShared});
    p.offset = levels.choose<int64_t>({0, 1, 14});
    p.strides = levels.choose(kLayouts), p.out_strides = levels.choose(kOutputLayouts);
    p.in_place = levels.flag() && p.strides != Layout::kBroadcast;
    p.inverse = levels.flag();  // any number but 0 is one
    const Dims dims = levels.choose<Dims>({{2, 0}, {9, 8}, {32, 0}, {64, 32}, {80, 20}, {130, 0}});
    p.dim = dims.dim, p.rotary_dim = dims.rotary_dim;
    p.placement = levels.choose(kPlacements);
    p.batch = levels.choose({1u, 2u, 3u}), p.heads = levels.choose({1u, 2u, 3u}),
    p.tokens = levels.choose({1u, 3u, 5u});
    p.seed = seed;
    return p;
  };
  run_array("rope", 5, make, [](const RopeProblem& p) { CHECK(run_on_all_targets(p) == ""); });
}

// --------------------------------------------------------------------------------------------------------- properties

TEST_CASE("rope: position 0 does not turn", "[short]") {
  for (const auto& [target, layout] : every(targets(), kRopeLayouts)) {
    RopeProblem p;
    p.batch = p.heads = p.tokens = 1, p.dim = 38, p.rotary_dim = 36, p.layout = layout;
    RopeCase test(p);
    INFO(name(p, target));
    CHECK(test.check(target) == "");
    CHECK(std::memcmp(test.out(0, 0, 0, 0), test.in(0, 0, 0, 0), p.dim * sizeof(float)) == 0);
  }
}

TEST_CASE("rope: the bits are the same in both layouts, and on all targets that fuse", "[short]") {
  std::vector<float> first[2][2];  // targets that do not fuse agree with one another too
  for (const auto& [target, layout, tables] : every(targets_and_best(), kRopeLayouts, {false, true})) {
    RopeProblem p;
    p.dim = 78, p.layout = layout;
    p.angles = tables ? RopeProblem::kTables : RopeProblem::kTurns;
    RopeCase test(p);
    test.args.target = target;
    const bool split = layout == FOVEA_ROPE_HALF_SPLIT;
    // The same pairs, wherever they lie.
    test.each([&](size_t b, size_t h, size_t t, size_t d) {
      const size_t pair = split ? d % 39 : d / 2, second = split ? d / 39 : d % 2;
      *const_cast<float*>(test.in(b, h, t, d)) = random_normal(11, ((b * 9 + h) * 9 + t) * 200 + 2 * pair + second);
    });
    REQUIRE(fovea_rope(&test.args) == FOVEA_OK);
    std::vector<float> got;
    test.each([&](size_t b, size_t h, size_t t, size_t d) {
      got.push_back(*test.out(b, h, t, split ? d / 2 + d % 2 * 39 : d));
    });
    std::vector<float>& want = first[tables][fuses(target)];
    if (want.empty()) want = got;
    INFO(name(p, target));
    CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("rope: NaN and infinity stay in their pair, and what is not turned is copied to the bit", "[short]") {
  for (const fovea_rope_layout layout : kRopeLayouts) {
    RopeProblem p;
    p.batch = p.heads = 1, p.tokens = 3, p.dim = 45, p.rotary_dim = 40, p.layout = layout, p.offset = 1;
    RopeCase test(p);
    for (const fovea_target target : targets()) {
      test.args.target = target;
      test.fill();
      const uint32_t payload = 0xffc12345u;
      *const_cast<float*>(test.in(0, 0, 1, 6)) = kNaN;
      *const_cast<float*>(test.in(0, 0, 1, 39)) = kInfinity;
      std::memcpy(const_cast<float*>(test.in(0, 0, 1, 42)), &payload, 4);
      REQUIRE(fovea_rope(&test.args) == FOVEA_OK);
      INFO(name(p, target));
      CHECK(std::memcmp(test.in(0, 0, 1, 40), test.out(0, 0, 1, 40), 5 * sizeof(float)) == 0);
      size_t bad = 0;
      test.each([&](size_t, size_t, size_t t, size_t d) { bad += d < 40 && !std::isfinite(*test.out(0, 0, t, d)); });
      CHECK(bad == 4);
      CHECK(std::isnan(*test.out(0, 0, 1, 6)));
      CHECK(std::isnan(*test.out(0, 0, 1, layout == FOVEA_ROPE_INTERLEAVED ? 7 : 26)));
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- misuse

TEST_CASE("rope: every misuse has its status, and nothing is written", "[short]") {
  constexpr ptrdiff_t kMost = PTRDIFF_MAX;
  using A = fovea_rope_args;
  constexpr int64_t kMostPosition = std::numeric_limits<int64_t>::max();
  static const int64_t kLastPositions[2] = {0, kMostPosition - 3};
  static const int64_t kBehind[5] = {0, 59, 60, 1, 2}, kNegativeToken[5] = {0, 59, -1, 1, 2};
  std::vector<Misuse<RopeCase>> of_both = {
      {"dim 0", FOVEA_ERR_DIM, [](auto& c) { c.args.dim = c.args.rotary_dim = 0; }},
      {"dim odd and all of it turned", FOVEA_ERR_DIM, [](auto& c) { c.args.dim = 7, c.args.rotary_dim = 0; }},
      {"no angles", FOVEA_ERR_NULL, [](auto& c) { c.args.turns = nullptr, c.args.cos = c.args.sin = nullptr; }},
      {"both kinds of positions", FOVEA_ERR_POSITIONS_TWICE,
       [](auto& c) { c.args.first_positions = c.args.position_ids = kLastPositions; }},
      {"positions misaligned", FOVEA_ERR_ALIGNMENT,
       [](RopeCase& c) { c.args.first_positions = shifted<int64_t>(c.args.x.data, 2); }},
      {"position_ids misaligned", FOVEA_ERR_ALIGNMENT,
       [](RopeCase& c) { c.args.position_ids = shifted<int64_t>(c.args.x.data, 2); }},
      {"out tokens overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.token_stride -= 1; }},
      {"out entries overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y.batch_stride = 119; }},
      {"in inside out", FOVEA_ERR_OVERLAP, [](RopeCase& c) { c.args.x.data = c.out_.memory.as<float>() + 1; }},
      {"in on out, other strides", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.args.x.data = c.args.y.data, c.args.x.head_stride = 0; }},
      {"positions in out", FOVEA_ERR_OVERLAP,
       [](RopeCase& c) { c.args.first_positions = shifted<int64_t>(c.args.y.data, 232 * 4); }},
      {"position_ids in out", FOVEA_ERR_OVERLAP,
       [](RopeCase& c) { c.args.position_ids = shifted<int64_t>(c.args.y.data, 0); }},
      {"position_ids too far", FOVEA_ERR_SIZE,
       [](auto& c) { c.args.position_ids = kLastPositions, c.args.position_ids_stride = kMost; }},
  };
  std::vector<Misuse<RopeCase>> of_turns = {
      {"turns and cos", FOVEA_ERR_UNSUPPORTED, [](RopeCase& c) { c.args.cos = c.in_.memory.as<float>(); }},
      {"turns and sin", FOVEA_ERR_UNSUPPORTED, [](RopeCase& c) { c.args.sin = c.in_.memory.as<float>(); }},
      {"turns in out", FOVEA_ERR_OVERLAP,
       [](RopeCase& c) { c.args.turns = shifted<uint64_t>(c.args.y.data, 232 * 4); }},
  };
  std::vector<Misuse<RopeCase>> of_tables = {
      {"cos ends in out", FOVEA_ERR_OVERLAP,
       [](RopeCase& c) { c.args.cos = c.out_.memory.as<float>() + 239, c.args.table_stride = 0; }},
      {"sin in out", FOVEA_ERR_OVERLAP,
       [](RopeCase& c) { c.args.sin = c.out_.memory.as<float>(), c.args.table_stride = 0; }},
  };
  add_misuses(of_both);
  add_arrays(of_both, &A::x, &A::y);
  using L = fovea_rope_layout;
  add_misuses(of_both, FOVEA_ERR_ENUM, {&A::layout}, {enum_of<L>(0), enum_of<L>(3), enum_of<L>(kNegative)});
  add_misuses(of_both, FOVEA_ERR_DIM, {&A::rotary_dim}, {5, 10, 0xfffffffeu});
  add_misuses(of_turns, FOVEA_ERR_SIZE, {&A::first_positions}, {kLastPositions});
  add_misuses(of_turns, FOVEA_ERR_SIZE, {&A::position_offset}, {kMostPosition - 3});
  add_misaligned(of_turns, &A::turns);
  add_misaligned(of_tables, &A::cos, &A::sin);
  add_misuses(of_tables, FOVEA_ERR_NULL, {&A::cos, &A::sin}, {nullptr});
  add_misuses(of_tables, FOVEA_ERR_SIZE, {&A::table_stride}, {kMost / 2});
  add_misuses(of_tables, FOVEA_ERR_SIZE, {&A::table_positions}, {SIZE_MAX});
  add_misuses(of_tables, FOVEA_ERR_POSITION_RANGE, {&A::table_positions}, {0, 4});
  add_misuses(of_tables, FOVEA_ERR_POSITION_RANGE, {&A::position_ids}, {kBehind, kNegativeToken});
  add_misuses(of_tables, FOVEA_ERR_POSITION_RANGE, {&A::position_offset}, {56, -1});
  RopeProblem p;
  p.placement = Placement::kStart;
  for (const auto angles : {RopeProblem::kTurns, RopeProblem::kTables}) {
    p.angles = angles;
    for (const auto* table : {&of_both, angles == RopeProblem::kTurns ? &of_turns : &of_tables}) {
      check_refused(
          *table, [&] { return RopeCase(p); }, [](const RopeCase& c) { return fovea_rope(&c.args); },
          [](const RopeCase& c) { return c.out_.memory.untouched() && c.out_.memory.margin_intact(); });
    }
  }
  CHECK(fovea_rope(nullptr) == FOVEA_ERR_NULL);
}

TEST_CASE("rope: positions at the ends of a table, and of 64 bits, are no mistake", "[short]") {
  RopeProblem p;
  p.angles = RopeProblem::kTables, p.offset = 55;
  CHECK(run_on_all_targets(p) == "");
  p.angles = RopeProblem::kTurns;
  p.offset = std::numeric_limits<int64_t>::max() - 4;
  CHECK(run_on_all_targets(p) == "");
  p.offset = std::numeric_limits<int64_t>::min();
  CHECK(run_on_all_targets(p) == "");
}

TEST_CASE("rope: frequencies of what is wrong are refused, and not written", "[short]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Guarded turns(4 * sizeof(uint64_t), sizeof(uint64_t), Placement::kStart);
  const auto status = [&](double base, double scale, uint32_t rotary_dim) {
    return fovea_rope_frequencies(turns.as<uint64_t>(), base, scale, rotary_dim);
  };
  for (const double base : {-1.0, -10000.0, 0.5, 0.999999, infinity, -infinity, nan, -nan}) {
    CHECK(status(base, 0, 8) == FOVEA_ERR_NUMBER);
  }
  for (const double scale : {-1.0, -1e-300, 1.000001, 2.0, infinity, -infinity, nan, -nan}) {
    CHECK(status(0, scale, 8) == FOVEA_ERR_NUMBER);
  }
  CHECK(status(0, 0, 0) == FOVEA_ERR_DIM);
  CHECK(status(0, 0, 7) == FOVEA_ERR_DIM);
  CHECK(fovea_rope_frequencies(nullptr, 0, 0, 8) == FOVEA_ERR_NULL);
  CHECK(fovea_rope_frequencies(reinterpret_cast<uint64_t*>(turns.as<char>() + 2), 0, 0, 6) == FOVEA_ERR_ALIGNMENT);
  CHECK(turns.untouched());
  CHECK(status(1.0, 5e-324, 8) == FOVEA_OK);  // no angle at all
  for (size_t i = 0; i < 4; ++i) CHECK(turns.as<uint64_t>()[i] == 0);
}

}  // namespace fovea_test
