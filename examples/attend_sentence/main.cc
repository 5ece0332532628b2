// SPDX-License-Identifier: Apache-2.0
//
// Attention on a real sentence, with queries, keys and values of a trained model (data.h). The program shows the
// weights, the difference from another implementation's output, the memory and the speed.
// The environment variable FOVEA_TARGET chooses the instruction set ("avx2", "scalar", ...). All memory is static.
// Exit code: 0, 1 when a result is wrong or a call fails, 2 when FOVEA_TARGET names no target that runs here.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "bench/fma_probe/fma_probe.h"
#include "examples/attend_sentence/data.h"
#include "examples/attend_sentence/heat_map.h"
#include "examples/attend_sentence/naive.h"
#include "fovea/fovea.h"
#include "platform/platform.h"

namespace attend_sentence {
namespace {

using fovea::platform::Console;

constexpr double kTolerance = 1e-5;  // largest allowed difference from the reference
constexpr int kMaxHeadDim = 64;      // of the calls below
constexpr double kMinBatchSeconds = 2e-3, kMeasurementSeconds = 0.06, kPatienceSeconds = 0.3;

// The heads that are shown, counted from 0, and what each attends to in this layer: the previous word, what the
// sentence is about, the word itself. make_data.py --survey shows all heads.
struct ShownHead {
  int head;
  const char* title;
};
constexpr ShownHead kShown[] = {{2, "head 2: previous"}, {3, "head 3: topic"}, {8, "head 8: itself"}};
constexpr int kShownHeads = 3;

struct Shape {
  int heads, q_tokens, kv_tokens, dim;
  double flops() const { return 4.0 * heads * q_tokens * kv_tokens * dim; }  // q k^T and p v, 2 a multiply-add
};
constexpr Shape kSentenceShape = {kHeads, kTokens, kTokens, kHeadDim};
constexpr Shape kSmall = {4, 64, 64, 32}, kLarge = {8, 512, 512, 64};
static_assert(kLarge.kv_tokens <= kNaiveMaxTokens && kLarge.dim <= kMaxHeadDim);
constexpr size_t kLargeFloats = size_t{8} * 512 * 64;

alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char workspace[FOVEA_ATTENTION_WORKSPACE_BYTES(kMaxHeadDim, kMaxHeadDim)];
float sentence_out[kHeads][kTokens][kHeadDim];
float sentence_weights[kHeads][kTokens][kTokens];
float speed_q[kLargeFloats], speed_k[kLargeFloats], speed_v[kLargeFloats], speed_out[kLargeFloats];

fovea_status make_plan(fovea_attention_plan* plan, const Shape& shape, fovea_target target) {
  fovea_attention_desc desc = {};
  desc.struct_bytes = sizeof desc;
  desc.q_heads = desc.kv_heads = static_cast<uint32_t>(shape.heads);
  desc.head_dim = desc.value_dim = static_cast<uint32_t>(shape.dim);
  desc.max_batch = 1;
  desc.max_q_tokens = static_cast<uint32_t>(shape.q_tokens);
  desc.max_kv_tokens = static_cast<uint32_t>(shape.kv_tokens);
  desc.target = target;
  desc.processor_features = fovea::platform::processor_features();
  return fovea_attention_plan_init(plan, &desc);
}

// The targets of this machine, best first.
fovea_target target_at(uint32_t index) {
  return fovea::platform::target_with_kernels(index, fovea::platform::processor_features());
}

// All arrays [heads][tokens][dim].
fovea_attention_args make_args(const Shape& shape, float* out, const float* q, const float* k, const float* v) {
  const ptrdiff_t token = shape.dim, q_head = token * shape.q_tokens, kv_head = token * shape.kv_tokens;
  fovea_attention_args args = {};
  args.struct_bytes = sizeof args;
  args.batch = 1;
  args.q_tokens = static_cast<uint32_t>(shape.q_tokens);
  args.kv_tokens = static_cast<uint32_t>(shape.kv_tokens);
  args.out = {out, q_head * shape.heads, q_head, token};
  args.q = {q, q_head * shape.heads, q_head, token};
  args.kv.keys = {k, kv_head * shape.heads, kv_head, token};
  args.kv.values = {v, kv_head * shape.heads, kv_head, token};
  return args;
}

fovea_attention_args sentence_args() {
  return make_args(kSentenceShape, &sentence_out[0][0][0], &kData.q[0][0][0], &kData.k[0][0][0], &kData.v[0][0][0]);
}

bool works(fovea_status status) {
  if (status != FOVEA_OK) std::fprintf(stderr, "attend_sentence: %s\n", fovea_status_string(status));
  return status == FOVEA_OK;
}

// Largest absolute difference of sentence_out from the reference; a NaN counts as infinity.
double largest_difference() {
  double largest = 0.0;
  for (int i = 0; i < kHeads * kTokens * kHeadDim; ++i) {
    const double difference = std::fabs(static_cast<double>((&sentence_out[0][0][0])[i]) - (&kData.out[0][0][0])[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return largest;
}

// Seconds of one call: the median of up to nine batches, each long enough for the clock, after a call to warm up.
template <class Call>
double median_seconds(const Call& call) {
  const auto batch_seconds = [&](int calls) {
    const uint64_t begin = fovea::platform::clock_ns();
    for (int i = 0; i < calls; ++i) call();
    return static_cast<double>(fovea::platform::clock_ns() - begin) * 1e-9;
  };
  int calls = 1;
  double seconds = batch_seconds(calls);
  for (; seconds < kMinBatchSeconds; seconds = batch_seconds(calls)) calls *= 2;
  if (seconds > kPatienceSeconds) return seconds;  // an emulator or a debug build
  const int batches = std::clamp(static_cast<int>(kMeasurementSeconds / seconds), 1, 9);
  double measured[9];
  for (int i = 0; i < batches; ++i) measured[i] = batch_seconds(calls);
  std::nth_element(measured, measured + batches / 2, measured + batches);
  return measured[batches / 2] / calls;
}

void print_title(const Console& console, const char* title) {
  std::printf(console.colours ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

// Wraps the text to the console's width.
void print_wrapped(const Console& console, const char* text, const char* indent) {
  size_t column = 0;
  for (const char* word = text; *word;) {
    const size_t length = std::strcspn(word, " ");
    if (column && column + 1 + length > console.columns) {
      std::printf("\n");
      column = 0;
    }
    column += static_cast<size_t>(std::printf("%s%.*s", column ? " " : indent, static_cast<int>(length), word));
    word += length;
    word += std::strspn(word, " ");
  }
  std::printf("\n");
}

// The word with the largest weight of a row, without [CLS] and [SEP].
int first_choice(const float* row) { return static_cast<int>(std::max_element(row + 1, row + kTokens - 1) - row); }

void print_first_choice(const float* row) {
  const int j = first_choice(row);
  if (row[j] < 0.005f) {
    std::printf("%-17s", "-");
  } else {
    std::printf("%-10s%4.2f   ", kTokenText[j], static_cast<double>(row[j]));
  }
}

void show_weights(const Console& console) {
  print_title(console, "Who looks at whom: rows ask, columns are looked at");
  HeatMap maps[kShownHeads];
  for (int m = 0; m < kShownHeads; ++m) maps[m] = {kShown[m].title, &sentence_weights[kShown[m].head][0][0]};
  print_heat_maps(console, maps, kShownHeads, kTokenText, kTokens);

  print_title(console, "The word that each word looks at most ([CLS] and [SEP] left out)");
  std::printf("%10s ", "");
  for (const ShownHead& shown : kShown) std::printf("head %-12d", shown.head);
  std::printf("mean of %d heads\n", kHeads);
  for (int i = 1; i < kTokens - 1; ++i) {
    std::printf("%10s ", kTokenText[i]);
    for (const ShownHead& shown : kShown) print_first_choice(sentence_weights[shown.head][i]);
    float mean[kTokens] = {};
    for (int h = 0; h < kHeads; ++h) {
      for (int j = 0; j < kTokens; ++j) mean[j] += sentence_weights[h][i][j] / kHeads;
    }
    const int j = first_choice(mean);
    std::printf("%-10s%4.2f\n", kTokenText[j], static_cast<double>(mean[j]));
  }
}

// Makes one call with weights as an output, and shows them. False when the call fails or its output is wrong.
bool attend(const Console& console, fovea_target target) {
  fovea_attention_plan plan;
  if (!works(make_plan(&plan, kSentenceShape, target))) return false;
  fovea_attention_args args = sentence_args();
  args.scores = {sentence_weights, kHeads * kTokens * kTokens, kTokens * kTokens, kTokens};
  args.scores_stage = FOVEA_SCORES_SOFTMAX;
  if (!works(fovea_attention(&plan, &args, workspace, sizeof workspace))) return false;

  std::printf("\"%s\"\n", kSentence);
  std::printf("as layer %d of all-MiniLM-L6-v2 sees it: %d tokens, %d heads of %d\n", kLayer, kTokens, kHeads,
              kHeadDim);
  show_weights(console);

  const double difference = largest_difference();
  char description[512];
  fovea_attention_plan_describe(&plan, kTokens, kTokens, description, sizeof description);
  print_title(console, "The call");
  print_wrapped(console, description, "  ");
  size_t bytes = 0;
  if (!works(fovea_attention_workspace_bytes(&plan, &bytes))) return false;
  std::printf("  workspace: %zu bytes, given by the caller; nothing is allocated\n", bytes);
  std::printf("  largest difference from %s: %.1e (%s %.0e)\n", kReferenceBy, difference,
              difference <= kTolerance ? "allowed:" : "TOO MUCH, allowed:", kTolerance);
  return difference <= kTolerance;
}

// Makes the same call on every target. False when one is wrong.
bool compare_targets(const Console& console) {
  print_title(console, "The same call on every target of this machine");
  std::printf("  %-13s %-8s  %13s  %15s  %14s\n", "target", "backend", "microseconds", "naive / this", "difference");
  const double naive = median_seconds([] {
    naive_attention(&sentence_out[0][0][0], &kData.q[0][0][0], &kData.k[0][0][0], &kData.v[0][0][0], kHeads, kTokens,
                    kTokens, kHeadDim);
  });
  const double naive_difference = largest_difference();
  bool right = true;
  fovea_target target;
  for (uint32_t i = 0; (target = target_at(i)) != FOVEA_TARGET_BEST; ++i) {
    fovea_attention_plan plan;
    if (!works(make_plan(&plan, kSentenceShape, target))) return false;
    const fovea_attention_args args = sentence_args();
    std::memset(sentence_out, 0, sizeof sentence_out);
    if (!works(fovea_attention(&plan, &args, workspace, sizeof workspace))) return false;
    const double difference = largest_difference();
    right = right && difference <= kTolerance;
    const double seconds = median_seconds([&] { fovea_attention(&plan, &args, workspace, sizeof workspace); });
    std::printf("  %-13s %-8s  %13.2f  %14.1fx  %14.1e%s\n", fovea_target_name(target), fovea_target_backend(target),
                seconds * 1e6, naive / seconds, difference, difference <= kTolerance ? "" : " WRONG");
  }
  std::printf("  %-13s %-8s  %13.2f  %14.1fx  %14.1e\n", "naive loops", "-", naive * 1e6, 1.0, naive_difference);
  return right;
}

// 10^9 operations a second of the call on random numbers, or of the naive loops if plan is null.
double gflops(const Shape& shape, const fovea_attention_plan* plan) {
  const fovea_attention_args args = make_args(shape, speed_out, speed_q, speed_k, speed_v);
  const double seconds = median_seconds([&] {
    if (plan) {
      fovea_attention(plan, &args, workspace, sizeof workspace);
    } else {
      naive_attention(speed_out, speed_q, speed_k, speed_v, shape.heads, shape.q_tokens, shape.kv_tokens, shape.dim);
    }
  });
  return shape.flops() / seconds * 1e-9;
}

// A target that is named after its library has the probe of its vector width.
double peak_gflops(const fovea_attention_plan& plan) {
  const fovea_target target = fovea_attention_plan_desc(&plan)->target;
  if (target != FOVEA_TARGET_XSIMD) return fovea::bench::fma_peak_gflops(target);
  fovea_attention_kernel kernel = {};
  fovea_attention_plan_kernel(&plan, 1, &kernel);
  const fovea_target by_width = kernel.lanes == 16  ? FOVEA_TARGET_AVX512
                                : kernel.lanes == 8 ? FOVEA_TARGET_AVX2
                                                    : FOVEA_TARGET_SSE4;
  return fovea::bench::fma_peak_gflops(by_width);
}

void print_speed(double speed, double peak) {
  std::printf("  %8.1f", speed);
  if (peak > 0.0) {
    std::printf("  %5.2f", speed / peak);
  } else {
    std::printf("  %5s", "-");
  }
}

// Speed of two calls on each target, in GFLOP/s and as a fraction of the multiply-add peak.
bool show_speed(const Console& console) {
  uint32_t state = 1;
  for (float* array : {speed_q, speed_k, speed_v}) {
    for (size_t i = 0; i < kLargeFloats; ++i) {
      state = state * 1664525u + 1013904223u;
      array[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;  // -1 to 1
    }
  }
  print_title(console, "Speed in GFLOP/s, and as part of this core's multiply-add peak");
  std::printf("  heads x queries x keys x dim:        %15s  %15s\n", "4x64x64x32", "8x512x512x64");
  std::printf("  %-13s %-8s  %10s  %8s  %5s  %8s  %5s\n", "target", "backend", "peak", "GFLOP/s", "part", "GFLOP/s",
              "part");
  bool packed = false;
  fovea_target target;
  for (uint32_t i = 0; (target = target_at(i)) != FOVEA_TARGET_BEST; ++i) {
    fovea_attention_plan small, large;
    if (!works(make_plan(&small, kSmall, target)) || !works(make_plan(&large, kLarge, target))) return false;
    double peak = peak_gflops(small);
    const double small_speed = gflops(kSmall, &small), large_speed = gflops(kLarge, &large);
    peak = std::max(peak, peak_gflops(small));  // again: another program may have had the core the first time
    std::printf("  %-13s %-8s  %10.1f", fovea_target_name(target), fovea_target_backend(target), peak);
    print_speed(small_speed, peak);
    print_speed(large_speed, peak);
    std::printf("\n");
    packed = packed || (target == FOVEA_TARGET_SCALAR && peak > 0.0 && std::max(small_speed, large_speed) > peak);
  }
  std::printf("  %-13s %-8s  %10s", "naive loops", "-", "-");
  print_speed(gflops(kSmall, nullptr), 0.0);
  print_speed(gflops(kLarge, nullptr), 0.0);
  if (packed) std::printf("\n  scalar above 1: the compiler packs some of its floats into vectors");
  std::printf("\n  %s; one thread; median times\n", fovea::platform::processor_name());
  return true;
}

}  // namespace
}  // namespace attend_sentence

int main() {
  const fovea_target target = fovea::platform::target_from_environment();
  if (target == fovea::platform::kNoTarget) return fovea::platform::kExitUsage;
  const fovea::platform::Console console = fovea::platform::console();
  bool right = attend_sentence::attend(console, target);
  right = attend_sentence::compare_targets(console) && right;
  right = attend_sentence::show_speed(console) && right;
  return right ? 0 : 1;
}
