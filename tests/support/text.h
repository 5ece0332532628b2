// SPDX-License-Identifier: Apache-2.0
//
// Text composed by <<, as with std::ostringstream, which is too large for machines without an operating system.
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

namespace fovea_test {

class Text {
 public:
  Text& operator<<(const char* text) {
    text_ += text ? text : "(null)";
    return *this;
  }
  Text& operator<<(const std::string& text) {
    text_ += text;
    return *this;
  }
  Text& operator<<(char c) {
    text_ += c;
    return *this;
  }
  // Numbers and enums; floating-point numbers with enough digits to tell any two floats apart.
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>, int> = 0>
  Text& operator<<(T number) {
    char digits[48];
    if constexpr (std::is_floating_point_v<T>) {
      std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(number));
    } else if constexpr (std::is_unsigned_v<T>) {
      to_digits(digits, static_cast<unsigned long long>(number), false);
    } else {
      const auto wide = static_cast<long long>(number);
      const auto bits = static_cast<unsigned long long>(wide);
      to_digits(digits, wide < 0 ? 0 - bits : bits, wide < 0);
    }
    text_ += digits;
    return *this;
  }
  operator std::string() const { return text_; }

 private:
  // Not snprintf: newlib's small version does not print 64-bit numbers.
  static void to_digits(char (&digits)[48], unsigned long long number, bool minus) {
    char reversed[24];
    size_t count = 0;
    do reversed[count++] = static_cast<char>('0' + number % 10);
    while (number /= 10);
    char* p = digits;
    if (minus) *p++ = '-';
    while (count) *p++ = reversed[--count];
    *p = 0;
  }

  std::string text_;
};

}  // namespace fovea_test
