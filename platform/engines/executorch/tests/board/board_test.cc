// SPDX-License-Identifier: Apache-2.0
//
// Calls fovea's operators on int8 tensors by their names, on ExecuTorch's tensors, and compares with double precision.
// Random codes come from a generator of this file, so that all machines test the same.
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fovea/fovea.h"

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::Error;
using executorch::runtime::EValue;

int failures = 0;

#define CHECK(condition) \
  if (!(condition)) ++failures, printf("line %d: not true: %s\n", __LINE__, #condition)

uint32_t random_bits() {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

double uniform() { return random_bits() * (1.0 / 16777216); }

// A tensor in static memory, as firmware has it.
template <class T, ScalarType type, int most>
struct Array {
  T data[most];
  int32_t sizes[4], strides[4];
  uint8_t order[4] = {0, 1, 2, 3};
  alignas(TensorImpl) unsigned char impl[sizeof(TensorImpl)];

  int count() const {
    int n = 1;
    for (int size : sizes) n *= size;
    return n;
  }
  // Dimensions that are not given are 1, and come first; `dims` of the last ones are the tensor's.
  Tensor tensor(int dims, int a, int b = 1, int c = 1, int d = 1) {
    const int given[4] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) sizes[i] = i < dims ? given[i] : 1;
    for (int i = dims - 1, stride = 1; i >= 0; stride *= sizes[i--]) strides[i] = stride;
    return Tensor(new (impl) TensorImpl(type, dims, sizes, data, order, strides,
                                        executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND));
  }
};

using Codes = Array<int8_t, ScalarType::Char, 8192>;
Codes x, keys, values, out, other;
Array<int16_t, ScalarType::Short, 256> weight, bias;
Array<float, ScalarType::Float, 256> scales, offsets;
alignas(64) unsigned char arena[49152];

template <class T>
void randomize(T& array, int count) {
  for (int i = 0; i < count; ++i) array.data[i] = static_cast<int8_t>(random_bits() >> 4);
}

size_t arena_bytes = sizeof arena;

EValue value(int number) { return EValue(int64_t{number}); }
template <class T>
EValue value(const T& argument) {
  return EValue(argument);
}

// Calls an operator with its arguments and its output; the result is the output once more.
template <class... Args>
Error call(const char* name, const Args&... args) {
  auto function = executorch::runtime::get_op_function_from_registry(name, {});
  if (!function.ok()) return function.error();
  constexpr size_t count = sizeof...(args);
  EValue arguments[] = {value(args)...};
  EValue* stack[count + 1];
  for (size_t i = 0; i < count; ++i) stack[i] = &arguments[i];
  stack[count] = &arguments[count - 1];
  executorch::runtime::MemoryAllocator allocator(arena_bytes, arena);
  executorch::runtime::KernelRuntimeContext context(nullptr, &allocator);
  (*function)(context, {stack, count + 1});
  return context.failure_state();
}

struct Number {
  int32_t multiplier, shift;
  explicit Number(double real) {
    if (fovea_integer_multiplier(real, &multiplier, &shift) != FOVEA_OK) ++failures, printf("no number of %g\n", real);
  }
};

double clamp(double code) { return code < -128 ? -128 : code > 127 ? 127 : code; }

// The largest difference between codes and numbers that are not rounded.
struct Differences {
  const char* name;
  double largest = 0;
  void add(int8_t code, double expected) { largest = fmax(largest, fabs(code - clamp(expected))); }
  void check(double most) const {
    printf("%-32s differs by %.3f codes of %.3f\n", name, largest, most);
    if (!(largest <= most)) ++failures, printf("    too much\n");
  }
};

// ----------------------------------------------------------------------------------------------------------- attention

struct Shape {
  int heads, kv_heads, queries, keys, dim, value_dim;
  bool causal, tokens_first;
};

int place(const Shape& shape, int heads, int tokens, int dim, int head, int token) {
  return (shape.tokens_first ? token * heads + head : head * tokens + token) * dim;
}

void attend(const Shape& shape, Differences& differences) {
  constexpr int kQueryZero = 5, kValueZero = -9, kOutZero = 3;
  constexpr double kScore = 0.02 * 0.015, kOut = 0.9;
  const double octaves = kScore / sqrt(shape.dim) * 1.4426950408889634;
  const bool turned = shape.tokens_first;
  randomize(x, shape.heads * shape.queries * shape.dim);
  randomize(keys, shape.kv_heads * shape.keys * shape.dim);
  randomize(values, shape.kv_heads * shape.keys * shape.value_dim);
  const auto tensor = [&](Codes& codes, int heads, int tokens, int dim) {
    return turned ? codes.tensor(4, 1, tokens, heads, dim) : codes.tensor(4, 1, heads, tokens, dim);
  };
  const Number score(octaves), outs(kOut);
  CHECK(call("fovea::quantized_attention.out", tensor(x, shape.heads, shape.queries, shape.dim),
             tensor(keys, shape.kv_heads, shape.keys, shape.dim),
             tensor(values, shape.kv_heads, shape.keys, shape.value_dim), shape.causal, kQueryZero, kValueZero,
             kOutZero, score.multiplier, score.shift, outs.multiplier, outs.shift, turned ? 15 : 0,
             tensor(out, shape.heads, shape.queries, shape.value_dim)) == Error::Ok);
  for (int head = 0; head < shape.heads; ++head) {
    const int kv_head = head * shape.kv_heads / shape.heads;
    for (int i = 0; i < shape.queries; ++i) {
      const int8_t* q = x.data + place(shape, shape.heads, shape.queries, shape.dim, head, i);
      static double weights[256];
      double sum = 0, most = -INFINITY;
      const int seen = shape.causal && i + 1 < shape.keys ? i + 1 : shape.keys;
      for (int j = 0; j < seen; ++j) {
        const int8_t* key = keys.data + place(shape, shape.kv_heads, shape.keys, shape.dim, kv_head, j);
        int32_t dot = 0;
        for (int e = 0; e < shape.dim; ++e) dot += (q[e] - kQueryZero) * key[e];
        weights[j] = dot * octaves;
        most = fmax(most, weights[j]);
      }
      for (int j = 0; j < seen; ++j) sum += weights[j] = exp2(weights[j] - most);
      for (int e = 0; e < shape.value_dim; ++e) {
        double y = 0;
        for (int j = 0; j < seen; ++j) {
          const int at = place(shape, shape.kv_heads, shape.keys, shape.value_dim, kv_head, j);
          y += weights[j] * (values.data[at + e] - kValueZero);
        }
        const int at = place(shape, shape.heads, shape.queries, shape.value_dim, head, i);
        differences.add(out.data[at + e], kOutZero + y / sum * kOut);
      }
    }
  }
}

void test_attention() {
  Differences differences{"attention"};
  const Shape shapes[] = {
      {1, 1, 1, 1, 16, 16, false, false},  {2, 2, 9, 9, 32, 32, true, false},  {4, 2, 7, 70, 24, 20, false, false},
      {4, 1, 1, 130, 32, 32, false, true}, {3, 3, 17, 17, 40, 12, true, true}, {2, 1, 33, 65, 64, 64, false, true},
  };
  for (const Shape& shape : shapes) attend(shape, differences);
  differences.check(1.25);  // a step of 1 / 64 octave changes a weight by 1.1 %, of values of up to 125 codes
}

// ------------------------------------------------------------------------------------------------------- normalisation

void normalise(bool rms, int rows, int dim, Differences& differences) {
  constexpr double kXScale = 0.03, kYScale = 0.025, kWeightScale = 1.2 / 32767, kEpsilon = 1e-5;
  constexpr int kXZero = 7, kYZero = -11;
  randomize(x, rows * dim);
  for (int e = 0; e < dim; ++e) {
    weight.data[e] = static_cast<int16_t>((uniform() * 2 - 1) * 32767);
    bias.data[e] = static_cast<int16_t>((uniform() * 2 - 1) * 4000);
  }
  const Number weights(kWeightScale / kYScale), epsilon(kEpsilon / (kXScale * kXScale));
  const Tensor in = x.tensor(2, rows, dim), factors = weight.tensor(1, dim), to = out.tensor(2, rows, dim);
  const Error error = rms ? call("fovea::quantized_rms_norm.out", in, factors, kXZero, kYZero, weights.multiplier,
                                 weights.shift, epsilon.multiplier, epsilon.shift, to)
                          : call("fovea::quantized_layer_norm.out", in, factors, bias.tensor(1, dim), kXZero, kYZero,
                                 weights.multiplier, weights.shift, epsilon.multiplier, epsilon.shift, to);
  CHECK(error == Error::Ok);
  for (int row = 0; row < rows; ++row) {
    double mean = 0, squares = 0;
    const int8_t* codes = x.data + row * dim;
    for (int e = 0; e < dim && !rms; ++e) mean += kXScale * (codes[e] - kXZero) / dim;
    for (int e = 0; e < dim; ++e) squares += pow(kXScale * (codes[e] - kXZero) - mean, 2) / dim;
    for (int e = 0; e < dim; ++e) {
      const double n = (kXScale * (codes[e] - kXZero) - mean) / sqrt(squares + kEpsilon);
      const double y = n * weight.data[e] * kWeightScale / kYScale + (rms ? 0 : bias.data[e] / 128.0);
      differences.add(out.data[row * dim + e], kYZero + y);
    }
  }
}

void test_normalisation() {
  Differences layer{"layer normalisation"}, rms{"RMS normalisation"};
  const int sizes[][2] = {{1, 1}, {3, 16}, {5, 33}, {2, 192}, {40, 64}};
  for (const auto& size : sizes) {
    normalise(false, size[0], size[1], layer);
    normalise(true, size[0], size[1], rms);
  }
  layer.check(0.53);
  rms.check(0.53);
}

// --------------------------------------------------------------------------------------------------------- activations

void test_gelu() {
  constexpr float kXScale = 0.04f, kYScale = 0.03f;
  constexpr int kXZero = -20, kYZero = -100, kCount = 1000;
  Differences differences{"GELU"};
  randomize(x, kCount);
  CHECK(fovea_integer_activation_table(FOVEA_ACTIVATION_GELU, 0, kXScale, kXZero, kYScale, kYZero, other.data) ==
        FOVEA_OK);
  CHECK(call("fovea::quantized_activation.out", x.tensor(3, 10, 20, 5), other.tensor(1, 256),
             out.tensor(3, 10, 20, 5)) == Error::Ok);
  for (int i = 0; i < kCount; ++i) {
    const double real = static_cast<double>(kXScale) * (x.data[i] - kXZero);
    differences.add(out.data[i], kYZero + 0.5 * real * (1 + erf(real * sqrt(0.5))) / static_cast<double>(kYScale));
  }
  differences.check(0.502);
}

// ----------------------------------------------------------------------------------------------------- linear, softmax

void linear(int rows, int in_dim, int out_dim, Differences& differences) {
  constexpr int kXZero = 12, kYZero = -6;
  constexpr double kXScale = 0.02, kYScale = 0.05;
  randomize(x, rows * in_dim);
  randomize(keys, out_dim * in_dim);
  for (int i = 0; i < out_dim; ++i) {
    scales.data[i] = static_cast<float>(0.001 + 0.002 * uniform());
    offsets.data[i] = static_cast<float>(uniform() - 0.5);
  }
  char relu[] = "relu";
  executorch::runtime::ArrayRef<char> name(relu, 4);
  CHECK(call("fovea::quantized_linear.out", x.tensor(2, rows, in_dim), keys.tensor(2, out_dim, in_dim),
             scales.tensor(1, out_dim), offsets.tensor(1, out_dim), kXScale, kXZero, kYScale, kYZero, &name,
             out.tensor(2, rows, out_dim)) == Error::Ok);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < out_dim; ++i) {
      int32_t sum = 0;
      for (int e = 0; e < in_dim; ++e) sum += (x.data[row * in_dim + e] - kXZero) * keys.data[i * in_dim + e];
      const double y = sum * kXScale * static_cast<double>(scales.data[i]) + static_cast<double>(offsets.data[i]);
      differences.add(out.data[row * out_dim + i], kYZero + fmax(y, 0) / kYScale);
    }
  }
}

