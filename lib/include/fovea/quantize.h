/* fovea/quantize.h: scales and zero points of int8 tensors; rows of floats in formats of few bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     #include <fovea/quantize.h>
 *
 *     static fovea_quantize_range range;
 *
 *     int main(void) {
 *       const float x[4] = {-1.0f, 0.0f, 0.5f, 1.0f};  // the tensor's numbers in one run of the model
 *       int8_t codes[4];
 *       float scale;
 *       int32_t zero_point;
 *       range.struct_bytes = sizeof range;
 *       if (fovea_quantize_observe(&range, x, 4) != FOVEA_OK) return 1;                    // for each run
 *       if (fovea_quantize_choose(&range, 0.9999f, 0, &scale, &zero_point) != FOVEA_OK) return 1;  // once, at the end
 *       if (fovea_quantize_to_i8(x, 4, scale, zero_point, codes) != FOVEA_OK) return 1;
 *       return codes[0] == -127 && codes[1] == 0 && codes[3] == 127 ? 0 : 1;
 *     }
 *
 * Calibration: chooses scale and zero point of x = scale * (code - zero_point) for a tensor of I8, from the numbers
 * that the tensor holds in some runs of a model. Observe the tensor in each run, choose once, then convert. This is for
 * tools on a host: plain code, in f32, and a range takes 16 KiB. The conventions of base.h hold. */
#ifndef FOVEA_QUANTIZE_H_
#define FOVEA_QUANTIZE_H_

#include "fovea/base.h"

FOVEA_DECLARATIONS_BEGIN_

/* Bins of a range. */
#define FOVEA_QUANTIZE_BINS 2048
/* The numbers of a tensor so far, as a histogram. Set all to 0 and then struct_bytes; the rest is for reading. */
typedef struct fovea_quantize_range {
  uint32_t struct_bytes; /* sizeof(fovea_quantize_range); all else is 0 before the first numbers */
  float least, most;     /* of all numbers, and of 0 */
  float width;           /* of a bin; a power of 2 */
  uint64_t count;        /* numbers that were observed */
  uint64_t bins[FOVEA_QUANTIZE_BINS]; /* bins[i] counts the numbers from (i - FOVEA_QUANTIZE_BINS / 2) * width up to the
                                         beginning of the next bin */
} fovea_quantize_range;

/* Adds numbers to the range. FOVEA_ERR_NUMBER where one of them is NaN or infinite: then none was added. */
fovea_status fovea_quantize_observe(fovea_quantize_range* range, const float* x, size_t count);

/* Chooses a scale and a zero point.
 *   fraction     above 0 and at most 1 (FOVEA_ERR_NUMBER): the part of the numbers whose codes must not saturate,
 *                rounded up to whole numbers. 1 keeps all. Less leaves out the largest magnitudes, which gives the
 *                others finer steps. It is exact to a bin, which is at most a 512th part of the largest magnitude (or
 *                FLT_MIN, where that is more).
 *   asymmetric   0: zero_point = 0, scale = the largest magnitude / 127.
 *                Else the range, extended to 0, becomes the codes -128 to 127, and 0 is exactly the code zero. Numbers
 *                are left out bin by bin, from the end that is then farther from 0; from the other end once the next
 *                bin there has too many.
 * The scale is at least FLT_MIN. It is 1 where all numbers are 0, or there are none. */
fovea_status fovea_quantize_choose(const fovea_quantize_range* range, float fraction, uint32_t asymmetric, float* scale,
                                   int32_t* zero_point);

/* Convert to codes and back:
 *     codes[i] = round(x[i] * (1 / scale)) + zero_point, to nearest, ties to even, at least -128 and at most 127; NaN
 *                becomes zero_point
 *     x[i]     = scale * (codes[i] - zero_point)
 * scale is normal and above 0, zero_point is -128 to 127 (FOVEA_ERR_NUMBER). The arrays do not overlap
 * (FOVEA_ERR_OVERLAP). */
fovea_status fovea_quantize_to_i8(const float* x, size_t count, float scale, int32_t zero_point, int8_t* codes);
fovea_status fovea_quantize_from_i8(const int8_t* codes, size_t count, float scale, int32_t zero_point, float* x);

/* Converts rows of floats as "Narrowing" in base.h says: weights, keys, values.
 *   x        [rows][dim], dim at least 1 (FOVEA_ERR_DIM)
 *   dtype    any that keys may have, or Q4_1; others are FOVEA_ERR_UNSUPPORTED (FOVEA_ERR_LEFT_OUT in builds without)
 *   data     the rows, one after another: dim elements each, or the bytes of dim / 32 groups, rounded up
 *   scales   with I8 float[rows], with I4 uint16_t[rows][dim / 32, rounded up]; else it is not read
 * The arrays do not overlap (FOVEA_ERR_OVERLAP). The bits are the same on every IEEE target, but those of NaN. */
fovea_status fovea_quantize_rows(const float* x, size_t rows, size_t dim, fovea_dtype dtype, void* data, void* scales);

FOVEA_DECLARATIONS_END_

#endif /* FOVEA_QUANTIZE_H_ */
