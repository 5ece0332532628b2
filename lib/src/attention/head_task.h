// SPDX-License-Identifier: Apache-2.0
//
// The work on one key head of one batch entry, for a block of query tiles.
#ifndef FOVEA_SRC_ATTENTION_HEAD_TASK_H_
#define FOVEA_SRC_ATTENTION_HEAD_TASK_H_

#include "attention/call.h"
#include "attention/keys.h"
#include "attention/limits.h"

namespace fovea {

// Which of these steps a task performs: begin, take up a partial state, attend to keys, put a state down, end.
enum class Part {
  kWhole,  // begin, attend, end
  kSplit,  // begin, attend, put down: some of the keys
  kPush,   // begin, take up, attend, put down
  kEnd,    // take up, end
};

struct HeadTask {
  HeadTask(const AttentionCall& call, Part part, const AttentionKernel& kernel, const KeyBuffers& buffers,
           uint32_t entry, uint32_t kv_head, uint32_t worker);

  // Puts what the kernel reads beside rows into a tile.
  void prepare(QueryTile* tile) const;
  // False where keys cannot be had: then outputs and states are not written, or not all of them.
  bool run(const QueryTile* tiles, uint32_t count);

  const AttentionCall& call;
  const Part part;
  const uint32_t group;  // query heads that share the key head
  const uint32_t kv_head;
  Positions entry;         // of the batch entry, or of a split's keys in it
  const KeyRanges ranges;  // the keys that are there
  KeySource source;
  Positions positions;  // of the range that was entered
  TypedRows q;
  RowArray<const float> q_scales;  // of queries of i8; data may be null
  RowOutputs outputs;
  RowArray<float> scores;
  ScoreSteps steps;
  StateRows state;      // of the head: taken up
  StateRows state_out;  // put down: mostly the same

  const AttentionKernel& kernel() const { return source.kernel(); }
  // A constant where there are no states.
  Part doing() const { return kHasStates ? part : Part::kWhole; }
  bool begins() const { return doing() != Part::kEnd || call.wants_scores(); }
  bool takes_up() const { return doing() == Part::kPush || doing() == Part::kEnd; }
  bool puts_down() const { return doing() == Part::kPush || doing() == Part::kSplit; }
  float score_factor() const { return call.desc.scale * kLog2E; }
  void enter_range(uint32_t range) {
    positions = entry;
    if (ranges.can_part()) positions.keep(ranges.range[range]);
  }
};

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_HEAD_TASK_H_
