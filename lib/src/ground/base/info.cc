// SPDX-License-Identifier: Apache-2.0
//
// What the library says about itself: version and statuses.
#include "ground/base/arithmetic.h"
#include "fovea/fovea.h"
#include "ground/base/features.h"
#include "ground/base/status.h"
#include "ground/targets/registry.h"

extern "C" uint32_t fovea_version(void) { return FOVEA_VERSION; }

extern "C" const char* fovea_status_string(fovea_status status) {
  if (!fovea::kHasText) return "";
  switch (status) {
    case FOVEA_OK: return "no error";
    case FOVEA_ERR_NULL: return "a required pointer is null";
    case FOVEA_ERR_STRUCT: return "struct_bytes is too small, or fields that this version does not know are not 0";
    case FOVEA_ERR_ENUM: return "an enum field holds no value of its enum";
    case FOVEA_ERR_UNSUPPORTED: return "a valid choice that this combination of options does not serve";
    case FOVEA_ERR_LEFT_OUT: return "a feature that this build leaves out";
    case FOVEA_ERR_TARGET: return "the target is not compiled in, or this processor cannot run it";
    case FOVEA_ERR_DIM: return "a dimension or number of heads is 0, or rotary_dim is odd or too large";
    case FOVEA_ERR_HEADS: return "kv_heads must divide q_heads";
    case FOVEA_ERR_SIZE: return "a size is out of range, differs from its counterpart, or overflows with the strides";
    case FOVEA_ERR_NUMBER: return "scale, softcap, dropout, base or position_scale is not a number in its range";
    case FOVEA_ERR_BUDGET: return "workspace_budget_bytes is too small for the smallest tile of query rows";
    case FOVEA_ERR_PLAN: return "the plan or cache was not initialised by this version";
    case FOVEA_ERR_CAPACITY: return "a count is greater than the capacity of the plan or cache";
    case FOVEA_ERR_LENGTH: return "a length or offset is greater than what it is a part of";
    case FOVEA_ERR_POSITIONS_MISSING: return "positions are missing, and no diagonal names them";
    case FOVEA_ERR_MASK: return "the mask's fields contradict one another";
    case FOVEA_ERR_STRIDE:
      return "strides let two elements of an output, or several queries, keys or values, share a place";
    case FOVEA_ERR_OVERLAP: return "an output or the workspace overlaps another buffer of the call";
    case FOVEA_ERR_ALIGNMENT: return "a pointer is not aligned as it must be";
    case FOVEA_ERR_WORKSPACE: return "the workspace, or a cache's memory, is smaller than its size function says";
    case FOVEA_ERR_LOAD: return "a load callback failed";
    case FOVEA_ERR_STATE: return "the memory is too small for the state, or holds none that fits the call";
    case FOVEA_ERR_IMAGE: return "the bytes are no whole image of a state or cache";
    case FOVEA_ERR_EXECUTOR: return "the executor failed, skipped a task, or used a task or worker that does not exist";
    case FOVEA_ERR_PAGE: return "a page table names a page that the pool does not have";
    case FOVEA_ERR_FULL: return "a cache has no room for the tokens";
    case FOVEA_ERR_POSITIONS_TWICE: return "positions are given where a diagonal or other positions already name them";
    case FOVEA_ERR_POSITION_RANGE: return "a token's position is not in the tables of cos and sin";
    case FOVEA_ERR_RING: return "a ring is too small for its window, or a token that is to be seen is gone from it";
    case FOVEA_ERR_MAP: return "a block map's sizes or lists are out of range, or its lists out of order";
  }
  return "unknown status";
}

extern "C" uint32_t fovea_has(const char* feature) {
  for (const fovea::Feature& one : fovea::kFeatures) {
    if (feature && fovea::equal(feature, one.name)) return one.has;
  }
  return 0;
}
