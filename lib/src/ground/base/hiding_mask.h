// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_HIDING_MASK_H_
#define FOVEA_SRC_BASE_HIDING_MASK_H_

namespace fovea {

// An element of an added mask hides its key if it is not above this: -FLT_MAX / 2, and in f16 the lowest number.
constexpr float kHidingMask = -1.70141173e38f, kHidingMaskF16 = -65504.0f;

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_HIDING_MASK_H_
