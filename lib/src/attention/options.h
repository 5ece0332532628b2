// SPDX-License-Identifier: Apache-2.0
//
// What a description asks for of what this build has: the one place below the checks where fovea_config.h is asked for
// the options of a description.
#ifndef FOVEA_SRC_ATTENTION_OPTIONS_H_
#define FOVEA_SRC_ATTENTION_OPTIONS_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"

namespace fovea {

inline bool is_ring(const fovea_attention_desc& d) { return config::kRing && d.kv_kind == FOVEA_KV_RING; }
inline bool is_paged(const fovea_attention_desc& d) { return config::kPages && d.kv_kind == FOVEA_KV_PAGED; }
inline bool is_loaded(const fovea_attention_desc& d) { return config::kLoad && d.kv_kind == FOVEA_KV_LOAD; }
inline bool is_additive(const fovea_attention_desc& d) {
  return config::kAdditive && d.score == FOVEA_SCORE_ADDITIVE;
}

// Whether a kernel may find keys and values where they lie in the caller's arrays, in one run of f32 rows.
inline bool is_in_place(const fovea_attention_desc& d) {
  return !config::kStaged ||
         (d.kv_kind == FOVEA_KV_STRIDED && d.key_dtype == FOVEA_F32 && d.value_dtype == FOVEA_F32);
}

// Workers that a call may have.
inline uint32_t worker_count(const fovea_attention_desc& d) {
  return config::kExecutor && d.max_workers ? d.max_workers : 1;
}
// Parts of the keys of a call, each a task of its own.
inline uint32_t split_count(const fovea_attention_desc& d, uint32_t kv_tokens) {
  if (!config::kKeySplits || d.key_split_tokens == 0) return 1;
  const uint32_t count = kv_tokens / d.key_split_tokens + (kv_tokens % d.key_split_tokens != 0);
  return count == 0 ? 1 : count;
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_OPTIONS_H_
