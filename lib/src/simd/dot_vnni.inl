// SPDX-License-Identifier: Apache-2.0
//
// The dot words of x86's vpdpbusd, which multiplies unsigned bytes by signed ones. The instruction is written as text,
// so that it needs no other compiler flags than its neighbours.

namespace dot {

constexpr DotKind kKind = kDotVnni;
constexpr bool kUnsignedQueries = true, kSignedWeights = false;
using Code = uint8_t;
using RowCode = int8_t;

using X = hn::raw::I;
using E = hn::raw::I;
using Sum = hn::raw::I;

constexpr int RegistersBeside(int vectors, int) { return vectors + 1; }

#if FOVEA_VNNI_LANES == 16
FOVEA_INLINE X LoadX(const Code* p) { return _mm512_loadu_si512(p); }
FOVEA_INLINE Sum Start(int32_t sum) { return _mm512_set1_epi32(sum); }
FOVEA_INLINE Sum Dot(X x, E e, Sum sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(e));
  return sum;
}
FOVEA_INLINE void StoreWords(hn::raw::I v, void* to) { _mm512_storeu_si512(to, v); }
#else
FOVEA_INLINE X LoadX(const Code* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
FOVEA_INLINE Sum Start(int32_t sum) { return _mm256_set1_epi32(sum); }
FOVEA_INLINE Sum Dot(X x, E e, Sum sum) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x), "x"(e));
  return sum;
}
FOVEA_INLINE void StoreWords(hn::raw::I v, void* to) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
#endif
FOVEA_INLINE E LoadE(const RowCode* p) {
  int32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return Start(bytes);
}
FOVEA_INLINE E LoadPartOfE(const RowCode* p, size_t n) {
  int32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return Start(bytes);
}
template <int i>
FOVEA_INLINE Sum DotAdd(X x, E e, Sum sum) {
  return Dot(x, e, sum);
}
FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, VI{sum}); }

constexpr size_t PlaceOf(size_t d) { return d; }
FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
  hn::StoreU8(hn::Xor(hn::BitCast(kI, biased), hn::Set(kI, 0x80)), lanes);
}
FOVEA_INLINE void StoreWeights(const VF (&biased)[4], Code* to) { StoreWords(hn::Raw(PackBytes(biased)), to); }
FOVEA_INLINE void StoreCodes(VF codes, RowCode* to, size_t n) { StoreByteCodes(codes, to, n); }

// The codes of queries have 128 added: what the sums of products with a key begin with makes up for it.
FOVEA_INLINE int32_t StartOfKey(const RowCode* row, size_t dim) {
  const X ones = Start(0x01010101);
  Sum sum = Start(0);
  size_t d = 0;
  for (; d + 4 * kLanes <= dim; d += 4 * kLanes) sum = Dot(ones, LoadX(reinterpret_cast<const Code*>(row + d)), sum);
  int32_t lanes[kLanes];
  StoreWords(sum, lanes);
  int32_t total = 0;
  for (const int32_t lane : lanes) total += lane;
  for (; d < dim; ++d) total += row[d];
  return -128 * total;
}

// to[element][4] = element of each of four rows, for the elements of whole vectors of 16. Returns how many these are.
FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[4], size_t elements, RowCode* to, int32_t*) {
  size_t e = 0;
  for (; e + 16 <= elements; e += 16, to += 64) {
    __m128i v[4];
    FOVEA_UNROLL(4)
    for (int i = 0; i < 4; ++i) v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[i] + e));
    const __m128i lo01 = _mm_unpacklo_epi8(v[0], v[1]), hi01 = _mm_unpackhi_epi8(v[0], v[1]);
    const __m128i lo23 = _mm_unpacklo_epi8(v[2], v[3]), hi23 = _mm_unpackhi_epi8(v[2], v[3]);
    __m128i* const out = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(out, _mm_unpacklo_epi16(lo01, lo23));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(lo01, lo23));
    _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(hi01, hi23));
    _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(hi01, hi23));
  }
  return e;
}

}  // namespace dot
