// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include <atomic>

#include "operators.h"

namespace fovea_executorch {
namespace {

bool overlap(const Tensor& a, const Tensor& b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.const_data_ptr());
  const auto b_begin = reinterpret_cast<uintptr_t>(b.const_data_ptr());
  return a_begin < b_begin + b.nbytes() && b_begin < a_begin + a.nbytes();
}

bool is_numbers(const Tensor& t, ssize_t dims) {
  return t.dim() == dims && t.scalar_type() == ScalarType::Float && is_contiguous(t);
}

bool same_sizes(const Tensor& a, const Tensor& b, int dims) {
  for (int i = 0; i < dims; ++i) {
    if (a.size(i) != b.size(i)) return false;
  }
  return true;
}

struct Delta {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor& decay;
  const Tensor& beta;
  const Tensor& state;
  Tensor& out;
  Tensor& final_state;

  bool is_valid(Context& context) const;
  bool resize(Context& context) const;
  fovea_delta_args arguments() const;
};

bool Delta::is_valid(Context& context) const {
  FOVEA_REQUIRE(context, is_numbers(query, 4) && is_numbers(key, 4) && is_numbers(value, 4), false);
  FOVEA_REQUIRE(context, is_numbers(decay, 3) || is_numbers(decay, 4), false);
  FOVEA_REQUIRE(context, is_numbers(beta, 3) && is_numbers(state, 4), false);
  FOVEA_REQUIRE(context, query.size(0) == key.size(0), false);
  FOVEA_REQUIRE(context, query.size(2) == key.size(2) && query.size(3) == key.size(3), false);
  FOVEA_REQUIRE(context, same_sizes(decay, key, static_cast<int>(decay.dim())), false);
  FOVEA_REQUIRE(context, same_sizes(key, value, 3) && same_sizes(beta, key, 3), false);
  FOVEA_REQUIRE(context, key.size(1) > 0 && query.size(1) % key.size(1) == 0, false);
  FOVEA_REQUIRE(context, state.size(0) == key.size(0) && state.size(1) == key.size(1), false);
  FOVEA_REQUIRE(context, state.size(2) == key.size(3) && state.size(3) == value.size(3), false);
  FOVEA_REQUIRE(context, out.scalar_type() == ScalarType::Float, false);
  FOVEA_REQUIRE(context, final_state.scalar_type() == ScalarType::Float, false);
  ET_KERNEL_CHECK_MSG(context, !overlap(final_state, state), InvalidArgument, false,
                      "final_state_out must not alias initial_state");
  return true;
}

bool Delta::resize(Context& context) const {
  const executorch::aten::SizesType sizes[4] = {query.sizes()[0], query.sizes()[1], query.sizes()[2], value.sizes()[3]};
  FOVEA_REQUIRE(context, executorch::runtime::resize_tensor(out, {sizes, 4}) == Error::Ok, false);
  FOVEA_REQUIRE(context, executorch::runtime::resize_tensor(final_state, state.sizes()) == Error::Ok, false);
  return true;
}

// Of one head of values in one entry, with the query heads that read it.
fovea_delta_args Delta::arguments() const {
  fovea_delta_args args = {};
  args.struct_bytes = sizeof args;
  args.rule = FOVEA_DELTA_RULE_GATED_DELTA;
  args.batch = 1;
  args.q_heads = count(query, 1) / count(key, 1);
  args.k_heads = args.v_heads = 1;
  args.key_dim = count(key, 3);
  args.value_dim = count(value, 3);
  args.decay_dim = decay.dim() == 4 ? args.key_dim : 1;
  args.tokens = count(query, 2);
  args.scale = 1;
  args.q = input(query, kHeadsFirst);
  args.k = input(key, kHeadsFirst);
  args.v = input(value, kHeadsFirst);
  args.decay.token_stride = args.decay_dim;
  args.beta.token_stride = 1;
  args.out = output(out, kHeadsFirst);
  return args;
}

// fovea takes the logarithms of decays, because layers compute these. NULL if a decay is negative.
const float* logarithms(Context& context, const Tensor& decay) {
  auto* const logs = static_cast<float*>(temporary(context, (decay.numel() + 1) * sizeof(float)));
  if (logs == nullptr) return nullptr;
  const float* const decays = decay.const_data_ptr<float>();
  for (ssize_t i = 0; i < decay.numel(); ++i) {
    FOVEA_REQUIRE(context, !(decays[i] < 0), nullptr);
    logs[i] = logf(decays[i]);
  }
  return logs;
}

// The heads of all entries, each a task: the state of a head stays in cache from its first copy to its last.
struct Heads {
  const Delta& delta;
  const float* logs;
  fovea_delta_args args;
  size_t state_bytes, bytes;  // of a worker
  uint8_t* memory;            // [workers][state_bytes + bytes]
  std::atomic<fovea_status> status{FOVEA_OK};

