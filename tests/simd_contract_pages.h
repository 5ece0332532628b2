// SPDX-License-Identifier: Apache-2.0
//
// The pages of the vocabulary that this build has, each with the tests that are compiled for its vectors. Plain
// functions and pointers only: what is compiled for a target must bring no inline function of the standard library into
// the program.
#ifndef FOVEA_TESTS_SIMD_CONTRACT_PAGES_H_
#define FOVEA_TESTS_SIMD_CONTRACT_PAGES_H_

#include <stddef.h>
#include <stdint.h>

#include <initializer_list>

#include "fovea/fovea.h"
#include "formats/formats.h"

namespace fovea_test {

// What a page did wrong. The first failures are kept as text, the others counted.
class ContractLog {
 public:
  void begin(const char* word);                           // the checks that follow are of this word
  void fail(size_t lane, uint32_t got, uint32_t wanted);  // bits of a lane
  void count(size_t checks);

  size_t checks() const { return checks_; }
  size_t words() const { return words_; }
  size_t failures() const { return failures_; }
  const char* text() const { return text_; }

 private:
  const char* word_ = "";
  size_t checks_ = 0, words_ = 0, failures_ = 0, used_ = 0;
  char text_[2048] = "";
};

// Memory at whose edges the next byte faults, where the system can do that: `first` is the first byte behind such an
// edge and `last` is one after the last byte before one. At least 256 bytes each, aligned to 64.
struct ContractMemory {
  uint8_t* first;
  uint8_t* last;
};

enum MathFunction { kExp2, kExp, kLog, kTanh, kMathFunctions };

// What the owner files simd_contract_<backend>.cc compile for each target.
struct SimdTests {
  size_t lanes;
  void (*contract)(ContractLog&, const ContractMemory&, bool fused);
  void (*math[kMathFunctions])(const float* in, float* out, size_t count);
  // Philox 4x32-10 of a counter, in place.
  void (*philox)(uint32_t (&words)[4], const uint32_t (&key)[2]);
  // With a row of a format.
  float (*dot)(fovea_dtype dtype, const float* x, const void* data, const void* scales, size_t dim);
};

struct SimdPage {
  const char* backend;  // "helium", "highway", "scalar", "xsimd"
  fovea_target target;  // as which this program offers it
  bool fused;           // MulAdd rounds once
  const SimdTests* tests;
};

// Those that this machine runs: page number `index`, best first, or null.
const SimdPage* simd_page(size_t index);

// Whether MulAdd rounds once on a target of them.
bool fused(fovea_target target);

}  // namespace fovea_test

#endif  // FOVEA_TESTS_SIMD_CONTRACT_PAGES_H_
