/* fovea/selftest.h: whether this build, on this machine, gives the bits that all others give.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/selftest.h>
 *     #include <stdio.h>
 *
 *     static _Alignas(FOVEA_WORKSPACE_ALIGNMENT) unsigned char memory[FOVEA_SELFTEST_BYTES];
 *
 *     int main(void) {
 *       const fovea_selftest_part parts[] = {FOVEA_SELFTEST_PARTS};
 *       for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p) {
 *         fovea_selftest_args args = {.struct_bytes = sizeof args, .memory = memory, .memory_bytes = sizeof memory};
 *         fovea_selftest_result result;
 *         for (fovea_status status; (status = parts[p](&args, &result)) != FOVEA_ERR_CAPACITY; ++args.call) {
 *           if (status == FOVEA_ERR_LEFT_OUT) continue;  // the call needs a feature that this build leaves out
 *           if (status != FOVEA_OK || result.digest != result.published) {
 *             printf("differs: %s\n", result.name);
 *             return 1;
 *           }
 *         }
 *       }
 *       return 0;
 *     }
 *
 * A part is a function with some calls of one operator. Each makes its inputs from a small generator of integers, runs
 * the operator, and gives a digest of what was written, next to the digest that is published: the one that all machines
 * of its kind have. A program links only the parts that it names, and the operators that these call. The conventions of
 * base.h hold, but a part may need 2 KiB of stack more than the operator that it calls. examples/selftest is a program
 * for hosts and boards.
 *
 * Which machines have the same digest.
 *   of integer layers, integer attention, products    all
 *   of integers and halves, Hadamard transforms, formats, and
 *   the layers of tensors.h
 *   of a softmax of rows                              those that fuse multiply-adds alike and have as many partial
 *                                                     sums: 16, but fewer with one lane and on Helium
 *   of all other calls                                those that fuse multiply-adds, and those that do not
 * Calls have portable_bits where there is such a field: without it, f32 products of few rows have the bits of a
 * target's vectors, and no digest. Subnormal numbers, which some processors set to 0, do not occur. */
#ifndef FOVEA_SELFTEST_H_
#define FOVEA_SELFTEST_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* Bytes of memory that are enough for each call on any target of the architecture that the program is compiled for. */
#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(__riscv_vector) || defined(__ARM_NEON) || \
    defined(__ARM_FEATURE_MVE) || defined(__wasm_simd128__)
#define FOVEA_SELFTEST_BYTES 98304
#else
#define FOVEA_SELFTEST_BYTES 32768
#endif

/* The arguments of a part. Set all to 0 first, then fill in. */
typedef struct fovea_selftest_args {
  uint32_t struct_bytes;       /* sizeof(fovea_selftest_args) */
  fovea_target target;         /* FOVEA_TARGET_BEST, or one that must be used (FOVEA_ERR_TARGET). Integer attention,
                                  integer layers and quantization have one kernel in a build, and do not read it */
  uint64_t processor_features; /* as in fovea_attention_desc */
  uint32_t call;       /* the number of the call in the part, from 0 on. FOVEA_ERR_CAPACITY where there is none */
  void* memory;        /* required, 64-byte aligned (FOVEA_ERR_ALIGNMENT): for inputs, outputs and workspace */
  size_t memory_bytes; /* FOVEA_SELFTEST_BYTES are enough (FOVEA_ERR_WORKSPACE) */
  size_t reserved;     /* 0 (FOVEA_ERR_STRUCT): for later versions */
} fovea_selftest_args;

/* What a call gave. */
typedef struct fovea_selftest_result {
  const char* name;      /* of the call, as "softmax: rows" */
  const char* shared_by; /* which targets have the published digest: "all", "fused", ... */
  uint64_t digest;       /* of what the call wrote here; 0 unless the status is FOVEA_OK */
  uint64_t published;    /* what all targets of this kind have */
} fovea_selftest_result;

/* A part: writes result and the memory, unless these arguments are refused. FOVEA_OK says that the call ran: compare
 * the two digests. FOVEA_ERR_LEFT_OUT says that this build leaves out what the call needs, FOVEA_ERR_WORKSPACE that
 * the memory is too small. Any other status that comes with a name is that of a call which was refused, though it is
 * valid. */
typedef fovea_status (*fovea_selftest_part)(const fovea_selftest_args* args, fovea_selftest_result* result);

fovea_status fovea_selftest_attention(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_cache(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_conv1d(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_delta(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_halves(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_integer_attention(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_integer_layers(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_linear(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_multihead(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_norm(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_quantize(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_rope(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_hadamard(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_softmax(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_sources(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_stream(const fovea_selftest_args* args, fovea_selftest_result* result);
fovea_status fovea_selftest_tensors(const fovea_selftest_args* args, fovea_selftest_result* result);

/* All parts, to initialise an array with; or those that a program wants. On microcontrollers the six in the first lines
 * are small, and need no plan. */
#ifndef FOVEA_SELFTEST_PARTS
#define FOVEA_SELFTEST_PARTS                                                                                    \
  fovea_selftest_integer_attention, fovea_selftest_integer_layers, fovea_selftest_softmax, fovea_selftest_norm, \
      fovea_selftest_rope, fovea_selftest_hadamard, fovea_selftest_attention, fovea_selftest_sources,           \
      fovea_selftest_stream, fovea_selftest_cache, fovea_selftest_linear, fovea_selftest_multihead,             \
      fovea_selftest_delta, fovea_selftest_conv1d, fovea_selftest_tensors, fovea_selftest_quantize,             \
      fovea_selftest_halves
#endif

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_SELFTEST_H_ */
