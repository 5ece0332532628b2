// SPDX-License-Identifier: Apache-2.0
//
// How far linear attention is from its recurrence in double, next to the same recurrence in f32.
#include "accuracy/accuracy.h"

namespace fovea_test {
namespace {

constexpr uint32_t kTokens = 512, kValueDim = 64;
constexpr uint32_t kKeyDims[] = {16, 64, 128};

struct Rule {
  const char* name;
  fovea_delta_rule rule;
  bool decay_per_key;
};
constexpr Rule kRules[] = {
    {"linear", FOVEA_DELTA_RULE_LINEAR, false},
    {"gated", FOVEA_DELTA_RULE_GATED, false},
    {"gated, a decay for each element", FOVEA_DELTA_RULE_GATED, true},
    {"delta", FOVEA_DELTA_RULE_DELTA, false},
    {"gated delta", FOVEA_DELTA_RULE_GATED_DELTA, false},
    {"gated delta, a decay for each element", FOVEA_DELTA_RULE_GATED_DELTA, true},
    {"general", FOVEA_DELTA_RULE_GENERAL, true},
};

// One head: q, k, a, b and decay are [tokens][head_dim], v is [tokens][kValueDim].
struct Data {
  uint32_t head_dim;
  Numbers q, k, v, a, b, decay, beta;
};

void normalise_rows(Numbers* x, uint32_t dim) {
  for (size_t first = 0; first < x->size(); first += dim) {
    float squares = 0;
    for (size_t i = 0; i < dim; ++i) squares += (*x)[first + i] * (*x)[first + i];
    for (size_t i = 0; i < dim; ++i) (*x)[first + i] /= std::sqrt(squares);
  }
}

// Keys have the norm 1. With the general rule a is a negated removal key, and b that key times rates from 0 to 1.
Data draw(const Rule& rule, uint32_t head_dim, uint64_t seed) {
  const size_t keys = size_t{kTokens} * head_dim;
  Data data = {head_dim,
               normal(keys, seed),
               normal(keys, seed + 1),
               normal(size_t{kTokens} * kValueDim, seed + 2),
               normal(keys, seed + 3),
               Numbers(keys),
               Numbers(rule.decay_per_key ? keys : kTokens),
               Numbers(kTokens)};
  normalise_rows(&data.k, head_dim);
  normalise_rows(&data.a, head_dim);
  for (size_t i = 0; i < keys; ++i) data.b[i] = -data.a[i] * random_uniform(seed + 4, i, 0, 1);
  for (size_t i = 0; i < data.decay.size(); ++i) data.decay[i] = random_uniform(seed + 5, i, -0.6f, 0);
  for (size_t i = 0; i < kTokens; ++i) data.beta[i] = random_uniform(seed + 6, i, 0, 1);
  return data;
}

// The recurrence, a token at a time, in T.
template <class T>
std::vector<T> recurrence(const Rule& rule, const Data& data) {
  const uint32_t head_dim = data.head_dim;
  const bool general = rule.rule == FOVEA_DELTA_RULE_GENERAL;
  const bool delta = rule.rule == FOVEA_DELTA_RULE_DELTA || rule.rule == FOVEA_DELTA_RULE_GATED_DELTA;
  const bool decays = rule.rule != FOVEA_DELTA_RULE_LINEAR && rule.rule != FOVEA_DELTA_RULE_DELTA;
  const T scale = 1 / std::sqrt(T(head_dim));
  std::vector<T> s(size_t{head_dim} * kValueDim), out(size_t{kTokens} * kValueDim);
  for (size_t t = 0; t < kTokens; ++t) {
    std::vector<T> u(kValueDim), removed(kValueDim);
    for (size_t i = 0; i < head_dim; ++i) {
      const size_t at = t * head_dim + i;
      const T g = decays ? std::exp(T(data.decay[rule.decay_per_key ? at : t])) : T(1);
      for (size_t d = 0; d < kValueDim; ++d) {
        T& x = s[i * kValueDim + d];
        if (general) removed[d] += T(data.a[at]) * x;
        x *= g;
        if (delta) u[d] += T(data.k[at]) * x;
      }
    }
    for (size_t d = 0; d < kValueDim; ++d) {
      const T v = T(data.v[t * kValueDim + d]);
      u[d] = delta ? T(data.beta[t]) * (v - u[d]) : v;
      T sum = 0;
      for (size_t i = 0; i < head_dim; ++i) {
        const size_t at = t * head_dim + i;
        T& x = s[i * kValueDim + d];
        x += T(data.k[at]) * u[d];
        if (general) x += T(data.b[at]) * removed[d];
        sum += T(data.q[at]) * x;
      }
      out[t * kValueDim + d] = scale * sum;
    }
  }
  return out;
}

// Empty where the build does not have the rule.
Numbers call(const Rule& rule, const Data& data, fovea_target target) {
  const uint32_t head_dim = data.head_dim;
  const uint32_t decay_dim = rule.rule == FOVEA_DELTA_RULE_GENERAL ? FOVEA_DELTA_GENERAL_DIM(head_dim)
                             : rule.decay_per_key                  ? head_dim
                                                                   : 1;
  const size_t bytes = bytes_of(fovea_delta_state_bytes, 1, 1, head_dim, kValueDim, decay_dim);
  if (bytes == 0) return {};
  const Guarded memory = memory_of(bytes), workspace = memory_of(1 << 20);
  auto* const state = reinterpret_cast<fovea_delta_state*>(memory.as<char>());
  must(fovea_delta_begin(state, bytes, 1, 1, head_dim, kValueDim, decay_dim));
  Numbers out(size_t{kTokens} * kValueDim);
  const auto row = ptrdiff_t(head_dim);
  auto args = sized<fovea_delta_args>();
  args.target = target, args.rule = rule.rule, args.batch = args.q_heads = args.k_heads = args.v_heads = 1;
  args.head_dim = head_dim, args.value_dim = kValueDim, args.decay_dim = decay_dim, args.tokens = kTokens;
  args.q = {data.q.data(), 0, 0, row}, args.k = {data.k.data(), 0, 0, row};
  args.a = {data.a.data(), 0, 0, row}, args.b = {data.b.data(), 0, 0, row};
  args.v = {data.v.data(), 0, 0, ptrdiff_t{kValueDim}};
  args.decay = {data.decay.data(), 0, 0, rule.decay_per_key ? row : 1};
  args.beta = {data.beta.data(), 0, 0, 1};
  args.out = {out.data(), 0, 0, ptrdiff_t{kValueDim}};
  must(fovea_delta(state, &args, workspace.as<char>(), 1 << 20));
  return out;
}

bool show(const Rule& rule) {
  Error ours, loops;
  for (const auto& [head_dim, draws] : every(kKeyDims, {0u, 1u, 2u, 3u})) {
    const Data data = draw(rule, head_dim, 16 * draws + head_dim);
    const std::vector<double> right = recurrence<double>(rule, data);
    const Numbers loop = recurrence<float>(rule, data);
    for (size_t i = 0; i < right.size(); ++i) loops.add(double{loop[i]}, right[i]);
    for (const fovea_target target : targets()) {
      const Numbers got = call(rule, data, target);
      for (size_t i = 0; i < got.size(); ++i) ours.add(double{got[i]}, right[i]);
    }
  }
  if (ours.count == 0) return true;
  const double of_bound = ours.largest / (2 * loops.largest);
  std::printf("| %s | %.2g | %.2g | %.2g | %.2g | %.2f |\n", rule.name, ours.largest, ours.rms(), loops.largest,
              loops.rms(), of_bound);
  return is_within(std::string("the rule ") + rule.name, of_bound);
}

}  // namespace

bool show_linear_attention() {
  begin_table("Linear attention");
  bool right = true;
  for (const Rule& rule : kRules) right = show(rule) && right;
  return right;
}

}  // namespace fovea_test
