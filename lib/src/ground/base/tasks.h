// SPDX-License-Identifier: Apache-2.0
//
// The loop over the tasks of a call: on the caller's executor, or in order if there is no executor or only one task.
#ifndef FOVEA_SRC_BASE_TASKS_H_
#define FOVEA_SRC_BASE_TASKS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/status.h"

namespace fovea {

// Checks an executor, which may be null. most_workers: workers that have a workspace.
inline fovea_status check_executor(const fovea_executor* executor, uint32_t most_workers) {
  if (!executor) return FOVEA_OK;
  if (!config::kExecutor) return FOVEA_ERR_LEFT_OUT;
  if (!executor->run) return FOVEA_ERR_NULL;
  return executor->workers == 0 || executor->workers > most_workers ? FOVEA_ERR_CAPACITY : FOVEA_OK;
}

// Whether tasks are counted, so that a task that an executor skips is noticed. Processors without an atomic addition
// would call a library for it.
constexpr bool kCountsTasks = __atomic_always_lock_free(sizeof(size_t), nullptr);

// What the tasks of a call on an executor share. Tasks may run at the same time.
template <class Call>
class TaskLoop {
 public:
  TaskLoop(Call& call, uint32_t workers, size_t tasks) : call_(call), workers_(workers), tasks_(tasks) {}

  fovea_status run_on(const fovea_executor& executor) {
    if (executor.run(executor.self, tasks_, run_one, this) != 0) return FOVEA_ERR_EXECUTOR;
    const bool complete = !kCountsTasks || __atomic_load_n(&done_, __ATOMIC_RELAXED) == tasks_;
    const int status = __atomic_load_n(&status_, __ATOMIC_RELAXED);
    return status != FOVEA_OK || complete ? fovea_status(status) : FOVEA_ERR_EXECUTOR;
  }

 private:
  static void run_one(void* self, size_t index, uint32_t worker) {
    TaskLoop& loop = *static_cast<TaskLoop*>(self);
    fovea_status status = FOVEA_ERR_EXECUTOR;
    if (index < loop.tasks_ && worker < loop.workers_) {
      if (__atomic_load_n(&loop.status_, __ATOMIC_RELAXED) != FOVEA_OK) return;
      typename Call::Scratch scratch;
      status = loop.call_.run_task(index, worker, &scratch);
    }
    if (status != FOVEA_OK) {
      __atomic_store_n(&loop.status_, int(status), __ATOMIC_RELAXED);
    } else if (kCountsTasks) {
      __atomic_fetch_add(&loop.done_, size_t(1), __ATOMIC_RELAXED);
    }
  }

  Call& call_;
  const uint32_t workers_;
  const size_t tasks_;
  int status_ = FOVEA_OK;  // the error of a task; no task begins after it
  size_t done_ = 0;
};

// Not inlined: tasks that run in order then need less stack.
template <class Call>
__attribute__((noinline)) fovea_status run_on_executor(Call& call, const fovea_executor& executor, uint32_t workers,
                                                       size_t tasks) {
  return TaskLoop<Call>(call, workers, tasks).run_on(executor);
}

// Runs this many tasks of a call, each with a worker below `workers`. Call has
//   fovea_status run_task(size_t index, uint32_t worker, Scratch* scratch);
// where its type Scratch is what a task leaves for the next task if tasks run in order. On an executor each task gets a
// new one.
template <class Call>
fovea_status run_all_tasks(Call& call, const fovea_executor* executor, uint32_t workers, size_t tasks) {
  if (config::kExecutor && executor && tasks > 1) return run_on_executor(call, *executor, workers, tasks);
  typename Call::Scratch scratch;
  fovea_status status = FOVEA_OK;
  for (size_t index = 0; index < tasks && status == FOVEA_OK; ++index) status = call.run_task(index, 0, &scratch);
  return status;
}

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_TASKS_H_
