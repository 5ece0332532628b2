// SPDX-License-Identifier: Apache-2.0
//
// The interface of the kernels of linear attention. Tokens are taken in groups of four, and one pass over a state
// matrix S [head_dim][value_dim] does two things: it adds to S what the group before leaves there, and it reads S for
// the keys and queries of this group. With g_t the decay of token t, and D(a, b) = g_a ... g_b, which is 1 for a > b, a
// group that begins with token 0 has
//     S'   = D(0, 3) S + sum_m (D(m + 1, 3) k_m) u_m^T                         adds up a whole group
//     u_j  = beta_j v_j - beta_j D(0, j) S^T k_j - sum_{m<j} beta_j D(m + 1, j) (k_j . k_m) u_m         delta rules
//     u_j  = v_j                                                                                        other rules
//     o_j  = scale D(0, j) S^T q_j + sum_{m<=j} scale D(m + 1, j) (q_j . k_m) u_m
// The general rule adds two products for each token, b_t u_t^T and k_t v_t^T. Here b takes the place of k, and the keys
// and values that are given come in addition:
//     S'   = D(0, 3) S + sum_m (D(m + 1, 3) b_m) u_m^T + sum_m (D(m + 1, 3) k_m) v_m^T
//     u_j  = D(0, j - 1) S^T a_j + sum_{m<j} D(m + 1, j - 1) ((a_j . b_m) u_m + (a_j . k_m) v_m)
//     o_j  = scale D(0, j) S^T q_j + sum_{m<=j} scale D(m + 1, j) ((q_j . b_m) u_m + (q_j . k_m) v_m)
// Keys, values u and logarithms of decays of a group that is not yet in S are pending: they are part of a state.
#ifndef FOVEA_SRC_DELTA_KERNELS_H_
#define FOVEA_SRC_DELTA_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/carver.h"
#include "ground/base/member_if.h"
#include "ground/targets/choice.h"

