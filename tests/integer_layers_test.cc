// SPDX-License-Identifier: Apache-2.0
//
// Layers on int8 tensors against their definitions in integer_layers.h, to the bit, and against double.
#include <initializer_list>
#include <type_traits>

#include "support/activations.h"
#include "support/integer_layers_definition.h"
#include "support/test.h"

namespace fovea_test {
namespace {

struct Counts {
  uint32_t batch = 2, heads = 2, tokens = 3, dim = 20;
};

class CodeRows : public Array {
 public:
  CodeRows(const Counts& n, Layout layout, Placement placement)
      : Array(FOVEA_I8, {n.batch, n.heads, n.tokens, n.dim}, layout, placement) {}
  int8_t* row(size_t r) const { return Array::row<int8_t>(r); }
  // Random codes: their spread differs from row to row.
  void draw(uint64_t seed) {
    for (uint32_t r = 0; r < rows(); ++r) {
      const float spread = std::exp2(float(random_bits(seed, r) % 8)), middle = random_normal(seed + 1, r) * 20;
      for (uint32_t i = 0; i < shape.dim; ++i) {
        const float x = middle + spread * random_normal(seed + 2, uint64_t{r} * 65536 + i);
        row(r)[i] = saturated(std::lrint(std::min(1000.0f, std::max(-1000.0f, x))));
      }
    }
  }
};

template <class T>
Guarded list_of(size_t count, Placement placement, uint64_t seed, double spread) {
  Guarded memory(count * sizeof(T), sizeof(T), placement);
  for (size_t i = 0; i < count; ++i) {
    const double x = spread * double(random_normal(seed, i));
    memory.as<T>()[i] = static_cast<T>(
        std::max<double>(std::numeric_limits<T>::min(), std::min<double>(std::numeric_limits<T>::max(), x)));
  }
  return memory;
}

template <class Args>
Args with_counts(const Counts& n, const CodeRows& y) {
  Args a = {};
  a.struct_bytes = sizeof a, a.batch = n.batch, a.heads = n.heads, a.tokens = n.tokens, a.dim = n.dim;
  a.y = y.out();
  return a;
}
void set(double real, int32_t* multiplier, int32_t* shift) {
  REQUIRE(fovea_integer_multiplier(real, multiplier, shift) == FOVEA_OK);
}

uint64_t hash_of(const Guarded& memory) { return hash_bytes(memory.as<uint8_t>(), memory.bytes()); }

// Calls, and counts the rows that differ from want(row of x, number of the row). x and y may be the same.
template <class Args, class Want>
size_t wrong_rows(fovea_status (*call)(const Args*), const Args& a, const CodeRows& x, const CodeRows& y, Want want) {
  std::vector<CodeRow> wanted;
  for (uint32_t r = 0; r < x.rows(); ++r) wanted.push_back(want(x.row(r), r));
  REQUIRE(call(&a) == FOVEA_OK);
  size_t wrong = 0;
  for (uint32_t r = 0; r < y.rows(); ++r) wrong += std::memcmp(y.row(r), wanted[r].data(), wanted[r].size()) != 0;
  CHECK(y.memory.margin_intact());
  return wrong;
}

struct Choice {
  Counts counts;
  Layout layout = Layout::kHeadsFirst, y_layout = Layout::kHeadsFirst;
  bool in_place = false;
  Placement placement = Placement::kEnd;
  int32_t x_zero_point = 3, y_zero_point = -5;
  double scale = 1;
  uint64_t seed = 1;
  int option = 0;
};
Choice choose(Levels& levels, uint64_t seed) {
  Choice c;
  c.counts = {levels.choose({1u, 2u}), levels.choose({1u, 3u}), levels.choose({1u, 4u}),
              levels.choose({1u, 3u, 4u, 15u, 16u, 17u, 33u, 64u})};
  c.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed, Layout::kOneRow});
  c.y_layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed});
  c.in_place = levels.flag(), c.placement = levels.choose(kPlacements);
  c.x_zero_point = levels.choose({0, -128, 127, 9}), c.y_zero_point = levels.choose({0, -128, 127, -20});
  c.scale = levels.choose({1.0, 0.01, 1.99, 0x1p-30}), c.option = levels.choose({0, 1, 2, 3});
  c.seed = seed;
  return c;
}
std::string name(const char* layer, const Choice& c) {
  const std::string text = Text() << layer << " " << c.counts.batch << "x" << c.counts.heads << "x" << c.counts.tokens
                                  << "x" << c.counts.dim << " layouts " << int(c.layout) << " " << int(c.y_layout)
                                  << (c.in_place ? " in place " : " ") << name(c.placement) << " zeros "
                                  << c.x_zero_point << " " << c.y_zero_point << " scale " << c.scale << " option "
                                  << c.option << " seed " << c.seed;
  set_current_case(text);
  return text;
}

