// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, pooling, embeddings, argmax and top-k against plain loops, on every target.
#include <initializer_list>

#include "support/test.h"

namespace fovea_test {
namespace {

struct TensorCase {
  uint32_t batch = 2, heads = 2, tokens = 3, dim = 20;
  fovea_dtype y = FOVEA_F32, a = FOVEA_F32, b = FOVEA_F32;
  Layout layout = Layout::kHeadsFirst;
  int in_place = 0;  // 1: y is a, 2: y is b
  bool lengths = false, first = false;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};

std::string name(const TensorCase& c) {
  const std::string text = Text() << "tensors " << c.batch << "x" << c.heads << "x" << c.tokens << "x" << c.dim << " "
                                  << type_name(c.y) << " " << type_name(c.a) << " " << type_name(c.b) << " "
                                  << name(c.layout) << " in place " << c.in_place << (c.lengths ? " lengths" : "")
                                  << (c.first ? " first " : " mean ") << name(c.placement) << " seed " << c.seed;
  set_current_case(text);
  return text;
}

struct Rows : Array {
  Rows(const TensorCase& c, uint32_t tokens, fovea_dtype format, Layout layout)
      : Array(format, {c.batch, c.heads, tokens, c.dim}, layout, c.placement) {}
  float get(size_t r, size_t i) const { return element_of(type, row(r), nullptr, i); }
  float rounded(float x) const {
    return type == FOVEA_F32 ? x : float(value_of(half_of(type), nearest_of(half_of(type), x)));
  }
};

template <class Args>
Args with_counts(const TensorCase& c, const Rows& y, fovea_target target) {
  Args args = {};
  args.struct_bytes = sizeof args, args.target = target;
  args.batch = c.batch, args.heads = c.heads, args.tokens = c.tokens, args.dim = c.dim;
  args.y = y.out(), args.y_dtype = y.type;
  return args;
}

void check_pair(const TensorCase& c, fovea_target target, bool product) {
  const Layout own = c.layout == Layout::kOneRow ? Layout::kHeadsFirst : c.layout;
  Rows a(c, c.tokens, c.a, own), b(c, c.tokens, c.b, c.in_place == 2 ? own : c.layout);
  Rows separate(c, c.tokens, c.y, own);
  const bool same_size = (c.y == FOVEA_F32) == ((c.in_place == 1 ? c.a : c.b) == FOVEA_F32);
  Rows* const y = c.in_place == 0 || !same_size ? &separate : c.in_place == 1 ? &a : &b;
  a.draw(c.seed), b.draw(c.seed + 1);
  auto args = with_counts<fovea_binary_args>(c, *y, target);
  args.y_dtype = c.y;
  args.a = a.in(), args.b = b.in(), args.a_dtype = c.a, args.b_dtype = c.b;
  std::vector<float> want;
  for (const auto& [r, i] : indices(a.rows(), c.dim)) {
    const float x = a.get(r, i), other = b.get(r, i);
    want.push_back(separate.rounded(product ? x * other : x + other));
  }
  REQUIRE((product ? fovea_multiply : fovea_add)(&args) == FOVEA_OK);
  y->type = c.y;
  size_t wrong = 0;
  for (const auto& [r, i] : indices(a.rows(), c.dim)) wrong += !(y->get(r, i) == want[size_t{r} * c.dim + i]);
  CHECK(wrong == 0);
  CHECK(y->memory.margin_intact());
}

void check_pooling(const TensorCase& c, fovea_target target) {
  Rows x(c, c.tokens, c.a, c.layout), y(c, 1, c.y, Layout::kPadded);
  x.draw(c.seed);
  auto args = with_counts<fovea_pooling_args>(c, y, target);
  args.pooling = c.first ? FOVEA_POOLING_FIRST : FOVEA_POOLING_MEAN;
  args.x = x.in(), args.x_dtype = c.a;
  const std::vector<uint32_t> lengths = {c.tokens - 1, c.tokens};
  if (c.lengths) args.lengths = lengths.data();
  REQUIRE(fovea_pooling(&args) == FOVEA_OK);
  size_t wrong = 0;
  for (uint32_t r = 0; r < y.rows(); ++r) {
    const uint32_t all = c.lengths ? lengths[r / c.heads] : c.tokens;
    const uint32_t tokens = c.first ? std::min<uint32_t>(all, 1) : all;
    for (uint32_t i = 0; i < c.dim; ++i) {
      float sum = 0;
      for (uint32_t t = 0; t < tokens; ++t) sum += x.get(r * c.tokens + t, i);
      wrong += !(y.get(r, i) == y.rounded(tokens > 0 ? sum / float(tokens) : 0));
    }
  }
  CHECK(wrong == 0);
  CHECK(y.memory.margin_intact());
}

TensorCase choose(Levels& levels, uint64_t seed) {
  const auto format = [&] { return levels.choose(kFloatTypes); };
  TensorCase c;
  c.batch = levels.choose({1u, 2u}), c.heads = levels.choose({1u, 3u}), c.tokens = levels.choose({1u, 2u, 7u});
  c.dim = levels.choose({1u, 3u, 8u, 16u, 17u, 70u});
  c.y = format(), c.a = format(), c.b = format();
  c.layout = levels.choose({Layout::kHeadsFirst, Layout::kPadded, Layout::kReversed, Layout::kOneRow});
  c.in_place = levels.choose({0, 1, 2}), c.lengths = levels.flag(), c.first = levels.flag();
  c.placement = levels.choose(kPlacements);
  c.seed = seed;
  return c;
}

}  // namespace

TEST_CASE("tensors: sums, products and pooling, for any two of formats, counts, strides and memory", "[short]") {
  run_array("tensors", 30, choose, [](const TensorCase& c) {
    for (const fovea_target target : targets()) {
      INFO(name(c) << " " << fovea_target_name(target));
      check_pair(c, target, false);
      check_pair(c, target, true);
      check_pooling(c, target);
    }
  });
}

TEST_CASE("tensors: every dim from 1 to 70", "[short]") {
  for (uint32_t dim = 1; dim <= 70; ++dim) {
    TensorCase c;
    c.dim = dim, c.a = dim % 2 == 0 ? FOVEA_F32 : FOVEA_F16;
    for (const fovea_target target : targets()) {
      INFO(name(c) << " " << fovea_target_name(target));
      check_pair(c, target, dim % 2 == 0);
      check_pooling(c, target);
    }
  }
}

TEST_CASE("tensors: NaN and infinity in sums, products and means", "[short]") {
  const float a[4] = {kNaN, kInfinity, kInfinity, 0}, b[4] = {1, 1, -kInfinity, kInfinity};
  for (const fovea_target target : targets()) {
    float y[4];
    auto args = sized<fovea_binary_args>();
    args.target = target, args.batch = args.heads = args.tokens = 1, args.dim = 4;
    args.a.data = a, args.b.data = b, args.y.data = y;
    REQUIRE(fovea_add(&args) == FOVEA_OK);
    CHECK(y[0] != y[0]);
    CHECK(y[1] == kInfinity);
    CHECK(y[2] != y[2]);
    REQUIRE(fovea_multiply(&args) == FOVEA_OK);
    CHECK(y[0] != y[0]);
    CHECK(y[2] == -kInfinity);
    CHECK(y[3] != y[3]);
    const float x[2] = {kInfinity, kNaN};  // two tokens of one element; the second is past the length
    const uint32_t length = 1;
    auto pool = sized<fovea_pooling_args>();
    pool.target = target, pool.batch = pool.heads = pool.dim = 1, pool.tokens = 2;
    pool.x = {x, 0, 0, 1}, pool.y.data = y, pool.lengths = &length;
    REQUIRE(fovea_pooling(&pool) == FOVEA_OK);
    CHECK(y[0] == kInfinity);
    pool.lengths = nullptr;
    REQUIRE(fovea_pooling(&pool) == FOVEA_OK);
    CHECK(y[0] != y[0]);
    pool.tokens = 0;
    REQUIRE(fovea_pooling(&pool) == FOVEA_OK);
    CHECK(bits_of(y[0]) == 0);
  }
}

TEST_CASE("tensors: embeddings are the rows of the table in every format", "[short]") {
  constexpr uint32_t kRows = 9, kTokens = 7;
  const uint32_t rows[kTokens] = {8, 0, 3, 3, 1, 8, 5};
  for (uint32_t format = 0; format < 8; ++format) {
    const auto dtype = fovea_dtype(format);
    for (const auto& [dim, reverses] : every({1u, 31u, 32u, 33u, 70u}, {false, true})) {
      const bool reversed = reverses;
      const size_t units = row_units(dtype, dim), stride = units + 3;
      Guarded data(((kRows - 1) * stride + units) * unit_size(dtype), unit_size(dtype), Placement::kEnd);
      const size_t scales_row = row_scales(dtype, dim) * scale_size(dtype);
      Guarded scales(kRows * scales_row, scales_row ? scale_size(dtype) : 1, Placement::kEnd);
      const auto at = [&](size_t r) {
        return data.as<char>() + (reversed ? kRows - 1 - r : r) * stride * unit_size(dtype);
      };
      std::vector<float> x(dim);
      for (uint32_t r = 0; r < kRows; ++r) {
        for (uint32_t i = 0; i < dim; ++i) x[i] = random_normal(format, uint64_t{r} * 4096 + i);
        encode_row(dtype, x.data(), dim, at(r), scales.as<char>() + r * scales_row);
      }
      for (const fovea_target target : targets()) {
        INFO(type_name(dtype) << " " << dim << " " << fovea_target_name(target));
        Guarded y((kTokens - 1) * (dim + 2) * 4 + dim * 4, 4, Placement::kStart);
        auto a = sized<fovea_embedding_args>();
        a.target = target, a.tokens = kTokens, a.dim = dim, a.rows = kRows;
        a.y = y.as<float>(), a.y_stride = ptrdiff_t(dim) + 2;
        a.indices = rows;
        a.table.dtype = dtype, a.table.data = at(0);
        a.table.row_stride = reversed ? -ptrdiff_t(stride) : ptrdiff_t(stride);
        a.table.scales = scales_row ? scales.as<void>() : nullptr;
        REQUIRE(fovea_embedding(&a) == FOVEA_OK);
        size_t wrong = 0;
        for (const auto& [t, i] : indices(kTokens, dim)) {
          const float want = element_of(dtype, at(rows[t]), scales.as<char>() + rows[t] * scales_row, i);
          const float got = a.y[ptrdiff_t(t) * a.y_stride + ptrdiff_t(i)];
          wrong += !(std::fabs(got - want) <= 2e-7f * std::fabs(want) + 1e-7f);
        }
        CHECK(wrong == 0);
        CHECK(y.margin_intact());
      }
    }
  }
}

TEST_CASE("tensors: argmax and top k are those of a sorted row, with ties, infinities and NaN", "[short]") {
  for (const uint32_t count : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    for (int kind = 0; kind < 5; ++kind) {
      Guarded memory(count * 4, 4, Placement::kEnd);
      float* const x = memory.as<float>();
      for (uint32_t i = 0; i < count; ++i) {
        const float drawn = random_normal(uint64_t(kind), i);
        x[i] = kind == 0 ? drawn : kind == 1 ? std::floor(drawn * 2) : kind == 2 ? float(i) : kind == 3 ? -float(i) : 0;
        if (kind == 1 && i % 7 == 3) x[i] = i % 2 != 0 ? kNaN : -kInfinity;
        if (kind == 4) x[i] = i % 3 == 0 ? -0.0f : i % 3 == 1 ? 0.0f : kNaN;
      }
      check_largest(fovea_argmax, fovea_top_k, x, count, [&](uint32_t i, uint32_t j) {
        const bool i_nan = x[i] != x[i], j_nan = x[j] != x[j];
        if (i_nan != j_nan) return j_nan;
        return !i_nan && x[i] != x[j] ? x[i] > x[j] : i < j;
      });
    }
  }
}

TEST_CASE("tensors: every misuse has its status, and nothing is written", "[short]") {
  static float x[96], b[96], y[96];
  static uint32_t lengths[2], indices[4];
  const auto untouched = [](const auto&) {
    return std::all_of(y, y + 96, [](float e) { return bits_of(e) == bits_of(7.0f); });
  };
  using P = fovea_binary_args;
  std::vector<Misuse<P>> pairs = {
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& a) { a.y.token_stride = 3; }},
      {"y over a", FOVEA_ERR_OVERLAP, [](auto& a) { a.y.data = x + 1; }},
      {"y is b of another size", FOVEA_ERR_OVERLAP, [](auto& a) { a.b_dtype = FOVEA_F16, a.b.data = y; }},
  };
  add_misuses(pairs);
  add_misuses(pairs, FOVEA_ERR_ENUM, {&P::y_dtype, &P::a_dtype, &P::b_dtype}, {kNoType});
  add_misuses(pairs, FOVEA_ERR_UNSUPPORTED, {&P::y_dtype, &P::a_dtype, &P::b_dtype}, {FOVEA_I8, FOVEA_Q8_0});
  add_misuses(pairs, FOVEA_ERR_DIM, {&P::dim}, {0});
  add_arrays(pairs, &P::y, &P::a, &P::b);
  for (const auto call : {fovea_add, fovea_multiply}) {
    const auto make = [] {
      auto a = sized<P>();
      a.batch = a.heads = 2, a.tokens = 3, a.dim = 8;
      a.y = {y, 48, 24, 8}, a.a = {x, 48, 24, 8}, a.b = {b, 48, 24, 8};
      std::fill(y, y + 96, 7.0f);
      return a;
    };
    check_refused(pairs, make, [&](const P& a) { return call(&a); }, untouched);
  }
  using O = fovea_pooling_args;
  std::vector<Misuse<O>> poolings = {
      {"y is x", FOVEA_ERR_OVERLAP, [](auto& a) { a.y.data = x; }},
      {"y's strides", FOVEA_ERR_STRIDE, [](auto& a) { a.y.head_stride = 7; }},
      {"a length", FOVEA_ERR_LENGTH, [](O&) { lengths[0] = 4; }},
  };
  add_misuse(poolings, FOVEA_ERR_NULL, &O::y, [](auto& rows) { rows.data = nullptr; });
  add_misuse(poolings, FOVEA_ERR_NULL, &O::x, [](auto& rows) { rows.data = nullptr; });
  add_misuses(poolings);
  add_misuses(poolings, FOVEA_ERR_ENUM, {&O::pooling}, {fovea_pooling_kind(2)});
  add_misuses(poolings, FOVEA_ERR_ENUM, {&O::x_dtype, &O::y_dtype}, {kNoType});
  add_misuses(poolings, FOVEA_ERR_UNSUPPORTED, {&O::x_dtype, &O::y_dtype}, {FOVEA_I4});
  add_misuses(poolings, FOVEA_ERR_DIM, {&O::dim, &O::heads}, {0});
  const auto make_pooling = [] {
    auto a = sized<O>();
    a.batch = 1, a.heads = 2, a.tokens = 3, a.dim = 8;
    a.y = {y, 0, 24, 0}, a.x = {x, 0, 24, 8}, a.lengths = lengths, lengths[0] = 3;
    std::fill(y, y + 96, 7.0f);
    return a;
  };
  check_refused(poolings, make_pooling, [](const O& a) { return fovea_pooling(&a); }, untouched);
  using E = fovea_embedding_args;
  std::vector<Misuse<E>> embeddings = {
      {"dtype", FOVEA_ERR_ENUM, [](auto& a) { a.table.dtype = fovea_dtype(77); }},
      {"no table", FOVEA_ERR_NULL, [](auto& a) { a.table.data = nullptr; }},
      {"table.reserved", FOVEA_ERR_STRUCT, [](auto& a) { set_reserved(a.table); }},
      {"no scales", FOVEA_ERR_NULL, [](auto& a) { a.table.dtype = FOVEA_I8; }},
      {"scales of f32", FOVEA_ERR_UNSUPPORTED, [](auto& a) { a.table.scales = b; }},
      {"y over the table", FOVEA_ERR_OVERLAP, [](auto& a) { a.table.data = y; }},
      {"an index", FOVEA_ERR_LENGTH, [](E&) { indices[3] = 8; }},
  };
  add_misuses(embeddings);
  add_misuses(embeddings, FOVEA_ERR_DIM, {&E::dim}, {0});
  add_misuses(embeddings, FOVEA_ERR_NULL, {&E::y}, {nullptr});
  add_misuses(embeddings, FOVEA_ERR_NULL, {&E::indices}, {nullptr});
  add_misuses(embeddings, FOVEA_ERR_STRIDE, {&E::y_stride}, {7});
  const auto make_embedding = [] {
    auto a = sized<E>();
    a.tokens = 4, a.dim = 8, a.rows = 8;
    a.y = y, a.y_stride = 8, a.indices = indices, indices[3] = 7, a.table.data = x, a.table.row_stride = 8;
    std::fill(y, y + 96, 7.0f);
    return a;
  };
  check_refused(embeddings, make_embedding, [](const E& a) { return fovea_embedding(&a); }, untouched);
  uint32_t found = 77;
  CHECK(fovea_add(nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_multiply(nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_pooling(nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_embedding(nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_argmax(nullptr, 1, &found) == FOVEA_ERR_NULL);
  CHECK(fovea_argmax(x, 1, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_argmax(x, 0, &found) == FOVEA_ERR_SIZE);
  CHECK(fovea_argmax(x, 3, reinterpret_cast<uint32_t*>(x + 2)) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_argmax(shifted<float>(x, 1), 1, &found) == FOVEA_ERR_ALIGNMENT);
  CHECK(fovea_top_k(x, 3, 4, indices) == FOVEA_ERR_SIZE);
  CHECK(fovea_top_k(x, 3, 1, nullptr) == FOVEA_ERR_NULL);
  CHECK(fovea_top_k(x, 3, 3, reinterpret_cast<uint32_t*>(x + 2)) == FOVEA_ERR_OVERLAP);
  CHECK(fovea_top_k(nullptr, 0, 0, nullptr) == FOVEA_OK);
  CHECK(found == 77);
}

}  // namespace fovea_test
