// SPDX-License-Identifier: Apache-2.0
//
// exp2, exp, log and tanh of ground/math/math.inl against double precision, on each target. The numbers asserted here are the
// ones that math.inl states.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#if FOVEA_TESTS_HAVE_THREADS
#include <thread>
#endif
#include "simd_tests.h"
#include "support/bits.h"
#include "support/problem.h"

using fovea_test::bits_of;
using fovea_test::float_of;
using fovea_test::flushes_subnormals;
using fovea_test::fuses;
using fovea_test::MathFunction;
using fovea_test::targets;

namespace {

constexpr uint32_t kSignBit = 0x80000000u, kInfinityBits = 0x7f800000u;

bool is_nan(uint32_t bits) { return (bits & ~kSignBit) > kInfinityBits; }
bool is_subnormal(uint32_t bits) { return (bits & kInfinityBits) == 0 && (bits & ~kSignBit) != 0; }

struct Function {
  const char* name;
  MathFunction index;
  double (*reference)(double);
  double unit;                   // of errors; 0 = that of the last place
  double fused, unfused;         // largest error, with a fused multiply-add and without
  float most;                    // no result is larger
  float zero_below, zero_until;  // the result is exactly 0 below the first, and may be up to the second
  float highest;                 // of the stated range
};

double gelu_less(double x) {
  return std::fabs(x) > 40 ? 0 : std::fabs(x) * std::erfc(std::fabs(x) / std::sqrt(2.0)) / 2;
}
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

// Stated in ground/math/math.inl.
constexpr float kLargest = std::numeric_limits<float>::max();
const Function kFunctions[] = {
    {"exp2", fovea_test::kExp2, std::exp2, 0, 0.80, 1.08, HUGE_VALF, -125.5f, -125.5f, 127.0f},
    {"short exp2", fovea_test::kShortExp2, std::exp2, 0, 1346, 1346, HUGE_VALF, -125.5f, -125.5f, 127.0f},
    {"exp", fovea_test::kExp, std::exp, 0, 0.91, 1.18, HUGE_VALF, -86.98999f, -86.98995f, 88.0f},
    {"log", fovea_test::kLog, std::log, 0, 0.81, 0.83, HUGE_VALF, -HUGE_VALF, -HUGE_VALF, kLargest},
    {"tanh", fovea_test::kTanh, std::tanh, 0, 8, 8, 1.0f, -HUGE_VALF, -HUGE_VALF, kLargest},
    {"tanh, absolutely", fovea_test::kTanh, std::tanh, 1e-9, 300, 310, 1.0f, -HUGE_VALF, -HUGE_VALF, kLargest},
    {"sigmoid", fovea_test::kSigmoid, sigmoid, 0, 5, 5, 1.0f, -86.98999f, -86.98995f, kLargest},
    {"x less GELU", fovea_test::kGeluLess, gelu_less, 1e-9, 550, 550, 1.0f, -HUGE_VALF, -HUGE_VALF, kLargest},
};

// |got - wanted| in units of the last place of a float at `wanted`, which is normal or 0, or in another unit.
double error_of(float got, double wanted, double unit) {
  if (double(got) == wanted) return 0.0;
  if (unit > 0) return std::fabs(double(got) - wanted) / unit;
  uint64_t bits;
  std::memcpy(&bits, &wanted, 8);
  uint64_t exponent = bits >> 52 & 0x7ff;
  if (exponent < 1023 - 126) exponent = 1023 - 126;  // where floats are subnormal
  const uint64_t ulp_bits = (exponent - 23) << 52;
  double ulp;
  std::memcpy(&ulp, &ulp_bits, 8);
  return std::fabs(double(got) - wanted) / ulp;
}

struct Worst {
  double error = 0.0;
  float at = 0.0f;
  size_t wrong = 0;  // not what the function answers to NaN, or outside of its range
  float wrong_at = 0.0f;

  void add(const Worst& other) {
    if (other.error > error) {
      error = other.error;
      at = other.at;
    }
    if (other.wrong && !wrong) wrong_at = other.wrong_at;
    wrong += other.wrong;
  }
};

// A block of arguments whose references are computed once for several targets.
class Block {
 public:
  static constexpr size_t kCount = 1024;

  explicit Block(const Function& function) : function_(function) {}

  size_t count() const { return count_; }
  bool full() const { return count_ == kCount; }
  void clear() { count_ = 0; }
  void push(uint32_t bits) {
    in_[count_] = float_of(bits);
    wanted_[count_] = is_nan(bits) ? 0.0 : function_.reference(double(in_[count_]));
    ++count_;
  }

