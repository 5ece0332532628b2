// SPDX-License-Identifier: Apache-2.0
#include "bench/runner.h"

#include <algorithm>
#include <initializer_list>

#include "bench/delta.h"
#include "bench/linear.h"
#include "bench/never_slower.h"
#include "bench/rows.h"
#include "platform/platform.h"

namespace fovea::bench {
namespace {

// With fewer operations for each byte the memory's speed matters, so it is probed right before and after the case.
constexpr double kReadBoundFlopsPerByte = 32;

// The target that one for in-order processors replaces; FOVEA_TARGET_BEST for other targets.
fovea_target replaced_by(fovea_target target) {
  switch (target) {
    case FOVEA_TARGET_NEON_IN_ORDER: return FOVEA_TARGET_NEON;
    case FOVEA_TARGET_NEON_IN_ORDER_DOTPROD: return FOVEA_TARGET_NEON_DOTPROD;
    case FOVEA_TARGET_NEON_IN_ORDER_I8MM: return FOVEA_TARGET_NEON_I8MM;
    default: return FOVEA_TARGET_BEST;
  }
}

// The smallest plan for the target; false if the target does not run here.
bool plan_for(fovea_target target, fovea_attention_plan* plan) {
  fovea_attention_desc d = {};
  d.struct_bytes = sizeof d;
  d.q_heads = d.kv_heads = d.head_dim = d.value_dim = d.max_batch = 1;
  d.target = target;
  d.processor_features = platform::processor_features();
  return fovea_attention_plan_init(plan, &d) == FOVEA_OK;
}

unsigned lanes_of(fovea_target target) {
  fovea_attention_plan plan;
  fovea_attention_kernel kernel = {};
  return plan_for(target, &plan) && fovea_attention_plan_kernel(&plan, 1, &kernel) == FOVEA_OK ? kernel.lanes : 0;
}

// Runs the probes that bound the case, and keeps the higher of this result and the previous one.
void probe_beside(const Machine& machine, const Probes& known, const fovea_executor* executor, Result* result) {
  const Clock clock = machine.method.clock_ns;
  const fovea_target target = probe_target(result->target, lanes_of(result->target));
  const bool multiplies = result->one->kind != Kind::kSoftmax && result->one->kind != Kind::kRows;
  if (multiplies) {
    const bool integers = result->one->multiplies_integers();
    const double gops = integers ? integer_gops(result->target, clock) : 0;
    result->integer_peak = gops > 0;
    const double peak = gops > 0 ? gops : fma_peak_gflops(target, clock);
    result->peak_gflops = std::max(result->peak_gflops, result->one->shape.threads * peak);
  } else if (result->one->kind == Kind::kSoftmax) {
    result->exp_geps = std::max(result->exp_geps, exp_geps(target, clock));
  }
  if (result->one->kind != Kind::kSoftmax && result->work.flops < kReadBoundFlopsPerByte * result->work.bytes) {
    result->read_gbps = std::max(result->read_gbps, read_gbps(result->level, machine.memory, clock, executor));
  } else {
    result->read_gbps = executor ? 0 : known.read_gbps[result->level];
  }
}

}  // namespace

Probes probe(const Machine& machine) {
  const Clock clock = machine.method.clock_ns;
  Probes p = {};
  p.timer_overhead_ns = timer_overhead_ns(clock);
  for (; p.targets < kMostTargets; ++p.targets) {
    const size_t i = p.targets;
    p.target[i] = platform::target_with_kernels(static_cast<uint32_t>(i));
    if (p.target[i] == FOVEA_TARGET_BEST) break;
    const fovea_target target = probe_target(p.target[i], lanes_of(p.target[i]));
    p.fma_gflops[i] = fma_peak_gflops(target, clock);
    p.exp_geps[i] = exp_geps(target, clock);
  }
  for (const fovea_target target :
       {FOVEA_TARGET_AVX512_VNNI, FOVEA_TARGET_AVX2_VNNI, FOVEA_TARGET_NEON_I8MM, FOVEA_TARGET_NEON_DOTPROD}) {
    const double gops = resolved(target) == target ? integer_gops(target, clock) : 0;
    if (gops <= 0) continue;
    p.integer_target[p.integer_targets] = target;
    p.integer_gops[p.integer_targets++] = gops;
  }
  for (const Level level : {kL1, kL2, kL3, kDram}) p.read_gbps[level] = read_gbps(level, machine.memory, clock);
  return p;
}

fovea_target resolved(fovea_target target) {
  fovea_attention_plan plan;
  return plan_for(target, &plan) ? fovea_attention_plan_desc(&plan)->target : FOVEA_TARGET_BEST;
}

size_t memory_bytes(const Case& one, fovea_target target) {
  switch (one.kind) {
    case Kind::kDelta: return arena_bytes<DeltaCall>(one.delta, target);
    case Kind::kRows: return arena_bytes<RowsCall>(one.rows);
    case Kind::kLinear: return arena_bytes<LinearCall>(one.linear, target);
    case Kind::kSoftmax: return arena_bytes<SoftmaxCall>(one.softmax);
    default: return AttentionCall::arena_bytes(one.shape, target);
  }
}

void run(const Case& one, fovea_target target, const Machine& given, const Probes& known, Result* result) {
  *result = {};
  const uint32_t threads = one.kind == Kind::kAttention ? one.shape.threads : 1;
  const platform::ThreadPool pool(threads);
  const fovea_executor* const executor = threads > 1 ? &pool.executor() : nullptr;
  Machine machine = given;
  if (executor) machine.method.clock_ns = platform::clock_ns;  // the processor time of one thread says little
  result->one = &one;
  result->target = target;
  result->cold = machine.method.sweep != nullptr;
  name_of(one, result->name);
  Arena arena(machine.memory, machine.memory_bytes);

  // Times a call after init returned this status; work returns how much work it is.
  const auto timed = [&](auto& call, fovea_status status, auto work) {
    result->status = status;
    if (status != FOVEA_OK) return;
    result->work = work();
    result->level = result->cold ? kDram : level_of(static_cast<size_t>(result->work.working_set_bytes));
    probe_beside(machine, known, executor, result);
    result->times = measure(call, machine.method);
    probe_beside(machine, known, executor, result);
    result->status = call.status();
    result->finite = call.output_is_finite();
  };
  if (one.kind == Kind::kAttention) {
    AttentionCall call;
    const bool too_few = pool.executor().workers < threads;
    timed(call, too_few ? FOVEA_ERR_UNSUPPORTED : call.init(one.shape, target, executor, arena), [&] {
      const fovea_attention_plan& plan = call.plan();
      fovea_attention_plan_describe(&plan, one.shape.q_tokens, one.shape.kv_tokens, result->plan, sizeof result->plan);
      result->workspace_bytes = bytes_of(fovea_attention_workspace_bytes, &plan);
      return work_of(one.shape, plan);
    });
  } else if (one.kind == Kind::kDelta) {
    DeltaCall call;
    timed(call, call.init(one.delta, target, arena),
          [&] { return work_of(one.delta, result->workspace_bytes = call.workspace_bytes()); });
  } else if (one.kind == Kind::kLinear) {
    LinearCall call;
    timed(call, call.init(one.linear, target, arena),
          [&] { return work_of(one.linear, result->workspace_bytes = call.workspace_bytes()); });
  } else if (one.kind == Kind::kRows) {
    RowsCall call;
    timed(call, call.init(one.rows, target, arena), [&] { return work_of(one.rows); });
  } else {
    result->elements = static_cast<double>(one.softmax.outer) * one.softmax.axis * one.softmax.inner;
    SoftmaxCall call;
    timed(call, call.init(one.softmax, target, arena), [&] { return work_of(one.softmax); });
  }
}

void run_in_turn(const Case& one, const Case& replaced, fovea_target target, const Machine& machine,
                 const Probes& known, Result* result) {
  const fovea_target other_target = one.in_order ? replaced_by(target) : target;
  if (other_target == FOVEA_TARGET_BEST) {
    *result = {};
    result->one = &one;
    result->target = target;
    result->status = FOVEA_ERR_UNSUPPORTED;
    name_of(one, result->name);
    return;
  }
  Machine in_turn = machine;
  in_turn.method.min_seconds /= kSlowerRounds;
  if (one.shape.threads > 1) in_turn.method.clock_ns = platform::clock_ns;  // for both, as run() does for threads
  InTurn times;
  for (size_t i = 0; i < kSlowerRounds; ++i) {
    Result other;
    run(replaced, other_target, in_turn, known, &other);
    run(one, target, in_turn, known, result);
    if (other.status != FOVEA_OK || result->status != FOVEA_OK) return;
    const bool turned = one.turned == target;
    times.with_option[i] = (turned ? &other : result)->times.ns_median;
    times.without[i] = (turned ? result : &other)->times.ns_median;
  }
  result->of_replaced = times.ratio();
}

Verdict judge(const Result& r, const Result* reference) {
  const Goal& goal = r.one->goal;
  const unsigned lanes = lanes_of(r.target);
  const bool f32_products = goal.kind == GoalKind::kF32Speed && !r.integer_peak;  // of integers, exact
  const double value = static_cast<double>(f32_products ? 1.0f : lanes == 8 && goal.avx2 > 0 ? goal.avx2 : goal.value);
  const bool has_reference = reference && reference->status == FOVEA_OK;
  Verdict v = {goal.kind, 0, value, false};
  double bound = 0;  // 0: not known, so there is no verdict
  switch (goal.kind) {
    case GoalKind::kNone: break;
    case GoalKind::kFmaPeak: bound = r.peak_gflops, v.reached = r.of_peak(); break;
    case GoalKind::kReadSpeed: bound = r.read_gbps, v.reached = r.of_read(); break;
    case GoalKind::kExpRate: bound = r.exp_geps, v.reached = r.of_exp(); break;
    case GoalKind::kPeakTime:
      bound = r.peak_gflops;
      v.reached = bound > 0 ? 1 / r.of_peak() : 0;
      v.at_most = true;
      break;
    case GoalKind::kPlainTime:
      if (!has_reference || !r.work.tiles) break;
      bound =
          reference->times.ns_median * static_cast<double>(r.work.tiles) / static_cast<double>(reference->work.tiles);
      v.reached = r.times.ns_median / bound;
      v.at_most = true;
      break;
    case GoalKind::kLikeRound:
      if (!has_reference) break;
      bound = r.peak_gflops;
      v.reached = r.of_peak();
      v.goal = value * r.work.row_fill / reference->work.row_fill * reference->of_peak();
      break;
    case GoalKind::kTime:
      if (!has_reference || value <= 0) break;
      bound = reference->times.ns_median;
      v.reached = r.times.ns_median / bound;
      v.at_most = true;
      break;
    case GoalKind::kSpeedUp:
      if (!has_reference || value <= 0 || r.one->shape.threads > platform::processor_threads()) break;
      bound = reference->times.ns_median;
      v.reached = bound / r.times.ns_median;
      break;
    case GoalKind::kNeverSlower:
      if (r.one->shape.threads > platform::processor_threads()) break;
      bound = v.reached = r.of_replaced;
      v.at_most = true;
      break;
    case GoalKind::kF32Speed:
      if (!has_reference) break;
      bound = reference->times.ns_median;
      v.reached = bound / r.times.ns_median;
      break;
  }
  const bool any_lanes = goal.kind == GoalKind::kNeverSlower;
  if (bound <= 0 || (lanes < 8 && !any_lanes) || r.cold || r.status != FOVEA_OK) v.kind = GoalKind::kNone;
  return v;
}

}  // namespace fovea::bench
