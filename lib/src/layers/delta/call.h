// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_DELTA_CALL_H_
#define FOVEA_SRC_DELTA_CALL_H_

#include "fovea/fovea.h"
#include "fovea/fovea_config.h"
#include "ground/base/carver.h"
#include "layers/delta/kernels.h"
#include "layers/delta/state.h"

namespace fovea {

// Most token groups that are prepared before columns of S are read for all of them: these columns then stay in a
// first-level cache. Targets of one lane have little cache, and little memory.
constexpr uint32_t most_delta_groups(uint32_t lanes) { return lanes == 1 ? 1 : 8; }

// Columns of a task, where an executor has more workers than there are heads.
constexpr uint32_t kPartColumns = 2 * kDeltaColumns;

// What shapes and the target decide.
struct DeltaPlan {
  fovea_target target;
  uint32_t lanes;
  uint32_t groups;   // token groups that are prepared at a time
  uint32_t readers;  // query heads that read one S
  uint32_t parts;    // of the columns of S, each a task
  uint32_t workers;
  size_t worker_bytes;  // workspace of each
};

// The workspace of a worker.
template <class Group>
struct DeltaScratchOf {
  float* k;  // [2][kDeltaTokens][whole_columns(head_dim)]: of a group and of the one before
  float* q;  // [kDeltaTokens][whole_columns(head_dim)]
  float* strands;
  Group* groups;   // [groups][readers]
  float* factors;  // [groups][readers][factors of a group]

  // Places these arrays with a Carver, or counts their bytes. row: whole_columns(head_dim).
  template <class Carves>
  constexpr void place(Carves& carver, size_t row, size_t group_count, size_t group_factors) {
    carver.take(&k, row, 2 * kDeltaTokens);
    carver.take(&q, row, kDeltaTokens);
    carver.take(&strands, kDeltaStrands);
    carver.take(&groups, group_count);
    carver.take(&factors, group_factors, group_count);
  }
};
using DeltaScratch = DeltaScratchOf<DeltaGroup>;  // factors: delta_factor_count
// What the general rule has in addition, for the keys that are given; those above are b. q is its a; factors:
// delta_given_count.
using DeltaGivenScratch = DeltaScratchOf<DeltaGiven>;

struct DeltaGivenSets {
  const float* k[2][kDeltaTokens];
};

// A checked call. A task is a head of an entry, and a part of the columns of its S. No task changes what another reads.
// Heads of values and dims are those of the state. The arrays are described in the caller's arguments.
struct DeltaCall {
  DeltaPlan plan;
  const DeltaKernels* kernels;
  fovea_delta_state* state;
  uint32_t entry, batch;            // entries [entry, entry + batch) of the state
  uint32_t tokens;                  // of each entry
  const uint32_t* offsets;          // [batch + 1]: where the tokens of ragged entries begin. Read by ragged_offsets
  uint32_t key_share, query_share;  // heads of values that share a key head, and a query head
  float scale;
  fovea_dtype dtype, out_dtype;
  const fovea_out* out;
  const fovea_in *q, *k, *v;
  const fovea_in *decay, *beta;  // null where the rule is not gated, and where it is no delta rule
  [[no_unique_address]] IfGeneral<const fovea_in*> a, b;  // null where the rule is not the general one
  const fovea_executor* executor;
  char* workspace;

  // Null if entries are not ragged. Always null in builds without ragged batches.
  const uint32_t* ragged_offsets() const { return config::kRagged ? offsets : nullptr; }

  bool general() const { return kHasGeneralDelta && a; }
  const fovea_in& added_keys() const { return general() ? **b : *k; }

  struct Scratch {};
  fovea_status run_task(size_t index, uint32_t worker, Scratch*) const;
};

// Fails only if an executor does.
fovea_status run_delta(const DeltaCall& call);

// A checked call whose matrices S are arrays of the caller. A task is a head of an entry. A worker's workspace begins
// with a state of one head, in which S is unless a kernel reads it where it is.
struct DeltaMatricesCall {
  DeltaCall call;            // without a state
  fovea_delta_state header;  // of one head
  uint32_t v_heads;
  size_t worker_bytes;  // of the state and the workspace of a worker
  const fovea_in* before;
  const fovea_out* after;

  struct Scratch {};
  fovea_status run_task(size_t index, uint32_t worker, Scratch*) const;
};
fovea_status run_delta_matrices(const DeltaMatricesCall& call);

void begin_delta(const fovea_delta_state& header, fovea_delta_state* state);
void set_delta(fovea_delta_state& state, uint32_t first, uint32_t count, const fovea_in* matrices);
void get_delta(const fovea_delta_state& state, const DeltaKernels& kernels, uint32_t first, uint32_t count,
               const fovea_out& matrices);
// get_delta of a state of one head, with S that is not in the state.
void get_delta_from(const fovea_in& s, const fovea_delta_state& state, const DeltaKernels& kernels,
                    const fovea_out& matrix);

// Pending tokens of entries: of all of them the least, 0 of none; and takes that many back.
uint32_t least_pending(const fovea_delta_state& state, uint32_t first, uint32_t count);
void roll_back_delta(fovea_delta_state* state, uint32_t first, uint32_t count, uint32_t tokens);

void write_delta_image(const fovea_delta_state& state, uint8_t* image);
fovea_delta_state read_delta_header(const uint8_t* image);
void read_delta_image(const uint8_t* image, fovea_delta_state* state);

}  // namespace fovea

#endif  // FOVEA_SRC_DELTA_CALL_H_
