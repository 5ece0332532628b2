/* A value for FOVEA_DOT_HEADER, to be copied: "Instructions of your own" of lib/src/ground/simd/VOCABULARY.md says what is
 * asked of it. Plain C stands in for the instruction: four signed bytes times four others, added to an integer of 32
 * bits. Packed SIMD of RISC-V and the extensions of several makers have it. In your file the function's body is one asm
 * statement or an intrinsic.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PRETENDED_DOT_H_
#define PRETENDED_DOT_H_

#include <stdint.h>

/* For an instruction such as smaqa of RISC-V's packed SIMD:
 *     asm("smaqa %0, %1, %2" : "+r"(sum) : "r"(x), "r"(y));
 *     return sum; */
static inline int32_t pretended_dot(uint32_t x, uint32_t y, int32_t sum) {
  for (int i = 0; i < 4; ++i, x >>= 8, y >>= 8) sum += (int8_t)x * (int8_t)y;
  return sum;
}

#define FOVEA_DOT_TYPE uint32_t
#define FOVEA_DOT_ADD(x, y, sum) pretended_dot(x, y, sum)

#endif