// x, drawn, and y, which may be the same.
struct Arrays {
  explicit Arrays(const Choice& c)
      : x(c.counts, c.in_place && c.layout == Layout::kOneRow ? Layout::kHeadsFirst : c.layout, c.placement),
        own(c.counts, c.y_layout, c.placement),
        y(c.in_place ? x : own) {
    x.draw(c.seed);
  }
  CodeRows x, own;
  CodeRows& y;
};

void check_norm(const Choice& c) {
  INFO(name("norm", c));
  Arrays arrays(c);
  const Guarded weight = list_of<int16_t>(c.counts.dim, c.placement, c.seed, 12000);
  const Guarded bias = list_of<int16_t>(c.counts.dim, c.placement, c.seed + 1, 3000);
  auto a = with_counts<fovea_integer_norm_args>(c.counts, arrays.y);
  a.norm = c.option % 2 == 0 ? FOVEA_NORM_LAYER : FOVEA_NORM_RMS;
  a.x = arrays.x.in();
  a.weight = weight.as<int16_t>(), a.bias = c.option < 2 ? bias.as<int16_t>() : nullptr;
  a.x_zero_point = c.x_zero_point, a.y_zero_point = c.y_zero_point;
  set(std::max(c.scale * 0x1p-9, 0x1p-32), &a.weight_multiplier, &a.weight_shift);
  if (c.seed % 3 != 0) set(c.scale, &a.epsilon_multiplier, &a.epsilon_shift);
  CHECK(wrong_rows(fovea_integer_norm, a, arrays.x, arrays.y,
                   [&](const int8_t* x, uint32_t) { return norm_of_codes(a, x); }) == 0);
}

void check_pair(const Choice& c) {
  INFO(name("pair", c));
  Arrays arrays(c);
  CodeRows b(c.counts, c.seed % 2 == 0 ? Layout::kOneRow : Layout::kPadded, c.placement);
  b.draw(c.seed + 7);
  auto a = with_counts<fovea_integer_binary_args>(c.counts, arrays.y);
  a.a = arrays.x.in(), a.b = b.in();
  a.a_zero_point = c.x_zero_point, a.y_zero_point = c.y_zero_point, a.b_zero_point = c.x_zero_point / 2 - 3;
  set(c.scale, &a.a_multiplier, &a.a_shift);
  set(c.scale * 1.3, &a.b_multiplier, &a.b_shift);
  if (c.option % 2 != 0) a.activation_min = -17, a.activation_max = 88;
  const auto of_sum = [&](const int8_t* x, uint32_t r) { return sum_of_codes(a, x, a.b.data ? b.row(r) : nullptr); };
  if (c.option < 2) {
    CHECK(wrong_rows(fovea_integer_add, a, arrays.x, arrays.y, of_sum) == 0);
  } else {
    CHECK(wrong_rows(fovea_integer_multiply, a, arrays.x, arrays.y,
                     [&](const int8_t* x, uint32_t r) { return product_of_codes(a, x, b.row(r)); }) == 0);
  }
  a.b.data = nullptr;
  CHECK(wrong_rows(fovea_integer_add, a, arrays.x, arrays.y, of_sum) == 0);
}

