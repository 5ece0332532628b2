// SPDX-License-Identifier: Apache-2.0
//
// How far normalisation, activations, linear layers with an activation, and layers on int8 tensors are from double
// precision on the numbers or codes that they read, beside loops in f32 and beside the bounds that their headers state.
#include <cfloat>

#include "accuracy/accuracy.h"
#include "support/activations.h"

namespace fovea_test {
namespace {

// ---- Rows of f32, f16 or bf16.

struct Format {
  const char* name;
  fovea_dtype type;
};
constexpr Format kFormats[] = {{"f32", FOVEA_F32}, {"f16", FOVEA_F16}, {"bf16", FOVEA_BF16}};
constexpr uint64_t kDraws[] = {0, 1, 2, 3, 4, 5, 6, 7};

// Half a unit in the last place of the type, at x; of f32 nothing, because bounds have it.
double rounding(fovea_dtype type, double x) {
  if (type == FOVEA_F32) return 0;
  const double least = type == FOVEA_F16 ? 0x1p-25 : 0;
  return std::ldexp(std::fabs(x), -half_of(type).fraction_bits - 1) + least;
}

// A row as it is stored, and the numbers that it holds then.
struct Row : EncodedRows {
  Row(fovea_dtype of, const Numbers& x) : EncodedRows(of, x, x.size()), type(of) {}
  fovea_dtype type;
  void read() {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = element_of(type, data.data(), nullptr, i);
  }
};

template <class Args>
Args rows_of(uint32_t tokens, uint32_t dim) {
  auto a = sized<Args>();
  a.batch = a.heads = 1, a.tokens = tokens, a.dim = dim;
  return a;
}

struct Compared {
  Error ours, loops;
};

bool show(const std::string& layer, const char* format, const Compared& compared) {
  std::printf("| %s | %s | %.2g | %.2g | ", layer.c_str(), format, compared.ours.largest, compared.ours.rms());
  if (compared.loops.count > 0) {
    std::printf("%.2g | %.2g", compared.loops.largest, compared.loops.rms());
  } else {
    std::printf("|");
  }
  std::printf(" | %.2f |\n", compared.ours.of_bound);
  return is_within(layer, compared.ours.of_bound);
}

// Layer normalisation in T, each sum one chain.
template <class T>
std::vector<T> layer_norm(const Numbers& x, T* mean, T* root) {
  T sum = 0, squares = 0;
  for (const float e : x) sum += T(e);
  *mean = sum / T(x.size());
  for (const float e : x) squares += (T(e) - *mean) * (T(e) - *mean);
  *root = std::sqrt(squares / T(x.size()) + T(1e-5f));
  std::vector<T> y;
  for (const float e : x) y.push_back((T(e) - *mean) / *root);
  return y;
}

bool show_layer_norm(float mean, const char* name) {
  bool right = true;
  for (const Format& format : kFormats) {
    Compared compared;
    for (const auto& [dim, draw] : every({8u, 59u, 64u, 256u, 768u, 4100u}, kDraws)) {
      const Row x(format.type, normal(dim, 64 * draw + dim, mean, 1));
      double exact_mean, root;
      const std::vector<double> exact = layer_norm(x.numbers, &exact_mean, &root);
      float ignored[2];
      const Numbers loops = layer_norm(x.numbers, &ignored[0], &ignored[1]);
      for (uint32_t d = 0; d < dim; ++d) compared.loops.add(double{loops[d]}, exact[d], 1);
      for (const fovea_target target : targets()) {
        Row y(format.type, Numbers(dim));
        auto a = rows_of<fovea_norm_args>(1, dim);
        a.target = target, a.norm = FOVEA_NORM_LAYER, a.epsilon = 1e-5f, a.x_dtype = a.y_dtype = format.type;
        a.x.data = x.data.data(), a.y.data = y.data.data();
        must(fovea_norm(&a));
        y.read();
        for (uint32_t d = 0; d < dim; ++d) {
          const double stated =
              ((std::fabs(exact[d]) + 1) * (dim / 16.0 + 16) + 2 * std::fabs(exact_mean) / root) * 0x1p-24;
          compared.ours.add(double{y.numbers[d]}, exact[d], stated + rounding(format.type, exact[d]));
        }
      }
    }
    right = show(name, format.name, compared) && right;
  }
  return right;
}

// ---- Activations.

// A row rotated whole; loops are sums of products with the matrix.
bool show_rotation() {
  Compared compared;
  for (const auto& [dim, draw] : every({8u, 32u, 64u, 128u, 256u, 1024u}, kDraws)) {
    const Numbers x = normal(dim, 64 * draw + dim, 0, 1);
    std::vector<double> exact(dim);
    double sum = 0;
    for (const float e : x) sum += std::fabs(double{e});
    const double root = std::sqrt(double(dim)), stated = (std::log2(double(dim)) + 1) * 0x1p-24 * sum / root;
    for (uint32_t i = 0; i < dim; ++i) {
      float loop = 0;
      for (uint32_t j = 0; j < dim; ++j) {
        const bool negative = __builtin_parity(i & j) != 0;
        exact[i] += double{negative ? -x[j] : x[j]};
        loop += negative ? -x[j] : x[j];
      }
      exact[i] /= root;
      compared.loops.add(double{loop / float(root)}, exact[i], 1);
    }
    for (const fovea_target target : targets()) {
      Numbers y(dim);
      auto a = rows_of<fovea_hadamard_args>(1, dim);
      a.target = target, a.x.data = x.data(), a.y.data = y.data();
      must(fovea_hadamard(&a));
      for (uint32_t d = 0; d < dim; ++d) compared.ours.add(double{y[d]}, exact[d], stated);
    }
  }
  return show("rotation", "f32", compared);
}

struct Activation {
  const char* name;
  fovea_activation_kind kind;
};
constexpr Activation kStated[] = {
    {"SiLU", FOVEA_ACTIVATION_SILU},
    {"sigmoid", FOVEA_ACTIVATION_SIGMOID},
    {"GELU", FOVEA_ACTIVATION_GELU},
    {"GELU by tanh", FOVEA_ACTIVATION_GELU_TANH},
    {"hard swish", FOVEA_ACTIVATION_HARD_SWISH},
    {"tanh", FOVEA_ACTIVATION_TANH},
};

// Of an activation at x, whose exact value is y.
double stated(const Activation& activation, double x, double y) { return stated_error(activation.kind, x, y) + 2e-37; }

bool show_activation(const Activation& activation) {
  bool right = true;
  for (const Format& format : kFormats) {
    Compared compared;
    const Row x(format.type, normal(20000, 5, 0, 3));
    for (const float e : x.numbers) {
      compared.loops.add(double{activated(activation.kind, e)}, activated(activation.kind, double{e}), 1);
    }
    for (const fovea_target target : targets()) {
      Row y(format.type, Numbers(x.numbers.size()));
      auto a = rows_of<fovea_activation_args>(1, uint32_t(x.numbers.size()));
      a.target = target, a.activation = activation.kind, a.x_dtype = a.y_dtype = format.type;
      a.x.data = x.data.data(), a.y.data = y.data.data();
      must(fovea_activation(&a));
      y.read();
      for (size_t i = 0; i < x.numbers.size(); ++i) {
        const double e = double{x.numbers[i]}, exact = activated(activation.kind, e);
        compared.ours.add(double{y.numbers[i]}, exact, stated(activation, e, exact) + rounding(format.type, exact));
      }
    }
    right = show(activation.name, format.name, compared) && right;
  }
  return right;
}

// ---- Linear layers with an activation.

struct Linear {
  static constexpr uint32_t kTokens = 24, kIn = 256, kOut = 96;
  static constexpr size_t kBytes = 1 << 20;
  Guarded workspace = memory_of(kBytes);
  fovea_linear_args args{};

