/* What of fovea is compiled, and where it lies in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every macro here may be set before: with -D for the whole build, or in a header of the user's that is named with
 * -DFOVEA_CONFIG_HEADER='"my_config.h"'. CMake: -DFOVEA_CONFIG_HEADER=<path of the file>, which is installed as well,
 * so that users of the installed library see the same settings. config/minimal.h is such a header: all left out but the
 * simplest call.
 *
 * Features: 1 = compiled in, the default; 0 = left out. A description or arguments that ask for what is left out are
 * refused with FOVEA_ERR_UNSUPPORTED. What else a call may ask for gives the same bits whatever is left out. What each
 * costs in bytes is in bench/README.md, "Size". A static link leaves out by itself the functions that nothing calls.
 */
#ifndef FOVEA_FOVEA_CONFIG_H_
#define FOVEA_FOVEA_CONFIG_H_

#if defined(FOVEA_CONFIG_HEADER)
#include FOVEA_CONFIG_HEADER
#elif defined(__has_include)
#if __has_include("fovea/fovea_user_config.h")
#include "fovea/fovea_user_config.h" /* as it was installed with the library */
#endif
#endif

/* ------------------------------------------------------------------------------------------------- attention */

/* fovea_attention_desc */
#ifndef FOVEA_ENABLE_ADDITIVE
#define FOVEA_ENABLE_ADDITIVE 1 /* FOVEA_SCORE_ADDITIVE */
#endif
#ifndef FOVEA_ENABLE_CAUSAL
#define FOVEA_ENABLE_CAUSAL 1 /* causal other than FOVEA_CAUSAL_NONE */
#endif
#ifndef FOVEA_ENABLE_DROPOUT
#define FOVEA_ENABLE_DROPOUT 1 /* dropout */
#endif
#ifndef FOVEA_ENABLE_SOFTCAP
#define FOVEA_ENABLE_SOFTCAP 1 /* softcap */
#endif
#ifndef FOVEA_ENABLE_WINDOWS
#define FOVEA_ENABLE_WINDOWS 1 /* window_left, window_right */
#endif

/* fovea_attention_args */
#ifndef FOVEA_ENABLE_ALIBI
#define FOVEA_ENABLE_ALIBI 1 /* alibi_slopes */
#endif
#ifndef FOVEA_ENABLE_LSE
#define FOVEA_ENABLE_LSE 1 /* lse */
#endif
#ifndef FOVEA_ENABLE_MASK_BYTE
#define FOVEA_ENABLE_MASK_BYTE 1 /* FOVEA_MASK_BYTE */
#endif
#ifndef FOVEA_ENABLE_MASK_F32
#define FOVEA_ENABLE_MASK_F32 1 /* FOVEA_MASK_F32; with F16 and BF16 masks of these too */
#endif
#ifndef FOVEA_ENABLE_POSITIONS
#define FOVEA_ENABLE_POSITIONS 1 /* positions, and diagonals that need them */
#endif
#ifndef FOVEA_ENABLE_SCORES
#define FOVEA_ENABLE_SCORES 1 /* scores, of any stage: attention weights too */
#endif
#ifndef FOVEA_ENABLE_SINKS
#define FOVEA_ENABLE_SINKS 1 /* sinks */
#endif
#ifndef FOVEA_ENABLE_SLOW_WORKSPACE
#define FOVEA_ENABLE_SLOW_WORKSPACE 1 /* slow_workspace; fovea_slow_workspace_bytes: SIZE_MAX where it is not 0 */
#endif

/* Nothing is refused without it: calls of few query rows are slower on targets with vectors, and their bits are those
 * of portable_bits. */
#ifndef FOVEA_ENABLE_FEW_ROWS
#define FOVEA_ENABLE_FEW_ROWS 1
#endif

/* Where keys and values come from. */
#ifndef FOVEA_ENABLE_LOAD
#define FOVEA_ENABLE_LOAD 1 /* FOVEA_KV_LOAD */
#endif
#ifndef FOVEA_ENABLE_PAGES
#define FOVEA_ENABLE_PAGES 1 /* FOVEA_KV_PAGED */
#endif
#ifndef FOVEA_ENABLE_RAGGED
#define FOVEA_ENABLE_RAGGED 1 /* q_offsets, kv_offsets, and offsets of an append */
#endif
#ifndef FOVEA_ENABLE_RING
#define FOVEA_ENABLE_RING 1 /* FOVEA_KV_RING, and pinned_tokens of any kind */
#endif

