// SPDX-License-Identifier: Apache-2.0
//
// A line of text, put together without stdio.
#ifndef FOVEA_SRC_BASE_LINE_H_
#define FOVEA_SRC_BASE_LINE_H_

#include <stddef.h>
#include <stdint.h>

namespace fovea {

// Appends to a buffer of fixed size and counts what would have been written.
class Line {
 public:
  Line(char* text, size_t bytes) : text_(text), bytes_(bytes) {}

  Line& operator<<(const char* s) {
    for (; *s; ++s) put(*s);
    return *this;
  }
  Line& operator<<(uint64_t x) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = char('0' + x % 10);
      x /= 10;
    } while (x);
    while (count) put(digits[--count]);
    return *this;
  }
  size_t finish() {
    if (bytes_) text_[written_ < bytes_ ? written_ : bytes_ - 1] = '\0';
    return written_;
  }

 private:
  void put(char c) {
    if (written_ + 1 < bytes_) text_[written_] = c;
    ++written_;
  }

  char* text_;
  size_t bytes_, written_ = 0;
};

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_LINE_H_
