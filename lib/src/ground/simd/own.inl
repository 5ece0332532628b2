// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of the user's file, and the words that are made of others.

namespace hn {

#define FOVEA_HAS_F16 0
#include FOVEA_SIMD_HEADER
#include "ground/simd/f16.inl"
#undef FOVEA_HAS_F16
#include "ground/simd/derived.inl"

}  // namespace hn
