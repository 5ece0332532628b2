/* fovea/base.h: what all of fovea's headers share: statuses, targets, formats, arrays, executors.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/base.h>
 *     #include <stdio.h>
 *
 *     int main(void) {  // prints the targets that this processor can run, the best first
 *       for (uint32_t i = 0; i < fovea_target_count(); ++i) {
 *         fovea_target target = fovea_target_at(i);
 *         printf("%s by %s\n", fovea_target_name(target), fovea_target_backend(target));
 *       }
 *       return fovea_version() == FOVEA_VERSION ? 0 : 1;
 *     }
 *
 * Conventions.
 *   tokens    q_tokens queries attend to kv_tokens keys. Each key has a value.
 *   heads     q_heads query heads share kv_heads key heads: query head h reads key head h / (q_heads / kv_heads).
 *             q_heads == kv_heads is multi-head attention, kv_heads == 1 is multi-query attention, and everything
 *             between is grouped-query attention.
 *   _stride   counts elements of the C array that fovea_dtype names: bytes in I4 and in ggml's formats. A stride, of an
 *             output, too, may be negative: data is then still the element whose indices are 0. That of an input may be
 *             0, which repeats the same elements (broadcasting), but not from a query, key or value to the next
 *             (FOVEA_ERR_STRIDE). Strides have no defaults; along a dimension of one element they may be any number.
 *             The elements of the last dimension are adjacent, unless the structure has a stride for them.
 *   counts    of entries (batch) and tokens may be 0, of heads and elements not (FOVEA_ERR_DIM). An array without
 *             elements may be NULL. A call without rows writes nothing, one without keys what a query gets that sees no
 *             key.
 *   _bytes    counts bytes.
 *   NULL      for an optional array: the call does without it. For a required pointer it is FOVEA_ERR_NULL.
 *   0         in a field means the default, or "without", unless its comment says otherwise. So set a structure to 0
 *             before you fill it in.
 *   errors    are negative fovea_status values. A call that fails has written nothing, except with FOVEA_ERR_LOAD and
 *             FOVEA_ERR_EXECUTOR.
 *   numbers   Arithmetic is IEEE single precision. Products may be of integers or of halves (fovea_compute). An IEEE
 *             target is one that keeps subnormal numbers: see "Floating-point environment".
 *   sizes     Where a field states no limit, only memory limits it. Every product of sizes is checked for overflow
 *             (FOVEA_ERR_SIZE).
 *
 * Re-entrance. Every function is re-entrant: all state is in the arguments. A plan is read-only after
 * fovea_attention_plan_init. Any number of threads may use one plan at once, each with its own workspace. An interrupt
 * handler or a fibre may call fovea under two conditions:
 *   stack       is large enough: 2.5 KiB on Cortex-M with -Os, 10 KiB on 64-bit processors, 16 KiB with AVX-512.
 *               Multi-head layers take that; bench/size.py measures each function, and most take much less.
 *   registers   of the floating-point or vector unit that the target uses are saved. On Cortex-M lazy stacking saves
 *               them, unless it was switched off; on x86 the operating system does.
 *
 * Floating-point environment. fovea runs in the caller's environment and assumes the default rounding mode. All targets
 * are IEEE targets but the vectors of 32-bit Arm (FOVEA_TARGET_HELIUM, and there FOVEA_TARGET_NEON), which always treat
 * subnormal numbers as 0, and others where the caller has switched this on. Then subnormal results become 0, and so do
 * scores nearer to 0 than softcap * 2^-126; with FOVEA_COMPUTE_I8, scales of keys below 2^-126 count as 0.
 *
 * Versions are semantic. While the first number stays, programs go on compiling, linking and meaning the same: names
 * and values stay, and structures only grow. The second number counts versions with something new; the last bits of
 * results may change with it, where the changelog says so. The third counts corrections. A change of lib changes the
 * version. Release candidates (FOVEA_VERSION_TEXT) may still break any of this where the changelog says so. A structure
 * that begins with struct_bytes may grow at its end, and 0 in a new field means what the library did before. So a
 * library accepts a structure of a later version while all bytes that it does not know are 0; only `attention` of a
 * multi-head layer must have its own size. Structures with neither struct_bytes nor a field `reserved` never change. */
#ifndef FOVEA_BASE_H_
#define FOVEA_BASE_H_

#include <stddef.h>
#include <stdint.h>