void test_linear() {
  Differences differences{"linear, ReLU"};
  linear(1, 16, 8, differences);
  linear(3, 40, 17, differences);
  linear(20, 64, 96, differences);
  differences.check(0.501);
}

void softmax(int outer, int axis, int inner, Differences& differences) {
  constexpr double kXScale = 0.05, kYScale = 1.0 / 256;
  randomize(x, outer * axis * inner);
  CHECK(call("fovea::quantized_softmax.out", x.tensor(3, outer, axis, inner), -2, kXScale, kYScale, -128,
             out.tensor(3, outer, axis, inner)) == Error::Ok);
  for (int o = 0; o < outer; ++o) {
    for (int i = 0; i < inner; ++i) {
      const int first = o * axis * inner + i;
      double sum = 0;
      for (int a = 0; a < axis; ++a) sum += exp(kXScale * (x.data[first + a * inner] - 127));
      for (int a = 0; a < axis; ++a) {
        const int at = first + a * inner;
        differences.add(out.data[at], -128 + exp(kXScale * (x.data[at] - 127)) / sum / kYScale);
      }
    }
  }
}

void test_softmax() {
  Differences differences{"softmax"};
  softmax(1, 1, 1, differences);
  softmax(30, 100, 1, differences);  // more than is taken at a time
  softmax(2, 7, 5, differences);
  softmax(1, 2000, 1, differences);  // one slice alone is more
  differences.check(0.501);
}

