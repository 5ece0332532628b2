/* SPDX-License-Identifier: Apache-2.0
 *
 * Hears twelve English words in sound that comes 20 ms at a time:
 *
 *     static Keywords keywords;
 *     keywords_begin(&keywords, FOVEA_TARGET_BEST, 0);
 *     for (;;) {
 *       ...                                              // kHop samples of 16 bits, 16000 a second
 *       if (keywords_hear(&keywords, samples, &word) != FOVEA_OK) ...
 *       if (word != kNone) puts(kKeywords[word]);        // it has just been said
 *     }
 */
#ifndef FOVEA_EXAMPLES_KEYWORDS_KEYWORDS_H_
#define FOVEA_EXAMPLES_KEYWORDS_KEYWORDS_H_

#include "front_end.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char* const kKeywords[kClasses]; /* the last stands for none */

enum {
  kRun = 6,     /* frames of which scores are added */
  kMargin = 120 /* by how much the sum of a word's scores must exceed that of none */
};

typedef struct Keywords {
  FrontEnd front_end;
  Model model;
  int8_t features[kFeatures];    /* of the last frame */
  int8_t scores[kRun][kClasses]; /* a ring */
  int32_t waits;                 /* a word was heard and has not ended */
} Keywords;

void keywords_begin(Keywords* keywords, fovea_target target, uint64_t processor_features);

/* Hears the next 20 ms. *word becomes the number of a word that ended there, else kNone. */
fovea_status keywords_hear(Keywords* keywords, const int16_t samples[kHop], uint32_t* word);

#ifdef __cplusplus
}
#endif

#endif
