// SPDX-License-Identifier: Apache-2.0
//
// Included before a text of a kernel by editors (.clangd) and by tests/scripts/check_alone.py, it gives the text what
// the file that compiles it does: the vectors of one target, which the compiler's flags name.
#pragma once

#include "ground/base/arithmetic.h"
#include "core/attention/steps/kernels.h"
#include "core/rope/kernels.h"
#include "core/hadamard/kernels.h"
#include "core/softmax/kernels.h"
#include "ground/formats/kernels.h"
#include "ground/math/byte_kernels.h"
#include "ground/targets/options.inl"
#include "layers/conv1d/kernels.h"
#include "layers/delta/kernels.h"
#include "layers/integer/kernels.h"
#include "layers/integer_layers/kernels.h"
#include "layers/linear/f16/kernels.h"
#include "layers/linear/i8/kernels.h"
#include "layers/norm/kernels.h"
#include "layers/tensors/kernels.h"
#define FOVEA_IN_TARGET
#ifndef FOVEA_HIGHWAY_TARGET
#define FOVEA_HIGHWAY_TARGET HWY_STATIC_TARGET
#endif
#include "ground/targets/backend.inl"

using namespace fovea;
#include FOVEA_BACKEND_HEADER
#include "ground/simd/common.inl"
namespace fused = hn;
