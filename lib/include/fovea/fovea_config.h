/* fovea/fovea_config.h: which features of fovea are compiled, and in which sections code and tables are placed.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * How to set a macro. Each macro of this header may be set in two ways: with -D for the whole build, or in a header of
 * your own, which -DFOVEA_CONFIG_HEADER='"my_config.h"' names. With CMake write
 * -DFOVEA_DEFINES="FOVEA_ENABLE_ALIBI=0;..." and -DFOVEA_CONFIG_HEADER=<path of the file>: programs that use the
 * installed library then see the same settings. config/minimal.h is such a header: it leaves out every feature.
 * config/streaming.h and config/int8.h keep what firmware of one kind needs.
 *
 * Features. 1 = compiled in, the default; 0 = left out. A description or arguments that ask for a feature that is left
 * out are refused with FOVEA_ERR_UNSUPPORTED. All other calls give the same bits either way. bench/README.md, "Size",
 * says what each feature costs in bytes. A static link drops functions that nothing calls, without any setting here. */
#ifndef FOVEA_FOVEA_CONFIG_H_
#define FOVEA_FOVEA_CONFIG_H_

#if defined(FOVEA_CONFIG_HEADER)
#include FOVEA_CONFIG_HEADER
#elif defined(__has_include)
#if __has_include("fovea/fovea_user_config.h")
#include "fovea/fovea_user_config.h" /* the settings that were installed with the library */
#endif
#endif

/* ------------------------------------------------------------------------------------------------- attention */

/* Fields of fovea_attention_desc. */
#ifndef FOVEA_ENABLE_ADDITIVE
#define FOVEA_ENABLE_ADDITIVE 1 /* FOVEA_SCORE_ADDITIVE */
#endif
#ifndef FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_ENABLE_COMPUTE_I8 1 /* FOVEA_COMPUTE_I8: needs FOVEA_ENABLE_I8, _I4 or _GGML, and without these is 0 */
#endif
#ifndef FOVEA_ENABLE_I8_TENSORS
#define FOVEA_ENABLE_I8_TENSORS 1 /* queries and outputs of I8, scales and zero points of tensors, value_channel_scales,
                                     options that see a key_center: needs FOVEA_ENABLE_COMPUTE_I8 and FOVEA_ENABLE_I8,
                                     and without these is 0 */
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

/* Fields of fovea_attention_args. */
#ifndef FOVEA_ENABLE_ALIBI
#define FOVEA_ENABLE_ALIBI 1 /* alibi_slopes */
#endif
#ifndef FOVEA_ENABLE_BLOCK_MAPS
#define FOVEA_ENABLE_BLOCK_MAPS 1 /* block_map, a mask's at_end, and the functions that make them: fovea_block_map_*,
                                     fovea_tree_mask */
#endif
#ifndef FOVEA_ENABLE_LSE
#define FOVEA_ENABLE_LSE 1 /* lse */
#endif
#ifndef FOVEA_ENABLE_MASK_BYTE
#define FOVEA_ENABLE_MASK_BYTE 1 /* FOVEA_MASK_BYTE */
#endif
#ifndef FOVEA_ENABLE_MASK_F32
#define FOVEA_ENABLE_MASK_F32 1 /* FOVEA_MASK_F32; with FOVEA_ENABLE_F16 and _BF16 also masks of these formats */
#endif
#ifndef FOVEA_ENABLE_MODIFIERS
#define FOVEA_ENABLE_MODIFIERS 1 /* modifier */
#endif
#ifndef FOVEA_ENABLE_SCORES
#define FOVEA_ENABLE_SCORES 1 /* scores at any stage, attention weights included */
#endif
#ifndef FOVEA_ENABLE_SINKS
#define FOVEA_ENABLE_SINKS 1 /* sinks */
#endif
#ifndef FOVEA_ENABLE_SLOW_WORKSPACE
#define FOVEA_ENABLE_SLOW_WORKSPACE 1 /* slow_workspace; without it fovea_slow_workspace_bytes is 0 or SIZE_MAX */
#endif

/* The few-rows kernel; on scalar targets with FOVEA_PREFER_SIZE also the loops for a single query row. Without them
 * nothing is refused, but such calls are slower, and have the bits of portable_bits. */
#ifndef FOVEA_ENABLE_FEW_ROWS
#define FOVEA_ENABLE_FEW_ROWS 1
#endif

/* Sources of keys and values. */
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
#define FOVEA_ENABLE_RING 1 /* FOVEA_KV_RING, and pinned_tokens with any kind */
#endif

#ifndef FOVEA_ENABLE_EXECUTOR
#define FOVEA_ENABLE_EXECUTOR 1 /* executor, and max_workers above 1 */
#endif
#ifndef FOVEA_ENABLE_KEY_SPLITS
#define FOVEA_ENABLE_KEY_SPLITS 1 /* key_split_tokens */
#endif

/* fovea_stream_*. Without it the code of other attention calls is also a little smaller. */
#ifndef FOVEA_ENABLE_STREAMS
#define FOVEA_ENABLE_STREAMS 1
#endif

/* ----------------------------------------------------------------------------------------- integer attention */

#ifndef FOVEA_ENABLE_INTEGER_ATTENTION
#define FOVEA_ENABLE_INTEGER_ATTENTION 1 /* fovea_integer_attention */
#endif

/* ------------------------------------------------------------------------------------------------------ rope */