#ifndef FOVEA_ENABLE_EXECUTOR
#define FOVEA_ENABLE_EXECUTOR 1 /* executor, and max_workers above 1 */
#endif
#ifndef FOVEA_ENABLE_KEY_SPLITS
#define FOVEA_ENABLE_KEY_SPLITS 1 /* key_split_tokens */
#endif

/* fovea_stream_*. Calls on whole keys are a little smaller without it. */
#ifndef FOVEA_ENABLE_STREAMS
#define FOVEA_ENABLE_STREAMS 1
#endif

/* ------------------------------------------------------------------------------------------------------ rope */

#ifndef FOVEA_ENABLE_ROPE_HALF_SPLIT
#define FOVEA_ENABLE_ROPE_HALF_SPLIT 1 /* FOVEA_ROPE_HALF_SPLIT */
#endif
#ifndef FOVEA_ENABLE_ROPE_INTERLEAVED
#define FOVEA_ENABLE_ROPE_INTERLEAVED 1 /* FOVEA_ROPE_INTERLEAVED */
#endif
#ifndef FOVEA_ENABLE_ROPE_TABLES
#define FOVEA_ENABLE_ROPE_TABLES 1 /* cos and sin */
#endif
#ifndef FOVEA_ENABLE_ROPE_TURNS
#define FOVEA_ENABLE_ROPE_TURNS 1 /* turns */
#endif

/* ---------------------------------------------------------------------------- types of elements besides f32 */

#ifndef FOVEA_ENABLE_BF16
#define FOVEA_ENABLE_BF16 1 /* FOVEA_BF16 */
#endif
#ifndef FOVEA_ENABLE_F16
#define FOVEA_ENABLE_F16 1 /* FOVEA_F16 */
#endif
#ifndef FOVEA_ENABLE_I4
#define FOVEA_ENABLE_I4 1 /* FOVEA_I4 */
#endif
#ifndef FOVEA_ENABLE_I8
#define FOVEA_ENABLE_I8 1 /* FOVEA_I8 */
#endif

/* --------------------------------------------------------------------------------------------------- softmax */

#ifndef FOVEA_ENABLE_LOG_SOFTMAX
#define FOVEA_ENABLE_LOG_SOFTMAX 1 /* fovea_log_softmax_f32 */
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_MASK
#define FOVEA_ENABLE_SOFTMAX_MASK 1 /* mask */
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_STRIDED
#define FOVEA_ENABLE_SOFTMAX_STRIDED 1 /* inner > 1, and any stride of the axis but 1 */
#endif

/* ----------------------------------------------------------------------------------------------------- texts */

#ifndef FOVEA_ENABLE_TEXT
#define FOVEA_ENABLE_TEXT 1 /* fovea_plan_describe, fovea_status_string: without it, both give empty texts */
#endif

/* -------------------------------------------------------------------------------------------- size and place */

/* 1 = the kernels have fewer versions of their loops, and call what they would otherwise repeat: smaller and slower,
 * with the same bits in attention, but for few rows. By default as the compiler was told: with -Os. */
#ifndef FOVEA_PREFER_SIZE
#if defined(__OPTIMIZE_SIZE__)
#define FOVEA_PREFER_SIZE 1
#else
#define FOVEA_PREFER_SIZE 0
#endif
#endif

/* Sections of the object files that the kernels, and the tables that they and the calls to them read, are to lie in, as
 * strings: for instance -DFOVEA_CODE_SECTION='".itcm.fovea"' -DFOVEA_DATA_SECTION='".dtcm.rodata.fovea"'. The linker
 * script places them, and the start-up code copies them there, before the first call. Not set: where the compiler puts
 * code and constants.
 *   FOVEA_CODE_SECTION    every function of the kernels: all that runs for each element. What checks arguments and
 *                         loops over heads and tiles stays where code is.
 *   FOVEA_DATA_SECTION    the tables of kernel functions and the constants of the kernels; never written. */
