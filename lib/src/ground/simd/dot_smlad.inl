// SPDX-License-Identifier: Apache-2.0
//
// The dot words of Arm's smlad, which multiplies two pairs of 16-bit integers and adds both products to a sum. Bytes of
// keys and values become 16-bit integers when they are brought. sxtb16 widens bytes 0 and 2 of a word, or 1 and 3: so
// each four codes of a row, and of the queries, are stored in the order 0, 2, 1, 3.
#ifndef FOVEA_SRC_SIMD_DOT_SMLAD_INL_
#define FOVEA_SRC_SIMD_DOT_SMLAD_INL_
#include "ground/simd/dot_smlad_row.inl"

struct Smlad : SmladWords, DotShape<kDotSmlad> {
using RowCode = int16_t;

FOVEA_INLINE Sum Start(int32_t sum) { return sum; }
FOVEA_INLINE VI ToInts(Sum sum) { return hn::Set(kI, sum); }
FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, hn::Set(kI, sum)); }
// For a sum that was loaded as if it were a float.
FOVEA_INLINE VF ToFloat(VF sum) {
  asm("vcvt.f32.s32 %0, %0" : "+t"(sum.raw));
  return sum;
}

// v rounded to the nearest, ties to even, plus zero, as the nearest code. NaN counts as 0.
FOVEA_INLINE int8_t NearestCode(VF v, int32_t zero) {
  int32_t code;
  asm("vcvtr.s32.f32 %1, %1\n\t"
      "vmov %0, %1\n\t"
      "qadd %0, %0, %2\n\t"
      "ssat %0, #8, %0"
      : "=&r"(code), "+t"(v.raw)
      : "r"(zero));
  return int8_t(code);
}

// Codes of four columns: to[place[i]] = NearestCode((float(sums[i] + start) * scales[i] * scale + bias) / out_scale, zero),
// with place[0] = 0. `sums` advances past them. With kPositive codes are at least `zero`.
template <bool kPositive>
FOVEA_INLINE void StoreFourCodes(const int32_t*& sums, int32_t start, const VF (&scales)[4], VF scale, VF bias,
                                 VF out_scale, int32_t zero, const ptrdiff_t (&place)[4], int8_t* to) {
  Pair a, b, c, d;
  asm volatile(
      "ldrd %[a], %[b], [%[sums]], #8\n\t"
      "ldrd %[c], %[d], [%[sums]], #8\n\t"
      "add %[a], %[start]\n\t add %[b], %[start]\n\t add %[c], %[start]\n\t add %[d], %[start]\n\t"
      "vmov s12, s13, %[a], %[b]\n\t"
      "vmov s14, s15, %[c], %[d]\n\t"
      FOVEA_ON_FOUR("vcvt.f32.s32", "")
      "vmul.f32 s12, s12, %[s0]\n\t vmul.f32 s13, s13, %[s1]\n\t"
      "vmul.f32 s14, s14, %[s2]\n\t vmul.f32 s15, s15, %[s3]\n\t"
      FOVEA_ON_FOUR("vmul.f32", ", %[scale]")
      FOVEA_ON_FOUR("vadd.f32", ", %[bias]")
      FOVEA_ON_FOUR("vdiv.f32", ", %[out]")
      FOVEA_ON_FOUR("vcvtr.s32.f32", "")
      "vmov %[a], %[b], s12, s13\n\t"
      "vmov %[c], %[d], s14, s15\n\t"
      ".if %c[positive]\n\t"
      "usat %[a], #31, %[a]\n\t usat %[b], #31, %[b]\n\t usat %[c], #31, %[c]\n\t usat %[d], #31, %[d]\n\t"
      ".endif\n\t"
      "qadd %[a], %[a], %[zero]\n\t qadd %[b], %[b], %[zero]\n\t"
      "qadd %[c], %[c], %[zero]\n\t qadd %[d], %[d], %[zero]\n\t"
      "ssat %[a], #8, %[a]\n\t ssat %[b], #8, %[b]\n\t ssat %[c], #8, %[c]\n\t ssat %[d], #8, %[d]\n\t"
      "strb %[a], [%[to]]\n\t strb %[b], [%[to], %[p1]]\n\t"
      "strb %[c], [%[to], %[p2]]\n\t strb %[d], [%[to], %[p3]]"
      : [sums] "+r"(sums), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
      : [start] "r"(start), [s0] "t"(scales[0].raw), [s1] "t"(scales[1].raw), [s2] "t"(scales[2].raw),
        [s3] "t"(scales[3].raw), [scale] "t"(scale.raw), [bias] "t"(bias.raw), [out] "t"(out_scale.raw),
        [zero] "r"(zero), [p1] "r"(place[1]), [p2] "r"(place[2]), [p3] "r"(place[3]), [to] "r"(to),
        [positive] "n"(kPositive)
      : "s12", "s13", "s14", "s15", "memory");
}

