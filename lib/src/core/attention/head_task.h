// SPDX-License-Identifier: Apache-2.0
//
// The work on one key head of one batch entry, for a row block. What tasks of an entry share is prepared once: a task
// moves to the next key head.
#ifndef FOVEA_SRC_ATTENTION_HEAD_TASK_H_
#define FOVEA_SRC_ATTENTION_HEAD_TASK_H_

#include "core/attention/block_map/listed_tiles.h"
#include "core/attention/call.h"
#include "core/attention/keys.h"
#include "core/attention/limits.h"

namespace fovea {

// Which of these steps a task performs: begin, take up a partial state, attend to keys, put a state down, end.
enum class Part {
  kWhole,  // begin, attend, end
  kSplit,  // begin, attend, put down: some of the keys
  kPush,   // begin, take up, attend, put down
  kRest,   // begin, take up, attend, end
  kEnd,    // take up, end
};

// Where one query tile attends to one key tile, as in small calls, the key heads of an entry differ only in where their
// rows are. Then this is prepared once.
struct LoneTile {
  bool found;
  KeyTile keys;
  RowOutputs outputs;  // of the head
};

struct HeadTask {
  // Enters a batch entry, at its first key head.
  void enter(const AttentionCall& call, Part part, const AttentionKernel& kernel, const KeyBuffersIf& buffers,
             uint32_t entry, uint32_t worker);
  // Moves to a key head of the entry, and to a map block of queries.
  void move_to(uint32_t kv_head, uint32_t q_block);

  // Finds out whether a row block is one query tile, and the entry's keys one key tile. Called at the first key head.
  void find_lone(const QueryTile* tiles, uint32_t count);

  // If so, runs a head.
  void run_lone(QueryTile& tile);

  // Runs a head. False if keys cannot be loaded: then outputs and states are not written, or only in part.
  bool run(QueryTile* tiles, uint32_t count);

  [[no_unique_address]] IfStates<Part> part;
  uint32_t group;    // query heads that share the key head
  bool per_row;      // ALiBi, sinks or tensors need facts of each row
  KeyLimits limits;  // for the batch entry or one part of its keys; then for the range that enter_range chose
  [[no_unique_address]] MemberIf<kHasRanges, ExistingKeys> ranges;  // the keys that exist
  [[no_unique_address]] MemberIf<kHasRanges, KeyLimits::Kept> all;  // of the limits before enter_range
  [[no_unique_address]] ListedTilesIf listed;                       // the key tiles that these queries look at
  [[no_unique_address]] MemberIf<kHasLoneTiles, LoneTile> lone;
  KeySource source;
  TypedRows q;
  [[no_unique_address]] RotatedIf rotated;  // of WorkerArrays
  ScoreSteps steps;
  [[no_unique_address]] IfStates<StateRows> state;      // of the head: taken up
  [[no_unique_address]] IfStates<StateRows> state_out;  // put down: the same, unless a stream has a loader

  const AttentionCall& call() const { return source.call(); }
  const AttentionKernel& kernel() const { return source.kernel(); }
  uint32_t entry() const { return steps.entry; }
  uint32_t kv_head() const { return steps.kv_head; }
  // A constant in builds without states.
  Part doing() const { return kHasStates ? *part : Part::kWhole; }
  bool begins() const { return doing() != Part::kEnd || call().wants_scores(); }
  bool takes_up() const { return doing() == Part::kPush || doing() == Part::kRest || doing() == Part::kEnd; }
  bool puts_down() const { return doing() == Part::kPush || doing() == Part::kSplit; }
  // Whether this is the first of two passes. Where weights are modified, it finds the number that divides them.
  bool measures() const { return kHasModifiers && steps.modifier->pass == kMeasuringPass; }
  void set_pass(WeightPass pass) {
    if (kHasModifiers) steps.modifier->pass = pass;
  }
  // Sets what a key tile has whatever its keys are.
  void prepare(KeyTile* keys) const {
    if (!kHasAdditive) return;
    keys->score_vector = call().score_vector(kv_head());
    keys->score_factor = score_factor();
  }
  float score_factor() const { return call().desc.scale * kLog2E; }
  uint32_t range_count() const { return kHasRanges ? ranges->count : 1; }
  void enter_range(uint32_t range) {
    if (!kHasRanges) return;
    limits.restore(*all);
    limits.keep(ranges->range(range));
  }
};

// Sets the limits of the rows of a tile that all see the same keys: then nothing reads those of others than the first and
// the last column. A row of few rows has many columns.
inline void same_row_facts(const HeadTask& task, const QueryTile& tile) {
  const uint32_t last = tile.columns - 1;
  row_lo(tile)[0] = row_lo(tile)[last] = int32_t(task.limits.begin);
  row_hi(tile)[0] = row_hi(tile)[last] = int32_t(task.limits.keys);
}

// The rows of the task's first query head, in an array of floats.
inline RowArray<float> head_floats(const HeadTask& task, const fovea_in& array) {
  const EntryTokens queries = task.call().queries(task.entry());
  return floats_of_head(array, queries, task.kv_head() * task.group);
}

inline OutputTensor output_tensor(const AttentionCall& call, uint32_t kv_head) {
  OutputTensor tensor = {};
  tensor.channel_scales = call.value_channel_scales(kv_head);
  tensor.is_plain = !tensor.channel_scales && call.desc.out_dtype != FOVEA_I8;
  if (tensor.is_plain) return tensor;
  tensor.inverse_scale = call.desc.out_scale != 0.0f ? 1.0f / call.desc.out_scale : 0.0f;
  tensor.zero = float(call.desc.out_zero_point);
  return tensor;
}

// Inlined, because builds for size call it once.
__attribute__((always_inline)) inline void find_outputs(const HeadTask& task, RowOutputs* to) {
  const AttentionCall& call = task.call();
  RowOutputs& outputs = *to;
  const EntryTokens queries = call.queries(task.entry());
  outputs.out = rows_of_head(as_input(call.out()), call.desc.out_dtype, queries, task.kv_head() * task.group);
  if (kHasLse) outputs.lse->data = nullptr;
  if (call.wants_lse()) outputs.lse = head_floats(task, as_input(call.lse()));
  outputs.sinks = call.sinks() != nullptr;
  if (kHasI8Tensors) outputs.tensor = output_tensor(call, task.kv_head());
  if (kHasModifiers) outputs.pass = task.steps.modifier->pass;
}

// Rotated keys and values: queries are rotated before kernels read them, and outputs are rotated back after kernels have
// stored them. So no kernel knows of rotations.

// Rotates the queries of a tile into task.rotated, and begins the tile with them. Their scores are never additive.
void begin_rotated(const HeadTask& task, const QueryTile& tile);
// Rotates one query into task.rotated.
const float* rotated_query(const HeadTask& task, const void* query);
// Rotates the rows of a tile, or takes the rotation of its outputs back. `to` may be `from`.
void rotate_tile(const HeadTask& task, const QueryTile& tile, bool inverse, const TypedRows& from, const TypedRows& to);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_HEAD_TASK_H_
