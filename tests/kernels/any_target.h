// SPDX-License-Identifier: Apache-2.0
//
// Included before a text of a kernel by editors (.clangd) and by tests/scripts/check_alone.py, it gives the text what
// the file that compiles it does: the vectors of one target, which the compiler's flags name.
#ifndef FOVEA_TESTS_KERNELS_ANY_TARGET_H_
#define FOVEA_TESTS_KERNELS_ANY_TARGET_H_

#include "attention/steps/kernels.h"
#include "base/arithmetic.h"
#include "conv1d/kernels.h"
#include "delta/kernels.h"
#include "formats/kernels.h"
#include "integer/kernels.h"
#include "integer_layers/kernels.h"
#include "linear/f16_kernels.h"
#include "linear/i8_kernels.h"
#include "math/byte_kernels.h"
#include "norm/kernels.h"
#include "rope/kernels.h"
#include "rotate/kernels.h"
#include "softmax/kernels.h"
#include "targets/options.inl"
#include "tensors/kernels.h"
#define FOVEA_IN_TARGET
#ifndef FOVEA_HIGHWAY_TARGET
#define FOVEA_HIGHWAY_TARGET HWY_STATIC_TARGET
#endif
#include "targets/backend.inl"

using namespace fovea;
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
namespace fused = hn;

#endif  // FOVEA_TESTS_KERNELS_ANY_TARGET_H_