FOVEA_INLINE Pair EvenBytes(uint32_t bytes) {
  Pair pair;
  asm("sxtb16 %0, %1" : "=r"(pair) : "r"(bytes));
  return pair;
}
FOVEA_INLINE Pair OddBytes(uint32_t bytes) {
  Pair pair;
  asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(bytes));
  return pair;
}
// The same, added to a pair.
FOVEA_INLINE Pair EvenBytesAdded(Pair to, uint32_t bytes) {
  Pair pair;
  asm("sxtab16 %0, %1, %2" : "=r"(pair) : "r"(to), "r"(bytes));
  return pair;
}
FOVEA_INLINE Pair OddBytesAdded(Pair to, uint32_t bytes) {
  Pair pair;
  asm("sxtab16 %0, %1, %2, ror #8" : "=r"(pair) : "r"(to), "r"(bytes));
  return pair;
}
// The low halves of a and b, and the high ones.
FOVEA_INLINE uint32_t LowHalves(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
  return both;
}
FOVEA_INLINE uint32_t HighHalves(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhtb %0, %2, %1, asr #16" : "=r"(both) : "r"(a), "r"(b));
  return both;
}

// Loads the next pairs of two rows, which are adjacent, and advances the pointer by kBytes.
template <int kBytes>
FOVEA_INLINE void NextOfRows(const Pair*& rows, Pair (&row)[2]) {
  typedef Pair Both[2];
  asm volatile("ldrd %0, %1, [%2], %4"
               : "=&r"(row[0]), "=&r"(row[1]), "+r"(rows)
               : "m"(*reinterpret_cast<const Both*>(rows)), "i"(kBytes));
}
// a0 and a1 += the next pair of the first of two columns times row[0] and row[1]; b0 and b1 += that of the second. One
// assembly statement: the compiler would load ahead and have no registers left for the sums.
FOVEA_INLINE void AddTwoColumns(const Pair*& x, const Pair (&row)[2], Sum& a0, Sum& b0, Sum& a1, Sum& b1) {
  typedef Pair Both[2];
  Pair at, other;
  asm volatile(
      "ldrd %4, %5, [%6], #8\n\t"
      "smlad %0, %4, %7, %0\n\t"
      "smlad %2, %4, %8, %2\n\t"
      "smlad %1, %5, %7, %1\n\t"
      "smlad %3, %5, %8, %3"
      : "+r"(a0), "+r"(b0), "+r"(a1), "+r"(b1), "=&r"(at), "=&r"(other), "+r"(x)
      : "r"(row[0]), "r"(row[1]), "m"(*reinterpret_cast<const Both*>(x)));
}
FOVEA_INLINE void AddOneColumn(const Pair*& x, const Pair (&row)[2], Sum& a0, Sum& a1) {
  Pair at;
  asm volatile(
      "ldr %2, [%3], #4\n\t"
      "smlad %0, %2, %4, %0\n\t"
      "smlad %1, %2, %5, %1"
      : "+r"(a0), "+r"(a1), "=&r"(at), "+r"(x)
      : "r"(row[0]), "r"(row[1]), "m"(*x));
}

