// SPDX-License-Identifier: Apache-2.0
//
// Catch2, whichever version there is: 3 has catch_all.hpp, 2 has catch.hpp. Or, where FOVEA_TEST_DRIVER is small, the
// part of it in driver/. And what all of them lack.
#pragma once

#if FOVEA_SMALL_DRIVER
#include "driver/driver.h"
#elif __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace fovea_test {

// Prints "skipped: <case>: <reason>", and counts the case. One that cannot run at all begins so:
//   if (...) return skip("...");
void skip(const std::string& reason);

// What the program ends with: the targets that ran, those of this build that the processor does not run, and how much
// was skipped.
void print_skipped();

}  // namespace fovea_test

// A case of what only a static library shows.
#if FOVEA_TESTS_SEE_INSIDE
#define INSIDE_CASE TEST_CASE
#else
#define INSIDE_CASE(...) FOVEA_HIDDEN_CASE_(__LINE__, __VA_ARGS__)
#define FOVEA_HIDDEN_CASE_(line, ...) FOVEA_HIDDEN_CASE_OF_(line, __VA_ARGS__)
#define FOVEA_HIDDEN_CASE_OF_(line, ...)                                                      \
  TEST_CASE(__VA_ARGS__) { ::fovea_test::skip("a shared library hides what this looks at"); } \
  [[maybe_unused]] static void hidden_case_of_line_##line()
#endif
