// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <cstring>
#include <initializer_list>

#include "bench/build.h"
#include "bench/json.h"
#include "bench/machine.h"

namespace fovea::bench {
namespace {

const char* const kDtypes[] = {"f32", "f16", "bf16", "i8", "i4", "q8_0", "q4_0", "q4_1"};
constexpr const char* kComputes[] = {"f32", "i8"};
constexpr const char* kRules[] = {"linear", "gated", "delta", "gated_delta"};
constexpr const char* kSources[] = {"strided", "ring", "pages"};
const char* const kCausal[] = {"none", "top_left", "bottom_right", "positions"};
const char* const kMasks[] = {"none", "float", "byte"};

void print_time(std::FILE* file, double ns) {
  if (ns < 1e3) {
    std::fprintf(file, "%8.1f ns", ns);
  } else if (ns < 1e6) {
    std::fprintf(file, "%8.2f us", ns * 1e-3);
  } else {
    std::fprintf(file, "%8.3f ms", ns * 1e-6);
  }
}

// "  0.87", or a dash of the same width if it is not known.
void print_or_dash(std::FILE* file, const char* format, int width, double value) {
  if (value > 0) {
    std::fprintf(file, format, value);
  } else {
    std::fprintf(file, "%*s", width, "-");
  }
}

void write_shape(Json& json, const Case& one) {
  json.key("shape").begin('{');
  if (one.kind == Kind::kSoftmax) {
    const SoftmaxShape& s = one.softmax;
    json.member("outer", s.outer).member("axis", s.axis).member("inner", s.inner);
    json.flag("log", s.log).flag("mask", s.mask).flag("in_place", s.in_place);
  } else if (one.kind == Kind::kLinear) {
    const LinearShape& s = one.linear;
    json.member("tokens", s.tokens).member("in_dim", s.in_dim).member("out_dim", s.out_dim);
    json.member("dtype", kDtypes[s.dtype]).member("compute", kComputes[s.compute]);
  } else if (one.kind == Kind::kDelta) {
    const DeltaShape& s = one.delta;
    json.member("batch", s.batch).member("heads", s.heads).member("tokens", s.tokens);
    json.member("head_dim", s.head_dim).member("value_dim", s.value_dim).member("decay_dim", s.decay_dim);
    json.member("rule", kRules[s.rule]);
  } else if (one.kind == Kind::kRows) {
    json.member("layer", name(one.rows.layer)).member("tokens", one.rows.tokens).member("dim", one.rows.dim);
  } else {
    const Shape& s = one.shape;
    json.member("batch", s.batch).member("heads", s.q_heads).member("kv_heads", s.kv_heads);
    json.member("q", s.q_tokens).member("k", s.kv_tokens).member("dim", s.head_dim).member("vdim", s.value_dim);
    json.member("causal", kCausal[s.causal]).member("window", s.window_left).member("right", s.window_right);
    json.member("threads", s.threads)
        .member("split", s.split)
        .member("prefix", s.prefix)
        .member("push", s.push)
        .flag("merge", s.merge);
    json.member("dtype", kDtypes[s.dtype]).member("kv", kDtypes[s.kv_dtype]);
    json.member("compute", kComputes[s.compute]).member("source", kSources[s.source]);
    json.member("mask", kMasks[s.mask]).member("softcap", static_cast<double>(s.softcap));
    json.member("dropout", static_cast<double>(s.dropout)).flag("additive", s.additive);
    json.flag("alibi", s.alibi).flag("sinks", s.sinks).flag("lse", s.lse);
    json.member("map", name(s.blocks)).flag("edges", s.edges).member("modifier", name(s.change));
  }
  json.end('}');
}

void write_result(Json& json, const Result& r, const Result* reference) {
  json.begin('{').member("name", r.name).member("suite", r.one->suite);
  write_shape(json, *r.one);
  json.member("target", fovea_target_name(r.target)).member("backend", fovea_target_backend(r.target));
  json.member("threads", r.one->shape.threads);
  if (r.status != FOVEA_OK) {
    json.member("error", fovea_status_string(r.status)).end('}');
    return;
  }
  json.member("ns_median", r.times.ns_median).member("ns_mad", r.times.ns_mad).member("ns_min", r.times.ns_min);
  json.member("batches", static_cast<double>(r.times.batches));
  json.member("calls_a_batch", static_cast<double>(r.times.calls_a_batch));
  json.member("gflops", r.gflops()).member("gbps", r.gbps()).member("geps", r.geps());
  json.member(r.integer_peak ? "fraction_of_integer_peak" : "fraction_of_fma_peak", r.of_peak());
  json.member("fraction_of_read_bandwidth", r.of_read());
  json.member("fraction_of_exp_rate", r.of_exp());
  json.member("read_level", name(r.level));
  json.member("peak_gflops", r.peak_gflops).member("read_gbps", r.read_gbps).member("exp_geps", r.exp_geps);
  json.member("flops", r.work.flops).member("bytes", r.work.bytes);
  json.member("tiles", static_cast<double>(r.work.tiles));
  json.member("workspace_bytes", static_cast<double>(r.workspace_bytes)).member("plan", r.plan);
  if (reference)
    json.member("reference", reference->name).member("times_reference", r.times.ns_median / reference->times.ns_median);
  const Verdict verdict = judge(r, reference);
  if (verdict.kind != GoalKind::kNone) {
    json.key("goal").begin('{').member("of", name(verdict.kind)).member("goal", verdict.goal);
    json.member("reached", verdict.reached).flag("at_most", verdict.at_most).flag("met", verdict.met());
    if (verdict.kind == GoalKind::kPlainTime) json.member("plain_tiles", static_cast<double>(reference->work.tiles));
    json.end('}');
  }
  json.end('}');
}

}  // namespace

void print_probes(std::FILE* file, const Host& host, const Probes& p) {
  std::fprintf(file, "%s; %s; clock %s, %.0f %s to read\n", host.processor, kCompiler, host.clock, p.timer_overhead_ns,
               host.unit);
  if (std::strcmp(host.unit, "ns") != 0) std::fprintf(file, "every ns below is one of: %s\n", host.unit);
  std::fprintf(file, "multiply-add peak, GFLOP/s:");
  for (size_t i = 0; i < p.targets; ++i)
    std::fprintf(file, "  %s %.1f", fovea_target_name(p.target[i]), p.fma_gflops[i]);
  std::fprintf(file, "\nexp, 10^9 a second:        ");
  for (size_t i = 0; i < p.targets; ++i) {
    if (p.exp_geps[i] > 0) std::fprintf(file, "  %s %.2f", fovea_target_name(p.target[i]), p.exp_geps[i]);
  }
  if (p.integer_targets > 0) std::fprintf(file, "\ninteger peak, GOP/s:       ");
  for (size_t i = 0; i < p.integer_targets; ++i)
    std::fprintf(file, "  %s %.1f", fovea_target_name(p.integer_target[i]), p.integer_gops[i]);
  std::fprintf(file, "\nread, GB/s:                ");
  for (const Level level : {kL1, kL2, kL3, kDram}) {
    if (p.read_gbps[level] > 0) std::fprintf(file, "  %s %.0f", name(level), p.read_gbps[level]);
  }
  std::fprintf(file, "\n");
}

void print_header(std::FILE* file) {
  std::fprintf(file, "\n%-44s %-11s %11s %6s %8s %7s %7s %11s   %s\n", "case", "target", "median", "+-", "GFLOP/s",
               "of peak", "GB/s", "of read", "reached and goal");
}

void print_result(std::FILE* file, const Result& r, const Result* reference) {
  std::fprintf(file, "%-44s %-11s ", r.name, fovea_target_name(r.target));
  if (r.status != FOVEA_OK) {
    std::fprintf(file, "not run: %s\n", fovea_status_string(r.status));
    return;
  }
  print_time(file, r.times.ns_median);
  std::fprintf(file, " %5.1f%%", 100 * r.times.ns_mad / r.times.ns_median);
  print_or_dash(file, " %8.1f", 9, r.gflops());
  print_or_dash(file, " %7.3f", 8, r.of_peak());
  std::fprintf(file, " %7.1f %6.3f %-4s", r.gbps(), r.of_read(), name(r.level));
  if (r.elements > 0) std::fprintf(file, "   %.2f G elements/s, %.3f of exp", r.geps(), r.of_exp());

  const Verdict v = judge(r, reference);
  if (v.kind != GoalKind::kNone) {
    std::fprintf(file, "   %.3f %s %.3f %s %s", v.reached, v.at_most ? "<=" : ">=", v.goal, name(v.kind),
                 v.met() ? "ok" : "MISSED");
  }
  const GoalKind kind = r.one->goal.kind;
  if (reference && v.kind == GoalKind::kNone && (kind == GoalKind::kTime || kind == GoalKind::kSpeedUp)) {
    const double times = r.times.ns_median / reference->times.ns_median;
    std::fprintf(file, "   %.3f of the %s", kind == GoalKind::kTime ? times : 1 / times, name(kind));
  }
  if (reference && (kind == GoalKind::kNone || kind == GoalKind::kPlainTime) && reference != &r) {
    std::fprintf(file, "   tiles %llu of %llu", static_cast<unsigned long long>(r.work.tiles),
                 static_cast<unsigned long long>(reference->work.tiles));
    if (v.kind == GoalKind::kNone && r.work.tiles) {
      std::fprintf(file, ", %.3f of plain by tiles",
                   r.times.ns_median / reference->times.ns_median * static_cast<double>(reference->work.tiles) /
                       static_cast<double>(r.work.tiles));
    }
  }
  if (!r.finite) std::fprintf(file, "   OUTPUT IS NOT FINITE");
  std::fprintf(file, "\n");
}

void write_json(std::FILE* file, const Host& host, const Probes& p, const Result* results,
                const Result* const* reference_of, size_t count) {
  Json json(file);
  json.begin('{').key("host").begin('{');
  json.member("processor", host.processor).member("compiler", kCompiler).member("flags", kFlags);
  const Speed speed = processor_speed();
  if (speed.most_mhz > 0) json.member("most_mhz", speed.most_mhz);
  if (speed.mhz > 0) json.member("mhz", speed.mhz);
  if (speed.governor[0]) json.member("governor", speed.governor);
  json.member("clock", host.clock).member("unit", host.unit);
  json.flag("cold", host.cold).member("timer_overhead_ns", p.timer_overhead_ns);
  json.member("l1_bytes", static_cast<double>(cache_bytes(1))).member("l2_bytes", static_cast<double>(cache_bytes(2)));
  json.member("l3_bytes", static_cast<double>(cache_bytes(3)));
  json.key("fovea_version").begin('[').number(FOVEA_VERSION_MAJOR).number(FOVEA_VERSION_MINOR);
  json.number(FOVEA_VERSION_PATCH).end(']').end('}');

  json.key("probes").begin('{').key("fma_gflops").begin('{');
  for (size_t i = 0; i < p.targets; ++i) json.member(fovea_target_name(p.target[i]), p.fma_gflops[i]);
  json.end('}').key("integer_gops").begin('{');
  for (size_t i = 0; i < p.integer_targets; ++i) json.member(fovea_target_name(p.integer_target[i]), p.integer_gops[i]);
  json.end('}').key("read_gbps").begin('{');
  for (const Level level : {kL1, kL2, kL3, kDram}) {
    if (p.read_gbps[level] > 0) json.member(name(level), p.read_gbps[level]);
  }
  json.end('}').key("exp_geps").begin('{');
  for (size_t i = 0; i < p.targets; ++i) {
    if (p.exp_geps[i] > 0) json.member(fovea_target_name(p.target[i]), p.exp_geps[i]);
  }
  json.end('}').end('}');

  json.key("results").begin('[');
  for (size_t i = 0; i < count; ++i) {
    if (!results[i].hidden) write_result(json, results[i], reference_of[i]);
  }
  json.end(']').end('}');
}

void write_csv(std::FILE* file, const Result* results, const Result* const* reference_of, size_t count) {
  std::fprintf(
      file,
      "name,suite,target,backend,threads,ns_median,ns_mad,ns_min,gflops,gbps,fraction_of_peak,"
      "fraction_of_read_bandwidth,read_level,fraction_of_exp_rate,workspace_bytes,tiles,goal_of,goal,reached\n");
  for (size_t i = 0; i < count; ++i) {
    const Result& r = results[i];
    if (r.hidden || r.status != FOVEA_OK) continue;
    std::fprintf(file, "%s,%s,%s,%s,%u,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s,%.6g,%zu,%llu,", r.name, r.one->suite,
                 fovea_target_name(r.target), fovea_target_backend(r.target), r.one->shape.threads, r.times.ns_median,
                 r.times.ns_mad, r.times.ns_min, r.gflops(), r.gbps(), r.of_peak(), r.of_read(), name(r.level),
                 r.of_exp(), r.workspace_bytes, static_cast<unsigned long long>(r.work.tiles));
    const Verdict v = judge(r, reference_of[i]);
    if (v.kind == GoalKind::kNone) {
      std::fprintf(file, ",,\n");
    } else {
      std::fprintf(file, "\"%s\",%.6g,%.6g\n", name(v.kind), v.goal, v.reached);
    }
  }
}

}  // namespace fovea::bench
