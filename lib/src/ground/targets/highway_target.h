// SPDX-License-Identifier: Apache-2.0
//
// Highway for FOVEA_HIGHWAY_TARGET alone, one of its targets, where a build compiles files of kernels once for each. CMake
// precompiles this header: it is most of what such files parse. What the compiler's flags make needless is EMU128, no target.
#ifndef FOVEA_SRC_TARGETS_HIGHWAY_TARGET_H_
#define FOVEA_SRC_TARGETS_HIGHWAY_TARGET_H_

#include "ground/base/arithmetic.h"
#include "ground/targets/compiled.h"

#undef HWY_TARGET
#if (HWY_TARGETS & FOVEA_HIGHWAY_TARGET) != 0
#define HWY_TARGET FOVEA_HIGHWAY_TARGET
#else
#define HWY_TARGET HWY_EMU128
#endif
#include <hwy/highway.h>

#endif  // FOVEA_SRC_TARGETS_HIGHWAY_TARGET_H_
