/* A value for FOVEA_CONFIG_HEADER (see fovea_config.h) that keeps the smallest attention: f32, strided arrays, any
 * heads, causal limits, key lengths, one call; and softmax over contiguous rows. bench/README.md, "Size", has its size.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It does not change a macro that is already set. To get a feature back, use for example -DFOVEA_ENABLE_I8=1 for the
 * whole build (with CMake -DFOVEA_DEFINES=FOVEA_ENABLE_I8=1), or name a header of your own that defines it and then
 * includes this one. */
#ifndef FOVEA_CONFIG_MINIMAL_H_
#define FOVEA_CONFIG_MINIMAL_H_

#ifndef FOVEA_ENABLE_ADDITIVE
#define FOVEA_ENABLE_ADDITIVE 0
#endif
#ifndef FOVEA_ENABLE_ALIBI
#define FOVEA_ENABLE_ALIBI 0
#endif
#ifndef FOVEA_ENABLE_BF16
#define FOVEA_ENABLE_BF16 0
#endif
#ifndef FOVEA_ENABLE_BLOCK_MAPS
#define FOVEA_ENABLE_BLOCK_MAPS 0
#endif
#ifndef FOVEA_ENABLE_I8_TENSORS
#define FOVEA_ENABLE_I8_TENSORS 0
#endif
#ifndef FOVEA_ENABLE_COMPUTE_I8
#define FOVEA_ENABLE_COMPUTE_I8 0
#endif
#ifndef FOVEA_ENABLE_DROPOUT
#define FOVEA_ENABLE_DROPOUT 0
#endif
#ifndef FOVEA_ENABLE_EXECUTOR
#define FOVEA_ENABLE_EXECUTOR 0
#endif
#ifndef FOVEA_ENABLE_F16
#define FOVEA_ENABLE_F16 0
#endif
#ifndef FOVEA_ENABLE_FEW_ROWS
#define FOVEA_ENABLE_FEW_ROWS 0
#endif
#ifndef FOVEA_ENABLE_GGML
#define FOVEA_ENABLE_GGML 0
#endif
#ifndef FOVEA_ENABLE_I4
#define FOVEA_ENABLE_I4 0
#endif
#ifndef FOVEA_ENABLE_I8
#define FOVEA_ENABLE_I8 0
#endif
#ifndef FOVEA_ENABLE_INTEGER_ATTENTION
#define FOVEA_ENABLE_INTEGER_ATTENTION 0
#endif
#ifndef FOVEA_ENABLE_KEY_SPLITS
#define FOVEA_ENABLE_KEY_SPLITS 0
#endif
#ifndef FOVEA_ENABLE_LOAD
#define FOVEA_ENABLE_LOAD 0
#endif
#ifndef FOVEA_ENABLE_LOG_SOFTMAX
#define FOVEA_ENABLE_LOG_SOFTMAX 0
#endif
#ifndef FOVEA_ENABLE_LSE
#define FOVEA_ENABLE_LSE 0
#endif
#ifndef FOVEA_ENABLE_MASK_BYTE
#define FOVEA_ENABLE_MASK_BYTE 0
#endif
#ifndef FOVEA_ENABLE_MASK_F32
#define FOVEA_ENABLE_MASK_F32 0
#endif
#ifndef FOVEA_ENABLE_MODIFIERS
#define FOVEA_ENABLE_MODIFIERS 0
#endif
#ifndef FOVEA_ENABLE_PAGES
#define FOVEA_ENABLE_PAGES 0
#endif
#ifndef FOVEA_ENABLE_RAGGED
#define FOVEA_ENABLE_RAGGED 0
#endif
#ifndef FOVEA_ENABLE_RING
#define FOVEA_ENABLE_RING 0
#endif
#ifndef FOVEA_ENABLE_ROPE_HALF_SPLIT
#define FOVEA_ENABLE_ROPE_HALF_SPLIT 0
#endif
#ifndef FOVEA_ENABLE_ROPE_INTERLEAVED
#define FOVEA_ENABLE_ROPE_INTERLEAVED 0
#endif
#ifndef FOVEA_ENABLE_ROPE_TURNS
#define FOVEA_ENABLE_ROPE_TURNS 0
#endif
#ifndef FOVEA_ENABLE_SCORES
#define FOVEA_ENABLE_SCORES 0
#endif
#ifndef FOVEA_ENABLE_SINKS
#define FOVEA_ENABLE_SINKS 0
#endif
#ifndef FOVEA_ENABLE_SLOW_WORKSPACE
#define FOVEA_ENABLE_SLOW_WORKSPACE 0
#endif
#ifndef FOVEA_ENABLE_SOFTCAP
#define FOVEA_ENABLE_SOFTCAP 0
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_MASK
#define FOVEA_ENABLE_SOFTMAX_MASK 0
#endif
#ifndef FOVEA_ENABLE_SOFTMAX_STRIDED
#define FOVEA_ENABLE_SOFTMAX_STRIDED 0
#endif
#ifndef FOVEA_ENABLE_STREAMS
#define FOVEA_ENABLE_STREAMS 0
#endif
#ifndef FOVEA_ENABLE_TEXT
#define FOVEA_ENABLE_TEXT 0
#endif
#ifndef FOVEA_ENABLE_WINDOWS
#define FOVEA_ENABLE_WINDOWS 0
#endif

#endif /* FOVEA_CONFIG_MINIMAL_H_ */
