// SPDX-License-Identifier: Apache-2.0
#include <math.h>

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

fovea_delta_args Delta::arguments() const {
  fovea_delta_args args = {};
  args.struct_bytes = sizeof args;
  args.rule = FOVEA_DELTA_RULE_GATED_DELTA;
  args.batch = count(key, 0);
  args.q_heads = count(query, 1);
  args.k_heads = args.v_heads = count(key, 1);
  args.head_dim = count(key, 3);
  args.value_dim = count(value, 3);
  args.decay_dim = decay.dim() == 4 ? args.head_dim : 1;
  args.tokens = count(query, 2);
  args.scale = 1;
  args.q = input(query, kHeadsFirst);
  args.k = input(key, kHeadsFirst);
  args.v = input(value, kHeadsFirst);
  args.decay = {nullptr, stride_of(decay, 0), stride_of(decay, 1), stride_of(decay, 2)};
  args.beta = input(beta, kHeadsFirst);
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

}  // namespace

void gated_delta_rule_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
                          Tensor& final_state_out) {
  const Delta delta{query, key, value, decay, beta, initial_state, out, final_state_out};
  if (!delta.is_valid(context)) return;
  const float* const logs = logarithms(context, decay);
  if (logs == nullptr || !delta.resize(context)) return;
  if (final_state_out.numel() == 0) return;

  fovea_delta_args args = delta.arguments();
  args.decay.data = logs;
  const double matrices = static_cast<double>(args.head_dim) * args.value_dim * args.k_heads * args.batch;
  const Threads threads(matrices * (4.0 + 4.0 * args.tokens) * args.q_heads / args.k_heads);
  args.executor = threads.executor();
  const fovea_in before = input(initial_state, kHeadsFirst);
  const fovea_out after = output(final_state_out, kHeadsFirst);
  size_t bytes = 0;
  if (!report(context, fovea_delta_matrices_workspace_bytes(&args, &bytes))) return;
  void* const memory = workspace(context, bytes);
  if (memory != nullptr) report(context, fovea_delta_matrices(&args, &before, &after, memory, bytes));
}

}  // namespace fovea_executorch