void check_activations(const Choice& c) {
  INFO(name("activation", c));
  Arrays arrays(c);
  const Guarded table = list_of<int8_t>(256, c.placement, c.seed, 50);
  auto a = with_counts<fovea_integer_activation_args>(c.counts, arrays.y);
  a.x = arrays.x.in(), a.table = table.as<int8_t>();
  CHECK(wrong_rows(fovea_integer_activation, a, arrays.x, arrays.y, [&](const int8_t* x, uint32_t) {
          CodeRow y;
          for (uint32_t i = 0; i < c.counts.dim; ++i) y.push_back(a.table[uint8_t(x[i])]);
          return y;
        }) == 0);

  auto h = with_counts<fovea_integer_hard_swish_args>(c.counts, arrays.y);
  h.x = arrays.x.in(), h.x_zero_point = c.x_zero_point, h.y_zero_point = c.y_zero_point;
  set(c.option == 0 ? 48 : c.option == 1 ? 8191 : c.option == 2 ? 0x1p-8 : 3, &h.three_multiplier, &h.three_shift);
  set(std::max(c.scale * 0.02, 0x1p-24), &h.out_multiplier, &h.out_shift);
  CHECK(wrong_rows(fovea_integer_hard_swish, h, arrays.x, arrays.y,
                   [&](const int8_t* x, uint32_t) { return hard_swish_of_codes(h, x); }) == 0);
}

void check_mean(const Choice& c) {
  INFO(name("mean", c));
  Arrays arrays(c);
  Counts of_y = c.counts;
  of_y.tokens = 1;
  const CodeRows y(of_y, c.y_layout, c.placement);
  auto a = with_counts<fovea_integer_mean_args>(c.counts, y);
  a.x = arrays.x.in(), a.x_zero_point = c.x_zero_point, a.y_zero_point = c.y_zero_point;
  set(c.scale, &a.multiplier, &a.shift);
  const std::vector<uint32_t> lengths = {c.counts.tokens / 2, c.counts.tokens};
  if (c.option % 2 != 0) a.lengths = lengths.data();
  REQUIRE(fovea_integer_mean(&a) == FOVEA_OK);
  for (uint32_t r = 0; r < y.rows(); ++r) {
    const uint32_t b = r / c.counts.heads, h = r % c.counts.heads;
    const uint32_t tokens = a.lengths != nullptr ? lengths[b] : c.counts.tokens;
    std::vector<int64_t> sums(c.counts.dim);
    for (const auto& [t, i] : indices(tokens, c.counts.dim)) {
      sums[i] += arrays.x.Array::row<int8_t>(b, h, t)[i] - a.x_zero_point;
    }
    const CodeRow want = mean_of_codes(a, sums, tokens);
    CHECK(std::memcmp(y.row(r), want.data(), want.size()) == 0);
  }
  CHECK(y.memory.margin_intact());
}

TEST_CASE("integer layers: norms have the defined bits for any two of counts, layouts, scales", "[short]") {
  run_array("integer norm", 20, choose, check_norm);
}

TEST_CASE("integer layers: sums and products have the defined bits for any two of counts, layouts, scales", "[short]") {
  run_array("integer pair", 21, choose, check_pair);
}

TEST_CASE("integer layers: activations have the defined bits for any two of counts, layouts, scales", "[short]") {
  run_array("integer activation", 22, choose, check_activations);
}

TEST_CASE("integer layers: means have the defined bits for any two of counts, layouts, scales", "[short]") {
  run_array("integer mean", 23, choose, check_mean);
}

TEST_CASE("integer layers: every dim from 1 to 70 has the bits of the definition", "[short]") {
  for (uint32_t dim = 1; dim <= 70; ++dim) {
    Choice c;
    c.counts = {1, 1, 2, dim}, c.seed = dim, c.option = int(dim % 4);
    check_norm(c);
    check_pair(c);
    check_activations(c);
    check_mean(c);
  }
}

