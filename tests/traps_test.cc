// SPDX-License-Identifier: Apache-2.0
//
// The traps that all other tests run with: what is written beside a buffer is seen, and whatever allocates in a library
// call ends the program.
#include "support/heap_trap.h"

#include <cstdlib>
#include <new>

#include "catch.h"
#include "support/every.h"
#include "support/guarded.h"

#if FOVEA_TESTS_TRAP_HEAP
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace fovea_test {

#if FOVEA_TESTS_TRAP_HEAP
namespace {

// How a copy of this program ends that does this.
int status_of(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    close(STDERR_FILENO);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

// So that no compiler may leave it out.
void allocate() {
  void* volatile const block = std::malloc(1);
  std::free(block);
}

int run_allocating(void*, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg) {
  allocate();
  for (size_t i = 0; i < tasks; ++i) task(arg, i, 0);
  return 0;
}

// As a function of the library: it lets the executor run tasks that allocate, or allocates before it does.
template <bool kItself>
fovea_status two_tasks(const fovea_attention_args* args) {
  if (kItself) allocate();
  args->executor->run(args->executor->self, 2, [](void*, size_t, uint32_t) { allocate(); }, nullptr);
  return FOVEA_OK;
}

fovea_status nothing(const fovea_attention_args* args) {
  args->executor->run(args->executor->self, 2, [](void*, size_t, uint32_t) {}, nullptr);
  return FOVEA_OK;
}

template <fovea_status (*kFunction)(const fovea_attention_args*)>
void call_with_executor() {
  const fovea_executor executor = {run_allocating, nullptr, 1};
  auto args = sized<fovea_attention_args>();
  args.executor = &executor;
  const fovea_attention_args* const passed = &args;
  call("a function", kFunction, passed);
}

}  // namespace
#endif

TEST_CASE("guards: a byte that is written beside a buffer is seen", "[short]") {
  if (!guards_fault()) skip("no memory protection here: only writes beside a buffer are seen, not reads");
  for (const Placement placement : kPlacements) {
    const Guarded buffer(40, 4, placement);
    INFO(name(placement));
    CHECK(buffer.untouched());
    CHECK(buffer.margin_intact());
    // Where pages fault, one side of the buffer may be such a page.
    const bool before = !guards_fault() || placement != Placement::kStart;
    const bool behind = !guards_fault() || placement != Placement::kEnd;
    for (const bool first : {true, false}) {
      if (first ? !before : !behind) continue;
      uint8_t* const beside = first ? buffer.as<uint8_t>() - 1 : buffer.as<uint8_t>() + buffer.bytes();
      const uint8_t kept = *beside;
      *beside = uint8_t(~kept);
      CHECK(!buffer.margin_intact());
      *beside = kept;
      CHECK(buffer.margin_intact());
    }
  }
}

TEST_CASE("heap: what allocates or frees in a library call, or in a task of it, ends the program", "[short]") {
#if FOVEA_TESTS_TRAP_HEAP
  CHECK(status_of([] { allocate(); }) == 0);
  CHECK(status_of(call_with_executor<nothing>) == 0);  // an executor may
  CHECK(status_of(call_with_executor<two_tasks<false>>) == SIGABRT);
  CHECK(status_of(call_with_executor<two_tasks<true>>) == SIGABRT);
  CHECK(status_of([] {
          void* volatile const block = std::malloc(1);
          const Within library("a function");
          std::free(block);
        }) == SIGABRT);
  CHECK(status_of([] {
          const Within library("a function");
          ::operator delete(::operator new(1));
        }) == SIGABRT);
#else
  skip("no trap here: allocations in library calls are not seen");
#endif
}

}  // namespace fovea_test
