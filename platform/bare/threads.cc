// SPDX-License-Identifier: Apache-2.0
//
// For machines without threads: the caller does all tasks.
#include "platform/platform.h"

namespace fovea::platform {

uint32_t processor_threads() { return 1; }

ThreadPool::ThreadPool(uint32_t) : threads_(nullptr), executor_{} {
  executor_.self = threads_;
  executor_.workers = 1;
  executor_.run = [](void*, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
    for (size_t index = 0; index < tasks; ++index) task(arg, index, 0);
    return 0;
  };
}

ThreadPool::~ThreadPool() = default;

}  // namespace fovea::platform