// -------------------------------------------------------------------------------------------------------------- errors

void test_errors() {
  const Tensor in = x.tensor(2, 4, 16), to = out.tensor(2, 4, 16);
  memset(out.data, 77, sizeof out.data);
  const EValue none;
  constexpr int64_t kWide = 0x140000000;
  constexpr int kNumber = 0x40000000;
  CHECK(call("fovea::quantized_activation.out", in, other.tensor(1, 255), to) == Error::InvalidArgument);
  CHECK(call("fovea::quantized_layer_norm.out", in, weight.tensor(1, 16), none, 0, 0, kWide, -10, 0, 0, to) ==
        Error::InvalidArgument);
  CHECK(call("fovea::quantized_layer_norm.out", in, weight.tensor(1, 17), none, 0, 0, kNumber, -10, 0, 0, to) ==
        Error::InvalidArgument);
  arena_bytes = 16;
  CHECK(call("fovea::quantized_softmax.out", in, 1, 0.1, 1.0 / 256, -128, to) == Error::MemoryAllocationFailed);
  arena_bytes = sizeof arena;
  CHECK(call("fovea::quantized_softmax.out", in, 1, 0.1, 0.0, -128, to) == Error::InvalidArgument);
  CHECK(call("fovea::none.out", in, 1, 0.1, 0.0, -128, to) == Error::OperatorMissing);
  for (int8_t code : out.data) {
    if (code != 77) {
      ++failures;
      printf("an operator with an error wrote its output\n");
      return;
    }
  }
}

}  // namespace

int main() {
  test_attention();
  test_normalisation();
  test_gelu();
  test_linear();
  test_softmax();
  test_errors();
  printf("%d failures\n", failures);
  return failures != 0;
}
