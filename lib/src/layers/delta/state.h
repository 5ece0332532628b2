// SPDX-License-Identifier: Apache-2.0
//
// The memory of a state after its header: the number of pending tokens of each entry, then a record for each entry and
// head. All of it consists of words of 32 bits, and each part begins at a multiple of 64 bytes.
#ifndef FOVEA_SRC_DELTA_STATE_H_
#define FOVEA_SRC_DELTA_STATE_H_

#include "fovea/fovea.h"
#include "ground/base/carver.h"
#include "layers/delta/kernels.h"

namespace fovea {

constexpr uint32_t kDeltaStateMagic = 0x31646f66u;  // "fod1" as bytes in memory; changes with the layout

// The record of one head of an entry.
struct DeltaHead {
  float* s;      // [whole_columns(value_dim) / kDeltaColumns][head_dim][kDeltaColumns]
  float* k;      // [kDeltaTokens][whole_columns(head_dim)]: of pending tokens, as are the others. In the general rule b
  float* u;      // [kDeltaTokens][whole_columns(value_dim)]
  float* decay;  // [kDeltaTokens][decay_stride]: logarithms
  // Of the general rule: [kDeltaTokens][whole_columns(head_dim)], [kDeltaTokens][whole_columns(value_dim)].
  [[no_unique_address]] IfGeneral<float*> given_k, given_v;
};

// Whether a state, or the arguments of a call, are for the general rule.
constexpr bool is_general_dim(uint32_t head_dim, uint32_t decay_dim) {
  return kHasGeneralDelta && decay_dim == FOVEA_DELTA_GENERAL_DIM(head_dim);
}
constexpr bool is_general(const fovea_delta_state& s) { return is_general_dim(s.head_dim, s.decay_dim); }

// From a pending token's decays to the next one's.
constexpr uint32_t decay_stride(const fovea_delta_state& s) {
  return s.decay_dim > 1 ? whole_columns(s.head_dim) : kDeltaColumns / kDeltaTokens;
}

// The floats of a record. One function in all files, with what it calls: it is smallest so.
[[gnu::noinline, gnu::flatten]] inline CheckedSize delta_head_floats(const fovea_delta_state& s) {
  CheckedSize columns{s.head_dim};
  columns.plus(kDeltaTokens).times(whole_columns(s.value_dim));
  CheckedSize tokens{whole_columns(s.head_dim)};
  tokens.plus(decay_stride(s));
  if (is_general(s)) tokens.plus(whole_columns(s.head_dim)).plus(whole_columns(s.value_dim));
  return columns.plus(tokens.times(kDeltaTokens));
}

inline CheckedSize delta_state_bytes(const fovea_delta_state& s) {
  CheckedSize pending{s.batch}, heads = delta_head_floats(s);
  pending.times(sizeof(uint32_t)).aligned().plus(sizeof s);
  return heads.times(sizeof(float)).times(s.v_heads).times(s.batch).plus(pending);
}

// The pending tokens of each entry.
inline uint32_t* pending_of(const fovea_delta_state& s) {
  return reinterpret_cast<uint32_t*>(const_cast<fovea_delta_state*>(&s) + 1);
}

inline DeltaHead delta_head(const fovea_delta_state& s, uint32_t entry, uint32_t head) {
  CheckedSize pending{s.batch};
  pending.times(sizeof(uint32_t)).aligned();
  DeltaHead h;
  h.s = reinterpret_cast<float*>(pending_of(s)) + pending.value / sizeof(float) +
        (size_t(entry) * s.v_heads + head) * delta_head_floats(s).value;
  h.k = h.s + size_t(s.head_dim) * whole_columns(s.value_dim);
  h.u = h.k + size_t(kDeltaTokens) * whole_columns(s.head_dim);
  h.decay = h.u + size_t(kDeltaTokens) * whole_columns(s.value_dim);
  if constexpr (kHasGeneralDelta) {
    *h.given_k = h.decay + size_t(kDeltaTokens) * decay_stride(s);
    *h.given_v = *h.given_k + size_t(kDeltaTokens) * whole_columns(s.head_dim);
  }
  return h;
}

}  // namespace fovea

#endif  // FOVEA_SRC_DELTA_STATE_H_
