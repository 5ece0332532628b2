// SPDX-License-Identifier: Apache-2.0
//
// The list of targets.
#ifndef FOVEA_SRC_TARGETS_LIST_H_
#define FOVEA_SRC_TARGETS_LIST_H_

#include <stdint.h>

#include "fovea/fovea.h"
#include "ground/targets/compiled.h"

// On x86 Highway has kernels for each of its targets, in namespaces that it names, and xsimd alone those of one target.
#if FOVEA_WITH_HIGHWAY
#define FOVEA_VECTORS(highway_namespace) highway_namespace
#else
#define FOVEA_VECTORS(highway_namespace) xsimd_target
#endif

// Most vectors of query rows in a tile of NEON: 3 on AArch64, 6 on 32-bit Arm. Other machines plan for either.
#if defined(__aarch64__)
#define FOVEA_NEON_VECTORS 3
#else
#define FOVEA_NEON_VECTORS 6
#endif

// Vectors of 512 bits: a row in builds for RISC-V alone, since others do not plan for such a processor.
#if FOVEA_WITH_RVV
#define FOVEA_RVV512_TARGET(row, ...) \
  row(__VA_ARGS__, RVV512, "rvv512", RVV512, "rvv", rvv_target, 16, 3, kDotVwmacc, kRvv)
#else
#define FOVEA_RVV512_TARGET(row, ...)
#endif

// A row for each target, best first. The arguments after `row` are the first ones of each row.
//   target, name, target whose kernels it runs: itself, or one that needs less of the processor
//   backend and namespace of these kernels
//   lanes, f32 elements in a vector; 0 = not known in this build
//   most vectors of query rows in a tile: the register blocks of the backend headers
//   how it multiplies 8-bit integers
//   what the processor must have
// clang-format off
#define FOVEA_TARGETS(row, ...)                                                                                        \
  row(__VA_ARGS__, AVX512_VNNI, "avx512_vnni", AVX512, kSimd,                                                          \
      FOVEA_VECTORS(N_AVX3), 16, 3, kDotVnni, kAvx512 | kAvx512Vnni)                                                   \
  row(__VA_ARGS__, AVX512, "avx512", AVX512, kSimd, FOVEA_VECTORS(N_AVX3), 16, 3, kDotPmaddwd, kAvx512)                \
  row(__VA_ARGS__, AVX2_VNNI, "avx2_vnni", AVX2, kSimd, FOVEA_VECTORS(N_AVX2), 8, 3, kDotVnni, kAvx2 | kAvxVnni)       \
  row(__VA_ARGS__, AVX2, "avx2", AVX2, kSimd, FOVEA_VECTORS(N_AVX2), 8, 3, kDotPmaddwd, kAvx2)                         \
  row(__VA_ARGS__, SSE4, "sse4", SSE4, kSimd, FOVEA_VECTORS(N_SSE4), 4, 3, kDotPmaddwd, kSse4)                         \
  row(__VA_ARGS__, NEON_IN_ORDER_I8MM, "neon_in_order_i8mm", NEON, kSimd,                                              \
      neon_target, 4, 3, kDotSmmla, kNeonDotprod | kNeonI8mm | kNeonInOrder)                                           \
  row(__VA_ARGS__, NEON_IN_ORDER_DOTPROD, "neon_in_order_dotprod", NEON, kSimd,                                        \
      neon_target, 4, 3, kDotSdot, kNeonDotprod | kNeonInOrder)                                                        \
  row(__VA_ARGS__, NEON_I8MM, "neon_i8mm", NEON, kSimd,                                                                \
      neon_target, 4, 3, kDotSmmla, kNeonDotprod | kNeonI8mm)                                                          \
  row(__VA_ARGS__, NEON_DOTPROD, "neon_dotprod", NEON, kSimd, neon_target, 4, 3, kDotSdot, kNeonDotprod)               \
  row(__VA_ARGS__, NEON_IN_ORDER, "neon_in_order", NEON, kSimd,                                                        \
      neon_target, 4, 3, kDotFloats, kNeonInOrder)                                                                     \
  row(__VA_ARGS__, NEON, "neon", NEON, kSimd,                                                                          \
      neon_target, 4, FOVEA_NEON_VECTORS, kDotFloats, kNothing)                                                        \
  row(__VA_ARGS__, HELIUM, "helium", HELIUM, "helium", helium_target, 4, 3, kDotHelium, kNothing)                      \
  FOVEA_RVV512_TARGET(row, __VA_ARGS__)                                                                                \
  row(__VA_ARGS__, RVV256, "rvv256", RVV256, "rvv", rvv_target, 8, 3, kDotVwmacc, kRvv)                                \
  row(__VA_ARGS__, RVV128, "rvv128", RVV128, "rvv", rvv_target, 4, 3, kDotVwmacc, kRvv)                                \
  row(__VA_ARGS__, WASM, "wasm", WASM, "highway", N_WASM, 4, 3, kDotFloats, kNothing)                                  \
  row(__VA_ARGS__, SCALAR, "scalar", SCALAR, "scalar", scalar_target,                                                  \
      FOVEA_SIMD_LANES, FOVEA_SIMD_LANES == 1 ? 4 : 3,                                                                 \
      FOVEA_HAS_OWN_DOT ? kDotOwn : FOVEA_SMLAD_OF_FLOATS ? kDotSmlad : kDotFloats, kNothing)                          \
  row(__VA_ARGS__, XSIMD, "xsimd", XSIMD, "xsimd", xsimd_target,                                                       \
      FOVEA_XSIMD_LANES, 3, kDotPmaddwd, FOVEA_XSIMD_LANES == 8 ? kAvx2 : kNothing)
