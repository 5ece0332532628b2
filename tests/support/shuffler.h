// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "fovea/fovea.h"
#include "support/problem.h"

namespace fovea_test {

// Whether the library notices tasks that an executor leaves out. It counts tasks where the processor has the atomics.
constexpr bool kCountsTasks = __atomic_always_lock_free(sizeof(size_t), nullptr);

// Runs tasks one after the other, in another order each time, with each worker number in turn.
class Shuffler {
 public:
  explicit Shuffler(uint32_t workers) : executor_{run, this, workers} {}

  const fovea_executor* executor() const { return &executor_; }

  size_t runs = 0, most_tasks = 0, all_tasks = 0;
  uint32_t most_worker = 0;
  int answer = 0;           // returned by run
  uint32_t added = 0;       // to each worker's number, modulo 2^32
  bool one_worker = false;  // the worker's number is always `added`
  size_t left_out = 0;      // this many tasks are not run
  size_t beyond = 0;        // nonzero: runs, instead of task 0, one that does not exist, this far past the last

 private:
  static int run(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
    return static_cast<Shuffler*>(self)->run_all(tasks, task, arg);
  }
  int run_all(size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
    // Steps that share no factor with the count reach each task; in some runs they go backwards. It allocates nothing.
    const bool backwards = runs % 3 == 0;
    size_t step = backwards ? tasks - 1 : 1 + random_bits(runs, tasks) % std::max<size_t>(tasks, 1);
    while (tasks != 0 && std::gcd(step, tasks) != 1) ++step;
    const size_t first = backwards ? tasks - 1 : random_bits(runs, 0) % std::max<size_t>(tasks, 1);
    ++runs, all_tasks += tasks;
    most_tasks = std::max(most_tasks, tasks);
    for (size_t i = std::min(left_out, tasks); i < tasks; ++i) {
      const uint32_t worker = one_worker ? 0 : uint32_t((i * 7 + runs) % executor_.workers);
      most_worker = std::max(most_worker, worker);
      const size_t at = (first + i * step) % tasks;
      task(arg, at == 0 && beyond ? tasks - 1 + beyond : at, worker + added);
    }
    return answer;
  }

  fovea_executor executor_;
};

}  // namespace fovea_test