  Linear() {
    args.struct_bytes = sizeof args, args.tokens = kTokens, args.in_dim = kIn, args.out_dim = kOut;
    args.x_stride = kIn, args.y_stride = kOut, args.weights.row_stride = kIn;
  }
  void run() { must(fovea_linear(&args, workspace.as<char>(), kBytes)); }
};

// Against the activation in double of the exact sum. Its bound is that of the activation, of the output that the layer
// has without one: nothing is lost by taking both at a time.
bool show_linear(const Activation& activation) {
  Compared compared;
  const Numbers x = normal(size_t{Linear::kTokens} * Linear::kIn, 1, 0, 1);
  const Numbers weights = normal(size_t{Linear::kOut} * Linear::kIn, 2, 0, 0.1f), bias = normal(Linear::kOut, 3, 0, 1);
  for (const fovea_target target : targets()) {
    Linear linear;
    Numbers plain(size_t{Linear::kTokens} * Linear::kOut), y(plain.size());
    linear.args.target = target;
    linear.args.x = x.data(), linear.args.weights.data = weights.data(), linear.args.weights.bias = bias.data();
    linear.args.y = plain.data();
    linear.run();
    linear.args.y = y.data(), linear.args.activation = activation.kind;
    linear.run();
    for (size_t i = 0; i < y.size(); ++i) {
      double sum = double{bias[i % Linear::kOut]};
      float loop = 0;
      for (size_t k = 0; k < Linear::kIn; ++k) {
        const float a = x[i / Linear::kOut * Linear::kIn + k], b = weights[i % Linear::kOut * Linear::kIn + k];
        sum += double{a} * double{b}, loop += a * b;
      }
      const double exact = activated(activation.kind, sum), of_plain = activated(activation.kind, double{plain[i]});
      compared.loops.add(double{activated(activation.kind, loop + bias[i % Linear::kOut])}, exact, 1);
      compared.ours.add(double{y[i]}, exact,
                        std::fabs(of_plain - exact) + stated(activation, double{plain[i]}, of_plain));
    }
  }
  return show(std::string("linear with ") + activation.name, "f32", compared);
}

// ---- Layers on int8 tensors: errors in codes.

double clamped_code(double code) { return std::min(127.0, std::max(-128.0, code)); }

std::vector<int8_t> codes(size_t count, uint64_t seed) {
  std::vector<int8_t> x(count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = int8_t(std::min(127.0f, std::max(-128.0f, std::nearbyint(40 * random_normal(seed, i)))));
  }
  return x;
}

bool show_codes(const std::string& layer, const Error& error) {
  std::printf("| %s | %.4f | %.3f | %.3f |\n", layer.c_str(), error.largest, error.rms(), error.of_bound);
  return is_within(layer, error.of_bound);
}

bool show_integer_norm(fovea_norm_kind kind, const char* name) {
  Error error;
  for (const uint32_t dim : {2u, 8u, 64u, 768u, 16384u}) {
    constexpr uint32_t kTokens = 8;
    const std::vector<int8_t> x = codes(size_t{kTokens} * dim, dim);
    std::vector<int16_t> weight, bias;
    for (uint32_t d = 0; d < dim; ++d) {
      weight.push_back(int16_t(16384 + 3000 * random_normal(1, d)));
      bias.push_back(int16_t(1000 * random_normal(2, d)));
    }
    std::vector<int8_t> y(x.size());
    auto a = rows_of<fovea_integer_norm_args>(kTokens, dim);
    a.norm = kind;
    a.x = {x.data(), 0, 0, ptrdiff_t{dim}}, a.y = {y.data(), 0, 0, ptrdiff_t{dim}};
    a.weight = weight.data(), a.bias = bias.data(), a.x_zero_point = 5, a.y_zero_point = -3;
    constexpr double kFactor = 0x1p-14 / 0.03, kEpsilon = 1e-5 / (0.02 * 0.02);
    must(fovea_integer_multiplier(kFactor, &a.weight_multiplier, &a.weight_shift));
    must(fovea_integer_multiplier(kEpsilon, &a.epsilon_multiplier, &a.epsilon_shift));
    must(fovea_integer_norm(&a));
    for (uint32_t t = 0; t < kTokens; ++t) {
      double mean = 0, variance = 0;
      for (uint32_t d = 0; d < dim; ++d) mean += double(x[t * dim + d]) / dim;
      if (kind == FOVEA_NORM_RMS) mean = a.x_zero_point;
      for (uint32_t d = 0; d < dim; ++d) variance += (x[t * dim + d] - mean) * (x[t * dim + d] - mean) / dim;
      for (uint32_t d = 0; d < dim; ++d) {
        const double part = (x[t * dim + d] - mean) / std::sqrt(variance + kEpsilon) * weight[d] * kFactor;
        error.add(y[t * dim + d], clamped_code(a.y_zero_point + part + bias[d] / 128.0),
                  0.5 + 1 / 64.0 + std::fabs(part) * 0x1p-16);
      }
    }
  }
  return show_codes(name, error);
}

bool show_table(const Activation& activation) {
  Error error;
  for (const auto& [x_scale, y_scale] : every({0.01f, 0.03f, 0.06f, 0.12f}, {0.004f, 0.01f, 0.05f})) {
    int8_t table[256];
    must(fovea_integer_activation_table(activation.kind, 0, x_scale, 4, y_scale, -7, table));
    for (int code = -128; code < 128; ++code) {
      const double y = activated(activation.kind, double{x_scale} * (code - 4)) / double{y_scale};
      error.add(table[uint8_t(code)], clamped_code(y - 7), 0.501);
    }
  }
  return show_codes(std::string("table of ") + activation.name, error);
}

bool show_hard_swish() {
  Error error;
  std::vector<int8_t> x(256), y(256);
  for (int i = 0; i < 256; ++i) x[size_t(i)] = int8_t(i - 128);
  for (const auto& [x_scale, y_scale] : every({0.0005, 0.01, 0.03, 0.06, 0.12, 2.0}, {0.02, 0.05, 0.3})) {
    auto a = rows_of<fovea_integer_hard_swish_args>(1, 256);
    a.x.data = x.data(), a.y.data = y.data(), a.x_zero_point = 4, a.y_zero_point = -7;
    must(fovea_integer_multiplier(3 / x_scale, &a.three_multiplier, &a.three_shift));
    must(fovea_integer_multiplier(x_scale * x_scale / (6 * y_scale), &a.out_multiplier, &a.out_shift));
    must(fovea_integer_hard_swish(&a));
    for (size_t i = 0; i < 256; ++i) {
      const double e = x_scale * (x[i] - a.x_zero_point);
      const double exact = clamped_code(a.y_zero_point + activated(FOVEA_ACTIVATION_HARD_SWISH, e) / y_scale);
      error.add(y[i], exact, 0.5 + std::ldexp(1, a.out_shift - 7) + std::fabs(e / y_scale) / 1024);
    }
  }
  return show_codes("hard swish by arithmetic", error);
}

bool show_pair(bool is_sum) {
  Error error;
  constexpr uint32_t kDim = 8192;
  const std::vector<int8_t> x = codes(kDim, 8), other = codes(kDim, 9);
  for (const auto& [a_scale, y_scale] : every({0.01, 0.03}, {0.02, 0.05})) {
    std::vector<int8_t> y(kDim);
    constexpr double kScale = 0.02;  // of b
    auto a = rows_of<fovea_integer_binary_args>(1, kDim);
    a.a.data = x.data(), a.b.data = other.data(), a.y.data = y.data();
    a.a_zero_point = 3, a.b_zero_point = -6, a.y_zero_point = 1;
    const double factor = is_sum ? a_scale / y_scale : a_scale * kScale / y_scale, of_b = kScale / y_scale;
    must(fovea_integer_multiplier(factor, &a.a_multiplier, &a.a_shift));
    must(fovea_integer_multiplier(of_b, &a.b_multiplier, &a.b_shift));
    must(is_sum ? fovea_integer_add(&a) : fovea_integer_multiply(&a));
    for (size_t i = 0; i < kDim; ++i) {
      const double p = x[i] - a.a_zero_point, q = other[i] - a.b_zero_point;
      const double exact = clamped_code(a.y_zero_point + (is_sum ? p * factor + q * of_b : p * q * factor));
      error.add(y[i], exact, 0.5 + (is_sum ? (std::fabs(p) + std::fabs(q)) * 0x1p-17 : 1 / 128.0));
    }
  }
  return show_codes(is_sum ? "sum" : "product", error);
}

bool show_mean() {
  Error error;
  constexpr uint32_t kDim = 256;
  for (const uint32_t tokens : {1u, 3u, 98u, 1500u}) {
    const std::vector<int8_t> x = codes(size_t{tokens} * kDim, tokens);
    std::vector<int8_t> y(kDim);
    auto a = rows_of<fovea_integer_mean_args>(tokens, kDim);
    a.x = {x.data(), 0, 0, ptrdiff_t{kDim}}, a.y.data = y.data(), a.x_zero_point = 9, a.y_zero_point = 2;
    const double factor = std::sqrt(double(tokens)) * 0.7;
    must(fovea_integer_multiplier(std::min(factor, 20.0), &a.multiplier, &a.shift));
    must(fovea_integer_mean(&a));
    for (uint32_t d = 0; d < kDim; ++d) {
      double sum = 0;
      for (uint32_t t = 0; t < tokens; ++t) sum += x[t * kDim + d] - a.x_zero_point;
      const double part = sum / tokens * std::min(factor, 20.0), exact = clamped_code(a.y_zero_point + part);
      error.add(y[d], exact, 0.5 + std::fabs(part) * 0x1p-14);
    }
  }
  return show_codes("mean", error);
}

// A linear layer of int8 with int8 outputs, after a GELU of its sum: beyond half a code there are the roundings of four
// operations in f32 and the error of the activation.
bool show_integer_linear(const Activation& activation) {
  Error error;
  const std::vector<int8_t> x = codes(size_t{Linear::kTokens} * Linear::kIn, 1);
  const std::vector<int8_t> weights = codes(size_t{Linear::kOut} * Linear::kIn, 2);
  const Numbers bias = normal(Linear::kOut, 3, 0, 1), scales(Linear::kOut, 0.003f);
  constexpr float kScale = 0.02f, kOutScale = 0.03f;
  for (const fovea_target target : targets_and_those_that_extend_them()) {
    Linear linear;
    std::vector<int8_t> y(size_t{Linear::kTokens} * Linear::kOut);
    linear.args.target = target, linear.args.compute = FOVEA_COMPUTE_I8;
    linear.args.x_dtype = linear.args.y_dtype = linear.args.weights.dtype = FOVEA_I8;
    linear.args.x = x.data(), linear.args.y = y.data(), linear.args.x_scales = &kScale, linear.args.x_zero_point = 4;
    linear.args.weights.data = weights.data(), linear.args.weights.scales = scales.data();
    linear.args.weights.bias = bias.data(), linear.args.activation = activation.kind;
    linear.args.y_scale = kOutScale, linear.args.y_zero_point = -2;
    linear.run();
    for (size_t i = 0; i < y.size(); ++i) {
      int32_t sum = 0;
      for (size_t k = 0; k < Linear::kIn; ++k) {
        sum += (x[i / Linear::kOut * Linear::kIn + k] - 4) * weights[i % Linear::kOut * Linear::kIn + k];
      }
      const double product = sum * double{kScale} * double{scales[0]}, added = double{bias[i % Linear::kOut]};
      const double exact = activated(activation.kind, product + added);
      const double rounded = (2 * std::fabs(product) + std::fabs(added)) * 3 * 0x1p-24 +
                             stated(activation, product + added, exact) + std::fabs(exact) * 0x1p-22;
      error.add(y[i], clamped_code(exact / double{kOutScale} - 2), 0.5 + rounded / double{kOutScale});
    }
  }
  return show_codes(std::string("linear with ") + activation.name + ", `FOVEA_COMPUTE_I8`", error);
}

}  // namespace

bool show_layers() {
  begin_table("Layers");
  bool right = show_layer_norm(0, "layer normalisation");
  right = show_layer_norm(30, "layer normalisation, mean 30") && right;
  right = show_rotation() && right;
  for (const Activation& activation : kStated) right = show_activation(activation) && right;
  for (const Activation& activation : kStated) right = show_linear(activation) && right;
  begin_table("Layers on int8 tensors");
  right = show_integer_norm(FOVEA_NORM_LAYER, "layer normalisation") && right;
  right = show_integer_norm(FOVEA_NORM_RMS, "RMS normalisation") && right;
  for (const Activation& activation : kStated) right = show_table(activation) && right;
  right = show_hard_swish() && right;
  for (const bool is_sum : {true, false}) right = show_pair(is_sum) && right;
  right = show_mean() && right;
  for (const Activation& activation : kStated) right = show_integer_linear(activation) && right;
  return right;
}

}  // namespace fovea_test