TEST_CASE("integer layers: norms of extreme rows, weights and scales do not overflow", "[short]") {
  for (const uint32_t dim : {1u, 2u, 64u, 16384u}) {
    const Counts counts = {1, 1, 1, dim};
    CodeRows x(counts, Layout::kHeadsFirst, Placement::kEnd), y(counts, Layout::kHeadsFirst, Placement::kEnd);
    const std::vector<int16_t> most(dim, 32767), least(dim, -32768);
    for (int rows = 0; rows < 5; ++rows) {
      for (uint32_t i = 0; i < dim; ++i) {
        const int8_t of[] = {-128, 127, int8_t(i == dim / 2 ? 127 : -128), int8_t(i % 2 == 0 ? 127 : -128),
                             int8_t(i == 0 ? 1 : 0)};
        x.row(0)[i] = of[rows];
      }
      for (const auto& [weight, epsilon, rms] :
           every({0x1.fffffffp-9, 0x1p-11, 0x1p-32}, {0.0, 0x1p-32, 1.0, 0x1.fffffffcp14}, {false, true})) {
        auto a = with_counts<fovea_integer_norm_args>(counts, y);
        a.norm = rms ? FOVEA_NORM_RMS : FOVEA_NORM_LAYER;
        a.x = x.in(), a.weight = least.data(), a.bias = rms ? most.data() : least.data();
        a.x_zero_point = rows % 2 == 0 ? 127 : -128, a.y_zero_point = rms ? 127 : -128;
        set(weight, &a.weight_multiplier, &a.weight_shift);
        if (epsilon > 0) set(epsilon, &a.epsilon_multiplier, &a.epsilon_shift);
        CHECK(wrong_rows(fovea_integer_norm, a, x, y,
                         [&](const int8_t* row, uint32_t) { return norm_of_codes(a, row); }) == 0);
      }
    }
  }
}

TEST_CASE("integer layers: tables are within the stated error of double, for any scales", "[short]") {
  for (const fovea_activation_kind kind : kActivations) {
    double largest = 0;
    for (uint32_t i = 0; i < 300; ++i) {
      const auto number = [&](uint32_t which, uint32_t below) {
        return int32_t(random_bits(uint64_t(kind) * 8 + which, i) % below);
      };
      const int spread = i < 200 ? 14 : 100;
      const float x_scale = std::exp2(float(number(0, 1000)) / 1000 * float(spread) - float(spread) / 2 - 5);
      const float y_scale = i % 2 == 0 ? x_scale * (1 + float(number(1, 10)))
                                       : std::exp2(float(number(2, 1000)) / 1000 * float(spread) - float(spread) / 2);
      const float alpha = number(3, 2) == 0 ? 0 : 1.702f;
      const int32_t x_zero_point = number(4, 256) - 128, y_zero_point = number(5, 256) - 128;
      int8_t table[256];
      REQUIRE(fovea_integer_activation_table(kind, alpha, x_scale, x_zero_point, y_scale, y_zero_point, table) ==
              FOVEA_OK);
      for (int32_t code = -128; code < 128; ++code) {
        const double x = double(x_scale) * (code - x_zero_point);
        const double y = activated(kind, x, alpha == 0 ? 1 : double(alpha)) / double(y_scale);
        const double exact = std::min(127.0, std::max(-128.0, y_zero_point + y));
        largest = std::max(largest, std::fabs(table[uint8_t(code)] - exact));
      }
    }
    INFO("activation " << int(kind) << ": " << largest);
    CHECK(largest <= 0.501);
  }
}

TEST_CASE("integer layers: a table is 0 where the exponential is too small, however large x is", "[short]") {
  int8_t table[256];
  for (const fovea_activation_kind kind : {FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_GELU, FOVEA_ACTIVATION_GELU_TANH}) {
    REQUIRE(fovea_integer_activation_table(kind, 0, 0x1p100f, 0, 0x1p-100f, 5, table) == FOVEA_OK);
    for (int i = 0; i < 256; ++i) CHECK(table[i] == (i == 0 || i > 127 ? 5 : 127));
  }
}

