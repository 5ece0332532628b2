// SPDX-License-Identifier: Apache-2.0
//
// fovea_accuracy: errors of attention against double precision, on every target, and of loops in f32 on the same numbers,
// plain and blocked; prints tests/ACCURACY.md with new rows of its tables. Status 1 where the library's largest error is
// more than twice that of the blocked loops and the rounding of the output's type, or where integer arithmetic or a layer
// breaks its bound.
//
//     fovea_accuracy            the tables, of all shapes
//     fovea_accuracy --short    of some of them
#include <cfloat>
#include <cstring>
#include <fstream>

#include "accuracy/accuracy.h"

namespace fovea_test {
namespace {

struct Shape {
  uint32_t queries, keys;
};
// Of FlashAttention's and PyTorch's own tests, with 1 query as in decode.
constexpr Shape kShapes[] = {{113, 203}, {128, 217}, {108, 256}, {256, 512},   {384, 256},
                             {799, 512}, {512, 799}, {1, 799},   {1023, 1024}, {2048, 2048}};
constexpr uint32_t kDims[] = {32, 59, 64, 80, 96, 111, 128, 160, 192, 256};
constexpr Shape kLongShapes[] = {{1, 4096}, {24, 4096}, {16, 11731}, {1, 16384}, {24, 16384}, {1, 65536}, {24, 65536}};
constexpr uint32_t kLongDims[] = {64, 128};
constexpr Shape kFewShapes[] = {{3, 1030}, {5, 515}, {6, 1030}, {8, 203}, {8, 1030}};
constexpr uint32_t kWideDims[] = {80, 111, 128, 160, 203, 256};
constexpr uint32_t kRows = 24;  // of each shape, spread over it, are held against double

// Shapes and head dimensions, each of the first with each of the second, `times` times with other numbers.
struct Grid {
  const Shape* shapes;
  size_t shape_count;
  const uint32_t* dims;
  size_t dim_count;
  uint32_t times;
};
constexpr Grid kUsual = {kShapes, std::size(kShapes), kDims, std::size(kDims), 1};
constexpr Grid kLong = {kLongShapes, std::size(kLongShapes), kLongDims, std::size(kLongDims), 1};
constexpr Grid kWide = {kFewShapes, std::size(kFewShapes), kWideDims, std::size(kWideDims), 8};

struct Kind {
  const char* name;
  fovea_score score;
  fovea_dtype q, kv, out;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  const Grid& grid = kUsual;
  float queries = 1;                 // their standard deviation; with 0 all weights are the same
  float value_mean = 0, values = 1;  // their mean and standard deviation
};
constexpr Kind kKinds[] = {
    {"scaled dot, f32", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32},
    {"the same, causal", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32, FOVEA_CAUSAL_BOTTOM_RIGHT},
    {"dot (general), f32", FOVEA_SCORE_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32},
    {"additive (concat), f32", FOVEA_SCORE_ADDITIVE, FOVEA_F32, FOVEA_F32, FOVEA_F32},
    {"scaled dot, keys and values f16", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F16, FOVEA_F32},
    {"scaled dot, keys and values bf16", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_BF16, FOVEA_F32},
    {"scaled dot, keys and values int8", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_I8, FOVEA_F32},
    {"scaled dot, keys and values int4", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_I4, FOVEA_F32},
    {"scaled dot, all f16", FOVEA_SCORE_SCALED_DOT, FOVEA_F16, FOVEA_F16, FOVEA_F16, FOVEA_CAUSAL_BOTTOM_RIGHT},
    {"scaled dot, all bf16", FOVEA_SCORE_SCALED_DOT, FOVEA_BF16, FOVEA_BF16, FOVEA_BF16, FOVEA_CAUSAL_BOTTOM_RIGHT},
    {"few queries, wide heads, causal from the first key", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32,
     FOVEA_CAUSAL_TOP_LEFT, kWide},
    {"long keys", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32, FOVEA_CAUSAL_NONE, kLong},
    {"long keys, all values 1", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32, FOVEA_CAUSAL_NONE, kLong, 1, 1,
     0},
    {"long keys, flat weights", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32, FOVEA_CAUSAL_NONE, kLong, 0},
    {"long keys, flat weights, values of mean 1", FOVEA_SCORE_SCALED_DOT, FOVEA_F32, FOVEA_F32, FOVEA_F32,
     FOVEA_CAUSAL_NONE, kLong, 0, 1},
};

// score(q, key), of which each `block` terms are a sum by themselves.
template <class T>
T loop_score(const Kind& kind, const float* q, const float* key, const float* v, uint32_t dim, uint32_t block) {
  T score = 0;
  for (uint32_t first = 0; first < dim; first += block) {
    const uint32_t end = std::min(dim, first + block);
    T part = 0;
    for (uint32_t d = first; d < end; ++d) {
      part += kind.score == FOVEA_SCORE_ADDITIVE ? T(v[d]) * std::tanh(T(q[d]) + T(key[d])) : T(q[d]) * T(key[d]);
    }
    score += part;
  }
  return score;
}

// A row of attention by loops, in T: scores, their softmax, its product with the values. Sums are made of sums of
// `block` terms.
template <class T>
std::vector<T> loop_row(const Kind& kind, const float* q, const EncodedRows& keys, const EncodedRows& values,
                        const float* v, uint32_t visible, uint32_t dim, uint32_t block) {
  const T scale = kind.score == FOVEA_SCORE_SCALED_DOT ? T(1) / std::sqrt(T(dim)) : T(1);
  std::vector<T> weights(visible), out(dim), part(dim);
  for (uint32_t j = 0; j < visible; ++j) {
    weights[j] = scale * loop_score<T>(kind, q, &keys.numbers[size_t{j} * dim], v, dim, block);
  }
  const T largest = *std::max_element(weights.begin(), weights.end());
  T sum = 0;
  for (uint32_t first = 0; first < visible; first += block) {
    T weights_part = 0;
    for (uint32_t j = first; j < std::min(visible, first + block); ++j) {
      weights_part += weights[j] = std::exp(weights[j] - largest);
    }
    sum += weights_part;
  }
  for (uint32_t first = 0; first < visible; first += block) {
    std::fill(part.begin(), part.end(), T(0));
    for (uint32_t j = first; j < std::min(visible, first + block); ++j) {
      const float* value = &values.numbers[size_t{j} * dim];
      const T weight = weights[j] / sum;
      for (uint32_t d = 0; d < dim; ++d) part[d] += weight * T(value[d]);
    }
    for (uint32_t d = 0; d < dim; ++d) out[d] += part[d];
  }
  return out;
}
constexpr uint32_t kPlain = 1u << 30, kBlock = 64;  // terms of a block

// Half a unit in the last place of the type, at x.
double rounding(fovea_dtype type, double x) {
  if (type == FOVEA_F32) return 0.5 * double{FLT_EPSILON} * std::fabs(x);
  return std::ldexp(std::fabs(x), -half_of(type).fraction_bits - 1) + std::ldexp(1.0, -25);
}

struct Result {
  Error ours, plain, blocked;
  double excess = 0;  // the largest of ours without the rounding of the output

