// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON, one token after the other; commas and line breaks come by themselves.
#ifndef FOVEA_BENCH_JSON_H_
#define FOVEA_BENCH_JSON_H_

#include <cmath>
#include <cstdio>

namespace fovea::bench {

class Json {
 public:
  // Down to this depth each member has a line, deeper down all is on one.
  explicit Json(std::FILE* file, int broken_lines = 3) : file_(file), broken_lines_(broken_lines) {}

  Json& begin(char bracket) {  // '{' or '['
    separate();
    std::fputc(bracket, file_);
    ++depth_;
    first_ = true;
    return *this;
  }
  Json& end(char bracket) {
    --depth_;
    std::fputc(bracket, file_);
    first_ = false;
    if (depth_ == 0) std::fputc('\n', file_);
    return *this;
  }
  Json& key(const char* name) {
    string(name);
    std::fputs(": ", file_);
    after_key_ = true;
    return *this;
  }
  Json& string(const char* text) {
    separate();
    std::fputc('"', file_);
    for (; *text; ++text) {
      const unsigned char c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') {
        std::fprintf(file_, "\\%c", c);
      } else if (c < 0x20) {
        std::fprintf(file_, "\\u%04x", c);
      } else {
        std::fputc(c, file_);
      }
    }
    std::fputc('"', file_);
    return *this;
  }
  Json& number(double value) {  // what is not finite has no form in JSON: null
    separate();
    if (std::isfinite(value)) {
      std::fprintf(file_, "%.9g", value);
    } else {
      std::fputs("null", file_);
    }
    return *this;
  }
  Json& boolean(bool value) {
    separate();
    std::fputs(value ? "true" : "false", file_);
    return *this;
  }
  Json& member(const char* name, const char* text) { return key(name).string(text); }
  Json& member(const char* name, double value) { return key(name).number(value); }
  Json& flag(const char* name, bool value) { return key(name).boolean(value); }

 private:
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (!first_) std::fputc(',', file_);
    if (depth_ > 0 && depth_ < broken_lines_) {
      std::fprintf(file_, "\n%*s", 2 * depth_, "");
    } else if (!first_) {
      std::fputc(' ', file_);
    }
    first_ = false;
  }

  std::FILE* file_;
  int broken_lines_, depth_ = 0;
  bool first_ = true, after_key_ = false;
};

}  // namespace fovea::bench

#endif  // FOVEA_BENCH_JSON_H_
