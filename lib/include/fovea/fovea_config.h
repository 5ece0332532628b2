/* fovea/fovea_config.h: which features of fovea are compiled, and in which sections code and tables are placed.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * How to set a macro. Each macro of this header may be set in two ways: with -D for the whole build, or in a header of
 * your own, which -DFOVEA_CONFIG_HEADER='"my_config.h"' names. With CMake write
 * -DFOVEA_DEFINES="FOVEA_ENABLE_ALIBI=0;..." and -DFOVEA_CONFIG_HEADER=<path of the file>: programs that use the
 * installed library then see the same settings. config/minimal.h is such a header: it leaves out every feature.
 * config/streaming.h and config/int8.h keep what firmware of one kind needs. One archive can have all three as well as
 * the default: see lean/names.h. -DFOVEA_FEATURES="i8;ring" of CMake compiles these two features and no other.
 *
 * Features. 1 = compiled in; 0 = left out; not set = FOVEA_ENABLE_DEFAULT, which is 1 if that is not set either. A
 * description or arguments that ask for a feature that is left out are refused with FOVEA_ERR_LEFT_OUT. All other
 * calls give the same bits either way. bench/README.md, "Size", says what each feature costs in bytes. A static link
 * drops functions that nothing calls, without any setting here. */
#ifndef FOVEA_FOVEA_CONFIG_H_
#define FOVEA_FOVEA_CONFIG_H_

#if defined(FOVEA_CONFIG_HEADER)
#include FOVEA_CONFIG_HEADER
#elif defined(__has_include)
#if __has_include("fovea/fovea_user_config.h")
#include "fovea/fovea_user_config.h" /* the settings that were installed with the library */
#endif
#endif

/* 1 or 0, for each feature that is not set. With 0 a build has the features that it names, and a later version of fovea
 * adds none:
 *     #define FOVEA_ENABLE_DEFAULT 0
 *     #define FOVEA_ENABLE_I8 1
 * platform/config.py writes such a header from a description of calls. */
#ifndef FOVEA_ENABLE_DEFAULT
#define FOVEA_ENABLE_DEFAULT 1
#endif

/* ------------------------------------------------------------------------------------------------- attention */

/* Fields of fovea_attention_desc. */
#ifndef FOVEA_ENABLE_ADDITIVE
#define FOVEA_ENABLE_ADDITIVE FOVEA_ENABLE_DEFAULT /* FOVEA_SCORE_ADDITIVE */
#endif
#if !defined(FOVEA_ENABLE_COMPUTE_F16) && defined(__ARM_ARCH_PROFILE) && !defined(__ARM_FEATURE_MVE)
#if __ARM_ARCH_PROFILE == 'M' /* without instructions for it: left out, unless a build asks for the same bits */
#define FOVEA_ENABLE_COMPUTE_F16 0
#endif
#endif
#ifndef FOVEA_ENABLE_COMPUTE_F16
#define FOVEA_ENABLE_COMPUTE_F16 FOVEA_ENABLE_DEFAULT /* FOVEA_COMPUTE_F16: needs FOVEA_ENABLE_F16, and without it
                                                         is 0; on Cortex-M without Helium it is 0 by default */
#endif
#ifndef FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_ENABLE_COMPUTE_I8 FOVEA_ENABLE_DEFAULT /* FOVEA_COMPUTE_I8: needs FOVEA_ENABLE_I8, _I4 or _GGML, and
                                                        without these is 0; for linear layers FOVEA_ENABLE_I8 */
#endif
#ifndef FOVEA_ENABLE_I8_TENSORS
#define FOVEA_ENABLE_I8_TENSORS FOVEA_ENABLE_DEFAULT /* queries and outputs of I8, scales and zero points of tensors,
                                                        value_channel_scales, options that see a key_center: needs
                                                        FOVEA_ENABLE_COMPUTE_I8 and FOVEA_ENABLE_I8, and without
                                                        these is 0 */
#endif
#ifndef FOVEA_ENABLE_DROPOUT
#define FOVEA_ENABLE_DROPOUT FOVEA_ENABLE_DEFAULT /* dropout */
#endif
#ifndef FOVEA_ENABLE_HADAMARD
#define FOVEA_ENABLE_HADAMARD FOVEA_ENABLE_DEFAULT /* hadamard, of fovea_kv_cache, too; fovea_hadamard is always
                                                      there */
#endif
#ifndef FOVEA_ENABLE_SOFTCAP
#define FOVEA_ENABLE_SOFTCAP FOVEA_ENABLE_DEFAULT /* softcap */
#endif
#ifndef FOVEA_ENABLE_WINDOWS
#define FOVEA_ENABLE_WINDOWS FOVEA_ENABLE_DEFAULT /* window_left, window_right */
#endif

