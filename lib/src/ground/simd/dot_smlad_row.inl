// SPDX-License-Identifier: Apache-2.0
//
// Words of smlad for a single row of queries, which reads rows of bytes in place. Its pairs are kStep bytes apart.
#ifndef FOVEA_SRC_SIMD_DOT_SMLAD_ROW_INL_
#define FOVEA_SRC_SIMD_DOT_SMLAD_ROW_INL_
#include "ground/simd/dot_defaults.inl"

// An instruction for each of s12 to s15, with the same other operand.
#define FOVEA_ON_FOUR(name, operand)                              \
  name " s12, s12" operand "\n\t" name " s13, s13" operand "\n\t" \
  name " s14, s14" operand "\n\t" name " s15, s15" operand "\n\t"

struct SmladWords : DotDefaults {
using Code = int16_t;
using Sum = int32_t;
using Pair = uint32_t;

// The next two pairs. The pointer advances past them.
#define FOVEA_NEXT_TWO_PAIRS(first, second)    \
  ".if %c[step] == 4\n\t"                      \
  "ldrd " first ", " second ", [%[x]], #8\n\t" \
  ".else\n\t"                                  \
  "ldr " second ", [%[x], %[step]]\n\t"        \
  "ldr " first ", [%[x]], #2*%c[step]\n\t"     \
  ".endif\n\t"

// sum += the two pairs times the four codes at the address.
#define FOVEA_ADD_ROW(address, sum)             \
  "ldr %[four], " address "\n\t"                \
  "sxtb16 %[two], %[four]\n\t"                  \
  "sxtb16 %[four], %[four], ror #8\n\t"         \
  "smlad " sum ", %[two], %[even], " sum "\n\t" \
  "smlad " sum ", %[four], %[odd], " sum "\n\t"

// sums[i] += one column times the row that begins i strides from `row` on, of n > 0 times kUnroll fours of codes.
template <int kStep = 4, int kUnroll = 1>
FOVEA_INLINE void AddFourRows(const Pair* x, const int8_t* row, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
  const int8_t* last = row + 3 * stride;
  Pair even, odd, four, two;
  asm volatile(
      "1:\n\t"
      ".rept %c[unroll]\n\t"
      FOVEA_NEXT_TWO_PAIRS("%[even]", "%[odd]")
      FOVEA_ADD_ROW("[%[row], %[stride]]", "%[s1]")
      FOVEA_ADD_ROW("[%[row], %[stride], lsl #1]", "%[s2]")
      FOVEA_ADD_ROW("[%[row]], #4", "%[s0]")
      FOVEA_ADD_ROW("[%[last]], #4", "%[s3]")
      ".endr\n\t"
      "subs %[n], #1\n\t"
      "bne 1b"
      : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [x] "+r"(x), [row] "+r"(row),
        [last] "+r"(last), [n] "+r"(n), [even] "=&r"(even), [odd] "=&r"(odd), [four] "=&r"(four), [two] "=&r"(two)
      : [stride] "r"(stride), [step] "i"(kStep), [unroll] "i"(kUnroll)
      : "cc", "memory");
}
// Not .irp: g++ counts the lines of an assembly statement, to know how far a branch goes.
#define FOVEA_ADD_TWO_KEYS(weights)               \
  "ldr %[b], [%[value], %[stride]]\n\t"           \
  "ldr %[a], [%[value]]\n\t"                      \
  "add %[value], %[value], %[stride], lsl #1\n\t" \
  "pkhbt %[low], %[a], %[b], lsl #16\n\t"         \
  "pkhtb %[b], %[b], %[a], asr #16\n\t"           \
  "sxtb16 %[a], %[low]\n\t"                       \
  "sxtb16 %[low], %[low], ror #8\n\t"             \
  "smlad %[s0], %[a], " weights ", %[s0]\n\t"     \
  "smlad %[s1], %[low], " weights ", %[s1]\n\t"   \
  "sxtb16 %[a], %[b]\n\t"                         \
  "sxtb16 %[b], %[b], ror #8\n\t"                 \
  "smlad %[s2], %[a], " weights ", %[s2]\n\t"     \
  "smlad %[s3], %[b], " weights ", %[s3]\n\t"
// sums[i] += the weights of n > 0 times kUnroll fours of keys times element i of their values, which begin at `value`.
// The pointers advance past them.
template <int kStep = 4, int kUnroll = 1>
FOVEA_INLINE void AddFourElements(const Pair*& x, const int8_t*& value, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
  Pair first, second, a, b, low;
  asm volatile(
      "1:\n\t"
      ".rept %c[unroll]\n\t"
      FOVEA_NEXT_TWO_PAIRS("%[first]", "%[second]")
      FOVEA_ADD_TWO_KEYS("%[first]")
      FOVEA_ADD_TWO_KEYS("%[second]")
      ".endr\n\t"
      "subs %[n], #1\n\t"
      "bne 1b"
      : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [x] "+r"(x),
        [value] "+r"(value), [n] "+r"(n), [first] "=&r"(first), [second] "=&r"(second), [a] "=&r"(a), [b] "=&r"(b),
        [low] "=&r"(low)
      : [stride] "r"(stride), [step] "i"(kStep), [unroll] "i"(kUnroll)
      : "cc", "memory");
}
// sum + the two products.
FOVEA_INLINE Sum AddPair(Pair a, Pair b, Sum sum) {
  asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
// Scores with four keys: s = (sum as a float * the key's scale) * query_scale. The pointers advance past them.
FOVEA_INLINE void StoreRowScores(const Sum (&sums)[4], const float*& key_scales, VF query_scale, float*& s) {
  asm volatile(
      "vldmia %0!, {s16-s19}\n\t"
      "vmov s12, s13, %2, %3\n\t"
      "vmov s14, s15, %4, %5\n\t"
      FOVEA_ON_FOUR("vcvt.f32.s32", "")
      "vmul.f32 s12, s12, s16\n\t"
      "vmul.f32 s13, s13, s17\n\t"
      "vmul.f32 s14, s14, s18\n\t"
      "vmul.f32 s15, s15, s19\n\t"
      FOVEA_ON_FOUR("vmul.f32", ", %6")
      "vstmia %1!, {s12-s15}"
      : "+r"(key_scales), "+r"(s)
      : "r"(sums[0]), "r"(sums[1]), "r"(sums[2]), "r"(sums[3]), "t"(query_scale.raw)
      : "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "memory");
}
// max[i] = the larger of it and p[i]. p advances past the four. clang knows no clobber for the flags of vcmp.
FOVEA_INLINE void MaxOfNext(const float*& p, VF (&max)[4]) {
#if defined(__clang__)
  FOVEA_EACH(i, 4) max[i] = hn::Max(max[i], hn::LoadU(kF, p + i));
  p += 4;
#else
#define FOVEA_MAX_OF(vector, with) \
  "vcmp.f32 " vector ", " with "\n\tvmrs APSR_nzcv, FPSCR\n\tit mi\n\tvmovmi.f32 " vector ", " with "\n\t"
  typedef float Four[4];
  asm("vldmia %4!, {s12-s15}\n\t" FOVEA_MAX_OF("%0", "s12") FOVEA_MAX_OF("%1", "s13") FOVEA_MAX_OF("%2", "s14")
          FOVEA_MAX_OF("%3", "s15")
      : "+t"(max[0].raw), "+t"(max[1].raw), "+t"(max[2].raw), "+t"(max[3].raw), "+r"(p)
      : "m"(*reinterpret_cast<const Four*>(p))
      : "s12", "s13", "s14", "s15", "cc", "vfpcc");
#undef FOVEA_MAX_OF
#endif
}
// The codes of the weights of four keys, from weights times `inverse`. w advances past them.
FOVEA_INLINE void StoreRowWeights(const float*& w, VF inverse, Code* to) {
  Pair a, b, c, d;
  asm volatile(
      "vldmia %0!, {s12-s15}\n\t"
      FOVEA_ON_FOUR("vmul.f32", ", %5")
      FOVEA_ON_FOUR("vcvtr.s32.f32", "")
      "vmov %1, %2, s12, s13\n\t"
      "vmov %3, %4, s14, s15\n\t"
      "pkhbt %1, %1, %2, lsl #16\n\t"
      "pkhbt %3, %3, %4, lsl #16\n\t"
      "strd %1, %3, [%6]"
      : "+r"(w), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
      : "t"(inverse.raw), "r"(to)
      : "s12", "s13", "s14", "s15", "memory");
}
};
#undef FOVEA_ADD_ROW
#undef FOVEA_ADD_TWO_KEYS
#undef FOVEA_NEXT_TWO_PAIRS

#endif  // FOVEA_SRC_SIMD_DOT_SMLAD_ROW_INL_
