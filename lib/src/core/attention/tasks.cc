// SPDX-License-Identifier: Apache-2.0
//
// A call is cut into tasks: batch entries, key heads, row blocks, and parts of the keys where they are split.
#include "ground/base/arithmetic.h"
#include "core/attention/call.h"

#include "core/attention/head_task.h"
#include "core/attention/key_mass.h"
#include "ground/base/status.h"
#include "ground/base/tasks.h"

namespace fovea {
namespace {

// The kernel that a plan names: a constant in builds with one kernel.
const AttentionKernel& kernel_of(const MadePlan& plan, const PlannedKernel& kernel) {
  if (is_i8(plan.desc)) return i8_kernels(plan.desc.target).list[dot_row(plan.dot)][kernel.index - kI8FewRowsKernel];
  if (is_f16(plan.desc)) {
    const F16Kernels& kernels = f16_kernels(plan.desc.target);
    if constexpr (kHalfFewRowsServed) {
      if (kernel.index == kF16FewRowsKernel) return *kernels.few;
    }
    return kernels.tile[plan.dot];
  }
  return attention_kernels(plan.desc.target).list[kFewRowsServed ? kernel.index : 0];
}

// The number of query tiles that share each key tile.
uint32_t tiles_at_once(const PlannedKernel& kernel) { return kMostTiles == 1 ? 1 : kernel.tiles; }

// How the rows of a key head are cut into query tiles: the rows of all queries, or of a map block. Tiles get nearly
// equal numbers of grains: 64 rows on 16 lanes become 2 + 2 vectors, not 3 + 1.
struct Cut {
  const PlannedKernel* kernel;
  uint32_t rows;
  uint32_t grains;
  uint32_t tiles;
  uint32_t blocks;  // row blocks; each is a task
};

// Cuts the rows of q_tokens queries. The kernel is the one for `together` queries, which is more than q_tokens only in
// the last map block of an entry.
Cut cut_of(const AttentionCall& call, uint32_t together, uint32_t q_tokens) {
  const MadePlan& plan = call.plan;
  const uint32_t group = plan.desc.q_heads / plan.desc.kv_heads;
  Cut cut;
  cut.rows = group * q_tokens;
  // Only the kernel for any number of rows modifies weights.
  cut.kernel = &kernel_for(plan, call.modifies_weights() ? UINT32_MAX : group * together);
  const uint32_t grain = row_grain(plan, *cut.kernel), tile_rows = cut.kernel->tile_rows;
  cut.grains = (cut.rows + grain - 1) / grain;
  cut.tiles = (cut.rows + tile_rows - 1) / tile_rows;
  const uint32_t at_once = tiles_at_once(*cut.kernel);
  cut.blocks = (cut.tiles + at_once - 1) / at_once;
  return cut;
}

// Sets which rows a tile holds, of those that begin with `first_token`. Its arrays were carved before.
void place_tile(const MadePlan& plan, const Cut& cut, uint32_t first_token, uint32_t index, QueryTile* tile) {
  const uint32_t grain = row_grain(plan, *cut.kernel), grains = cut.grains / cut.tiles, more = cut.grains % cut.tiles;
  const uint32_t first = (grains * index + (index < more ? index : more)) * grain;
  const bool lanes_are_rows = fovea::lanes_are_rows(*cut.kernel);
  const uint32_t most = (grains + (index < more)) * grain;
  const uint32_t group = plan.desc.q_heads / plan.desc.kv_heads;
  tile->head_dim = plan.desc.head_dim;
  tile->value_dim = plan.desc.value_dim;
  tile->live = cut.rows - first < most ? cut.rows - first : most;
  tile->group = group;
  tile->first_token = first_token + first / group;
  tile->first_head = first % group;
  tile->columns = !lanes_are_rows ? lanes_of(plan, false)
                  : kTilesOfSix   ? uint32_t(round_up(tile->live, plan.lanes))
                                  : most;
  tile->row_lanes = lanes_are_rows ? 1 : lanes_of(plan, false) / (tile->live == 3 ? kMostRowsOfFew : tile->live);
}

// A call, cut into tasks that may run at the same time. A task is a row block of a key head of a batch entry. Where
// keys are split, each part of the keys has a task, and then one task joins the parts.
class Tasks {
  static constexpr uint32_t kSharedKeys = 8 * kKeyTile;  // in the second-level cache

 public:
  explicit Tasks(const AttentionCall& call) : call_(call) {
    // With ragged keys kv_tokens counts all entries, but the plan has room for the parts of one entry.
    const uint32_t capacity = call_.desc.max_kv_tokens + most_prefix(call_.desc);
    splits_ = call.stream() ? 1 : split_count(call_.desc, call.kv_tokens() < capacity ? call.kv_tokens() : capacity);
    if (!kHasStates || call_.plan.split_bytes == 0) return;
    float* const max = static_cast<float*>(split_workspace(call_.plan, call.workspace));
    const size_t states = all_rows() * splits();
    states_ = StateRows{max, max + states, max + 2 * states};
  }