TEST_CASE("integer layers: a table of the identity is a change of scale, as a sum without b is", "[short]") {
  int8_t table[256], x[256], y[256];
  REQUIRE(fovea_integer_activation_table(FOVEA_ACTIVATION_IDENTITY, 0, 0.5f, 3, 0.75f, -9, table) == FOVEA_OK);
  for (int i = 0; i < 256; ++i) x[i] = int8_t(i - 128);
  auto a = sized<fovea_integer_binary_args>();
  a.batch = a.heads = a.tokens = 1, a.dim = 256, a.a.data = x, a.y.data = y, a.a_zero_point = 3, a.y_zero_point = -9;
  set(0.5 / 0.75, &a.a_multiplier, &a.a_shift);
  REQUIRE(fovea_integer_add(&a) == FOVEA_OK);
  for (int i = 0; i < 256; ++i) CHECK(y[i] == table[uint8_t(x[i])]);
}

// All else is of integers alone, as its definition is.
TEST_CASE("integer layers: all machines give the same tables", "[short]") {
  Guarded tables(256 * 9, 1, Placement::kEnd);
  for (size_t i = 0; i < 9; ++i) {
    int8_t* const table = tables.as<int8_t>() + 256 * i;
    REQUIRE(fovea_integer_activation_table(kActivations[i], 0, 0.04f, 10, 0.02f, -20, table) == FOVEA_OK);
  }
  CHECK(hash_of(tables) == 0xdd5e1c593a40cbdeu);
}

// Valid arguments of each layer, of which a test spoils one thing.
struct Calls {
  int8_t x[64], b[64], y[64], table[256];
  int16_t weight[8], bias[8];
  uint32_t lengths[2] = {3, 2};
  fovea_integer_norm_args norm = {};
  fovea_integer_binary_args pair = {};
  fovea_integer_activation_args activation = {};
  fovea_integer_hard_swish_args hard_swish = {};
  fovea_integer_mean_args mean = {};

  Calls() {
    for (int8_t& code : y) code = 77;
    std::memset(x, 1, sizeof x), std::memset(b, 2, sizeof b);
    fill(&norm), fill(&activation), fill(&hard_swish), fill(&mean);
    norm.norm = FOVEA_NORM_LAYER, norm.weight = weight, norm.bias = bias;
    set(0x1p-10, &norm.weight_multiplier, &norm.weight_shift);
    set(1, &norm.epsilon_multiplier, &norm.epsilon_shift);
    pair.struct_bytes = sizeof pair, pair.batch = 1, pair.heads = 2, pair.tokens = 3, pair.dim = 8;
    pair.a = {x, 0, 24, 8}, pair.b = {b, 0, 24, 8}, pair.y = {y, 0, 24, 8};
    set(1, &pair.a_multiplier, &pair.a_shift);
    set(1, &pair.b_multiplier, &pair.b_shift);
    activation.table = table;
    set(60, &hard_swish.three_multiplier, &hard_swish.three_shift);
    set(0.01, &hard_swish.out_multiplier, &hard_swish.out_shift);
    mean.lengths = lengths;
    set(1, &mean.multiplier, &mean.shift);
  }
  bool untouched() const {
    return std::all_of(y, y + 64, [](int8_t code) { return code == 77; });
  }

 private:
  template <class Args>
  void fill(Args* a) {
    a->struct_bytes = sizeof *a, a->batch = 1, a->heads = 2, a->tokens = 3, a->dim = 8;
    a->x = {x, 0, 24, 8}, a->y = {y, 0, 24, 8};
  }
};

