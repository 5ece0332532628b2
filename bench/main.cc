// SPDX-License-Identifier: Apache-2.0
//
// fovea_bench on a host: the command line, and files of results.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/report.h"
#include "bench/runner.h"
#include "platform/platform.h"

namespace fovea::bench {
namespace {

constexpr const char* kUsage =
    R"(fovea_bench: how fast the library is, held against what this machine can do.

  --list               the cases, and nothing else
  --filter REGEX       only cases whose name matches somewhere, as in prefill/ or 'x64$' (ECMAScript)
  --shape "KEY=N ..."  this shape instead of the table's; may be given several times. Keys and what they are without it:
%s  --target NAMES       avx512, avx2, ... with commas between, or all. Without it: FOVEA_TARGET, else the best one, and avx2
                       as well for cases that have a goal of their own there
  --threads N          the attention cases on N threads, beside their times on one
  --min-time S         seconds of measured calls a case, 0.3
  --cold               caches are swept before each call
  --cpu-time           count the time this thread has the processor, not the time that passes: for a machine shared with others.
                       Not of cases of several threads
  --ticks              count what the finest counter counts, and say what that is: cycles where the system allows it, else the
                       processor's time stamps; GFLOP/s and GB/s then are operations and bytes a tick
  --json FILE          results and probes; --csv FILE: results
  --plans              print what the library plans for each case
  --help               this text
)";

struct Options {
  bool list = false, cold = false, cpu_time = false, ticks = false, plans = false;
  std::string filter, targets, json, csv;
  std::vector<Shape> shapes;
  double min_seconds = 0.3;
  uint32_t threads = 1;
};

[[noreturn]] void complain(const char* text, const char* detail = "") {
  std::fprintf(stderr, "fovea_bench: %s%s\n", text, detail);
  std::exit(platform::kExitUsage);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i], value;
    bool has_value = false;
    const size_t equals = flag.find('=');
    if (equals != std::string::npos && flag.compare(0, 2, "--") == 0) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
      has_value = true;
    }
    const auto take = [&]() -> const std::string& {
      if (!has_value) {
        if (i + 1 == argc) complain("a value is missing after ", flag.c_str());
        value = argv[++i];
      }
      return value;
    };
    if (flag == "--help" || flag == "-h") {
      std::printf(kUsage, kShapeKeys);
      std::exit(0);
    } else if (flag == "--list") {
      options.list = true;
    } else if (flag == "--cold") {
      options.cold = true;
    } else if (flag == "--cpu-time") {
      options.cpu_time = true;
    } else if (flag == "--ticks") {
      options.ticks = true;
    } else if (flag == "--plans") {
      options.plans = true;
    } else if (flag == "--filter") {
      options.filter = take();
    } else if (flag == "--target") {
      options.targets = take();
    } else if (flag == "--json") {
      options.json = take();
    } else if (flag == "--csv") {
      options.csv = take();
    } else if (flag == "--shape") {
      Shape shape;
      if (const char* mistake = parse_shape(take().c_str(), &shape)) complain("--shape: ", mistake);
      options.shapes.push_back(shape);
    } else if (flag == "--min-time") {
      options.min_seconds = std::atof(take().c_str());
      if (!(options.min_seconds > 0)) complain("--min-time wants a number of seconds above 0, not ", value.c_str());
    } else if (flag == "--threads") {
      const int threads = std::atoi(take().c_str());
      if (threads < 1 || threads > 4096) complain("--threads wants a number from 1 to 4096, not ", value.c_str());
      options.threads = static_cast<uint32_t>(threads);
    } else {
      complain("unknown option, see --help: ", flag.c_str());
    }
  }
  return options;
}

// The targets that the user names; empty = none. "all" is not handled here, because it depends on the case.
std::vector<fovea_target> named_targets(const Options& options) {
  std::vector<fovea_target> targets;
  if (options.targets == "all") return targets;
  if (options.targets.empty()) {
    const fovea_target target = platform::target_from_environment();
    if (target == platform::kNoTarget) std::exit(platform::kExitUsage);
    if (target != FOVEA_TARGET_BEST) targets.push_back(target);
    return targets;
  }
  for (size_t begin = 0; begin <= options.targets.size();) {
    const size_t end = std::min(options.targets.find(',', begin), options.targets.size());
    const std::string name = options.targets.substr(begin, end - begin);
    fovea_target target = fovea_target_from_name(name.c_str());
    if (target == FOVEA_TARGET_BEST) target = platform::target_with_kernels(0, platform::processor_features());
    if (resolved(target) == FOVEA_TARGET_BEST) complain("this build and processor have no target ", name.c_str());
    targets.push_back(target);
    begin = end + 1;
  }
  return targets;
}

