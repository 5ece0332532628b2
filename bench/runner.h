// SPDX-License-Identifier: Apache-2.0
//
// Runs a case and compares its time with the probes.
#ifndef FOVEA_BENCH_RUNNER_H_
#define FOVEA_BENCH_RUNNER_H_

#include <cstddef>

#include "bench/cases.h"
#include "bench/measure.h"
#include "bench/probes/probes.h"
#include "bench/subjects.h"
#include "bench/work.h"

namespace fovea::bench {

constexpr size_t kMostTargets = 8;

// The results of the probes at the beginning of the run.
struct Probes {
  size_t targets;
  fovea_target target[kMostTargets];  // those that run here, best first
  double fma_gflops[kMostTargets];
  double exp_geps[kMostTargets];
  size_t integer_targets;
  fovea_target integer_target[kMostTargets];  // those that run here and have instructions for integer products
  double integer_gops[kMostTargets];
  double read_gbps[kLevels];
  double timer_overhead_ns;
};

struct Machine {
  Method method;
  // For the buffers of a case; at least read_probe_bytes(), written to once. Probes and cases use the same memory,
  // because with several banks of memory one range can be twice as fast as another.
  void* memory;
  size_t memory_bytes;
};

Probes probe(const Machine& machine);

// The target of a plan for `target`, with the processor's features by the system; FOVEA_TARGET_BEST if it does not run
// here.
fovea_target resolved(fovea_target target);

struct Result {
  const Case* one;
  char name[kNameBytes];
  fovea_target target;
  fovea_status status;  // FOVEA_OK, or why the other fields are not set
  bool finite;          // the whole output is finite
  char plan[256];       // fovea_attention_plan_describe's line
  Times times;
  Work work;        // for a softmax only the bytes
  double elements;  // of a softmax, else 0
  // Probes run again right before and after the case, the higher of the two, because a shared machine's speed changes.
  // The read bandwidth is measured again only if it matters.
  double peak_gflops;  // 0 = not known; the same for exp_geps and read_gbps
  bool integer_peak;   // peak_gflops is of the target's instructions for integer products, which the case uses
  double exp_geps;
  double read_gbps;  // of `level`
  Level level;       // the memory that holds the case's buffers
  size_t workspace_bytes;
  double of_replaced;  // its time as a multiple of that of the case that it was run in turn with; 0 = alone
  bool cold;           // caches were swept before each call
  bool hidden;         // run only because another case refers to it

  double gflops() const { return work.flops / times.ns_median; }
  double gbps() const { return work.bytes / times.ns_median; }
  double geps() const { return elements / times.ns_median; }
  double of_peak() const { return peak_gflops > 0 ? gflops() / peak_gflops : 0; }
  double of_read() const { return read_gbps > 0 ? gbps() / read_gbps : 0; }
  double of_exp() const { return exp_geps > 0 ? geps() / exp_geps : 0; }
};

// Bytes of Machine::memory that the case needs.
size_t memory_bytes(const Case& one, fovea_target target);

void run(const Case& one, fovea_target target, const Machine& machine, const Probes& known, Result* result);

// Runs two cases in turn. The result is that of the first.
void run_in_turn(const Case& one, const Case& replaced, fovea_target target, const Machine& machine,
                 const Probes& known, Result* result);

// A goal and the value that was reached.
struct Verdict {
  GoalKind kind;  // kNone: no goal, or the bound is not known; goals are for warm caches and wide vectors
  double reached, goal;
  bool at_most;  // reached must be <= goal, else >=

  bool met() const { return at_most ? reached <= goal : reached >= goal; }
};

// reference: the result of the goal's reference case with the same target; may be null.
Verdict judge(const Result& result, const Result* reference);

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_RUNNER_H_
