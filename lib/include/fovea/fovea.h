/* fovea: attention on small machines.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The whole C interface (C99): its headers are its manual, and each can be included alone.
 *
 *   base.h               what all of fovea's headers share: statuses, targets, types of elements, arrays, executors
 *   attention.h          attention over keys and values that are there: description, plan, arguments, call
 *   block_map.h          which blocks of keys a block of queries looks at
 *   kv_source.h          where attention takes keys and values from: arrays, rings, pages, or a callback
 *   stream.h             attention over keys that come in pieces
 *   kv_cache.h           the keys and values of sequences that grow
 *   integer_attention.h  attention on int8 tensors without floating point
 *   linear.h             linear layers
 *   multihead.h          layers of multi-head attention
 *   delta.h              linear attention and delta rules: a state instead of keys and values
 *   layers.h             softmax, rotary embedding, normalisation, activation, short convolution
 *   quantize.h           scales and zero points of int8 tensors
 *   workspace.h          the sizes of workspaces, states and caches as constant expressions, for static arrays
 *
 * What the library does. Given queries, keys and values in buffers that the caller owns, it computes
 *
 *     out[i] = sum_j w[i][j] * value[j],   w[i] = softmax_j(score(i, j)),   score(i, j) = scale * dot(query[i], key[j])
 *
 * (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, eq. 1; for other scores see fovea_score) with the
 * options that models use today. It does so in one pass over the keys, with a running maximum and sum (Milakov and
 * Gimelshein, arXiv 1805.02867; Dao et al., FlashAttention, arXiv 2205.14135), so the matrix of scores never exists.
 *
 * What it never does: allocate, throw, print, abort, read the environment, start a thread, keep global state, or touch
 * a byte outside the buffers it was given. */
#ifndef FOVEA_FOVEA_H_
#define FOVEA_FOVEA_H_

#include "fovea/attention.h"
#include "fovea/base.h"
#include "fovea/block_map.h"
#include "fovea/delta.h"
#include "fovea/integer_attention.h"
#include "fovea/kv_cache.h"
#include "fovea/kv_source.h"
#include "fovea/layers.h"
#include "fovea/linear.h"
#include "fovea/multihead.h"
#include "fovea/quantize.h"
#include "fovea/stream.h"
#include "fovea/workspace.h"

#endif /* FOVEA_FOVEA_H_ */