struct Job {
  const Case* one;
  fovea_target target;
  bool hidden;
};

// The processor's features by the system, for calls that have a field for them.
uint64_t features_of(const Case& one) {
  return one.kind == Kind::kAttention || one.kind == Kind::kLinear ? platform::processor_features() : 0;
}

std::vector<fovea_target> all_targets(const Case& one) {
  std::vector<fovea_target> targets;
  fovea_target target;
  for (uint32_t i = 0; (target = platform::target_with_kernels(i, features_of(one))) != FOVEA_TARGET_BEST; ++i) {
    targets.push_back(target);
  }
  return targets;
}

// The targets of a case if the user names none.
std::vector<fovea_target> usual_targets(const Case& one) {
  const bool extended = one.extended || one.multiplies_integers();
  std::vector<fovea_target> targets = {extended ? resolved(FOVEA_TARGET_BEST)
                                                : platform::target_with_kernels(0, features_of(one))};
  if (one.goal.avx2 > 0 && targets[0] == FOVEA_TARGET_AVX512) targets.push_back(FOVEA_TARGET_AVX2);
  if (one.goal.avx2 > 0 && targets[0] == FOVEA_TARGET_AVX512_VNNI) targets.push_back(FOVEA_TARGET_AVX2_VNNI);
  if (resolved(targets.back()) == FOVEA_TARGET_BEST) targets.pop_back();
  return targets;
}

// The cases to run, each reference before the cases that refer to it.
std::vector<Job> plan_jobs(const std::vector<const Case*>& cases, const Options& options) {
  const std::vector<fovea_target> named = named_targets(options);
  std::vector<Job> jobs;
  const auto add = [&](const Case* one, fovea_target target, bool hidden) {
    for (Job& job : jobs) {
      if (job.one != one || job.target != target) continue;
      job.hidden = job.hidden && hidden;
      return;
    }
    jobs.push_back({one, target, hidden});
  };
  for (const Case* one : cases) {
    const std::vector<fovea_target> its = options.targets == "all" ? all_targets(*one) : usual_targets(*one);
    for (const fovea_target target : named.empty() ? its : named) {
      if (one->reference && one->goal.kind != GoalKind::kNeverSlower) add(find_case(one->reference), target, true);
      add(one, target, false);
    }
  }
  return jobs;
}

const Result* reference_of(const Result& result, const std::vector<Result>& results) {
  if (!result.one->reference) return nullptr;
  for (const Result& other : results) {
    if (other.target == result.target && std::strcmp(other.name, result.one->reference) == 0) return &other;
  }
  return nullptr;
}

template <class Write>
void write_file(const std::string& path, const Write& write) {
  if (path.empty()) return;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) complain("cannot write ", path.c_str());
  write(file);
  if (std::fclose(file) != 0) complain("cannot write ", path.c_str());
}

using Memory = std::unique_ptr<void, void (*)(void*)>;

Memory allocate_or_end(size_t bytes) {
  Memory memory(allocate(std::max<size_t>(bytes, 64)), release);
  if (!memory) complain("not enough memory");
  std::memset(memory.get(), 1, bytes);
  return memory;
}