#if defined(FOVEA_USE) /* the name of a lean configuration: fovea.h */
#include "fovea/lean/names.h"
#endif

/* These two enclose the declarations of each header: what is between them has C linkage, and is all that a shared
 * library exports. */
#ifdef __cplusplus
#define FOVEA_EXTERN_C_BEGIN_ extern "C" {
#define FOVEA_EXTERN_C_END_ }
#else
#define FOVEA_EXTERN_C_BEGIN_
#define FOVEA_EXTERN_C_END_
#endif
#if defined(__GNUC__)
#define FOVEA_DECLARATIONS_BEGIN_ _Pragma("GCC visibility push(default)") FOVEA_EXTERN_C_BEGIN_
#define FOVEA_DECLARATIONS_END_ FOVEA_EXTERN_C_END_ _Pragma("GCC visibility pop")
#else
#define FOVEA_DECLARATIONS_BEGIN_ FOVEA_EXTERN_C_BEGIN_
#define FOVEA_DECLARATIONS_END_ FOVEA_EXTERN_C_END_
#endif

FOVEA_DECLARATIONS_BEGIN_

#define FOVEA_VERSION_MAJOR 1
#define FOVEA_VERSION_MINOR 0
#define FOVEA_VERSION_PATCH 0
#define FOVEA_VERSION_TEXT "1.0.0-rc.1" /* with what the numbers cannot say: which release candidate it is */
#define FOVEA_VERSION (FOVEA_VERSION_MAJOR * 10000 + FOVEA_VERSION_MINOR * 100 + FOVEA_VERSION_PATCH)

/* The FOVEA_VERSION of the linked library, to be compared with the FOVEA_VERSION of the header. */
uint32_t fovea_version(void);

/* Alignment in bytes that a workspace must have. Inputs and outputs need only the alignment of their elements. */
#define FOVEA_WORKSPACE_ALIGNMENT 64

/* Enumerations are 32 bits wide. A field may hold any 32 bits, and a wrong value is refused (FOVEA_ERR_ENUM). In C++
 * each is an enum with this type. */
#if defined(__cplusplus) && (__cplusplus >= 201103L || defined(_MSVC_LANG))
#define FOVEA_ENUM_(name, type) enum name : type
#else
#define FOVEA_ENUM_(name, type) \
  typedef type name;            \
  enum
#endif

/* -------------------------------------------------------------------------------------------------------- statuses */