  double of_bound() const { return excess / (2 * blocked.largest); }
};

// A row of the table for all targets whose numbers are the same.
void show(const Kind& kind, const std::vector<fovea_target>& all, const std::vector<Result>& results) {
  std::vector<std::pair<std::string, std::string>> rows;  // numbers and targets
  for (size_t t = 0; t < all.size(); ++t) {
    const Result& r = results[t];
    char numbers[200];
    std::snprintf(numbers, sizeof numbers, "%.2g | %.2g | %.2g | %.2g | %.2g | %.2g | %.2f", r.ours.largest,
                  r.ours.rms(), r.plain.largest, r.plain.rms(), r.blocked.largest, r.blocked.rms(), r.of_bound());
    const std::string target =
        std::string("`") + fovea_target_name(all[t]) + "` (" + fovea_target_backend(all[t]) + ")";
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == numbers; });
    if (same == rows.end()) {
      rows.emplace_back(numbers, target);
    } else {
      same->second += ", " + target;
    }
  }
  for (const auto& [numbers, names] : rows) {
    std::printf("| %s | %s | %s |\n", kind.name, names.c_str(), numbers.c_str());
  }
  std::fflush(stdout);
}

uint32_t visible_keys(fovea_causal causal, const Shape& shape, uint32_t query) {
  if (causal == FOVEA_CAUSAL_NONE) return shape.keys;
  const int64_t first = causal == FOVEA_CAUSAL_TOP_LEFT ? 0 : int64_t{shape.keys} - shape.queries;
  return uint32_t(std::clamp<int64_t>(first + query + 1, 0, shape.keys));
}