namespace fovea {

constexpr bool kHasGeneralDelta = config::kGeneralDelta;
template <class T>
using IfGeneral = MemberIf<kHasGeneralDelta, T>;  // a member that only the general rule has

// Whether kernels of wide vectors read S in an array of the caller, [head_dim][value_dim], where it is.
constexpr bool kReadsMatrices =
    (FOVEA_WITH_HIGHWAY || FOVEA_WITH_NEON || FOVEA_WITH_RVV || FOVEA_WITH_XSIMD) && !config::kPreferSize;

// Whether a token group puts the factors of its keys that the next one adds, where both are prepared together.
constexpr bool kTellsNextGroup = !config::kPreferSize;

constexpr uint32_t kDeltaTokens = 4;    // of a token group: the bits depend on it
constexpr uint32_t kDeltaColumns = 16;  // of S that are adjacent, row after row: the lanes of the widest vector

constexpr uint32_t whole_columns(uint32_t dim) { return divide_up(dim, kDeltaColumns) * kDeltaColumns; }

// The factors that a pass multiplies S by. Each element of the keys has 13: those of the 4 keys that are added, of the
// 4 keys and the 4 queries that read, and a decay. For wide vectors each factor has a row, with a constant stride; for
// narrow ones the factors of an element are adjacent.
constexpr uint32_t kDeltaAdded = 0, kDeltaKeys = 4, kDeltaQueries = 8, kDeltaDecay = 12, kDeltaFactors = 13;
constexpr uint32_t kDeltaRowKeys = 128;    // elements of a row of factors: longer keys have several rows
constexpr uint32_t kDeltaRowStride = 144;  // not a power of two, which would conflict in caches
constexpr uint32_t kDeltaElementStride = 16;
constexpr bool delta_factors_in_rows(uint32_t lanes) { return lanes > 4; }
inline CheckedSize delta_factor_count(uint32_t lanes, uint32_t head_dim) {
  CheckedSize count{delta_factors_in_rows(lanes) ? divide_up(head_dim, kDeltaRowKeys) : whole_columns(head_dim)};
  return count.times(delta_factors_in_rows(lanes) ? kDeltaFactors * kDeltaRowStride : kDeltaElementStride);
}

// Of the general rule: the factors of four more keys that are added, alike but apart.
inline CheckedSize delta_given_count(uint32_t lanes, uint32_t head_dim) {
  CheckedSize count{delta_factors_in_rows(lanes) ? divide_up(head_dim, kDeltaRowKeys) : whole_columns(head_dim)};
  return count.times(delta_factors_in_rows(lanes) ? kDeltaTokens * kDeltaRowStride : kDeltaTokens);
}

// The tokens of a token group by their place in it. Rows of keys are padded with zeros to whole_columns.
struct DeltaTokens {
  const float* k[kDeltaTokens];
  const float* decay[kDeltaTokens];  // logarithms: one, or head_dim of them
};

// What a pass does, for one query head. `before` + `tokens` <= kDeltaTokens.
struct DeltaGroup {
  uint32_t before;  // tokens of the group that an earlier call has seen
  uint32_t tokens;  // that this call adds, at least 1
  uint32_t token;   // the first of them
  bool adds;        // whether there is a whole group before this one, which is added to S
  float beta[kDeltaTokens];
  float taken[kDeltaTokens][kDeltaTokens];  // [j][m]: the factor of u_m in u_j, for m < j
  float read[kDeltaTokens][kDeltaTokens];   // [j][m]: the factor of u_m in o_j, for m <= j
  float* factors;
};

// What the general rule has in addition, for the keys and values that are given.
struct DeltaGiven {
  float taken[kDeltaTokens][kDeltaTokens];  // [j][m]: the factor of v_m in u_j, for m < j
  float read[kDeltaTokens][kDeltaTokens];   // [j][m]: the factor of v_m in o_j, for m <= j
  float* factors;
};
struct DeltaGeneral {
  DeltaGiven* given;
  const float* a[kDeltaTokens];                                  // of the new tokens
  const float* const* added_k;                                   // [kDeltaTokens]: as those of DeltaTokens, which has b
  const float* const* k;                                         // [kDeltaTokens]
  float* strands;                                                // as those of DeltaPrepare
  [[no_unique_address]] MemberIf<kTellsNextGroup, float*> next;  // for given keys; read with that of DeltaPrepare
};

// The arguments of prepare, which sets all fields of *group but the first five, which are given.
struct DeltaPrepare {
  DeltaGroup* group;
  uint32_t head_dim;
  float scale;
  bool delta;  // a delta rule
  bool gated;  // decays are read: one for each token, or head_dim of them
  bool decay_per_key;
  bool queries_alone;  // another query head that reads the same S: keys are left out
  // Whether the group before has put the factors of its keys, which are added, and of their decay; and the factors of
  // the next group, for which this one does the same; null = it does not.
  [[no_unique_address]] MemberIf<kTellsNextGroup, bool> has_added;
  [[no_unique_address]] MemberIf<kTellsNextGroup, float*> next;
  DeltaTokens added, tokens;
  const float* q[kDeltaTokens];  // of the new tokens, padded like keys
  float* strands;                // [kDeltaStrands]: for sums
  [[no_unique_address]] IfGeneral<DeltaGeneral> general;
};
constexpr uint32_t kDeltaStrands = 256;

// The arguments of columns: token groups in order, for columns [begin, end) of S, of whole_columns(value_dim) in all.
struct DeltaColumns {
  const DeltaGroup* groups;  // [count][readers]
  uint32_t count, readers;   // readers: query heads that read this S
  uint32_t head_dim, value_dim, begin, end;
  bool delta;
  float* s;  // [whole_columns(value_dim) / kDeltaColumns][head_dim][kDeltaColumns]
  float* u;  // [kDeltaTokens][u_stride]: of the current group, and before that of the group that is added
  size_t u_stride;
  fovea_dtype v_dtype, out_dtype;
  const char* v;
  char* out;
  ptrdiff_t v_stride, out_stride, reader_stride;  // in bytes, from a token to the next, and from a reader to the next
  [[no_unique_address]] IfGeneral<const DeltaGiven*> given;  // as groups; null with the other rules
  [[no_unique_address]] IfGeneral<float*> given_v;           // as u
  // If not 0, S is in an array of the caller, and this is from an element of the key to the next. Then S is only read.
  [[no_unique_address]] MemberIf<kReadsMatrices, ptrdiff_t> s_row;
};

// The arguments of matrix, which writes S with the pending tokens added.
struct DeltaMatrix {
  uint32_t head_dim, value_dim, pending;
  bool decay_per_key;
  const float *s, *u;
  size_t u_stride;
  DeltaTokens tokens;
  float* out;
  ptrdiff_t out_stride;
  [[no_unique_address]] IfGeneral<DeltaTokens> given;               // only keys; null with the other rules
  [[no_unique_address]] IfGeneral<const float*> given_v;            // as u
  [[no_unique_address]] MemberIf<kReadsMatrices, ptrdiff_t> s_row;  // as that of DeltaColumns
};

struct DeltaKernels {
  // Widens a row to f32, padded with zeros to whole_columns(dim). `ahead`: as many elements of this format, to
  // prefetch.
  void (*widen)(fovea_dtype, const void* row, uint32_t dim, float* out, const void* ahead);
  void (*prepare)(const DeltaPrepare&);
  void (*columns)(const DeltaColumns&);
  void (*matrix)(const DeltaMatrix&);
  // prepare for the general rule.
  [[no_unique_address]] IfGeneral<void (*)(const DeltaPrepare&)> prepare_general;
};

FOVEA_TABLES(DeltaKernels, kDelta, delta_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_DELTA_KERNELS_H_
