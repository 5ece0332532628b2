// SPDX-License-Identifier: Apache-2.0
//
// An executor for fovea: threads that wait for tasks.
#ifndef FOVEA_PLATFORM_HOST_THREADS_H_
#define FOVEA_PLATFORM_HOST_THREADS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::platform {

// The calling thread and threads - 1 others, which sleep between calls after a few microseconds. One call at a time.
class ThreadPool {
 public:
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(others_.size()) + 1; }
  // Valid as long as the pool.
  const fovea_executor* executor() const { return &executor_; }

 private:
  using Task = void (*)(void* arg, size_t task, uint32_t worker);

  void run(size_t tasks, Task task, void* arg);
  void take_tasks(uint32_t worker);
  void work(uint32_t worker);

  // The job: written by run() before its number, read by the others after it.
  Task task_ = nullptr;
  void* arg_ = nullptr;
  size_t tasks_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<uint32_t> job_{0};   // counts the jobs
  std::atomic<uint32_t> busy_{0};  // others that have not finished with the job
  std::atomic<bool> stop_{false};

  std::mutex mutex_;  // for the sleepers
  std::condition_variable wake_;
  std::vector<std::thread> others_;
  fovea_executor executor_;
};

}  // namespace fovea::platform

#endif  // FOVEA_PLATFORM_HOST_THREADS_H_
