// SPDX-License-Identifier: Apache-2.0
//
// Replaces malloc and the like, and calls the C library's own. operator new calls these, too.
#include "support/heap_trap.h"

#if FOVEA_TESTS_TRAP_HEAP

#include <errno.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "support/guarded.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace fovea_test {
namespace {

thread_local const char* g_function;

void say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

void check(const char* what) {
  if (g_function == nullptr) return;
  const char* const function = g_function;
  g_function = nullptr;  // the signal's handler may allocate
  say("\n");
  say(what);
  say(" in ");
  say(function);
  say(", in case: ");
  say(current_case());
  say("\n");
  std::abort();
}

}  // namespace

Within::Within(const char* function) : outer_(g_function) { g_function = function; }
Within::~Within() { g_function = outer_; }

bool passes_longer() {
  thread_local uint32_t calls;
  return ++calls % 2 == 0;
}

const fovea_executor* PassedExecutor::pass(const fovea_executor* executor) {
  if (executor == nullptr || executor->run == nullptr) return executor;
  executor_ = executor;
  replacement_ = {run, this, executor->workers};
  return &replacement_;
}

int PassedExecutor::run(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
  auto* const passed = static_cast<PassedExecutor*>(self);
  const Within tests(nullptr);
  passed->task_ = task, passed->arg_ = arg;
  return passed->executor_->run(passed->executor_->self, tasks, run_task, passed);
}

void PassedExecutor::run_task(void* self, size_t index, uint32_t worker) {
  const auto* const passed = static_cast<PassedExecutor*>(self);
  const Within library("a task");
  passed->task_(passed->arg_, index, worker);
}

const fovea_loader* PassedLoader::pass(const fovea_loader* loader) {
  if (loader == nullptr) return loader;
  loader_ = loader;
  replacement_ = {loader->start ? start : nullptr, loader->finish ? finish : nullptr, this};
  return &replacement_;
}

int PassedLoader::start(void* self, const fovea_kv_tile* tile) {
  const fovea_loader& loader = *static_cast<PassedLoader*>(self)->loader_;
  const Within tests(nullptr);
  return loader.start(loader.self, tile);
}

int PassedLoader::finish(void* self, const fovea_kv_tile* tile) {
  const fovea_loader& loader = *static_cast<PassedLoader*>(self)->loader_;
  const Within tests(nullptr);
  return loader.finish(loader.self, tile);
}

}  // namespace fovea_test

extern "C" {

void* malloc(size_t bytes) noexcept {
  fovea_test::check("memory is allocated");
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) noexcept {
  fovea_test::check("memory is allocated");
  return __libc_calloc(count, bytes);
}

void* realloc(void* block, size_t bytes) noexcept {
  fovea_test::check("memory is allocated");
  return __libc_realloc(block, bytes);
}

void* memalign(size_t alignment, size_t bytes) noexcept {
  fovea_test::check("memory is allocated");
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }

int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  *block = memalign(alignment, bytes);
  return *block == nullptr ? ENOMEM : 0;
}

void free(void* block) noexcept {
  fovea_test::check("memory is freed");
  __libc_free(block);
}

}  // extern "C"

#endif