  void check(fovea_target target, Worst& worst) {
    const bool flushes = flushes_subnormals(target);
    fovea::simd_tests(target).math[function_.index](in_, out_, count_);
    for (size_t i = 0; i < count_; ++i) {
      const float x = in_[i], y = out_[i];
      double wanted = wanted_[i];
      bool right = true;
      // Where subnormal arguments may count as zeros of their sign, the answer to such a zero is right too.
      if (flushes && is_subnormal(bits_of(x))) {
        const double of_zero = function_.reference(std::copysign(0.0, double{x}));
        if (double(y) == of_zero) wanted = of_zero;
      }
      if (x != x) {
        right = y != y;
      } else if (x < function_.zero_below || (x <= function_.zero_until && y == 0.0f)) {
        right = bits_of(y) == 0;
      } else if (wanted != wanted || std::fabs(wanted) == HUGE_VAL || wanted == 0.0) {
        right = wanted != wanted ? y != y : double(y) == wanted;
      } else if (y != y) {
        right = false;
      } else if (flushes && y == 0.0f && std::fabs(wanted) < double{std::numeric_limits<float>::min()}) {
        right = true;  // a subnormal result may become 0
      } else {
        const double error = error_of(y, wanted, function_.unit);
        if (error > worst.error) worst.error = error, worst.at = x;
        right = std::fabs(y) <= function_.most;
      }
      if (!right) {
        if (worst.wrong++ == 0) worst.wrong_at = x;
      }
    }
  }

 private:
  const Function& function_;
  size_t count_ = 0;
  float in_[kCount], out_[kCount];
  double wanted_[kCount];
};

// Whether the bits are an argument that the function promises something about.
bool in_range(const Function& function, uint32_t bits) {
  return is_nan(bits) || bits == kInfinityBits ? function.highest == std::numeric_limits<float>::max() || is_nan(bits)
                                               : float_of(bits) <= function.highest;
}

// Bit patterns [first, last] in steps, on some targets.
void sweep(const Function& function, uint64_t first, uint64_t last, uint64_t step, const std::vector<fovea_target>& on,
           Worst* worst) {
  Block block(function);
  for (uint64_t bits = first; bits <= last; bits += step) {
    if (!in_range(function, uint32_t(bits))) continue;
    block.push(uint32_t(bits));
    if (!block.full()) continue;
    for (size_t t = 0; t < on.size(); ++t) block.check(on[t], worst[t]);
    block.clear();
  }
  for (size_t t = 0; t < on.size(); ++t) block.check(on[t], worst[t]);
}

void judge(const Function& function, fovea_target target, const Worst& worst, bool print) {
  const double stated = fuses(target) ? function.fused : function.unfused;
  if (print) {
    std::printf("%s on %s (%s): largest error %.4f at %a, stated %.2f\n", function.name, fovea_target_name(target),
                fovea_target_backend(target), worst.error, double(worst.at), stated);
  }
  INFO(function.name << " on " << fovea_target_name(target) << ", worst at " << worst.at << ", first wrong at "
                     << worst.wrong_at);
  CHECK(worst.error <= stated);
  CHECK(worst.wrong == 0);
}

}  // namespace

TEST_CASE("math: exp2, exp, log and tanh keep their stated errors on samples of all floats", "[short]") {
  const std::vector<fovea_target> all = targets();
  for (const Function& function : kFunctions) {
    std::vector<Worst> worst(all.size());
    // A step that shares no factor with the places where floats turn: about 2000 in each power of two.
    sweep(function, 0, 0xffffffffu, 4001, all, worst.data());
    // Every float near the ends, near what the reductions and the branches turn at, and around 1.
    for (const float x : {0.0f,  -0.0f,        1.17549435e-38f, 0.35355339f, 0.5f,    0.65f,         0.70710678f,
                          1.0f,  1.41421356f,  88.0f,           127.0f,      -126.0f, -125.5f,       -86.98997f,
                          -0.5f, -0.34657359f, -1.0f,           9.01f,       10.0f,   3.40282347e38f}) {
      const uint64_t bits = bits_of(x);
      sweep(function, bits < 1500 ? 0 : bits - 1500, bits + 1500, 1, all, worst.data());
    }
    for (size_t t = 0; t < all.size(); ++t) judge(function, all[t], worst[t], false);
  }
}

