/* SPDX-License-Identifier: Apache-2.0
 *
 * A recording that takes the place of a microphone: record.py writes it to recording.bin. */
#ifndef FOVEA_EXAMPLES_KEYWORDS_RECORDING_H_
#define FOVEA_EXAMPLES_KEYWORDS_RECORDING_H_

#include <stdint.h>

#include "front_end.h"

enum { kRecordedFrames = 620 };

typedef struct Recording {
  uint8_t mu_law[kRecordedFrames][kHop]; /* a byte for each sample, by G.711 */
} Recording;

extern const Recording kRecording __asm__("keywords_recording"); /* in recording.cc */

#endif
