/* SPDX-License-Identifier: Apache-2.0
 *
 * Sound becomes features: for each 20 ms the logarithm of the energy in 40 bands of the mel scale, in integers alone,
 * so that a board, a host and the training have the same bits. */
#ifndef FOVEA_EXAMPLES_KEYWORDS_FRONT_END_H_
#define FOVEA_EXAMPLES_KEYWORDS_FRONT_END_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kSampleRate = 16000,
  kHop = 320,     /* samples from a frame to the next: 20 ms */
  kSamples = 512, /* of a frame: 32 ms */
  kFeatures = 40  /* of a frame */
};

/* Computes the features of the last kSamples samples, in eighths of an octave of energy. */
typedef struct FrontEnd {
  int16_t samples[kSamples];
  int32_t real[kSamples], imaginary[kSamples]; /* what the transform works on */
} FrontEnd;

void front_end_begin(FrontEnd* front_end); /* silence */
void front_end_frame(FrontEnd* front_end, const int16_t new_samples[kHop], int8_t features[kFeatures]);

#ifdef __cplusplus
}
#endif

#endif
