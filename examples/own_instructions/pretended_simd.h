// A value for FOVEA_SIMD_HEADER, to be copied: "Instructions of your own" of lib/src/ground/simd/VOCABULARY.md says what is asked
// of it. The vectors are those that g++ and clang make of any processor's instructions, four floats each. So this file
// serves processors that the library does not know but the compiler does; where your instructions are only in assembly
// or in intrinsics, replace the bodies of the words.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(FOVEA_SIMD_INCLUDES)
// Here, outside of all namespaces, are the file's includes: #include <your_intrinsics.h>
#else

template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
constexpr size_t kLanes = 4;
// Structures, because compilers convert vectors of one size into one another.
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
typedef uint32_t Unsigned __attribute__((vector_size(16)));
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint8_t FourBytes __attribute__((vector_size(4)));
typedef int8_t FourSignedBytes __attribute__((vector_size(4)));
typedef uint16_t FourHalves __attribute__((vector_size(8)));
struct VF {
  Floats raw;
};
struct VI {
  Ints raw;
};
struct MF {
  Ints raw;  // -1 where the mask is set, else 0
};
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 3;

template <class To, class From>
FOVEA_INLINE To Bits(From v) {
  To to;
  static_assert(sizeof to == sizeof v, "the same bits");
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}
template <class V, class T>
FOVEA_INLINE V Load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
// The first n elements at p, and zeros.
template <class V, class T>
FOVEA_INLINE V LoadSome(const T* p, size_t n) {
  T elements[sizeof(V) / sizeof(T)] = {};
  for (size_t i = 0; i < n; ++i) elements[i] = p[i];
  return Load<V>(elements);
}
template <class V, class T>
FOVEA_INLINE void StoreSome(V v, T* p, size_t n) {
  T elements[sizeof(V) / sizeof(T)];
  __builtin_memcpy(elements, &v, sizeof v);
  for (size_t i = 0; i < n; ++i) p[i] = elements[i];
}

FOVEA_INLINE VF Zero(Tag<float>) { return {Floats{}}; }
FOVEA_INLINE VF Set(Tag<float>, float x) { return {Floats{x, x, x, x}}; }
FOVEA_INLINE VI Set(Tag<int32_t>, int32_t x) { return {Ints{x, x, x, x}}; }
FOVEA_INLINE VF Iota(Tag<float>, float first) { return {Floats{0.0f, 1.0f, 2.0f, 3.0f} + first}; }

FOVEA_INLINE VF LoadU(Tag<float>, const float* p) { return {Load<Floats>(p)}; }
FOVEA_INLINE VI LoadU(Tag<int32_t>, const int32_t* p) { return {Load<Ints>(p)}; }
FOVEA_INLINE void StoreU(VF v, Tag<float>, float* p) { __builtin_memcpy(p, &v.raw, 16); }
FOVEA_INLINE VF LoadN(Tag<float>, const float* p, size_t n) { return {LoadSome<Floats>(p, n)}; }
FOVEA_INLINE void StoreN(VF v, Tag<float>, float* p, size_t n) { StoreSome(v.raw, p, n); }
FOVEA_INLINE VI LoadU16(Tag<int32_t>, const uint16_t* p) { return {__builtin_convertvector(Load<FourHalves>(p), Ints)}; }
FOVEA_INLINE VI LoadU8(Tag<int32_t>, const uint8_t* p) { return {__builtin_convertvector(Load<FourBytes>(p), Ints)}; }
FOVEA_INLINE VI LoadI8(Tag<int32_t>, const int8_t* p) { return {__builtin_convertvector(Load<FourSignedBytes>(p), Ints)}; }
FOVEA_INLINE VI LoadU16N(Tag<int32_t>, const uint16_t* p, size_t n) {
  return {__builtin_convertvector(LoadSome<FourHalves>(p, n), Ints)};
}
FOVEA_INLINE VI LoadU8N(Tag<int32_t>, const uint8_t* p, size_t n) {
  return {__builtin_convertvector(LoadSome<FourBytes>(p, n), Ints)};
}
FOVEA_INLINE VI LoadI8N(Tag<int32_t>, const int8_t* p, size_t n) {
  return {__builtin_convertvector(LoadSome<FourSignedBytes>(p, n), Ints)};
}
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) { StoreSome(__builtin_convertvector(v.raw, FourHalves), p, kLanes); }
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) { StoreSome(__builtin_convertvector(v.raw, FourBytes), p, kLanes); }
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) { StoreSome(__builtin_convertvector(v.raw, FourHalves), p, n); }
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) { StoreSome(__builtin_convertvector(v.raw, FourBytes), p, n); }
FOVEA_INLINE void LoadPairs(Tag<float>, const float* p, VF& a, VF& b) {
  a.raw = Floats{p[0], p[2], p[4], p[6]};
  b.raw = Floats{p[1], p[3], p[5], p[7]};
}
FOVEA_INLINE void StorePairs(VF a, VF b, Tag<float>, float* p) {
  StoreU({Floats{a.raw[0], b.raw[0], a.raw[1], b.raw[1]}}, kF, p);
  StoreU({Floats{a.raw[2], b.raw[2], a.raw[3], b.raw[3]}}, kF, p + 4);
}