/* Fields of fovea_attention_args. */
#ifndef FOVEA_ENABLE_ALIBI
#define FOVEA_ENABLE_ALIBI FOVEA_ENABLE_DEFAULT /* alibi_slopes */
#endif
#ifndef FOVEA_ENABLE_BLOCK_MAPS
#define FOVEA_ENABLE_BLOCK_MAPS FOVEA_ENABLE_DEFAULT /* block_map, a mask's at_end, and the functions that make them:
                                                        fovea_block_map_*, fovea_tree_mask */
#endif
#if !defined(FOVEA_ENABLE_KEY_MASS) && defined(__ARM_ARCH_PROFILE)
#if __ARM_ARCH_PROFILE == 'M' /* few microcontrollers evict tokens: left out, unless a build asks for it */
#define FOVEA_ENABLE_KEY_MASS 0
#endif
#endif
#ifndef FOVEA_ENABLE_KEY_MASS
#define FOVEA_ENABLE_KEY_MASS FOVEA_ENABLE_DEFAULT /* key_mass, and key_mass_queries of a description; on Cortex-M it
                                                      is 0 by default */
#endif
#ifndef FOVEA_ENABLE_LSE
#define FOVEA_ENABLE_LSE FOVEA_ENABLE_DEFAULT /* lse */
#endif
#ifndef FOVEA_ENABLE_MASK_BYTE
#define FOVEA_ENABLE_MASK_BYTE FOVEA_ENABLE_DEFAULT /* FOVEA_MASK_BYTE */
#endif
#ifndef FOVEA_ENABLE_MASK_F32
#define FOVEA_ENABLE_MASK_F32 FOVEA_ENABLE_DEFAULT /* FOVEA_MASK_F32; with FOVEA_ENABLE_F16 and _BF16 also masks of
                                                      these formats */
#endif
#ifndef FOVEA_ENABLE_MODIFIERS
#define FOVEA_ENABLE_MODIFIERS FOVEA_ENABLE_DEFAULT /* modifier */
#endif
#ifndef FOVEA_ENABLE_SCORES
#define FOVEA_ENABLE_SCORES FOVEA_ENABLE_DEFAULT /* scores at any stage, attention weights included */
#endif
#ifndef FOVEA_ENABLE_SINKS
#define FOVEA_ENABLE_SINKS FOVEA_ENABLE_DEFAULT /* sinks */
#endif
#ifndef FOVEA_ENABLE_SLOW_WORKSPACE
#define FOVEA_ENABLE_SLOW_WORKSPACE FOVEA_ENABLE_DEFAULT /* slow_workspace; without it the function of its
                                                            bytes returns 0 or SIZE_MAX */
#endif

/* The few-rows kernel; on scalar targets with FOVEA_PREFER_SIZE also the loops for a single query row. Without them
 * nothing is refused, but such calls are slower, and have the bits of portable_bits. */
#ifndef FOVEA_ENABLE_FEW_ROWS
#define FOVEA_ENABLE_FEW_ROWS FOVEA_ENABLE_DEFAULT
#endif

/* Sources of keys and values. */
#ifndef FOVEA_ENABLE_LOAD
#define FOVEA_ENABLE_LOAD FOVEA_ENABLE_DEFAULT /* FOVEA_KV_LOAD */
#endif
#ifndef FOVEA_ENABLE_PAGES
#define FOVEA_ENABLE_PAGES FOVEA_ENABLE_DEFAULT /* FOVEA_KV_PAGED */
#endif
#if !defined(FOVEA_ENABLE_PREFIX) && defined(__ARM_ARCH_PROFILE)
#if __ARM_ARCH_PROFILE == 'M' /* left out, unless a build asks for it: other calls keep their size */
#define FOVEA_ENABLE_PREFIX 0
#endif
#endif
#ifndef FOVEA_ENABLE_PREFIX
#define FOVEA_ENABLE_PREFIX FOVEA_ENABLE_DEFAULT /* prefixes of a source, max_prefix_tokens; on
                                                    Cortex-M it is 0 by default */
#endif
#ifndef FOVEA_ENABLE_RAGGED
#define FOVEA_ENABLE_RAGGED FOVEA_ENABLE_DEFAULT /* q_offsets, kv_offsets, and offsets of an append */
#endif
#ifndef FOVEA_ENABLE_RING
#define FOVEA_ENABLE_RING FOVEA_ENABLE_DEFAULT /* FOVEA_KV_RING, and pinned_tokens with any kind */
#endif

