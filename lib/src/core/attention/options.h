// SPDX-License-Identifier: Apache-2.0
//
// What a description asks for, if this build has it. After the checks no other file asks fovea_config.h for the options
// of a description.
#ifndef FOVEA_SRC_ATTENTION_OPTIONS_H_
#define FOVEA_SRC_ATTENTION_OPTIONS_H_

#include "core/attention/kernels.h"
#include "core/attention/planned.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/carver.h"
#include "ground/base/key_places.h"

namespace fovea {

// What this build has.
constexpr bool kHasAdditive = config::kAdditive, kHasAlibi = config::kAlibi, kHasBlockMaps = config::kBlockMaps;
constexpr bool kHasDropout = config::kDropout, kHasModifiers = config::kModifiers;
constexpr bool kHasKeyMass = config::kKeyMass;
constexpr bool kHasLoaders = config::kLoad, kHasLse = config::kLse, kHasMasks = config::kMask;
constexpr bool kHasRagged = config::kRagged, kHasRings = config::kRing, kHasHadamard = config::kHadamard;
constexpr bool kHasScores = config::kScores;
constexpr bool kHasSinks = config::kSinks, kHasSoftcap = config::kSoftcap, kHasStates = config::kStates;
constexpr bool kHasStreams = config::kStreams, kHasWindows = config::kWindows;
constexpr bool kSplitsKeys = config::kKeySplits;

template <class T>
using IfStates = MemberIf<kHasStates, T>;
using RotatedIf = MemberIf<kHasHadamard, float*>;

inline bool is_ring(const fovea_attention_desc& d) { return is_ring(d.kv_kind); }
inline bool is_paged(const fovea_attention_desc& d) { return is_paged(d.kv_kind); }
inline bool is_loaded(const fovea_attention_desc& d) { return is_loaded(d.kv_kind); }
// The most tokens of an entry's prefix: 0 if calls have none.
inline uint32_t most_prefix(const fovea_attention_desc& d) { return kHasPrefixes ? uint32_t(d.max_prefix_tokens) : 0; }
// The most tokens of an entry, after its prefix, that are there at a time.
inline uint32_t most_kept(const fovea_attention_desc& d) {
  return is_ring(d) && d.ring_tokens < d.max_kv_tokens ? d.ring_tokens : d.max_kv_tokens;
}
inline uint32_t pinned_tokens(const fovea_attention_desc& d) { return kHasRings ? d.pinned_tokens : 0; }
inline float softcap(const fovea_attention_desc& d) { return config::kSoftcap ? d.softcap : 0.0f; }
inline bool drops(const fovea_attention_desc& d) { return config::kDropout && d.dropout != 0.0f; }
inline bool rotates_keys(const fovea_attention_desc& d) {
  return config::kHadamard && (d.hadamard & FOVEA_HADAMARD_KEYS) != 0;
}
inline bool rotates_values(const fovea_attention_desc& d) {
  return config::kHadamard && (d.hadamard & FOVEA_HADAMARD_VALUES) != 0;
}
inline bool is_additive(const fovea_attention_desc& d) { return config::kAdditive && d.score == FOVEA_SCORE_ADDITIVE; }

// Whether products are integers, and whether they can be.
inline bool is_i8(const fovea_attention_desc& d) { return kHasI8Products && d.compute == FOVEA_COMPUTE_I8; }
inline bool computes_i8(const fovea_attention_desc& d) {
  return kHasI8Products && is_one_of<kScaledKeyFormats>(d.key_dtype) && is_one_of<kScaledKeyFormats>(d.value_dtype) &&
         d.score != FOVEA_SCORE_ADDITIVE && d.head_dim <= kMostI8Products;
}

// Whether products are of halves, whether they can be, and whether the processor has arithmetic for them: then keys and
// values are read as they are stored, and a vector of a tile has twice the rows.
constexpr bool is_f16(const fovea_attention_desc& d) { return kHasF16Products && d.compute == FOVEA_COMPUTE_F16; }
inline bool computes_f16(const fovea_attention_desc& d) {
  return kHasF16Products && d.key_dtype == FOVEA_F16 && d.value_dtype == FOVEA_F16 && d.score != FOVEA_SCORE_ADDITIVE;
}
constexpr bool reads_halves(const MadePlan& plan) { return is_f16(plan.desc) && plan.dot != 0; }

// Whether each row of queries has a scale.
inline bool needs_q_scales(const fovea_attention_desc& d) {
  return kHasI8Tensors && d.q_dtype == FOVEA_I8 && d.q_scale == 0.0f;
}
// Formats of queries for which kernels can add the centre of keys again.
constexpr FormatSet kCenteredQueries = kOnlyF32 | (kHasI8Tensors ? FormatSet{1} << FOVEA_I8 : 0);
// Whether kernels can add to scores what the zero points of queries and keys, and a centre of keys, require.
inline bool has_shifts(const fovea_attention_desc& d) { return kHasI8Tensors && is_i8(d); }

inline uint32_t window_left(const fovea_attention_desc& d) { return config::kWindows ? d.window_left : 0; }
inline uint32_t window_right(const fovea_attention_desc& d) { return config::kWindows ? d.window_right : 0; }

// The first kernel that plans may take.
constexpr uint32_t kFirstKernel = config::kFewRows ? kFewRowsKernel : kTileKernel;

// Whether keys may have to be gathered, converted or brought.
constexpr bool kBringsKeys = config::kStaged;
// Whether a kernel finds keys and values in the caller's arrays, each in one run of f32 rows.
inline bool is_in_place(const fovea_attention_desc& d) {
  return !kBringsKeys || (d.kv_kind == FOVEA_KV_STRIDED && d.key_dtype == FOVEA_F32 && d.value_dtype == FOVEA_F32 &&
                          most_prefix(d) == 0);
}

// The most workers of a call.
inline uint32_t worker_count(const fovea_attention_desc& d) {
  return config::kExecutor && d.max_workers ? d.max_workers : 1;
}
// Entries that share a prefix take its key tiles one after another, so that each is read from memory once, in calls with few
// rows of queries. That costs partial states of as many rows.
constexpr bool kSharesPrefixes = kHasPrefixes && kHasStates && !config::kPreferSize;
constexpr uint32_t kMostSharedRows = 32;  // of an entry and key head
inline bool may_share(const fovea_attention_desc& d) {
  return kSharesPrefixes && most_prefix(d) >= kKeyTile && d.max_batch > 1 && d.key_split_tokens == 0;
}

// The parts of the keys that have pinned tokens of a ring, or those of a prefix before it: a ring has either.
inline uint32_t pinned_splits(const fovea_attention_desc& d) {
  return divide_up(d.pinned_tokens + most_prefix(d), d.key_split_tokens);
}
// The number of parts of the keys of a call. Each is a task. A ring's other tokens begin and end within parts.
inline uint32_t split_count(const fovea_attention_desc& d, uint32_t kv_tokens) {
  if (!kSplitsKeys || d.key_split_tokens == 0) return 1;
  uint32_t count = divide_up(kv_tokens, d.key_split_tokens);
  if (is_ring(d)) {
    const uint32_t most = pinned_splits(d) + divide_up(d.ring_tokens - d.pinned_tokens, d.key_split_tokens) + 1;
    if (most < count) count = most;
  }
  return count == 0 ? 1 : count;
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_OPTIONS_H_
