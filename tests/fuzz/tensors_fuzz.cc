// SPDX-License-Identifier: Apache-2.0
//
// Layers on int8 tensors, sums, products, pooling, embeddings, argmax and top-k with any arguments, over numbers of any
// kind: each answer is that of its definition, to the bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "fuzz/draw.h"
#include "support/array.h"
#include "support/formats.h"
#include "support/integer_layers_definition.h"

namespace fovea_test {
namespace {

// A multiplier and its shift for a number around the usual one, or any.
void multiplier(Bytes& bytes, double usual, int32_t* factor, int32_t* shift) {
  const double real = usual * std::exp2(bytes.below(80) / 8.0 - 5);
  expect(fovea_integer_multiplier(real, factor, shift) == FOVEA_OK, "a usual number is refused");
  if (bytes.below(24) == 1) *factor = int32_t(word(bytes));
  if (bytes.below(24) == 1) *shift = bytes.take<int8_t>();
}
template <class Args>
void draw_counts(Bytes& bytes, Args* a) {
  a->struct_bytes = struct_bytes(bytes, sizeof *a);
  a->batch = count(bytes, 3), a->heads = count(bytes, 3), a->tokens = count(bytes, 5), a->dim = count(bytes, 70);
}
template <class Args>
void draw_input(Bytes& bytes, Memory& memory, const Args& a, fovea_in* in, size_t element = 1) {
  const Rows n = {a.batch, a.heads, a.tokens, a.dim};
  dense(bytes, in, n);
  if (bytes.below(8) == 1) in->token_stride = in->head_stride = in->batch_stride = 0;
  in->data = rows(memory, *in, n, false, element);
}
template <class Args>
void draw_output(Bytes& bytes, Memory& memory, Args* a, uint32_t tokens, size_t element = 1) {
  draw(bytes, memory, &a->y, {a->batch, a->heads, tokens, a->dim}, element);
}
const int8_t* row(const fovea_in& array, uint32_t b, uint32_t h, uint32_t t) {
  return reinterpret_cast<const int8_t*>(row_bytes(array, 1, b, h, t));
}

// Calls, and holds each row of y against want(b, h, t).
template <class Args, class Want>
void compare(Memory& memory, fovea_status (*layer)(const Args*), Args* a, uint32_t y_tokens, const Want& want) {
  if (call(memory, layer, a, &a->y.data) != FOVEA_OK || !memory.complete) return;
  const fovea_in y = {a->y.data, a->y.batch_stride, a->y.head_stride, a->y.token_stride};
  for (const auto& [b, h, t] : indices(a->tokens != 0 ? a->batch : 0, a->heads, y_tokens)) {
    const CodeRow wanted = want(b, h, t);
    expect(std::memcmp(row(y, b, h, t), wanted.data(), wanted.size()) == 0, "a row differs from its definition");
  }
}

void integer_norm(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_norm_args a{};
  draw_counts(bytes, &a);
  a.norm = choice(bytes, {FOVEA_NORM_LAYER, FOVEA_NORM_RMS});
  draw_input(bytes, memory, a, &a.x), draw_output(bytes, memory, &a, a.tokens);
  a.weight = list<int16_t>(memory, a.dim, [&] { return bytes.take<int16_t>(); });
  if (bytes.flag()) a.bias = list<int16_t>(memory, a.dim, [&] { return bytes.take<int16_t>(); });
  a.x_zero_point = zero_point(bytes), a.y_zero_point = zero_point(bytes);
  multiplier(bytes, 0x1p-14, &a.weight_multiplier, &a.weight_shift);
  if (bytes.flag()) multiplier(bytes, 0.1, &a.epsilon_multiplier, &a.epsilon_shift);
  spoil(bytes, {&a.weight, &a.bias});
  compare(memory, fovea_integer_norm, &a, a.tokens,
          [&](uint32_t b, uint32_t h, uint32_t t) { return norm_of_codes(a, row(a.x, b, h, t)); });
}

void integer_pair(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_binary_args a{};
  draw_counts(bytes, &a);
  draw_input(bytes, memory, a, &a.a), draw_output(bytes, memory, &a, a.tokens);
  const bool product = bytes.flag();
  if (product || bytes.flag()) draw_input(bytes, memory, a, &a.b);
  a.a_zero_point = zero_point(bytes), a.b_zero_point = zero_point(bytes), a.y_zero_point = zero_point(bytes);
  multiplier(bytes, product ? 0.01 : 1, &a.a_multiplier, &a.a_shift);
  multiplier(bytes, 1, &a.b_multiplier, &a.b_shift);
  if (bytes.flag()) a.activation_min = zero_point(bytes), a.activation_max = zero_point(bytes);
  compare(memory, product ? fovea_integer_multiply : fovea_integer_add, &a, a.tokens,
          [&](uint32_t b, uint32_t h, uint32_t t) {
            const int8_t* const x = row(a.a, b, h, t);
            if (product) return product_of_codes(a, x, row(a.b, b, h, t));
            return sum_of_codes(a, x, a.b.data != nullptr ? row(a.b, b, h, t) : nullptr);
          });
}

void integer_activation(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_activation_args a{};
  draw_counts(bytes, &a);
  draw_input(bytes, memory, a, &a.x), draw_output(bytes, memory, &a, a.tokens);
  auto* const table = static_cast<int8_t*>(memory.allocate(1, 256, false));
  const auto kind = fovea_activation_kind(bytes.below(11));
  fovea_integer_activation_table(kind, bytes.take<float>(), bytes.take<float>(), zero_point(bytes), bytes.take<float>(),
                                 zero_point(bytes), table);
  a.table = table;
  spoil(bytes, {&a.table}, false);
  compare(memory, fovea_integer_activation, &a, a.tokens, [&](uint32_t b, uint32_t h, uint32_t t) {
    CodeRow y;
    for (uint32_t i = 0; i < a.dim; ++i) y.push_back(a.table[uint8_t(row(a.x, b, h, t)[i])]);
    return y;
  });
}

void integer_hard_swish(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_hard_swish_args a{};
  draw_counts(bytes, &a);
  draw_input(bytes, memory, a, &a.x), draw_output(bytes, memory, &a, a.tokens);
  a.x_zero_point = zero_point(bytes), a.y_zero_point = zero_point(bytes);
  multiplier(bytes, 60, &a.three_multiplier, &a.three_shift);
  multiplier(bytes, 0.01, &a.out_multiplier, &a.out_shift);
  compare(memory, fovea_integer_hard_swish, &a, a.tokens,
          [&](uint32_t b, uint32_t h, uint32_t t) { return hard_swish_of_codes(a, row(a.x, b, h, t)); });
}

void integer_mean(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_mean_args a{};
  draw_counts(bytes, &a);
  draw_input(bytes, memory, a, &a.x), draw_output(bytes, memory, &a, 1);
  if (bytes.flag()) a.lengths = list<uint32_t>(memory, a.batch, [&] { return bytes.below(a.tokens % 256 + 1); });
  a.x_zero_point = zero_point(bytes), a.y_zero_point = zero_point(bytes);
  multiplier(bytes, 1, &a.multiplier, &a.shift);
  spoil(bytes, {&a.lengths});
  compare(memory, fovea_integer_mean, &a, 1, [&](uint32_t b, uint32_t h, uint32_t) {
    const uint32_t tokens = a.lengths != nullptr ? a.lengths[b] : a.tokens;
    std::vector<int64_t> sums(a.dim);
    for (const auto& [t, i] : indices(tokens, a.dim)) sums[i] += row(a.x, b, h, t)[i] - a.x_zero_point;
    return mean_of_codes(a, sums, tokens);
  });
}

// ---- Floats

size_t bytes_of(fovea_dtype dtype) { return dtype == FOVEA_F16 || dtype == FOVEA_BF16 ? 2 : 4; }
fovea_dtype half_or_float(Bytes& bytes) { return choice(bytes, kFloatTypes); }

// Each row has the same numbers, of any kind, but begins elsewhere among them.
template <class Args>
void draw_numbers(Bytes& bytes, Memory& memory, const Args& a, fovea_in* in, fovea_dtype dtype) {
  draw_input(bytes, memory, a, in, bytes_of(dtype));
  if (!memory.complete || dtype > FOVEA_BF16 || Wide{a.batch} * a.heads * a.tokens * a.dim == 0) return;
  std::vector<float> x = numbers(bytes, a.dim);
  for (const auto& [b, h, t] : indices(a.batch, a.heads, a.tokens)) {
    encode_row(dtype, x.data(), a.dim, const_cast<uint8_t*>(row_bytes(*in, unit_size(dtype), b, h, t)), nullptr);
    std::rotate(x.begin(), x.begin() + 1, x.end());
  }
}
float number_of(const fovea_in& in, fovea_dtype dtype, uint32_t b, uint32_t h, uint32_t t, size_t i) {
  return element_of(dtype, row_bytes(in, unit_size(dtype), b, h, t), nullptr, i);
}

// Calls, and holds each element of y against want(b, h, t, i), which is rounded once.
template <class Args, class Want>
void compare_numbers(Memory& memory, fovea_status (*layer)(const Args*), Args* a, uint32_t y_tokens, const Want& want) {
  if (call(memory, layer, a, &a->y.data) != FOVEA_OK || !memory.complete) return;
  const fovea_in y = {a->y.data, a->y.batch_stride, a->y.head_stride, a->y.token_stride};
  for (const auto& [b, h, t, i] : indices(a->batch, a->heads, y_tokens, a->dim)) {
    const float wanted = want(b, h, t, i);
    const EncodedRows rounded(a->y_dtype, {wanted}, 1);
    expect(is_same(number_of(y, a->y_dtype, b, h, t, i), rounded.numbers[0]), "a sum, product or mean is another");
  }
}

void pair(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_binary_args>(bytes);
  draw_counts(bytes, &a);
  a.y_dtype = half_or_float(bytes), a.a_dtype = half_or_float(bytes), a.b_dtype = half_or_float(bytes);
  draw_numbers(bytes, memory, a, &a.a, a.a_dtype), draw_numbers(bytes, memory, a, &a.b, a.b_dtype);
  draw_output(bytes, memory, &a, a.tokens, bytes_of(a.y_dtype));
  spoil(bytes, {&a.y.data, &a.a.data, &a.b.data});
  const bool product = bytes.flag();
  if (bytes.below(4) == 1) {
    a.b = {a.y.data, a.y.batch_stride, a.y.head_stride, a.y.token_stride};
    call(memory, product ? fovea_multiply : fovea_add, &a, &a.y.data);
    return;
  }
  compare_numbers(memory, product ? fovea_multiply : fovea_add, &a, a.tokens,
                  [&](uint32_t b, uint32_t h, uint32_t t, uint32_t i) {
                    const float x = number_of(a.a, a.a_dtype, b, h, t, i), y = number_of(a.b, a.b_dtype, b, h, t, i);
                    return product ? x * y : x + y;
                  });
}

void pooling(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_pooling_args>(bytes);
  draw_counts(bytes, &a);
  a.pooling = choice(bytes, {FOVEA_POOLING_MEAN, FOVEA_POOLING_FIRST});
  a.y_dtype = half_or_float(bytes), a.x_dtype = half_or_float(bytes);
  draw_numbers(bytes, memory, a, &a.x, a.x_dtype);
  draw_output(bytes, memory, &a, 1, bytes_of(a.y_dtype));
  if (bytes.flag()) a.lengths = list<uint32_t>(memory, a.batch, [&] { return bytes.below(a.tokens % 256 + 2); });
  spoil(bytes, {&a.y.data, &a.x.data, &a.lengths});
  compare_numbers(memory, fovea_pooling, &a, 1, [&](uint32_t b, uint32_t h, uint32_t, uint32_t i) {
    const uint32_t seen = a.lengths != nullptr ? a.lengths[b] : a.tokens;
    if (seen == 0) return 0.0f;
    float sum = number_of(a.x, a.x_dtype, b, h, 0, i);
    if (a.pooling == FOVEA_POOLING_FIRST) return sum;
    for (uint32_t t = 1; t < seen; ++t) sum += number_of(a.x, a.x_dtype, b, h, t, i);
    return sum / float(seen);
  });
}

// Any bytes are a row of a format.
void embedding(Bytes& bytes) {
  Memory memory(bytes.take<uint8_t>());
  auto a = begun<fovea_embedding_args>(bytes);
  a.tokens = count(bytes, 9), a.dim = count(bytes, 80), a.rows = count(bytes, 20);
  a.y_stride = stride_of(bytes, a.dim);
  a.y = memory.out<float>(a.dim, {a.tokens}, {a.y_stride});
  a.indices = list<uint32_t>(memory, a.tokens, [&] { return number(bytes, bytes.below(a.rows % 256 + 1)); });
  if (memory.complete && a.indices != nullptr) {  // those that list() did not draw
    for (size_t i = 64; i < a.tokens; ++i) const_cast<uint32_t*>(a.indices)[i] = 0;
  }
  a.table.dtype = fovea_dtype(bytes.below(kNoType + 1));
  const fovea_dtype dtype = a.table.dtype >= kNoType ? FOVEA_F32 : a.table.dtype;
  const size_t units = row_units(dtype, a.dim), scales = row_scales(dtype, a.dim);
  a.table.row_stride = stride_of(bytes, static_cast<Wide>(units));
  a.table.data = memory.array(unit_size(dtype), units, {a.rows}, {a.table.row_stride}, false);
  if (dtype == FOVEA_I8) {
    a.table.scales = list<float>(memory, a.rows, [&] { return any_number(bytes); });
  } else if (scales != 0) {
    a.table.scales = memory.array(scale_size(dtype), a.rows * scales, {}, {}, false);
  }
  spoil(bytes, {&a.y, &a.indices, &a.table.scales});
  if (call(memory, fovea_embedding, &a, &a.y) != FOVEA_OK || !memory.complete) return;
  const auto* const data = static_cast<const uint8_t*>(a.table.data);
  const auto* const all_scales = static_cast<const uint8_t*>(a.table.scales);
  for (const auto& [t, i] : indices(a.tokens, a.dim)) {
    const ptrdiff_t row = ptrdiff_t(a.indices[t]) * a.table.row_stride * ptrdiff_t(unit_size(dtype));
    const uint8_t* const scale = scales == 0 ? nullptr : all_scales + a.indices[t] * scales * scale_size(dtype);
    float want = element_of(dtype, data + row, scale, i);
    if (dtype == FOVEA_I8 && std::isinf(reinterpret_cast<const float*>(all_scales)[a.indices[t]])) want = kNaN;
    if (is_same(a.y[ptrdiff_t(t) * a.y_stride + ptrdiff_t(i)], want)) continue;
    fail(std::string("an embedding of ") + type_name(dtype) + " on " + fovea_target_name(a.target) + " is another");
  }
}

// In the order of the numbers, NaN last.
template <class T, class Number>
void draw_top_k(Bytes& bytes, fovea_status (*top_k)(const T*, uint32_t, uint32_t, uint32_t*),
                fovea_status (*argmax)(const T*, uint32_t, uint32_t*), const Number& draw_number) {
  Memory memory(bytes.take<uint8_t>());
  const uint32_t elements = count(bytes, 100), k = count(bytes, 20);
  const T* const x = list<T>(memory, elements, draw_number);
  auto* const largest = memory.out<uint32_t>(k);
  if (!memory.complete) return;
  if (unchanged_if_refused(memory, [&] { return top_k(x, elements, k, largest); }) != FOVEA_OK || k == 0) return;
  std::vector<uint32_t> want(elements);
  std::iota(want.begin(), want.end(), 0u);
  std::sort(want.begin(), want.end(), [&](uint32_t i, uint32_t j) {
    const bool i_nan = x[i] != x[i], j_nan = x[j] != x[j];
    if (i_nan != j_nan) return j_nan;
    return !i_nan && x[i] != x[j] ? x[i] > x[j] : i < j;
  });
  expect(std::equal(largest, largest + k, want.begin()), "the top k are others");
  uint32_t best = 0;
  expect(argmax(x, elements, &best) == FOVEA_OK && best == want[0], "argmax is not the first of the top k");
}
void top_k(Bytes& bytes) {
  draw_top_k<float>(bytes, fovea_top_k, fovea_argmax,
                    [&] { return bytes.flag() ? any_number(bytes) : float(bytes.below(20)); });
}
void integer_top_k(Bytes& bytes) {
  draw_top_k<int8_t>(bytes, fovea_integer_top_k, fovea_integer_argmax, [&] { return bytes.take<int8_t>(); });
}

}  // namespace

void run(Bytes bytes) {
  bytes.choose<void (*)(Bytes&)>({integer_norm, integer_pair, integer_activation, integer_hard_swish, integer_mean,
                                  pair, pooling, embedding, top_k, integer_top_k})(bytes);
}

}  // namespace fovea_test