void measure(const Kind& kind, const Shape& shape, uint32_t dim, uint32_t time, const std::vector<fovea_target>& all,
             std::vector<Result>* results) {
  const uint64_t seed = (uint64_t{time} * 4096 + shape.queries) * 4096 + dim;
  const size_t of_queries = size_t{shape.queries} * dim, of_keys = size_t{shape.keys} * dim;
  const EncodedRows q(kind.q, normal(of_queries, seed, 0, kind.queries), dim);
  EncodedRows keys(kind.kv, normal(of_keys, seed + 1), dim);
  EncodedRows values(kind.kv, normal(of_keys, seed + 2, kind.value_mean, kind.values), dim);
  std::vector<float> v(dim);
  for (uint32_t d = 0; d < dim; ++d) v[d] = random_normal(seed + 3, d) * 0.3f;

  fovea_attention_desc desc = one_head(dim, shape.queries, shape.keys);
  desc.score = kind.score, desc.causal = kind.causal;
  desc.q_dtype = kind.q, desc.key_dtype = desc.value_dtype = kind.kv, desc.out_dtype = kind.out;
  std::vector<float> out(size_t{shape.queries} * dim);
  fovea_attention_args args =
      arguments_of(desc, out.data(), q.data.data(), keys.data.data(), values.data.data(), row_units(kind.kv, dim));
  if (scale_size(kind.kv) != 0) {
    const auto scales = ptrdiff_t(row_scales(kind.kv, dim));
    args.kv.key_scales = {keys.scales.data(), 0, 0, scales};
    args.kv.value_scales = {values.scales.data(), 0, 0, scales};
  }
  if (kind.score == FOVEA_SCORE_ADDITIVE) args.score_vector = v.data();

  // The rows that are looked at: their answers in double, and what loops in f32 make of them.
  const uint32_t rows = std::min(shape.queries, kRows);
  std::vector<std::vector<double>> exact;
  Error plain, blocked;
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t i = uint32_t(uint64_t{r} * shape.queries / rows);
    const uint32_t visible = visible_keys(kind.causal, shape, i);
    const float* query = &q.numbers[size_t{i} * dim];
    exact.push_back(visible == 0 ? std::vector<double>(dim)
                                 : loop_row<double>(kind, query, keys, values, v.data(), visible, dim, kPlain));
    if (visible == 0) continue;
    const std::vector<float> one = loop_row<float>(kind, query, keys, values, v.data(), visible, dim, kPlain);
    const std::vector<float> other = loop_row<float>(kind, query, keys, values, v.data(), visible, dim, kBlock);
    for (uint32_t d = 0; d < dim; ++d) {
      plain.add(double{one[d]}, exact[r][d]);
      blocked.add(double{other[d]}, exact[r][d]);
    }
  }
  for (size_t t = 0; t < all.size(); ++t) {
    desc.target = all[t];
    fovea_attention_plan plan;
    must(fovea_attention_plan_init(&plan, &desc));
    const Guarded workspace = memory_of(fovea::made(plan).workspace_bytes);
    must(fovea_attention(&plan, &args, workspace.as<char>(), fovea::made(plan).workspace_bytes));
    Result& result = (*results)[t];
    for (uint32_t r = 0; r < rows; ++r) {
      const size_t i = size_t{uint32_t(uint64_t{r} * shape.queries / rows)} * dim;
      for (uint32_t d = 0; d < dim; ++d) {
        const char* const first = reinterpret_cast<const char*>(out.data());
        const double got = double{element_of(kind.out, first + i * unit_size(kind.out), nullptr, d)};
        result.ours.add(got, exact[r][d]);
        result.excess = std::max(result.excess, std::fabs(got - exact[r][d]) - rounding(kind.out, exact[r][d]));
      }
    }
    result.plain.add(plain);
    result.blocked.add(blocked);
  }
}

// ---- Where bits are not promised: how far answers are apart.

struct Way {
  fovea_target target = FOVEA_TARGET_BEST;
  bool portable = true;
  uint32_t split = 0;
  uint32_t piece = 0;  // of a stream
};

std::vector<float> answer(const Shape& shape, uint32_t dim, const Way& way) {
  const uint64_t seed = uint64_t{shape.queries} * 4096 + dim;
  const Numbers q = normal(size_t{shape.queries} * dim, seed), keys = normal(size_t{shape.keys} * dim, seed + 1);
  const Numbers values = normal(keys.size(), seed + 2);
  fovea_attention_desc desc = one_head(dim, shape.queries, shape.keys);
  desc.target = way.target, desc.portable_bits = way.portable, desc.key_split_tokens = way.split;
  std::vector<float> out(size_t{shape.queries} * dim);
  fovea_attention_args args = arguments_of(desc, out.data(), q.data(), keys.data(), values.data(), dim);
  fovea_attention_plan plan;
  must(fovea_attention_plan_init(&plan, &desc));
  const size_t bytes = bytes_of(fovea_attention_workspace_bytes, &plan),
               state_bytes = bytes_of(fovea_stream_state_bytes, &plan, 1, shape.queries);
  const Guarded memory = memory_of(bytes + state_bytes + FOVEA_WORKSPACE_ALIGNMENT);
  char* const workspace = memory.as<char>();
  if (way.piece == 0) {
    must(fovea_attention(&plan, &args, workspace, bytes));
    return out;
  }
  auto* const state = reinterpret_cast<fovea_stream_state*>(workspace + (bytes + 63) / 64 * 64);
  must(fovea_stream_begin(&plan, state, state_bytes, 1, shape.queries, 0));
  for (uint32_t first = 0; first < shape.keys; first += way.piece) {
    args.kv_tokens = std::min(way.piece, shape.keys - first);
    args.kv.keys.data = keys.data() + size_t{first} * dim;
    args.kv.values.data = values.data() + size_t{first} * dim;
    must(fovea_stream_push(&plan, state, &args, workspace, bytes));
  }
  must(fovea_stream_end(&plan, state, &args, workspace, bytes));
  return out;
}

