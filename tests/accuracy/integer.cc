// SPDX-License-Identifier: Apache-2.0
//
// How far attention with integer products is from double precision on the numbers before they were stored, beside f32
// arithmetic on the same rows and beside ggml's method.
#include <cstring>

#include "accuracy/accuracy.h"
#include "platform/platform.h"
#include "support/reference.h"

namespace fovea_test {
namespace {

constexpr uint32_t kQueries = 32, kKeys = 1024, kDraws = 4;

struct Data {
  uint32_t dim;
  Numbers q, keys, values;  // [rows][dim]
};

// ---- The distributions: what is done to numbers of a normal distribution with variance 1.

void nothing(Data*, uint64_t) {}

void enlarge_queries(Data* data, uint64_t) {
  for (float& x : data->q) x *= 4;
}

void bias_key_channels(Data* data, uint64_t) {
  const uint32_t dim = data->dim, channels[] = {3, 17, dim / 2 + 1, dim - 5};
  constexpr float kBiases[] = {12, -9, 15, -7};
  for (const auto& [j, i] : indices(kKeys, 4)) data->keys[j * dim + channels[i]] += kBiases[i];
}

void enlarge_value_tokens(Data* data, uint64_t) {
  for (uint32_t j = 0; j < kKeys; j += 61) {
    for (uint32_t e = 0; e < data->dim; ++e) data->values[j * data->dim + e] *= 12;
  }
}

void enlarge_value_channels(Data* data, uint64_t) {
  for (uint32_t j = 0; j < kKeys; ++j) {
    for (const uint32_t e : {5u, data->dim / 2, data->dim - 9}) data->values[j * data->dim + e] *= 12;
  }
}

// Student's t with 3 degrees of freedom, cut off at 30.
void make_tails_heavy(Data* data, uint64_t seed) {
  for (Numbers* numbers : {&data->q, &data->keys, &data->values}) {
    ++seed;
    for (size_t i = 0; i < numbers->size(); ++i) {
      float squares = 0;
      for (uint64_t k = 0; k < 3; ++k) {
        const float x = random_normal(seed, 3 * i + k);
        squares += x * x;
      }
      (*numbers)[i] = std::clamp((*numbers)[i] / std::sqrt(squares / 3), -30.0f, 30.0f);
    }
  }
}

struct Distribution {
  const char* name;
  uint32_t dim;
  void (*alter)(Data* data, uint64_t seed);
  double bound;   // the largest allowed error, as a multiple of that of f32 arithmetic on the same rows
  double tensor;  // that of tensors of int8 is at most this
  double halves;  // that of products of halves
};
constexpr Distribution kDistributions[] = {
    {"normal, head_dim 64", 64, nothing, 2.2, 1.3 * 2.6e-4, 1.5 * 2.4e-6},
    {"normal, head_dim 128", 128, nothing, 2.2, 1.3 * 4.0e-4, 1.5 * 2.1e-6},
    {"queries 4 times as large", 64, enlarge_queries, 2.2, 1.3 * 1.8e-3, 1.3 * 1.4e-5},
    {"keys with biased channels", 64, bias_key_channels, 1.6, 1.3 * 2.1e-3, 1.3 * 1.0e-5},
    {"values with large tokens", 64, enlarge_value_tokens, 3.0, 1.3 * 2.3e-3, 1.3 * 2.5e-6},
    {"values with large channels", 64, enlarge_value_channels, 1.6, 1.3 * 2.4e-3, 1.3 * 2.7e-6},
    {"heavy tails", 64, make_tails_heavy, 1.6, 1.3 * 5.5e-3, 1.3 * 8.5e-6},
};

Data draw(const Distribution& of, uint64_t seed) {
  Data data = {of.dim, Numbers(kQueries * of.dim), Numbers(kKeys * of.dim), Numbers(kKeys * of.dim)};
  for (Numbers* numbers : {&data.q, &data.keys, &data.values}) *numbers = normal(numbers->size(), ++seed);
  of.alter(&data, seed);
  return data;
}

// ---- Three methods.

std::vector<double> attend(const Data& data) { return attend_in_double(data.q, data.keys, data.values, data.dim); }

// The numbers that blocks of 32 hold in ggml's q4_0, whose rows are those of FOVEA_I4, or in its q8_0: int8 with the
// scale rounded to f16.
Numbers in_blocks(fovea_dtype type, Numbers numbers) {
  for (size_t first = 0; first < numbers.size(); first += 32) {
    float* const block = &numbers[first];
    char codes[32];
    alignas(float) char scale[sizeof(float)];
    encode_row(type, block, 32, codes, scale);
    if (type == FOVEA_I8) {
      auto* const number = reinterpret_cast<float*>(scale);
      *number = float(value_of(kF16, nearest_of(kF16, *number)));
    }
    for (size_t e = 0; e < 32; ++e) block[e] = element_of(type, codes, scale, e);
  }
  return numbers;
}

// Queries in q8_0. Products of codes are exact and the rest is f32, whose rounding does not show here.
std::vector<double> attend_as_ggml(fovea_dtype type, const Data& data) {
  return attend({data.dim, in_blocks(FOVEA_I8, data.q), in_blocks(type, data.keys), in_blocks(type, data.values)});
}

struct Stored {
  fovea_dtype type;
  const Data& data;
  EncodedRows keys{type, data.keys, data.dim}, values{type, data.values, data.dim};
};

fovea_attention_desc description(uint32_t dim, fovea_target target) {
  fovea_attention_desc desc = one_head(dim, kQueries, kKeys);
  desc.target = target;
  desc.processor_features = fovea::platform::processor_features();
  return desc;
}

// False where the build does not have it.
bool call(const fovea_attention_desc& desc, const fovea_attention_args& args) {
  fovea_attention_plan plan;
  const fovea_status status = fovea_attention_plan_init(&plan, &desc);
  if (status == FOVEA_ERR_UNSUPPORTED) return false;
  must(status);
  const Guarded workspace = memory_of(fovea::made(plan).workspace_bytes);
  must(fovea_attention(&plan, &args, workspace.as<char>(), fovea::made(plan).workspace_bytes));
  return true;
}

// What the library makes of it. Empty where the build does not have this arithmetic.
Numbers attend_by_library(const Stored& stored, fovea_compute compute, fovea_target target) {
  const uint32_t dim = stored.data.dim;
  fovea_attention_desc desc = description(dim, target);
  desc.key_dtype = desc.value_dtype = stored.type, desc.compute = compute;
  Numbers out(stored.data.q.size());
  const auto scales = ptrdiff_t(row_scales(stored.type, dim));
  fovea_attention_args args = arguments_of(desc, out.data(), stored.data.q.data(), stored.keys.data.data(),
                                           stored.values.data.data(), row_units(stored.type, dim));
  args.kv.key_scales = {stored.keys.scales.data(), 0, 0, scales};
  args.kv.value_scales = {stored.values.scales.data(), 0, 0, scales};
  return call(desc, args) ? out : Numbers();
}

// One scale for all numbers, and their codes.
struct Tensor {
  float scale;
  std::vector<int8_t> codes;