#if defined(FOVEA_CODE_SECTION)
#define FOVEA_IN_CODE_SECTION __attribute__((section(FOVEA_CODE_SECTION)))
#else
#define FOVEA_IN_CODE_SECTION
#endif
#if defined(FOVEA_DATA_SECTION)
#define FOVEA_IN_DATA_SECTION __attribute__((section(FOVEA_DATA_SECTION)))
#else
#define FOVEA_IN_DATA_SECTION
#endif

/* The library's own code asks these constants: all of it is compiled whatever they are, and what cannot be reached
 * drops out. */
#ifdef __cplusplus
namespace fovea {
namespace config {
constexpr bool kAdditive = FOVEA_ENABLE_ADDITIVE != 0;
constexpr bool kAlibi = FOVEA_ENABLE_ALIBI != 0;
constexpr bool kBf16 = FOVEA_ENABLE_BF16 != 0;
constexpr bool kCausal = FOVEA_ENABLE_CAUSAL != 0;
constexpr bool kDropout = FOVEA_ENABLE_DROPOUT != 0;
constexpr bool kF16 = FOVEA_ENABLE_F16 != 0;
constexpr bool kExecutor = FOVEA_ENABLE_EXECUTOR != 0;
constexpr bool kFewRows = FOVEA_ENABLE_FEW_ROWS != 0;
constexpr bool kI4 = FOVEA_ENABLE_I4 != 0;
constexpr bool kI8 = FOVEA_ENABLE_I8 != 0;
constexpr bool kKeySplits = FOVEA_ENABLE_KEY_SPLITS != 0;
constexpr bool kLoad = FOVEA_ENABLE_LOAD != 0;
constexpr bool kLogSoftmax = FOVEA_ENABLE_LOG_SOFTMAX != 0;
constexpr bool kLse = FOVEA_ENABLE_LSE != 0;
constexpr bool kMaskByte = FOVEA_ENABLE_MASK_BYTE != 0;
constexpr bool kMaskF32 = FOVEA_ENABLE_MASK_F32 != 0;
constexpr bool kPages = FOVEA_ENABLE_PAGES != 0;
constexpr bool kPositions = FOVEA_ENABLE_POSITIONS != 0;
constexpr bool kPreferSize = FOVEA_PREFER_SIZE != 0;
constexpr bool kRagged = FOVEA_ENABLE_RAGGED != 0;
constexpr bool kRing = FOVEA_ENABLE_RING != 0;
constexpr bool kRopeHalfSplit = FOVEA_ENABLE_ROPE_HALF_SPLIT != 0;
constexpr bool kRopeInterleaved = FOVEA_ENABLE_ROPE_INTERLEAVED != 0;
constexpr bool kRopeTables = FOVEA_ENABLE_ROPE_TABLES != 0;
constexpr bool kRopeTurns = FOVEA_ENABLE_ROPE_TURNS != 0;
constexpr bool kScores = FOVEA_ENABLE_SCORES != 0;
constexpr bool kSinks = FOVEA_ENABLE_SINKS != 0;
constexpr bool kSlowWorkspace = FOVEA_ENABLE_SLOW_WORKSPACE != 0;
constexpr bool kSoftcap = FOVEA_ENABLE_SOFTCAP != 0;
constexpr bool kSoftmaxMask = FOVEA_ENABLE_SOFTMAX_MASK != 0;
constexpr bool kSoftmaxStrided = FOVEA_ENABLE_SOFTMAX_STRIDED != 0;
constexpr bool kStreams = FOVEA_ENABLE_STREAMS != 0;
constexpr bool kText = FOVEA_ENABLE_TEXT != 0;
constexpr bool kWindows = FOVEA_ENABLE_WINDOWS != 0;

constexpr bool kStates = kStreams || kKeySplits; /* partial states */
constexpr bool kHalf = kF16 || kBf16;
constexpr bool kMask = kMaskF32 || kMaskByte;
constexpr bool kNarrow = kHalf || kI8 || kI4;
constexpr bool kStaged = kNarrow || kRing || kPages || kLoad; /* keys may not be used where they lie */
constexpr bool kLimits = kCausal || kWindows || kRing;        /* a key may be hidden by its place */
constexpr bool kPlaces = kCausal || kWindows || kAlibi;       /* anything that depends on positions */
} /* namespace config */
} /* namespace fovea */
#endif

#endif /* FOVEA_FOVEA_CONFIG_H_ */
