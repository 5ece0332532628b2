// SPDX-License-Identifier: Apache-2.0
//
// One layer's attention without an operating system or heap, on a real sentence's queries, keys and values: once in
// int8 from end to end, without floating point, once by one call in f32, and once by a stream that gets keys and values
// in two pieces. The outputs are compared with ONNX Runtime's.
#include "../attend_sentence/data.h"
#include "board/board.h"
#include "fovea/fovea.h"

namespace {

using namespace attend_sentence;

constexpr uint32_t kFirstPiece = 5;  // keys; the second piece has the others
constexpr float kTolerance = 1e-5f;  // largest allowed difference from the reference
constexpr float kInt8Tolerance = 0.03f;

// All memory of the program.
fovea_attention_plan g_plan;
fovea_attention_args g_args;
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char g_workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(kHeadDim, kHeadDim)];
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char g_state[FOVEA_STREAM_STATE_BYTES(kHeads * kTokens, kHeadDim)];
float g_out[kHeads][kTokens][kHeadDim];
fovea_status g_status;

// The same tensors in int8, each with one scale.
constexpr int kNumbers = kHeads * kTokens * kHeadDim;
fovea_integer_attention_args g_int8_args;
alignas(FOVEA_WORKSPACE_ALIGNMENT)
    unsigned char g_int8_workspace[FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(kHeadDim, kHeadDim, kTokens)];
int8_t g_int8_q[kNumbers], g_int8_keys[kNumbers], g_int8_values[kNumbers], g_int8_out[kNumbers];
float g_int8_out_scale;

// ---- The work.

template <class T, class Element>
T array(Element* data) {
  return {data, 0, ptrdiff_t{kTokens} * kHeadDim, kHeadDim};
}

fovea_status prepare() {
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = kHeads;
  desc.head_dim = desc.value_dim = kHeadDim;
  desc.max_batch = 1;
  desc.max_q_tokens = desc.max_kv_tokens = kTokens;

  g_args.struct_bytes = sizeof g_args;
  g_args.batch = 1;
  g_args.q_tokens = g_args.kv_tokens = kTokens;
  g_args.out = array<fovea_out>(&g_out[0][0][0]);
  g_args.q = array<fovea_in>(&kData.q[0][0][0]);
  g_args.kv.keys = array<fovea_in>(&kData.k[0][0][0]);
  g_args.kv.values = array<fovea_in>(&kData.v[0][0][0]);
  return fovea_attention_plan_init(&g_plan, &desc);
}

void attend() { g_status = fovea_attention(&g_plan, &g_args, g_workspace, sizeof g_workspace); }

fovea_status push(fovea_stream_state* state, uint32_t first_key, uint32_t keys) {
  fovea_attention_args piece = g_args;
  piece.kv_tokens = keys;
  piece.kv.keys.data = &kData.k[0][first_key][0];
  piece.kv.values.data = &kData.v[0][first_key][0];
  return fovea_stream_push(&g_plan, state, &piece, g_workspace, sizeof g_workspace);
}

void attend_in_pieces() {
  fovea_stream_state* const state = reinterpret_cast<fovea_stream_state*>(g_state);
  g_status = fovea_stream_begin(&g_plan, state, sizeof g_state, 1, kTokens, 0);
  if (g_status == FOVEA_OK) g_status = push(state, 0, kFirstPiece);
  if (g_status == FOVEA_OK) g_status = push(state, kFirstPiece, kTokens - kFirstPiece);
  if (g_status == FOVEA_OK) g_status = fovea_stream_end(&g_plan, state, &g_args, g_workspace, sizeof g_workspace);
}

// The scale with which the largest number becomes 127.
float scale_of(const float* x) {
  float largest = 0;
  for (int i = 0; i < kNumbers; ++i) {
    const float size = x[i] < 0 ? -x[i] : x[i];
    if (size > largest) largest = size;
  }
  return largest / 127;
}

float to_int8(const float* x, int8_t* codes) {
  const float scale = scale_of(x);
  for (int i = 0; i < kNumbers; ++i) codes[i] = static_cast<int8_t>(x[i] / scale + (x[i] < 0 ? -0.5f : 0.5f));
  return scale;
}

