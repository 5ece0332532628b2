/* fovea: attention on small machines.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header includes the whole C interface (C99). Each header below is the manual of what it declares, can be
 * included alone, and begins with a program.
 *
 *   read first
 *     base.h               statuses, targets, formats, arrays, executors, and the conventions of all headers
 *   attention
 *     attention.h          attention over keys and values in arrays: description, plan, arguments, call; edge cases
 *     kv_source.h          the other sources of keys and values: rings, pages, a loader
 *     kv_cache.h           a cache: keys and values of sequences that grow, in any format
 *     block_map.h          block maps: which blocks of keys a block of queries sees
 *     stream.h             streams: the keys are pushed in parts and need not stay in memory
 *     integer_attention.h  attention on int8 tensors without floating point
 *     delta.h              linear attention and delta rules: a matrix as the state, instead of keys and values
 *   layers around attention
 *     multihead.h          multi-head attention with its four linear layers
 *     linear.h             linear layers with weights in any format
 *     layers.h             softmax, rotary embedding, Hadamard transform, normalisation, activation, short convolution
 *     integer_layers.h     normalisation, sums, products, activations and means of int8 tensors without floating point
 *     tensors.h            sums, products, pooling, embedding rows, and the largest of a row
 *   memory and numbers
 *     workspace.h          the sizes of workspaces, states and caches as constant expressions, for static arrays
 *     quantize.h           scales and zero points of int8 tensors
 *     selftest.h           whether a build, on its machine, gives the bits that all others give
 *   build
 *     fovea_config.h       switches that leave features out; sections for code and tables. It is not included here
 *     lean/                minimal.h, streaming.h, int8.h: this header for one of the small configurations that a
 *                          prebuilt archive has as well. -DFOVEA_USE=streaming is another way to say so
 *
 * What the library computes is said in attention.h. One pass over the keys keeps a running maximum and a running sum
 * for each query (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., FlashAttention, arXiv 2205.14135). The matrix
 * of scores is never stored.
 *
 * The library never allocates, throws, prints, aborts, reads the environment, starts a thread or keeps global state. It
 * accesses no byte outside the buffers that the caller gives to it. */
#ifndef FOVEA_FOVEA_H_
#define FOVEA_FOVEA_H_

#include "fovea/attention.h"
#include "fovea/base.h"
#include "fovea/block_map.h"
#include "fovea/delta.h"
#include "fovea/integer_attention.h"
#include "fovea/integer_layers.h"
#include "fovea/kv_cache.h"
#include "fovea/kv_source.h"
#include "fovea/layers.h"
#include "fovea/linear.h"
#include "fovea/multihead.h"
#include "fovea/quantize.h"
#include "fovea/selftest.h"
#include "fovea/stream.h"
#include "fovea/tensors.h"
#include "fovea/workspace.h"

#endif /* FOVEA_FOVEA_H_ */