// A call of one of them.
template <class Args>
struct LayerCall : Calls {
  explicit LayerCall(Args Calls::* of_layer) : args(this->*of_layer) {}
  Args& args;
};
template <class Args>
void check_misuses(fovea_status (*call)(const Args*), Args Calls::* args, std::vector<Misuse<LayerCall<Args>>> all) {
  add_struct_misuses(all);
  add_misuses(all, FOVEA_ERR_DIM, {&Args::dim, &Args::heads}, {0});
  add_misuse(all, FOVEA_ERR_NULL, &Args::y, [](auto& y) { y.data = nullptr; });
  add_misuse(all, FOVEA_ERR_STRIDE, &Args::y, [](auto& y) { y.head_stride = 7; });
  add_misuse(all, FOVEA_ERR_SIZE, &Args::y, [](auto& y) { y.head_stride = PTRDIFF_MAX; });
  add_overlaps(all, {&Args::y}, [](auto& c) { return c.x + 1; });
  check_refused(
      all, [=] { return LayerCall<Args>(args); }, [=](auto& c) { return call(&c.args); },
      [](const auto& c) { return c.untouched(); });
  CHECK(call(nullptr) == FOVEA_ERR_NULL);
  for (uint32_t Args::* count : {&Args::batch, &Args::tokens}) {
    Calls calls;
    (calls.*args).*count = 0;
    CHECK(call(&(calls.*args)) == FOVEA_OK);
    if (std::is_same<Args, fovea_integer_mean_args>::value) break;  // a mean of no tokens is written
    CHECK(calls.untouched());
  }
}

}  // namespace

TEST_CASE("integer layers: argmax and top k are those of a sorted row, with ties", "[short]") {
  for (const uint32_t count : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    for (const int kinds : {1, 2, 7, 256}) {  // how many codes there are in a row
      Guarded memory(count, 1, Placement::kEnd);
      int8_t* const x = memory.as<int8_t>();
      for (uint32_t i = 0; i < count; ++i) x[i] = int8_t(int(random_bits(uint64_t(kinds), i) % uint32_t(kinds)) - 128);
      check_largest(fovea_integer_argmax, fovea_integer_top_k, x, count,
                    [&](uint32_t i, uint32_t j) { return x[i] != x[j] ? x[i] > x[j] : i < j; });
    }
  }
}

TEST_CASE("integer layers: every misuse of norms has its status, and nothing is written", "[short]") {
  using A = fovea_integer_norm_args;
  std::vector<Misuse<LayerCall<A>>> all = {
      {"no x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }},
      {"y over the bias", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.bias = reinterpret_cast<int16_t*>(c.y); }},
  };
  add_misaligned(all, &A::weight, &A::bias);
  add_misuses(all, FOVEA_ERR_ENUM, {&A::norm}, {FOVEA_NORM_L2});
  add_misuses(all, FOVEA_ERR_SIZE, {&A::dim}, {16385});
  add_misuses(all, FOVEA_ERR_NULL, {&A::weight}, {nullptr});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::x_zero_point, &A::y_zero_point}, {128, -129});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::weight_multiplier, &A::epsilon_multiplier}, {(1 << 30) - 1, -1});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::weight_shift}, {-7, -32});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::epsilon_shift}, {16, -32});
  check_misuses<A>(fovea_integer_norm, &Calls::norm, all);
}

TEST_CASE("integer layers: every misuse of sums and products has its status, and nothing is written", "[short]") {
  using A = fovea_integer_binary_args;
  std::vector<Misuse<LayerCall<A>>> all = {
      {"no a", FOVEA_ERR_NULL, [](auto& c) { c.args.a.data = nullptr; }},
      {"y over b", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.b.data = c.y + 1; }},
  };
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::a_zero_point, &A::b_zero_point, &A::y_zero_point}, {128});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::a_multiplier}, {1});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::a_shift}, {6, -32});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::activation_min}, {-129, 1});  // 1 is above activation_max
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::activation_max}, {128});
  for (const auto call : {fovea_integer_add, fovea_integer_multiply}) check_misuses<A>(call, &Calls::pair, all);
  Calls calls;
  calls.pair.b_shift = 6;
  CHECK(fovea_integer_add(&calls.pair) == FOVEA_ERR_NUMBER);
  calls.pair.b.data = nullptr;
  CHECK(fovea_integer_multiply(&calls.pair) == FOVEA_ERR_NULL);
  CHECK(calls.untouched());
}

