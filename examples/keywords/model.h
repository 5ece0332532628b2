/* SPDX-License-Identifier: Apache-2.0
 *
 * The model, a frame at a time, in int8 from end to end: a transformer whose layers let a frame attend to the kWindow
 * frames up to it. So the scores after a frame depend on one second of sound, and each frame is computed once. A Model
 * is all the memory that this needs in addition to the weights and some stack. */
#ifndef FOVEA_EXAMPLES_KEYWORDS_MODEL_H_
#define FOVEA_EXAMPLES_KEYWORDS_MODEL_H_

#include "fovea/fovea.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
/* For the linear layer with most inputs, and for attention of one query. */
#define MODEL_WORKSPACE_BYTES \
  LARGER(FOVEA_LINEAR_I8_WORKSPACE_BYTES(kHidden), FOVEA_INTEGER_ATTENTION_WORKSPACE_BYTES(kHeadDim, kHeadDim, 1))

typedef struct Model {
  /* What a call needs while it runs. */
  unsigned char workspace[MODEL_WORKSPACE_BYTES] __attribute__((aligned(FOVEA_WORKSPACE_ALIGNMENT)));
  int8_t stack[kStack][kFeatures];       /* the last frames */
  int8_t qkv[kLayers][kWindow][3][kDim]; /* rings of queries, keys and values */
  int8_t x[kDim], added[kDim], hidden[kHidden];
  int8_t scores[kClasses]; /* of each class after the last frame */
  fovea_target target;
  uint64_t processor_features;
  uint32_t frame; /* the number of the next one */
} Model;

/* Forgets all frames. */
void model_begin(Model* model, fovea_target target, uint64_t processor_features);
/* Runs the next frame. */
fovea_status model_step(Model* model, const int8_t features[kFeatures]);

#ifdef __cplusplus
}
#endif

#endif
