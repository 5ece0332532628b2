/* SPDX-License-Identifier: Apache-2.0 */
#include "keywords.h"

#include <string.h>

const char* const kKeywords[kClasses] = {"yes",   "no",   "up",    "down",  "left",  "right", "stop",
                                         "start", "open", "close", "light", "music", "-"};

void keywords_begin(Keywords* keywords, fovea_target target, uint64_t processor_features) {
  memset(keywords, 0, sizeof *keywords);
  front_end_begin(&keywords->front_end);
  model_begin(&keywords->model, target, processor_features);
}

/* Decides by the last kRun frames. A word is reported once: until none of the words is likely, it is the same one. */
static uint32_t decide(Keywords* keywords) {
  int32_t sums[kClasses] = {0};
  uint32_t best = 0;
  for (uint32_t i = 0; i < kClasses; ++i) {
    for (uint32_t j = 0; j < kRun; ++j) sums[i] += keywords->scores[j][i];
    if (i < kNone && sums[i] > sums[best]) best = i;
  }
  if (sums[best] <= sums[kNone]) keywords->waits = 0;
  if (keywords->waits || sums[best] < sums[kNone] + kMargin) return kNone;
  keywords->waits = 1;
  return best;
}

fovea_status keywords_hear(Keywords* keywords, const int16_t samples[kHop], uint32_t* word) {
  *word = kNone;
  front_end_frame(&keywords->front_end, samples, keywords->features);
  const fovea_status status = model_step(&keywords->model, keywords->features);
  if (status != FOVEA_OK) return status;
  memcpy(keywords->scores[keywords->model.frame % kRun], keywords->model.scores, kClasses);
  *word = decide(keywords);
  return FOVEA_OK;
}
