// SPDX-License-Identifier: Apache-2.0
//
// How the workspace of an attention call is cut. The same functions measure it for the plan and carve it for the call.
#ifndef FOVEA_SRC_ATTENTION_LAYOUT_H_
#define FOVEA_SRC_ATTENTION_LAYOUT_H_

#include "core/attention/kernels.h"
#include "core/attention/options.h"
#include "fovea/fovea_config.h"
#include "ground/base/carver.h"
#include "ground/targets/registry.h"

namespace fovea {

// Most query tiles that share a key tile. It is brought once, and each of them reads it while it is in the cache.
constexpr uint32_t kMostTiles = kBringsKeys ? 4 : kFewRowsServed ? 2 : 1;

// The kernel that serves a batch entry with this many query rows for each key head.
inline const PlannedKernel& kernel_for(const MadePlan& plan, uint64_t rows) {
  return kFewRowsServed && plan.kernels[0].most_rows != 0 && rows <= plan.kernels[0].most_rows ? plan.kernels[0]
                                                                                               : plan.kernels[1];
}
// A constant in builds that have the tile kernel alone.
inline bool lanes_are_rows(const PlannedKernel& kernel) {
  return !kFewRowsServed || kKernelTraits[kernel.index].lanes_are_rows;
}
// Lanes of a vector of scores. Those of few rows are f32, with halves, too.
constexpr uint32_t lanes_of(const MadePlan& plan, bool lanes_are_rows) {
  return kPlansFewHalves && !lanes_are_rows && reads_halves(plan) ? plan.lanes / 2 : plan.lanes;
}
// Rows are assigned to tiles in grains. A grain is one vector of rows, or two where a tile has six vectors. In the
// few-rows kernel it is a whole tile.
inline uint32_t row_grain(const MadePlan& plan, const PlannedKernel& kernel) {
  if (!lanes_are_rows(kernel)) return kernel.tile_rows;
  return kTilesOfSix && kernel.tile_rows == 6 * plan.lanes ? 2 * plan.lanes : plan.lanes;
}

// Rows of a key tile, brought to where a kernel can read them.
struct BufferRows {
  void* data;
  void* scales;
};

// What a worker notes of its loader, in its workspace.
struct LoaderNotes {
  uint32_t next_buffer;  // which of two buffers the worker's next tile uses
  fovea_kv_tile asked;   // what the loader was asked for
};
static_assert(sizeof(LoaderNotes) <= FOVEA_WORKSPACE_ALIGNMENT, "a workspace has the same bytes on all processors");

// Rows as a loader brings them.
struct LoadedRows {
  BufferRows keys[2], values[2];
  LoaderNotes* notes;
};

// A worker's memory for key tiles that are not read in place. Null where a plan does not need it.
struct KeyBuffers {
  BufferRows keys, values;  // widened or gathered, or as integer products read them
  [[no_unique_address]] MemberIf<kHasLoaders, LoadedRows> loaded;

  // For integer products, which have no other scales.
  I8Numbers* numbers() const { return static_cast<I8Numbers*>(values.scales); }
};

using KeyBuffersIf = MemberIf<kBringsKeys, KeyBuffers>;

// Whether the rows of a key tile may be in more than one run. Those of the source's own keys, if key tiles begin with them.
inline bool own_rows_may_part(const fovea_attention_desc& d) {
  if (is_ring(d)) return d.pinned_tokens != 0 || d.ring_tokens % kKeyTile != 0;
  return is_paged(d) && d.page_tokens % kKeyTile != 0;
}
inline bool rows_may_part(const fovea_attention_desc& d) { return most_prefix(d) != 0 || own_rows_may_part(d); }

// Whether no key tile may cross the end of a page, because there is no memory to gather f32 rows in.
inline bool tiles_follow_pages(const fovea_attention_desc& d) {
  return is_paged(d) && !rows_may_part(d) && (d.key_dtype == FOVEA_F32 || d.value_dtype == FOVEA_F32);
}

// A piece of a key tile: some keys, or some elements of all values. kPieceElements divides kScaleGroup.
constexpr uint32_t kPieceKeys = FOVEA_PIECE_KEYS, kPieceElements = FOVEA_PIECE_ELEMENTS;
// The number of codes that take the place of one float in a piece.
inline uint32_t codes_in_float(const DotTraits& dot) { return uint32_t(sizeof(float)) / dot.code_bytes; }

// What a worker has in its workspace. Its tasks use it one after the other.
struct WorkerArrays {
  QueryTile tiles[kMostTiles];
  [[no_unique_address]] KeyBuffersIf buffers;
  [[no_unique_address]] RotatedIf rotated;  // [tile_rows][head_dim] the queries of a tile
  const PlannedKernel* carved_for = nullptr;
};

// Whether a call needs the slow part of its workspace.
inline bool has_slow_part(const MadePlan& plan, const Workspace& all) {
  return kMayHaveSlowPart && all.fast_bytes < plan.workspace_bytes;
}
// The workspace of a worker. The partial states of split keys are before all of them, in the slow part if there is one.
Workspace worker_workspace(const MadePlan& plan, const Workspace& all, uint32_t worker);
inline void* split_workspace(const MadePlan& plan, const Workspace& all) {
  return has_slow_part(plan, all) ? all.slow : all.fast;
}

// Carves the arrays that a worker needs for the tiles of a kernel.
void carve_worker(const MadePlan& plan, const Workspace& workspace, const PlannedKernel& kernel, WorkerArrays* arrays);
// The bytes of the slow part that these arrays need in addition to a fast part of fast_bytes.
CheckedSize measure_worker(const MadePlan& plan, const PlannedKernel& kernel, size_t fast_bytes);

// The address is the same for all kernels.
LoaderNotes* loader_notes(const Workspace& worker);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_LAYOUT_H_
