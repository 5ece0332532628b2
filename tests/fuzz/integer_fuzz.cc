// SPDX-License-Identifier: Apache-2.0
//
// Integer attention with any numbers in any field, in memory of exactly the bytes that they reach. What is refused must
// have changed nothing; any other answer has the bits of the definition.
#include <cmath>
#include <cstddef>
#include <cstring>

#include "fuzz/draw.h"
#include "support/integer_definition.h"

namespace fovea_test {
namespace {

constexpr double kMostWork = 1e6;        // multiply-adds of a call

// A multiplier and its shift: of a number of a usual size, or any.
void multiplier(Bytes& bytes, double usual, int32_t* factor, int32_t* shift) {
  *factor = int32_t(word(bytes)), *shift = bytes.take<int8_t>();
  const double real = bytes.below(8) == 1 ? bytes.take<double>() : usual * std::exp2(bytes.below(32) * 0.6 - 9);
  const int32_t before[] = {*factor, *shift};
  const fovea_status status = fovea_integer_multiplier(real, factor, shift);
  if (status != FOVEA_OK)
    return expect(before[0] == *factor && before[1] == *shift, "a refused number wrote something");
  expect(*factor >= 1 << 30 && *shift >= -31 && *shift <= 31, "a multiplier is out of its range");
  const double error = std::fabs(std::ldexp(*factor, *shift - 31) / real - 1);
  expect(error <= 0x1p-31, "a multiplier is not the nearest");
  if (bytes.below(16) == 1) *factor = int32_t(word(bytes));
  if (bytes.below(16) == 1) *shift = bytes.take<int8_t>();
}

void draw_counts(Bytes& bytes, fovea_integer_attention_args* a) {
  a->struct_bytes = struct_bytes(bytes, sizeof *a);
  a->batch = count(bytes, 3);
  a->kv_heads = count(bytes, 3);
  a->q_heads = bytes.below(24) == 1 ? word(bytes) : a->kv_heads * (1 + bytes.below(4));
  a->q_tokens = count(bytes, 20);
  a->kv_tokens = bytes.below(24) == 1 ? word(bytes) : bytes.count_below(300);
  a->head_dim = count(bytes, 80);
  a->value_dim = bytes.flag() ? a->head_dim : count(bytes, 80);
}

void draw_options(Bytes& bytes, Memory& memory, fovea_integer_attention_args* a) {
  a->q_zero_point = zero_point(bytes), a->value_zero_point = zero_point(bytes), a->out_zero_point = zero_point(bytes);
  multiplier(bytes, 0.01, &a->score_multiplier, &a->score_shift);
  multiplier(bytes, 1, &a->out_multiplier, &a->out_shift);
  a->causal = choice(bytes, kCausals);
  if (bytes.below(3) == 1) a->window_left = count(bytes, 100);
  if (bytes.below(3) == 1) a->window_right = count(bytes, 100);
  const bool placed = a->causal == FOVEA_CAUSAL_POSITIONS ||
                      (a->causal == FOVEA_CAUSAL_NONE && (a->window_left != 0 || a->window_right != 0));
  if (placed != (bytes.below(24) == 1))
    a->first_positions = list<int64_t>(memory, a->batch, [&] { return position(bytes); });
  if (bytes.flag()) {
    a->kv_lengths = list<uint32_t>(memory, a->batch, [&] {
      return bytes.below(24) == 1 ? word(bytes) : bytes.below(std::min(a->kv_tokens, 300u) + 1);
    });
  }
}

}  // namespace

void run(Bytes bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_attention_args a{};
  draw_counts(bytes, &a);
  draw_options(bytes, memory, &a);
  const Rows out = {a.batch, a.q_heads, a.q_tokens, a.value_dim}, q = {a.batch, a.q_heads, a.q_tokens, a.head_dim};
  draw(bytes, memory, &a.out, out, 1), draw(bytes, memory, &a.q, q, 1);
  draw(bytes, memory, &a.keys, {a.batch, a.kv_heads, a.kv_tokens, a.head_dim}, 1);
  draw(bytes, memory, &a.values, {a.batch, a.kv_heads, a.kv_tokens, a.value_dim}, 1);
  spoil(bytes, {&a.out.data, &a.q.data, &a.keys.data, &a.values.data}, false);
  spoil(bytes, {&a.first_positions, &a.kv_lengths});
  const bool overlaps = bytes.below(24) == 1;
  if (overlaps) a.out.data = const_cast<void*>(a.q.data);

  const size_t needed = bytes_of(fovea_integer_attention_workspace_bytes, &a);
  const double work =
      (1.0 + a.batch) * (1.0 + a.q_heads) * (1.0 + a.q_tokens) * (1.0 + a.kv_tokens) * (1.0 + a.head_dim + a.value_dim);
  if (a.batch > kMostEntries || work > kMostWork) memory.complete = false;
  Workspace w = draw_workspace(bytes, memory, needed, kMostBytes);
  if (!memory.complete) w.data = nullptr;
  const fovea_status status =
      unchanged_if_refused(memory, [&] { return fovea_integer_attention(&a, w.data, w.bytes()); });
  if (w.drawn < needed) expect(status != FOVEA_OK, "too small a workspace is not refused");
  if (status != FOVEA_OK || a.batch == 0 || a.q_tokens == 0) return;
  expect(!overlaps, "an overlap is not refused");
  expect(wrong_rows(a) == 0, "an answer differs from the definition");
}

}  // namespace fovea_test