TEST_CASE("math: NaN of every sign and payload stays NaN, and exp2(0) is 1", "[short]") {
  for (const fovea_target target : targets()) {
    for (const Function& function : kFunctions) {
      INFO(function.name << " on " << fovea_target_name(target));
      std::vector<float> in, out;
      for (uint32_t bit = 0; bit < 23; ++bit) {
        for (const uint32_t sign : {uint32_t{0}, kSignBit}) {
          in.push_back(float_of(sign | kInfinityBits | 1u << bit));
          in.push_back(float_of(sign | kInfinityBits | 0x400000u | 1u << bit));
          in.push_back(float_of(sign | 0x7fffffffu >> bit | kInfinityBits | 1u));
        }
      }
      out.resize(in.size());
      fovea::simd_tests(target).math[function.index](in.data(), out.data(), in.size());
      size_t numbers = 0;
      for (const float y : out) numbers += is_nan(bits_of(y)) ? 0 : 1;
      CHECK(numbers == 0);
    }
    const float zeros[2] = {0.0f, -0.0f};
    for (const MathFunction exp2 : {fovea_test::kExp2, fovea_test::kShortExp2}) {
      float ones[2];
      fovea::simd_tests(target).math[exp2](zeros, ones, 2);
      CHECK(bits_of(ones[0]) == 0x3f800000u);
      CHECK(bits_of(ones[1]) == 0x3f800000u);
    }
  }
}

TEST_CASE("math: targets that fuse alike give the same bits", "[short]") {
  const bool flushes = flushes_subnormals(fovea_target_at(0));  // vectors come first
  std::vector<float> in, out, first[2];
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 65537) in.push_back(float_of(uint32_t(bits)));
  out.resize(in.size());
  for (const Function& function : kFunctions) {
    first[0].clear();
    first[1].clear();
    for (const fovea_target target : targets()) {
      INFO(function.name << " on " << fovea_target_name(target));
      fovea::simd_tests(target).math[function.index](in.data(), out.data(), in.size());
      std::vector<float>& expected = first[fuses(target)];
      if (expected.empty()) expected = out;
      size_t different = 0;
      for (size_t i = 0; i < in.size(); ++i) {
        if (!in_range(function, bits_of(in[i])) || is_nan(bits_of(in[i]))) continue;
        if (flushes && is_subnormal(bits_of(in[i]))) continue;
        different +=
            bits_of(out[i]) != bits_of(expected[i]) && !(is_nan(bits_of(out[i])) && is_nan(bits_of(expected[i])));
      }
      CHECK(different == 0);
    }
  }
}

// The answers that the authors' library (Random123, kat_vectors) gives for philox4x32 with 10 rounds.
TEST_CASE("math: Philox 4x32-10 gives the published answers", "[short]") {
  struct Known {
    uint32_t counter[4], key[2], words[4];
  };
  constexpr uint32_t kAll = 0xffffffffu;
  const Known known[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
                         {{kAll, kAll, kAll, kAll}, {kAll, kAll}, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
                         {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u},
                          {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}};
  for (const auto& [target, k] : fovea_test::every(targets(), known)) {
    INFO(fovea_target_name(target));
    uint32_t words[4];
    std::memcpy(words, k.counter, sizeof words);
    fovea::simd_tests(target).philox(words, k.key);
    CHECK(std::memcmp(words, k.words, sizeof words) == 0);
  }
}

// On the best target that fuses and the best that does not; in two threads where there are any.
TEST_CASE("math: exp2, exp, log and tanh keep their stated errors on every float", "[slow]") {
  std::vector<fovea_target> two;
  for (const bool fused : {true, false}) {
    for (const fovea_target target : targets()) {
      if (fuses(target) != fused) continue;
      two.push_back(target);
      break;
    }
  }
  for (const Function& function : kFunctions) {
    std::vector<Worst> worst[2];
    const auto every_other_slice = [&](uint64_t t) {  // of 2^24 floats
      worst[t].resize(two.size());
      for (uint64_t slice = t; slice < 256; slice += 2) {
        sweep(function, slice << 24, (slice << 24) + 0xffffff, 1, two, worst[t].data());
      }
    };
#if FOVEA_TESTS_HAVE_THREADS
    std::thread other(every_other_slice, 1);
    every_other_slice(0);
    other.join();
#else
    every_other_slice(0);
    every_other_slice(1);
#endif
    for (size_t t = 0; t < two.size(); ++t) {
      worst[0][t].add(worst[1][t]);
      judge(function, two[t], worst[0][t], true);
    }
  }
}
