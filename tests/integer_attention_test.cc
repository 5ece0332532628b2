// SPDX-License-Identifier: Apache-2.0
//
// All-integer attention against its definition in fovea.h, to the bit, and against softmax in double.
#include "support/integer_definition.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct IntegerProblem {
  uint32_t batch = 1, q_heads = 1, kv_heads = 1, q_tokens = 5, kv_tokens = 70, head_dim = 16, value_dim = 16;
  int32_t q_zero_point = 0, value_zero_point = 0, out_zero_point = 0;
  double score = 0.01;  // octaves for each unit of a sum of products
  double out = 1;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  uint32_t window_left = 0, window_right = 0;
  bool lengths = false, positions = false;
  enum Codes { kSpread, kLowest, kHighest, kRising } codes = kSpread;
  Layout layout = Layout::kHeadsFirst;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const IntegerProblem& p) {
  return Text() << "integer attention " << p.batch << "x" << p.q_heads << "/" << p.kv_heads << "x" << p.q_tokens << "x"
                << p.kv_tokens << "x" << p.head_dim << "," << p.value_dim << " zeros " << p.q_zero_point << " "
                << p.value_zero_point << " " << p.out_zero_point << " factors " << p.score << " " << p.out << " causal "
                << p.causal << " windows " << p.window_left << " " << p.window_right << (p.lengths ? " lengths" : "")
                << (p.positions ? " positions" : "") << " codes " << p.codes << " " << name(p.layout) << " "
                << name(p.placement) << " seed " << p.seed;
}

int8_t code(const IntegerProblem& p, uint64_t kind, uint64_t index) {
  if (p.codes == IntegerProblem::kLowest) return -128;
  if (p.codes == IntegerProblem::kHighest) return 127;
  const float x = random_normal(p.seed * 4 + kind, index) * 40;
  return int8_t(std::lrint(std::min(127.0f, std::max(-128.0f, x))));
}

class IntegerCase {
 public:
  explicit IntegerCase(const IntegerProblem& problem) : p(problem), args{} {
    args.struct_bytes = sizeof args;
    args.batch = p.batch, args.q_heads = p.q_heads, args.kv_heads = p.kv_heads;
    args.q_tokens = p.q_tokens, args.kv_tokens = p.kv_tokens;
    args.head_dim = p.head_dim, args.value_dim = p.value_dim;
    const auto array = [&](uint32_t heads, uint32_t tokens, uint32_t dim, Layout layout) {
      return Array(FOVEA_I8, {p.batch, heads, tokens, dim}, layout, p.placement);
    };
    out = array(p.q_heads, p.q_tokens, p.value_dim, output_layout(p.layout));
    q = array(p.q_heads, p.q_tokens, p.head_dim, output_layout(p.layout));
    keys = array(p.kv_heads, p.kv_tokens, p.head_dim, p.layout);
    values = array(p.kv_heads, p.kv_tokens, p.value_dim, p.layout);
    args.out = out.out(), args.q = q.in(), args.keys = keys.in(), args.values = values.in();
    args.q_zero_point = p.q_zero_point, args.value_zero_point = p.value_zero_point,
    args.out_zero_point = p.out_zero_point;
    REQUIRE(fovea_integer_multiplier(p.score, &args.score_multiplier, &args.score_shift) == FOVEA_OK);
    REQUIRE(fovea_integer_multiplier(p.out, &args.out_multiplier, &args.out_shift) == FOVEA_OK);
    args.causal = p.causal, args.window_left = p.window_left, args.window_right = p.window_right;
    for (uint32_t b = 0; b < p.batch; ++b) {
      lengths_.push_back(b % 2 == 0 ? p.kv_tokens : p.kv_tokens / 3);
      positions_.push_back(int64_t{b} * 7 + 2);
    }
    if (p.lengths) args.kv_lengths = lengths_.data();
    if (p.positions) args.first_positions = positions_.data();
    fill(q, 0, p.q_heads, p.q_tokens, p.head_dim);
    fill(keys, 1, p.kv_heads, p.kv_tokens, p.head_dim);
    fill(values, 2, p.kv_heads, p.kv_tokens, p.value_dim);
    workspace = Guarded(bytes_of(fovea_integer_attention_workspace_bytes, &args), FOVEA_WORKSPACE_ALIGNMENT, Placement::kEnd);
  }