  fovea_status run() {
    if (kHasRagged) {
      cut_entries_apart();
    } else {
      cut_entries();
    }
    // Ragged entries without queries take no memory, so memory does not limit their number: times heads, it may
    // overflow.
    CheckedSize tasks{call_.batch()};
    tasks.times(call_.desc.kv_heads).times(blocks_);
    CheckedSize parts = tasks;
    if (parts.times(splits()).overflow) return FOVEA_ERR_SIZE;
    if (tasks.value == 0) return FOVEA_OK;
    begin_loaders();
    if (call_.stream()) return run_on_stream(tasks.value);
    if (call_.wants_mass() && blocks_ > 1) return run_massed_apart(tasks.value);
    const uint64_t rows = uint64_t(call_.q_tokens()) * (call_.desc.q_heads / call_.desc.kv_heads);
    if (kSharesPrefixes && call_.prefixes() && may_share(call_.desc) && call_.plan.split_bytes != 0 &&
        rows <= kMostSharedRows && blocks_ == 1 && !call_.block_map() && !call_.q_offsets() && !call_.wants_scores() &&
        !call_.wants_mass() && !call_.modifies_weights()) {
      shares_prefixes_ = true;
      FOVEA_RETURN_IF_ERROR(run_part(Part::kPush, tasks.value));
    }
    if (splits() <= 1) return run_part(Part::kWhole, tasks.value);
    FOVEA_RETURN_IF_ERROR(run_part(Part::kSplit, parts.value));
    return run_part(Part::kEnd, tasks.value);
  }

  // What a worker keeps from task to task: while these are of one row block, only the key head changes.
  struct Scratch {
    WorkerArrays arrays;  // with the query tiles of the row block
    HeadTask task;        // in the entry
    uint32_t tiles = 0;   // 0: none yet, or the entry has no such row block
    uint32_t block;
    [[no_unique_address]] MemberIf<kHasBlockMaps, uint32_t> q_block;
  };
  fovea_status run_task(size_t index, uint32_t worker, Scratch* scratch) {
    uint32_t split = 0, block = 0;
    uint32_t blocks = 1;
    if (massed() == Massed::kOnly) {
      blocks = blocks_;
    } else {
      if (splits() > 1 && part_ == Part::kSplit) {
        split = uint32_t(index % splits());
        index /= splits();
      }
      if (blocks_ > 1) {
        block = uint32_t(index % blocks_);
        index /= blocks_;  // now a head, counted over all entries
      }
    }
    const uint32_t entry = uint32_t(index / call_.desc.kv_heads), kv_head = uint32_t(index % call_.desc.kv_heads);
    const uint32_t shared = shared_keys(entry);
    if (kSharesPrefixes && part_ == Part::kPush && !call_.stream())
      return run_shared(entry, shared, kv_head, worker, scratch);
    const Part part = shared != 0 ? Part::kRest : Part(part_);
    for (const uint32_t end = block + blocks; block != end; ++block) {
      // A part of the keys changes the limits of the entry.
      if (scratch->tiles == 0 || block != scratch->block || entry != scratch->task.entry() || part != Part::kWhole) {
        enter(entry, block, worker, part, scratch);
      }
      if (scratch->tiles == 0) continue;
      HeadTask& task = scratch->task;
      task.move_to(kv_head, scratch->q_block);
      if (kHasLoneTiles && task.lone->found) {
        task.run_lone(scratch->arrays.tiles[0]);
        continue;
      }
      if (task.doing() != Part::kWhole) find_states(entry, split, scratch->arrays.tiles, scratch->tiles, &task);
      if (kSharesPrefixes && shared != 0) task.limits.keep({shared, UINT32_MAX, false});
      if (!task.run(scratch->arrays.tiles, scratch->tiles)) return FOVEA_ERR_LOAD;
    }
    return FOVEA_OK;
  }

 private:
  bool share(uint32_t entry, uint32_t other) const {
    return other < call_.batch() && call_.prefix(other) == call_.prefix(entry);
  }
  // The keys of an entry's prefix, in whole key tiles, that it shares with the entry before it or the one after it; 0 if it does
  // not.
  uint32_t shared_keys(uint32_t entry) const {
    if (!kSharesPrefixes || !*shares_prefixes_ || !(share(entry, entry - 1) || share(entry, entry + 1))) return 0;
    return call_.prefix_tokens(entry) / kKeyTile * kKeyTile;
  }

