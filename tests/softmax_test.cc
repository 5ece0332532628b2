// SPDX-License-Identifier: Apache-2.0
//
// Softmax and log-softmax against the double reference, on every target.
#include <cfloat>
#include <cstdio>

#include "support/test.h"

namespace fovea_test {
namespace {

struct SoftmaxProblem {
  size_t outer = 2, axis = 9, inner = 1;
  // Of [outer][axis] as heads and tokens, of in and of out; kBroadcast: in has outer stride 0.
  Layout layout = Layout::kHeadsFirst, out_layout = Layout::kHeadsFirst;
  bool in_place = false;
  enum Mask { kNone, kFull, kOverAxis, kOverOuter, kOverInner, kOverAll } mask = kNone;  // over: broadcast
  float scale = 0;
  bool special = false;  // some inputs are -inf
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const SoftmaxProblem& p, fovea_target target, bool log) {
  static const char* const kMasks[] = {"no mask",         "mask",         "mask over axis", "mask over outer",
                                       "mask over inner", "mask over all"};
  return Text() << (log ? "log-softmax " : "softmax ") << p.outer << "x" << p.axis << "x" << p.inner << " "
                << name(p.layout) << " " << kMasks[p.mask] << (p.in_place ? " in place" : "")
                << (p.special ? " special" : "") << " scale " << p.scale << " " << name(p.placement) << " seed "
                << p.seed << " | " << fovea_target_name(target);
}

class SoftmaxCase {
 public:
  explicit SoftmaxCase(const SoftmaxProblem& problem) : p(problem), args{} {
    args.struct_bytes = sizeof args, args.outer = p.outer, args.axis = p.axis, args.inner = p.inner;
    args.scale = p.scale;
    if (!p.in_place) in_ = array(p.layout, p.outer, p.axis, p.inner);
    out_ = array(p.in_place ? p.layout : p.out_layout, p.outer, p.axis, p.inner);
    const Strides& in = p.in_place ? out_.strides : in_.strides;
    args.y = out_.row<float>(0), args.x = p.in_place ? args.y : in_.row<float>(0);
    args.y_outer_stride = out_.strides.head, args.y_axis_stride = out_.strides.token;
    args.x_outer_stride = p.layout == Layout::kBroadcast ? 0 : in.head, args.x_axis_stride = in.token;
    if (p.mask != SoftmaxProblem::kNone) {
      const bool outers = p.mask != SoftmaxProblem::kOverOuter && p.mask != SoftmaxProblem::kOverAll;
      const bool axes = p.mask != SoftmaxProblem::kOverAxis && p.mask != SoftmaxProblem::kOverAll;
      const bool inners = p.mask != SoftmaxProblem::kOverInner && p.mask != SoftmaxProblem::kOverAll;
      const auto count = [](bool each, size_t all) { return each ? all : std::min<size_t>(all, 1); };
      mask_ = array(p.layout, count(outers, p.outer), count(axes, p.axis), count(inners, p.inner));
      args.mask = mask_.row<float>(0);
      args.mask_outer_stride = outers ? mask_.strides.head : 0;
      args.mask_axis_stride = axes ? mask_.strides.token : 0;
      args.mask_inner_stride = inners ? 1 : 0;
      static const float kHidden[3] = {-kInfinity, -FLT_MAX, -FLT_MAX / 2};
      for (size_t i = 0; i < mask_.strides.elements; ++i) {
        const uint64_t bits = random_bits(p.seed + 3, i);
        // A mask that is one for the whole axis hides all or nothing.
        const bool hides = bits % (axes ? 4 : 9) == 0;
        mask_.memory.as<float>()[i] = hides ? kHidden[bits / 4 % 3] : random_uniform(p.seed + 4, i, -2.0f, 2.0f);
      }
    }
    fill();
  }

  // Inputs as they are before a call: random, NaN where a mask hides, and between the rows.
  void fill() {
    out_.memory.fill();
    each([&](size_t o, size_t a, size_t i) {
      float* at = const_cast<float*>(in(o, a, i));
      const uint64_t index = (uint64_t(o) << 40) + (uint64_t(a) << 20) + i;
      *at = 4.0f * random_normal(p.seed, index);
      if (p.special && random_bits(p.seed + 5, index) % 3 == 0) *at = -kInfinity;
      if (args.mask != nullptr && mask(o, a, i) <= -FLT_MAX / 2 && p.layout != Layout::kBroadcast) *at = kNaN;
    });
  }