  explicit Tensor(const Numbers& numbers) : codes(numbers.size()) {
    float largest = 0;
    for (const float x : numbers) largest = std::max(largest, std::fabs(x));
    scale = largest / 127;
    for (size_t i = 0; i < numbers.size(); ++i) codes[i] = int8_t(std::lrint(numbers[i] / scale));
  }
};

// The same with tensors of int8, and with outputs in f32 or in int8 with this scale.
Numbers attend_to_tensors(const Data& data, float out_scale) {
  const Tensor q(data.q), keys(data.keys), values(data.values);
  fovea_attention_desc desc = description(data.dim, FOVEA_TARGET_BEST);
  desc.q_dtype = desc.key_dtype = desc.value_dtype = FOVEA_I8, desc.compute = FOVEA_COMPUTE_I8;
  desc.q_scale = q.scale, desc.key_scale = keys.scale, desc.value_scale = values.scale;
  desc.out_dtype = out_scale > 0 ? FOVEA_I8 : FOVEA_F32;
  desc.out_scale = out_scale;
  Numbers out(data.q.size());
  std::vector<int8_t> codes(data.q.size());
  void* const outputs = out_scale > 0 ? static_cast<void*>(codes.data()) : out.data();
  const void *const k = keys.codes.data(), *const v = values.codes.data();
  if (!call(desc, arguments_of(desc, outputs, q.codes.data(), k, v, data.dim))) return {};
  for (size_t i = 0; out_scale > 0 && i < out.size(); ++i) out[i] = out_scale * float(codes[i]);
  return out;
}

// The same by fovea_integer_attention, whose outputs are int8.
Numbers attend_in_integers(const Data& data, float out_scale) {
  const Tensor q(data.q), keys(data.keys), values(data.values);
  const auto row = ptrdiff_t(data.dim);
  std::vector<int8_t> codes(data.q.size());
  auto args = sized<fovea_integer_attention_args>();
  args.batch = args.q_heads = args.kv_heads = 1, args.q_tokens = kQueries, args.kv_tokens = kKeys;
  args.head_dim = args.value_dim = data.dim;
  args.out = {codes.data(), 0, 0, row};
  args.q = {q.codes.data(), 0, 0, row};
  args.keys = {keys.codes.data(), 0, 0, row};
  args.values = {values.codes.data(), 0, 0, row};
  const double octaves = double{q.scale} * double{keys.scale} * 1.4426950408889634 / std::sqrt(double(data.dim));
  alignas(FOVEA_WORKSPACE_ALIGNMENT) static char workspace[FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(128, 128, kQueries)];
  must(fovea_integer_multiplier(octaves, &args.score_multiplier, &args.score_shift));
  must(fovea_integer_multiplier(double{values.scale} / double{out_scale}, &args.out_multiplier, &args.out_shift));
  const fovea_status status = fovea_integer_attention(&args, workspace, sizeof workspace);
  if (status == FOVEA_ERR_UNSUPPORTED) return {};
  must(status);
  Numbers out(codes.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = out_scale * float(codes[i]);
  return out;
}

// Right outputs in int8.
Numbers rounded(const std::vector<double>& right, float out_scale) {
  Numbers out;
  for (const double x : right) out.push_back(out_scale * float(std::nearbyint(x / double{out_scale})));
  return out;
}

// ---- The table.

struct Errors {
  Error integer, f32, ggml;
  bool served = true, same_bits = true;  // this arithmetic; on all targets
};

void add_draw(fovea_dtype type, const Data& data, const std::vector<double>& right, Errors* errors) {
  const Stored stored = {type, data};
  errors->f32.add(attend_by_library(stored, FOVEA_COMPUTE_F32, FOVEA_TARGET_BEST), right);
  errors->ggml.add(attend_as_ggml(type, data), right);
  const Numbers got = attend_by_library(stored, FOVEA_COMPUTE_I8, FOVEA_TARGET_BEST);
  errors->served = !got.empty();
  if (got.empty()) return;
  errors->integer.add(got, right);
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    const Numbers other = attend_by_library(stored, FOVEA_COMPUTE_I8, target);
    errors->same_bits = errors->same_bits && std::memcmp(other.data(), got.data(), got.size() * sizeof(float)) == 0;
  }
}

// False where the error is above its bound.
bool show_row(fovea_dtype type, const Distribution& distribution, const Errors& errors) {
  std::printf("| %s | %s |", type == FOVEA_I8 ? "int8" : "int4", distribution.name);
  if (!errors.served) {
    std::printf(" not in this build | %.2g | %.2g | | %.1f |\n", errors.f32.normalised(), errors.ggml.normalised(),
                distribution.bound);
    return true;
  }
  const double ratio = errors.integer.normalised() / errors.f32.normalised();
  std::printf(" %.2g | %.2g | %.2g | %.2f | %.1f |\n", errors.integer.normalised(), errors.f32.normalised(),
              errors.ggml.normalised(), ratio, distribution.bound);
  if (!errors.same_bits) std::fprintf(stderr, "%s: the bits of two targets differ\n", distribution.name);
  return is_within(distribution.name, ratio / distribution.bound) && errors.same_bits;
}

// False where the error is above its bound, or where two targets differ.
bool show_halves(const Distribution& distribution) {
  Error halves, f32;
  bool same_bits = true;
  for (uint32_t draws = 0; draws < kDraws; ++draws) {
    const Data data = draw(distribution, 16 * draws);
    const std::vector<double> right = attend(data);
    const Stored stored = {FOVEA_F16, data};
    const Numbers got = attend_by_library(stored, FOVEA_COMPUTE_F16, FOVEA_TARGET_BEST);
    if (got.empty()) return true;
    halves.add(got, right);
    f32.add(attend_by_library(stored, FOVEA_COMPUTE_F32, FOVEA_TARGET_BEST), right);
    for (const fovea_target target : targets_and_those_that_extend_them()) {
      const Numbers other = attend_by_library(stored, FOVEA_COMPUTE_F16, target);
      same_bits = same_bits && std::memcmp(other.data(), got.data(), got.size() * sizeof(float)) == 0;
    }
  }
  std::printf("| %s | %.2g | %.2g | %.2g |\n", distribution.name, halves.normalised(), f32.normalised(),
              distribution.halves);
  if (!same_bits) std::fprintf(stderr, "%s: the bits of halves of two targets differ\n", distribution.name);
  return is_within(std::string("halves, ") + distribution.name, halves.normalised() / distribution.halves) && same_bits;
}

bool show_tensors(const Distribution& distribution) {
  Error floats, codes, integers, rounding;
  for (uint32_t draws = 0; draws < kDraws; ++draws) {
    const Data data = draw(distribution, 16 * draws);
    const std::vector<double> right = attend(data);
    double largest = 0;
    for (const double x : right) largest = std::max(largest, std::fabs(x));
    const Numbers out = attend_to_tensors(data, 0);
    if (out.empty()) return true;
    floats.add(out, right);
    const auto out_scale = float(largest / 127);
    codes.add(attend_to_tensors(data, out_scale), right);
    rounding.add(rounded(right, out_scale), right);
    const Numbers by_integers = attend_in_integers(data, out_scale);
    if (!by_integers.empty()) integers.add(by_integers, right);
  }
  const double of_integers = integers.of_right > 0 ? integers.normalised() : 0;
  std::printf("| %s | %.2g | %.2g | %.2g | %.2g | %.2g |\n", distribution.name, floats.normalised(), codes.normalised(),
              of_integers, rounding.normalised(), distribution.tensor);
  return is_within(std::string("tensors, ") + distribution.name,
                   std::max(floats.normalised(), of_integers - rounding.normalised()) / distribution.tensor);
}

}  // namespace

bool show_integer_arithmetic() {
  bool right = true;
  begin_table("Integer arithmetic");
  for (const auto& [type, distribution] : every({FOVEA_I8, FOVEA_I4}, kDistributions)) {
    Errors errors;
    for (uint32_t draws = 0; draws < kDraws; ++draws) {
      const Data data = draw(distribution, 16 * draws);
      add_draw(type, data, attend(data), &errors);
    }
    right = show_row(type, distribution, errors) && right;
  }
  begin_table("Half precision");
  for (const Distribution& distribution : kDistributions) right = show_halves(distribution) && right;
  begin_table("Tensors of int8");
  for (const Distribution& distribution : kDistributions) right = show_tensors(distribution) && right;
  return right;
}

}  // namespace fovea_test