#ifndef FOVEA_ENABLE_ROPE_HALF_SPLIT
#define FOVEA_ENABLE_ROPE_HALF_SPLIT 1 /* FOVEA_ROPE_HALF_SPLIT */
#endif
#ifndef FOVEA_ENABLE_ROPE_INTERLEAVED
#define FOVEA_ENABLE_ROPE_INTERLEAVED 1 /* FOVEA_ROPE_INTERLEAVED */
#endif
#ifndef FOVEA_ENABLE_ROPE_TURNS
#define FOVEA_ENABLE_ROPE_TURNS 1 /* turns */
#endif

/* --------------------------------------------------------------------------------------------- formats besides f32 */

#ifndef FOVEA_ENABLE_BF16
#define FOVEA_ENABLE_BF16 1 /* FOVEA_BF16 */
#endif
#ifndef FOVEA_ENABLE_F16
#define FOVEA_ENABLE_F16 1 /* FOVEA_F16 */
#endif
#ifndef FOVEA_ENABLE_GGML
#define FOVEA_ENABLE_GGML 1 /* FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q4_1 */
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
#define FOVEA_ENABLE_TEXT 1 /* fovea_plan_describe, fovea_status_string: without it both give empty texts */
#endif

/* -------------------------------------------------------------------------------------------- size and place */

/* 1 = kernels have fewer versions of their loops, and call functions where else the code would be repeated: smaller and
 * slower. Attention has the same bits, except for few rows. The default is 1 with -Os, else 0. */
#ifndef FOVEA_PREFER_SIZE
#if defined(__OPTIMIZE_SIZE__)
#define FOVEA_PREFER_SIZE 1
#else
#define FOVEA_PREFER_SIZE 0
#endif
#endif

/* Names of sections in the object files, as strings: -DFOVEA_CODE_SECTION='".itcm.fovea"' and
 * -DFOVEA_DATA_SECTION='".dtcm.rodata.fovea"', for example. Your linker script places these sections, and your start-up
 * code copies them there before the first call. Not set: code and constants are where the compiler puts them.
 *   FOVEA_CODE_SECTION    for every function of the kernels: all code that runs for each element. Functions that check
 *                         arguments or loop over heads and tiles stay with the other code.
 *   FOVEA_DATA_SECTION    for the tables of kernel functions and the constants of kernels; never written. */
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

#if !FOVEA_ENABLE_I8 && !FOVEA_ENABLE_I4 && !FOVEA_ENABLE_GGML
#undef FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_ENABLE_COMPUTE_I8 0
#endif
#if !FOVEA_ENABLE_I8 || !FOVEA_ENABLE_COMPUTE_I8
#undef FOVEA_ENABLE_I8_TENSORS
#define FOVEA_ENABLE_I8_TENSORS 0
#endif

/* The library's own code reads these constants instead of the macros: all of it is compiled in every configuration, and
 * the compiler drops the code that cannot be reached. */
#ifdef __cplusplus
namespace fovea {
namespace config {
constexpr bool kAdditive = FOVEA_ENABLE_ADDITIVE != 0;
constexpr bool kAlibi = FOVEA_ENABLE_ALIBI != 0;
constexpr bool kBf16 = FOVEA_ENABLE_BF16 != 0;
constexpr bool kBlockMaps = FOVEA_ENABLE_BLOCK_MAPS != 0;
constexpr bool kComputeI8 = FOVEA_ENABLE_COMPUTE_I8 != 0;
constexpr bool kDropout = FOVEA_ENABLE_DROPOUT != 0;
constexpr bool kF16 = FOVEA_ENABLE_F16 != 0;
constexpr bool kExecutor = FOVEA_ENABLE_EXECUTOR != 0;
constexpr bool kFewRows = FOVEA_ENABLE_FEW_ROWS != 0;
constexpr bool kGgml = FOVEA_ENABLE_GGML != 0;
constexpr bool kI4 = FOVEA_ENABLE_I4 != 0;
constexpr bool kI8 = FOVEA_ENABLE_I8 != 0;
constexpr bool kI8Tensors = FOVEA_ENABLE_I8_TENSORS != 0;
constexpr bool kIntegerAttention = FOVEA_ENABLE_INTEGER_ATTENTION != 0;
constexpr bool kKeySplits = FOVEA_ENABLE_KEY_SPLITS != 0;
constexpr bool kLoad = FOVEA_ENABLE_LOAD != 0;
constexpr bool kLogSoftmax = FOVEA_ENABLE_LOG_SOFTMAX != 0;
constexpr bool kLse = FOVEA_ENABLE_LSE != 0;
constexpr bool kMaskByte = FOVEA_ENABLE_MASK_BYTE != 0;
constexpr bool kMaskF32 = FOVEA_ENABLE_MASK_F32 != 0;
constexpr bool kModifiers = FOVEA_ENABLE_MODIFIERS != 0;
constexpr bool kPages = FOVEA_ENABLE_PAGES != 0;
constexpr bool kPreferSize = FOVEA_PREFER_SIZE != 0;
constexpr bool kRagged = FOVEA_ENABLE_RAGGED != 0;
constexpr bool kRing = FOVEA_ENABLE_RING != 0;
constexpr bool kRopeHalfSplit = FOVEA_ENABLE_ROPE_HALF_SPLIT != 0;
constexpr bool kRopeInterleaved = FOVEA_ENABLE_ROPE_INTERLEAVED != 0;
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
constexpr bool kMask = kMaskF32 || kMaskByte;
/* keys may need copying before use */
constexpr bool kStaged = kF16 || kBf16 || kI8 || kI4 || kGgml || kRing || kPages || kLoad;
} /* namespace config */
} /* namespace fovea */
#endif

#endif /* FOVEA_FOVEA_CONFIG_H_ */