/* What every function returns that may fail. */
FOVEA_ENUM_(fovea_status, int32_t) {
  FOVEA_OK = 0,
  FOVEA_ERR_NULL = -1,        /* a required pointer is NULL */
  FOVEA_ERR_STRUCT = -2,      /* struct_bytes is smaller than the structure up to `reserved`, more than 4,096 larger, or
                                includes fields that this version does not know and that are not 0 */
  FOVEA_ERR_ENUM = -3,        /* an enum field holds no value of its enum */
  FOVEA_ERR_UNSUPPORTED = -4, /* a valid choice that this combination of options does not serve, in no build */
  FOVEA_ERR_TARGET = -5,      /* the target is not compiled in, or this processor cannot run it */
  FOVEA_ERR_DIM = -6,         /* a dimension or a number of heads is 0 (head_dim, value_dim, dim, in_dim,
                                out_dim, channels, inner, heads, q_heads, ...); kernel_size is out of range; rotary_dim
                                is 0, odd or larger than dim */
  FOVEA_ERR_HEADS = -7,       /* kv_heads does not divide q_heads */
  FOVEA_ERR_SIZE = -8,        /* a size is out of range, differs from its counterpart, or overflows with the strides */
  FOVEA_ERR_NUMBER = -9,      /* a number is NaN, infinite or out of its range: a scale, zero point, softcap, dropout,
                                base, epsilon, ... */
  FOVEA_ERR_BUDGET = -10,     /* workspace_budget_bytes is too small for even the smallest tile of rows */
  FOVEA_ERR_PLAN = -11,       /* the plan or cache was not initialised by this version */
  FOVEA_ERR_CAPACITY = -12,   /* a count is greater than the capacity of the plan or cache */
  FOVEA_ERR_LENGTH = -13,     /* a length or offset is greater than the whole that it is part of: kv_lengths greater
                                than kv_tokens, for example */
  FOVEA_ERR_POSITIONS_MISSING = -14, /* an option needs the positions of the queries, but neither first_positions
                                       nor a diagonal gives them */
  FOVEA_ERR_MASK = -15,       /* the mask's fields contradict one another */
  FOVEA_ERR_STRIDE = -16,     /* an output's strides do not nest: each stride must step over all elements that the
                                smaller strides reach, or two elements could share an address; or the token_stride of
                                several queries, keys or values is 0 */
  FOVEA_ERR_OVERLAP = -17,    /* an output or the workspace overlaps another buffer of the call. An array counts as the
                                whole span from its first to its last element */
  FOVEA_ERR_ALIGNMENT = -18,  /* a pointer is not aligned to its element, or the workspace not to 64 bytes */
  FOVEA_ERR_WORKSPACE = -19,  /* the workspace, or a cache's memory, is smaller than its size function says */
  FOVEA_ERR_LOAD = -20,       /* a loader failed: the outputs are unspecified */
  FOVEA_ERR_STATE = -21,      /* the memory is too small for the state or image, or holds none that fits the call */
  FOVEA_ERR_IMAGE = -22,      /* the bytes are no image of a state or cache, or have changed since they were written */
  FOVEA_ERR_EXECUTOR = -23,   /* the executor failed, skipped a task, or used a task or worker that does not exist */
  FOVEA_ERR_PAGE = -24,       /* a page table names a page that the pool does not have */
  FOVEA_ERR_FULL = -25,       /* a cache has no room for the tokens */
  FOVEA_ERR_POSITIONS_TWICE = -26, /* positions are given twice: first_positions together with a diagonal or with
                                     position_ids, or a diagonal other than the one that causal names */
  FOVEA_ERR_POSITION_RANGE = -27,  /* a token's position is not in the tables of cos and sin */
  FOVEA_ERR_RING = -28,       /* a ring has too few slots for its window and the most new tokens, or a query should see
                                a token that the ring has lost: "Rings" in attention.h */
  FOVEA_ERR_MAP = -29,        /* a block map's sizes are out of range, one of its lists is not in rising order, or names
                                a block of keys that does not exist */
  FOVEA_ERR_LEFT_OUT = -30,   /* this build leaves out a feature or format that the call needs: fovea_config.h */
};

/* A short English sentence for the status, without a full stop; "unknown status" for any other number. Never NULL, but
 * empty in a build without FOVEA_ENABLE_TEXT. */
const char* fovea_status_string(fovea_status status);

/* 1 if the linked library has the feature, which is named as the switches of fovea_config.h are: "KEY_MASS" for
 * FOVEA_ENABLE_KEY_MASS. 0 if it leaves the feature out, or knows none of this name. */
uint32_t fovea_has(const char* feature);

/* --------------------------------------------------------------------------------------------------------- targets */

/* The instruction set that the kernels use. */
FOVEA_ENUM_(fovea_target, uint32_t) {
  FOVEA_TARGET_BEST = 0,   /* the best target that is compiled in and that this processor runs */
  FOVEA_TARGET_SCALAR = 1, /* no vector unit: 1 lane */
  FOVEA_TARGET_SSE4 = 2,   /* x86 SSE4.2, 4 lanes; no fused multiply-add */
  FOVEA_TARGET_AVX2 = 3,   /* x86 AVX2 + FMA3 + F16C, 8 lanes */
  FOVEA_TARGET_AVX512 = 4, /* x86 AVX-512 F, BW, DQ, VL, 16 lanes */
  FOVEA_TARGET_NEON = 5,   /* Arm Advanced SIMD, 4 lanes */
  FOVEA_TARGET_HELIUM = 6, /* Arm M-profile vector extension with floating point, 4 lanes */
  FOVEA_TARGET_WASM = 7,   /* WebAssembly SIMD128, 4 lanes; no fused multiply-add */
  /* Each of these extends another target for processors with more instructions. Its results have the same bits. */
  FOVEA_TARGET_AVX512_VNNI = 8,   /* FOVEA_TARGET_AVX512, and AVX-512 VNNI */
  FOVEA_TARGET_AVX2_VNNI = 9,     /* FOVEA_TARGET_AVX2, and AVX-VNNI */
  FOVEA_TARGET_NEON_DOTPROD = 10, /* FOVEA_TARGET_NEON, and dot products of int8: FEAT_DotProd */
  FOVEA_TARGET_NEON_I8MM = 11,    /* FOVEA_TARGET_NEON_DOTPROD, and matrix products of int8: FEAT_I8MM */
  /* The same three NEON targets, for processors that run instructions in order, as Cortex-A53 and A55 do. They
   * have other kernels for products of f32, with the same bits. CMake's FOVEA_IN_ORDER puts them into builds for
   * AArch64. */
  FOVEA_TARGET_NEON_IN_ORDER = 12,
  FOVEA_TARGET_NEON_IN_ORDER_DOTPROD = 13,
  FOVEA_TARGET_NEON_IN_ORDER_I8MM = 14,
  /* RISC-V vectors (RVV 1.0) of one length. A build has one of these; a processor with vectors of another length, or
   * without, cannot run it (FOVEA_ERR_TARGET). */
  FOVEA_TARGET_RVV128 = 15, /* 128 bits, 4 lanes, as in the Kendryte K230 */
  FOVEA_TARGET_RVV256 = 16, /* 256 bits, 8 lanes, as in the SpacemiT K1 */
  FOVEA_TARGET_RVV512 = 17, /* 512 bits, 16 lanes; only builds for RISC-V with vectors know it */
  FOVEA_TARGET_XSIMD = 64, /* the target that the xsimd backend was compiled for, where a build has several backends */
};