  fovea_status run() {
    set_current_case(name(p));
    return fovea_integer_attention(&args, workspace.as<void>(), workspace.bytes());
  }

  IntegerProblem p;
  fovea_integer_attention_args args;
  Array out, q, keys, values;
  Guarded workspace;
  std::vector<uint32_t> lengths_;
  std::vector<int64_t> positions_;

 private:
  void fill(const Array& to, uint64_t kind, uint32_t heads, uint32_t tokens, uint32_t dim) {
    for (const auto& [b, h, t, d] : indices(p.batch, heads, tokens, dim)) {
      int8_t x = code(p, kind, ((uint64_t{b} * 64 + h) * 65536 + t) * 1024 + d);
      // Scores that rise by a little with each key.
      if (p.codes == IntegerProblem::kRising && kind == 0) x = d == 0 ? 1 : 0;
      if (p.codes == IntegerProblem::kRising && kind == 1 && d == 0) x = int8_t(int(t / 64) - 128);
      to.row<int8_t>(b, h, t)[d] = x;
    }
  }
};

// Softmax in double: an output before it is rounded, or out_zero_point.
std::vector<double> in_double(const IntegerCase& c, uint32_t b, uint32_t h, uint32_t i) {
  const IntegerProblem& p = c.p;
  const uint32_t kv_head = h / (p.q_heads / p.kv_heads);
  int64_t lo, hi;
  keys_seen(c.args, b, i, &lo, &hi);
  std::vector<double> scores, out(p.value_dim, p.out_zero_point);
  if (lo == hi) return out;
  for (int64_t j = lo; j < hi; ++j) {
    double s = 0;
    const int8_t* const key = c.keys.row<int8_t>(b, kv_head, size_t(j));
    for (uint32_t e = 0; e < p.head_dim; ++e)
      s += (c.q.row<int8_t>(b, h, i)[e] - p.q_zero_point) * double{key[e] + 17.0};
    scores.push_back(s * p.score);
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) sum += s = std::exp2(s - most);
  for (int64_t j = lo; j < hi; ++j) {
    const int8_t* const value = c.values.row<int8_t>(b, kv_head, size_t(j));
    for (uint32_t e = 0; e < p.value_dim; ++e) {
      out[e] += scores[size_t(j - lo)] / sum * (value[e] - p.value_zero_point) * p.out;
    }
  }
  return out;
}

// Runs the case and compares each output with the definition. Returns the largest difference from double.
double check(IntegerCase& c) {
  INFO(name(c.p));
  REQUIRE(c.run() == FOVEA_OK);
  CHECK(wrong_rows(c.args) == 0);
  CHECK(c.out.memory.margin_intact());
  CHECK(c.workspace.margin_intact());
  double largest = 0;
  for (const auto& [b, h, i] : indices(c.p.batch, c.p.q_heads, c.p.q_tokens)) {
    const std::vector<double> exact = in_double(c, b, h, i);
    for (uint32_t e = 0; e < c.p.value_dim; ++e) {
      const int8_t got = c.out.row<int8_t>(b, h, i)[e];
      largest = std::max(largest, std::fabs(got - std::min(127.0, std::max(-128.0, exact[e]))));
    }
  }
  return largest;
}
double check(const IntegerProblem& p) {
  IntegerCase c(p);
  return check(c);
}

}  // namespace

TEST_CASE("integer attention: every head_dim and value_dim from 1 to 70 has the bits of the definition", "[short]") {
  for (uint32_t dim = 1; dim <= 70; dim += dim < 20 ? 1 : 7) {
    for (const uint32_t rows : {2u, 7u}) {  // few rows have a kernel of their own, and so do those that are no four
      IntegerProblem p;
      p.q_tokens = rows, p.kv_tokens = 67, p.seed = dim, p.head_dim = dim, p.value_dim = 71 - dim;
      p.score = 0.02 / std::sqrt(dim);
      p.q_zero_point = int32_t(dim) - 9, p.value_zero_point = 3;
      CHECK(check(p) < 4);
    }
  }
}

