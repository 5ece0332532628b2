/* SPDX-License-Identifier: Apache-2.0 */
#include "front_end.h"

#include <string.h>

enum { kQuarter = kSamples / 4 };

/* round(32767 sin(pi / 2 * i / 128)) */
static const int16_t kSine[kQuarter + 1] = {
    0,     402,   804,   1206,  1608,  2009,  2410,  2811,  3212,  3612,  4011,  4410,  4808,  5205,  5602,
    5998,  6393,  6786,  7179,  7571,  7962,  8351,  8739,  9126,  9512,  9896,  10278, 10659, 11039, 11417,
    11793, 12167, 12539, 12910, 13279, 13645, 14010, 14372, 14732, 15090, 15446, 15800, 16151, 16499, 16846,
    17189, 17530, 17869, 18204, 18537, 18868, 19195, 19519, 19841, 20159, 20475, 20787, 21096, 21403, 21705,
    22005, 22301, 22594, 22884, 23170, 23452, 23731, 24007, 24279, 24547, 24811, 25072, 25329, 25582, 25832,
    26077, 26319, 26556, 26790, 27019, 27245, 27466, 27683, 27896, 28105, 28310, 28510, 28706, 28898, 29085,
    29268, 29447, 29621, 29791, 29956, 30117, 30273, 30424, 30571, 30714, 30852, 30985, 31113, 31237, 31356,
    31470, 31580, 31685, 31785, 31880, 31971, 32057, 32137, 32213, 32285, 32351, 32412, 32469, 32521, 32567,
    32609, 32646, 32678, 32705, 32728, 32745, 32757, 32765, 32767};

/* Where bands begin and end, in frequencies of the transform, which are 31.25 Hz apart: band i rises from edge i to
 * edge i + 1
 * and falls to edge i + 2. On the mel scale from 60 to 7800 Hz they are equally far apart. */
static const uint8_t kEdges[kFeatures + 2] = {2,   3,   5,   7,   8,   10,  12,  14,  17,  19,  21,  24,  27,  30,
                                              33,  36,  40,  44,  48,  52,  57,  61,  66,  72,  78,  84,  90,  97,
                                              104, 112, 120, 129, 138, 147, 158, 169, 180, 193, 206, 219, 234, 250};

/* Energies below this are noise of no interest. */
static const uint64_t kFloor = 1u << 22;
/* Subtracted from features, so that they are in the middle of the codes. */
enum { kMiddle = 36 * 8 };

/* 32767 cos(2 pi i / kSamples), for i from 0 to kSamples / 2. */
static int32_t cosine(uint32_t i) { return i <= kQuarter ? kSine[kQuarter - i] : -kSine[i - kQuarter]; }
static int32_t sine(uint32_t i) { return kSine[i <= kQuarter ? i : 2 * kQuarter - i]; }

static int32_t multiply(int32_t x, int32_t factor) { return (int32_t)(((int64_t)x * factor + (1 << 14)) >> 15); }

/* The frame times a window, 1/2 - cos / 2, in the order that the transform wants: bits of the index reversed. */
static void load(FrontEnd* front_end) {
  for (uint32_t i = 0, reversed = 0; i < kSamples; ++i) {
    const int32_t window = (32767 - cosine(i <= kSamples / 2 ? i : kSamples - i)) >> 1;
    front_end->real[reversed] = multiply(front_end->samples[i], window);
    front_end->imaginary[reversed] = 0;
    uint32_t bit = kSamples / 2;
    while (reversed & bit) reversed ^= bit, bit >>= 1;
    reversed |= bit;
  }
}

/* The discrete Fourier transform, in place. 16 bits grow by 9, so nothing overflows. */
static void transform(FrontEnd* front_end) {
  int32_t* const real = front_end->real;
  int32_t* const imaginary = front_end->imaginary;
  for (uint32_t half = 1; half < kSamples; half *= 2) {
    for (uint32_t k = 0; k < half; ++k) {
      const int32_t c = cosine(k * (kSamples / 2 / half)), s = -sine(k * (kSamples / 2 / half));
      for (uint32_t i = k; i < kSamples; i += 2 * half) {
        const uint32_t j = i + half;
        const int32_t re = multiply(real[j], c) - multiply(imaginary[j], s);
        const int32_t im = multiply(real[j], s) + multiply(imaginary[j], c);
        real[j] = real[i] - re, imaginary[j] = imaginary[i] - im;
        real[i] += re, imaginary[i] += im;
      }
    }
  }
}

/* floor(8 log2(x)), for x > 0. */
static int32_t log2_eighths(uint64_t x) {
  /* 2^(31 + i / 8) */
  static const uint32_t kRoots[7] = {2341847524u, 2553802834u, 2784941738u, 3037000500u,
                                     3311872529u, 3611622603u, 3938502376u};
  int32_t octaves = 63;
  while (!(x >> 63)) x <<= 1, --octaves;
  int32_t eighths = 0;
  while (eighths < 7 && (uint32_t)(x >> 32) >= kRoots[eighths]) ++eighths;
  return 8 * octaves + eighths;
}

static int8_t feature(const FrontEnd* front_end, uint32_t band) {
  const uint32_t left = kEdges[band], middle = kEdges[band + 1], right = kEdges[band + 2];
  uint64_t energy = kFloor;
  for (uint32_t i = left + 1; i < right; ++i) {
    const int64_t re = front_end->real[i], im = front_end->imaginary[i];
    const uint32_t weight = i <= middle ? 64 * (i - left) / (middle - left) : 64 * (right - i) / (right - middle);
    energy += (uint64_t)(re * re + im * im) * weight;
  }
  const int32_t code = log2_eighths(energy) - kMiddle;
  return (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
}

void front_end_begin(FrontEnd* front_end) { memset(front_end, 0, sizeof *front_end); }

void front_end_frame(FrontEnd* front_end, const int16_t new_samples[kHop], int8_t features[kFeatures]) {
  memmove(front_end->samples, front_end->samples + kHop, (kSamples - kHop) * sizeof *new_samples);
  memcpy(front_end->samples + kSamples - kHop, new_samples, kHop * sizeof *new_samples);
  load(front_end);
  transform(front_end);
  for (uint32_t band = 0; band < kFeatures; ++band) features[band] = feature(front_end, band);
}
