// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SRC_BASE_FINITE_H_
#define FOVEA_SRC_BASE_FINITE_H_

namespace fovea {

// Neither NaN nor infinite.
inline bool is_finite(float x) { return x - x == 0.0f; }

// x, or NaN if x is infinite.
inline float finite_or_nan(float x) { return x + (x - x); }

}  // namespace fovea

#endif  // FOVEA_SRC_BASE_FINITE_H_