  static void run(void* self, size_t index, uint32_t worker) {
    Heads& heads = *static_cast<Heads*>(self);
    uint8_t* const memory = heads.memory + worker * (heads.state_bytes + heads.bytes);
    const fovea_status status = heads.run_head(static_cast<ptrdiff_t>(index), memory);
    if (status != FOVEA_OK) heads.status = status;
  }

  fovea_status run_head(ptrdiff_t head, uint8_t* worker_memory) {
    fovea_delta_args now = args;
    const ptrdiff_t tokens = args.tokens, matrix = head * args.key_dim * args.value_dim;
    now.q.data = delta.query.const_data_ptr<float>() + head * args.q_heads * tokens * args.key_dim;
    now.k.data = delta.key.const_data_ptr<float>() + head * tokens * args.key_dim;
    now.v.data = delta.value.const_data_ptr<float>() + head * tokens * args.value_dim;
    now.decay.data = logs + head * tokens * args.decay_dim;
    now.beta.data = delta.beta.const_data_ptr<float>() + head * tokens;
    now.out.data = delta.out.mutable_data_ptr<float>() + head * args.q_heads * tokens * args.value_dim;
    const ptrdiff_t row = args.value_dim;
    const fovea_in before = {delta.state.const_data_ptr<float>() + matrix, 0, 0, row};
    const fovea_out after = {delta.final_state.mutable_data_ptr<float>() + matrix, matrix_size(), matrix_size(), row};

    auto* const state = reinterpret_cast<fovea_delta_state*>(worker_memory);
    fovea_status status = fovea_delta_set(state, 0, &before);
    if (status == FOVEA_OK) status = fovea_delta(state, &now, worker_memory + state_bytes, bytes);
    if (status == FOVEA_OK) status = fovea_delta_get(state, FOVEA_TARGET_BEST, 0, &after);
    return status;
  }

  fovea_status begin(uint32_t workers) {
    fovea_status status = FOVEA_OK;
    for (uint32_t i = 0; i < workers && status == FOVEA_OK; ++i) {
      auto* const state = reinterpret_cast<fovea_delta_state*>(memory + i * (state_bytes + bytes));
      status = fovea_delta_begin(state, state_bytes, 1, 1, args.key_dim, args.value_dim, args.decay_dim);
    }
    return status;
  }

  ptrdiff_t matrix_size() const { return static_cast<ptrdiff_t>(args.key_dim) * args.value_dim; }
};

size_t aligned(size_t bytes) {
  return (bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) / FOVEA_WORKSPACE_ALIGNMENT * FOVEA_WORKSPACE_ALIGNMENT;
}

}  // namespace

void gated_delta_rule_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
                          Tensor& final_state_out) {
  const Delta delta{query, key, value, decay, beta, initial_state, out, final_state_out};
  if (!delta.is_valid(context)) return;
  const float* const logs = logarithms(context, decay);
  if (logs == nullptr || !delta.resize(context)) return;
  if (final_state_out.numel() == 0) return;

  Heads heads{delta, logs, delta.arguments(), 0, 0, nullptr};
  const fovea_delta_args& args = heads.args;
  const size_t tasks = static_cast<size_t>(key.size(0)) * count(key, 1);
  const double matrix = static_cast<double>(args.key_dim) * args.value_dim;
  const Threads threads(matrix * (4.0 + 4.0 * args.tokens) * args.q_heads * static_cast<double>(tasks));
  heads.state_bytes = aligned(fovea_delta_state_bytes(1, 1, args.key_dim, args.value_dim, args.decay_dim));
  heads.bytes = aligned(fovea_delta_workspace_bytes(&args));
  heads.memory = static_cast<uint8_t*>(temporary(context, threads.workers() * (heads.state_bytes + heads.bytes)));
  if (heads.memory == nullptr) return;
  const fovea_status status = heads.begin(threads.workers());
  if (status != FOVEA_OK) return report(context, status);
  const bool done = threads.run(tasks, Heads::run, &heads);
  report(context, done ? heads.status.load() : FOVEA_ERR_EXECUTOR);
}

}  // namespace fovea_executorch
