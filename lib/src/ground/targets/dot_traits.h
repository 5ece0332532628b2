// SPDX-License-Identifier: Apache-2.0
//
// How each kind of dot product reads its codes.
#ifndef FOVEA_SRC_TARGETS_DOT_TRAITS_H_
#define FOVEA_SRC_TARGETS_DOT_TRAITS_H_

#include <stddef.h>
#include <stdint.h>

#include "ground/targets/list.h"

namespace fovea {

// How codes are stored for a kind of dot product, on every machine that plans for it.
struct DotTraits {
  uint8_t code_bytes;  // of a code of a query, a weight, or a row that was brought
  uint8_t group;       // codes of a column that one product reads. They are adjacent: [dim / group][column][group]
  uint8_t reads;       // codes of a row that are read at once: rows that were brought are whole multiples
  bool few_rows;       // whether there is a few-rows kernel, where the target has one for f32
  uint8_t vectors;     // most vectors of query rows in a tile; 0 = as many as the target has for f32
  bool few_groups;     // whether that kernel reads weights in groups, too
  bool row_in_place;   // whether the tile kernel reads rows of bytes in place for a single row of queries
  uint8_t blocks;      // most register blocks of tokens in a tile of a linear layer, unless weights are in groups
};
// On 32-bit Arm the softmax of six vectors of f32 would not fit the registers.
constexpr uint8_t kFloatVectors = FOVEA_NEON_VECTORS == 6 && FOVEA_OFFERS_NEON ? 3 : 0;
inline constexpr DotTraits kDotTraits[kDotKinds] = {
    // bytes of a code, group, reads, few rows, vectors, few groups, row in place, blocks
    {4, 1, 1, true, kFloatVectors, true, false, 1},  // floats
    {1, 4, 4, true, 0, true, false, 1},     // vpdpbusd
    {2, 2, 2, true, 0, true, false, 1},     // pmaddwd
    {1, 4, 16, true, 4, true, false, 1},    // sdot
    {1, 8, 16, true, 4, true, false, 1},    // smmla
    {1, 16, 16, true, 0, false, false, 1},  // vmladava
    {2, 2, 4, false, 0, false, true, 2},    // smlad
    {1, 1, 1, true, 4, true, false, 1},     // vwmacc
#if FOVEA_HAS_OWN_DOT
    {1, sizeof(FOVEA_DOT_TYPE), sizeof(FOVEA_DOT_TYPE), false, 0, false, false, 1},
#elif FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD
    {},  // of FOVEA_DOT_HEADER
#endif
#if FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD
    {1, 4, 4, false, 0, true, false, 1},  // pmaddubsw: other builds plan pmaddwd for it, which takes no less memory
#endif
};
#if FOVEA_HAS_OWN_DOT
static_assert(sizeof(FOVEA_DOT_TYPE) == 4 || sizeof(FOVEA_DOT_TYPE) == 8 || sizeof(FOVEA_DOT_TYPE) == 16,
              "FOVEA_DOT_TYPE of FOVEA_DOT_HEADER must have 4, 8 or 16 bytes");
#endif

// The kinds that targets of this build have. Where that is one, tables of kernels have a row for it alone.
#define FOVEA_DOT_BIT_(nothing, id, name, kernels, backend, target_namespace, lanes, vectors, dot, ...) \
  | (FOVEA_COMPILED_##kernels ? 1u << (dot) : 0)
constexpr uint32_t kDotsOfTargets = 0 FOVEA_TARGETS(FOVEA_DOT_BIT_, );
#undef FOVEA_DOT_BIT_
constexpr uint32_t kCompiledDots =
    kDotsOfTargets | (kHasMaddubs ? (kDotsOfTargets >> kDotPmaddwd & 1) << kDotMaddubs : 0);
constexpr bool kOneDot = (kCompiledDots & (kCompiledDots - 1)) == 0;
constexpr size_t kDotRows = kOneDot ? 1 : 32 - __builtin_clz(kCompiledDots);
constexpr size_t dot_row(uint32_t kind) { return kOneDot ? 0 : kind; }

constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
// Values that were brought have a multiple of this many elements.
constexpr uint32_t kValueGrain = 8;
constexpr size_t padded_values(size_t elements) { return round_up(elements, kValueGrain); }

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_DOT_TRAITS_H_
