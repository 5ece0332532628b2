/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the layers of fovea/integer_layers.h, for calls.c. */
#ifndef FOVEA_BENCH_COUNTS_INTEGER_LAYERS_H_
#define FOVEA_BENCH_COUNTS_INTEGER_LAYERS_H_

#include "fovea/fovea.h"

/* Whether a word names a layer: integer_norm, integer_rms_norm, integer_add, integer_multiply, integer_table,
 * integer_hard_swish, integer_mean. */
int is_integer_layer(const char* word);

/* Calls the layer for rows of random codes. FOVEA_ERR_SIZE where there is no room for them. *sum is that of the codes
 * of y. */
fovea_status call_integer_layer(const char* layer, int tokens, int dim, int calls, double* sum);

#endif /* FOVEA_BENCH_COUNTS_INTEGER_LAYERS_H_ */