void show_difference(const char* name, const Shape (&shapes)[3], const Way& one, const Way& other) {
  Error difference;
  for (const Shape& shape : shapes) {
    for (const uint32_t dim : kDims) {
      const std::vector<float> a = answer(shape, dim, one), b = answer(shape, dim, other);
      for (size_t i = 0; i < a.size(); ++i) difference.add(double{a[i]}, double{b[i]});
    }
  }
  std::printf("| %s | %s | %.2g | %.2g |\n", name, fovea_target_name(other.target), difference.largest,
              difference.rms());
}

void show_differences(const std::vector<fovea_target>& all) {
  constexpr Shape kFew[3] = {{1, 203}, {1, 1024}, {2, 799}}, kMany[3] = {{113, 203}, {64, 1024}, {33, 799}};
  begin_table("Where bits are not promised");
  for (const fovea_target target : all) {
    if (lanes(target) > 1) show_difference("few rows, compared with `portable_bits`,", kFew, {target}, {target, false});
  }
  show_difference("keys split by 64, compared with whole ones,", kMany, {all[0]}, {all[0], true, 64});
  show_difference("a stream in pieces of 50, compared with one call,", kMany, {all[0]}, {all[0], true, 0, 50});
  for (const fovea_target target : all) {
    if (target != all[0]) {
      show_difference("`portable_bits` on the first target above, compared with it", kMany, {all[0]}, {target});
    }
  }
}

int run(bool few) {
  const std::vector<fovea_target> all = targets();
  double worst = 0;
  begin_table("How exact attention is");
  for (const Kind& kind : kKinds) {
    std::vector<Result> results(all.size());
    const Grid& grid = kind.grid;
    for (size_t s = 0; s < grid.shape_count; ++s) {
      // Two million of tanh a row are enough.
      if (kind.score == FOVEA_SCORE_ADDITIVE && grid.shapes[s].keys > 512) continue;
      for (size_t d = 0; d < grid.dim_count; ++d) {
        if (few && (s + 3 * d) % grid.dim_count != 0) continue;
        for (uint32_t time = 0; time < grid.times; ++time) {
          measure(kind, grid.shapes[s], grid.dims[d], time, all, &results);
        }
      }
    }
    for (const Result& r : results) worst = std::max(worst, r.of_bound());
    show(kind, all, results);
  }
  const bool integers_right = show_integer_arithmetic(), layers_right = show_layers();
  const bool weights_right = show_weights_in_groups(), states_right = show_linear_attention();
  const bool caches_right = show_caches();
  if (!few) show_differences(all);
  if (worst > 1) std::fprintf(stderr, "an error is %.2f times its bound\n", worst);
  return worst > 1 || !integers_right || !layers_right || !weights_right || !states_right || !caches_right;
}

}  // namespace

void begin_table(const char* section) {
  static std::ifstream page(FOVEA_ACCURACY_PAGE);
  std::string text, line;
  while (std::getline(page, line) && line.rfind("| ---", 0) != 0) {
    if (!text.empty() || line.rfind("|", 0) != 0) text += line + "\n";  // behind the rows of the last table
  }
  if (text.find(std::string("# ") + section + "\n") == std::string::npos) {
    std::fprintf(stderr, "%s has no table of \"%s\" in this place\n", FOVEA_ACCURACY_PAGE, section);
    std::exit(2);
  }
  std::printf("%s%s\n", text.c_str(), line.c_str());
}

}  // namespace fovea_test

int main(int argc, char** argv) {
  const bool few = argc > 1 && std::strcmp(argv[1], "--short") == 0;
  if (argc > 2 || (argc > 1 && !few)) {
    std::fprintf(stderr, "usage: fovea_accuracy [--short]\n");
    return 2;
  }
  return fovea_test::run(few);
}
