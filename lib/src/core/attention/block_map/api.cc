// SPDX-License-Identifier: Apache-2.0
#include "ground/base/arithmetic.h"
#include "core/attention/block_map/make.h"
#include "core/attention/block_map/resolve.h"
#include "fovea/fovea.h"

extern "C" fovea_status fovea_block_map_make(const fovea_block_map_args* args, fovea_block_map* map) {
  if (!args || !map) return FOVEA_ERR_NULL;
  fovea::BlockMapCall call;
  const fovea_status status = fovea::resolve_block_map(*args, true, &call);
  return status == FOVEA_OK ? fovea::make_block_map(call, map) : status;
}

extern "C" uint32_t fovea_block_map_count(const fovea_block_map_args* args) {
  fovea::BlockMapCall call;
  uint64_t count = 0;
  if (!args || fovea::resolve_block_map(*args, false, &call) != FOVEA_OK) return 0;
  return fovea::count_blocks(call, &count) == FOVEA_OK && count <= UINT32_MAX ? uint32_t(count) : 0;
}

extern "C" fovea_status fovea_tree_mask(const int32_t* parents, uint32_t tokens, uint8_t* mask, size_t row_stride) {
  const fovea_status status = fovea::check_tree(parents, tokens, mask, row_stride);
  if (status == FOVEA_OK) fovea::make_tree_mask(parents, tokens, mask, row_stride);
  return status;
}