TEST_CASE("integer attention: few rows see every number of keys, by the bits of the definition", "[short]") {
  for (uint32_t rows = 1; rows <= 3; ++rows) {
    for (uint32_t keys = 1; keys <= 10; ++keys) {
      IntegerProblem p;
      p.q_heads = rows, p.q_tokens = 1, p.seed = keys;
      p.kv_tokens = keys + (keys > 5 ? 59 : 0);
      p.head_dim = 3 + keys, p.value_dim = 20 - keys, p.q_zero_point = keys % 2 == 0 ? 3 : 0;
      check(p);
    }
  }
}

TEST_CASE("integer attention: every count of queries and keys has the bits of the definition", "[short]") {
  for (uint32_t count : {0u, 1u, 2u, 3u, 4u, 5u, 15u, 16u, 17u, 31u, 33u}) {
    IntegerProblem p;
    p.q_tokens = count;
    check(p);
  }
  for (uint32_t count : {0u, 1u, 2u, 3u, 15u, 16u, 17u, 63u, 64u, 65u, 127u, 128u, 129u, 200u}) {
    IntegerProblem p;
    p.kv_tokens = count;
    CHECK(check(p) < 4);
  }
}

TEST_CASE("integer attention: any two of heads, limits, zero points, strides and factors are as defined", "[short]") {
  const auto make = [](Levels& levels, uint64_t seed) {
    IntegerProblem p;
    p.seed = seed;
    p.batch = levels.choose({1u, 2u, 3u}), p.kv_heads = levels.choose({1u, 2u});
    p.q_heads = p.kv_heads * levels.choose({1u, 3u});
    p.q_tokens = levels.choose({1u, 5u, 19u}), p.kv_tokens = levels.choose({7u, 64u, 131u});
    p.head_dim = levels.choose({5u, 16u, 40u, 64u}), p.value_dim = levels.choose({3u, 16u, 37u, 64u});
    p.q_zero_point = levels.choose({0, -128, 127, 5}), p.value_zero_point = levels.choose({0, -128, 127, -9});
    p.out_zero_point = levels.choose({0, -128, 127, 31}), p.score = levels.choose({0.0005, 0.003, 0.3});
    p.out = levels.choose({1.0, 0.37, 2.5});
    p.causal =
        levels.choose({FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT, FOVEA_CAUSAL_POSITIONS});
    p.window_left = levels.choose({0u, 3u, 70u}), p.window_right = levels.choose({0u, 2u, 66u});
    p.lengths = levels.flag();
    p.positions = p.causal == FOVEA_CAUSAL_POSITIONS ||
                  (p.causal == FOVEA_CAUSAL_NONE && (p.window_left != 0 || p.window_right != 0));
    p.layout = levels.choose(kLayouts), p.placement = levels.choose(kPlacements);
    return p;
  };
  run_array("integer attention", 16, make, [](const IntegerProblem& p) { check(p); });
}

TEST_CASE("integer attention: extreme codes, zero points and factors saturate and do not overflow", "[short]") {
  for (const auto& [codes, score, out, zero] :
       every({IntegerProblem::kLowest, IntegerProblem::kHighest, IntegerProblem::kSpread},
             {0x1p-32, 1e-5, 1.0, 100.0, 0x1p30}, {0x1p-32, 1.0, 0x1p30}, {-128, 0, 127})) {
    IntegerProblem p;
    p.codes = codes, p.score = score, p.out = out, p.q_zero_point = p.value_zero_point = p.out_zero_point = zero;
    p.q_tokens = 2, p.kv_tokens = 130, p.head_dim = 33;
    check(p);
  }
  IntegerProblem p;
  p.codes = IntegerProblem::kLowest, p.head_dim = 1024, p.q_zero_point = 127, p.q_tokens = 1;
  check(p);
}

TEST_CASE("integer attention: equal values come out as they went in", "[short]") {
  for (const uint32_t keys : {1u, 64u, 1000u}) {
    IntegerProblem p;
    p.kv_tokens = keys;
    IntegerCase c(p);
    for (uint32_t t = 0; t < keys; ++t) std::memset(c.values.row<int8_t>(0, 0, t), 101, p.value_dim);
    CHECK(check(c) < 1e-9);
  }
}

