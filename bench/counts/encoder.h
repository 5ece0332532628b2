/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOVEA_BENCH_COUNTS_ENCODER_H_
#define FOVEA_BENCH_COUNTS_ENCODER_H_

#include "fovea/fovea.h"

enum { kEncoderMostTokens = 98, kEncoderMostDim = 64, kEncoderMostHidden = 256 };

/* An encoder layer on int8 tensors, of random codes: normalisation before attention and before the two linear layers,
 * with GELU between these, and sums with what went in. `hidden` is the number of units between the linear layers. The
 * sizes are at most those above (FOVEA_ERR_SIZE). Makes the calls of the layer `calls` times, each on what the one before made. *sum
 * becomes the sum of all codes. */
fovea_status call_encoder(int heads, int tokens, int hidden, int head_dim, int calls, double* sum);

#endif /* FOVEA_BENCH_COUNTS_ENCODER_H_ */