#ifndef FOVEA_ENABLE_EXECUTOR
#define FOVEA_ENABLE_EXECUTOR FOVEA_ENABLE_DEFAULT /* executor, and max_workers above 1 */
#endif
#ifndef FOVEA_ENABLE_KEY_SPLITS
#define FOVEA_ENABLE_KEY_SPLITS FOVEA_ENABLE_DEFAULT /* key_split_tokens */
#endif

#ifndef FOVEA_ENABLE_IMAGES
#define FOVEA_ENABLE_IMAGES FOVEA_ENABLE_DEFAULT /* fovea_kv_image_bytes, fovea_kv_export, fovea_kv_import; with
                                                    FOVEA_ENABLE_PREFIX fovea_kv_image_prefix */
#endif

/* fovea_stream_*. Without it the code of other attention calls is also a little smaller. */
#ifndef FOVEA_ENABLE_STREAMS
#define FOVEA_ENABLE_STREAMS FOVEA_ENABLE_DEFAULT
#endif

/* ------------------------------------------------------------------------------------------ linear attention */

#ifndef FOVEA_ENABLE_GENERAL_DELTA
#define FOVEA_ENABLE_GENERAL_DELTA FOVEA_ENABLE_DEFAULT /* FOVEA_DELTA_RULE_GENERAL */
#endif

/* ----------------------------------------------------------------------------------------- integer attention */

#ifndef FOVEA_ENABLE_INTEGER_ATTENTION
#define FOVEA_ENABLE_INTEGER_ATTENTION FOVEA_ENABLE_DEFAULT /* fovea_integer_attention */
#endif

/* ------------------------------------------------------------------------- normalisation, activation, linear */

#ifndef FOVEA_ENABLE_GELU
#define FOVEA_ENABLE_GELU FOVEA_ENABLE_DEFAULT /* FOVEA_ACTIVATION_GELU */
#endif
#ifndef FOVEA_ENABLE_LAYER_NORM
#define FOVEA_ENABLE_LAYER_NORM FOVEA_ENABLE_DEFAULT /* FOVEA_NORM_LAYER */
#endif
#ifndef FOVEA_ENABLE_LINEAR_ACTIVATION
#define FOVEA_ENABLE_LINEAR_ACTIVATION FOVEA_ENABLE_DEFAULT /* activation of fovea_linear_args */
#endif
#ifndef FOVEA_ENABLE_RESIDUAL
#define FOVEA_ENABLE_RESIDUAL FOVEA_ENABLE_DEFAULT /* residual and sum of fovea_norm_args */
#endif
#ifndef FOVEA_ENABLE_TANH
#define FOVEA_ENABLE_TANH FOVEA_ENABLE_DEFAULT /* FOVEA_ACTIVATION_TANH */
#endif

/* ------------------------------------------------------------------------------------------------------ rope */

#ifndef FOVEA_ENABLE_ROPE_HALF_SPLIT
#define FOVEA_ENABLE_ROPE_HALF_SPLIT FOVEA_ENABLE_DEFAULT /* FOVEA_ROPE_HALF_SPLIT */
#endif
#ifndef FOVEA_ENABLE_ROPE_INTERLEAVED
#define FOVEA_ENABLE_ROPE_INTERLEAVED FOVEA_ENABLE_DEFAULT /* FOVEA_ROPE_INTERLEAVED */
#endif
#ifndef FOVEA_ENABLE_ROPE_TURNS
#define FOVEA_ENABLE_ROPE_TURNS FOVEA_ENABLE_DEFAULT /* turns */
#endif

/* --------------------------------------------------------------------------------------------- formats besides f32 */

