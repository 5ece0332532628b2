// SPDX-License-Identifier: Apache-2.0
//
// The words for integers of the target, in a namespace `integers`: those of Helium, or of vectors of one integer. A target
// that has products of its own for all-integer attention names their file in FOVEA_INTEGER_PRODUCTS.
#ifndef FOVEA_SRC_SIMD_INTEGERS_INL_
#define FOVEA_SRC_SIMD_INTEGERS_INL_

#if FOVEA_FOR_HELIUM
#include "ground/simd/integer_helium.inl"
#else
#if FOVEA_SMLAD
#define FOVEA_INTEGER_PRODUCTS "layers/integer/products_smlad.inl"
#endif
namespace integers {

constexpr size_t kLanes = 1;
using V = int32_t;

FOVEA_INLINE V Set(int32_t x) { return x; }
FOVEA_INLINE V Load(const int32_t* p) { return *p; }
FOVEA_INLINE void Store(V v, int32_t* p) { *p = v; }
// Clamps to the range of a signed byte.
FOVEA_INLINE V Saturate(V v) {
#if FOVEA_SMLAD
  asm("ssat %0, #8, %0" : "+r"(v));
  return v;
#else
  return v < -128 ? -128 : v > 127 ? 127 : v;
#endif
}
FOVEA_INLINE void StoreBytes(V v, int8_t* p) { *p = int8_t(v); }
FOVEA_INLINE void StoreSomeBytes(V v, int8_t* p, size_t) { *p = int8_t(v); }
FOVEA_INLINE V Add(V a, V b) { return a + b; }
FOVEA_INLINE V Sub(V a, V b) { return a - b; }
FOVEA_INLINE V Min(V a, V b) { return a < b ? a : b; }
FOVEA_INLINE V Max(V a, V b) { return a > b ? a : b; }
FOVEA_INLINE int32_t LargestLane(V v) { return v; }
FOVEA_INLINE V ShiftLeft(V v, int n) { return V(uint32_t(v) << n); }
// (v + 2^(n - 1)) / 2^n, rounded down.
FOVEA_INLINE V ShiftRound(V v, int n) { return (v + (1 << (n - 1))) >> n; }
// The upper half of v * x.
FOVEA_INLINE V MulHigh(V v, int32_t x) { return V((int64_t(v) * x) >> 32); }
// v * x / 2^31, rounded to the nearest, where |v| < 2^30.
FOVEA_INLINE V MulRound(V v, int32_t x) {
#if FOVEA_SMLAD
  V high;
  asm("smmulr %0, %1, %2" : "=r"(high) : "r"(V(uint32_t(v) * 2)), "r"(x));
  return high;
#else
  return V((int64_t(v) * x + (1 << 30)) >> 31);
#endif
}
FOVEA_INLINE V Lookup(const uint8_t* table, V index) { return table[index]; }

// ------------------------------------------------------------------------------------- layers on int8 tensors

// How many lanes of a vector are loaded or stored: all. Nothing is left over where a vector is one integer.
struct All {};
struct Some : All {
  explicit Some(size_t) {}
};

FOVEA_INLINE V LoadCodes(const int8_t* p, All) { return *p; }
FOVEA_INLINE V LoadHalves(const int16_t* p, All) { return *p; }
FOVEA_INLINE void StoreCodes(V v, int8_t* p, All) { *p = int8_t(v); }

// Modulo 2^32.
FOVEA_INLINE V Mul(V a, V b) { return V(uint32_t(a) * uint32_t(b)); }
FOVEA_INLINE V Scaled(V v, int32_t factor, int32_t more) {
  V scaled = V(uint32_t(v) * uint32_t(factor) + uint32_t(more));
#if FOVEA_SMLAD
  FOVEA_OPAQUE(scaled);  // else what is added to it is added first, by one instruction more
#endif
  return scaled;
}
FOVEA_INLINE V MulAdd(V v, int32_t factor, V more) { return V(uint32_t(v) * uint32_t(factor) + uint32_t(more)); }

// sum + floor(v * half / 2^16), for halves of 16 bits.
FOVEA_INLINE V AddMulHalf(V sum, V v, V half) {
#if FOVEA_SMLAD
  asm("smlawb %0, %1, %2, %0" : "+r"(sum) : "r"(v), "r"(half));
  return sum;
#else
  return sum + V((int64_t(v) * half) >> 16);
#endif
}
// sum + floor(v * x / 2^32).
FOVEA_INLINE V AddMulHigh(V sum, V v, int32_t x) {
#if FOVEA_SMLAD
  asm("smmla %0, %1, %2, %0" : "+r"(sum) : "r"(v), "r"(x));
  return sum;
#else
  return sum + V((int64_t(v) * x) >> 32);
#endif
}
// round((v - kHalf<kBits>) / 2^kBits), clamped to the range of a code.
template <int kBits>
constexpr int32_t kHalf = 1 << (kBits - 1);
template <int kBits>
FOVEA_INLINE V CodeOf(V v) {
#if FOVEA_SMLAD
  asm("ssat %0, #8, %1, asr %2" : "=r"(v) : "r"(v), "n"(kBits));
  return v;
#else
  return Saturate(v >> kBits);
#endif
}
FOVEA_INLINE V ShiftDown(V v, int n) { return v >> n; }

// The sum of codes, and of their squares.
struct CodeSums {
  int32_t sum, squares;
};
FOVEA_INLINE CodeSums SumCodes(const int8_t* p, size_t count) {
  int32_t sum = 0, squares = 0;
#if FOVEA_SMLAD
  uint32_t ones = 0x10001;
  FOVEA_OPAQUE(ones);
  const auto add_four = [&](const int8_t* codes) __attribute__((always_inline)) {
    uint32_t four, even, odd;
    __builtin_memcpy(&four, codes, 4);
    asm("sxtb16 %0, %1" : "=r"(even) : "r"(four));
    asm("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(four));
    asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(ones));
    asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(ones));
    asm("smlad %0, %1, %1, %0" : "+r"(squares) : "r"(even));
    asm("smlad %0, %1, %1, %0" : "+r"(squares) : "r"(odd));
  };
  for (; count >= 16; count -= 16, p += 16) {
    FOVEA_UNROLL_FOR_SPEED(4)
    for (int i = 0; i < 16; i += 4) add_four(p + i);
  }
  for (; count >= 4; count -= 4, p += 4) add_four(p);
#endif
  for (; count > 0; --count, ++p) {
    sum += *p;
    squares += *p * *p;
  }
  return {sum, squares};
}

