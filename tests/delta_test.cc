// SPDX-License-Identifier: Apache-2.0
//
// Linear attention against the recurrence in double, on every target. tests/FIELDS.md says which test fails when a
// field is ignored.
#include <cstdio>

#include "simd_tests.h"
#include "support/operator.h"

namespace fovea_test {
namespace {

struct DeltaProblem {
  fovea_delta_rule rule = FOVEA_DELTA_RULE_GATED_DELTA;
  uint32_t batch = 2, q_heads = 2, k_heads = 2, v_heads = 2, head_dim = 16, value_dim = 20, tokens = 11;
  bool decay_per_key = false, shared_beta = false, ragged = false, given = false;
  fovea_dtype dtype = FOVEA_F32, out_dtype = FOVEA_F32;
  Layout layout = Layout::kHeadsFirst;
  float scale = 0;
  float least_decay = 0.5f;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;

  bool delta() const { return rule == FOVEA_DELTA_RULE_DELTA || rule == FOVEA_DELTA_RULE_GATED_DELTA; }
  bool gated() const { return rule == FOVEA_DELTA_RULE_GATED || rule == FOVEA_DELTA_RULE_GATED_DELTA || general(); }
  bool general() const { return rule == FOVEA_DELTA_RULE_GENERAL; }
  uint32_t decays() const { return decay_per_key || general() ? head_dim : 1; }
  uint32_t decay_dim() const { return general() ? FOVEA_DELTA_GENERAL_DIM(head_dim) : decays(); }
  uint32_t out_heads() const { return std::max(q_heads, v_heads); }
  Shape matrices() const { return {batch, v_heads, head_dim, value_dim}; }
};

std::string name(const DeltaProblem& p, fovea_target target) {
  static const char* const kRules[] = {"linear", "gated", "delta", "gated delta", "general"};
  return Text() << kRules[p.rule] << " " << p.batch << "x" << p.q_heads << "/" << p.k_heads << "/" << p.v_heads << "x"
                << p.tokens << " " << p.head_dim << "x" << p.value_dim << (p.decay_per_key ? " decay per key " : " ")
                << (p.shared_beta ? "one beta " : "") << (p.ragged ? "ragged " : "") << (p.given ? "given " : "")
                << type_name(p.dtype) << " to " << type_name(p.out_dtype) << " " << name(p.layout) << " scale "
                << p.scale << " " << name(p.placement) << " seed " << p.seed << " | " << fovea_target_name(target);
}

class DeltaCase {
 public:
  explicit DeltaCase(const DeltaProblem& problem) : p(problem), args{} {
    const float small = 1 / std::sqrt(float(p.head_dim));
    q = input(p.dtype, p.q_heads, p.head_dim, 1, 1), k = input(p.dtype, p.k_heads, p.head_dim, 2, small);
    v = input(p.dtype, p.v_heads, p.value_dim, 3, 1);
    of_a = input(p.dtype, p.k_heads, p.head_dim, 7, small), of_b = input(p.dtype, p.k_heads, p.head_dim, 8, small / 2);
    decay = input(FOVEA_F32, p.v_heads, p.decays(), 4, 1);
    beta = input(FOVEA_F32, p.shared_beta ? 1 : p.v_heads, 1, 5, 1);
    if (p.shared_beta) beta.strides.head = 0;
    out = Array(p.out_dtype, {entries(), p.out_heads(), p.tokens, p.value_dim}, output_layout(p.layout), p.placement);
    draw();
    if (p.ragged) {
      offsets = Guarded((p.batch + 1) * sizeof(uint32_t), sizeof(uint32_t), p.placement);
      for (uint32_t b = 0; b <= p.batch; ++b) offsets.as<uint32_t>()[b] = p.tokens * b / std::max<uint32_t>(p.batch, 1);
    }
    state_bytes = bytes_of(fovea_delta_state_bytes, p.batch, p.v_heads, p.head_dim, p.value_dim, p.decay_dim());
    state_memory = Guarded(state_bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    state = state_memory.as<fovea_delta_state>();
    fill_args();
  }

  fovea_status begin() {
    const fovea_status status =
        fovea_delta_begin(state, state_bytes, p.batch, p.v_heads, p.head_dim, p.value_dim, p.decay_dim());
    if (status != FOVEA_OK || !p.given) return status;
    return fovea_delta_set(state, FOVEA_ALL_ENTRIES, &given_in);
  }
  // Some tokens, of arrays that are not ragged.
  fovea_status step(fovea_target target, uint32_t first, uint32_t tokens) {
    fovea_delta_args some = args;
    some.tokens = tokens;
    const auto skip = [&](auto& x, fovea_dtype type) {
      x.data = static_cast<char*>(const_cast<void*>(x.data)) +
               ptrdiff_t(first) * x.token_stride * ptrdiff_t(unit_size(type));
    };
    for (fovea_in* x : {&some.q, &some.k, &some.v, &some.a, &some.b}) skip(*x, p.dtype);
    skip(some.decay, FOVEA_F32), skip(some.beta, FOVEA_F32), skip(some.out, p.out_dtype);
    return call(target, some);
  }
  fovea_status call(fovea_target target, fovea_delta_args& some) {
    some.target = target;
    const size_t bytes = bytes_of(fovea_delta_workspace_bytes, &some);
    const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
    const fovea_status status = fovea_delta(state, &some, workspace.as<void>(), bytes);
    CHECK(workspace.margin_intact());
    return status;
  }
  fovea_status run(fovea_target target) {
    out.memory.fill();
    const fovea_status status = begin();
    return status == FOVEA_OK ? call(target, args) : status;
  }

  size_t workspace_bytes() const { return bytes_of(fovea_delta_workspace_bytes, &args); }
  // The outputs, and S.
  std::vector<float> bits(fovea_target target) const {
    std::vector<float> all = out.numbers();
    const std::vector<float> s = matrices(target);
    all.insert(all.end(), s.begin(), s.end());
    return all;
  }
  std::vector<float> matrices(fovea_target target) const {
    const Array s(FOVEA_F32, p.matrices(), Layout::kHeadsFirst, Placement::kEnd);
    const fovea_out to = s.out();
    REQUIRE(fovea_delta_get(state, target, FOVEA_ALL_ENTRIES, &to) == FOVEA_OK);
    return s.numbers();
  }

  // "" or what is wrong.
  std::string check(fovea_target target) {
    const std::string text = name(p, target);
    set_current_case(text);
    if (run(target) != FOVEA_OK) return text + ": failed";
    if (!out.memory.margin_intact() || !state_memory.margin_intact()) return text + ": wrote outside";
    const std::vector<float> s = matrices(target);
    for (const auto& [b, h] : indices(p.batch, p.v_heads)) {
      const std::string wrong = check_head(b, h, s.data() + (size_t(b) * p.v_heads + h) * p.head_dim * p.value_dim);
      if (!wrong.empty()) return text + ": " + wrong;
    }
    return "";
  }

  DeltaProblem p;
  fovea_delta_args args;
  Array q, k, v, of_a, of_b, decay, beta, out;
  Guarded offsets, state_memory;
  fovea_delta_state* state;
  size_t state_bytes;
  Array given;  // S at first
  fovea_in given_in = {};

 private:
  // Ragged entries lie one after the other.
  uint32_t entries() const { return p.ragged ? 1 : p.batch; }
  Array input(fovea_dtype dtype, uint32_t heads, uint32_t dim, uint64_t seed, float size) const {
    Array array(dtype, {entries(), heads, p.tokens, dim}, p.layout, p.placement);
    array.draw(p.seed + seed, size);
    return array;
  }
  void draw() {
    uint64_t index = 0;
    for (const auto& [b, h, t] : indices<size_t>(entries(), p.v_heads, p.tokens)) {
      std::vector<float> row(p.decays());
      for (float& x : row) x = std::log(random_uniform(p.seed + 4, ++index, p.least_decay, 1));
      decay.put(b, h, t, row);
      if (h == 0 || !p.shared_beta) beta.put(b, h, t, {random_uniform(p.seed + 5, index, 0.05f, 0.95f)});
    }
    given = Array(FOVEA_F32, p.matrices(), Layout::kHeadsFirst, Placement::kEnd);
    given.draw(p.seed + 6, p.given ? 1.0f : 0.0f);
    given_in = given.in();
  }

  void fill_args() {
    args.struct_bytes = sizeof args, args.rule = p.rule, args.batch = p.batch;
    args.q_heads = p.q_heads, args.k_heads = p.k_heads, args.v_heads = p.v_heads;
    args.head_dim = p.head_dim, args.value_dim = p.value_dim, args.decay_dim = p.decay_dim();
    args.tokens = p.tokens;
    if (p.ragged) args.offsets = offsets.as<uint32_t>();
    args.scale = p.scale, args.dtype = p.dtype, args.out_dtype = p.out_dtype;
    args.out = out.out();
    args.q = q.in(), args.k = k.in(), args.v = v.in();
    if (p.gated()) args.decay = decay.in();
    if (p.delta()) args.beta = beta.in();
    if (p.general()) args.a = of_a.in(), args.b = of_b.in();
  }

  // The recurrence of one head, a token at a time.
  std::string check_head(uint32_t b, uint32_t h, const float* got_s) const {
    const size_t first = p.ragged ? offsets.as<uint32_t>()[b] : 0, entry = p.ragged ? 0 : b;
    const size_t end = p.ragged ? offsets.as<uint32_t>()[b + 1] : p.tokens;
    const size_t size = size_t(p.head_dim) * p.value_dim, readers = std::max<uint32_t>(1, p.q_heads / p.v_heads);
    const double scale = p.scale != 0 ? double(p.scale) : 1 / std::sqrt(double(p.head_dim));
    std::vector<double> s(given.row<float>(b, h, 0), given.row<float>(b, h, 0) + size);
    double largest = 1;
    for (const double x : s) largest = std::max(largest, std::fabs(x));
    const size_t of_key = h / (p.v_heads / p.k_heads);
    for (size_t t = first; t < end; ++t) {
      std::vector<double> removed(p.value_dim);  // a^T S of the token before
      for (const auto& [i, d] : indices<size_t>(p.general() ? p.head_dim : 0, p.value_dim))
        removed[d] += of_a.get(entry, of_key, t, i) * s[i * p.value_dim + d];
      for (size_t i = 0; p.gated() && i < p.head_dim; ++i) {
        const double g = std::exp(decay.get(entry, h, t, p.decays() > 1 ? i : 0));
        for (size_t d = 0; d < p.value_dim; ++d) s[i * p.value_dim + d] *= g;
      }
      for (size_t d = 0; d < p.value_dim; ++d) {
        double u = v.get(entry, h, t, d);
        const auto key = [&](size_t i) { return k.get(entry, of_key, t, i); };
        if (p.delta()) {
          for (size_t i = 0; i < p.head_dim; ++i) u -= s[i * p.value_dim + d] * key(i);
          u *= beta.get(entry, p.shared_beta ? 0 : h, t, 0);
        }
        for (size_t i = 0; i < p.head_dim; ++i) s[i * p.value_dim + d] += key(i) * u;
        for (size_t i = 0; p.general() && i < p.head_dim; ++i) {
          s[i * p.value_dim + d] += of_b.get(entry, of_key, t, i) * removed[d];
        }
        for (size_t r = 0; r < readers; ++r) {
          const size_t of_q = p.q_heads < p.v_heads ? h / (p.v_heads / p.q_heads) : h * readers + r;
          double want = 0;
          for (size_t i = 0; i < p.head_dim; ++i) want += q.get(entry, of_q, t, i) * s[i * p.value_dim + d];
          want *= scale;
          largest = std::max(largest, std::fabs(want));
          const double got = out.get(entry, h * readers + r, t, d);
          if (!(std::fabs(got - want) <= tolerance(largest, p.out_dtype, want))) {
            return Text() << "entry " << b << " head " << h << " token " << t << " element " << d << ": " << got
                          << ", not " << want;
          }
        }
      }
    }
    for (size_t i = 0; i < size; ++i) {
      if (!(std::fabs(double(got_s[i]) - s[i]) <= tolerance(largest, FOVEA_F32, s[i]))) {
        return Text() << "entry " << b << " head " << h << " S[" << i << "] is " << double(got_s[i]) << ", not "
                      << s[i];
      }
    }
    return "";
  }
  // `largest`: what the head has had so far. Sums of some tokens lose some epsilons of it.
  static double tolerance(double largest, fovea_dtype dtype, double want) {
    const double narrowed = dtype == FOVEA_F16 ? 0x1p-11 : dtype == FOVEA_BF16 ? 0x1p-8 : 0;
    return kTiny + 40 * kEpsilon * largest + 1.01 * narrowed * std::max(std::fabs(want), 0x1p-13);
  }
};

std::string run_on_all_targets(const DeltaProblem& problem) { return check_on_all_targets(DeltaCase(problem)); }

struct Heads {
  uint32_t q, k, v;
};
void choose_heads(DeltaProblem& p, const Heads& heads) {
  p.q_heads = heads.q, p.k_heads = heads.k, p.v_heads = heads.v;
}

constexpr fovea_delta_rule kTwoRules[] = {FOVEA_DELTA_RULE_GATED_DELTA, FOVEA_DELTA_RULE_GENERAL};
constexpr fovea_delta_rule kRules[] = {FOVEA_DELTA_RULE_LINEAR, FOVEA_DELTA_RULE_GATED, FOVEA_DELTA_RULE_DELTA,
                                       FOVEA_DELTA_RULE_GATED_DELTA, FOVEA_DELTA_RULE_GENERAL};

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("delta: any two of rules, heads, types, strides and counts agree with the recurrence", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    DeltaProblem p;
    p.rule = levels.choose(kRules);
    choose_heads(p, levels.choose<Heads>({{1, 1, 1}, {2, 2, 2}, {6, 2, 2}, {1, 1, 3}, {2, 1, 4}, {4, 1, 4}}));
    p.dtype = levels.choose(kFloatTypes), p.out_dtype = levels.choose(kFloatTypes), p.layout = levels.choose(kLayouts);
    p.tokens = levels.choose({0u, 1u, 2u, 3u, 4u, 5u, 9u, 39u});
    p.head_dim = levels.choose({1u, 4u, 15u, 16u, 33u}), p.value_dim = levels.choose({1u, 8u, 16u, 17u, 40u});
    p.placement = levels.choose(kPlacements);
    p.decay_per_key = levels.flag(), p.shared_beta = levels.flag(), p.given = levels.flag();
    p.scale = levels.choose({0.0f, -0.7f}), p.batch = levels.choose({0u, 1u, 2u}), p.seed = seed;
    return p;
  };
  run_array("delta", 7, make, [](const DeltaProblem& p) { CHECK(run_on_all_targets(p) == ""); });
}

TEST_CASE("delta: sizes of models agree with the recurrence") {
  for (const auto& [rule, per_key, head_dim] : every(kTwoRules, {false, true}, {64u, 128u, 130u, 256u})) {
    DeltaProblem p;
    p.rule = rule, p.decay_per_key = per_key, p.head_dim = head_dim;
    if (p.general()) p.least_decay = 0.9f;
    if (p.general() && per_key) continue;  // it has a decay per key in any case
    p.batch = p.q_heads = p.k_heads = 1, p.v_heads = 2, p.value_dim = 112, p.tokens = 70;
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("delta: ragged entries are those of their own", "[short]") {
  for (const auto& [rule, layout] : every(kTwoRules, {Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kReversed})) {
    DeltaProblem p;
    p.rule = rule, p.ragged = true, p.batch = 4, p.tokens = 19;
    p.decay_per_key = layout != Layout::kTokensFirst, p.layout = layout, p.given = true;
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("delta: over many tokens the error is that of the recurrence in f32") {
  for (const float least : {0.5f, 0.9f, 0.9999f}) {
    DeltaProblem p;
    p.batch = 1, p.q_heads = p.k_heads = p.v_heads = 1, p.head_dim = 64, p.value_dim = 16, p.tokens = 4096;
    p.least_decay = least;
    CHECK(run_on_all_targets(p) == "");
  }
}

TEST_CASE("delta: NaN and infinity stay in their head, and in their column if they come with a value", "[short]") {
  for (const fovea_delta_rule rule : kTwoRules) {
    DeltaProblem p;
    p.rule = rule, p.batch = 1, p.v_heads = p.q_heads = p.k_heads = 3;
    DeltaCase test(p);
    reinterpret_cast<float*>(test.v.row(0, 1, 3))[5] = kNaN;
    reinterpret_cast<float*>(test.k.row(0, 2, 4))[1] = kInfinity;
    for (const fovea_target target : targets()) {
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      bool right = true;
      for (const auto& [h, t, d] : indices<size_t>(3, p.tokens, p.value_dim)) {
        const bool finite = std::isfinite(test.out.get(0, h, t, d));
        if (h == 0 || (h == 1 && d != 5)) right = right && finite;
        if (h == 1 && d == 5 && t >= 3) right = right && !finite;
        if (h == 2 && t >= 4) right = right && !finite;
      }
      CHECK(right);
    }
  }
}

TEST_CASE("delta: a decay of -inf forgets, and one above 88 counts as 88", "[short]") {
  for (const bool per_key : {false, true}) {
    DeltaProblem p;
    p.batch = 1, p.tokens = 6, p.decay_per_key = per_key;
    DeltaCase test(p), fresh(p);
    const std::vector<float> forgets(p.decays(), -kInfinity), grows(p.decays(), kInfinity);
    for (size_t h = 0; h < p.v_heads; ++h) test.decay.put(0, h, 2, forgets), fresh.decay.put(0, h, 0, grows);
    for (const fovea_target target : targets()) {
      INFO(name(p, target));
      REQUIRE(test.check(target) == "");
      REQUIRE(fresh.run(target) == FOVEA_OK);  // of zeros nothing grows
      CHECK(std::isfinite(fresh.out.get(0, 0, 5, 0)));
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- bits

TEST_CASE("delta: any division into calls, and any target that fuses, gives the same bits", "[short]") {
  for (const auto& [rule, per_key] : every(kRules, {false, true})) {
    DeltaProblem p;
    p.rule = rule, p.decay_per_key = per_key, p.given = per_key;
    p.q_heads = 4, p.tokens = 23, p.head_dim = 19, p.value_dim = 37;
    DeltaCase test(p);
    std::vector<float> first[2];
    for (const fovea_target target : targets_and_best()) {
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<float> all = test.bits(target);
      if (first[fuses(target)].empty()) first[fuses(target)] = all;
      CHECK(same_bits(all, first[fuses(target)]));
      for (uint64_t seed = 0, calls = 0; seed < 8; ++seed) {
        test.out.memory.fill();
        REQUIRE(test.begin() == FOVEA_OK);
        for (uint32_t token = 0, step; token < p.tokens; token += step) {
          step = seed == 0 ? 1 : uint32_t(random_bits(seed, ++calls) % 7);
          step = std::min(step, p.tokens - token);
          REQUIRE(test.step(target, token, step) == FOVEA_OK);
        }
        CHECK(same_bits(test.bits(target), all));
      }
    }
  }
}

TEST_CASE("delta: a budget makes the workspace smaller, and no bit different", "[short]") {
  for (const auto& [target, rule] : every(targets(), kTwoRules)) {
    DeltaProblem p;
    p.rule = rule, p.tokens = 45, p.q_heads = 4;
    INFO(name(p, target));
    DeltaCase test(p);
    CHECK(check_budgets(test, target) == (lanes(target) == 1 ? 1 : 8));
  }
}

TEST_CASE("delta: an executor changes no bit, and what it does wrong is noticed", "[short]") {
  for (const auto& [target, batch] : every(targets(), {1u, 3u})) {
    DeltaProblem p;
    p.batch = batch, p.value_dim = 100, p.tokens = 14, p.given = true;
    if (batch == 1) p.rule = FOVEA_DELTA_RULE_GENERAL;
    INFO(name(p, target));
    DeltaCase test(p);
    check_workers(test, target, [&](const Shuffler& shuffler, uint32_t workers) {
      CHECK(shuffler.most_tasks == (p.batch * 2 < 2 * workers ? p.batch * 2 * 4 : p.batch * 2));
    });
  }
}

void copy_rows(const Array& from, const Array& to) {
  for (const auto& [b, h, t] : indices(from.shape.batch, from.shape.heads, from.shape.tokens)) {
    to.put(b, h, t, from.numbers(b, h, t));
  }
}

fovea_status call_with_matrices(const fovea_delta_args& args, const fovea_in* before, const fovea_out* after) {
  const size_t bytes = bytes_of(fovea_delta_matrices_workspace_bytes, &args);
  const Guarded workspace(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
  const fovea_status status = fovea_delta_matrices(&args, before, after, workspace.as<void>(), bytes);
  CHECK(workspace.margin_intact());
  return status;
}

TEST_CASE("delta: matrices of the caller give the bits of a state that is set and read", "[short]") {
  struct Choice {
    DeltaProblem p;
    bool in_place, on_workers;
    Layout layout;  // of the matrices afterwards
  };
  const auto make = [](Levels& levels, uint64_t seed) {
    Choice c;
    c.p.rule = levels.choose(kRules);
    choose_heads(c.p, levels.choose<Heads>({{2, 2, 2}, {6, 2, 2}, {2, 1, 4}}));
    c.p.dtype = c.p.out_dtype = levels.choose(kFloatTypes);
    c.p.tokens = levels.choose({0u, 1u, 2u, 3u, 4u, 5u, 9u, 39u});
    c.p.head_dim = levels.choose({1u, 16u, 33u, 130u}), c.p.value_dim = levels.choose({16u, 17u, 48u, 80u, 128u});
    c.p.decay_per_key = levels.flag(), c.p.given = levels.flag(), c.p.ragged = levels.flag();
    c.in_place = levels.flag() && c.p.given, c.on_workers = levels.flag();
    c.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed, Layout::kPaddedReversed});
    c.p.placement = levels.choose(kPlacements), c.p.seed = seed;
    return c;
  };
  run_array("delta with matrices", 11, make, [](const Choice& c) {
    const DeltaProblem& p = c.p;
    DeltaCase test(p);
    const Array other(FOVEA_F32, p.matrices(), Layout::kHeadsFirst, p.placement);
    Array after(FOVEA_F32, p.matrices(), c.layout, p.placement);
    const Array& before = c.in_place ? after : other;
    for (const fovea_target target : targets()) {
      set_current_case(name(p, target));
      INFO(name(p, target));
      REQUIRE(test.run(target) == FOVEA_OK);
      const std::vector<float> want = test.bits(target);
      test.out.memory.fill(), after.memory.fill();
      copy_rows(test.given, before);
      Shuffler shuffler(3);
      fovea_delta_args args = test.args;
      args.target = target, args.entry = 77;  // which is not read
      if (c.on_workers) args.executor = shuffler.executor();
      const fovea_in from = before.in();
      const fovea_out to = after.out();
      REQUIRE(call_with_matrices(args, p.given ? &from : nullptr, &to) == FOVEA_OK);
      CHECK(test.out.memory.margin_intact());
      CHECK(after.memory.margin_intact());
      std::vector<float> got = test.bits(target);
      const std::vector<float> s = after.numbers();
      std::copy(s.begin(), s.end(), got.end() - ptrdiff_t(s.size()));
      CHECK(same_bits(got, want));
      if (!c.in_place) CHECK(same_bits(before.numbers(), test.given.numbers()));
    }
  });
}

// -------------------------------------------------------------------------------------------------------------- states

TEST_CASE("delta: pending tokens can be rolled back, to the bit", "[short]") {
  for (const auto& [target, rule] : every(targets(), kTwoRules)) {
    DeltaProblem p;
    p.rule = rule, p.tokens = 13;
    DeltaCase test(p);
    INFO(name(p, target));
    REQUIRE(test.run(target) == FOVEA_OK);
    const std::vector<float> want = test.bits(target);
    REQUIRE(test.begin() == FOVEA_OK);
    for (uint32_t token = 0; token < p.tokens;) {
      const uint32_t pending = token == 0 ? 0 : (token - 1) % 4 + 1;
      CHECK(fovea_delta_pending(test.state, FOVEA_ALL_ENTRIES) == pending);
      CHECK(fovea_delta_pending(test.state, 1) == pending);
      CHECK(fovea_delta_pending(test.state, 2) == 0);
      CHECK(fovea_delta_roll_back(test.state, 0, pending + 1) == FOVEA_ERR_LENGTH);
      const uint32_t draft = std::min(4 - pending % 4, p.tokens - token);
      REQUIRE(test.step(target, p.tokens - draft, draft) == FOVEA_OK);  // other tokens
      REQUIRE(fovea_delta_roll_back(test.state, 0, draft) == FOVEA_OK);
      REQUIRE(fovea_delta_roll_back(test.state, 1, draft) == FOVEA_OK);
      REQUIRE(test.step(target, token, 1) == FOVEA_OK);
      ++token;
    }
    CHECK(same_bits(test.bits(target), want));
  }
}

TEST_CASE("delta: entries of a state are apart, and begin again one by one", "[short]") {
  for (const fovea_delta_rule rule : kTwoRules) {
    DeltaProblem p;
    p.rule = rule, p.batch = 3, p.given = true, p.decay_per_key = true;
    const fovea_target target = fovea_target_at(0);
    DeltaCase test(p);
    REQUIRE(test.run(target) == FOVEA_OK);
    const std::vector<float> want = test.bits(target);
    // Entry 1 begins again, and sees its tokens again: the others stay.
    fovea_in matrices = test.given_in;
    matrices.data = test.given.row(1, 0, 0);
    REQUIRE(fovea_delta_set(test.state, 1, &matrices) == FOVEA_OK);
    CHECK(fovea_delta_pending(test.state, 1) == 0);
    fovea_delta_args one = test.args;
    one.entry = 1, one.batch = 1;
    for (fovea_in* array : {&one.q, &one.k, &one.v, &one.a, &one.b, &one.decay, &one.beta}) {
      if (array->data) array->data = static_cast<const float*>(array->data) + array->batch_stride;
    }
    one.out.data = static_cast<float*>(one.out.data) + one.out.batch_stride;
    REQUIRE(test.call(target, one) == FOVEA_OK);
    CHECK(same_bits(test.bits(target), want));
    // From zeros it is another.
    REQUIRE(fovea_delta_set(test.state, 1, nullptr) == FOVEA_OK);
    REQUIRE(test.call(target, one) == FOVEA_OK);
    CHECK(!same_bits(test.bits(target), want));
  }
}

TEST_CASE("delta: an image is the state, little-endian, with a checksum", "[short]") {
  DeltaProblem p;
  p.rule = FOVEA_DELTA_RULE_GENERAL, p.tokens = 6;
  DeltaCase test(p);
  const fovea_target target = fovea_target_at(0);
  REQUIRE(test.run(target) == FOVEA_OK);
  const std::vector<float> want = test.matrices(target);
  const size_t bytes = test.state_bytes;
  const Guarded image(bytes + 1, 1, Placement::kEnd);
  uint8_t* const at = image.as<uint8_t>() + 1;
  CHECK(fovea_delta_export(test.state, at, bytes - 1) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_export(test.state, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_export(nullptr, at, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_export(test.state, test.state, bytes) == FOVEA_ERR_OVERLAP);
  REQUIRE(fovea_delta_export(test.state, at, bytes) == FOVEA_OK);
  CHECK(image.untouched(0));
  CHECK(std::memcmp(at, "fod1", 4) == 0);
  for (const uint32_t word : test.state->reserved) CHECK(word == 0);

  const Guarded copy(bytes, FOVEA_WORKSPACE_ALIGNMENT, Placement::kStart);
  fovea_delta_state* const state = copy.as<fovea_delta_state>();
  for (const size_t where : {size_t(0), size_t(5), size_t(9), size_t(70), bytes - 1}) {
    at[where] ^= 4;
    CHECK(fovea_delta_import(state, bytes, at, bytes) == FOVEA_ERR_IMAGE);
    at[where] ^= 4;
  }
  CHECK(fovea_delta_import(state, bytes, at, bytes - 1) == FOVEA_ERR_IMAGE);
  CHECK(fovea_delta_import(state, bytes, at, 10) == FOVEA_ERR_IMAGE);
  CHECK(fovea_delta_import(state, bytes - 1, at, bytes) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_import(nullptr, bytes, at, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_import(state, bytes, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(copy.untouched());
  REQUIRE(fovea_delta_import(state, bytes, at, bytes) == FOVEA_OK);
  CHECK(std::memcmp(state, test.state, bytes) == 0);
}

TEST_CASE("delta: the macros are upper bounds, and states have the same bytes everywhere", "[short]") {
  DeltaCase test(DeltaProblem{});
  for (const uint32_t dim : {1u, 15u, 16u, 64u, 129u}) {
    for (const uint32_t readers : {1u, 3u}) {
      test.args.head_dim = dim, test.args.decay_dim = 1, test.args.q_heads = 2 * readers;
      size_t before = 0;
      for (const uint32_t tokens : {0u, 1u, 4u, 5u, 28u}) {
        size_t most = 0;
        for (const fovea_target target : targets()) {
          test.args.target = target, test.args.tokens = tokens;
          most = std::max(most, bytes_of(fovea_delta_workspace_bytes, &test.args));
        }
        CHECK(most >= before);
        CHECK(most <= FOVEA_DELTA_WORKSPACE_BYTES(dim, readers));
        before = most;
      }
      fovea_delta_args general = test.args;
      general.rule = FOVEA_DELTA_RULE_GENERAL, general.decay_dim = FOVEA_DELTA_GENERAL_DIM(dim);
      for (const fovea_target target : targets()) {
        general.target = target, test.args.target = target;
        CHECK(bytes_of(fovea_delta_workspace_bytes, &general) > bytes_of(fovea_delta_workspace_bytes, &test.args));
        CHECK(bytes_of(fovea_delta_workspace_bytes, &general) <= FOVEA_DELTA_GENERAL_WORKSPACE_BYTES(dim, readers));
      }
      test.args.tokens = 1u << 30, test.args.target = targets().back();
      const size_t many = bytes_of(fovea_delta_workspace_bytes, &test.args);
      test.args.tokens = 28;
      CHECK(bytes_of(fovea_delta_workspace_bytes, &test.args) == many);
    }
    for (const uint32_t decays : {uint32_t{1}, dim, FOVEA_DELTA_GENERAL_DIM(dim)}) {
      CHECK(bytes_of(fovea_delta_state_bytes, 3, 2, dim, 40, decays) == FOVEA_DELTA_STATE_BYTES(3, 2, dim, 40, decays));
    }
  }
  CHECK(bytes_of(fovea_delta_state_bytes, 0, 1, 1, 1, 0) == 64);
  CHECK(bytes_of(fovea_delta_state_bytes, 1, 16, 128, 128, 1) == 64 + 64 + 16 * 4 * (128 * 128 + 8 * 128 + 16));
  CHECK(refusal_of(fovea_delta_state_bytes, 1, 0, 1, 1, 0) == FOVEA_ERR_DIM);
  CHECK(refusal_of(fovea_delta_state_bytes, 1, 1, 8, 1, 2) == FOVEA_ERR_SIZE);
  CHECK(refusal_of(fovea_delta_state_bytes, 0xffffffff, 0xffffffff, 1, 0x7fffffff, 0) == FOVEA_ERR_SIZE);
  CHECK(refusal_of(fovea_delta_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
  // Of a board, asked on a host.
  test.args.target = FOVEA_TARGET_HELIUM;
  CHECK(bytes_of(fovea_delta_workspace_bytes, &test.args) > 0);
}

// ------------------------------------------------------------------------------------------------------------- misuse

// A call that may be wrong.
struct DeltaCall : DeltaCase, CallMemory {
  using CallMemory::workspace_bytes;
  explicit DeltaCall(const DeltaProblem& problem) : DeltaCase(problem), CallMemory(DeltaCase::workspace_bytes()) {
    REQUIRE(begin() == FOVEA_OK);
    before.assign(state_memory.as<char>(), state_memory.as<char>() + state_bytes);
  }
  std::vector<char> before;  // of the state
};

void check_refused(DeltaProblem p, const std::vector<Misuse<DeltaCall>>& all) {
  p.placement = Placement::kStart;
  check_refused<DeltaCall>(
      all, [&] { return DeltaCall(p); },
      [](DeltaCall& c) { return fovea_delta(c.state, &c.args, c.workspace, c.workspace_bytes); },
      [](DeltaCall& c) {
        return c.out.memory.untouched() && c.memory.untouched() &&
               std::memcmp(c.before.data(), c.state_memory.as<char>(), c.before.size()) == 0;
      });
}

TEST_CASE("delta: every misuse has its status, and nothing is written", "[short]") {
  using A = fovea_delta_args;
  static const auto become_general = [](auto& args) {
    args.rule = FOVEA_DELTA_RULE_GENERAL, args.decay_dim = FOVEA_DELTA_GENERAL_DIM(args.head_dim);
  };
  static const uint32_t falling[] = {0, 7, 5}, beyond[] = {0, 5, 12}, far[] = {0, 12, 12};
  std::vector<Misuse<DeltaCall>> all = {
      {"the general rule with the decays of another", FOVEA_ERR_STATE, [](auto& c) { become_general(c.args); }},
      {"another rule on a state of the general rule", FOVEA_ERR_SIZE,
       [](auto& c) { c.args.decay_dim = FOVEA_DELTA_GENERAL_DIM(c.args.head_dim); }},
      {"no state", FOVEA_ERR_NULL, [](auto& c) { c.state = nullptr; }},
      {"no entries, and nowhere", FOVEA_OK,
       [](auto& c) { c.args.batch = 0, c.workspace = nullptr, c.workspace_bytes = 0; }},
      {"no tokens, and nowhere", FOVEA_OK,
       [](auto& c) {
         c.args.tokens = 0, c.workspace = nullptr, c.workspace_bytes = 0;
         c.args.q.data = c.args.k.data = c.args.v.data = c.args.out.data = nullptr;
       }},
      {"a state misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.state = reinterpret_cast<fovea_delta_state*>(reinterpret_cast<char*>(c.state) + 8); }},
      {"other bytes than a state", FOVEA_ERR_STATE,
       [](auto& c) { c.state = reinterpret_cast<fovea_delta_state*>(c.workspace); }},
      {"other value heads", FOVEA_ERR_STATE, [](auto& c) { c.args.v_heads = 4, c.args.q_heads = 4; }},
      {"another decay_dim", FOVEA_ERR_STATE, [](auto& c) { c.args.decay_dim = c.args.head_dim; }},
      {"offsets misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.args.offsets = reinterpret_cast<const uint32_t*>(c.workspace + 2); }},
  };
  add_misuses(all);
  add_workspace_misuses(all);
  const auto arrays = {&A::q, &A::k, &A::v};
  add_arrays(all, &A::q, &A::k, &A::v, &A::decay, &A::beta, &A::out);
  for (fovea_in A::* const array : arrays) {
    add_misuse(all, FOVEA_ERR_STRIDE, array, [](auto& a) { a.token_stride = 0; });
  }
  add_overlaps(all, arrays, [](auto& c) { return c.args.out.data; });
  add_overlaps(all, arrays, [](auto& c) { return c.workspace; });
  add_overlaps(all, arrays, [](auto& c) { return c.state; });
  add_overlaps(all, {&A::decay, &A::beta}, [](auto& c) { return c.args.out.data; });
  add_overlaps(all, {&A::out}, [](auto& c) { return c.state; });
  const auto no_rule = enum_of<fovea_delta_rule>(5);
  add_misuses(all, FOVEA_ERR_ENUM, {&A::rule}, {no_rule});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::rule}, {FOVEA_DELTA_RULE_GENERAL});
  add_misuses(all, FOVEA_ERR_ENUM, {&A::dtype, &A::out_dtype}, {kNoType});
  add_misuses(all, FOVEA_ERR_UNSUPPORTED, {&A::dtype, &A::out_dtype}, {FOVEA_I8});
  add_misuses(all, FOVEA_ERR_DIM, {&A::q_heads, &A::k_heads, &A::v_heads}, {0});
  add_misuses(all, FOVEA_ERR_DIM, {&A::head_dim, &A::value_dim}, {0});
  add_misuses(all, FOVEA_ERR_HEADS, {&A::q_heads, &A::k_heads}, {3});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::head_dim, &A::value_dim}, {0x80000000u});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::decay_dim}, {2});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::tokens}, {(1u << 30) + 1});
  add_misuses(all, FOVEA_ERR_STATE, {&A::head_dim, &A::value_dim}, {8});
  add_misuses(all, FOVEA_ERR_CAPACITY, {&A::entry}, {1, 0xffffffffu});
  add_misuses(all, FOVEA_ERR_CAPACITY, {&A::batch}, {3});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::scale}, {kInfinity, kNaN});
  add_misuses(all, FOVEA_ERR_LENGTH, {&A::offsets}, {falling, beyond, far});
  check_refused(DeltaProblem{}, all);
  CHECK(fovea_delta(DeltaCall(DeltaProblem{}).state, nullptr, nullptr, 0) == FOVEA_ERR_NULL);
}

TEST_CASE("delta: misuse of the arrays of the general rule has its status, and nothing is written", "[short]") {
  using A = fovea_delta_args;
  DeltaProblem p;
  p.rule = FOVEA_DELTA_RULE_GENERAL;
  std::vector<Misuse<DeltaCall>> all = {
      {"the decays of another rule", FOVEA_ERR_SIZE, [](auto& c) { c.args.decay_dim = c.args.head_dim; }},
  };
  const auto arrays = {&A::a, &A::b, &A::k, &A::decay};
  add_arrays(all, &A::a, &A::b, &A::k, &A::decay);
  add_overlaps(all, arrays, [](auto& c) { return c.args.out.data; });
  add_misuses(all, FOVEA_ERR_SIZE, {&A::rule}, {FOVEA_DELTA_RULE_GATED_DELTA});
  check_refused(p, all);
}

TEST_CASE("delta: misuse of states has its status, and nothing is written", "[short]") {
  const DeltaProblem p;
  DeltaCase test(p);
  fovea_delta_state* const state = test.state;
  const size_t bytes = test.state_bytes;
  CHECK(fovea_delta_begin(nullptr, bytes, 2, 2, 16, 20, 1) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_begin(state, bytes - 1, 2, 2, 16, 20, 1) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_begin(state, bytes, 3, 2, 16, 20, 1) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_begin(state, bytes, 2, 0, 16, 20, 1) == FOVEA_ERR_DIM);
  CHECK(fovea_delta_begin(state, bytes, 2, 2, 0, 20, 1) == FOVEA_ERR_DIM);
  CHECK(fovea_delta_begin(state, bytes, 2, 2, 16, 0, 1) == FOVEA_ERR_DIM);
  CHECK(fovea_delta_begin(state, bytes, 2, 2, 16, 20, 3) == FOVEA_ERR_SIZE);
  CHECK(fovea_delta_begin(state, bytes, 2, 2, 0x80000000u, 20, 0) == FOVEA_ERR_SIZE);
  CHECK(test.state_memory.untouched());
  const fovea_out out = test.given.out();
  CHECK(fovea_delta_get(state, FOVEA_TARGET_BEST, 0, &out) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_set(state, 0, nullptr) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_roll_back(state, 0, 0) == FOVEA_ERR_STATE);
  CHECK(fovea_delta_pending(state, 0) == 0);
  REQUIRE(test.begin() == FOVEA_OK);
  CHECK(fovea_delta_set(nullptr, 0, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_set(state, 2, nullptr) == FOVEA_ERR_CAPACITY);
  fovea_in in = test.given_in;
  in.data = state;
  CHECK(fovea_delta_set(state, 0, &in) == FOVEA_ERR_OVERLAP);
  in.data = nullptr;
  CHECK(fovea_delta_set(state, 0, &in) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_get(nullptr, FOVEA_TARGET_BEST, 0, &out) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_get(state, FOVEA_TARGET_BEST, 0, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_get(state, enum_of<fovea_target>(40), 0, &out) == FOVEA_ERR_ENUM);
  CHECK(fovea_delta_get(state, FOVEA_TARGET_BEST, 2, &out) == FOVEA_ERR_CAPACITY);
  fovea_out wrong = out;
  wrong.token_stride = 0;
  CHECK(fovea_delta_get(state, FOVEA_TARGET_BEST, 0, &wrong) == FOVEA_ERR_STRIDE);
  wrong = out, wrong.data = state;
  CHECK(fovea_delta_get(state, FOVEA_TARGET_BEST, 0, &wrong) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_delta_roll_back(state, 2, 0) == FOVEA_ERR_CAPACITY);
  CHECK(fovea_delta_roll_back(state, FOVEA_ALL_ENTRIES, 1) == FOVEA_ERR_LENGTH);
  // Numbers of pending tokens that no state has.
  *reinterpret_cast<uint32_t*>(state + 1) = 5;
  CHECK(test.call(FOVEA_TARGET_BEST, test.args) == FOVEA_ERR_STATE);
}

TEST_CASE("delta: misuse of matrices of the caller has its status, and nothing is written", "[short]") {
  struct Call : DeltaCase, CallMemory {
    using CallMemory::workspace_bytes;
    explicit Call(const DeltaProblem& problem)
        : DeltaCase(problem), CallMemory(bytes_of(fovea_delta_matrices_workspace_bytes, &args)) {
      copy_rows(given, of_before);
    }
    const Array of_before{FOVEA_F32, p.matrices(), Layout::kHeadsFirst, p.placement};
    const Array of_after{FOVEA_F32, p.matrices(), Layout::kHeadsFirst, p.placement};
    fovea_in before = of_before.in();
    fovea_out after = of_after.out();
  };
  using A = fovea_delta_args;
  static const uint32_t falling[] = {0, 6, 5};
  const size_t state_bytes = bytes_of(fovea_delta_state_bytes, 1, 1, 16, 20, 1);
  std::vector<Misuse<Call>> all = {
      {"dims", FOVEA_ERR_SIZE, [](auto& c) { c.args.head_dim = c.args.value_dim = 0x7fffffff, c.args.decay_dim = 1; }},
      {"no before", FOVEA_ERR_NULL, [](auto& c) { c.before.data = nullptr; }},
      {"no after", FOVEA_ERR_NULL, [](auto& c) { c.after.data = nullptr; }},
      {"rows of after are one", FOVEA_ERR_STRIDE, [](auto& c) { c.after.token_stride = 0; }},
      {"after too far", FOVEA_ERR_SIZE, [](auto& c) { c.after.head_stride = PTRDIFF_MAX; }},
      {"before too far", FOVEA_ERR_SIZE, [](auto& c) { c.before.head_stride = -PTRDIFF_MAX; }},
      {"before misaligned", FOVEA_ERR_ALIGNMENT,
       [](auto& c) { c.before.data = static_cast<const char*>(c.before.data) + 1; }},
      {"before in after", FOVEA_ERR_OVERLAP, [](auto& c) { c.before.data = static_cast<float*>(c.after.data) + 1; }},
      {"before on after, other strides", FOVEA_ERR_OVERLAP,
       [](auto& c) { c.before.data = c.after.data, c.before.token_stride += 1; }},
      {"before in the workspace", FOVEA_ERR_OVERLAP, [](auto& c) { c.before.data = c.workspace; }},
      {"before in out", FOVEA_ERR_OVERLAP, [](auto& c) { c.before.data = c.args.out.data; }},
      {"after in the workspace", FOVEA_ERR_OVERLAP, [](auto& c) { c.after.data = c.workspace; }},
  };
  add_misuses(all);
  add_workspace_misuses(all);
  add_misuses(all, FOVEA_ERR_SIZE, {&A::decay_dim}, {3});
  add_misuses(all, FOVEA_ERR_BUDGET, {&A::workspace_budget_bytes}, {state_bytes, state_bytes + 100});
  add_misuses(all, FOVEA_ERR_LENGTH, {&A::offsets}, {falling});
  add_misuses(all, FOVEA_ERR_NULL, {&A::k}, {fovea_in{}});
  add_overlaps(all, {&A::out}, [](auto& c) { return c.after.data; });
  add_overlaps(all, {&A::q}, [](auto& c) { return c.after.data; });
  DeltaProblem p;
  p.given = true, p.placement = Placement::kStart;
  check_refused<Call>(
      all, [&] { return Call(p); },
      [](Call& c) { return fovea_delta_matrices(&c.args, &c.before, &c.after, c.workspace, c.workspace_bytes); },
      [](Call& c) { return c.out.memory.untouched() && c.of_after.memory.untouched() && c.memory.untouched(); });
  DeltaCase test(DeltaProblem{});
  const fovea_out out = test.given.out();
  CHECK(fovea_delta_matrices(nullptr, nullptr, &out, nullptr, 0) == FOVEA_ERR_NULL);
  CHECK(fovea_delta_matrices(&test.args, nullptr, nullptr, nullptr, 0) == FOVEA_ERR_NULL);
  CHECK(refusal_of(fovea_delta_matrices_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
  // A budget and workers: the states of all workers, and the rest.
  const size_t state = state_bytes, most = bytes_of(fovea_delta_workspace_bytes, &test.args);
  CHECK(bytes_of(fovea_delta_matrices_workspace_bytes, &test.args) == state + most);
  const Shuffler two(2);
  test.args.executor = two.executor();
  CHECK(bytes_of(fovea_delta_matrices_workspace_bytes, &test.args) == 2 * (state + most));
  test.args.workspace_budget_bytes = 2 * (state + most) - 1;
  const size_t less = bytes_of(fovea_delta_matrices_workspace_bytes, &test.args);
  CHECK((less == 0 || less <= test.args.workspace_budget_bytes));
  test.args.workspace_budget_bytes = 0, test.args.batch = 0;
  CHECK(fovea_delta_matrices(&test.args, nullptr, &out, nullptr, 0) == FOVEA_OK);
}

}  // namespace fovea_test