/* What fovea_target_from_name returns for a name that no target has. */
#define FOVEA_NO_TARGET 0x7fffffffu

/* Features of AArch64 processors, for the field processor_features of fovea_attention_desc, fovea_linear_args and
 * fovea_selftest_args. A program cannot ask the processor for its features. The compiler knows those that its flags
 * name, as in -march=armv8.2-a+dotprod. For others the caller asks the system: on Linux getauxval(AT_HWCAP) and
 * getauxval(AT_HWCAP2). */
#define FOVEA_FEATURE_NEON_DOTPROD 1u /* HWCAP_ASIMDDP */
#define FOVEA_FEATURE_NEON_I8MM 2u    /* HWCAP2_I8MM */
/* The processor runs instructions in order. Its part number, in MIDR_EL1, tells which processor it is. On a system with
 * several kinds of processor, set the bit only if all of them run in order: on those that do not, these kernels take a
 * tenth to a fifth longer. */
#define FOVEA_FEATURE_NEON_IN_ORDER 4u
#define FOVEA_FEATURE_NEON_FP16 8u /* HWCAP_ASIMDHP: only FOVEA_COMPUTE_F16 uses it */

/* fovea_target_count returns the number of compiled targets that this processor can run. It is 0 where the build has no
 * scalar kernels and the processor lacks the vectors of all others: every call is refused. fovea_target_at returns one
 * of them: the best has the index 0. When index is out of range it returns FOVEA_TARGET_BEST. On AArch64 these are the
 * targets for processor_features = 0. */
uint32_t fovea_target_count(void);
fovea_target fovea_target_at(uint32_t index);

/* "avx2", "scalar", ...; "xsimd" for FOVEA_TARGET_XSIMD; NULL for a number that is no target. */
const char* fovea_target_name(fovea_target target);
/* The target that has this name, or FOVEA_NO_TARGET if none has it. "best" and "" name FOVEA_TARGET_BEST. */
fovea_target fovea_target_from_name(const char* name);
/* The backend that serves the target in this build: "helium", "highway", "neon", "rvv", "xsimd" or "scalar". NULL
 * where the target is not compiled in. */
const char* fovea_target_backend(fovea_target target);

/* --------------------------------------------------------------------------------------------------------- formats */

