// SPDX-License-Identifier: Apache-2.0
#include "adapter.h"

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <atomic>

namespace fovea_executorch {
namespace {

// To wake the threads of a pool takes some microseconds: the time of about this many multiply-adds.
constexpr double kLeastWorkToShare = 500e3;

int run_on_pool(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
  const int64_t workers = static_cast<fovea_executor*>(self)->workers;
  std::atomic<size_t> next{0};
  const bool done = executorch::extension::parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (size_t i = next++; i < tasks; i = next++) task(arg, i, static_cast<uint32_t>(worker));
    }
  });
  return done ? 0 : 1;
}

}  // namespace

void* temporary(Context& context, size_t bytes) {
  auto memory = context.allocate_temp(bytes, FOVEA_WORKSPACE_ALIGNMENT);
  if (memory.ok()) return memory.get();
  context.fail(memory.error());
  return nullptr;
}

bool report(Context& context, fovea_status status) {
  if (status == FOVEA_OK) return true;
  ET_LOG(Error, "fovea: %s", fovea_status_string(status));
  context.fail(status == FOVEA_ERR_EXECUTOR ? Error::Internal : Error::InvalidArgument);
  return false;
}

Threads::Threads(double work) : executor_{run_on_pool, &executor_, 1} {
  if (work < kLeastWorkToShare) return;
  const int64_t threads = executorch::extension::get_thread_count();
  if (threads > 1) executor_.workers = threads < 64 ? static_cast<uint32_t>(threads) : 64;
}

bool Threads::run(size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) const {
  if (executor_.workers > 1) return run_on_pool(executor_.self, tasks, task, arg) == 0;
  for (size_t i = 0; i < tasks; ++i) task(arg, i, 0);
  return true;
}

void attend(Context& context, fovea_attention_desc& desc, fovea_attention_args& args) {
  const double work = 2.0 * desc.max_batch * desc.q_heads * desc.max_q_tokens * desc.max_kv_tokens * desc.head_dim;
  const Threads threads(work);
  desc.max_workers = threads.workers();
  args.executor = threads.executor();
  fovea_attention_plan plan;
  if (!report(context, fovea_attention_plan_init(&plan, &desc))) return;
  size_t bytes = 0;
  if (!report(context, fovea_attention_workspace_bytes(&plan, &bytes))) return;
  void* const memory = workspace(context, bytes);
  if (memory != nullptr) report(context, fovea_attention(&plan, &args, memory, bytes));
}

}  // namespace fovea_executorch
