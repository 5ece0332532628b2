// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // of Catch2 2: listeners
#include "catch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "ground/targets/registry.h"
#include "support/problem.h"

namespace fovea_test {
namespace {

// Vectors, since code of theirs is all in headers: the memory sanitizer does not see what a set's in the system's library writes.
std::vector<std::string> g_cases;  // of which something was skipped
std::vector<std::string> g_lines;  // what was printed

bool is_new(std::vector<std::string>* all, const std::string& one) {
  for (const std::string& other : *all) {
    if (std::strcmp(other.c_str(), one.c_str()) == 0) return false;
  }
  all->push_back(one);
  return true;
}

std::string running_case() {
#if FOVEA_SMALL_DRIVER
  return driver::running_case();
#else
  return Catch::getResultCapture().getCurrentTestName();
#endif
}

void print(const std::string& what, const std::string& reason) {
  const std::string line = "skipped: " + what + ": " + reason;
  if (is_new(&g_lines, line)) std::printf("%s\n", line.c_str());
}

// Those that this build has and this processor does not run.
std::vector<fovea_target> missing_targets() {
  const std::vector<fovea_target> here = targets_and_those_that_extend_them();
  std::vector<fovea_target> missing;
  for (uint32_t number = 1; number < 128; ++number) {
    const auto target = enum_of<fovea_target>(number);
    const bool is_alias = fovea::kXsimdAlone && target == FOVEA_TARGET_XSIMD;
    bool in_build = fovea_target_backend(target);
#if FOVEA_TESTS_SEE_INSIDE  // a shared library is for systems, where the two are the same
    in_build = in_build && fovea::target_row(target)->compiled();
#endif
    if (in_build && !is_alias && std::count(here.begin(), here.end(), target) == 0) missing.push_back(target);
  }
  return missing;
}

}  // namespace

void skip(const std::string& reason) {
  const std::string name = running_case();
  is_new(&g_cases, name);
  print(name, reason);
  SUCCEED();  // a case without any check fails
}

void print_skipped() {
  std::printf("targets:");
  for (const fovea_target target : targets_and_those_that_extend_them()) std::printf(" %s", fovea_target_name(target));
  std::printf("\n");
  const std::vector<fovea_target> missing = missing_targets();
  for (const fovea_target target : missing) {
    print(std::string("target ") + fovea_target_name(target), "this build has it, and the processor does not run it");
  }
  std::printf("skipped in all: %u cases, whole or in part; %u targets\n", static_cast<unsigned>(g_cases.size()),
              static_cast<unsigned>(missing.size()));
  std::fflush(stdout);
}

#if !FOVEA_SMALL_DRIVER
namespace {

#if CATCH_VERSION_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

struct Listener : ListenerBase {
  using ListenerBase::ListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override { print_skipped(); }
};
CATCH_REGISTER_LISTENER(Listener)

}  // namespace
#endif

}  // namespace fovea_test