/* A format says how the elements x of a row are stored: fovea_dtype has the C array of each, whose elements are the
 * unit of its strides. Keys and values may each have any that is not for weights alone. Queries and outputs are F32,
 * F16 or BF16, and with FOVEA_COMPUTE_I8 also I8. Weights of linear layers may have any. fovea_compute says what the
 * products are made of. Narrowing rounds to nearest, ties to even.
 *   groups    From I4 on a row is whole groups of 32 elements, or super-blocks of 256. The last one is padded. The low
 *             nibble of byte i of u[16] is u of element i, the high nibble u of element i + 16.
 *   scales    I8 has one for each row of a token and head, I4 one for each group, in arrays of their own. Those after
 *             I4 contain theirs, as in GGUF files: arrays of scales are NULL, a group may be at any address, f16 are
 *             little-endian, and so are h of uint32_t and uint16_t.
 *
 * Narrowing. A row of I8 or a group with a NaN or an infinity becomes all NaN.
 *   to I8         The element of largest magnitude in a row becomes 127 or -127; no code is -128. The error is at most
 *                 scale / 2, plus f32 rounding of less than scale / 10000. The scale is at least 2^-126: rows below
 *                 127 * 2^-126 use smaller q, with the same bound.
 *   to I4, Q4_0   Of a few candidates for the scale, the one with the least squared error is taken. It has either sign,
 *                 and its magnitude is at most 65504. Where a group needs a larger scale, its elements saturate: those
 *                 with the sign of the largest element at 8 * 65504, the others at 7 * 65504. A group whose magnitudes
 *                 are all below 2e-7 becomes zeros. So to Q5_0, with 16 and 15 and below 5e-7, and to
 *                 IQ4_NL, with 127 and 113 and below 4e-6.
 *   to Q4_1, Q5_1 m is the least element, d the range / the largest u, as f16 of at most 65504. u is the nearest.
 *   to Q8_0       d is the largest magnitude / 127, rounded to f16, and q is nearest to x / d. Where the largest
 *                 magnitude is 0.008 to 127 * 65504, the error is at most d / 2, plus f32 rounding of less than d /
 *                 10000. Smaller groups have a coarser d, larger elements saturate.
 * Widening is exact, except that the product with a scale of I8 and the sums of Q4_1, Q5_1, Q2_K, Q4_K and Q5_K round.
 * An infinite scale of I8 counts as NaN. With that of a group, or an infinite d, e or m, elements are infinite or NaN.
 *
 * FOVEA_Q2_K to FOVEA_Q6_K, FOVEA_IQ4_XS, FOVEA_TQ2_0. ggml's super-blocks, as GGUF files of Q4_K_M and their kin have
 * them. Of 256 elements, element i is
 *     // Q4_K: f16 d, e; uint8_t b[12], n[128]. In each group of 32 elements u has a scale s and a minimum m
 *     int k = i / 32, u = n[i / 64 * 32 + i % 32] >> k % 2 * 4 & 15;
 *     int s = k < 4 ? b[k] & 63 : (b[k + 4] & 15) | b[k - 4] >> 6 << 4;
 *     int m = k < 4 ? b[k + 4] & 63 : b[k + 4] >> 4 | b[k] >> 6 << 4;
 *     x = d * s * u - e * m;
 *     // Q5_K: f16 d, e; uint8_t b[12], h[32], n[128]: so, but u has a fifth bit, (h[i % 32] >> i / 32 & 1) << 4
 *     // Q6_K: uint8_t l[128], h[64]; int8_t s[16]; f16 d
 *     int j = i / 128, k = i % 128 / 32;
 *     int u = (l[64 * j + i % 64] >> k / 2 * 4 & 15) | (h[32 * j + i % 32] >> 2 * k & 3) << 4;
 *     x = d * s[i / 16] * (u - 32);
 *     // Q3_K: uint8_t h[32], n[64], b[12]; f16 d
 *     int k = i / 16, s = ((b[k % 8] >> k / 8 * 4 & 15) | (b[8 + k % 4] >> k / 4 * 2 & 3) << 4) - 32;
 *     int u = (n[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) | (h[i % 32] >> i / 32 & 1) << 2;
 *     x = d * s * (u - 4);
 *     // Q2_K: uint8_t b[16], n[64]; f16 d, e
 *     int u = n[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
 *     x = d * (b[i / 16] & 15) * u - e * (b[i / 16] >> 4);
 *     // IQ4_XS: f16 d; uint16_t h; uint8_t l[4], n[128]. t is IQ4_NL's
 *     int k = i / 32, s = ((l[k / 2] >> k % 2 * 4 & 15) | (h >> 2 * k & 3) << 4) - 32;
 *     x = d * s * t[n[16 * k + i % 16] >> i % 32 / 16 * 4 & 15];
 *     // TQ2_0, of ternary models: uint8_t n[64]; f16 d
 *     x = d * ((n[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
 *
 * FOVEA_Q5_0, FOVEA_Q5_1. In h bit i is the highest bit of element i: u = (its nibble) | (h >> i & 1) << 4.
 * FOVEA_IQ4_NL, FOVEA_MXFP4. x = d * t[u] and 2^(e - 128) * t[u], of these tables. e is a byte: 255 is
 * no NaN, products above the largest float are infinite, and where subnormal numbers are 0, so are 2^-128 and 2^-127.
 *     // IQ4_NL: -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
 *     // MXFP4: 0 1 2 3 4 6 8 12 0 -1 -2 -3 -4 -6 -8 -12, twice the numbers of the OCP Microscaling Formats' E2M1 */