int bench(const Options& options) {
  std::vector<Case> own;  // cases of the command line's shapes
  for (const Shape& shape : options.shapes) {
    own.push_back({"shape", Kind::kAttention, shape, {}, {}, nullptr});
  }
  struct Name {
    char text[kNameBytes];
  };
  std::vector<Name> on_one_thread(case_count());
  for (size_t i = 0; options.threads > 1 && options.shapes.empty() && i < case_count(); ++i) {
    Case one = case_at(i);
    if (one.kind != Kind::kAttention || one.shape.threads != 1) continue;
    name_of(one, on_one_thread[i].text);
    one.reference = on_one_thread[i].text;
    one.goal = {GoalKind::kSpeedUp, 0, 0};
    own.push_back(one);
  }
  for (Case& one : own) {
    if (one.shape.threads == 1) one.shape.threads = options.threads;
  }
  std::vector<const Case*> cases;
  try {
    const std::regex filter(options.filter);
    const auto consider = [&](const Case& one) {
      char text[kNameBytes];
      name_of(one, text);
      if (std::regex_search(text, filter)) cases.push_back(&one);
    };
    for (const Case& one : own) consider(one);
    for (size_t i = 0; own.empty() && i < case_count(); ++i) consider(case_at(i));
  } catch (const std::regex_error& error) {
    complain("--filter: ", error.what());
  }
  const std::vector<Job> jobs = plan_jobs(cases, options);
  if (options.list) {
    for (const Job& job : jobs) {
      char text[kNameBytes];
      name_of(*job.one, text);
      if (!job.hidden) std::printf("%-44s %s\n", text, fovea_target_name(job.target));
    }
    return 0;
  }
  if (jobs.empty()) complain("no case matches ", options.filter.c_str());

  Machine machine = {};
  machine.method.clock_ns = options.ticks      ? platform::clock_ticks
                            : options.cpu_time ? thread_cpu_ns
                                               : platform::clock_ns;
  machine.method.min_seconds = options.min_seconds;
  machine.memory_bytes = read_probe_bytes();
  for (const Job& job : jobs) {
    machine.memory_bytes = std::max(machine.memory_bytes, memory_bytes(*job.one, job.target));
    if (job.one->goal.kind != GoalKind::kNeverSlower) continue;
    machine.memory_bytes = std::max(machine.memory_bytes, memory_bytes(*find_case(job.one->reference), job.target));
  }
  const Memory memory = allocate_or_end(machine.memory_bytes);
  machine.memory = memory.get();
  const size_t sweep_bytes = options.cold ? read_probe_bytes() / 2 : 0;
  const Memory sweep = allocate_or_end(sweep_bytes);
  if (options.cold) {
    machine.method.sweep_bytes = sweep_bytes;
    machine.method.sweep = sweep.get();
  }
  if (options.ticks && std::strcmp(platform::clock_unit(), "cycles") != 0) {
    std::fprintf(stderr,
                 "fovea_bench: this system does not let programs count cycles (kernel.perf_event_paranoid, or no "
                 "counter): ns are %s\n",
                 platform::clock_unit());
  }
  const Host host = {platform::processor_name(),
                     options.ticks      ? platform::clock_source()
                     : options.cpu_time ? "processor time of the thread"
                                        : "std::chrono::steady_clock",
                     options.ticks ? platform::clock_unit() : "ns", options.cold};
  const Probes probes = probe(machine);
  machine.method.overhead_ns = probes.timer_overhead_ns;
  print_probes(stdout, host, probes);
  print_header(stdout);

  const bool watched = stderr_is_terminal();
  std::vector<Result> results(jobs.size());
  size_t goals = 0, met = 0;
  bool right = true;
  std::vector<const Result*> slower;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (watched) {
      char text[kNameBytes];
      name_of(*jobs[i].one, text);
      std::fprintf(stderr, "\r[%zu/%zu] %s\033[K", i + 1, jobs.size(), text);
    }
    Result& result = results[i];
    if (jobs[i].one->goal.kind == GoalKind::kNeverSlower) {
      run_in_turn(*jobs[i].one, *find_case(jobs[i].one->reference), jobs[i].target, machine, probes, &result);
    } else {
      run(*jobs[i].one, jobs[i].target, machine, probes, &result);
    }
    result.hidden = jobs[i].hidden;
    right = right && (result.status == FOVEA_ERR_UNSUPPORTED || result.status == FOVEA_ERR_LEFT_OUT ||
                      (result.status == FOVEA_OK && result.finite));
    if (watched) std::fprintf(stderr, "\r\033[K");
    if (result.hidden) continue;
    const Result* reference = reference_of(result, results);
    print_result(stdout, result, reference);
    if (options.plans && result.status == FOVEA_OK) std::printf("    %s\n", result.plan);
    std::fflush(stdout);
    const Verdict verdict = judge(result, reference);
    if (verdict.kind != GoalKind::kNone) {
      ++goals;
      met += verdict.met();
      if (verdict.kind == GoalKind::kNeverSlower && !verdict.met()) slower.push_back(&result);
    }
  }
  if (goals) std::printf("\n%zu of %zu goals reached\n", met, goals);
  for (const Result* one : slower) {
    const bool turned = one->one->turned == one->target;
    std::printf("slower than what it replaces: %s, %s: %.3f times the time of %s\n",
                turned ? one->one->reference : one->name, fovea_target_name(one->target), one->of_replaced,
                turned ? one->name : one->one->reference);
  }

  std::vector<const Result*> references;
  for (const Result& result : results) references.push_back(reference_of(result, results));
  write_file(options.json, [&](std::FILE* file) {
    write_json(file, host, probes, results.data(), references.data(), results.size());
  });
  write_file(options.csv, [&](std::FILE* file) { write_csv(file, results.data(), references.data(), results.size()); });
  return right && slower.empty() ? 0 : 1;
}

}  // namespace
}  // namespace fovea::bench

int main(int argc, char** argv) { return fovea::bench::bench(fovea::bench::parse(argc, argv)); }