// In a product this is done when the model is made; the firmware has only the codes and two pairs of constants.
fovea_status prepare_int8() {
  const float q_scale = to_int8(&kData.q[0][0][0], g_int8_q);
  const float key_scale = to_int8(&kData.k[0][0][0], g_int8_keys);
  const float value_scale = to_int8(&kData.v[0][0][0], g_int8_values);
  g_int8_out_scale = scale_of(&kData.out[0][0][0]);
  const float octaves = q_scale * key_scale * 1.44269504f * 0.176776695f;  // log2(e) / sqrt(kHeadDim)

  fovea_integer_attention_args& args = g_int8_args;
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_heads = args.kv_heads = kHeads;
  args.q_tokens = args.kv_tokens = kTokens;
  args.head_dim = args.value_dim = kHeadDim;
  args.out = array<fovea_out>(g_int8_out);
  args.q = array<fovea_in>(g_int8_q);
  args.keys = array<fovea_in>(g_int8_keys);
  args.values = array<fovea_in>(g_int8_values);
  const fovea_status status = fovea_integer_multiplier(octaves, &args.score_multiplier, &args.score_shift);
  if (status != FOVEA_OK) return status;
  return fovea_integer_multiplier(value_scale / g_int8_out_scale, &args.out_multiplier, &args.out_shift);
}

void attend_int8() { g_status = fovea_integer_attention(&g_int8_args, g_int8_workspace, sizeof g_int8_workspace); }

void widen_int8_out() {
  for (int i = 0; i < kNumbers; ++i) (&g_out[0][0][0])[i] = g_int8_out_scale * static_cast<float>(g_int8_out[i]);
}

// The largest difference from the reference; at most 1, and 1 for NaN.
float largest_difference() {
  float largest = 0;
  for (int h = 0; h < kHeads; ++h) {
    for (int t = 0; t < kTokens; ++t) {
      for (int d = 0; d < kHeadDim; ++d) {
        const float difference = g_out[h][t][d] - kData.out[h][t][d];
        const float size = difference < 0 ? -difference : difference;
        if (!(size <= largest)) largest = size <= 1 ? size : 1;
        g_out[h][t][d] = 0;
      }
    }
  }
  return largest;
}

// ---- What is printed.

using board::print;

void print(size_t number, unsigned least_digits = 1) {
  char text[24];
  char* p = text + sizeof text;
  *--p = 0;
  for (unsigned digits = 0; number != 0 || digits < least_digits; ++digits, number /= 10) {
    *--p = static_cast<char>('0' + number % 10);
  }
  print(p);
}

void print_row(const char* what, size_t number, const char* unit, const char* note) {
  print(what);
  print(number);
  print(unit);
  print(note);
}

// Runs work, prints its time and whether its output is right, and returns the latter. widen, if given, converts the
// output to floats.
bool show(const char* what, void (*work)(), float tolerance = kTolerance, void (*widen)() = nullptr) {
  const board::Cost cost = board::measure(work);
  if (g_status != FOVEA_OK) {
    print(fovea_status_string(g_status));
    print("\n");
    return false;
  }
  if (widen) widen();
  const float difference = largest_difference();
  const bool right = difference <= tolerance;
  print_row(what, cost.count, " ", cost.unit);
  print("; largest difference from ");
  print(kReferenceBy);
  print(": ");
  print(static_cast<size_t>(difference * 1e9f));
  print(right ? "e-9, right\n" : "e-9, WRONG\n");
  return right;
}

}  // namespace

int main() {
  g_status = prepare();
  if (g_status == FOVEA_OK) g_status = prepare_int8();
  if (g_status != FOVEA_OK) {
    print(fovea_status_string(g_status));
    print("\n");
    return 1;
  }
  print("fovea on " FIRMWARE_BOARD ", target ");
  print(fovea_target_name(fovea_attention_plan_desc(&g_plan)->target));
  print(": ");
  print(kSentence);
  print("\n");
  const bool right_in_int8 = show("int8        ", attend_int8, kInt8Tolerance, widen_int8_out);
  const size_t int8_stack_bytes = board::stack_bytes_used();
  const bool right = show("one call    ", attend);
  const bool right_in_pieces = show("two pieces  ", attend_in_pieces);

  const board::Memory memory = board::memory();
  print_row("flash       ", memory.flash_bytes, " bytes, ", "of which ");
  print_row("", sizeof kData, " are", " the input and the reference\n");
  print_row("data        ", memory.data_bytes, " bytes", "\n");
  print_row("bss         ", memory.bss_bytes, " bytes", ", of which\n");
  print_row("  workspace ", sizeof g_workspace, " bytes", "\n");
  print_row("  for int8  ", sizeof g_int8_workspace, " bytes", ", its workspace\n");
  print_row("  codes     ", 4 * sizeof g_int8_q, " bytes", ", int8 tensors\n");
  print_row("  state     ", sizeof g_state, " bytes", ", for the pieces\n");
  print_row("  output    ", sizeof g_out, " bytes", "\n");
  print_row("stack       ", board::stack_bytes_used(), " bytes used, ", "of ");
  print_row("", memory.stack_bytes, "; until int8 was done ", "");
  print_row("", int8_stack_bytes, "", "\n");
  return right_in_int8 && right && right_in_pieces ? 0 : 1;
}
