// SPDX-License-Identifier: Apache-2.0
//
// One attention call, described by a few numbers. Its buffers are between guard pages and are filled with seeded random
// data, and with NaN where no query may read. Its outputs on any target are compared with the reference.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/attention/planned.h"
#include "fovea/fovea.h"
#include "support/array.h"
#include "support/every.h"
#include "support/guarded.h"
#include "support/reference.h"
#include "support/stored.h"

namespace fovea_test {

using fovea::made;  // what is in the storage of a plan

// The targets of this build that this processor runs and that have kernels of their own, best first.
std::vector<fovea_target> targets();
// These, those that run the kernels of another, and those that need features of the processor: for descriptions with
// fovea::platform::processor_features().
std::vector<fovea_target> targets_and_those_that_extend_them();
uint32_t lanes(fovea_target target);
// Whether the target takes subnormal numbers for zero, as the vectors of 32-bit Arm do.
bool flushes_subnormals(fovea_target target);

// An enum that holds any 32 bits, as a C program may pass it.
template <class Enum>
Enum enum_of(uint32_t bits) {
  static_assert(sizeof(Enum) == sizeof bits, "enums of the interface are 32 bits wide");
  Enum value;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// The bits of an enum to which a C program assigned -1.
constexpr uint32_t kNegative = 0xffffffffu;

// Numbers that are no target.
constexpr uint32_t kUnknownTargets[] = {17, 63, 65, kNegative, 0x7fffffff, 0x80000000};

// A number that depends only on seed and index, uniform over 64 bits.
uint64_t random_bits(uint64_t seed, uint64_t index);
float random_uniform(uint64_t seed, uint64_t index, float low, float high);
float random_normal(uint64_t seed, uint64_t index);  // mean 0, variance 1, absolute value at most 3.5
std::vector<float> normal_numbers(size_t count, uint64_t seed);

constexpr size_t mask_element_size(fovea_mask_kind kind) {
  return kind == FOVEA_MASK_F32 ? 4 : kind == FOVEA_MASK_BYTE ? 1 : 2;
}

struct Problem {
  uint32_t batch = 1, q_heads = 1, kv_heads = 1, q_tokens = 1, kv_tokens = 1, head_dim = 8, value_dim = 8;

  fovea_score score = FOVEA_SCORE_SCALED_DOT;
  float scale = 0, softcap = 0;
  float dropout = 0;
  uint64_t dropout_seed = 0x0123456789abcdefu;
  fovea_causal causal = FOVEA_CAUSAL_NONE;
  fovea_diagonal diagonal = FOVEA_DIAGONAL_AS_CAUSAL;
  uint32_t window_left = 0, window_right = 0;
  std::vector<uint32_t> kv_lengths;  // [batch]; empty = NULL
  std::vector<int64_t> positions;    // [batch]; empty = NULL
  fovea_mask_kind mask = FOVEA_MASK_NONE;
  bool mask_batch = true, mask_heads = true, mask_queries = true;  // false: broadcast over these
  bool mask_keys = true;
  bool mask_factors = false;  // only of masks that are added
  uint32_t mask_missing = 0;  // keys at the end that the mask does not cover; if 0, kv_tokens is 0 for some seeds
  bool mask_at_end = false;   // covers as many of the last keys as half of the shortest entry has
  // A block map if map_q_block is not 0: a third of the blocks are hidden, a third mixed, a third seen, by the seed.
  uint32_t map_q_block = 0, map_kv_block = 64;
  bool map_batch = true, map_heads = true;  // false: one list for all of these
  bool modify_scores = false, modify_weights = false;
  bool alibi = false, sinks = false, lse = true;
  fovea_scores_stage stage = FOVEA_SCORES_NONE;

  // Unless inputs are f32 in strided arrays they are stored in these formats, and the reference reads the stored
  // numbers. With FOVEA_COMPUTE_I8 queries and int4 rows are converted to int8, and the reference reads those.
  fovea_dtype q_dtype = FOVEA_F32, key_dtype = FOVEA_F32, value_dtype = FOVEA_F32, out_dtype = FOVEA_F32;
  fovea_compute compute = FOVEA_COMPUTE_F32;
  fovea_kv_kind kv_kind = FOVEA_KV_STRIDED;
  uint32_t ring_tokens = 0, pinned_tokens = 0, page_tokens = 0;
  uint32_t prefix_tokens = 0;          // of each entry as many of the first tokens as prefix_of says are a prefix
  std::vector<uint32_t> first_tokens;  // of a ring [batch]; empty = NULL
  bool allow_evicted = false;          // of a ring
  // Whether a plan accepts this number of slots: enough for all keys, or for the window and the chunk.
  bool ring_suffices() const {
    return kv_tokens <= ring_tokens + prefix_tokens ||
           (window_left != 0 && uint64_t{window_left} + q_tokens <= uint64_t{ring_tokens} - pinned_tokens + 1);
  }

  bool mask_adds() const { return mask != FOVEA_MASK_NONE && mask != FOVEA_MASK_BYTE; }
  // Whether a call must give the positions of its queries.
  bool positions_needed() const {
    const uint32_t named = causal != FOVEA_CAUSAL_NONE ? uint32_t{causal} : uint32_t{diagonal};
    if (named != FOVEA_DIAGONAL_AS_CAUSAL) return named == FOVEA_DIAGONAL_POSITIONS;
    return window_left != 0 || window_right != 0 || alibi;
  }
  // The same problem with FOVEA_COMPUTE_I8 and these formats; without an additive score, which integer products do not
  // support, and without broadcast rows, which would be rounded more than once.
  Problem with_integers(fovea_dtype keys = FOVEA_I8, fovea_dtype values = FOVEA_I8) const;
  // The same with FOVEA_COMPUTE_F16, which has its own bits.
  Problem with_halves() const;
  bool stored() const {
    return kv_kind != FOVEA_KV_STRIDED || key_dtype != FOVEA_F32 || value_dtype != FOVEA_F32 || prefix_tokens != 0;
  }

  // The targets whose kernels differ for this problem: with integer products also targets that extend another.
  std::vector<fovea_target> targets() const;

  Layout layout = Layout::kHeadsFirst;
  Placement placement = Placement::kEnd;
  uint64_t seed = 1;
};
std::string name(const Problem& problem);

// One of twelve problems with options of all kinds: few queries or many, and one to four tiles of keys.
Problem mixed_problem(uint32_t i);

enum class Budget {
  kNone,   // workspace_budget_bytes = 0
  kHalf,   // half of the bytes with kNone, or the fewest that are possible
  kLeast,  // the smallest budget that fovea_attention_plan_init accepts
};
const char* name(Budget budget);

struct Run {
  fovea_target target = FOVEA_TARGET_BEST;
  Budget budget = Budget::kNone;
  bool portable_bits = false;
  uint32_t key_split_tokens = 0;
  const fovea_executor* executor = nullptr;  // the plan has its number of workers
};
std::string name(const Run& run);

// The value of desc.workspace_budget_bytes for a Budget. The description is otherwise valid.
size_t budget_bytes(const fovea_attention_desc& desc, Budget budget);

struct Outputs {
  std::vector<float> out, lse, scores;  // empty unless asked for
};
bool same_bits(const Outputs& a, const Outputs& b);

// A problem's buffers, description and arguments.
class AttentionCase {
 public:
  explicit AttentionCase(const Problem& problem);

  Problem problem;
  fovea_attention_desc desc;  // capacities exactly as large as the counts; run() sets target and budget
  fovea_attention_args args;

  // Inputs: tests may write values into them before the first run.
  float* q(uint32_t b, uint32_t head, uint32_t i) const;
  float* key(uint32_t b, uint32_t kv_head, uint32_t j) const;
  float* value(uint32_t b, uint32_t kv_head, uint32_t j) const;
  float* mask_f32() const { return mask_.as<float>(); }
  uint8_t* mask_byte() const { return mask_.as<uint8_t>(); }
  uint16_t* mask_half() const { return mask_.as<uint16_t>(); }
  float* mask_factors() const { return mask_factors_.as<float>(); }
  size_t mask_elements() const;  // of the mask's buffer
  float* slopes() const { return slopes_.as<float>(); }
  float* sinks() const { return sinks_.as<float>(); }
  float* score_vector() const { return const_cast<float*>(args.score_vector); }

  // The reference's outputs, computed once. From then on the inputs are read-only.
  const Attention& expected();

  // Plans and runs. "" if all outputs are right and everything else is untouched, else what is wrong. Where a query
  // would see a token that its ring has replaced, a refusal is right.
  std::string run(const Run& run);
  // The same, but checks only the status: for tests that compare the outputs themselves.
  std::string run_unchecked(const Run& run);

  // The arguments for the reference: all f32, in arrays.
  const fovea_attention_args& truth() const { return encoded_ ? truth_ : args; }

  // "" if the outputs agree with expected(). Call expected() first.
  std::string compare() const;

  // For calls that are expected to write nothing.
  void fill_outputs();
  bool outputs_untouched() const;

  // Outputs of the last run, dense as in the reference, of the args.batch entries.
  std::vector<float> out() const { return entries_of(out_); }
  std::vector<float> lse() const { return entries_of(lse_); }
  std::vector<float> scores() const { return entries_of(scores_); }
  Outputs outputs() const;  // all three

  fovea_attention_plan plan;  // of the last run
  StoredKeys stored;          // keys and values, unless they are f32 arrays

  // What the arguments point to, except arrays.
  struct Extras {
    fovea_block_map map;
    fovea_modifier modifier;
    // For the modifier: the original problem, and what was wrong with a score block that it got, or null.
    Problem problem;
    fovea_attention_desc desc;
    fovea_attention_args args;
    std::atomic<const char*> wrong_block;
  };
  std::unique_ptr<Extras> extras;

 private:
  float query_factor() const;
  void encode();
  void fill_mask();
  void fill_mask_element(size_t at, bool hidden);
  void fill_map();
  void fill_inputs();
  std::vector<float> entries_of(const Array& output) const;

  Guarded q_, keys_, values_;  // with Layout::kPacked, q_ holds all three
  Guarded kv_lengths_, positions_, mask_, mask_factors_, slopes_, sinks_, score_vector_;
  Guarded typed_q_, first_tokens_, map_offsets_, map_blocks_;
  Array out_, lse_, scores_;
  bool encoded_ = false;
  fovea_attention_args truth_{};
  Attention expected_;
  bool has_expected_ = false;
};

// An option of a problem, by name.
struct Option {
  const char* name;
  void (*set)(Problem&);
};

// Runs the problem with each target; "" or the first error, with the case's name.
std::string run_on_all_targets(AttentionCase& test, Budget budget = Budget::kNone, bool portable_bits = false);
std::string run_on_all_targets(const Problem& problem, Budget budget = Budget::kNone, bool portable_bits = false);

// The same for a case of another operator: test.check(target) is "" or what is wrong.
template <class Case>
std::string check_on_all_targets(Case&& test, const std::vector<fovea_target>& all = targets()) {
  for (const fovea_target target : all) {
    std::string wrong = test.check(target);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

// "" if leaving out an option changes the reference's outputs by far more than the tolerance, so that a test of `with`
// would notice a library that ignores the option. Both must have the same counts and heads.
std::string effect_is_visible(const Problem& with, const Problem& without);

// Whether `got` differs from `want` by at most the tolerance. A NaN equals only NaN, an infinity only itself.
bool close(double got, double want, double tolerance);

}  // namespace fovea_test