// Widens the next four codes of two keys and interleaves them pair by pair. The pointers advance past them, here and
// below.
FOVEA_INLINE void WidenKeys(const int8_t*& a, const int8_t*& b, Pair*& to) {
  Pair of_a, of_b, even, other;
  asm volatile(
      "ldr %3, [%0], #4\n\t"
      "ldr %4, [%1], #4\n\t"
      "sxtb16 %5, %3\n\t"
      "sxtb16 %6, %4\n\t"
      "strd %5, %6, [%2], #8\n\t"
      "sxtb16 %5, %3, ror #8\n\t"
      "sxtb16 %6, %4, ror #8\n\t"
      "strd %5, %6, [%2], #8"
      : "+r"(a), "+r"(b), "+r"(to), "=&r"(of_a), "=&r"(of_b), "=&r"(even), "=&r"(other)::"memory");
}
// Makes four pairs of the next codes of two values.
FOVEA_INLINE void WidenValues(const int8_t*& a, const int8_t*& b, Pair*& to) {
  Pair of_a, of_b, even, odd;
  asm volatile(
      "ldr %3, [%0], #4\n\t"
      "ldr %4, [%1], #4\n\t"
      "pkhbt %6, %3, %4, lsl #16\n\t"
      "pkhtb %4, %4, %3, asr #16\n\t"
      "sxtb16 %5, %6\n\t"
      "sxtb16 %6, %6, ror #8\n\t"
      "strd %5, %6, [%2], #8\n\t"
      "sxtb16 %5, %4\n\t"
      "sxtb16 %6, %4, ror #8\n\t"
      "strd %5, %6, [%2], #8"
      : "+r"(a), "+r"(b), "+r"(to), "=&r"(of_a), "=&r"(of_b), "=&r"(even), "=&r"(odd)::"memory");
}

// out[row][column] = four columns of n pairs each times two rows, for each register block of two rows, up to out_end.
// `skip` bytes are between the end of a register block's rows and the next; the pairs of its rows are kStep bytes
// apart. One assembly statement: its eight sums leave no general register free, so what it needs once a register block
// is kept in floating-point registers. A round has kUnroll pairs, and the first round may begin with a later one. r7 is
// saved by hand: it may be the frame pointer. adr needs a section that is aligned to 4 bytes, which g++ does not ask for
// with -Os: else the address of the round is wrong wherever the linker places the function at an odd half.
template <int kStep, int kUnroll>
FOVEA_INLINE void MultiplyFourColumns(const Pair* x, const Pair* rows, size_t n, ptrdiff_t skip, Sum* out, Sum* out_end) {
  constexpr size_t kPairBytes = 44;  // of instructions
  register const Pair* r0 asm("r0") = x;
  register const Pair* r1 asm("r1") = rows;
  register Sum* r2 asm("r2") = out;
  register Sum* r3 asm("r3") = out_end;
  register ptrdiff_t r4 asm("r4") = skip;
  register const Pair* r5 asm("r5") = x + 4 * n;
  register size_t r6 asm("r6") = (kUnroll - n % kUnroll) % kUnroll * kPairBytes;
  asm volatile(
      "vmov s0, s1, r0, r2\n\t"
      "vmov s2, s3, r3, r4\n\t"
      ".p2align 2\n\t adr.w r3, 2f\n\t"
      "add r3, r6\n\t"
      "vmov s4, s5, r5, r3\n\t"
      "vmov s6, r7\n\t"
      "1:\n\t"
      "movs r4, #0\n\t movs r5, #0\n\t movs r6, #0\n\t movs r7, #0\n\t"
      "mov r8, r4\n\t mov r9, r4\n\t mov r10, r4\n\t mov r11, r4\n\t"
      "vmov r12, s5\n\t"
      "mov pc, r12\n\t"
      "2:\n\t"
      ".rept %c[unroll]\n\t"
      "ldrd r2, r3, [r1], %[step]\n\t"
      "ldrd r12, lr, [r0], #8\n\t"
      "smlad r4, r12, r2, r4\n\t"
      "smlad r8, r12, r3, r8\n\t"
      "smlad r5, lr, r2, r5\n\t"
      "smlad r9, lr, r3, r9\n\t"
      "ldrd r12, lr, [r0], #8\n\t"
      "smlad r6, r12, r2, r6\n\t"
      "smlad r10, r12, r3, r10\n\t"
      "smlad r7, lr, r2, r7\n\t"
      "smlad r11, lr, r3, r11\n\t"
      ".endr\n\t"
      "vmov r12, s4\n\t"
      "cmp r0, r12\n\t"
      "bne 2b\n\t"
      "vmov r0, r12, s0, s1\n\t"
      "stmia r12!, {r4-r11}\n\t"
      "vmov s1, r12\n\t"
      "vmov r2, r3, s2, s3\n\t"
      "add r1, r3\n\t"
      "cmp r12, r2\n\t"
      "bne 1b\n\t"
      "vmov r7, s6"
      : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6)
      : [step] "i"(kStep), [unroll] "i"(kUnroll)
      : "r8", "r9", "r10", "r11", "r12", "lr", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "cc", "memory");
}

