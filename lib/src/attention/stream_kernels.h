// SPDX-License-Identifier: Apache-2.0
//
// The seam between run/ and the kernels of streams.
#ifndef FOVEA_SRC_ATTENTION_STREAM_KERNELS_H_
#define FOVEA_SRC_ATTENTION_STREAM_KERNELS_H_

#include "attention/kernels.h"
#include "targets/choice.h"

namespace fovea {

// Rows of a partial state, one after the other: of a tile, from its row 0 on.
struct StateRows {
  float* max;  // [rows], base 2
  float* sum;  // [rows]
  float* o;    // [rows][value_dim]

  StateRows from(size_t row, size_t value_dim) const { return {max + row, sum + row, o + row * value_dim}; }
};

// Between a state and a tile of one of the kernels of AttentionKernels.
struct StateKernels {
  void (*resume)(const QueryTile&, const StateRows&);   // after TileKernels::begin
  void (*suspend)(const QueryTile&, const StateRows&);  // the live rows
};

struct StreamKernels {
  StateKernels tile, few_rows;
  void (*merge)(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim);
};

FOVEA_TABLES(StreamKernels, kStream, stream_kernels)

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_STREAM_KERNELS_H_
