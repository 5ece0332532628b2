// SPDX-License-Identifier: Apache-2.0
//
// What the calls of the self-test share: inputs, memory and the digest.
#ifndef FOVEA_SRC_SELFTEST_TRIAL_H_
#define FOVEA_SRC_SELFTEST_TRIAL_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/base/status.h"
#include "layers/selftest/table.h"

namespace fovea {

// One call: arrays in the caller's memory, and the digest of what was written.
class Trial {
 public:
  explicit Trial(const fovea_selftest_args& args, fovea_target best);

  // The target for structures with processor_features, and for those without.
  fovea_target target() const { return target_; }
  fovea_target kernels() const { return kernels_; }
  uint64_t features() const { return features_; }

  // Arrays that follow one another, each aligned to 64 bytes. Null where the memory has no room: the call is then refused.
  void* room(size_t bytes);
  template <class T>
  T* zeros(size_t count) {
    return static_cast<T*>(room(count * sizeof(T)));
  }
  float* numbers(size_t count);   // from -2 to 2: integers of 24 bits, divided by a power of 2, so that none is rounded
  float* positive(size_t count);  // above 0, up to 2
  // Rows of a format, as keys, values, weights, ... are. Scales, if it has them in an array, become *scales.
  void* rows(fovea_dtype dtype, size_t count, size_t dim, void** scales);
  int8_t* codes(size_t count);
  uint16_t* halves(fovea_dtype dtype, size_t count, bool positive = false);
  // All that is left, for a workspace.
  struct Rest {
    void* workspace;
    size_t bytes;
  };
  Rest rest() const { return {next_, left_}; }

  // Adds an output to the digest, element by element.
  template <class T>
  void digest(const T* elements, size_t count) {
    for (size_t i = 0; elements && i < count; ++i) add(unsigned_bits(elements[i]));
  }
  // Adds the output of a call, if that succeeded. Returns the call's status.
  template <class T>
  fovea_status digest_after(fovea_status status, const T* elements, size_t count) {
    if (status == FOVEA_OK) digest(elements, count);
    return status;
  }
  uint64_t digest() const { return digest_; }
  bool has_room() const { return has_room_; }

 private:
  uint32_t random();  // 32 bits
  void fill(uint8_t* bytes, size_t count);
  static uint32_t unsigned_bits(float x);
  template <class T>
  static uint32_t unsigned_bits(T x) {
    return static_cast<uint32_t>(x);
  }
  void add(uint32_t bits) { digest_ = (digest_ ^ bits) * 0x100000001b3u; }  // FNV-1a (Fowler, Noll, Vo)

  uint8_t* next_;
  size_t left_;
  fovea_target target_, kernels_;
  uint64_t features_;
  uint32_t drawn_ = 0;  // numbers so far
  bool has_room_ = true;
  uint64_t digest_ = 0xcbf29ce484222325u;
};

// A call of attention: few tokens, more keys than a key tile has, two heads that share a key head.
constexpr uint32_t kTrialHeads = 2, kTrialQueries = 3, kTrialKeys = 70, kTrialHeadDim = 36, kTrialValueDim = 20;

struct AttentionTrial {
  // Queries, keys, values and outputs, in their formats; options are left to the caller.
  AttentionTrial(Trial& trial, fovea_dtype keys, fovea_dtype values);
  fovea_status run();  // plans, runs, and adds the outputs to the digest
  void digest_outputs();

  Trial& trial;
  fovea_attention_desc desc = {};
  fovea_attention_args args = {};
  fovea_attention_plan plan = {};
  float *out, *lse;
};

// A row of a part's list.
struct TrialRow {
  const char* name;
  fovea_status (*trial)(Trial& trial);  // bench/size.py knows by this name what an indirect call may reach
  PublishedDigest published;
};

// Runs a call of a part.
fovea_status run_trial(const TrialRow* rows, uint32_t count, const fovea_selftest_args* args,
                       fovea_selftest_result* result);

// A part, FOVEA_SELFTEST_PART_(softmax, SOFTMAX): its functions are softmax_rows, ..., its rows those of table.h.
#define FOVEA_SELFTEST_ROW_(function, name, published) {name, &function, published},
#define FOVEA_SELFTEST_PART_(part, PART)                                                                          \
  extern "C" fovea_status fovea_selftest_##part(const fovea_selftest_args* args, fovea_selftest_result* result) { \
    using namespace fovea;                                                                                        \
    static constexpr TrialRow kRows[] = {FOVEA_SELFTEST_##PART(FOVEA_SELFTEST_ROW_)};                             \
    return run_trial(kRows, sizeof kRows / sizeof *kRows, args, result);                                          \
  }

}  // namespace fovea

#endif  // FOVEA_SRC_SELFTEST_TRIAL_H_
