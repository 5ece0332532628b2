// SPDX-License-Identifier: Apache-2.0
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "platform/platform.h"

namespace fovea::platform {
namespace {

using Clock = std::chrono::steady_clock;

// How long a thread waits without sleep. To wake it takes up to 50 microseconds on a virtual machine, longer than the
// time between two calls in a loop; but a waiting thread must not take the processor of a thread that has work.
Clock::duration time_awake(uint32_t threads) {
  return std::chrono::microseconds(threads <= processor_threads() ? 100 : 5);
}

// Waits without sleep for a condition that mostly becomes true soon. False if it does not.
template <class Condition>
bool comes_soon(Clock::duration awake, const Condition& condition) {
  const Clock::time_point until = Clock::now() + awake;
  do {
    if (condition()) return true;
  } while (Clock::now() < until);
  return false;
}

}  // namespace

// A thread takes a task by decrementing waiting_, and only then reads task_ and arg_, which stay the same until all
// taken tasks are done. So a thread that wakes too late for one call takes part in the next.
class ThreadPool::Threads {
 public:
  using Task = void (*)(void* arg, size_t index, uint32_t worker);

  explicit Threads(uint32_t threads) : awake_(time_awake(threads)) {
    others_.reserve(threads);
    try {
      for (uint32_t worker = 1; worker < threads; ++worker) others_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error&) {
      // The system has no more threads.
    }
  }

  ~Threads() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : others_) thread.join();
  }

  uint32_t count() const { return static_cast<uint32_t>(others_.size()) + 1; }

  void run(size_t tasks, Task task, void* arg) {
    task_ = task;
    arg_ = arg;
    unfinished_ = tasks;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_ = tasks;
    }
    if (tasks > 1) wake_.notify_all();
    take_tasks(0);
    wait_until(finished_, [this] { return unfinished_ == 0; });
  }

 private:
  void work(uint32_t worker) {
    while (true) {
      wait_until(wake_, [this] { return stop_ || waiting_ != 0; });
      if (stop_) return;
      take_tasks(worker);
    }
  }

  // From the last to the first: the last tiles of a causal call take longest, so they must not begin last.
  void take_tasks(uint32_t worker) {
    size_t waiting = waiting_;
    while (waiting != 0) {
      if (!waiting_.compare_exchange_weak(waiting, waiting - 1)) continue;
      task_(arg_, waiting - 1, worker);
      if (--unfinished_ == 0 && worker != 0) {
        const std::lock_guard<std::mutex> lock(mutex_);
        finished_.notify_one();
      }
      waiting = waiting_;
    }
  }

  template <class Condition>
  void wait_until(std::condition_variable& event, const Condition& condition) {
    if (comes_soon(awake_, condition)) return;
    std::unique_lock<std::mutex> lock(mutex_);
    event.wait(lock, condition);
  }

  const Clock::duration awake_;
  Task task_ = nullptr;
  void* arg_ = nullptr;
  std::atomic<size_t> waiting_{0};     // tasks that no thread has taken
  std::atomic<size_t> unfinished_{0};  // those, and the tasks that a thread is running
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // held while a condition changes that a thread sleeps on
  std::condition_variable wake_, finished_;
  std::vector<std::thread> others_;
};

uint32_t processor_threads() {
#if defined(__linux__)
  cpu_set_t allowed;  // of up to 1024 processors; where there are more, the call fails
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<uint32_t>(CPU_COUNT(&allowed));
#endif
  return std::max(std::thread::hardware_concurrency(), 1u);
}

ThreadPool::ThreadPool(uint32_t threads) : threads_(new Threads(threads)), executor_{} {
  executor_.self = threads_;
  executor_.workers = threads_->count();
  executor_.run = [](void* self, size_t tasks, Threads::Task task, void* arg) {
    static_cast<Threads*>(self)->run(tasks, task, arg);
    return 0;
  };
}

ThreadPool::~ThreadPool() { delete threads_; }

}  // namespace fovea::platform