// Up to four bytes, followed by zeros.
FOVEA_INLINE uint32_t FourBytes(const int8_t* p, size_t n = 4) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return bytes;
}

// Sums of four columns, in memory: s = (sum as a float * key_scale) * query_scale. The pointer advances past them.
FOVEA_INLINE void ScaleFour(float*& s, float key_scale, const VF (&query_scale)[4]) {
  asm volatile(
      "vldmia %0, {s12-s15}\n\t"
      FOVEA_ON_FOUR("vcvt.f32.s32", "")
      FOVEA_ON_FOUR("vmul.f32", ", %1")
      "vmul.f32 s12, s12, %2\n\t"
      "vmul.f32 s13, s13, %3\n\t"
      "vmul.f32 s14, s14, %4\n\t"
      "vmul.f32 s15, s15, %5\n\t"
      "vstmia %0!, {s12-s15}"
      : "+r"(s)
      : "t"(key_scale), "t"(query_scale[0].raw), "t"(query_scale[1].raw), "t"(query_scale[2].raw),
        "t"(query_scale[3].raw)
      : "s12", "s13", "s14", "s15", "memory");
}
// o = o * rescale + sum as a float * factor, of four columns. The pointers advance past them.
FOVEA_INLINE void JoinFour(const float*& sums, float*& o, const VF (&rescale)[4], const VF (&factor)[4]) {
  asm volatile(
      "vldmia %0!, {s12-s15}\n\t"
      "vldmia %1, {s16-s19}\n\t"
      FOVEA_ON_FOUR("vcvt.f32.s32", "")
      "vmul.f32 s16, s16, %2\n\t"
      "vmul.f32 s17, s17, %3\n\t"
      "vmul.f32 s18, s18, %4\n\t"
      "vmul.f32 s19, s19, %5\n\t"
      "vmul.f32 s12, s12, %6\n\t"
      "vmul.f32 s13, s13, %7\n\t"
      "vmul.f32 s14, s14, %8\n\t"
      "vmul.f32 s15, s15, %9\n\t"
      "vadd.f32 s16, s16, s12\n\t"
      "vadd.f32 s17, s17, s13\n\t"
      "vadd.f32 s18, s18, s14\n\t"
      "vadd.f32 s19, s19, s15\n\t"
      "vstmia %1!, {s16-s19}"
      : "+r"(sums), "+r"(o)
      : "t"(rescale[0].raw), "t"(rescale[1].raw), "t"(rescale[2].raw), "t"(rescale[3].raw), "t"(factor[0].raw),
        "t"(factor[1].raw), "t"(factor[2].raw), "t"(factor[3].raw)
      : "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "memory");
}

// Stores a row, with its pairs two words apart.
FOVEA_INLINE void PutKey(const int8_t* row, size_t dim, Pair* to) {
  for (size_t d = 0; d < dim; d += 4, row += 4, to += 4) {
    const uint32_t four = FourBytes(row, dim - d < 4 ? dim - d : 4);
    to[0] = EvenBytes(four);
    to[2] = OddBytes(four);
  }
}
// Stores pairs of two rows alternately: [pair][2 rows], the elements of each four in the order 0, 2, 1, 3.
FOVEA_INLINE void PutTwoKeys(const int8_t* a, const int8_t* b, size_t dim, Pair* to) {
  size_t left = dim;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; left >= 4; left -= 4) WidenKeys(a, b, to);
  if (left == 0) return;
  PutKey(a, left, to);
  PutKey(b, left, to + 1);
}

