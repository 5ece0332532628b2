// SPDX-License-Identifier: Apache-2.0
//
// As much of Catch2 as these tests use, for machines that Catch2 is too large for: TEST_CASE, CHECK, REQUIRE, SUCCEED
// and INFO with the same meaning, but that a failed REQUIRE ends the program, since there are no exceptions to end the
// case with.
#pragma once

// No warnings of comparisons of different signs in a template, and of a == b behind the <= of CHECK.
#pragma GCC system_header

#include <string>
#include <type_traits>

#include "support/text.h"

namespace fovea_test::driver {

// A test case; all are in one list as long as the program runs.
struct Case {
  Case(void (*body)(), const char* name, const char* tags);
  void (*body)();
  const char* name;
  const char* tags;  // "[short][math]"
  Case* next = nullptr;
};

// What is printed with the checks that fail from here to the end of the block.
class Info {
 public:
  explicit Info(const Text& text);
  ~Info();
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;

 private:
  friend void fail(const char* file, int line, const char* expression, const std::string& values, bool required);
  std::string text_;
  const Info* outer_;
};

void count_check();
void fail(const char* file, int line, const char* expression, const std::string& values, bool required);
const char* running_case();

// The two sides of a comparison, so that their values can be shown.
struct Verdict {
  bool holds;
  std::string values;
};

template <class T>
void show(Text& text, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    text << (value ? "true" : "false");
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_convertible_v<T, std::string>) {
    text << value;
  } else {
    text << "{?}";
  }
}

template <class Left>
class Side {
 public:
  explicit Side(const Left& left) : left_(left) {}
#define FOVEA_DRIVER_RELATION_(relation)                            \
  template <class Right>                                            \
  Verdict operator relation(const Right& right) const {             \
    return verdict(left_ relation right, " " #relation " ", right); \
  }
  FOVEA_DRIVER_RELATION_(==)
  FOVEA_DRIVER_RELATION_(!=)
  FOVEA_DRIVER_RELATION_(<)
  FOVEA_DRIVER_RELATION_(<=)
  FOVEA_DRIVER_RELATION_(>)
  FOVEA_DRIVER_RELATION_(>=)
#undef FOVEA_DRIVER_RELATION_
  operator Verdict() const { return {static_cast<bool>(left_), ""}; }

 private:
  template <class Right>
  Verdict verdict(bool holds, const char* relation, const Right& right) const {
    if (holds) return {true, ""};
    Text text;
    show(text, left_);
    text << relation;
    show(text, right);
    return {false, text};
  }
  const Left& left_;
};

// <= binds tighter than == and as tight as <, from the left: Start() <= a == b is (Start() <= a) == b.
struct Start {
  template <class Left>
  Side<Left> operator<=(const Left& left) const {
    return Side<Left>(left);
  }
};

}  // namespace fovea_test::driver

// clang-format off
#define FOVEA_DRIVER_JOIN_(a, b) a##b
#define FOVEA_DRIVER_NAME_(a, b) FOVEA_DRIVER_JOIN_(a, b)
#define FOVEA_DRIVER_CASE_(function, name, tags, ...)                             \
  static void function();                                                         \
  static ::fovea_test::driver::Case function##_case(function, name, tags);        \
  static void function()
#define FOVEA_DRIVER_CASES_(...) FOVEA_DRIVER_CASE_(__VA_ARGS__)
#define TEST_CASE(...) FOVEA_DRIVER_CASES_(FOVEA_DRIVER_NAME_(case_of_line_, __LINE__), __VA_ARGS__, "", "")

#define FOVEA_DRIVER_CHECK_(required, ...)                                                                          \
  do {                                                                                                              \
    const ::fovea_test::driver::Verdict fovea_verdict = ::fovea_test::driver::Start() <= __VA_ARGS__;               \
    ::fovea_test::driver::count_check();                                                                            \
    if (!fovea_verdict.holds) {                                                                                     \
      ::fovea_test::driver::fail(__FILE__, __LINE__, #__VA_ARGS__, fovea_verdict.values, required);                 \
    }                                                                                                               \
  } while (false)
#define CHECK(...) FOVEA_DRIVER_CHECK_(false, __VA_ARGS__)
#define CHECK_FALSE(...) CHECK(!(__VA_ARGS__))
#define REQUIRE(...) FOVEA_DRIVER_CHECK_(true, __VA_ARGS__)
#define STATIC_REQUIRE(...)                                  \
  do {                                                       \
    static_assert(__VA_ARGS__, #__VA_ARGS__);                \
    ::fovea_test::driver::count_check();                     \
  } while (false)
#define INFO(...) \
  const ::fovea_test::driver::Info FOVEA_DRIVER_NAME_(info_of_line_, __LINE__)(::fovea_test::Text() << __VA_ARGS__)
#define SUCCEED() ::fovea_test::driver::count_check()
// clang-format on