FOVEA_ENUM_(fovea_dtype, uint32_t) {
  FOVEA_F32 = 0,  /* float[dim] */
  FOVEA_F16 = 1,  /* uint16_t[dim], IEEE 754 binary16 */
  FOVEA_BF16 = 2, /* uint16_t[dim], the upper half of an f32 */
  FOVEA_I8 = 3,   /* int8_t[dim], q; scales are float: x = scale * q */
  FOVEA_I4 = 4,   /* uint8_t[16] for 32 elements, u; scales are uint16_t, f16: x = scale * (u - 8) */
  FOVEA_Q8_0 = 5, /* uint8_t[34] for 32 elements, f16 d and int8_t q[32]: x = d * q */
  FOVEA_Q4_0 = 6, /* uint8_t[18] for 32 elements, f16 d and u: x = d * (u - 8) */
  FOVEA_Q4_1 = 7, /* uint8_t[20] for 32 elements, f16 d and m, and u: x = d * u + m. For weights alone */
  FOVEA_Q4_K = 8, /* uint8_t[144] for 256 elements: x = d * s * u - e * m. For weights alone */
  FOVEA_Q6_K = 9, /* uint8_t[210] for 256 elements: x = d * s * (u - 32). For weights alone */
  FOVEA_Q5_0 = 10,   /* uint8_t[22] for 32 elements, f16 d, uint32_t h and u[16]: x = d * (u - 16) */
  FOVEA_Q5_1 = 11,   /* uint8_t[24] for 32 elements, f16 d and m, h and u[16]: x = d * u + m */
  FOVEA_IQ4_NL = 12, /* uint8_t[18] for 32 elements, f16 d and u[16]: x = d * t[u] */
  FOVEA_MXFP4 = 13,  /* uint8_t[17] for 32 elements, e and u[16]: x = 2^(e - 128) * t[u]. For weights alone */
  FOVEA_Q5_K = 14,   /* uint8_t[176] for 256 elements: x = d * s * u - e * m. For weights alone */
  FOVEA_IQ4_XS = 15, /* uint8_t[136] for 256 elements: x = d * s * t[u]. For weights alone */
  FOVEA_TQ2_0 = 16,  /* uint8_t[66] for 256 elements: x = d * (u - 1). For weights alone */
  FOVEA_Q3_K = 17,   /* uint8_t[110] for 256 elements: x = d * s * (u - 4). For weights alone */
  FOVEA_Q2_K = 18,   /* uint8_t[84] for 256 elements: x = d * s * u - e * m. For weights alone */
};

/* ------------------------------------------------------------------------------------------------------ activations */

/* The function that an activation, the gate of a normalisation or a linear layer applies to each element. layers.h says
 * how large its errors are. alpha is 1 except where an operator has a field of this name. */
FOVEA_ENUM_(fovea_activation_kind, uint32_t) {
  FOVEA_ACTIVATION_IDENTITY = 0,   /* x */
  FOVEA_ACTIVATION_SILU = 1,       /* x sigmoid(alpha x). Also called swish. -inf becomes NaN */
  FOVEA_ACTIVATION_SIGMOID = 2,    /* sigmoid(alpha x) = 1 / (1 + e^(-alpha x)); 0 where alpha x is below -86.99 */
  FOVEA_ACTIVATION_RELU = 3,       /* max(x, 0) */
  FOVEA_ACTIVATION_RELU6 = 4,      /* min(max(x, 0), 6) */
  FOVEA_ACTIVATION_HARD_SWISH = 5, /* x min(max(x + 3, 0), 6) / 6 */
  FOVEA_ACTIVATION_GELU = 6,       /* x (1 + erf(x / sqrt(2))) / 2. arXiv 1606.08415 */
  FOVEA_ACTIVATION_GELU_TANH = 7,  /* x (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3): its approximation */
  FOVEA_ACTIVATION_TANH = 8,
};

/* -------------------------------------------------------------------------------------- arithmetic of the products */