// Stores two rows as pairs: [element][2 rows].
FOVEA_INLINE void PutTwoValues(const int8_t* a, const int8_t* b, size_t elements, Pair* to) {
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; elements >= 4; elements -= 4) WidenValues(a, b, to);
  for (; elements > 0; --elements) *to++ = LowHalves(uint32_t(*a++), uint32_t(*b++));
}

// Where code d of a row is stored among the codes of the row.
static constexpr size_t PlaceOf(size_t d) { return (d & ~size_t{3}) | (d & 1) << 1 | (d >> 1 & 1); }

FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) { *lanes = Code(hn::BitCast(kI, biased).raw); }
FOVEA_INLINE void StoreCodes(VF codes, RowCode* to, size_t) { *to = RowCode(int32_t(codes.raw)); }
FOVEA_INLINE void StoreWeights(const VF (&biased)[2], Code* to) {
  Pair bytes = LowHalves(uint32_t(hn::BitCast(kI, biased[0]).raw), uint32_t(hn::BitCast(kI, biased[1]).raw));
  asm("uxtb16 %0, %0" : "+r"(bytes));
  *reinterpret_cast<Pair*>(to) = bytes;
}

// ---- for rows of queries in f32
static constexpr bool kPutsQueries = true;

// The largest magnitude of n numbers. Bits of magnitudes have the order of the magnitudes, and those of NaN are last.
FOVEA_INLINE VF LargestMagnitude(const float* p, size_t n) {
  typedef float Four[4];
  uint32_t twice = 0;  // without the sign
  for (; n >= 4; n -= 4) {
    uint32_t a, b, c, d;
    asm("ldrd %1, %2, [%5], #8\n\t"
        "ldrd %3, %4, [%5], #8\n\t"
        "cmp %0, %1, lsl #1\n\tit lo\n\tlsllo %0, %1, #1\n\t"
        "cmp %0, %2, lsl #1\n\tit lo\n\tlsllo %0, %2, #1\n\t"
        "cmp %0, %3, lsl #1\n\tit lo\n\tlsllo %0, %3, #1\n\t"
        "cmp %0, %4, lsl #1\n\tit lo\n\tlsllo %0, %4, #1"
        : "+r"(twice), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "+r"(p)
        : "m"(*reinterpret_cast<const Four*>(p))
        : "cc");
  }
  for (; n > 0; --n, ++p) {
    const uint32_t other = uint32_t(hn::BitCast(kI, hn::LoadU(kF, p)).raw) << 1;
    twice = other > twice ? other : twice;
  }
  return hn::BitCast(kF, hn::Set(kI, int32_t(twice >> 1)));
}
// Stores the codes of whole fours of n elements of a query, times scale, in their column: to the nearest, ties to even,
// and 0 for NaN. Returns the number of these elements.
FOVEA_INLINE size_t PutQueries(const float* p, size_t n, VF scale, VF inverse, Code* x, size_t columns) {
  for (size_t left = n; left >= 4; left -= 4) {
    Pair a, b, c, d;
    asm volatile(
        "vldmia %0!, {s12-s15}\n\t"
        FOVEA_ON_FOUR("vmul.f32", ", %6")
        FOVEA_ON_FOUR("vmul.f32", ", %7")
        FOVEA_ON_FOUR("vcvtr.s32.f32", "")
        "vmov %1, %2, s12, s13\n\t"
        "vmov %3, %4, s14, s15\n\t"
        "pkhbt %1, %1, %3, lsl #16\n\t"
        "pkhbt %2, %2, %4, lsl #16\n\t"
        "str %2, [%5, %8]\n\t"
        "str %1, [%5]"
        : "+r"(p), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "+r"(x)
        : "t"(scale.raw), "t"(inverse.raw), "r"(4 * columns)
        : "s12", "s13", "s14", "s15", "memory");
    x += 4 * columns;
  }
  return n / 4 * 4;
}

