// SPDX-License-Identifier: Apache-2.0
//
// Words of smlad for a single row of queries, which reads rows of bytes in place. Its pairs are kStep bytes apart.

// The next two pairs, of which the second is loaded last: the pointer advances past them.
#define FOVEA_NEXT_TWO_PAIRS(first, second) \
  ".if %c[step] == 4\n\t"                  \
  "ldrd " first ", " second ", [%[x]], #8\n\t" \
  ".else\n\t"                             \
  "ldr " second ", [%[x], %[step]]\n\t"    \
  "ldr " first ", [%[x]], #2*%c[step]\n\t" \
  ".endif\n\t"

// sums[i] += one column times the row that begins i strides from `row` on, of n > 0 fours of codes.
template <int kStep = 4>
FOVEA_INLINE void AddFourRows(const Pair* x, const int8_t* row, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
  const int8_t* last = row + 3 * stride;
  Pair even, odd, four, two;
  asm volatile(
      "1:\n\t"
      FOVEA_NEXT_TWO_PAIRS("%[even]", "%[odd]")
      "ldr %[four], [%[row], %[stride]]\n\t"
      "sxtb16 %[two], %[four]\n\t"
      "sxtb16 %[four], %[four], ror #8\n\t"
      "smlad %[s1], %[two], %[even], %[s1]\n\t"
      "smlad %[s1], %[four], %[odd], %[s1]\n\t"
      "ldr %[four], [%[row], %[stride], lsl #1]\n\t"
      "sxtb16 %[two], %[four]\n\t"
      "sxtb16 %[four], %[four], ror #8\n\t"
      "smlad %[s2], %[two], %[even], %[s2]\n\t"
      "smlad %[s2], %[four], %[odd], %[s2]\n\t"
      "ldr %[four], [%[row]], #4\n\t"
      "sxtb16 %[two], %[four]\n\t"
      "sxtb16 %[four], %[four], ror #8\n\t"
      "smlad %[s0], %[two], %[even], %[s0]\n\t"
      "smlad %[s0], %[four], %[odd], %[s0]\n\t"
      "ldr %[four], [%[last]], #4\n\t"
      "sxtb16 %[two], %[four]\n\t"
      "sxtb16 %[four], %[four], ror #8\n\t"
      "smlad %[s3], %[two], %[even], %[s3]\n\t"
      "smlad %[s3], %[four], %[odd], %[s3]\n\t"
      "subs %[n], #1\n\t"
      "bne 1b"
      : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [x] "+r"(x), [row] "+r"(row),
        [last] "+r"(last), [n] "+r"(n), [even] "=&r"(even), [odd] "=&r"(odd), [four] "=&r"(four), [two] "=&r"(two)
      : [stride] "r"(stride), [step] "i"(kStep)
      : "cc", "memory");
}
// Not .irp: g++ counts the lines of an assembly statement, to know how far a branch goes.
#define FOVEA_ADD_TWO_KEYS(weights)                  \
  "ldr %[b], [%[value], %[stride]]\n\t"              \
  "ldr %[a], [%[value]]\n\t"                         \
  "add %[value], %[value], %[stride], lsl #1\n\t"    \
  "pkhbt %[low], %[a], %[b], lsl #16\n\t"            \
  "pkhtb %[b], %[b], %[a], asr #16\n\t"              \
  "sxtb16 %[a], %[low]\n\t"                          \
  "sxtb16 %[low], %[low], ror #8\n\t"                \
  "smlad %[s0], %[a], " weights ", %[s0]\n\t"        \
  "smlad %[s1], %[low], " weights ", %[s1]\n\t"      \
  "sxtb16 %[a], %[b]\n\t"                            \
  "sxtb16 %[b], %[b], ror #8\n\t"                    \
  "smlad %[s2], %[a], " weights ", %[s2]\n\t"        \
  "smlad %[s3], %[b], " weights ", %[s3]\n\t"
// sums[i] += the weights of n > 0 fours of keys times element i of their values, which begin at `value`. The pointers
// advance past them.
template <int kStep = 4>
FOVEA_INLINE void AddFourElements(const Pair*& x, const int8_t*& value, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
  Pair first, second, a, b, low;
  asm volatile(
      "1:\n\t"
      FOVEA_NEXT_TWO_PAIRS("%[first]", "%[second]")
      FOVEA_ADD_TWO_KEYS("%[first]")
      FOVEA_ADD_TWO_KEYS("%[second]")
      "subs %[n], #1\n\t"
      "bne 1b"
      : [s0] "+r"(sums[0]), [s1] "+r"(sums[1]), [s2] "+r"(sums[2]), [s3] "+r"(sums[3]), [x] "+r"(x),
        [value] "+r"(value), [n] "+r"(n), [first] "=&r"(first), [second] "=&r"(second), [a] "=&r"(a), [b] "=&r"(b),
        [low] "=&r"(low)
      : [stride] "r"(stride), [step] "i"(kStep)
      : "cc", "memory");
}
// sum + the two products.
FOVEA_INLINE Sum AddPair(Pair a, Pair b, Sum sum) {
  asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
#undef FOVEA_NEXT_TWO_PAIRS
#undef FOVEA_ADD_TWO_KEYS