FOVEA_INLINE VF BitCast(Tag<float>, VI a) { return {Bits<Floats>(a.raw)}; }
FOVEA_INLINE VI BitCast(Tag<int32_t>, VF a) { return {Bits<Ints>(a.raw)}; }
FOVEA_INLINE VF ConvertTo(Tag<float>, VI a) { return {__builtin_convertvector(a.raw, Floats)}; }

FOVEA_INLINE VI Add(VI a, VI b) { return {Bits<Ints>(Bits<Unsigned>(a.raw) + Bits<Unsigned>(b.raw))}; }
FOVEA_INLINE VI Sub(VI a, VI b) { return {Bits<Ints>(Bits<Unsigned>(a.raw) - Bits<Unsigned>(b.raw))}; }
FOVEA_INLINE VI And(VI a, VI b) { return {a.raw & b.raw}; }
FOVEA_INLINE VI Or(VI a, VI b) { return {a.raw | b.raw}; }
FOVEA_INLINE VI Xor(VI a, VI b) { return {a.raw ^ b.raw}; }
FOVEA_INLINE VI MulWide(VI a, uint32_t b, VI& high) {
  VI low;
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t product = uint64_t(uint32_t(a.raw[i])) * b;
    low.raw[i] = int32_t(uint32_t(product));
    high.raw[i] = int32_t(uint32_t(product >> 32));
  }
  return low;
}
template <int n>
FOVEA_INLINE VI ShiftLeft(VI a) {
  return {Bits<Ints>(Bits<Unsigned>(a.raw) << n)};
}
template <int n>
FOVEA_INLINE VI ShiftRight(VI a) {
  return {a.raw >> n};
}

FOVEA_INLINE MF Eq(VF a, VF b) { return {a.raw == b.raw}; }
FOVEA_INLINE MF Lt(VF a, VF b) { return {a.raw < b.raw}; }
FOVEA_INLINE MF Le(VF a, VF b) { return {a.raw <= b.raw}; }
FOVEA_INLINE MF Or(MF a, MF b) { return {a.raw | b.raw}; }
FOVEA_INLINE MF SignMask(VF v) { return {Bits<Ints>(v.raw) >> 31}; }
FOVEA_INLINE VF IfThenElse(MF m, VF yes, VF no) {
  return {Bits<Floats>((Bits<Ints>(yes.raw) & m.raw) | (Bits<Ints>(no.raw) & ~m.raw))};
}
FOVEA_INLINE VF IfThenZeroElse(MF m, VF no) { return {Bits<Floats>(Bits<Ints>(no.raw) & ~m.raw)}; }

FOVEA_INLINE VF Add(VF a, VF b) { return {a.raw + b.raw}; }
FOVEA_INLINE VF Sub(VF a, VF b) { return {a.raw - b.raw}; }
FOVEA_INLINE VF Mul(VF a, VF b) { return {a.raw * b.raw}; }
FOVEA_INLINE VF Div(VF a, VF b) { return {a.raw / b.raw}; }
FOVEA_INLINE VF Max(VF a, VF b) { return IfThenElse(Lt(a, b), b, a); }
FOVEA_INLINE VF ClampMin(VF a, VF least) { return IfThenElse(Lt(a, least), least, a); }
FOVEA_INLINE VF Abs(VF a) { return {Bits<Floats>(Bits<Ints>(a.raw) & 0x7fffffff)}; }
#if FOVEA_SIMD_FUSES
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) {
  FOVEA_UNROLL(4)
  for (size_t i = 0; i < kLanes; ++i) c.raw[i] = __builtin_fmaf(a.raw[i], b.raw[i], c.raw[i]);
  return c;
}
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return MulAdd({-a.raw}, b, c); }
#else
FOVEA_INLINE VF MulAdd(VF a, VF b, VF c) { return {a.raw * b.raw + c.raw}; }
FOVEA_INLINE VF NegMulAdd(VF a, VF b, VF c) { return {c.raw - a.raw * b.raw}; }
#endif
FOVEA_INLINE VF MulAddUnless(MF m, VF a, VF b, VF c) { return IfThenElse(m, c, MulAdd(a, b, c)); }

FOVEA_INLINE void Transpose(VF (&v)[4]) {
  const Floats a = v[0].raw, b = v[1].raw, c = v[2].raw, d = v[3].raw;
  FOVEA_UNROLL(4)
  for (int i = 0; i < 4; ++i) v[i].raw = Floats{a[i], b[i], c[i], d[i]};
}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  return {Floats{v.raw[k], v.raw[1 ^ k], v.raw[2 ^ k], v.raw[3 ^ k]}};
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[4]) {
  VF columns[4] = {v[0], v[1], v[2], v[3]};
  Transpose(columns);
  return Add(Add(columns[0], columns[2]), Add(columns[1], columns[3]));
}

#endif