  // Runs a key head of the entries that share a prefix, as far as its keys go, and puts their states down. All take some of its key
  // tiles while these are in the cache, then the next: so a row meets the same key tiles in the same order as in a task of its own.
  // A task has all of these entries; with more workers than key heads, some of them. The task of its first entry runs it.
  __attribute__((noinline)) fovea_status run_shared(uint32_t entry, uint32_t keys, uint32_t kv_head, uint32_t worker,
                                                    Scratch* scratch) const {
    uint32_t before = 0, count = 1;  // entries that share it
    while (share(entry, entry - before - 1)) ++before;
    while (share(entry, entry + count)) ++count;
    const uint32_t groups = call_.executor() ? divide_up(worker_count(call_.desc), call_.desc.kv_heads) : 1;
    const uint32_t together = divide_up(before + count, groups);
    if (before % together != 0) return FOVEA_OK;
    const uint32_t end = entry + (together < count ? together : count);
    for (uint32_t key = 0; key < keys; key += kSharedKeys) {
      for (uint32_t of = entry; of < end; ++of) {
        enter(of, 0, worker, key == 0 ? Part::kSplit : Part::kPush, scratch);
        if (scratch->tiles == 0) continue;
        scratch->task.move_to(kv_head, 0);
        find_states(of, 0, scratch->arrays.tiles, scratch->tiles, &scratch->task);
        scratch->task.limits.keep({key, keys - key < kSharedKeys ? keys : key + kSharedKeys, false});
        scratch->task.run(scratch->arrays.tiles, scratch->tiles);
      }
    }
    return FOVEA_OK;
  }

  Massed massed() const { return kHasKeyMass ? *massed_ : Massed::kAny; }

  fovea_status run_massed_apart(size_t tasks) {
    massed_ = Massed::kNone;
    FOVEA_RETURN_IF_ERROR(run_part(Part::kWhole, tasks));
    massed_ = Massed::kOnly;
    return run_part(Part::kWhole, tasks / blocks_);
  }

  uint32_t splits() const { return kSplitsKeys ? uint32_t(splits_) : 1; }

  // Enters a batch entry, and places the query tiles of a row block. Not inlined: tasks need its stack afterwards.
  __attribute__((noinline)) void enter(uint32_t entry, uint32_t block, uint32_t worker, Part part,
                                       Scratch* scratch) const {
    scratch->block = block;
    scratch->tiles = 0;
    uint32_t q_block = 0;
    const uint32_t queries = call_.queries(entry).count;
    if (queries == 0) return;
    const uint32_t together = call_.queries_together(queries);
    Cut cut = cut_;
    if (call_.q_offsets()) cut = cut_of(call_, together, together);
    if (together < queries) {
      q_block = block / cut.blocks;
      block %= cut.blocks;
      if (uint64_t(q_block) * together >= queries) return;  // an entry with fewer queries
      const uint32_t left = queries - q_block * together;
      if (left < together) cut = cut_of(call_, together, left);
    }
    if (block >= cut.blocks) return;  // an entry with fewer row blocks
    WorkerArrays& arrays = scratch->arrays;
    if (arrays.carved_for != cut.kernel) {
      carve_worker(call_.plan, worker_workspace(call_.plan, call_.workspace, worker), *cut.kernel, &arrays);
    }
    scratch->task.enter(call_, part, kernel_of(call_.plan, *cut.kernel), arrays.buffers, entry, worker);
    scratch->task.rotated = arrays.rotated;
    scratch->q_block = q_block;
    const uint32_t at_once = tiles_at_once(*cut.kernel), first = block * at_once;
    scratch->tiles = cut.tiles - first < at_once ? cut.tiles - first : at_once;
    for (uint32_t i = 0; i < scratch->tiles; ++i) {
      place_tile(call_.plan, cut, q_block * together, first + i, &arrays.tiles[i]);
    }
    if (massed() != Massed::kAny) {
      const bool counts = keeps_rows(arrays.tiles[scratch->tiles - 1], first_massed(call_, entry));
      if (counts != (massed() == Massed::kOnly)) scratch->tiles = 0;
    }
    if (kHasLoneTiles) scratch->task.find_lone(arrays.tiles, scratch->tiles);
  }
  // Sets the cut and the most row blocks of a head.
  void cut_entries() {
    for (uint32_t entry = 0; entry < call_.batch(); ++entry) {
      const uint32_t count = call_.queries(entry).count, together = call_.queries_together(count);
      cut_ = cut_of(call_, together, together);
      const uint32_t blocks = cut_.blocks * (count == together ? 1 : divide_up(count, together));
      if (blocks > blocks_) blocks_ = blocks;
      if (!call_.q_offsets()) break;
    }
  }
  __attribute__((noinline)) void cut_entries_apart() { cut_entries(); }

  size_t all_rows() const {
    const size_t tokens = call_.q_offsets() ? call_.q_tokens() : size_t(call_.batch()) * call_.q_tokens();
    return tokens * call_.desc.q_heads;
  }