TEST_CASE("integer attention: weights of far keys keep their size where scores rise by less than a step a tile") {
  IntegerProblem p;
  p.codes = IntegerProblem::kRising, p.q_tokens = 1, p.head_dim = 1, p.kv_tokens = 255 * 64;
  p.score = 1.0 / 200;
  CHECK(check(p) <= 1);
}

TEST_CASE("integer attention: sums of a million keys do not overflow, and still see each key", "[slow]") {
  for (const auto codes : {IntegerProblem::kLowest, IntegerProblem::kSpread}) {
    IntegerProblem p;
    p.codes = codes, p.q_tokens = 1, p.head_dim = p.value_dim = 2, p.kv_tokens = 1u << 20, p.score = 1e-9;
    IntegerCase c(p);
    if (codes == IntegerProblem::kSpread) {  // one half and the other
      for (uint32_t t = 0; t < p.kv_tokens; ++t) {
        std::memset(c.values.row<int8_t>(0, 0, t), t < p.kv_tokens / 2 ? 100 : -28, 2);
      }
    }
    CHECK(check(c) <= 0.6);
  }
}

TEST_CASE("integer attention: every misuse has its status, and nothing is written", "[short]") {
  using A = fovea_integer_attention_args;
  std::vector<Misuse<IntegerCase>> misuses = {
      {"heads do not divide", FOVEA_ERR_HEADS, [](auto& c) { c.args.q_heads = 3, c.args.kv_heads = 2; }},
      {"positions twice", FOVEA_ERR_POSITIONS_TWICE,
       [](auto& c) { c.args.causal = FOVEA_CAUSAL_TOP_LEFT, c.args.first_positions = c.positions_.data(); }},
      {"a position too far", FOVEA_ERR_SIZE,
       [](auto& c) {
         c.args.causal = FOVEA_CAUSAL_POSITIONS, c.args.first_positions = c.positions_.data();
         c.positions_[0] = std::numeric_limits<int64_t>::min();
       }},
      {"positions misaligned", FOVEA_ERR_ALIGNMENT,
       [](IntegerCase& c) {
         c.args.causal = FOVEA_CAUSAL_POSITIONS;
         c.args.first_positions = reinterpret_cast<const int64_t*>(c.q.memory.as<char>() + 1);
       }},
      {"a length too large", FOVEA_ERR_LENGTH,
       [](auto& c) { c.args.kv_lengths = c.lengths_.data(), c.lengths_[0] = c.p.kv_tokens + 1; }},
      {"out tokens share places", FOVEA_ERR_STRIDE, [](auto& c) { c.args.out.token_stride -= 1; }},
  };
  add_struct_misuses(misuses);
  add_misuse(misuses, FOVEA_ERR_NULL, &A::out, [](auto& a) { a.data = nullptr; });
  const auto inputs = {&A::q, &A::keys, &A::values};
  for (fovea_in A::* const array : inputs) {
    add_misuse(misuses, FOVEA_ERR_NULL, array, [](auto& a) { a.data = nullptr; });
    add_misuse(misuses, FOVEA_ERR_SIZE, array, [](auto& a) { a.token_stride = PTRDIFF_MAX; });
    add_misuse(misuses, FOVEA_ERR_STRIDE, array, [](auto& a) { a.token_stride = 0; });
  }
  add_overlaps(misuses, inputs, [](auto& c) { return c.args.out.data; });
  add_overlaps(misuses, inputs, [](auto& c) { return c.workspace.template as<int8_t>() + 64; });
  add_misuses(misuses, FOVEA_ERR_DIM, {&A::q_heads, &A::kv_heads, &A::head_dim, &A::value_dim}, {0});
  add_misuses(misuses, FOVEA_ERR_UNSUPPORTED, {&A::head_dim}, {1025});
  add_misuses(misuses, FOVEA_ERR_SIZE, {&A::value_dim, &A::kv_tokens}, {(1u << 24) + 1});
  add_misuses(misuses, FOVEA_ERR_ENUM, {&A::causal}, {fovea_causal(4), fovea_causal(-1)});
  add_misuses(misuses, FOVEA_ERR_POSITIONS_MISSING, {&A::causal}, {FOVEA_CAUSAL_POSITIONS});
  add_misuses(misuses, FOVEA_ERR_POSITIONS_MISSING, {&A::window_left, &A::window_right}, {1});
  add_misuses(misuses, FOVEA_ERR_NUMBER, {&A::q_zero_point, &A::value_zero_point, &A::out_zero_point}, {128, -129});
  add_misuses(misuses, FOVEA_ERR_NUMBER, {&A::score_multiplier, &A::out_multiplier}, {(1 << 30) - 1, -0x7fffffff, 0});
  add_misuses(misuses, FOVEA_ERR_NUMBER, {&A::score_shift, &A::out_shift}, {32, -32, INT32_MIN});
  IntegerProblem p;
  p.placement = Placement::kStart;
  check_refused<IntegerCase>(
      misuses, [&] { return IntegerCase(p); }, [](IntegerCase& c) { return c.run(); },
      [](IntegerCase& c) { return c.out.memory.untouched() && c.workspace.untouched(); });
  IntegerCase c((IntegerProblem()));
  char* const workspace = c.workspace.as<char>();
  const size_t bytes = c.workspace.bytes();
  CHECK(fovea_integer_attention(nullptr, workspace, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_attention(&c.args, nullptr, bytes) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_attention(&c.args, workspace + 4, bytes) == FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_integer_attention(&c.args, workspace, bytes - 1) == FOVEA_ERR_WORKSPACE);
  CHECK(c.out.memory.untouched());
  CHECK(refusal_of(fovea_integer_attention_workspace_bytes, nullptr) == FOVEA_ERR_NULL);
  c.args.head_dim = 0;
  CHECK(refusal_of(fovea_integer_attention_workspace_bytes, &c.args) == FOVEA_ERR_DIM);
  c.args.head_dim = 16, c.args.value_dim = 0xffffffffu;
  CHECK(refusal_of(fovea_integer_attention_workspace_bytes, &c.args) == FOVEA_ERR_SIZE);
}

TEST_CASE("integer attention: the macro for static arrays is an upper bound of the workspace", "[short]") {
  for (const auto& [dim, tokens] : every({1u, 16u, 17u, 64u, 1024u}, {0u, 1u, 3u, 4u, 9u, 16u, 17u, 1000u})) {
    IntegerProblem p;
    IntegerCase c(p);
    c.args.head_dim = dim, c.args.value_dim = 1025 - dim, c.args.q_tokens = tokens, c.args.q_heads = 2;
    const size_t rows = size_t{tokens} * 2;
    CHECK(bytes_of(fovea_integer_attention_workspace_bytes, &c.args) <=
          FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(dim, 1025 - dim, rows ? rows : 1));
  }
}

TEST_CASE("integer attention: a multiplier and its shift are the number, to the nearest", "[short]") {
  int32_t multiplier = 0, shift = 0;
  for (const double real : {0x1p-32, 1e-9, 0.001, 0.5, 0.75, 1.0, 1.5, 3.14159, 123456.0, 0x1.fffffffp30}) {
    REQUIRE(fovea_integer_multiplier(real, &multiplier, &shift) == FOVEA_OK);
    CHECK(multiplier >= 1 << 30);
    CHECK(std::fabs(std::ldexp(multiplier, shift - 31) - real) <= std::ldexp(0.5, shift - 31));
  }
  REQUIRE(fovea_integer_multiplier(0x1.fffffffffp-1, &multiplier, &shift) == FOVEA_OK);  // rounds up to 1
  CHECK(multiplier == 1 << 30);
  CHECK(shift == 1);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  multiplier = shift = 7;
  for (const double real : {0.0, -0.0, -1.0, 0x1p-33, 0x1p31, 0x1.fffffffffp30, inf, -inf, nan, 5e-324}) {
    CHECK(fovea_integer_multiplier(real, &multiplier, &shift) == FOVEA_ERR_NUMBER);
  }
  CHECK(fovea_integer_multiplier(1, nullptr, &shift) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_multiplier(1, &multiplier, nullptr) == FOVEA_ERR_NULL);
  CHECK(multiplier == 7);
  CHECK(shift == 7);
}

}  // namespace fovea_test