#ifndef FOVEA_ENABLE_BF16
#define FOVEA_ENABLE_BF16 FOVEA_ENABLE_DEFAULT /* FOVEA_BF16 */
#endif
#ifndef FOVEA_ENABLE_F16
#define FOVEA_ENABLE_F16 FOVEA_ENABLE_DEFAULT /* FOVEA_F16 */
#endif
#ifndef FOVEA_ENABLE_GGML
#define FOVEA_ENABLE_GGML FOVEA_ENABLE_DEFAULT /* FOVEA_Q8_0, FOVEA_Q4_0, FOVEA_Q4_1 */
#endif
#ifndef FOVEA_ENABLE_I4
#define FOVEA_ENABLE_I4 FOVEA_ENABLE_DEFAULT /* FOVEA_I4 */
#endif
#ifndef FOVEA_ENABLE_I8
#define FOVEA_ENABLE_I8 FOVEA_ENABLE_DEFAULT /* FOVEA_I8 */
#endif
#if !defined(FOVEA_ENABLE_IQ) && defined(__ARM_ARCH_PROFILE)
#if __ARM_ARCH_PROFILE == 'M' /* left out, unless a build asks for it */
#define FOVEA_ENABLE_IQ 0
#endif
#endif
#ifndef FOVEA_ENABLE_IQ
#define FOVEA_ENABLE_IQ FOVEA_ENABLE_DEFAULT /* FOVEA_Q2_K, FOVEA_Q3_K, FOVEA_Q5_0, FOVEA_Q5_1, FOVEA_Q5_K,
                                                FOVEA_IQ4_NL, FOVEA_IQ4_XS, FOVEA_MXFP4, FOVEA_TQ2_0. 0 by default on
                                                a Cortex-M. Files of Q3_K_M and Q5_K_M need K_QUANTS, too */
#endif
#ifndef FOVEA_ENABLE_K_QUANTS
#define FOVEA_ENABLE_K_QUANTS FOVEA_ENABLE_DEFAULT /* FOVEA_Q4_K, FOVEA_Q6_K */
#endif

/* --------------------------------------------------------------------------------------------------- softmax */

#ifndef FOVEA_ENABLE_LOG_SOFTMAX
#define FOVEA_ENABLE_LOG_SOFTMAX FOVEA_ENABLE_DEFAULT /* fovea_log_softmax */
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_MASK
#define FOVEA_ENABLE_SOFTMAX_MASK FOVEA_ENABLE_DEFAULT /* mask */
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_STRIDED
#define FOVEA_ENABLE_SOFTMAX_STRIDED FOVEA_ENABLE_DEFAULT /* inner > 1, and any stride of the axis but 1 */
#endif

/* ----------------------------------------------------------------------------------------------------- texts */

#ifndef FOVEA_ENABLE_TEXT
#define FOVEA_ENABLE_TEXT FOVEA_ENABLE_DEFAULT /* fovea_attention_plan_describe, fovea_status_string: without
                                                  it both give empty texts */
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

/* AArch64: 1 = kernels for dotprod, i8mm and FEAT_FP16 are there though the compiler's flags do not name these
 * instructions, and a call chooses by processor_features. 0 = only for those that the flags name: bits of others in
 * processor_features change nothing. The default is 1 for a system on whose processors one program runs, and 0 without
 * a system, where -mcpu names the processor. */
#ifndef FOVEA_NEON_EXTENSIONS
#if defined(__linux__) || defined(__unix__) || defined(__APPLE__) || defined(_WIN32) || defined(__QNX__)
#define FOVEA_NEON_EXTENSIONS 1
#else
#define FOVEA_NEON_EXTENSIONS 0
#endif
#endif

/* 0 = an image whose calls were checked elsewhere, by the same program with checks on a PC for example. They are
 * refused only with FOVEA_ERR_BUDGET, _CAPACITY, _EXECUTOR, _FULL, _IMAGE, _LEFT_OUT, _LOAD, _STATE, _TARGET and
 * _WORKSPACE, and fovea_kv_import also with _LENGTH and _SIZE. A call that would have any other status does anything at
 * all: it may write outside of its arrays. All other calls give the same bits. */
#ifndef FOVEA_CHECKS
#define FOVEA_CHECKS 1
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

/* ----------------------------------------------------------------------------------- instructions of your own */

/* Files of yours for instructions that the library does not know, in builds with the scalar backend. Paths as strings:
 * -DFOVEA_DOT_HEADER='"my_dot.h"'. lib/src/ground/simd/VOCABULARY.md, "Instructions of your own", says what is in them.
 *   FOVEA_DOT_HEADER      an instruction that multiplies signed bytes and adds up the products
 *   FOVEA_SIMD_HEADER     the whole vocabulary of the kernels
 *   FOVEA_SIMD_LANES      with the latter: floats in a vector, 1, 4, 8 or 16. Not set: 1. Programs that have static
 *                         workspaces are compiled with it, too
 *   FOVEA_SIMD_FUSES      with the latter: 1 if MulAdd rounds once, else 0. Not set: as the compiler's flags say */

