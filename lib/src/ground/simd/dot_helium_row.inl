// SPDX-License-Identifier: Apache-2.0
//
// Words of Helium for the softmax of a single row of queries: loops whose sums and constants g++ 12 would keep in
// memory. They compute what FewSoftmax in i8/few_softmax.inl does, with the numbers of ShortExp2.
#ifndef FOVEA_SRC_SIMD_DOT_HELIUM_ROW_INL_
#define FOVEA_SRC_SIMD_DOT_HELIUM_ROW_INL_

#include "ground/math/math.inl"
#include "ground/simd/dot_helium.inl"

#if defined(__clang__)
using HeliumRow = Helium;
#else
struct HeliumRow : Helium {
static constexpr bool kWeighsRow = true;

// The largest of `largest` and of 16 * rounds numbers. NaN counts only if there is nothing else.
FOVEA_INLINE float LargestOf(const float* p, uint32_t rounds, float largest) {
  VF a, most = hn::Set(kF, largest);
#define FOVEA_FOUR "vldrw.32 %q[a], [%[p]], #16\n\tvmaxnm.f32 %q[most], %q[most], %q[a]\n\t"
  asm volatile(
      "dls lr, %[rounds]\n"
      "1:\n\t" FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR
      "le lr, 1b\n\t"
      "vmaxnmv.f32 %[largest], %q[most]"
      : [p] "+r"(p), [largest] "+r"(largest), [most] "+w"(most), [a] "=&w"(a)
      : [rounds] "r"(rounds)
      : "lr", "memory");
#undef FOVEA_FOUR
  return largest;
}

// Copies scales. True if none is negative, -0, infinite or NaN; false also if they are no whole sixteens, and then perhaps
// nothing was copied. As unsigned numbers the bits of these are the larger ones.
FOVEA_INLINE bool CopyPlainScales(const float* from, uint32_t count, float* to) {
  if (count % 16 != 0 || count == 0) return false;
  VI a, most = hn::Set(kI, 0);
  uint32_t largest = 0;
#define FOVEA_FOUR                         \
  "vldrw.32 %q[a], [%[from]], #16\n\t"     \
  "vmax.u32 %q[most], %q[most], %q[a]\n\t" \
  "vstrw.32 %q[a], [%[to]], #16\n\t"
  asm volatile(
      "dls lr, %[rounds]\n"
      "1:\n\t" FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR
      "le lr, 1b\n\t"
      "vmaxv.u32 %[largest], %q[most]"
      : [from] "+r"(from), [to] "+r"(to), [largest] "+r"(largest), [most] "+w"(most), [a] "=&w"(a)
      : [rounds] "r"(count / 16)
      : "lr", "memory");
#undef FOVEA_FOUR
  return largest < 0x7f800000;
}

// Four scores become weights.
#define FOVEA_WEIGH_FOUR(strand)     \
  "vldrw.32 q0, [%[s]]\n\t"          \
  "vldrw.32 q1, [%[least]]\n\t"      \
  "vsub.f32 q0, q0, %[shift]\n\t"    \
  "vpt.f32 gt, q1, q0\n\t"           \
  "vmovt q0, q1\n\t"                 \
  "vadd.f32 q1, q0, %[magic]\n\t"    \
  "vsub.f32 q2, q1, %[magic]\n\t"    \
  "vsub.f32 q0, q0, q2\n\t"          \
  "vmul.f32 q2, q0, %[third]\n\t"    \
  "vadd.f32 q2, q2, %[second]\n\t"   \
  "vmul.f32 q2, q2, q0\n\t"          \
  "vadd.f32 q2, q2, %[first]\n\t"    \
  "vmul.f32 q2, q2, q0\n\t"          \
  "vadd.f32 q2, q2, %[two]\n\t"      \
  "vshl.i32 q1, q1, #23\n\t"         \
  "vmul.f32 q2, q2, q1\n\t"          \
  "vldrw.32 q0, [%[scale]], #16\n\t" \
  "vadd.f32 " strand ", " strand     \
  ", q2\n\t"                         \
  "vmul.f32 q2, q2, q0\n\t"          \
  "vmaxnm.f32 q3, q3, q2\n\t"        \
  "vstrw.32 q2, [%[s]], #16\n\t"
// 16 * rounds scores s become weights 2^(s - shift), times the scales of their values; `top` becomes the largest of these
// and of itself. Returns the sum of the weights themselves: lane i of vector v of each 16 belongs to strand 4 v + i.
FOVEA_INLINE float WeighRow(float* s, uint32_t rounds, const float* scale, float shift, float& top) {
  const VF least = hn::Set(kF, -126.0f);
  float largest = top, total;
  MF below;
  asm volatile(
      "vdup.32 q3, %[top]\n\t"
      "vmov.i32 q4, #0\n\t"
      "vmov.i32 q5, #0\n\t"
      "vmov.i32 q6, #0\n\t"
      "vmov.i32 q7, #0\n\t"
      "dls lr, %[total]\n"
      "1:\n\t"
      FOVEA_WEIGH_FOUR("q4") FOVEA_WEIGH_FOUR("q5") FOVEA_WEIGH_FOUR("q6") FOVEA_WEIGH_FOUR("q7")
      "le lr, 1b\n\t"
      "vmaxnmv.f32 %[top], q3\n\t"
      // s16 = the sum of the strands in s16 to s31, as SumOfNeighbours and SumOfStrands add them.
      "vadd.f32 s16, s16, s17\n\t"
      "vadd.f32 s18, s18, s19\n\t"
      "vadd.f32 s20, s20, s21\n\t"
      "vadd.f32 s22, s22, s23\n\t"
      "vadd.f32 s24, s24, s25\n\t"
      "vadd.f32 s26, s26, s27\n\t"
      "vadd.f32 s28, s28, s29\n\t"
      "vadd.f32 s30, s30, s31\n\t"
      "vadd.f32 s16, s16, s18\n\t"
      "vadd.f32 s20, s20, s22\n\t"
      "vadd.f32 s24, s24, s26\n\t"
      "vadd.f32 s28, s28, s30\n\t"
      "vadd.f32 s16, s16, s20\n\t"
      "vadd.f32 s24, s24, s28\n\t"
      "vadd.f32 s16, s16, s24\n\t"
      "vmov %[total], s16"
      : [s] "+r"(s), [scale] "+r"(scale), [top] "+r"(largest), [total] "=r"(total), [below] "=&Up"(below)
      : "[total]"(rounds), [shift] "r"(shift), [least] "r"(&least), [magic] "r"(kExpMagic), [third] "r"(2 * 0.055008959f),
        [second] "r"(2 * 0.242211372f), [first] "r"(2 * 0.693282962f), [two] "r"(2.0f), "m"(least)
      : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "memory");
#undef FOVEA_WEIGH_FOUR
  top = largest;
  return total;
}

// The codes of 16 * rounds weights, from weights times `inverse`: to the nearest, ties to even, and 0 for NaN.
FOVEA_INLINE void StoreRowWeights(const float* s, uint32_t rounds, float inverse, FewWeight* codes) {
  VI a;
#define FOVEA_FOUR                        \
  "vldrw.32 %q[a], [%[s]], #16\n\t"       \
  "vmul.f32 %q[a], %q[a], %[inverse]\n\t" \
  "vcvtn.s32.f32 %q[a], %q[a]\n\t"        \
  "vstrw.32 %q[a], [%[codes]], #16\n\t"
  asm volatile(
      "dls lr, %[rounds]\n"
      "1:\n\t" FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR FOVEA_FOUR "le lr, 1b"
      : [s] "+r"(s), [codes] "+r"(codes), [a] "=&w"(a)
      : [rounds] "r"(rounds), [inverse] "r"(inverse)
      : "lr", "memory");
#undef FOVEA_FOUR
}

// sums = weights times the values' 16 elements from `value` on, for `count` keys, at most 255. A lane of 32 bits holds one
// sum, so sums are made of two with lanes of 16: `low` has the last 16 bits, `high` the products divided by 256, rounded
// down. 256 times the latter is too small by less than 256 for each key, which the last bits then tell.
FOVEA_INLINE void SumsOfElements(const FewWeight* codes, const int8_t* value, ptrdiff_t stride, uint32_t count,
                                 VI (&sums)[4]) {
  int16x8_t low[2] = {vdupq_n_s16(0), vdupq_n_s16(0)}, high[2] = {low[0], low[0]}, a, b;
  uint32_t weight, second, third, fourth;
#define FOVEA_ADD_KEY(weight)             \
  "vldrb.s16 %q[a], [%[value]]\n\t"       \
  "vldrb.s16 %q[b], [%[value], #8]\n\t"   \
  "add %[value], %[stride]\n\t"           \
  "vmla.s16 %q[low0], %q[a], " weight     \
  "\n\t"                                  \
  "vmla.s16 %q[low1], %q[b], " weight     \
  "\n\t"                                  \
  "lsl " weight ", " weight               \
  ", #7\n\t"                              \
  "vqdmlah.s16 %q[high0], %q[a], " weight \
  "\n\t"                                  \
  "vqdmlah.s16 %q[high1], %q[b], " weight "\n\t"
  asm volatile(
      "wls lr, %[fours], 2f\n"
      "1:\n\t"
      "ldrd %[weight], %[second], [%[codes]], #8\n\t"
      "ldrd %[third], %[fourth], [%[codes]], #8\n\t"
      FOVEA_ADD_KEY("%[weight]") FOVEA_ADD_KEY("%[second]") FOVEA_ADD_KEY("%[third]") FOVEA_ADD_KEY("%[fourth]")
      "le lr, 1b\n"
      "2:\n\t"
      "wls lr, %[rest], 4f\n"
      "3:\n\t"
      "ldr %[weight], [%[codes]], #4\n\t"
      FOVEA_ADD_KEY("%[weight]")
      "le lr, 3b\n"
      "4:"
      : [codes] "+r"(codes), [value] "+r"(value), [low0] "+w"(low[0]), [low1] "+w"(low[1]), [high0] "+w"(high[0]),
        [high1] "+w"(high[1]), [a] "=&w"(a), [b] "=&w"(b), [weight] "=&r"(weight), [second] "=&r"(second),
        [third] "=&r"(third), [fourth] "=&r"(fourth)
      : [fours] "r"(count / 4), [rest] "r"(count % 4), [stride] "r"(stride)
      : "lr", "memory");
#undef FOVEA_ADD_KEY
  int16_t highs[16];
  uint16_t rests[16];
  FOVEA_EACH(i, 2) {
    vstrhq_s16(highs + 8 * i, high[i]);
    vstrhq_u16(rests + 8 * i, vreinterpretq_u16_s16(vsubq_s16(low[i], vshlq_n_s16(high[i], 8))));
  }
  FOVEA_EACH(i, 4) {
    sums[i] = vmlaq_n_s32(vreinterpretq_s32_u32(vldrhq_u32(rests + 4 * i)), vldrhq_s32(highs + 4 * i), 256);
  }
}

};
#endif

#endif  // FOVEA_SRC_SIMD_DOT_HELIUM_ROW_INL_
