// SPDX-License-Identifier: Apache-2.0
//
// The kernel of all-integer attention. A build has one: in the namespace of the target whose words it uses, or of no
// target.
#if !defined(FOVEA_IN_TARGET)
#include "base/arithmetic.h"
#include "targets/options.inl"
#include "integer/kernels.h"
#define FOVEA_KERNELS_NAMESPACE integer_kernels
#define FOVEA_KERNELS_FILE "integer/kernels.cc"
#if FOVEA_FOR_HELIUM || FOVEA_FOR_SCALAR
#include "targets/each_target.inl"
#elif !FOVEA_WITH_SCALAR
#define FOVEA_IN_TARGET
namespace fovea {
namespace no_target {
namespace FOVEA_KERNELS_NAMESPACE {
#include FOVEA_KERNELS_FILE
}  // namespace FOVEA_KERNELS_NAMESPACE
}  // namespace no_target
}  // namespace fovea
#undef FOVEA_IN_TARGET
#endif
#else

namespace {
// clang-format off
#if FOVEA_FOR_HELIUM
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "simd/dot_helium.inl"
using dot = Helium;
#include "simd/integer_helium.inl"
#include "integer/rows.inl"
#include "integer/products_helium.inl"
#elif FOVEA_FOR_SCALAR && FOVEA_SMLAD
#include FOVEA_BACKEND_HEADER
#include "simd/common.inl"
#include "math/block.inl"
#include "simd/dot_smlad.inl"
#include "math/dot_block_smlad.inl"
using dot = Smlad;
#include "simd/integer_scalar.inl"
#include "integer/rows.inl"
#include "integer/products_smlad.inl"
#else
#include "simd/integer_scalar.inl"
#include "integer/rows.inl"
#include "integer/products.inl"
#endif
#include "integer/tables.inl"
#include "integer/softmax.inl"
#include "integer/block.inl"
// clang-format on
}  // namespace

FOVEA_IN_CODE_SECTION void attend_integer_block(const IntegerBlock& block) { AttendBlock(block); }

#endif