/* Attention has two products: queries with keys, and weights with values. fovea_compute says how they are computed. All
 * steps between the two products are f32 with each: softcap, bias, masks, and the softmax with its running maximum and
 * sum.
 *
 * FOVEA_COMPUTE_I8. Both products multiply codes. The sums of these products are exact.
 *   keys, values  are I8, I4, Q8_0, Q4_0, Q5_0, Q5_1 or IQ4_NL. A row of groups is converted to an I8 row first. A
 *                 negative scale of a value counts as NaN.
 *   queries       A row of F32, F16 or BF16 is multiplied by scale and then converted like a row of I8 keys. A row of
 *                 I8 is not converted: its codes are multiplied as they are, and the sums are multiplied by the row's
 *                 scale (or q_scale) and by the description's scale. An infinite scale counts as NaN.
 *   weights       are rounded to codes for each key tile. With p the weight and c the scale of the value's row, the
 *                 code is u = round(255 p c / max(p c)). The maximum is over the keys of the tile that the query sees,
 *                 and at least 2^-116. A tile that holds both pinned keys and keys of a window or ring is attended to
 *                 in two parts, each with its own maximum.
 *   zero points   Zero points and key_center add a term to a score; value_zero_point adds a term to the sums of a key
 *                 tile. These terms are added or subtracted in f32, and round.
 *   lse, weights  that are written out are computed without the rounding of weights to codes. But the sum of a row has
 *                 the relative error of a shorter exp2, up to 1.02e-4. In addition to the rounding of f32, this is the
 *                 relative error of weights and the absolute error of lse; that of key_mass is twice as large.
 *   bits          are the same on every target, with fused multiply-add or without, and for any number of rows, but not
 *                 those of key_mass. portable_bits changes nothing.
 *   time          Rows of groups are converted anew in each call, once for all rows of queries that share a key head.
 *                 Which products are faster on the same keys and values (measured on x86):
 *                     format       rows    target                    faster
 *                     I8           any     all                       integers; AVX2 on Intel: .57 to 1.08 of the time
 *                     of groups    many    all                       integers
 *                     I4           from 4  AVX2, AVX-512             integers
 *                     Q4_0         from 4  AVX2, AVX-512 with VNNI   integers
 *                     of groups    few     SSE4; with Q8_0 all       F32
 *                     I4, Q4_0     1       AVX2, AVX-512             either
 *   refused       with FOVEA_ERR_UNSUPPORTED: keys or values of another format, additive scores, head_dim above 1024.
 * tests/ACCURACY.md has the errors.
 *
 * FOVEA_COMPUTE_F16. Both products are made of chains of up to 32 fused multiply-adds, each of which rounds to f16. The
 * chains are added in f32. It is for processors with arithmetic of half precision, which multiply twice as many f16 as
 * f32 in an instruction: Helium, AArch64 with FOVEA_FEATURE_NEON_FP16, and, if the library is compiled for that, x86
 * with AVX512-FP16 (-march=sapphirerapids) and RISC-V's vectors of 256 bits with Zvfh (-march=rv64gcv_zvfh_zvl256b).
 *   keys, values  are F16.
 *   queries       are multiplied by scale and log2(e) in f32. A row with an element of 1 or more is divided by a power
 *                 of two, at most 2^64, that makes all less, and its scores are multiplied by it in f32. Then elements
 *                 are rounded to f16.
 *   weights       are at most 1, and rounded to f16: those below 2^-25 become 0. With dropout or a weight modifier
 *                 larger weights are rounded in the same way.
 *   overflow      A number of magnitude 65520 or more becomes an infinity: a sum of up to 32 products of a query and a
 *                 key, a weight that a modifier changed, or a sum of up to 32 products of weights and values. Nothing
 *                 is refused. A score of +infinity makes its row NaN; a sum of values that is infinite makes the output
 *                 infinite or NaN. With keys and values up to 2047 in magnitude, queries whose elements times scale are
 *                 below 2^63, and weights of at most 1, no sum overflows.
 *   lse, weights  that are written out, and key_mass, have the errors that they have with FOVEA_COMPUTE_I8.
 *   bits          are the same where they are with FOVEA_COMPUTE_I8.
 *   time          Eight rows of queries are multiplied at a time. Where a key head has one or two, as in decoding,
 *                 AArch64 and Helium have a kernel that is faster than FOVEA_COMPUTE_F32 on the same keys.
 *                 Where the processor has no arithmetic of half precision, f32 arithmetic takes its place, which rounds
 *                 as it does: this takes many times as long as FOVEA_COMPUTE_F32, and is for the same bits alone.
 *   errors        tests/ACCURACY.md has them. For normal numbers the mean square error is about 2e-6 of the mean
 *                 square of the outputs, some fiftieth of that of FOVEA_COMPUTE_I8.
 *   refused       with FOVEA_ERR_UNSUPPORTED: keys or values of another format, additive scores; on Cortex-M without
 *                 Helium everything, unless the build sets FOVEA_ENABLE_COMPUTE_F16. */
