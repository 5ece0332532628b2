// SPDX-License-Identifier: Apache-2.0
#include "catch.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/platform.h"

namespace fovea_test::driver {
namespace {

Case* g_first;
Case** g_end = &g_first;
const Info* g_info;  // the innermost
const Case* g_case;
size_t g_cases, g_cases_failed, g_checks, g_failures;
bool g_case_failed;

bool contains(const char* text, const std::string& part) {  // small and capital letters alike, as Catch2
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  const char* const end = text + std::strlen(text);
  return std::search(text, end, part.begin(), part.end(), same) != end;
}

// A filter is a tag, "[short]", or a part of a name, "*stream*"; ~ before it turns it round.
bool selects(const char* filter, const Case& one) {
  const bool inverted = filter[0] == '~';
  std::string part = filter + inverted;
  part.erase(std::remove(part.begin(), part.end(), '*'), part.end());
  return contains(part[0] == '[' ? one.tags : one.name, part) != inverted;
}

bool selected(const Case& one, int count, char** filters) {
  for (int i = 0; i < count; ++i) {
    if (filters[i][0] == '-') {
      ++i;
    } else if (!selects(filters[i], one)) {
      return false;
    }
  }
  return true;
}

void run(const Case& one) {
  g_case = &one;
  g_case_failed = false;
  const uint64_t begin = fovea::platform::clock_ns();
  const size_t checks_before = g_checks;
  one.body();
  if (g_checks == checks_before) fail(__FILE__, __LINE__, "a case checks something, or skips", "", false);
  const uint64_t milliseconds = (fovea::platform::clock_ns() - begin) / 1000000;
  ++g_cases;
  if (g_case_failed) ++g_cases_failed;
  // As Catch2 prints it with --durations yes.
  std::printf("%lu.%03lu s: %s\n", static_cast<unsigned long>(milliseconds / 1000),
              static_cast<unsigned long>(milliseconds % 1000), one.name);
  std::fflush(stdout);
}

int summary() {
  print_skipped();
  std::printf("%lu cases, %lu checks; failed: %lu cases, %lu checks\n", static_cast<unsigned long>(g_cases),
              static_cast<unsigned long>(g_checks), static_cast<unsigned long>(g_cases_failed),
              static_cast<unsigned long>(g_failures));
  return g_failures || !g_cases ? 1 : 0;
}

}  // namespace

Case::Case(void (*function)(), const char* case_name, const char* case_tags)
    : body(function), name(case_name), tags(case_tags) {
  *g_end = this;
  g_end = &next;
}

Info::Info(const Text& text) : text_(text), outer_(g_info) { g_info = this; }
Info::~Info() { g_info = outer_; }

void count_check() { ++g_checks; }

void fail(const char* file, int line, const char* expression, const std::string& values, bool required) {
  ++g_failures;
  g_case_failed = true;
  std::printf("%s:%d: failed, in \"%s\":\n  %s\n", file, line, g_case->name, expression);
  if (!values.empty()) std::printf("  is: %s\n", values.c_str());
  for (const Info* info = g_info; info; info = info->outer_) std::printf("  with: %s\n", info->text_.c_str());
  if (!required) return;
  ++g_cases;
  ++g_cases_failed;
  std::printf("  and what follows requires it: the program ends\n");
  std::exit(summary());
}

const char* running_case() { return g_case->name; }

}  // namespace fovea_test::driver

// Arguments: filters, all of which a case must pass. Options of Catch2 and their values are passed over: what -d yes and
// -w NoAssertions ask for is always done.
int main(int argc, char** argv) {
  using namespace fovea_test::driver;
  for (const Case* one = g_first; one; one = one->next) {
    if (selected(*one, argc - 1, argv + 1)) run(*one);
  }
  return summary();
}
