// SPDX-License-Identifier: Apache-2.0
//
// fovea_bench where there is no operating system: small cases, and a line of JSON for each through the console, with
// members named as those of the host's results. Times are in what the finest counter counts: cycles_median, say, in
// place of ns_median.
//   --filter TEXT        only cases whose name has TEXT in it
//   --shape "KEY=N ..."  this shape in place of the cases; may be given several times. Keys: see the host's --help
#include <cstdio>
#include <cstring>

#include "bench/json.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/subjects.h"
#include "bench/work.h"
#include "platform/platform.h"

namespace fovea::bench {
namespace {

constexpr const char* kShapes[] = {
    "q=64 heads=4",
    "q=64 heads=4 dim=32",
    "q=64 heads=4 causal=1",
    "q=64 heads=4 mask=byte",
    "q=16 heads=4 dim=32",
    "q=1 k=64 heads=4 dim=32",
    "q=1 k=256 heads=8 kv_heads=2 dim=64",
    "q=1 k=256 heads=8 kv_heads=2 dim=64 kv=i8",
};
constexpr SoftmaxShape kSoftmaxes[] = {{16, 64, 1, false, false, false}, {1, 1024, 1, false, false, false}};

// "cycles" of "cycles", "ticks" of "ticks of SysTick".
const char* unit() {
  static char word[16];
  const char* const text = platform::clock_unit();
  std::snprintf(word, sizeof word, "%.*s", static_cast<int>(std::strcspn(text, " ")), text);
  return word;
}

void member(Json& json, const char* format, double value) {
  char key[48];
  std::snprintf(key, sizeof key, format, unit());
  json.member(key, value);
}

double clock_overhead() {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 15; ++i) {
    const uint64_t begin = platform::clock_ticks(), taken = platform::clock_ticks() - begin;
    if (taken < least) least = taken;
  }
  return static_cast<double>(least);
}

// False where the case did not run.
template <class Call>
bool report(const Case& one, Call& call, fovea_status status, double multiply_adds, size_t workspace_bytes) {
  char name[kNameBytes];
  name_of(one, name);
  Json json(stdout, 0);
  json.begin('{').member("name", name).member("suite", one.suite);
  json.member("target", fovea_target_name(fovea_target_at(0)));
  json.member("backend", fovea_target_backend(fovea_target_at(0)));
  json.member("processor", platform::processor_name()).member("clock", platform::clock_source());
  json.member("unit", platform::clock_unit());
  if (status != FOVEA_OK) {
    json.member("error", fovea_status_string(status)).end('}');
    return false;
  }
  platform::stack_paint();
  const size_t stack_in_use = platform::stack_in_use_bytes();
  call.call();
  const size_t stack_used = platform::stack_used_bytes();
  Method method = {};
  method.clock_ns = platform::clock_ticks;
  method.overhead_ns = clock_overhead();
  method.min_seconds = 1e-3;  // a million ticks
  const Times times = measure(call, method);
  member(json, "%s_median", times.ns_median);
  member(json, "%s_mad", times.ns_mad);
  member(json, "%s_min", times.ns_min);
  if (multiply_adds > 0) {
    json.member("multiply_adds", multiply_adds);
    member(json, "%s_a_multiply_add", times.ns_median / multiply_adds);
  }
  json.member("batches", static_cast<double>(times.batches));
  json.member("calls_a_batch", static_cast<double>(times.calls_a_batch));
  json.member("workspace_bytes", static_cast<double>(workspace_bytes));
  json.member("stack_bytes", static_cast<double>(stack_used - stack_in_use));
  json.flag("finite", call.output_is_finite());
  json.end('}');
  return call.status() == FOVEA_OK && call.output_is_finite();
}

bool run_attention(const Shape& shape, const char* suite) {
  const Case one = {suite, Kind::kAttention, shape, {}, {}, nullptr};
  const size_t bytes = AttentionCall::arena_bytes(shape, FOVEA_TARGET_BEST);
  void* const memory = allocate(bytes);
  Arena arena(memory, bytes);
  AttentionCall call;
  const fovea_status status = call.init(shape, FOVEA_TARGET_BEST, nullptr, arena);
  const fovea_plan& plan = call.plan();
  const double multiply_adds = status == FOVEA_OK ? work_of(shape, plan).flops / 2 : 0;
  const bool ran = report(one, call, status, multiply_adds, plan.workspace_bytes);
  release(memory);
  return ran;
}

bool run_softmax(const SoftmaxShape& shape) {
  const Case one = {"softmax", Kind::kSoftmax, {}, shape, {}, nullptr};
  const size_t bytes = SoftmaxCall::arena_bytes(shape);
  void* const memory = allocate(bytes);
  Arena arena(memory, bytes);
  SoftmaxCall call;
  const bool ran = report(one, call, call.init(shape, FOVEA_TARGET_BEST, arena), 0, 0);
  release(memory);
  return ran;
}

bool chosen(const Case& one, const char* filter) {
  char name[kNameBytes];
  name_of(one, name);
  return std::strstr(name, filter) != nullptr;
}

int bench(int argc, char** argv) {
  const char* filter = "";
  bool own = false, right = true;
  for (int i = 1; i < argc; ++i) {
    Shape shape;
    if (i + 1 < argc && std::strcmp(argv[i], "--filter") == 0) {
      filter = argv[++i];
    } else if (i + 1 < argc && std::strcmp(argv[i], "--shape") == 0) {
      if (const char* mistake = parse_shape(argv[++i], &shape)) {
        std::printf("fovea_bench: --shape: %s\n", mistake);
        return platform::kExitUsage;
      }
      own = true;
      right = run_attention(shape, "shape") && right;
    } else if (std::strncmp(argv[i], "--", 2) == 0) {
      std::printf("fovea_bench: here there are --filter TEXT and --shape \"KEY=N ...\", not %s\n", argv[i]);
      return platform::kExitUsage;
    }
  }
  if (own) return right ? 0 : 1;
  for (const char* text : kShapes) {
    Shape shape;
    if (parse_shape(text, &shape)) return platform::kExitUsage;
    const Case one = {"board", Kind::kAttention, shape, {}, {}, nullptr};
    if (chosen(one, filter)) right = run_attention(shape, "board") && right;
  }
  for (const SoftmaxShape& shape : kSoftmaxes) {
    const Case one = {"softmax", Kind::kSoftmax, {}, shape, {}, nullptr};
    if (chosen(one, filter)) right = run_softmax(shape) && right;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace fovea::bench

int main(int argc, char** argv) { return fovea::bench::bench(argc, argv); }
