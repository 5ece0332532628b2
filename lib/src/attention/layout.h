// SPDX-License-Identifier: Apache-2.0
//
// How the workspace of an attention call is cut. The same functions measure it for the plan and carve it for the call.
#ifndef FOVEA_SRC_ATTENTION_LAYOUT_H_
#define FOVEA_SRC_ATTENTION_LAYOUT_H_

#include "attention/kernels.h"
#include "base/carver.h"
#include "fovea/fovea_config.h"
#include "targets/registry.h"

namespace fovea {

// Workers that a call may have, and into how many parts the keys of a call are split.
inline uint32_t worker_count(const fovea_attention_desc& d) {
  return config::kExecutor && d.max_workers ? d.max_workers : 1;
}
inline uint32_t split_count(const fovea_attention_desc& d, uint32_t kv_tokens) {
  if (!config::kKeySplits || d.key_split_tokens == 0) return 1;
  const uint32_t count = kv_tokens / d.key_split_tokens + (kv_tokens % d.key_split_tokens != 0);
  return count == 0 ? 1 : count;
}

// The workspace of a worker. Partial states of split keys lie before all: in the slow part, where there is one.
inline Workspace worker_workspace(const fovea_plan& plan, const Workspace& all, uint32_t worker) {
  const uint32_t workers = worker_count(plan.desc);
  const bool parts = config::kSlowWorkspace && all.fast_bytes < plan.workspace_bytes;
  const size_t fast_skip = parts ? 0 : plan.split_bytes, slow_skip = parts ? plan.split_bytes : 0;
  const size_t fast = worker_share(all.fast_bytes - fast_skip, workers);
  const size_t slow = parts ? worker_share(all.slow_bytes - slow_skip, workers) : 0;
  return {static_cast<char*>(all.fast) + fast_skip + worker * fast, fast,
          parts ? static_cast<char*>(all.slow) + slow_skip + worker * slow : nullptr, slow};
}
inline void* split_workspace(const fovea_plan& plan, const Workspace& all) {
  return config::kSlowWorkspace && all.fast_bytes < plan.workspace_bytes ? all.slow : all.fast;
}

// Query tiles of a head that take each key tile one after the other while it is in the cache, and is brought there
// once.
constexpr uint32_t kMostTiles = config::kStaged ? 4 : kFewRowsServed ? 2 : 1;

// The arrays of a query tile. Fills in the pointers of *tile.
struct TileShape {
  size_t columns;
  size_t q_rows, q_columns;  // of the matrices q and o, which differ between the kernels
  size_t o_rows, o_columns;
};

inline TileShape tile_shape(size_t lanes, size_t vectors, size_t head_dim, size_t value_dim) {
  const size_t columns = lanes * vectors;
  return {columns, head_dim, columns, value_dim, columns};
}

inline TileShape few_rows_shape(size_t lanes, size_t rows, size_t head_dim, size_t value_dim) {
  const auto vectors = [lanes](size_t dim) { return dim / lanes + (dim % lanes != 0); };
  const size_t columns = lanes * (rows > 2 ? kFewRows : rows);
  return {lanes, vectors(head_dim), columns, vectors(value_dim), columns};
}

// Hottest first: how often an element is touched for each key tile, in the tile kernel with blocks of b keys or values.
__attribute__((noinline)) inline void carve_query_tile(Carver& carver, const TileShape& shape, QueryTile* tile) {
  tile->s = carver.take<float>(shape.columns, kKeyTile);        // value_dim / b + 5
  tile->q = carver.take<float>(shape.q_columns, shape.q_rows);  // 64 / b
  tile->rescale = carver.take<float>(shape.columns);            // value_dim / b
  tile->row_max = carver.take<float>(shape.columns);            // 2
  tile->row_sum = carver.take<float>(shape.columns);            // 2
  tile->o = carver.take<float>(shape.o_columns, shape.o_rows);  // 2
  tile->lo = carver.take<int32_t>(shape.columns);               // 1, and the same for the following
  tile->hi = carver.take<int32_t>(shape.columns);
  if (config::kAlibi) {
    tile->pos = carver.take<int32_t>(shape.columns);
    tile->far_pos = carver.take<float>(shape.columns);
    tile->slope = carver.take<float>(shape.columns);
  }
  if (config::kSinks) tile->sink = carver.take<float>(shape.columns);  // 0: once at the end
}

// Rows of a key tile, brought to where a kernel can take them.
struct StagedRows {
  void* data;
  void* scales;
};

// A worker's memory for key tiles that are not taken where they lie. Null where a plan does not need it.
struct KeyStage {
  StagedRows keys, values;                      // widened or gathered
  StagedRows loaded_keys[2], loaded_values[2];  // as a loader brings them
  uint32_t* turn;                               // which of the two the worker's next tile takes
};

// Whether the rows of a key tile may lie in more than one run.
inline bool rows_may_part(const fovea_attention_desc& d) {
  if (config::kRing && d.kv_kind == FOVEA_KV_RING) return d.pinned_tokens != 0 || d.ring_tokens % kKeyTile != 0;
  return config::kPages && d.kv_kind == FOVEA_KV_PAGED && d.page_tokens % kKeyTile != 0;
}

// Whether key tiles must lie within pages, for there is no memory to gather f32 rows in.
inline bool tiles_follow_pages(const fovea_attention_desc& d) {
  return config::kPages && d.kv_kind == FOVEA_KV_PAGED && !rows_may_part(d) &&
         (d.key_dtype == FOVEA_F32 || d.value_dtype == FOVEA_F32);
}

// Rows as they are, one after the other.
inline void carve_dense(Carver& carver, fovea_dtype dtype, size_t dim, StagedRows* rows) {
  const auto words = [](size_t bytes) { return bytes / 4 + (bytes % 4 != 0); };
  rows->data = carver.take<float>(words(dense_stride(dtype, dim) * unit_bytes(dtype)), kKeyTile);
  const size_t scales = dense_scale_stride(dtype, dim) * scale_bytes(dtype);
  rows->scales = scales ? carver.take<float>(words(scales), kKeyTile) : nullptr;
}

// Widened, or as they are: f32 rows of 5 elements or more have room for those of any other format with their scales.
inline void carve_staged(Carver& carver, fovea_dtype dtype, size_t dim, bool parts, StagedRows* rows) {
  *rows = {};
  if (dtype == FOVEA_F32 && !parts) return;
  rows->data = carver.take<float>(dim < 5 ? 5 : dim, kKeyTile);
  rows->scales = static_cast<char*>(rows->data) + kKeyTile * dense_stride(dtype, dim) * unit_bytes(dtype);
}

// A piece of a key tile: some keys, or some elements of all values. Of elements a divisor of kI4Group.
constexpr uint32_t kPieceKeys = FOVEA_PIECE_KEYS, kPieceElements = FOVEA_PIECE_ELEMENTS;

// Room for one piece at a time.
inline void carve_pieces(Carver& carver, const fovea_attention_desc& d, bool parts, KeyStage* stage) {
  stage->keys = stage->values = {};
  const bool keys = d.key_dtype != FOVEA_F32 || parts, values = d.value_dtype != FOVEA_F32 || parts;
  if (!keys && !values) return;
  const size_t of_values = kKeyTile / kPieceKeys * kPieceElements;  // a row of this is room for them
  void* const room = carver.take<float>(keys && d.head_dim > of_values ? d.head_dim : of_values, kPieceKeys);
  if (keys) stage->keys.data = room;
  if (values) stage->values.data = room;
}

// The first array of a worker, for it must lie where it lay in the worker's last task, of whichever kernel.
inline void carve_turn(Carver& carver, const fovea_attention_desc& d, KeyStage* stage) {
  stage->turn = config::kLoad && d.kv_kind == FOVEA_KV_LOAD ? carver.take<uint32_t>(1) : nullptr;
}

inline void carve_key_stage(Carver& carver, const fovea_attention_desc& d, bool pieces, KeyStage* stage) {
  if (!config::kStaged) return;
  const bool parts = rows_may_part(d);
  if (pieces) {
    carve_pieces(carver, d, parts, stage);
  } else {
    carve_staged(carver, d.key_dtype, d.head_dim, parts, &stage->keys);
    carve_staged(carver, d.value_dtype, d.value_dim, parts, &stage->values);
  }
  for (int i = 0; config::kLoad && d.kv_kind == FOVEA_KV_LOAD && i < 2; ++i) {
    carve_dense(carver, d.key_dtype, d.head_dim, &stage->loaded_keys[i]);
    carve_dense(carver, d.value_dtype, d.value_dim, &stage->loaded_values[i]);
  }
}

// What this many query tiles and their keys need beside a fast part of fast_bytes.
inline CheckedSize measure_worker(const fovea_plan& plan, const TileShape& shape, uint32_t tiles, size_t fast_bytes) {
  Carver carver({nullptr, fast_bytes, nullptr, 0});
  QueryTile tile;
  KeyStage stage;
  carve_turn(carver, plan.desc, &stage);
  for (uint32_t i = 0; i < tiles; ++i) carve_query_tile(carver, shape, &tile);
  carve_key_stage(carver, plan.desc, takes_pieces(plan.lanes), &stage);
  return carver.slow_bytes();
}

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_LAYOUT_H_
