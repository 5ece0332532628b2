// SPDX-License-Identifier: Apache-2.0
//
// What the fuzzers share: numbers taken from the bytes that libFuzzer hands in, and an end when something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

#include "fovea/fovea.h"

namespace fovea_test {

constexpr fovea_causal kCausals[] = {FOVEA_CAUSAL_NONE, FOVEA_CAUSAL_TOP_LEFT, FOVEA_CAUSAL_BOTTOM_RIGHT,
                                     FOVEA_CAUSAL_POSITIONS};

// Zeros when the bytes have come to their end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t bytes) : data_(data), left_(bytes) {}

  bool empty() const { return left_ == 0; }
  template <class T>
  T take() {
    T value{};
    const size_t bytes = left_ < sizeof value ? left_ : sizeof value;
    if (bytes != 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  bool flag() { return take<uint8_t>() & 1; }
  // Below bound, which is at least 1. One byte is taken where one is enough.
  uint32_t below(uint32_t bound) { return bound <= 256 ? take<uint8_t>() % bound : take<uint32_t>() % bound; }
  // Below bound; half of them beside a multiple of 64, where tiles of keys begin.
  uint32_t count_below(uint32_t bound) {
    if (flag() || bound <= 64) return below(bound);
    const uint32_t tile = 64 * (1 + below((bound - 1) / 64));
    const uint32_t count = tile + below(3) - 1;
    return count < bound ? count : tile;
  }
  template <class T>
  T choose(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<uint32_t>(choices.size()))];
  }

  template <class T, size_t N>
  T choose(const T (&choices)[N]) {
    return choices[below(uint32_t{N})];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// Ends the program, for libFuzzer to keep the input.
inline void fail(const std::string& what) {
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::abort();
}
inline void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}
inline void expect(const std::string& wrong) {
  if (!wrong.empty()) fail(wrong);
}

// What a fuzzer does with an input.
void run(Bytes bytes);

}  // namespace fovea_test

// libFuzzer's entry point. A fuzzer is one source file, which includes this header.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  fovea_test::run({data, bytes});
  return 0;
}
