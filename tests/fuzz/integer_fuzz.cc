// SPDX-License-Identifier: Apache-2.0
//
// Integer attention with any numbers in any field, in memory of exactly the bytes that they reach. What is refused must
// have changed nothing; any other answer has the bits of the definition.
#include <cmath>
#include <cstddef>
#include <cstring>

#include "fuzz/draw.h"
#include "support/integer_definition.h"
#include "support/rows.h"

namespace fovea_test {
namespace {

constexpr double kMostWork = 1e6;        // multiply-adds of a call
constexpr uint32_t kMostEntries = 4096;  // of a batch, each of which costs time

int32_t zero_point(Bytes& bytes) { return bytes.below(24) == 1 ? int32_t(word(bytes)) : bytes.take<int8_t>(); }

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

const int8_t* row(const fovea_in& array, uint32_t b, uint32_t h, int64_t t) {
  return reinterpret_cast<const int8_t*>(row_bytes(array, 1, b, h, size_t(t)));
}

bool has_bits_of_definition(const fovea_integer_attention_args& a) {
  const IntegerDefinition definition(a);
  for (uint32_t b = 0; b < a.batch; ++b) {
    for (uint32_t h = 0; h < a.q_heads; ++h) {
      const uint32_t kv_head = h / (a.q_heads / a.kv_heads);
      for (uint32_t i = 0; i < a.q_tokens; ++i) {
        int64_t lo, hi;
        keys_seen(a, b, i, &lo, &hi);
        const auto want = definition.row(
            row(a.q, b, h, i), [&](int64_t j) { return row(a.keys, b, kv_head, j); },
            [&](int64_t j) { return row(a.values, b, kv_head, j); }, lo, hi);
        const fovea_in out = {a.out.data, a.out.batch_stride, a.out.head_stride, a.out.token_stride};
        if (std::memcmp(row(out, b, h, i), want.data(), want.size()) != 0) return false;
      }
    }
  }
  return true;
}

void draw_counts(Bytes& bytes, fovea_integer_attention_args* a) {
  a->struct_bytes = number(bytes, sizeof *a);
  a->batch = count(bytes, 3);
  a->kv_heads = count(bytes, 3);
  a->q_heads = bytes.below(24) == 1 ? word(bytes) : a->kv_heads * (1 + bytes.below(4));
  a->q_tokens = count(bytes, 20);
  a->kv_tokens = bytes.below(24) == 1 ? word(bytes) : bytes.count_below(300);
  a->head_dim = count(bytes, 80);
  a->value_dim = bytes.flag() ? a->head_dim : count(bytes, 80);
}

void draw_options(Bytes& bytes, Memory& memory, fovea_integer_attention_args* a) {
  a->q_zero = zero_point(bytes), a->value_zero = zero_point(bytes), a->out_zero = zero_point(bytes);
  multiplier(bytes, 0.01, &a->score_multiplier, &a->score_shift);
  multiplier(bytes, 1, &a->out_multiplier, &a->out_shift);
  a->causal =
      choice(bytes, {FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT, FOVEA_CAUSAL_POSITIONS});
  if (bytes.below(3) == 1) a->window_left = count(bytes, 100);
  if (bytes.below(3) == 1) a->window_right = count(bytes, 100);
  const bool placed = a->causal == FOVEA_CAUSAL_POSITIONS ||
                      (a->causal == FOVEA_CAUSAL_NONE && (a->window_left != 0 || a->window_right != 0));
  if (placed != (bytes.below(24) == 1)) a->positions = list<int64_t>(memory, a->batch, [&] { return position(bytes); });
  if (bytes.flag()) {
    a->kv_lengths = list<uint32_t>(memory, a->batch, [&] {
      return bytes.below(24) == 1 ? word(bytes) : bytes.below(std::min(a->kv_tokens, 300u) + 1);
    });
  }
}

void run(Bytes bytes) {
  Memory memory(bytes.take<uint8_t>());
  fovea_integer_attention_args a{};
  draw_counts(bytes, &a);
  draw_options(bytes, memory, &a);
  dense(bytes, &a.out, a.q_heads, a.q_tokens, a.value_dim);
  dense(bytes, &a.q, a.q_heads, a.q_tokens, a.head_dim);
  dense(bytes, &a.keys, a.kv_heads, a.kv_tokens, a.head_dim);
  dense(bytes, &a.values, a.kv_heads, a.kv_tokens, a.value_dim);
  a.out.data = rows(memory, a.out, a.batch, a.q_heads, a.q_tokens, a.value_dim, true, 1);
  a.q.data = rows(memory, a.q, a.batch, a.q_heads, a.q_tokens, a.head_dim, false, 1);
  a.keys.data = rows(memory, a.keys, a.batch, a.kv_heads, a.kv_tokens, a.head_dim, false, 1);
  a.values.data = rows(memory, a.values, a.batch, a.kv_heads, a.kv_tokens, a.value_dim, false, 1);
  spoil(bytes, {&a.out.data, &a.q.data, &a.keys.data, &a.values.data}, false);
  spoil(bytes, {&a.positions, &a.kv_lengths});
  const bool overlaps = bytes.below(24) == 1;
  if (overlaps) a.out.data = const_cast<void*>(a.q.data);

  const size_t needed = fovea_integer_attention_workspace_bytes(&a);
  size_t given = needed;
  if (bytes.below(16) == 1) given = bytes.below(uint32_t(std::min(needed, kMostBytes) + 1));
  const double work =
      (1.0 + a.batch) * (1.0 + a.q_heads) * (1.0 + a.q_tokens) * (1.0 + a.kv_tokens) * (1.0 + a.head_dim + a.value_dim);
  if (given > kMostBytes || a.batch > kMostEntries || work > kMostWork) memory.complete = false;
  void* workspace = memory.complete && given != 0 ? memory.allocate(64, given, true) : nullptr;
  spoil(bytes, {&workspace});
  if (!memory.complete) workspace = nullptr;
  const fovea_status status = unchanged_if_refused(
      memory, [&] { return fovea_integer_attention(&a, workspace, workspace == nullptr ? 0 : given); });
  if (given < needed) expect(status != FOVEA_OK, "too small a workspace is not refused");
  if (status != FOVEA_OK || a.batch == 0 || a.q_tokens == 0) return;
  expect(!overlaps, "an overlap is not refused");
  expect(has_bits_of_definition(a), "an answer differs from the definition");
}

}  // namespace
}  // namespace fovea_test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fovea_test::run({data, bytes});
  return 0;
}