  void begin_loaders() const {
    for (uint32_t worker = 0; is_loaded(call_.desc) && worker < worker_count(call_.desc); ++worker) {
      loader_notes(worker_workspace(call_.plan, call_.workspace, worker))->next_buffer = 0;
    }
  }

  // A loader may fail. So the new rows are stored apart from the state, and replace it after success.
  fovea_status run_on_stream(size_t tasks) {
    if (call_.ends_stream()) return run_part(Part::kEnd, tasks);
    FOVEA_RETURN_IF_ERROR(run_part(Part::kPush, tasks));
    if (is_loaded(call_.desc)) {
      const size_t row_floats = size_t(call_.desc.value_dim) + 2;
      __builtin_memcpy(call_.stream()->rows.max, states_->max, all_rows() * row_floats * sizeof(float));
    }
    return FOVEA_OK;
  }

  fovea_status run_part(Part part, size_t tasks) {
    part_ = part;
    return run_all_tasks(*this, call_.executor(), worker_count(call_.desc), tasks);
  }

  // Finds the states of a task. A task with a part of the keys is limited to this part. Where keys are split, the task
  // that ends a row block joins the states of all parts. Not inlined: the task needs its stack afterwards.
  __attribute__((noinline)) void find_states(uint32_t entry, uint32_t split, const QueryTile* tiles, uint32_t count,
                                             HeadTask* task) const {
    const size_t value_dim = call_.desc.value_dim;
    const EntryTokens queries = call_.queries(entry);
    const size_t first_token = call_.q_offsets() ? queries.first : size_t(entry) * call_.q_tokens();
    const size_t row = (first_token * call_.desc.kv_heads + size_t(task->kv_head()) * queries.count) * task->group;
    if (const StreamCall* const stream = call_.stream()) {
      task->state = stream->rows.from(row, value_dim);
      task->state_out = is_loaded(call_.desc) ? states_->from(row, value_dim) : *task->state;
      return;
    }
    task->state = task->state_out = states_->from(split * all_rows() + row, value_dim);
    if (kSplitsKeys && part_ == Part::kSplit) {
      const uint32_t keys = call_.desc.key_split_tokens, pinned = is_ring(call_.desc) ? pinned_splits(call_.desc) : 0;
      if (is_ring(call_.desc) && split >= pinned) {  // not the parts whose tokens are gone
        const uint32_t oldest = ring_first(call_, entry) / keys;
        if (oldest > pinned) split += oldest - pinned;
      }
      const uint32_t first = split * keys;
      task->limits.keep({first, keys < UINT32_MAX - first ? first + keys : UINT32_MAX, false});
      return;
    }
    const QueryTile& last = tiles[count - 1];
    const uint32_t begin = tiles[0].first_token * task->group + tiles[0].first_head;
    const uint32_t end = last.first_token * task->group + last.first_head + last.live;
    for (uint32_t other = 1; other < splits(); ++other) {
      const StateRows from = states_->from(other * all_rows() + row + begin, value_dim);
      merge_kernels(call_.desc.target).merge(task->state->from(begin, value_dim), from, end - begin, value_dim);
    }
  }

  const AttentionCall& call_;
  Cut cut_ = {};                                                  // the same for every entry, unless batches are ragged
  uint32_t blocks_ = 0;                                           // most row blocks of a head in any entry
  [[no_unique_address]] MemberIf<kSplitsKeys, uint32_t> splits_;  // parts of the keys
  [[no_unique_address]] MemberIf<kSharesPrefixes, bool> shares_prefixes_ = false;
  // [splits][batch][kv_heads][rows] for split keys; or the rows that will replace a stream's.
  [[no_unique_address]] IfStates<StateRows> states_;
  [[no_unique_address]] IfStates<Part> part_ = Part::kWhole;
  [[no_unique_address]] IfKeyMass<Massed> massed_ = Massed::kAny;
};

}  // namespace

TypedRows rows_of_head(const fovea_in& array, fovea_dtype dtype, const EntryTokens& tokens, uint32_t head) {
  const size_t unit = tensor_bytes(dtype);
  const char* const first = row_of(array, unit, ptrdiff_t(tokens.entry), ptrdiff_t(head), ptrdiff_t(tokens.first));
  return {const_cast<char*>(first), stride_bytes(array.token_stride, unit), stride_bytes(array.head_stride, unit),
          dtype};
}
RowArray<float> floats_of_head(const fovea_in& array, const EntryTokens& tokens, uint32_t head) {
  void* const first = rows_of_head(array, FOVEA_F32, tokens, head).data;
  return {static_cast<float*>(first), array.token_stride, array.head_stride};
}

fovea_status run_attention(const AttentionCall& call) {
  if (kHasLoneTiles && run_small_call(call)) return FOVEA_OK;
  return Tasks(call).run();
}

}  // namespace fovea