#if FOVEA_SMLAD && !FOVEA_PREFER_SIZE
// Sixteen codes at an address of whole words, to which one instruction stores them: so a code takes 2.8 instructions,
// where its load, that of the table and a store of its own would be 3.
FOVEA_INLINE void TranslateSixteen(const int8_t* table, const uint8_t*& from, int8_t*& to) {
#define FOVEA_FOUR_CODES(word)                                      \
  "ldrb " word                                                      \
  ", [%[from]], #1\n\t ldrb %[b], [%[from]], #1\n\t"                \
  "ldrb %[c], [%[from]], #1\n\t ldrb %[d], [%[from]], #1\n\t"       \
  "ldrb " word ", [%[table], " word                                 \
  "]\n\t ldrb %[b], [%[table], %[b]]\n\t"                           \
  "ldrb %[c], [%[table], %[c]]\n\t ldrb %[d], [%[table], %[d]]\n\t" \
  "orr " word ", " word ", %[b], lsl #8\n\t orr " word ", " word    \
  ", %[c], lsl #16\n\t"                                             \
  "orr " word ", " word ", %[d], lsl #24\n\t"
  uint32_t b, c, d;
  asm volatile(FOVEA_FOUR_CODES("r8") FOVEA_FOUR_CODES("r9") FOVEA_FOUR_CODES("r10")
                   FOVEA_FOUR_CODES("r12") "stmia %[to]!, {r8, r9, r10, r12}"
               : [from] "+r"(from), [to] "+r"(to), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
               : [table] "r"(table)
               : "r8", "r9", "r10", "r12", "memory");
#undef FOVEA_FOUR_CODES
}
#endif

// to[i] = table[codes[i]], where codes count as unsigned.
FOVEA_INLINE void Translate(const int8_t* table, const int8_t* codes, size_t count, int8_t* to) {
  const uint8_t* from = reinterpret_cast<const uint8_t*>(codes);
#if FOVEA_SMLAD && !FOVEA_PREFER_SIZE
  for (; count > 0 && reinterpret_cast<uintptr_t>(to) % 4 != 0; --count) *to++ = table[*from++];
  for (const int8_t* const end = to + count / 16 * 16; to != end;) TranslateSixteen(table, from, to);
  count %= 16;
#else
  for (; count >= 16; count -= 16, from += 16, to += 16) {
    FOVEA_UNROLL_FOR_SPEED(16)
    for (int i = 0; i < 16; ++i) to[i] = table[from[i]];
  }
#endif
  for (; count > 0; --count) *to++ = table[*from++];
}

}  // namespace integers
#endif

#endif  // FOVEA_SRC_SIMD_INTEGERS_INL_
