// SPDX-License-Identifier: Apache-2.0
//
// Short causal convolutions against double, on every target. tests/FIELDS.md says which test fails when a field is
// ignored.
#include "simd_tests.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct ConvProblem {
  uint32_t batch = 2, tokens = 9, channels = 21, width = 4;
  bool channels_first = false, in_place = false;
  bool bias = true, silu = false, state = true;
  Layout layout = Layout::kHeadsFirst;
  Placement placement = Placement::kEnd;
};

// [batch][tokens][channels], or [batch][channels][tokens].
struct ConvArray : Array {
  explicit ConvArray(const ConvProblem& p)
      : Array(FOVEA_F32,
              {p.batch, 1, p.channels_first ? p.channels : p.tokens, p.channels_first ? p.tokens : p.channels},
              p.layout, p.placement),
        channels_first(p.channels_first) {}
  float& at(uint32_t b, uint32_t t, uint32_t c) const {
    return channels_first ? row<float>(b, 0, c)[t] : row<float>(b, 0, t)[c];
  }
  ptrdiff_t last_stride() const { return shape.dim == 1 ? -kUnread : 1; }
  ptrdiff_t token_stride() const { return channels_first ? last_stride() : strides.token; }
  ptrdiff_t channel_stride() const { return channels_first ? strides.token : last_stride(); }

  bool channels_first;
};

struct ConvCase {
  ConvProblem p;
  ConvArray x, y;
  Array weight, bias, state;
  fovea_conv1d_args args = {};

  explicit ConvCase(const ConvProblem& problem) : p(problem), x(p), y(p) {
    const auto rows = [&](uint32_t count, size_t dim, Layout layout) {
      return Array(FOVEA_F32, {1, 1, count, dim}, layout, p.placement);
    };
    weight = rows(p.channels, p.width, p.layout), bias = rows(1, p.channels, Layout::kHeadsFirst);
    state = rows(p.batch * (p.width - 1), p.channels, Layout::kHeadsFirst);
    weight.draw(6), bias.draw(7), state.draw(8);
    for (const auto& [b, t, c] : indices(p.batch, p.tokens, p.channels)) {  // the same numbers in either order
      x.at(b, t, c) = random_normal(5, (size_t{b} * 50 + t) * 200 + c);
    }
    const ConvArray& to = p.in_place ? x : y;
    args.struct_bytes = sizeof args;
    args.batch = p.batch, args.tokens = p.tokens, args.channels = p.channels, args.kernel_size = p.width;
    args.silu = p.silu ? 1 : 0;
    args.x = x.row<float>(0), args.x_batch_stride = x.strides.batch;
    args.x_token_stride = x.token_stride(), args.x_channel_stride = x.channel_stride();
    args.y = to.row<float>(0), args.y_batch_stride = to.strides.batch;
    args.y_token_stride = to.token_stride(), args.y_channel_stride = to.channel_stride();
    args.weight = weight.row<float>(0), args.weight_stride = weight.strides.token;
    args.bias = p.bias ? bias.row<float>(0) : nullptr;
    args.state = p.state ? state.row<float>(0) : nullptr;
  }

  // Input t, where those of the state are before 0.
  double input(uint32_t b, ptrdiff_t t, uint32_t c) const {
    if (t >= 0) return double(x.at(b, uint32_t(t), c));
    const ptrdiff_t place = t + ptrdiff_t(p.width) - 1;
    return p.state ? double(state.row<float>(b * (p.width - 1) + size_t(place))[c]) : 0.0;
  }
  std::vector<double> wanted(std::vector<double>* tolerances) const {
    std::vector<double> want;
    for (const auto& [b, t, c] : indices(p.batch, p.tokens, p.channels)) {
      double sum = p.bias ? double(bias.row<float>(0)[c]) : 0, size = std::fabs(sum);
      for (uint32_t tap = 0; tap < p.width; ++tap) {
        const double product =
            input(b, ptrdiff_t(t + tap) - ptrdiff_t(p.width) + 1, c) * double(weight.row<float>(c)[tap]);
        sum += product, size += std::fabs(product);
      }
      want.push_back(p.silu ? sum / (1 + std::exp(-sum)) : sum);
      tolerances->push_back(1e-6 * size);
    }
    return want;
  }
  std::vector<float> wanted_state() const {
    std::vector<float> want;
    for (const auto& [b, i, c] : indices(p.batch, p.width - 1, p.channels)) {
      want.push_back(float(input(b, ptrdiff_t(p.tokens + i) - ptrdiff_t(p.width) + 1, c)));
    }
    return want;
  }

  // Empty, or what is wrong.
  std::string run(fovea_target target) {
    const std::string text = Text() << "conv1d " << p.batch << "x" << p.tokens << "x" << p.channels << " width "
                                    << p.width << (p.channels_first ? " channels first" : "")
                                    << (p.in_place ? " in place" : "") << (p.silu ? " silu" : "") << " | "
                                    << fovea_target_name(target);
    set_current_case(text);
    std::vector<double> tolerances;
    const std::vector<double> want = wanted(&tolerances);
    const std::vector<float> want_state = wanted_state();
    args.target = target;
    if (!p.in_place) x.memory.read_only(true);
    weight.memory.read_only(true);
    const fovea_status status = fovea_conv1d(&args);
    weight.memory.read_only(false);
    if (!p.in_place) x.memory.read_only(false);
    if (status != FOVEA_OK) return text + ": " + fovea_status_string(status);
    const ConvArray& to = p.in_place ? x : y;
    if (!to.only_rows_written() || !state.memory.margin_intact()) return text + ": bytes beside were written";
    size_t i = 0;
    for (const auto& [b, t, c] : indices(p.batch, p.tokens, p.channels)) {
      const double error = std::fabs(double(to.at(b, t, c)) - want[i]);
      if (!(error <= tolerances[i] + 1e-6 * std::fabs(want[i]))) return text + ": an element is wrong";
      ++i;
    }
    return p.state && !same_bits(want_state, state.numbers()) ? text + ": the state is wrong" : "";
  }
};

}  // namespace

