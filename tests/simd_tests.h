// SPDX-License-Identifier: Apache-2.0
//
// The tests that are compiled for a target's vectors. Plain functions and pointers only: what is compiled for a target
// must bring no inline function of the standard library into the program.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/targets/choice.h"

namespace fovea_test {

// What a backend header did wrong. The first failures are kept as text, the others counted.
class ContractLog {
 public:
  void begin(const char* word);                           // the checks that follow are of this word
  void fail(size_t lane, uint32_t got, uint32_t wanted);  // bits of a lane
  void count(size_t checks);
  void skip(const char* instruction) { skipped_ = instruction; }  // which the processor lacks: its words are not tested

  size_t checks() const { return checks_; }
  size_t failures() const { return failures_; }
  const char* text() const { return text_; }
  const char* skipped() const { return skipped_; }

 private:
  const char *word_ = "", *skipped_ = nullptr;
  size_t checks_ = 0, failures_ = 0, used_ = 0;
  char text_[2048] = "";
};

// Memory at whose edges the next byte faults, where the system can do that: `first` is the first byte after such an
// edge, and `last` is one after the last byte before one. At least 256 bytes each, aligned to 64.
struct ContractMemory {
  uint8_t* first;
  uint8_t* last;
};

enum MathFunction { kExp2, kShortExp2, kExp, kLog, kTanh, kSigmoid, kGeluLess, kMathFunctions };

// What kernels/kernels.cc compiles for each target.
struct SimdTests {
  size_t lanes;
  void (*contract)(ContractLog&, const ContractMemory&, bool fused);
  void (*math[kMathFunctions])(const float* in, float* out, size_t count);
  // Philox 4x32-10 of a counter, in place.
  void (*philox)(uint32_t (&words)[4], const uint32_t (&key)[2]);
  // The dot product with a row of a format.
  float (*dot)(fovea_dtype dtype, const float* x, const void* data, const void* scales, size_t dim);
};

bool fuses(fovea_target target);  // its MulAdd rounds once

}  // namespace fovea_test

namespace fovea {
FOVEA_TABLES_AND_IN_ORDER(fovea_test::SimdTests, kSimdTests, simd_tests)
}
