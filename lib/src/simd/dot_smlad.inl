// SPDX-License-Identifier: Apache-2.0
//
// The dot words of Arm's smlad, which multiplies two pairs of 16-bit integers and adds both products to a sum. Bytes of
// keys and values become 16-bit integers when they are brought. sxtb16 widens bytes 0 and 2 of a word, or 1 and 3: so
// each four codes of a row, and of the queries, lie in the order 0, 2, 1, 3.

namespace dot {

constexpr DotKind kKind = kDotSmlad;
constexpr bool kUnsignedQueries = false, kSignedWeights = false;
using Code = int16_t;
using RowCode = int16_t;
using Sum = int32_t;
using Pair = uint32_t;

FOVEA_INLINE Sum Start(int32_t sum) { return sum; }
FOVEA_INLINE VI ToInts(Sum sum) { return hn::Set(kI, sum); }
FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, hn::Set(kI, sum)); }

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

// The next pairs of two rows, which lie next to each other, and then the pointer moves by kBytes.
template <int kBytes>
FOVEA_INLINE void NextOfRows(const Pair*& rows, Pair (&row)[2]) {
  typedef Pair Both[2];
  asm volatile("ldrd %0, %1, [%2], %4"
               : "=&r"(row[0]), "=&r"(row[1]), "+r"(rows)
               : "m"(*reinterpret_cast<const Both*>(rows)), "i"(kBytes));
}
// a[k] += the next pair of the first of two columns times row[k], b[k] that of the second. One text, which the compiler
// does not take apart: it would load ahead and have no registers left for the sums.
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

// The pointer moves behind the two words.
FOVEA_INLINE void StoreTwo(Pair a, Pair b, Pair*& p) {
  typedef Pair Both[2];
  asm("strd %2, %3, [%1], #8" : "=m"(*reinterpret_cast<Both*>(p)), "+r"(p) : "r"(a), "r"(b));
}

// Up to four bytes, and zeros.
FOVEA_INLINE uint32_t FourBytes(const int8_t* p, size_t n = 4) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return bytes;
}

// A row whose pairs lie two words apart.
FOVEA_INLINE void PutKey(const int8_t* row, size_t dim, Pair* to) {
  for (size_t d = 0; d < dim; d += 4, row += 4, to += 4) {
    const uint32_t four = FourBytes(row, dim - d < 4 ? dim - d : 4);
    to[0] = EvenBytes(four);
    to[2] = OddBytes(four);
  }
}
// Pairs of two rows by turns: [pair][2 rows], the elements of each four in the order 0, 2, 1, 3.
FOVEA_INLINE void PutTwoKeys(const int8_t* a, const int8_t* b, size_t dim, Pair* to) {
  size_t left = dim;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; left >= 4; left -= 4, a += 4, b += 4) {
    const uint32_t of_a = FourBytes(a), of_b = FourBytes(b);
    StoreTwo(EvenBytes(of_a), EvenBytes(of_b), to);
    StoreTwo(OddBytes(of_a), OddBytes(of_b), to);
  }
  if (left == 0) return;
  PutKey(a, left, to);
  PutKey(b, left, to + 1);
}

// Pairs of two rows: [element][2 rows].
FOVEA_INLINE void PutTwoValues(const int8_t* a, const int8_t* b, size_t elements, Pair* to) {
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; elements >= 4; elements -= 4, a += 4, b += 4) {
    const uint32_t of_a = FourBytes(a), of_b = FourBytes(b);
    const uint32_t low = LowHalves(of_a, of_b), high = HighHalves(of_a, of_b);
    StoreTwo(EvenBytes(low), OddBytes(low), to);
    StoreTwo(EvenBytes(high), OddBytes(high), to);
  }
  for (; elements > 0; --elements) *to++ = LowHalves(uint32_t(*a++), uint32_t(*b++));
}

// Where code d of a row lies among those of the row.
constexpr size_t PlaceOf(size_t d) { return (d & ~size_t{3}) | (d & 1) << 1 | (d >> 1 & 1); }

FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) { *lanes = Code(hn::BitCast(kI, biased).raw); }
FOVEA_INLINE int32_t SumOfRow(const int8_t* row, size_t dim) { return SumOfBytes(row, dim); }
FOVEA_INLINE void StoreCodes(VF codes, RowCode* to, size_t) { *to = RowCode(int32_t(codes.raw)); }
FOVEA_INLINE void StoreWeights(const VF (&biased)[2], Code* to) {
  Pair bytes = LowHalves(uint32_t(hn::BitCast(kI, biased[0]).raw), uint32_t(hn::BitCast(kI, biased[1]).raw));
  asm("uxtb16 %0, %0" : "+r"(bytes));
  *reinterpret_cast<Pair*>(to) = bytes;
}

}  // namespace dot
