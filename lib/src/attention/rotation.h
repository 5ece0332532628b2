// SPDX-License-Identifier: Apache-2.0
//
// Rotated keys and values: queries are rotated before kernels read them, and outputs are rotated back after kernels have
// stored them. So no kernel knows of rotations.
#ifndef FOVEA_SRC_ATTENTION_ROTATION_H_
#define FOVEA_SRC_ATTENTION_ROTATION_H_

#include "attention/head_task.h"

namespace fovea {

// Rotates the queries of a tile into task.rotated, and begins the tile with them. Their scores are never additive.
void begin_rotated(const HeadTask& task, const QueryTile& tile);
// Rotates one query into task.rotated.
const float* rotated_query(const HeadTask& task, const void* query);
// Rotates the rows of a tile, or takes the rotation of its outputs back. `to` may be `from`.
void rotate_rows(const HeadTask& task, const QueryTile& tile, bool inverse, const TypedRows& from, const TypedRows& to);

}  // namespace fovea

#endif  // FOVEA_SRC_ATTENTION_ROTATION_H_