  const float* in(size_t o, size_t a, size_t i) const {
    return args.x + ptrdiff_t(o) * args.x_outer_stride + ptrdiff_t(a) * args.x_axis_stride + ptrdiff_t(i);
  }
  float* out(size_t o, size_t a, size_t i) const {
    return args.y + ptrdiff_t(o) * args.y_outer_stride + ptrdiff_t(a) * args.y_axis_stride + ptrdiff_t(i);
  }
  float mask(size_t o, size_t a, size_t i) const {
    return args.mask[ptrdiff_t(o) * args.mask_outer_stride + ptrdiff_t(a) * args.mask_axis_stride +
                     ptrdiff_t(i) * args.mask_inner_stride];
  }
  template <class Function>
  void each(Function function) const {
    for (const auto& [o, a, i] : indices<size_t>(p.outer, p.axis, p.inner)) function(o, a, i);
  }

  fovea_status call(bool log) const { return log ? fovea_log_softmax(&args) : fovea_softmax(&args); }

  // With the inputs as they are. "" or what is wrong.
  std::string check(fovea_target target, bool log) {
    args.target = target;
    const std::string full_name = name(p, target, log);
    set_current_case(full_name);
    const Softmax want = softmax(args, log);
    for (const Array* input : {&in_, &mask_}) input->memory.read_only(true);
    const fovea_status status = call(log);
    for (const Array* input : {&in_, &mask_}) input->memory.read_only(false);
    if (status != FOVEA_OK) return full_name + ": " + fovea_status_string(status);
    const std::string wrong = compare_rows(out_, [&](size_t row, size_t i, double* allowed) {
      *allowed = want.tolerance[row * p.inner + i];
      return want.out[row * p.inner + i];
    });
    return wrong.empty() ? "" : full_name + ": " + wrong;
  }

  SoftmaxProblem p;
  fovea_softmax_args args;
  Array out_, in_, mask_;