// ---- for four columns at once

FOVEA_INLINE void LoadVectors(const float* p, VF (&v)[4]) {
  FOVEA_LOAD_FOUR(p, s12, s13, s14, s15);
  v[0].raw = s12, v[1].raw = s13, v[2].raw = s14, v[3].raw = s15;
}
FOVEA_INLINE void StoreVectors(const VF (&v)[4], float* p) {
  typedef float Four[4];
  register float s12 asm("s12") = v[0].raw, s13 asm("s13") = v[1].raw, s14 asm("s14") = v[2].raw,
                 s15 asm("s15") = v[3].raw;
  asm("vstmia %1, {s12-s15}"
      : "=m"(*reinterpret_cast<Four*>(p))
      : "r"(p), "t"(s12), "t"(s13), "t"(s14), "t"(s15));
}

// The codes of two keys' weights, from weights times `inverse`, to the nearest, ties to even, and 0 for NaN. w advances
// past them.
FOVEA_INLINE void StoreWeights(const float*& w, size_t, const VF (&inverse)[4], Code* to) {
  Pair a, b, c, d;
  asm volatile(
      "vldmia %0!, {s12-s19}\n\t"
      ".irp column, 12, 16\n\t"
      "vmul.f32 s\\column, s\\column, %5\n\t"
      "vcvtr.s32.f32 s\\column, s\\column\n\t"
      ".endr\n\t"
      ".irp column, 13, 17\n\t"
      "vmul.f32 s\\column, s\\column, %6\n\t"
      "vcvtr.s32.f32 s\\column, s\\column\n\t"
      ".endr\n\t"
      ".irp column, 14, 18\n\t"
      "vmul.f32 s\\column, s\\column, %7\n\t"
      "vcvtr.s32.f32 s\\column, s\\column\n\t"
      ".endr\n\t"
      ".irp column, 15, 19\n\t"
      "vmul.f32 s\\column, s\\column, %8\n\t"
      "vcvtr.s32.f32 s\\column, s\\column\n\t"
      ".endr\n\t"
      "vmov %1, %2, s12, s13\n\t"
      "vmov %3, %4, s16, s17\n\t"
      "pkhbt %1, %1, %3, lsl #16\n\t"
      "pkhbt %2, %2, %4, lsl #16\n\t"
      "strd %1, %2, [%9]\n\t"
      "vmov %1, %2, s14, s15\n\t"
      "vmov %3, %4, s18, s19\n\t"
      "pkhbt %1, %1, %3, lsl #16\n\t"
      "pkhbt %2, %2, %4, lsl #16\n\t"
      "strd %1, %2, [%9, #8]"
      : "+r"(w), "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
      : "t"(inverse[0].raw), "t"(inverse[1].raw), "t"(inverse[2].raw), "t"(inverse[3].raw), "r"(to)
      : "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "memory");
}

};
#undef FOVEA_ON_FOUR

#endif  // FOVEA_SRC_SIMD_DOT_SMLAD_INL_
