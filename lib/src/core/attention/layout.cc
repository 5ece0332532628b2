// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/layout.h"

namespace fovea {
namespace {

// The sizes of a query tile's arrays that differ between kernels.
struct TileShape {
  size_t columns;            // elements of the arrays with one element a row, and columns of s
  size_t q_rows, q_columns;  // the matrix q
  size_t o_rows, o_columns;  // the matrix o
  size_t s_rows = kKeyTile;  // the matrix s
  size_t rescale_rows = 1;
};

// With integer products the tile kernel stores the codes of the weights after s, or in its place if they are as large.
TileShape i8_tile_shape(const MadePlan& plan, const PlannedKernel& kernel) {
  const size_t rows = kernel.tile_rows;
  const DotTraits& dot = kDotTraits[plan.dot];
  const size_t q_rows = round_up(round_up(plan.desc.head_dim, dot.reads) * dot.code_bytes, 4) / 4;
  const size_t weight_rows = dot.code_bytes == 4 ? 0 : kKeyTile * dot.code_bytes / 4;
  return {rows, q_rows, rows, plan.desc.value_dim, rows, kKeyTile + weight_rows};
}

constexpr TileShape tile_shape(const MadePlan& plan, const PlannedKernel& kernel, bool lanes_are_rows) {
  const size_t rows = kernel.tile_rows, lanes = lanes_of(plan, lanes_are_rows);
  const size_t head_dim = plan.desc.head_dim, value_dim = plan.desc.value_dim;
  if (lanes_are_rows) return {rows, head_dim, rows, value_dim, rows};
  const auto vectors = [lanes](size_t dim) { return dim / lanes + (dim % lanes != 0); };
  const size_t columns = lanes * rows;
  return {lanes, vectors(head_dim), columns, vectors(value_dim), columns};
}

// Sets the pointers of *tile, the most used arrays first. The number after an array says how often the tile kernel
// accesses each of its elements for one key tile, with register blocks of b keys or values.
template <class AnyCarver>
constexpr void carve_query_tile(AnyCarver& carver, const TileShape& shape, QueryTile* tile) {
  carver.take(&tile->s, shape.columns, shape.s_rows);  // value_dim / b + 5
  float* q = nullptr;
  carver.take(&q, shape.q_columns, shape.q_rows);  // 64 / b
  tile->q = q;
  carver.take(&tile->rescale, shape.columns, shape.rescale_rows);  // value_dim / b
  carver.take(&tile->row_max, shape.columns);                      // 2
  carver.take(&tile->row_sum, shape.columns);                      // 2
  carver.take(&tile->o, shape.o_columns, shape.o_rows);            // 2
  carver.take(&tile->lo, column_stride(shape.columns), 2);         // 1, and the same for the following
  if (kHasAlibi) carver.take(&*tile->alibi, column_stride(shape.columns), 3);
  if (kHasSinks) carver.take(&*tile->sink, shape.columns);  // 0: once at the end
}

// The macros of workspace.h count these arrays, and also those that this build leaves out.
constexpr size_t query_tile_bytes(uint32_t head_dim, uint32_t value_dim, uint32_t rows, bool lanes_are_rows) {
  MadePlan plan = {};
  plan.desc.head_dim = head_dim;
  plan.desc.value_dim = value_dim;
  plan.lanes = FOVEA_LANES_MAX_;
  PlannedKernel kernel = {};
  kernel.tile_rows = rows;
  CarvedBytes carver;
  QueryTile tile = {};
  carve_query_tile(carver, tile_shape(plan, kernel, lanes_are_rows), &tile);
  return carver.bytes;
}
constexpr bool agrees(size_t carved_bytes, size_t macro_bytes) {
  return kHasAlibi && kHasSinks ? carved_bytes == macro_bytes : carved_bytes < macro_bytes;
}
static_assert(agrees(query_tile_bytes(24, 40, FOVEA_TILE_ROWS_MAX, true), FOVEA_ATTENTION_WORKSPACE_BYTES(24, 40)),
              "FOVEA_TILE_ARRAYS_ must count the arrays of carve_query_tile");
static_assert(agrees(query_tile_bytes(24, 40, kMostRowsOfFew, false), FOVEA_FEW_ROWS_BYTES_(24, 40, kMostRowsOfFew)),
              "FOVEA_TILE_ARRAYS_ must count the arrays of carve_query_tile");

// Key tiles that a query tile may go through: one that is not full at either end of the keys, and the same for pinned
// keys.
size_t most_key_tiles(const fovea_attention_desc& d) {
  return (size_t{most_kept(d)} + most_prefix(d)) / kKeyTile + FOVEA_KEY_MASS_MORE_TILES_;
}

// Carves room for the rows of a key tile, adjacent and in their own format.
void carve_dense(Carver& carver, fovea_dtype dtype, size_t dim, BufferRows* rows) {
  const auto words = [](size_t bytes) { return bytes / 4 + (bytes % 4 != 0); };
  rows->data = carver.take<float>(words(dense_stride(dtype, dim) * unit_bytes(dtype)), kKeyTile);
  const size_t scales = dense_scale_stride(dtype, dim) * scale_bytes(dtype);
  rows->scales = scales ? carver.take<float>(words(scales), kKeyTile) : nullptr;
}

// A row in a buffer has room for at least this many elements of f32. A short row of any format, with its scales, then
// fits.
constexpr size_t kLeastStagedElements = FOVEA_STAGED_ELEMENTS_MIN_;
static_assert(FOVEA_ROW_BYTES_(FOVEA_Q8_0, 1) <= kLeastStagedElements * sizeof(float),
              "a group of q8_0 is the largest row");
// Carves room for the rows of a key tile, widened or in their own format.
void carve_rows(Carver& carver, fovea_dtype dtype, size_t dim, bool parts, BufferRows* rows) {
  *rows = {};
  if (dtype == FOVEA_F32 && !parts) return;
  rows->data = carver.take<float>(dim < kLeastStagedElements ? kLeastStagedElements : dim, kKeyTile);
  rows->scales = static_cast<char*>(rows->data) + kKeyTile * dense_stride(dtype, dim) * unit_bytes(dtype);
}

// Carves room for one piece at a time.
void carve_pieces(Carver& carver, const fovea_attention_desc& d, bool parts, KeyBuffers* buffers) {
  buffers->keys = buffers->values = {};
  const bool keys = d.key_dtype != FOVEA_F32 || parts, values = d.value_dtype != FOVEA_F32 || parts;
  if (!keys && !values) return;
  const size_t of_values = kKeyTile / kPieceKeys * kPieceElements;  // values of a piece, spread over kPieceKeys rows
  void* const room = carver.take<float>(keys && d.head_dim > of_values ? d.head_dim : of_values, kPieceKeys);
  if (keys) buffers->keys.data = room;
  if (values) buffers->values.data = room;
}

// Carves room for what integer products read of a key tile, or of a piece of it. Keys in one run of bytes stay in
// place, as do the values of the few-rows kernel.
void carve_codes(Carver& carver, const MadePlan& plan, bool few_rows, bool pieces, bool parts, KeyBuffers* buffers) {
  const fovea_attention_desc& d = plan.desc;
  const DotTraits& dot = kDotTraits[plan.dot];
  const size_t code_bytes = few_rows ? 1 : dot.code_bytes;
  const uint32_t more = pieces ? codes_in_float(dot) : 1;
  const size_t values = pieces ? size_t{kPieceElements} * more : padded_values(d.value_dim);
  buffers->keys = buffers->values = {};
  // A push may begin at any position, so a key tile may be in two pages.
  const bool gathers = parts || is_paged(d);
  if (code_bytes != 1 || d.key_dtype != FOVEA_I8 || gathers) {
    const size_t codes = round_up(d.head_dim, dot.reads) * code_bytes;
    const uint32_t keys = pieces ? kPieceKeys * more : kKeyTile;
    // Pieces of keys are no longer used when those of values are brought.
    const bool shared = pieces && codes * keys >= values * code_bytes * kKeyTile;
    buffers->keys.data = carver.take<char>(codes, keys);
    if (shared) buffers->values.data = buffers->keys.data;
  }
  const bool values_stay = few_rows && d.value_dtype == FOVEA_I8 && !gathers;
  if (!buffers->values.data && !values_stay) buffers->values.data = carver.take<char>(values * code_bytes, kKeyTile);
  const size_t starts = few_rows ? 0 : values * sizeof(int32_t);
  buffers->values.scales = carver.take<char>(offsetof(I8Numbers, value_start) + starts);
}

// Carves room for the rows of a key tile of halves, where they may have to be gathered: a push may begin at any
// position, so a key tile may be in two pages.
void carve_halves(Carver& carver, const fovea_attention_desc& d, bool parts, KeyBuffers* buffers) {
  buffers->keys = buffers->values = {};
  if (!parts && !is_paged(d)) return;
  buffers->keys.data = carver.take<uint16_t>(d.head_dim, kKeyTile);
  buffers->values.data = carver.take<uint16_t>(d.value_dim, kKeyTile);
}

// Carves the first array of a worker. So it is at the same address in all tasks of the worker, whatever their kernel.
LoaderNotes* carve_notes(Carver& carver) { return carver.take<LoaderNotes>(1); }

void carve_key_buffers(Carver& carver, const MadePlan& plan, bool few_rows, KeyBuffers* buffers) {
  const fovea_attention_desc& d = plan.desc;
  const bool parts = rows_may_part(d), pieces = takes_pieces(plan.lanes);
  if (reads_halves(plan)) {
    carve_halves(carver, d, parts, buffers);
  } else if (is_i8(d)) {
    carve_codes(carver, plan, few_rows, pieces, parts, buffers);
  } else if (pieces) {
    carve_pieces(carver, d, parts, buffers);
  } else {
    carve_rows(carver, d.key_dtype, d.head_dim, parts, &buffers->keys);
    carve_rows(carver, d.value_dtype, d.value_dim, parts, &buffers->values);
  }
  for (int i = 0; is_loaded(d) && i < 2; ++i) {
    carve_dense(carver, d.key_dtype, d.head_dim, &buffers->loaded->keys[i]);
    carve_dense(carver, d.value_dtype, d.value_dim, &buffers->loaded->values[i]);
  }
}

// Carves all tiles that the kernel has at once. With a step of 0 each of them is written to tiles[0]: only their bytes
// matter then.
void carve(Carver& carver, const MadePlan& plan, const PlannedKernel& kernel, QueryTile* tiles, uint32_t step,
           KeyBuffersIf* buffers, RotatedIf* rotated) {
  const bool rows_in_lanes = kKernelTraits[kernel.index].lanes_are_rows;
  const bool i8_tile = is_i8(plan.desc) && rows_in_lanes;
  TileShape shape = i8_tile ? i8_tile_shape(plan, kernel) : tile_shape(plan, kernel, rows_in_lanes);
  if (is_i8(plan.desc)) shape.rescale_rows = 5;
  if (is_f16(plan.desc)) shape.rescale_rows = 2;
  if (is_loaded(plan.desc)) (*buffers)->loaded->notes = carve_notes(carver);
  for (uint32_t i = 0; i < kernel.tiles; ++i) {
    carve_query_tile(carver, shape, &tiles[i * step]);
    if (!kHasKeyMass || plan.desc.key_mass_queries == 0) continue;
    carver.take(&tiles[i * step].kept->slots, kept_slot_floats(kernel.tile_rows, shape.columns),
                most_key_tiles(plan.desc));
  }
  if (kBringsKeys) carve_key_buffers(carver, plan, !rows_in_lanes, &**buffers);
  if (rotates_keys(plan.desc)) carver.take(&**rotated, plan.desc.head_dim, kernel.tile_rows);
}

}  // namespace

Workspace worker_workspace(const MadePlan& plan, const Workspace& all, uint32_t worker) {
  const uint32_t workers = worker_count(plan.desc);
  const bool parts = has_slow_part(plan, all);
  const size_t fast_skip = parts ? 0 : plan.split_bytes, slow_skip = parts ? plan.split_bytes : 0;
  const size_t fast = worker_share(all.fast_bytes - fast_skip, workers);
  const size_t slow = parts ? worker_share(all.slow_bytes - slow_skip, workers) : 0;
  return {static_cast<char*>(all.fast) + fast_skip + worker * fast, fast,
          parts ? static_cast<char*>(all.slow) + slow_skip + worker * slow : nullptr, slow};
}

void carve_worker(const MadePlan& plan, const Workspace& workspace, const PlannedKernel& kernel, WorkerArrays* arrays) {
  Carver carver(workspace);
  carve(carver, plan, kernel, arrays->tiles, 1, &arrays->buffers, &arrays->rotated);
  arrays->carved_for = &kernel;
}

CheckedSize measure_worker(const MadePlan& plan, const PlannedKernel& kernel, size_t fast_bytes) {
  Carver carver({nullptr, fast_bytes, nullptr, 0});
  QueryTile tile;
  KeyBuffersIf buffers;
  RotatedIf rotated;
  carve(carver, plan, kernel, &tile, 0, &buffers, &rotated);
  return carver.slow_bytes();
}

LoaderNotes* loader_notes(const Workspace& worker) {
  Carver carver(worker);
  return carve_notes(carver);
}

}  // namespace fovea