 private:
  Array array(Layout layout, size_t outer, size_t axis, size_t inner) const {
    return Array(FOVEA_F32, {1, uint32_t(outer), uint32_t(axis), inner}, output_layout(layout), p.placement);
  }
};

std::string run_on_all_targets(const SoftmaxProblem& problem) {
  SoftmaxCase test(problem);
  for (const auto& [target, log] : every(targets(), {false, true})) {
    test.fill();
    const std::string wrong = test.check(target, log);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

const size_t kAxes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 31, 32, 33, 35, 63, 64, 65, 67, 130, 1000};

}  // namespace

// ------------------------------------------------------------------------------------------------------------ numbers

TEST_CASE("softmax: every length of the axis agrees with the reference, and every inner count", "[short]") {
  for (const auto& [count, of_axis, in_place, placement] : every(kAxes, {true, false}, {false, true}, kPlacements)) {
    SoftmaxProblem p;
    p.axis = of_axis ? count : 5, p.inner = of_axis ? 1 : std::max<size_t>(count, 1);
    p.in_place = in_place, p.placement = placement;
    REQUIRE(run_on_all_targets(p) == "");
  }
}

TEST_CASE("softmax: any two of layout, mask, place, counts and scale agree with the reference", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    SoftmaxProblem p;
    p.layout = levels.choose(kLayouts), p.out_layout = levels.choose(kOutputLayouts);
    p.in_place = levels.flag() && p.layout != Layout::kBroadcast;
    p.mask = levels.choose({SoftmaxProblem::kNone, SoftmaxProblem::kFull, SoftmaxProblem::kOverAxis,
                            SoftmaxProblem::kOverOuter, SoftmaxProblem::kOverInner, SoftmaxProblem::kOverAll});
    p.axis = levels.choose<size_t>({1, 2, 9, 16, 17, 67, 300}), p.inner = levels.choose<size_t>({1, 2, 8, 16, 19, 50});
    p.outer = levels.choose<size_t>({1, 2, 3}), p.scale = levels.choose({0.0f, 1.0f, 0.25f, -1.5f, 1e-6f, 100.0f});
    p.special = levels.flag(), p.placement = levels.choose(kPlacements), p.seed = seed;
    return p;
  };
  const auto run = [](const SoftmaxProblem& p) { CHECK(run_on_all_targets(p) == ""); };
  REQUIRE(run_array("softmax", 3, make, run) == 54);
}

TEST_CASE("softmax: each weight is within 3 ulp, and half an ulp for each doubling of the axis", "[short]") {
  // Multiples of 2^-10 between -60 and 60: they and all their differences are exact.
  for (const auto& [axis, inner] : every({1u, 2u, 5u, 16u, 17u, 100u, 1000u}, {1u, 4u})) {
    SoftmaxProblem p;
    p.axis = axis, p.inner = inner, p.outer = 20;
    SoftmaxCase test(p);
    for (const fovea_target target : targets()) {
      test.args.target = target;
      test.each([&](size_t o, size_t a, size_t i) {
        const float range = o % 2 == 0 ? 40960.0f : 1024.0f;
        *const_cast<float*>(test.in(o, a, i)) = std::round(random_uniform(9 + o, a * 64 + i, -range, range)) / 1024.0f;
      });
      const Softmax want = softmax(test.args, false);
      set_current_case(name(p, target, false));
      REQUIRE(test.call(false) == FOVEA_OK);
      double most = 0;
      size_t at = 0;
      test.each([&](size_t o, size_t a, size_t i) {
        const double weight = want.out[at++];
        if (weight < FLT_MIN) return;
        const double ulp = std::ldexp(1.0, std::ilogb(weight) - 23);
        most = std::max(most, std::fabs(*test.out(o, a, i) - weight) / ulp);
      });
      INFO(name(p, target, false));
      CHECK(most <= 3.0 + 0.5 * std::ceil(std::log2(double(axis))));
    }
  }
}

TEST_CASE("softmax: weights that underflow are exactly 0, and none is subnormal", "[short]") {
  for (const size_t inner : {1u, 5u}) {
    SoftmaxProblem p;
    p.axis = 300, p.inner = inner, p.outer = 1;
    SoftmaxCase test(p);
    for (const fovea_target target : targets()) {
      test.args.target = target;
      test.each([&](size_t, size_t a, size_t i) { *const_cast<float*>(test.in(0, a, i)) = -0.5f * float(a); });
      REQUIRE(test.call(false) == FOVEA_OK);
      test.each([&](size_t, size_t a, size_t i) {
        const float weight = *test.out(0, a, i);
        REQUIRE((weight == 0.0f || weight >= FLT_MIN));
        REQUIRE((weight > 0.0f) == (weight != 0.0f));
        if (a < 170) REQUIRE(weight > 0.0f);
        if (a > 180) REQUIRE(weight == 0.0f);
      });
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- edges

TEST_CASE("softmax: a row that is all hidden, or all -inf, is zeros; of log-softmax, -inf", "[short]") {
  for (const auto& [inner, hidden] : every({1u, 6u}, {false, true})) {
    SoftmaxProblem p;
    p.axis = 21, p.inner = inner;
    if (hidden) p.mask = SoftmaxProblem::kFull;
    SoftmaxCase test(p);
    for (const auto& [target, log] : every(targets(), {false, true})) {
      test.fill();
      // Entry 0 is empty, entry 1 is not.
      for (const auto& [a, i] : indices<size_t>(p.axis, inner)) {
        if (hidden) test.mask_.memory.as<float>()[a * inner + i] = a % 2 == 0 ? -kInfinity : -FLT_MAX / 2;
        const_cast<float*>(test.in(0, a, i))[0] = hidden ? kNaN : -kInfinity;
      }
      CHECK(test.check(target, log) == "");
      CHECK(*test.out(0, 3, 0) == (log ? -kInfinity : 0.0f));
    }
  }
}

TEST_CASE("softmax: +inf or NaN that is not hidden makes its row NaN, and no other", "[short]") {
  for (const auto& [inner, bad, at] : every({1u, 6u, 17u}, {kNaN, kInfinity}, {0u, 1u, 16u, 20u})) {
    SoftmaxProblem p;
    p.axis = 21, p.inner = inner, p.outer = 3;
    SoftmaxCase test(p);
    for (const auto& [target, log] : every(targets(), {false, true})) {
      test.fill();
      *const_cast<float*>(test.in(1, at, inner / 2)) = bad;
      CHECK(test.check(target, log) == "");
    }
  }
}

TEST_CASE("softmax: a mask of NaN or +inf makes its row NaN", "[short]") {
  for (const float bad : {kNaN, kInfinity}) {
    SoftmaxProblem p;
    p.axis = 21, p.outer = 3, p.mask = SoftmaxProblem::kFull;
    SoftmaxCase test(p);
    for (size_t i = 0; i < 63; ++i) test.mask_.memory.as<float>()[i] = 0;
    test.mask_.memory.as<float>()[30] = bad;
    for (const auto& [target, log] : every(targets(), {false, true})) {
      test.fill();
      CHECK(test.check(target, log) == "");
    }
  }
}

TEST_CASE("softmax: large inputs, far apart, do not overflow", "[short]") {
  for (const size_t inner : {1u, 3u}) {
    SoftmaxProblem p;
    p.axis = 30, p.inner = inner;
    SoftmaxCase test(p);
    for (const auto& [target, log] : every(targets(), {false, true})) {
      test.each([&](size_t, size_t a, size_t i) {
        *const_cast<float*>(test.in(0, a, i)) = a % 3 == 0 ? 1e38f : a % 3 == 1 ? -3e38f : 0.0f;
        *const_cast<float*>(test.in(1, a, i)) = 1e4f * float(a);
      });
      // Of log-softmax the difference of the largest and smallest overflows, as it must.
      if (log) test.each([&](size_t, size_t a, size_t i) { *const_cast<float*>(test.in(0, a, i)) /= 4.0f; });
      CHECK(test.check(target, log) == "");
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- misuse

TEST_CASE("softmax: every misuse has its status, and nothing is written", "[short]") {
  const ptrdiff_t most = PTRDIFF_MAX;
  using A = fovea_softmax_args;
  std::vector<Misuse<SoftmaxCase>> table = {
      {"out rows overlap", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y_outer_stride -= 1; }},
      {"out in the middle of in", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y + 1; }},
      {"out on in, other strides", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y, c.args.x_axis_stride = 0; }},
      {"in ends in out", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y + 26, c.args.x_outer_stride = -27; }},
      {"mask in out", FOVEA_ERR_OVERLAP,
       [](auto& c) {
         c.args.mask = c.args.y + 53, c.args.mask_outer_stride = c.args.mask_axis_stride = 0,
         c.args.mask_inner_stride = 0;
       }},
  };
  add_misuses(table);
  add_misaligned(table, &A::y, &A::x, &A::mask);
  add_misuses(table, FOVEA_ERR_NUMBER, {&A::scale}, {kNaN, kInfinity, -kInfinity});
  add_misuses(table, FOVEA_ERR_NULL, {&A::y}, {nullptr});
  add_misuses(table, FOVEA_ERR_NULL, {&A::x}, {nullptr});
  add_misuses(table, FOVEA_ERR_STRIDE, {&A::y_outer_stride, &A::y_axis_stride}, {0, 2});
  add_misuses(table, FOVEA_ERR_DIM, {&A::inner}, {0});
  add_misuses(table, FOVEA_ERR_MASK, {&A::mask_inner_stride}, {2, -1, 100});
  add_misuses(table, FOVEA_ERR_SIZE,
              {&A::y_outer_stride, &A::y_axis_stride, &A::x_outer_stride, &A::x_axis_stride, &A::mask_outer_stride},
              {most, -most, most / 2, -most - 1, most / 4 + 1});
  add_misuses(table, FOVEA_ERR_SIZE, {&A::outer, &A::axis, &A::inner}, {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4 + 2});
  SoftmaxProblem p;
  p.axis = 9, p.inner = 3, p.mask = SoftmaxProblem::kFull;
  for (const bool log : {false, true}) {
    check_refused(
        table, [&] { return SoftmaxCase(p); }, [&](SoftmaxCase& c) { return c.out_.memory.fill(), c.call(log); },
        [](const SoftmaxCase& c) { return c.out_.memory.untouched() && c.out_.memory.margin_intact(); });
  }
  CHECK(fovea_softmax(nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_log_softmax(nullptr) == FOVEA_ERR_NULL);
}

}  // namespace fovea_test
