/* SPDX-License-Identifier: Apache-2.0
 *
 * The shapes of the model, and its weights, which train.py writes to weights.bin: constants, so that they stay in
 * flash. All tensors are int8 with one scale each and a zero point of 0. */
#ifndef FOVEA_EXAMPLES_KEYWORDS_WEIGHTS_H_
#define FOVEA_EXAMPLES_KEYWORDS_WEIGHTS_H_

#include <stdint.h>

#include "front_end.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kClasses = 13, /* the keywords, and "none of them" */
  kNone = kClasses - 1,
  kStack = 3,   /* frames that become a token together */
  kPeriod = 32, /* places of frames are counted modulo this */
  kWindow = 17, /* frames that a frame attends to in each layer, itself included */
  kLayers = 3,
  kDim = 64,
  kHeads = 4,
  kHeadDim = kDim / kHeads,
  kHidden = 128
};

/* multiplier * 2^(shift - 31), of scales. */
typedef struct Number {
  int32_t multiplier, shift;
} Number;

/* A linear layer: scales and biases are those of the outputs' codes, of a product of codes. */
#define LINEAR(outputs, inputs)    \
  struct {                         \
    int8_t codes[outputs][inputs]; \
    float scales[outputs];         \
    float bias[outputs];           \
  }

typedef struct Norm {
  int16_t weight[kDim], bias[kDim];
  Number scale, epsilon;
} Norm;

/* The sum of two tensors, normalised. */
typedef struct Sum {
  Number a, b;
  Norm norm;
} Sum;

typedef struct Layer {
  LINEAR(3 * kDim, kDim) qkv;
  Number score, seen; /* of fovea_integer_attention */
  LINEAR(kDim, kDim) out;
  Sum attended;
  LINEAR(kHidden, kDim) up;
  int8_t gelu[256];
  LINEAR(kDim, kHidden) down;
  Sum thought;
} Layer;

typedef struct Weights {
  LINEAR(kDim, kStack* kFeatures) embedding;
  int8_t places[kPeriod][kDim];
  Sum placed;
  Layer layers[kLayers];
  LINEAR(kClasses, kDim) classes;
} Weights;

extern const Weights kWeights __asm__("keywords_weights"); /* in weights.cc */

#ifdef __cplusplus
}
#endif

#endif
