// SPDX-License-Identifier: Apache-2.0
//
// What a description asks for, as far as this build has it. Below the checks nobody else asks fovea_config.h for the
// options of a description.
#ifndef FOVEA_SRC_ATTENTION_OPTIONS_H_
#define FOVEA_SRC_ATTENTION_OPTIONS_H_

#include "attention/kernels.h"
#include "base/key_places.h"
#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

// What this build has.
constexpr bool kHasAdditive = config::kAdditive, kHasAlibi = config::kAlibi, kHasBlockMaps = config::kBlockMaps;
constexpr bool kHasDropout = config::kDropout, kHasModifiers = config::kModifiers;
constexpr bool kHasLoaders = config::kLoad, kHasLse = config::kLse, kHasMasks = config::kMask;
constexpr bool kHasRagged = config::kRagged, kHasRings = config::kRing, kHasScores = config::kScores;
constexpr bool kHasSinks = config::kSinks, kHasSoftcap = config::kSoftcap, kHasStates = config::kStates;
constexpr bool kHasStreams = config::kStreams, kHasWindows = config::kWindows;
constexpr bool kSplitsKeys = config::kKeySplits;

inline bool is_ring(const fovea_attention_desc& d) { return is_ring(d.kv_kind); }
inline bool is_paged(const fovea_attention_desc& d) { return is_paged(d.kv_kind); }
inline bool is_loaded(const fovea_attention_desc& d) { return is_loaded(d.kv_kind); }
inline uint32_t pinned_tokens(const fovea_attention_desc& d) { return kHasRings ? d.pinned_tokens : 0; }
inline float softcap(const fovea_attention_desc& d) { return config::kSoftcap ? d.softcap : 0.0f; }
inline bool drops(const fovea_attention_desc& d) { return config::kDropout && d.dropout != 0.0f; }
inline bool is_additive(const fovea_attention_desc& d) {
  return config::kAdditive && d.score == FOVEA_SCORE_ADDITIVE;
}

// Integer products, and what they take.
inline bool is_i8(const fovea_attention_desc& d) { return kHasI8Products && d.compute == FOVEA_COMPUTE_I8; }
inline bool computes_i8(const fovea_attention_desc& d) {
  return kHasI8Products && is_one_of<kScaledKeyFormats>(d.key_dtype) && is_one_of<kScaledKeyFormats>(d.value_dtype) &&
         d.score != FOVEA_SCORE_ADDITIVE && d.head_dim <= kMostI8Products;
}

// Whether queries have a scale a row.
inline bool needs_q_scales(const fovea_attention_desc& d) {
  return kHasI8Tensors && d.q_dtype == FOVEA_I8 && d.q_scale == 0.0f;
}
// Queries for which a centre of keys may be added again.
constexpr FormatSet kCenteredQueries = kOnlyF32 | (kHasI8Tensors ? FormatSet{1} << FOVEA_I8 : 0);
// Whether kernels may add to scores what the zero points of queries and keys are, and a centre of keys.
inline bool has_shifts(const fovea_attention_desc& d) { return kHasI8Tensors && is_i8(d); }

inline uint32_t window_left(const fovea_attention_desc& d) { return config::kWindows ? d.window_left : 0; }
inline uint32_t window_right(const fovea_attention_desc& d) { return config::kWindows ? d.window_right : 0; }

// The first kernel that plans may take.
constexpr uint32_t kFirstKernel = config::kFewRows ? kFewRowsKernel : kTileKernel;
// One after the last.
constexpr uint32_t kEndOfKernels = kHasI8Products ? kKernels : kI8FewRowsKernel;

// Whether keys may have to be gathered, converted or brought.
constexpr bool kBringsKeys = config::kStaged;
// Whether a kernel finds keys and values in the caller's arrays, each in one run of f32 rows.
inline bool is_in_place(const fovea_attention_desc& d) {
  return !kBringsKeys ||
         (d.kv_kind == FOVEA_KV_STRIDED && d.key_dtype == FOVEA_F32 && d.value_dtype == FOVEA_F32);
}

// Workers that a call may have.
inline uint32_t worker_count(const fovea_attention_desc& d) {
  return config::kExecutor && d.max_workers ? d.max_workers : 1;
}
// Parts of the keys of a call, each a task of its own.
inline uint32_t split_count(const fovea_attention_desc& d, uint32_t kv_tokens) {
  if (!kSplitsKeys || d.key_split_tokens == 0) return 1;
  const uint32_t count = kv_tokens / d.key_split_tokens + (kv_tokens % d.key_split_tokens != 0);
  return count == 0 ? 1 : count;
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_OPTIONS_H_