#if !FOVEA_ENABLE_F16
#undef FOVEA_ENABLE_COMPUTE_F16
#define FOVEA_ENABLE_COMPUTE_F16 0
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
constexpr bool kChecks = FOVEA_CHECKS != 0;
constexpr bool kComputeF16 = FOVEA_ENABLE_COMPUTE_F16 != 0;
constexpr bool kComputeI8 = FOVEA_ENABLE_COMPUTE_I8 != 0;
constexpr bool kDropout = FOVEA_ENABLE_DROPOUT != 0;
constexpr bool kF16 = FOVEA_ENABLE_F16 != 0;
constexpr bool kExecutor = FOVEA_ENABLE_EXECUTOR != 0;
constexpr bool kFewRows = FOVEA_ENABLE_FEW_ROWS != 0;
constexpr bool kGelu = FOVEA_ENABLE_GELU != 0;
constexpr bool kGgml = FOVEA_ENABLE_GGML != 0;
constexpr bool kI4 = FOVEA_ENABLE_I4 != 0;
constexpr bool kI8 = FOVEA_ENABLE_I8 != 0;
constexpr bool kI8Tensors = FOVEA_ENABLE_I8_TENSORS != 0;
constexpr bool kImages = FOVEA_ENABLE_IMAGES != 0;
constexpr bool kIntegerAttention = FOVEA_ENABLE_INTEGER_ATTENTION != 0;
constexpr bool kIq = FOVEA_ENABLE_IQ != 0;
constexpr bool kKeyMass = FOVEA_ENABLE_KEY_MASS != 0;
constexpr bool kKQuants = FOVEA_ENABLE_K_QUANTS != 0;
constexpr bool kKeySplits = FOVEA_ENABLE_KEY_SPLITS != 0;
constexpr bool kLayerNorm = FOVEA_ENABLE_LAYER_NORM != 0;
constexpr bool kLinearActivation = FOVEA_ENABLE_LINEAR_ACTIVATION != 0;
constexpr bool kLoad = FOVEA_ENABLE_LOAD != 0;
constexpr bool kLogSoftmax = FOVEA_ENABLE_LOG_SOFTMAX != 0;
constexpr bool kLse = FOVEA_ENABLE_LSE != 0;
constexpr bool kMaskByte = FOVEA_ENABLE_MASK_BYTE != 0;
constexpr bool kMaskF32 = FOVEA_ENABLE_MASK_F32 != 0;
constexpr bool kModifiers = FOVEA_ENABLE_MODIFIERS != 0;
constexpr bool kPages = FOVEA_ENABLE_PAGES != 0;
constexpr bool kPreferSize = FOVEA_PREFER_SIZE != 0;
constexpr bool kPrefix = FOVEA_ENABLE_PREFIX != 0;
constexpr bool kRagged = FOVEA_ENABLE_RAGGED != 0;
constexpr bool kGeneralDelta = FOVEA_ENABLE_GENERAL_DELTA != 0;
constexpr bool kResidual = FOVEA_ENABLE_RESIDUAL != 0;
constexpr bool kRing = FOVEA_ENABLE_RING != 0;
constexpr bool kRopeHalfSplit = FOVEA_ENABLE_ROPE_HALF_SPLIT != 0;
constexpr bool kRopeInterleaved = FOVEA_ENABLE_ROPE_INTERLEAVED != 0;
constexpr bool kRopeTurns = FOVEA_ENABLE_ROPE_TURNS != 0;
constexpr bool kHadamard = FOVEA_ENABLE_HADAMARD != 0;
constexpr bool kScores = FOVEA_ENABLE_SCORES != 0;
constexpr bool kSinks = FOVEA_ENABLE_SINKS != 0;
constexpr bool kSlowWorkspace = FOVEA_ENABLE_SLOW_WORKSPACE != 0;
constexpr bool kSoftcap = FOVEA_ENABLE_SOFTCAP != 0;
constexpr bool kSoftmaxMask = FOVEA_ENABLE_SOFTMAX_MASK != 0;
constexpr bool kSoftmaxStrided = FOVEA_ENABLE_SOFTMAX_STRIDED != 0;
constexpr bool kStreams = FOVEA_ENABLE_STREAMS != 0;
constexpr bool kTanh = FOVEA_ENABLE_TANH != 0;
constexpr bool kText = FOVEA_ENABLE_TEXT != 0;
constexpr bool kWindows = FOVEA_ENABLE_WINDOWS != 0;

constexpr bool kStates = kStreams || kKeySplits; /* partial states */
constexpr bool kMask = kMaskF32 || kMaskByte;
/* keys may need copying before use */
constexpr bool kStaged = kF16 || kBf16 || kI8 || kI4 || kGgml || kRing || kPages || kLoad || kPrefix;
} /* namespace config */
} /* namespace fovea */
#endif

#endif /* FOVEA_FOVEA_CONFIG_H_ */