TEST_CASE("integer layers: every misuse of activations has its status, and nothing is written", "[short]") {
  using A = fovea_integer_activation_args;
  check_misuses<A>(fovea_integer_activation, &Calls::activation,
                   {
                       {"no x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }},
                       {"no table", FOVEA_ERR_NULL, [](auto& c) { c.args.table = nullptr; }},
                       {"y over the table", FOVEA_ERR_OVERLAP, [](auto& c) { c.args.table = c.y; }},
                   });
  using H = fovea_integer_hard_swish_args;
  std::vector<Misuse<LayerCall<H>>> all = {{"no x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }}};
  add_misuses(all, FOVEA_ERR_NUMBER, {&H::x_zero_point, &H::y_zero_point}, {128});
  add_misuses(all, FOVEA_ERR_NUMBER, {&H::three_multiplier, &H::out_multiplier}, {5});
  add_misuses(all, FOVEA_ERR_NUMBER, {&H::three_shift}, {14, -8});
  add_misuses(all, FOVEA_ERR_NUMBER, {&H::out_shift}, {7, -24});
  check_misuses<H>(fovea_integer_hard_swish, &Calls::hard_swish, all);
  int8_t table[256] = {77};
  const auto gelu = FOVEA_ACTIVATION_GELU;
  CHECK(fovea_integer_activation_table(fovea_activation_kind(99), 0, 1, 0, 1, 0, table) == FOVEA_ERR_ENUM);
  CHECK(fovea_integer_activation_table(gelu, kInfinity, 1, 0, 1, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 0, 0, 1, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 1, 0, -1, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 0x1p101f, 0, 1, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 1, 0, 0x1p-101f, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 1, 128, 1, 0, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 1, 0, 1, -129, table) == FOVEA_ERR_NUMBER);
  CHECK(fovea_integer_activation_table(gelu, 0, 1, 0, 1, 0, nullptr) == FOVEA_ERR_NULL);
  CHECK(table[0] == 77);
}

TEST_CASE("integer layers: every misuse of argmax and top k has its status, and nothing is written", "[short]") {
  alignas(4) static int8_t x[16];
  static uint32_t found, indices[4];
  found = indices[0] = 77;
  const auto inside = [](int at) { return reinterpret_cast<uint32_t*>(x + at); };
  CHECK(fovea_integer_argmax(nullptr, 1, &found) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_argmax(x, 1, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_argmax(x, 0, &found) == FOVEA_ERR_SIZE);
  CHECK(fovea_integer_argmax(x, 9, inside(8)) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_integer_argmax(x, 8, inside(9)) == FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_integer_top_k(x, 3, 4, indices) == FOVEA_ERR_SIZE);
  CHECK(fovea_integer_top_k(nullptr, 3, 1, indices) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_top_k(x, 3, 1, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_integer_top_k(x, 16, 3, inside(4)) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_integer_top_k(nullptr, 0, 0, nullptr) == FOVEA_OK);
  CHECK(found == 77);
  CHECK(indices[0] == 77);
  CHECK(std::all_of(x, x + 16, [](int8_t code) { return code == 0; }));
}

TEST_CASE("integer layers: every misuse of means has its status, and nothing is written", "[short]") {
  using A = fovea_integer_mean_args;
  std::vector<Misuse<LayerCall<A>>> all = {
      {"no x", FOVEA_ERR_NULL, [](auto& c) { c.args.x.data = nullptr; }},
      {"a length", FOVEA_ERR_LENGTH, [](auto& c) { c.lengths[0] = 4; }},
  };
  add_misaligned(all, &A::lengths);
  add_misuses(all, FOVEA_ERR_SIZE, {&A::tokens}, {(1u << 22) + 1});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::x_zero_point, &A::y_zero_point}, {128});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::multiplier}, {5});
  add_misuses(all, FOVEA_ERR_NUMBER, {&A::shift}, {6, -32});
  check_misuses<A>(fovea_integer_mean, &Calls::mean, all);
}

}  // namespace fovea_test