TEST_CASE("conv1d: any counts, strides and options agree with double", "[short]") {
  static_assert(FOVEA_CONV1D_MAX_KERNEL_SIZE == 8, "the widths below");
  for (const auto& [target, width, tokens, channels, channels_first] :
       every(targets(), {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}, {1u, 2u, 5u, 7u, 23u}, {1u, 6u, 37u}, {false, true})) {
    ConvProblem p;
    p.width = width, p.tokens = tokens, p.channels = channels, p.channels_first = channels_first;
    const uint32_t which = width + tokens + channels;
    p.in_place = which % 2 == 0, p.silu = which % 3 == 0, p.bias = which % 5 != 0, p.state = which % 7 != 0;
    const bool padded = which % 4 < 2, reversed = which % 11 < 3;
    p.layout = padded     ? reversed ? Layout::kPaddedReversed : Layout::kPadded
               : reversed ? Layout::kReversed
                          : Layout::kHeadsFirst;
    p.placement = which % 3 == 0 ? Placement::kOffset : which % 3 == 1 ? Placement::kEnd : Placement::kStart;
    CHECK(ConvCase(p).run(target) == "");
  }
}

TEST_CASE("conv1d: calls of any lengths give the bits of one, whichever dimension lanes are", "[short]") {
  std::vector<float> first_target;
  for (const fovea_target target : targets_and_best()) {
    ConvProblem p;
    p.tokens = 40, p.silu = true;
    ConvCase whole(p);
    REQUIRE(whole.run(target) == "");
    if (first_target.empty()) first_target = whole.y.numbers();
    if (target == FOVEA_TARGET_BEST) CHECK(same_bits(whole.y.numbers(), first_target));
    for (const bool channels_first : {false, true}) {
      p.channels_first = channels_first;
      ConvCase pieces(p);
      const fovea_conv1d_args args = pieces.args;
      for (uint32_t first = 0, next = 1; first < p.tokens; first += pieces.args.tokens, next = next * 2 % 13) {
        pieces.args = args, pieces.args.target = target;
        pieces.args.tokens = std::min(next, p.tokens - first);
        pieces.args.x += ptrdiff_t(first) * args.x_token_stride;
        pieces.args.y += ptrdiff_t(first) * args.y_token_stride;
        REQUIRE(fovea_conv1d(&pieces.args) == FOVEA_OK);
      }
      bool same = true;
      for (const auto& [b, t, c] : indices(p.batch, p.tokens, p.channels)) {
        same = same && std::memcmp(&pieces.y.at(b, t, c), &whole.y.at(b, t, c), sizeof(float)) == 0;
      }
      CHECK(same);
      CHECK(same_bits(pieces.state.numbers(), whole.state.numbers()));
    }
  }
}

TEST_CASE("conv1d: NaN reaches the outputs that see it and no other", "[short]") {
  for (const auto& [target, channels_first] : every(targets(), {false, true})) {
    ConvProblem p;
    p.width = 3, p.channels_first = channels_first;
    ConvCase test(p);
    test.x.at(1, 4, 2) = kNaN;
    test.args.target = target;
    REQUIRE(fovea_conv1d(&test.args) == FOVEA_OK);
    for (const auto& [b, t, c] : indices(p.batch, p.tokens, p.channels)) {
      const bool sees = b == 1 && c == 2 && t >= 4 && t <= 6;
      REQUIRE((test.y.at(b, t, c) != test.y.at(b, t, c)) == sees);
    }
  }
}

TEST_CASE("conv1d: every misuse has its status, and nothing is written", "[short]") {
  using A = fovea_conv1d_args;
  std::vector<Misuse<ConvCase>> misuses = {
      {"x's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.x_channel_stride = 2; }},
      {"y's other strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y_channel_stride = 2; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& c) { c.args.y_token_stride = 3; }},
      {"y over x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.x = c.args.y + 1; }},
      {"the state over y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.state = c.args.y; }},
      {"the state over x", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.state = const_cast<float*>(c.args.x); }},
      {"the weight in y", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.weight = c.args.y; }},
      {"the bias in the state", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.bias = c.args.state; }},
  };
  add_misuses(misuses);
  add_misaligned(misuses, &A::x, &A::y, &A::weight, &A::state);
  add_misuses(misuses, FOVEA_ERR_DIM, {&A::channels, &A::kernel_size}, {0});
  add_misuses(misuses, FOVEA_ERR_DIM, {&A::kernel_size}, {FOVEA_CONV1D_MAX_KERNEL_SIZE + 1});
  add_misuses(misuses, FOVEA_ERR_NULL, {&A::x, &A::weight}, {nullptr});
  add_misuses(misuses, FOVEA_ERR_NULL, {&A::y}, {nullptr});
  add_misuses(misuses, FOVEA_ERR_SIZE, {&A::x_batch_stride}, {PTRDIFF_MAX});
  const ConvCase good{ConvProblem{}};
  check_refused<ConvCase>(
      misuses, [] { return ConvCase(ConvProblem{}); }, [](ConvCase& c) { return fovea_conv1d(&c.args); },
      [&](ConvCase& c) { return c.y.memory.untouched() && same_bits(c.state.numbers(), good.state.numbers()); });
  CHECK(fovea_conv1d(nullptr) == FOVEA_ERR_NULL);
}

}  // namespace fovea_test
