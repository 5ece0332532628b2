// SPDX-License-Identifier: Apache-2.0
#include "platform/host/threads.h"

#include <chrono>

namespace fovea::platform {
namespace {

// Waits for something that mostly comes soon. False after some microseconds.
template <class Condition>
bool comes_soon(const Condition& condition) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAwake = std::chrono::microseconds(5);
  if (condition()) return true;
  const Clock::time_point until = Clock::now() + kAwake;
  while (Clock::now() < until) {
    if (condition()) return true;
  }
  return false;
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) {
  for (uint32_t worker = 1; worker < threads; ++worker) others_.emplace_back([this, worker] { work(worker); });
  executor_ = {};
  executor_.self = this;
  executor_.workers = this->threads();
  executor_.run = [](void* self, size_t tasks, Task task, void* arg) {
    static_cast<ThreadPool*>(self)->run(tasks, task, arg);
    return 0;
  };
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void ThreadPool::run(size_t tasks, Task task, void* arg) {
  task_ = task;
  arg_ = arg;
  tasks_ = tasks;
  next_ = 0;
  if (tasks > 1 && !others_.empty()) {
    busy_ = static_cast<uint32_t>(others_.size());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++job_;
    }
    wake_.notify_all();
  }
  take_tasks(0);
  // The others' last tasks: each as long as one, so this wait is short, unless the system runs something else meanwhile.
  while (!comes_soon([this] { return busy_ == 0; })) std::this_thread::yield();
}

void ThreadPool::take_tasks(uint32_t worker) {
  for (size_t i; (i = next_.fetch_add(1)) < tasks_;) task_(arg_, i, worker);
}

void ThreadPool::work(uint32_t worker) {
  uint32_t done = 0;
  while (true) {
    const auto called = [&] { return stop_ || job_ != done; };
    if (!comes_soon(called)) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, called);
    }
    if (stop_) return;
    ++done;
    take_tasks(worker);
    --busy_;
  }
}

}  // namespace fovea::platform
