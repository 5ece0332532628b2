// SPDX-License-Identifier: Apache-2.0
//
// Builds with FOVEA_CHECKS=0: which statuses no call has there. The conditions that lead to them are left out.
#ifndef FOVEA_SRC_BASE_UNCHECKED_H_
#define FOVEA_SRC_BASE_UNCHECKED_H_

#include "fovea/fovea.h"

namespace fovea {

// Tells the compiler that a call does not come here. In a constant, which no condition leads to, the status itself.
[[gnu::always_inline]] constexpr fovea_status never(fovea_status status) {
  if (!__builtin_is_constant_evaluated()) __builtin_unreachable();
  return status;
}

// A fact that leads only to such statuses: false, and not kept.
struct OnlyIfChecked {
  constexpr OnlyIfChecked(bool) {}
  constexpr operator bool() const { return false; }
  constexpr void operator|=(bool) {}
};

}  // namespace fovea

#define FOVEA_ERR_ALIGNMENT fovea::never(FOVEA_ERR_ALIGNMENT)
#define FOVEA_ERR_DIM fovea::never(FOVEA_ERR_DIM)
#define FOVEA_ERR_ENUM fovea::never(FOVEA_ERR_ENUM)
#define FOVEA_ERR_HEADS fovea::never(FOVEA_ERR_HEADS)
#define FOVEA_ERR_LENGTH fovea::never(FOVEA_ERR_LENGTH)
#define FOVEA_ERR_MAP fovea::never(FOVEA_ERR_MAP)
#define FOVEA_ERR_MASK fovea::never(FOVEA_ERR_MASK)
#define FOVEA_ERR_NULL fovea::never(FOVEA_ERR_NULL)
#define FOVEA_ERR_NUMBER fovea::never(FOVEA_ERR_NUMBER)
#define FOVEA_ERR_OVERLAP fovea::never(FOVEA_ERR_OVERLAP)
#define FOVEA_ERR_PAGE fovea::never(FOVEA_ERR_PAGE)
#define FOVEA_ERR_PLAN fovea::never(FOVEA_ERR_PLAN)
#define FOVEA_ERR_POSITIONS_MISSING fovea::never(FOVEA_ERR_POSITIONS_MISSING)
#define FOVEA_ERR_POSITIONS_TWICE fovea::never(FOVEA_ERR_POSITIONS_TWICE)
#define FOVEA_ERR_RING fovea::never(FOVEA_ERR_RING)
#define FOVEA_ERR_SIZE fovea::never(FOVEA_ERR_SIZE)
#define FOVEA_ERR_STRIDE fovea::never(FOVEA_ERR_STRIDE)
#define FOVEA_ERR_STRUCT fovea::never(FOVEA_ERR_STRUCT)
#define FOVEA_ERR_UNSUPPORTED fovea::never(FOVEA_ERR_UNSUPPORTED)

#endif  // FOVEA_SRC_BASE_UNCHECKED_H_
