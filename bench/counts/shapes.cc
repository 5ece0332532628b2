// SPDX-License-Identifier: Apache-2.0
//
// The program whose instructions bench/bounds.py counts, for boards in an emulator:
//   fovea_shapes OPERATOR COUNT SEED
// It calls the operator once for each of COUNT shapes that are drawn by SEED, and prints a line for each: the operator,
// q_tokens, kv_tokens, q_heads, kv_heads, head_dim, value_dim and the instructions of the call. Operators are attention,
// causal (attention), integer (attention) and softmax, which has q_tokens rows of kv_tokens elements.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fovea/fovea.h"
#include "platform/platform.h"

namespace {

constexpr uint32_t kMostDim = 64, kMostRows = 192, kMostKeys = 256, kMostHeads = 4;
constexpr uint32_t kMostWork = 1u << 19;  // multiply-adds of a product: SysTick does not wrap

float queries[kMostRows * kMostDim], keys[kMostHeads * kMostKeys * kMostDim], values[kMostHeads * kMostKeys * kMostDim],
    out[kMostRows * kMostDim];
// Of integer attention, whose counts differ a little by scores: queries of any codes, of zeros, and of the largest and smallest.
constexpr int kKinds = 3;
int8_t query_codes[kKinds][kMostRows * kMostDim], key_codes[kMostHeads * kMostKeys * kMostDim],
    value_codes[kMostHeads * kMostKeys * kMostDim], out_codes[kMostRows * kMostDim];
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[65536];

uint32_t state;
uint32_t below(uint32_t end) {
  state = state * 1664525u + 1013904223u;
  return uint32_t((uint64_t{state} * end) >> 32);
}
// At least 1, and small numbers as often as large ones.
uint32_t draw(uint32_t most) { return 1 + below(1 + below(most)); }

void fill() {
  for (float& x : queries) x = float(below(2001)) * 0.001f - 1.0f;
  for (float& x : keys) x = float(below(2001)) * 0.001f - 1.0f;
  for (float& x : values) x = float(below(2001)) * 0.001f - 1.0f;
  for (int8_t& x : query_codes[0]) x = int8_t(below(256) - 128);
  for (int8_t& x : query_codes[2]) x = below(2) != 0 ? int8_t(127) : int8_t(-128);
  for (int8_t& x : key_codes) x = int8_t(below(256) - 128);
  for (int8_t& x : value_codes) x = int8_t(below(256) - 128);
}

struct Shape {
  uint32_t q_tokens, kv_tokens, q_heads, kv_heads, head_dim, value_dim;
};

Shape draw_shape(bool softmax) {
  for (;;) {
    Shape s;
    s.kv_heads = softmax ? 1 : 1 + below(kMostHeads);
    s.q_heads = softmax ? 1 : s.kv_heads * (1 + below(4));
    s.q_tokens = draw(48);
    s.kv_tokens = draw(kMostKeys);
    s.head_dim = softmax ? 1 : 4 * draw(kMostDim / 4);
    s.value_dim = softmax ? 1 : 4 * draw(kMostDim / 4);
    const uint32_t rows = s.q_tokens * s.q_heads, dim = s.head_dim > s.value_dim ? s.head_dim : s.value_dim;
    if (rows <= kMostRows && rows * s.kv_tokens * dim <= kMostWork) return s;
  }
}

fovea_in rows_of(const void* data, uint32_t tokens, uint32_t dim) {
  return {data, 0, ptrdiff_t(tokens * dim), ptrdiff_t(dim)};
}

// How many instructions the call takes; 0 if it fails.
uint64_t attention(const Shape& s, bool causal) {
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = s.q_heads, desc.kv_heads = s.kv_heads;
  desc.head_dim = s.head_dim, desc.value_dim = s.value_dim;
  desc.max_batch = 1;
  desc.max_q_tokens = s.q_tokens, desc.max_kv_tokens = s.kv_tokens;
  desc.causal = causal ? FOVEA_CAUSAL_BOTTOM_RIGHT : FOVEA_CAUSAL_NONE;
  fovea_attention_plan plan;
  if (fovea_attention_plan_init(&plan, &desc) != FOVEA_OK) return 0;
  fovea_attention_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = s.q_tokens, args.kv_tokens = s.kv_tokens;
  args.q = rows_of(queries, s.q_tokens, s.head_dim);
  args.kv.keys = rows_of(keys, s.kv_tokens, s.head_dim);
  args.kv.values = rows_of(values, s.kv_tokens, s.value_dim);
  args.y = {out, 0, ptrdiff_t(s.q_tokens * s.value_dim), ptrdiff_t(s.value_dim)};
  const uint64_t begin = fovea::platform::clock_ticks();
  const fovea_status status = fovea_attention(&plan, &args, workspace, sizeof workspace);
  return status == FOVEA_OK ? fovea::platform::clock_ticks() - begin : 0;
}

// The most instructions, of all kinds of queries.
uint64_t integer_attention(const Shape& s) {
  fovea_integer_attention_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_heads = s.q_heads, args.kv_heads = s.kv_heads;
  args.q_tokens = s.q_tokens, args.kv_tokens = s.kv_tokens;
  args.head_dim = s.head_dim, args.value_dim = s.value_dim;
  args.keys = rows_of(key_codes, s.kv_tokens, s.head_dim);
  args.values = rows_of(value_codes, s.kv_tokens, s.value_dim);
  args.y.data = out_codes;
  args.y.head_stride = ptrdiff_t(s.q_tokens * s.value_dim);
  args.y.token_stride = ptrdiff_t(s.value_dim);
  if (fovea_integer_multiplier(0.001, &args.score_multiplier, &args.score_shift) != FOVEA_OK) return 0;
  if (fovea_integer_multiplier(1.0, &args.out_multiplier, &args.out_shift) != FOVEA_OK) return 0;
  uint64_t most = 0;
  for (const auto& codes : query_codes) {
    args.q = rows_of(codes, s.q_tokens, s.head_dim);
    const uint64_t begin = fovea::platform::clock_ticks();
    if (fovea_integer_attention(&args, workspace, sizeof workspace) != FOVEA_OK) return 0;
    const uint64_t count = fovea::platform::clock_ticks() - begin;
    if (count > most) most = count;
  }
  return most;
}

uint64_t softmax(const Shape& s) {
  fovea_softmax_args args = {};
  args.struct_bytes = sizeof args;
  args.x = keys, args.y = values;
  args.outer = s.q_tokens, args.axis = s.kv_tokens, args.inner = 1;
  args.x_outer_stride = args.y_outer_stride = ptrdiff_t(s.kv_tokens);
  args.x_axis_stride = args.y_axis_stride = 1;
  const uint64_t begin = fovea::platform::clock_ticks();
  const fovea_status status = fovea_softmax(&args);
  return status == FOVEA_OK ? fovea::platform::clock_ticks() - begin : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(fovea::platform::clock_unit(), "instructions") != 0) {
    std::printf("usage: OPERATOR COUNT SEED, in an emulator that counts instructions\n");
    return 2;
  }
  const bool causal = std::strcmp(argv[1], "causal") == 0;
  state = 1;
  fill();
  state = uint32_t(std::atoi(argv[3]));
  for (int i = std::atoi(argv[2]); i > 0; --i) {
    const bool rows = std::strcmp(argv[1], "softmax") == 0;
    const Shape s = draw_shape(rows);
    const uint64_t count = rows                                   ? softmax(s)
                           : std::strcmp(argv[1], "integer") == 0 ? integer_attention(s)
                                                                  : attention(s, causal);
    if (count == 0) return 1;
    std::printf("%s %u %u %u %u %u %u %lu\n", argv[1], unsigned(s.q_tokens), unsigned(s.kv_tokens), unsigned(s.q_heads),
                unsigned(s.kv_heads), unsigned(s.head_dim), unsigned(s.value_dim), static_cast<unsigned long>(count));
  }
  return 0;
}
