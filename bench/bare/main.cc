// SPDX-License-Identifier: Apache-2.0
//
// fovea_bench without an operating system: small cases, and a line of JSON for each through the console, with members
// named as in the host's results. Times are in units of the finest counter: cycles_median, for example, instead of
// ns_median.
#include <cstdio>
#include <cstring>

#include "bench/build.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/subjects.h"
#include "bench/work.h"
#include "platform/platform.h"

namespace fovea::bench {
namespace {

constexpr const char* kUsage =
    R"(fovea_bench, where there is no operating system:

  --filter TEXT        only cases whose name has TEXT in it
  --shape "KEY=N ..."  this shape in place of the cases; may be given several times. Keys and what they are without it:
%s  --help               this text
)";

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

// The first line: the facts that are the same for all cases.
void report_build() {
  Json json(stdout, 0);
  json.begin('{').key("host").begin('{');
  json.member("processor", platform::processor_name()).member("compiler", kCompiler).member("flags", kFlags);
  json.member("clock", platform::clock_source()).member("unit", platform::clock_unit());
  json.key("fovea_version").begin('[').number(FOVEA_VERSION_MAJOR).number(FOVEA_VERSION_MINOR);
  json.number(FOVEA_VERSION_PATCH).end(']').end('}').end('}');
}

// Too little memory for a case is not a failure.
bool report_no_memory(const Case& one, size_t bytes) {
  char name[kNameBytes];
  name_of(one, name);
  Json json(stdout, 0);
  json.begin('{').member("name", name).member("suite", one.suite).member("error", "too little memory");
  json.member("bytes", static_cast<double>(bytes)).end('}');
  return true;
}

// False if the case failed. A case that the build does not support has not failed.
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
    return status == FOVEA_ERR_UNSUPPORTED;
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

bool run_attention(const Case& one) {
  const Shape& shape = one.shape;
  const size_t bytes = AttentionCall::arena_bytes(shape, FOVEA_TARGET_BEST);
  void* const memory = allocate(bytes);
  if (!memory) return report_no_memory(one, bytes);
  Arena arena(memory, bytes);
  AttentionCall call;
  const fovea_status status = call.init(shape, FOVEA_TARGET_BEST, nullptr, arena);
  const fovea_attention_plan& plan = call.plan();
  const double multiply_adds = status == FOVEA_OK ? work_of(shape, plan).flops / 2 : 0;
  const bool ran = report(one, call, status, multiply_adds, bytes_of(fovea_attention_workspace_bytes, &plan));
  release(memory);
  return ran;
}

bool run_softmax(const Case& one) {
  const size_t bytes = arena_bytes<SoftmaxCall>(one.softmax);
  void* const memory = allocate(bytes);
  if (!memory) return report_no_memory(one, bytes);
  Arena arena(memory, bytes);
  SoftmaxCall call;
  const bool ran = report(one, call, call.init(one.softmax, FOVEA_TARGET_BEST, arena), 0, 0);
  release(memory);
  return ran;
}

bool chosen(const Case& one, const char* filter) {
  char name[kNameBytes];
  name_of(one, name);
  return std::strstr(name, filter) != nullptr;
}

struct Options {
  const char* filter = "";
  Shape shapes[8];
  size_t shape_count = 0;
};

// Null, or what is wrong.
const char* parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i += 2) {
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value && std::strcmp(argv[i], "--filter") == 0) {
      options->filter = value;
    } else if (value && std::strcmp(argv[i], "--shape") == 0) {
      if (options->shape_count == sizeof options->shapes / sizeof options->shapes[0]) return "too many shapes";
      if (const char* mistake = parse_shape(value, &options->shapes[options->shape_count++])) return mistake;
    } else {
      static char mistake[160];
      std::snprintf(mistake, sizeof mistake, "do not understand \"%.100s\", see --help", argv[i]);
      return mistake;
    }
  }
  return nullptr;
}

int bench(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::printf(kUsage, kShapeKeys);
    return 0;
  }
  static Options options;
  if (const char* mistake = parse(argc, argv, &options)) {
    std::printf("fovea_bench: %s\n", mistake);
    return platform::kExitUsage;
  }
  bool right = true;
  // Printing numbers takes memory that the C library keeps: now, so that it does not divide what the cases need in one piece.
  char text[32];
  const double numbers[] = {1e300 / 3, 1e-300 / 3, 1.0 / 3};
  for (const double number : numbers) std::snprintf(text, sizeof text, "%.17g", number);
  report_build();
  for (size_t i = 0; i < options.shape_count; ++i) {
    right = run_attention({"shape", Kind::kAttention, options.shapes[i], {}, {}, nullptr}) && right;
  }
  for (size_t i = 0; i < board_case_count() && options.shape_count == 0; ++i) {
    const Case& one = board_case_at(i);
    if (chosen(one, options.filter))
      right = (one.kind == Kind::kSoftmax ? run_softmax(one) : run_attention(one)) && right;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace fovea::bench

int main(int argc, char** argv) { return fovea::bench::bench(argc, argv); }
