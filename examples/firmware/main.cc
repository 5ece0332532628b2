// SPDX-License-Identifier: Apache-2.0
//
// One layer's attention on a processor without an operating system, heap or C library: a real sentence's queries, keys
// and values, held against what ONNX Runtime answers.
#include <cstddef>
#include <cstdint>

#include "data.h"
#include "fovea/fovea.h"
#include "platform/bare/semihosting.h"
#include "platform/bare/start.h"
#include "platform/platform.h"

namespace {

using namespace attend_sentence;

// All memory of the program: nothing is allocated.
alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char g_workspace[FOVEA_WORKSPACE_BYTES(kHeadDim, kHeadDim)];
float g_out[kHeads][kTokens][kHeadDim];
fovea_plan g_plan;

// ---- Printing. On a board: write the text to a UART instead.

void print(const char* text) { fovea::semihosting::write_text(text); }

void print(uint64_t number, unsigned least_digits = 1) {
  char text[24];
  char* p = text + sizeof text;
  *--p = 0;
  for (unsigned digits = 0; number != 0 || digits < least_digits; ++digits, number /= 10) {
    *--p = static_cast<char>('0' + number % 10);
  }
  print(p);
}

void print(const char* what, uint64_t number, const char* unit) {
  print(what);
  print(number);
  print(unit);
}

// ---- The work.

template <class T>
T array(const float* data) {
  T a = {};
  a.data = const_cast<float*>(data);
  a.head_stride = ptrdiff_t{kTokens} * kHeadDim;
  a.token_stride = kHeadDim;
  return a;
}

fovea_status attend(fovea_attention_args* args) {
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = kHeads;
  desc.head_dim = desc.value_dim = kHeadDim;
  desc.max_batch = 1;
  desc.max_q_tokens = desc.max_kv_tokens = kTokens;
  const fovea_status status = fovea_plan_init(&g_plan, &desc);
  if (status != FOVEA_OK) return status;

  args->struct_bytes = sizeof *args;
  args->batch = 1;
  args->q_tokens = args->kv_tokens = kTokens;
  args->out = array<fovea_out>(&g_out[0][0][0]);
  args->q = array<fovea_in>(&kQ[0][0][0]);
  args->kv.keys = array<fovea_in>(&kK[0][0][0]);
  args->kv.values = array<fovea_in>(&kV[0][0][0]);
  return fovea_attention(&g_plan, args, g_workspace, sizeof g_workspace);
}

// The largest difference from the reference; NaN counts as a large one.
float largest_difference() {
  float largest = 0;
  for (int h = 0; h < kHeads; ++h) {
    for (int t = 0; t < kTokens; ++t) {
      for (int d = 0; d < kHeadDim; ++d) {
        const float difference = g_out[h][t][d] - kOut[h][t][d];
        const float size = difference < 0 ? -difference : difference;
        if (!(size <= largest)) largest = size <= 1 ? size : 1;
      }
    }
  }
  return largest;
}

size_t distance(const void* begin, const void* end) {
  return reinterpret_cast<uintptr_t>(end) - reinterpret_cast<uintptr_t>(begin);
}

}  // namespace

int main(int, char**) {
  fovea_attention_args args = {};
  fovea_status status = attend(&args);  // once to warm up, and to see the status
  if (status != FOVEA_OK) {
    print(fovea_status_string(status));
    print("\n");
    return 1;
  }
  using namespace fovea::platform;
  stack_paint();
  const size_t stack_before = stack_in_use_bytes();
  const uint64_t begin = clock_ticks();
  status = fovea_attention(&g_plan, &args, g_workspace, sizeof g_workspace);
  const uint64_t ticks = clock_ticks() - begin;
  const size_t stack = stack_used_bytes() - stack_before;

  print("fovea on " FIRMWARE_BOARD ", target ");
  print(fovea_target_name(g_plan.desc.target));
  print(": ");
  print(kSentence);
  print("\n");

  const size_t data = distance(data_begin, data_end);
  print("flash      ", distance(code_begin, code_end) + data, " bytes, of which ");
  print("", sizeof kQ + sizeof kK + sizeof kV + sizeof kOut, " are the input and the reference\n");
  print("data       ", data, " bytes\n");
  print("bss        ", distance(bss_begin, bss_end), " bytes, of which ");
  print("", sizeof g_workspace, " are the workspace\n");
  print("workspace  ", fovea_workspace_bytes(&g_plan), " bytes are needed\n");
  print("plan       ", sizeof g_plan, " bytes, state of a call: none is kept\n");
  print("stack      ", stack, " bytes for the call\n");
  const uint64_t products = uint64_t{2} * kHeads * kTokens * kTokens * kHeadDim;
  print("call       ", ticks, " ");
  print(clock_unit());
  print(" by ");
  print(clock_source());
  print(", ", products, " multiply-adds\n");

  const float difference = largest_difference();
  print("largest difference from ");
  print(kReferenceBy);
  print(": 0.");
  print(static_cast<uint64_t>(difference * 1e9f), 9);
  const bool right = status == FOVEA_OK && difference < 1e-5f;
  print(right ? ", right\n" : ", WRONG\n");
  return right ? 0 : 1;
}