// clang-format on

namespace fovea {

constexpr uint8_t kLeastNeonVectors = 3;
constexpr bool kNeonOf64Bits = FOVEA_NEON_VECTORS == 3;
constexpr bool kTilesOfSix = FOVEA_COMPILED_NEON && FOVEA_NEON_VECTORS == 6;  // whether a tile may have six vectors
constexpr const char* kSimd = FOVEA_WITH_HIGHWAY ? "highway" : FOVEA_WITH_NEON ? "neon" : "xsimd";  // of FOVEA_VECTORS

// Instructions that multiply 8-bit integers and add up the products of some of them.
enum DotKind : uint8_t {
  kDotFloats,   // none: multiply-adds of f32, exact for sums below 2^24
  kDotVnni,     // x86 vpdpbusd
  kDotPmaddwd,  // x86 pmaddwd, of codes of 16 bits
  kDotSdot,     // AArch64 sdot
  kDotSmmla,    // AArch64 smmla, usmmla
  kDotHelium,   // vmladava
  kDotSmlad,    // Cortex-M smlad
  kDotVwmacc,   // RISC-V vwmacc, of codes of 16 bits
  kDotOwn,      // of FOVEA_DOT_HEADER
  kDotMaddubs,  // x86 pmaddubsw, for linear weights of few bits where a target has kDotPmaddwd
  kDotKinds = FOVEA_WITH_HIGHWAY || FOVEA_WITH_XSIMD ? kDotMaddubs + 1 : FOVEA_HAS_OWN_DOT ? kDotOwn + 1 : kDotOwn
};
constexpr bool kHasMaddubs = kDotKinds > kDotMaddubs;

// A build is for one kind of processor, so kinds share bits.
enum ProcessorFeature : uint8_t {
  kNothing = 0,
  kMissing = 1,  // no processor has it: needed by a target without kernels in this build
  // x86
  kSse4 = 2,    // SSE4.2
  kAvx2 = 4,    // and FMA3
  kAvx512 = 8,  // F, BW, DQ, VL
  kAvxVnni = 16,
  kAvx512Vnni = 32,
  // AArch64
  kNeonDotprod = 2,
  kNeonI8mm = 4,
  kNeonInOrder = 8,
  kNeonFp16 = 16,  // no target needs it: kernels with products of halves ask for it
  // RISC-V
  kRvv = 2,  // vectors of the length that the build has
};

// Features of AArch64 for which this build has no kernels.
#if defined(__aarch64__)
constexpr unsigned kNotServed =
    (FOVEA_WITH_NEON_DOTPROD ? kNothing : kNeonDotprod) | (FOVEA_WITH_NEON_I8MM ? kNothing : kNeonI8mm) |
    (FOVEA_WITH_NEON_FP16 ? kNothing : kNeonFp16) | (FOVEA_WITH_IN_ORDER ? kNothing : kNeonInOrder);
#else
constexpr unsigned kNotServed = kNothing;
#endif

// Most vectors of halves in a query tile, where the processor has arithmetic for them: the register blocks of
// simd/half_<name>.inl.
constexpr uint8_t half_vectors(fovea_target target) { return target == FOVEA_TARGET_HELIUM ? 3 : 2; }
// Whether few rows of halves have kernels of their own, which transpose vectors of 8: those of AVX512-FP16 have 32.
constexpr bool has_few_halves(uint32_t lanes) { return !FOVEA_WITH_FP16_BY_FLAGS || lanes == 8; }
constexpr int kHalfVectors = half_vectors(FOVEA_COMPILED_HELIUM ? FOVEA_TARGET_HELIUM : FOVEA_TARGET_NEON);

// Whether products of f32 have separate kernels, for processors that run instructions in the order of the text.
constexpr bool is_in_order(fovea_target target) {
  return target == FOVEA_TARGET_NEON_IN_ORDER || target == FOVEA_TARGET_NEON_IN_ORDER_DOTPROD ||
         target == FOVEA_TARGET_NEON_IN_ORDER_I8MM;
}

// The namespace of kernels of which a build has one: ground/targets/one_target.inl.
#if FOVEA_WITH_SCALAR
#define FOVEA_ONE_TARGET scalar_target
#elif FOVEA_WITH_HELIUM
#define FOVEA_ONE_TARGET helium_target
#else
#define FOVEA_ONE_TARGET no_target
#endif

// The target whose kernels a compiled target runs: itself, or the one that it extends.
#define FOVEA_KERNELS_OF_ROW_(nothing, id, name, kernels, ...) \
  if (FOVEA_COMPILED_##kernels && target == FOVEA_TARGET_##id) return FOVEA_TARGET_##kernels;
constexpr fovea_target kernels_of(fovea_target target) {
  FOVEA_TARGETS(FOVEA_KERNELS_OF_ROW_, )
  return target;
}
#undef FOVEA_KERNELS_OF_ROW_

}  // namespace fovea

#endif  // FOVEA_SRC_TARGETS_LIST_H_
