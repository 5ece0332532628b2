// SPDX-License-Identifier: Apache-2.0
//
// Checks that no library call allocates. Where the trap is linked (see heap_trap.cc), every call of a function of
// fovea.h goes through call(), by wrappers that scripts/wrap_calls.py writes. Tests do not change for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "fovea/fovea.h"

namespace fovea_test {

// Bytes of the fields that a structure has in a version after this one.
constexpr size_t kLaterBytes = 16;

// While it lives, an allocation by this thread ends the program, because it runs this function of the library. nullptr
// stands for the tests' own code, which may allocate.
class Within {
 public:
  explicit Within(const char* function);
  ~Within();
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  const char* outer_;
};

// An argument that is passed to the library.
template <class T, class = void>
class Passed {
 public:
  explicit Passed(T value) : value_(value) {}
  operator T() const { return value_; }

 private:
  T value_;
};

// An executor whose run() counts as the tests' code, and whose tasks count as the library's on any thread.
class PassedExecutor {
 public:
  const fovea_executor* pass(const fovea_executor* executor);

 private:
  static int run(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg);
  static void run_task(void* self, size_t index, uint32_t worker);

  const fovea_executor* executor_ = nullptr;
  fovea_executor replacement_{};
  void (*task_)(void* arg, size_t index, uint32_t worker) = nullptr;
  void* arg_ = nullptr;
};

// A loader whose callbacks count as the tests' code.
class PassedLoader {
 public:
  const fovea_loader* pass(const fovea_loader* loader);

 private:
  static int start(void* self, const fovea_kv_tile* tile);
  static int finish(void* self, const fovea_kv_tile* tile);

  const fovea_loader* loader_ = nullptr;
  fovea_loader replacement_{};
};

template <class Args, class = void>
struct HasExecutor : std::false_type {};
template <class Args>
struct HasExecutor<Args, std::void_t<decltype(std::declval<Args&>().executor)>> : std::true_type {};
template <class Args, class = void>
struct HasLoader : std::false_type {};
template <class Args>
struct HasLoader<Args, std::void_t<decltype(std::declval<Args&>().kv.loader)>> : std::true_type {};

// Whether the next structure is passed as a later version would have it: one of two is.
bool passes_longer();

// A structure that begins with its size is passed as a copy. A later version's has more fields, of which all are 0; but
// where a test says that it has them, one is not. If struct_bytes is wrong otherwise, the structure is passed itself:
// the library refuses it before it reads more.
template <class Args>
class Passed<const Args*, std::void_t<decltype(std::declval<Args&>().struct_bytes)>> {
 public:
  explicit Passed(const Args* args) : args_(args), longer_{} {
    if (args == nullptr) return;
    const bool unknown = args->struct_bytes == sizeof longer_;
    if (!unknown && args->struct_bytes != sizeof *args) return;
    longer_.known = *args;
    if (unknown) longer_.later[sizeof longer_.later - 1] = 1;
    if (passes_longer()) longer_.known.struct_bytes = sizeof longer_;
    if constexpr (HasExecutor<Args>::value) longer_.known.executor = executor_.pass(args->executor);
    if constexpr (HasLoader<Args>::value) longer_.known.kv.loader = loader_.pass(args->kv.loader);
    args_ = &longer_.known;
  }
  operator const Args*() const { return args_; }

 private:
  const Args* args_;
  struct {
    Args known;
    uint8_t later[kLaterBytes];
  } longer_;
  PassedExecutor executor_;
  PassedLoader loader_;
};

template <class Result, class... Arguments>
Result call(const char* name, Result (*function)(Arguments...), Arguments... arguments) {
  const Within library(name);
  return function(Passed<Arguments>(arguments)...);
}

}  // namespace fovea_test