FOVEA_ENUM_(fovea_compute, uint32_t) {
  FOVEA_COMPUTE_F32 = 0, /* products of f32; elements of other formats are widened first */
  FOVEA_COMPUTE_I8 = 1,  /* products of 8-bit integers */
  FOVEA_COMPUTE_F16 = 2, /* products of half-precision numbers; fovea_linear says what is different there */
};

/* ------------------------------------------------------------------------------------------------------- positions */

/* Which keys a query may see because of its position. Key j of an entry is at position j. A causal query at position p
 * sees the keys at positions <= p. Libraries differ on p, the position of query i in entry b: */
FOVEA_ENUM_(fovea_causal, uint32_t) {
  FOVEA_CAUSAL_NONE = 0,         /* every query sees every key */
  FOVEA_CAUSAL_TOP_LEFT = 1,     /* p = i */
  FOVEA_CAUSAL_BOTTOM_RIGHT = 2, /* p = i + (keys of the entry) - (queries of the entry): the last query sees the last
                                    key. Queries at negative positions (more queries than keys) see no key */
  FOVEA_CAUSAL_POSITIONS = 3,    /* p = i + first_positions[b], which may be negative */
};

/* ---------------------------------------------------------------------------------------------------------- arrays */

/* An input array [batch][heads][tokens][dim]. The description or the arguments name its format. Strides count elements
 * of the format's C array: bytes where a group of I4, or a block of ggml, is an array of bytes. */
typedef struct fovea_in {
  const void* data;                                  /* element [0][0][0][0] */
  ptrdiff_t batch_stride, head_stride, token_stride; /* from an entry, a head, a token to the next, in elements */
} fovea_in;

/* An output array [batch][heads][tokens][dim]. Its strides nest, in any order and with any signs (FOVEA_ERR_STRIDE). */
typedef struct fovea_out {
  void* data;                                        /* element [0][0][0][0] */
  ptrdiff_t batch_stride, head_stride, token_stride; /* from an entry, a head, a token to the next, in elements */
} fovea_out;

/* ------------------------------------------------------------------------------------------------------- executors */

/* An executor runs the tasks of a call in parallel. The caller provides it: the library starts no thread.
 *
 * What run does. It calls task(arg, i, worker) once for each i < tasks, in any order and on any threads. It returns
 * after the last task has ended: 0, or another number if it failed. worker is a number below workers that no other
 * running task has.
 *   memory      As with any thread pool, parallel loop or second core: the tasks must see what was written before run
 *               was called, and the caller must see what the tasks wrote once run has returned.
 *   calls       A call may use run more than once, or not at all where there is only one task, but never from within a
 *               task.
 *   results     are the same to the bit for every executor and any number of workers. Shapes and the number of workers
 *               decide what the tasks are; no value does.
 *
 * FOVEA_ERR_EXECUTOR. run did not return 0, or skipped a task (processors without atomic addition, such as Cortex-M0+,
 * do not notice this), or called a task with an i that is not below tasks, or with a worker that is not below
 * max_workers. The outputs are then unspecified. So is the state of a stream into which keys were pushed: some of its
 * rows have seen the keys, others have not. The same holds for the state of fovea_delta. Begin the state again, or
 * continue with an earlier copy of it. No other memory was written. */
typedef struct fovea_executor {
  /* Runs all tasks: see above. Required (FOVEA_ERR_NULL). */
  int (*run)(void* self, size_t tasks, void (*task)(void* arg, size_t index, uint32_t worker), void* arg);

  void* self;       /* for run */
  uint32_t workers; /* 1 to max_workers of the description (FOVEA_ERR_CAPACITY) */
} fovea_executor;

/* Where a function takes the number of an entry: all entries. */
#define FOVEA_ALL_ENTRIES 0xffffffffu

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_BASE_H_ */
