// SPDX-License-Identifier: Apache-2.0
//
// The contract of the vocabulary (lib/src/ground/simd/VOCABULARY.md), word by word. Included inside the namespace of a target,
// after its backend header. Words that have one exact answer are compared bit for bit.

// How a lane is compared: all bits; any NaN for any NaN; and also either zero for either zero.
enum class Same { kBits, kNumber, kValue };

uint32_t BitsOf(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
float FloatOf(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
bool IsNan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

bool Agree(Same same, uint32_t got, uint32_t wanted) {
  if (got == wanted) return true;
  if (same != Same::kBits && IsNan(got) && IsNan(wanted)) return true;
  return same == Same::kValue && ((got | wanted) & 0x7fffffffu) == 0;
}

void Compare(ContractLog& log, Same same, size_t lane, uint32_t got, uint32_t wanted) {
  log.count(1);
  if (!Agree(same, got, wanted)) log.fail(lane, got, wanted);
}
template <class Lane, class Got, class Wanted>
void CompareBits(ContractLog& log, Lane lane, Got got, Wanted wanted) {
  Compare(log, Same::kBits, size_t(lane), uint32_t(got), uint32_t(wanted));
}

// Elements at any address.
template <class T>
void CompareStored(ContractLog& log, const void* got, const T* wanted, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T x;
    __builtin_memcpy(&x, static_cast<const uint8_t*>(got) + i * sizeof x, sizeof x);
    CompareBits(log, i, x, wanted[i]);
  }
}

// The vectors of 32-bit Arm compute with a zero of the same sign in place of a subnormal number, operand or result.
#if (defined(__ARM_NEON) && !defined(__aarch64__)) || defined(__ARM_FEATURE_MVE)
constexpr bool kFlushes = kLanes > 1;
#else
constexpr bool kFlushes = false;
#endif
float Flushed(float x) {
  const uint32_t bits = BitsOf(x);
  return kFlushes && (bits & 0x7f800000u) == 0 ? FloatOf(bits & 0x80000000u) : x;
}

// The lanes of vectors as bits, by way of StoreU alone.
struct Lanes {
  uint32_t bits[kLanes];
};
Lanes LanesOf(VF v) {
  float x[kLanes + 1];  // an odd place: StoreU takes any
  Lanes lanes;
  hn::StoreU(v, kF, x + 1);
  __builtin_memcpy(lanes.bits, x + 1, sizeof lanes.bits);
  return lanes;
}
Lanes LanesOf(VI v) { return LanesOf(hn::BitCast(kF, v)); }
// 1.0 where the mask is set and 0.0 where not; something else where the words that take a mask do not agree.
Lanes LanesOf(MF m) {
  Lanes lanes = LanesOf(hn::IfThenElse(m, hn::Set(kF, 1.0f), hn::Set(kF, 0.0f)));
  const Lanes kept = LanesOf(hn::IfThenZeroElse(m, hn::BitCast(kF, hn::Set(kI, -1))));
  for (size_t i = 0; i < kLanes; ++i) {
    if (kept.bits[i] != (lanes.bits[i] ? 0u : 0xffffffffu)) lanes.bits[i] = kept.bits[i];
  }
  return lanes;
}

VF FromBits(const uint32_t* bits) {
  float x[kLanes + 1];
  __builtin_memcpy(x + 1, bits, 4 * kLanes);
  return hn::LoadU(kF, x + 1);
}
VI IntsFromBits(const uint32_t* bits) {
  int32_t x[kLanes + 1];
  __builtin_memcpy(x + 1, bits, 4 * kLanes);
  return hn::LoadU(kI, x + 1);
}

void CompareLanes(ContractLog& log, Same same, const Lanes& got, const uint32_t* wanted) {
  for (size_t i = 0; i < kLanes; ++i) Compare(log, same, i, got.bits[i], wanted[i]);
}
// Where subnormal numbers may be flushed: a word that flushes them, and one that does not, are right.
void CompareLanes(ContractLog& log, Same same, const Lanes& got, const uint32_t* wanted, const uint32_t* flushed) {
  for (size_t i = 0; i < kLanes; ++i) {
    const bool flushes = kFlushes && Agree(same, got.bits[i], flushed[i]);
    Compare(log, same, i, got.bits[i], flushes ? flushed[i] : wanted[i]);
  }
}

uint32_t Random(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state ^ state >> 15;
}

// Zeros, subnormals, the ends of the normal numbers, infinities and NaNs of both signs, and some ordinary numbers.
constexpr uint32_t kSpecial[] = {
    0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu, 0x00800000u, 0x80800000u,
    0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7fc12345u, 0xffedcba9u,
    0x3f800000u, 0xbf800000u, 0x3f800001u, 0x40490fdbu, 0xc2f6e979u, 0x4b800000u, 0x1e3ce508u, 0xe0ad78ecu,
};
constexpr size_t kSpecials = sizeof kSpecial / sizeof kSpecial[0];

// ------------------------------------------------------------------------------------------------ memory

// The loops of a register block against MulAdd by a broadcast element. Rows and values end where memory ends.
const float* NumbersAtEnd(const ContractMemory& memory, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float x = 0.3f - float(i);
    __builtin_memcpy(memory.last - 4 * (count - i), &x, 4);
  }
  return reinterpret_cast<const float*>(memory.last) - count;
}

template <int kRows, int kVectors>
void TestMultiplyPart(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kColumns = kVectors * kLanes, kMostElements = 19;
  float x[kMostElements * kColumns];
  for (size_t i = 0; i < kMostElements * kColumns; ++i) x[i] = 0.7f + float(i % 13);
  for (size_t dim = 1; dim <= kMostElements; ++dim) {
    const float* const rows = NumbersAtEnd(memory, kRows * dim);
    const float* next = x;
    const float* at[kRows];
    VF acc[kRows][kVectors];
    for (size_t k = 0; k < kRows; ++k) {
      at[k] = rows + k * dim;
      for (VF& sum : acc[k]) sum = hn::Set(kF, float(k));
    }
    MultiplyPart<false>(next, kColumns, dim, at, nullptr, acc);
    CompareBits(log, 0, next == x + dim * kColumns, 1);
    for (size_t k = 0; k < kRows; ++k) {
      CompareBits(log, k, at[k] == rows + (k + 1) * dim, 1);
      for (size_t v = 0; v < kVectors; ++v) {
        VF sum = hn::Set(kF, float(k));
        for (size_t d = 0; d < dim; ++d) {
          sum = hn::MulAdd(hn::LoadU(kF, x + d * kColumns + v * kLanes), hn::Set(kF, rows[k * dim + d]), sum);
        }
        CompareLanes(log, Same::kNumber, LanesOf(acc[k][v]), LanesOf(sum).bits);
      }
    }
  }
}

// The values of the second key are hidden, and NaN.
template <bool kHides, int kBlock, int kVectors>
void TestAddValues(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kColumns = kVectors * kLanes;
  constexpr uint32_t kKeys = 5;
  float p[kKeys * kColumns];
  for (size_t i = 0; i < kKeys * kColumns; ++i) p[i] = kHides && i / kColumns == 1 ? -0.0f : 0.7f + float(i % 13);
  const float* const value = NumbersAtEnd(memory, kKeys * kBlock);
  const float nan = __builtin_nanf("");
  for (size_t e = 0; kHides && e < kBlock; ++e) __builtin_memcpy(memory.last - 4 * (4 * kBlock - e), &nan, 4);
  VF acc[kBlock][kVectors];
  for (size_t e = 0; e < kBlock; ++e) {
    for (VF& sum : acc[e]) sum = hn::Set(kF, float(e));
  }
  AddValues<kHides>(p, kColumns, value, kBlock, kKeys, acc);
  for (size_t e = 0; e < kBlock; ++e) {
    for (size_t v = 0; v < kVectors; ++v) {
      VF sum = hn::Set(kF, float(e));
      for (size_t j = 0; j < kKeys; ++j) {
        if (kHides && j == 1) continue;
        sum = hn::MulAdd(hn::LoadU(kF, p + j * kColumns + v * kLanes), hn::Set(kF, value[j * kBlock + e]), sum);
      }
      CompareLanes(log, Same::kValue, LanesOf(acc[e][v]), LanesOf(sum).bits);
    }
  }
}

template <int kVectors>
void TestBlocks(ContractLog& log, const ContractMemory& memory) {
  constexpr int kElements = LargestBlock<kVectors, true>();
  TestMultiplyPart<kBlockOf<kVectors>, kVectors>(log, memory);
  TestAddValues<false, kElements, kVectors>(log, memory);
  TestAddValues<true, kElements, kVectors>(log, memory);
  TestAddValues<false, 1, kVectors>(log, memory);
  TestAddValues<true, 1, kVectors>(log, memory);
  if constexpr (kLanes == 1 && kVectors <= 2) TestAddValues<false, 8, kVectors>(log, memory);
  if constexpr (kVectors > 1) TestBlocks<kVectors - 1>(log, memory);
}

// n vectors of exact numbers, which end where the memory ends.
template <size_t n>
void TestNext(ContractLog& log, const ContractMemory& memory) {
  log.begin("LoadNext, StoreNextMulAdd");
  constexpr size_t kCount = n * kLanes;
  float* const at = reinterpret_cast<float*>(memory.last) - kCount;
  float b[kCount], c[kCount];
  for (size_t i = 0; i < kCount; ++i) at[i] = float(i + 1), b[i] = float(i % 5) - 2, c[i] = float(i % 3);
  const float *from = at, *next_b = b, *next_c = c;
  float* to = at;
  VF v[n];
  hn::LoadNext(from, v);
  hn::StoreNextMulAdd(v, next_b, next_c, to);
  const size_t advanced[] = {size_t(from - at), size_t(next_b - b), size_t(next_c - c), size_t(to - at)};
  for (size_t k = 0; k < 4; ++k) CompareBits(log, k, advanced[k], kCount);
  for (size_t i = 0; i < kCount; ++i) {
    Compare(log, Same::kNumber, i, BitsOf(at[i]), BitsOf(float(i + 1) * b[i] + c[i]));
  }
}

void TestMemory(ContractLog& log, const ContractMemory& memory) {
  uint32_t bits[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) bits[i] = 0x7f800000u + 0x54321u * (i + 1);  // NaNs, signalling ones among them

  log.begin("LoadU, StoreU");
  for (size_t offset = 0; offset < 64; offset += 4) {
    uint8_t* p = memory.first + offset;
    __builtin_memcpy(p, bits, sizeof bits);
    const VF v = hn::LoadU(kF, reinterpret_cast<const float*>(p));
    const VI w = hn::LoadU(kI, reinterpret_cast<const int32_t*>(p));
    __builtin_memset(p, 0, sizeof bits);
    hn::StoreU(v, kF, reinterpret_cast<float*>(p));
    CompareStored(log, p, bits, kLanes);
    CompareLanes(log, Same::kBits, LanesOf(w), bits);
  }

  log.begin("LoadN");
  for (size_t n = 0; n <= kLanes; ++n) {
    uint32_t wanted[kLanes] = {};
    __builtin_memcpy(wanted, bits, 4 * n);
    uint8_t* const places[] = {memory.last - 4 * n, memory.first};
    for (uint8_t* p : places) {
      __builtin_memcpy(p, bits, 4 * n);
      CompareLanes(log, Same::kBits, LanesOf(hn::LoadN(kF, reinterpret_cast<const float*>(p), n)), wanted);
    }
  }

  log.begin("StoreN");
  const VF v = FromBits(bits);
  for (size_t n = 0; n <= kLanes; ++n) {
    hn::StoreN(v, kF, reinterpret_cast<float*>(memory.last - 4 * n), n);
    for (size_t offset = 0; offset < 64; offset += 4) {
      uint32_t wanted[kLanes + 32];
      const size_t at = offset / 4;
      for (size_t i = 0; i < kLanes + 32; ++i) wanted[i] = 0xc0ffee00u + uint32_t(i);
      __builtin_memcpy(memory.first, wanted, sizeof wanted);
      for (size_t i = 0; i < n; ++i) wanted[at + i] = bits[i];
      hn::StoreN(v, kF, reinterpret_cast<float*>(memory.first + offset), n);
      CompareStored(log, memory.first, wanted, kLanes + 32);
    }
    CompareStored(log, memory.last - 4 * n, bits, n);
  }

  log.begin("LoadPairs, StorePairs");
  for (size_t offset = 0; offset <= 64; offset += 4) {
    uint8_t* p = offset < 64 ? memory.first + offset : memory.last - 8 * kLanes;
    uint32_t firsts[kLanes], seconds[kLanes], pairs[2 * kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {
      pairs[2 * i] = firsts[i] = bits[i];
      pairs[2 * i + 1] = seconds[i] = ~bits[i];
    }
    __builtin_memcpy(p, pairs, sizeof pairs);
    VF a, b;
    hn::LoadPairs(kF, reinterpret_cast<const float*>(p), a, b);
    CompareLanes(log, Same::kBits, LanesOf(a), firsts);
    CompareLanes(log, Same::kBits, LanesOf(b), seconds);
    __builtin_memset(p, 0, sizeof pairs);
    hn::StorePairs(a, b, kF, reinterpret_cast<float*>(p));
    CompareStored(log, p, pairs, 2 * kLanes);
  }

  TestNext<1>(log, memory);
  TestNext<8>(log, memory);

  log.begin("MultiplyPart, AddValues");
  TestBlocks<hn::kBlockVectors>(log, memory);
}

// ----------------------------------------------------------------------------------------- narrow elements

// The words of one type of element, by names that TestNarrow can use for all. Signed bytes are stored as bytes.
#define FOVEA_NARROW_WORDS(Type, Stored, type, stored)                                                     \
  struct Type##Words {                                                                                     \
    using T = type;                                                                                        \
    static VI Load(const T* p) { return hn::Load##Type(kI, p); }                                           \
    static VI LoadN(const T* p, size_t n) { return hn::Load##Type##N(kI, p, n); }                          \
    static void Store(VI v, T* p) { hn::Store##Stored(v, reinterpret_cast<stored*>(p)); }                  \
    static void StoreN(VI v, T* p, size_t n) { hn::Store##Stored##N(v, reinterpret_cast<stored*>(p), n); } \
  };
FOVEA_NARROW_WORDS(U16, U16, uint16_t, uint16_t)
FOVEA_NARROW_WORDS(U8, U8, uint8_t, uint8_t)
FOVEA_NARROW_WORDS(I8, U8, int8_t, uint8_t)
#undef FOVEA_NARROW_WORDS

// Values all over the type (of a byte: all) go through every lane, beside the guards and at every place within 64
// bytes.
template <class Words>
void TestNarrow(ContractLog& log, const ContractMemory& memory, const char* name) {
  using T = typename Words::T;
  constexpr size_t kArea = kLanes + 8;
  log.begin(name);
  for (uint32_t step = 0; step < 768; ++step) {
    const uint32_t value = sizeof(T) == 1 ? step : step * 257;
    const size_t n = step % (kLanes + 1), offset = step * sizeof(T) % 64;
    T x[kLanes], area[kArea];
    uint32_t lanes[kLanes], first[kLanes] = {}, more[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {
      x[i] = T(value + 2897 * i);
      lanes[i] = uint32_t(int32_t(x[i]));
      if (i < n) first[i] = lanes[i];
      more[i] = lanes[i] ^ 0x5a5a5a5au << 8 * sizeof(T);  // other bits above those that are stored
    }
    T* const last = reinterpret_cast<T*>(memory.last);
    T* const inside = reinterpret_cast<T*>(memory.first + offset);
    T* const whole[] = {last - kLanes, inside};
    for (T* p : whole) {
      __builtin_memcpy(p, x, sizeof x);
      CompareLanes(log, Same::kBits, LanesOf(Words::Load(p)), lanes);
      __builtin_memset(p, 0x77, sizeof x);
      Words::Store(IntsFromBits(more), p);
      CompareStored(log, p, x, kLanes);
    }
    __builtin_memcpy(last - n, x, n * sizeof(T));
    CompareLanes(log, Same::kBits, LanesOf(Words::LoadN(last - n, n)), first);
    __builtin_memset(last - n, 0x77, n * sizeof(T));
    Words::StoreN(IntsFromBits(more), last - n, n);
    CompareStored(log, last - n, x, n);

    __builtin_memset(area, 0x77, sizeof area);
    __builtin_memcpy(inside, area, sizeof area);
    __builtin_memcpy(area, x, n * sizeof(T));
    Words::StoreN(IntsFromBits(more), inside, n);
    CompareStored(log, inside, area, kArea);
    CompareLanes(log, Same::kBits, LanesOf(Words::LoadN(inside, n)), first);
  }
}

// A half-precision number by its definition: units of 2^-24, twice as large for each exponent behind the first.
float HalfValue(uint32_t half) {
  const uint32_t exponent = half >> 10 & 31u, fraction = half & 1023u;
  if (exponent == 31 && fraction != 0) return __builtin_nanf("");
  double size = exponent == 31 ? __builtin_inf() : exponent != 0 ? 1024 + fraction : fraction;
  size *= 0x1p-24;
  for (uint32_t e = 1; e < exponent; ++e) size *= 2;
  return float((half & 0x8000u) != 0 ? -size : size);
}
// The nearest one, counted in units of the last place.
uint32_t NearestHalf(float x) {
  const uint32_t sign = BitsOf(x) >> 16 & 0x8000u;
  const double size = __builtin_fabs(double(x));
  if (IsNan(BitsOf(x))) return 0x7e00u;
  if (size >= 65520.0) return sign | 0x7c00u;
  double unit = 0x1p-24;
  uint32_t exponent = 0;
  for (; size >= 2048 * unit; unit *= 2) ++exponent;
  const uint32_t below = uint32_t(size / unit);
  const double rest = size / unit - below;
  const bool up = rest > 0.5 || (rest == 0.5 && below % 2 == 1);
  return sign | (1024 * exponent + below + (up ? 1 : 0));
}

void CheckNearestHalf(ContractLog& log, const uint32_t (&bits)[kLanes]) {
  uint16_t halves[kLanes + 1];
  hn::StoreF16(FromBits(bits), halves + 1);
  for (size_t i = 0; i < kLanes; ++i) {
    const uint32_t got = halves[i + 1], wanted = NearestHalf(FloatOf(bits[i]));
    const bool quiet = wanted == 0x7e00u && (got & 0x7e00u) == 0x7e00u;  // any quiet NaN
    CompareBits(log, i, quiet ? wanted : got, wanted);
  }
}

void TestHalf(ContractLog& log, const ContractMemory& memory) {
  log.begin("LoadF16, LoadF16N, SetF16");
  for (uint32_t half = 0; half < 65536; half += kLanes) {
    uint16_t x[kLanes];
    uint32_t wanted[kLanes], first[kLanes] = {}, all[kLanes];
    const size_t n = half / kLanes % (kLanes + 1);
    for (uint32_t i = 0; i < kLanes; ++i) {
      x[i] = uint16_t(half + i);
      wanted[i] = BitsOf(HalfValue(half + i));
      if (i < n) first[i] = wanted[i];
    }
    for (size_t i = 0; i < kLanes; ++i) all[i] = wanted[n % kLanes];
    uint16_t* const last = reinterpret_cast<uint16_t*>(memory.last);
    __builtin_memcpy(last - kLanes, x, sizeof x);
    CompareLanes(log, Same::kNumber, LanesOf(hn::LoadF16(kF, last - kLanes)), wanted);
    CompareLanes(log, Same::kNumber, LanesOf(hn::SetF16(kF, x[n % kLanes])), all);
    __builtin_memcpy(last - n, x, 2 * n);
    CompareLanes(log, Same::kNumber, LanesOf(hn::LoadF16N(kF, last - n, n)), first);
  }

  log.begin("StoreF16");
  // Every half-precision number, the place half-way to the next one, and the floats beside that.
  for (uint32_t half = 0; half < 0x7c00u; ++half) {
    const float here = HalfValue(half), next = half == 0x7bffu ? 65536.0f : HalfValue(half + 1);
    const uint32_t between = BitsOf((here + next) / 2);
    const uint32_t all[4] = {BitsOf(here), between - 1, between, between + 1};
    for (uint32_t k = 0; k < 4; k += kLanes) {
      uint32_t bits[kLanes];
      for (uint32_t i = 0; i < kLanes; ++i) bits[i] = all[(k + i) % 4] | ((half + i / 4) % 2 != 0 ? 0x80000000u : 0u);
      CheckNearestHalf(log, bits);
    }
  }
  for (uint32_t p = 0; p < 65536; p += kLanes) {
    uint32_t bits[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) {
      bits[i] = p < kSpecials * kLanes ? kSpecial[(p / kLanes + i) % kSpecials] : (p + i) * 65521u;
    }
    CheckNearestHalf(log, bits);
  }

  log.begin("StoreF16N");
  for (size_t n = 0; n <= kLanes; ++n) {
    for (size_t offset = 0; offset < 64; offset += 2) {
      uint16_t area[kLanes + 8];
      for (size_t i = 0; i < kLanes + 8; ++i) area[i] = uint16_t(0xc0de + i);
      uint8_t* const inside = memory.first + offset;
      __builtin_memcpy(inside, area, sizeof area);
      for (size_t i = 0; i < n; ++i) area[i] = uint16_t(NearestHalf(1.25f + float(i)));
      const VF v = hn::Iota(kF, 1.25f);
      hn::StoreF16N(v, reinterpret_cast<uint16_t*>(inside), n);
      CompareStored(log, inside, area, kLanes + 8);
      hn::StoreF16N(v, reinterpret_cast<uint16_t*>(memory.last) - n, n);
      CompareStored(log, memory.last - 2 * n, area, n);
    }
  }
}

void TestConstants(ContractLog& log) {
  log.begin("Zero, Set, Iota");
  for (size_t i = 0; i < kLanes; ++i) {
    CompareBits(log, i, LanesOf(hn::Zero(kF)).bits[i], 0);
    CompareBits(log, i, LanesOf(hn::Iota(kF, 0.0f)).bits[i], BitsOf(float(i)));
    CompareBits(log, i, LanesOf(hn::Iota(kF, -2.5f)).bits[i], BitsOf(float(i) - 2.5f));
    for (const uint32_t bits : kSpecial) {
      CompareBits(log, i, LanesOf(hn::Set(kF, FloatOf(bits))).bits[i], bits);
      CompareBits(log, i, LanesOf(hn::Set(kI, int32_t(bits))).bits[i], bits);
    }
  }
}

// -------------------------------------------------------------------------------------------- arithmetic

// All pairs of special values, with a different pair in each lane, and random pairs of near exponents.
template <class Word, class Wanted>
void TestPairs(ContractLog& log, const char* name, Word word, Wanted number) {
  log.begin(name);
  uint32_t state = 7;
  constexpr size_t kPairs = kSpecials * kSpecials;
  for (size_t p = 0; p < kPairs + 4096; p += p < kPairs ? 1 : kLanes) {
    uint32_t a[kLanes], b[kLanes], wanted[kLanes], flushed[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t pair = (p + i) % kPairs;
      a[i] = p < kPairs ? kSpecial[pair / kSpecials] : (Random(state) & 0x87ffffffu) + 0x3c000000u;
      b[i] = p < kPairs ? kSpecial[pair % kSpecials] : (Random(state) & 0x87ffffffu) + 0x3c000000u;
      wanted[i] = BitsOf(number(FloatOf(a[i]), FloatOf(b[i])));
      flushed[i] = BitsOf(Flushed(number(Flushed(FloatOf(a[i])), Flushed(FloatOf(b[i])))));
    }
    CompareLanes(log, Same::kNumber, LanesOf(word(FromBits(a), FromBits(b))), wanted, flushed);
  }
}
// A mask counts as 1 where it is set.
#define FOVEA_TEST_PAIRS(word, wanted) \
  TestPairs(log, #word, [](VF a, VF b) { return hn::word; }, [](float a, float b) { return float(wanted); })

void TestArithmetic(ContractLog& log) {
  FOVEA_TEST_PAIRS(Add(a, b), a + b);
  FOVEA_TEST_PAIRS(Sub(a, b), a - b);
  FOVEA_TEST_PAIRS(Mul(a, b), a * b);
  FOVEA_TEST_PAIRS(Div(a, b), a / b);
  FOVEA_TEST_PAIRS(Eq(a, b), a == b);
  FOVEA_TEST_PAIRS(Lt(a, b), a < b);
  FOVEA_TEST_PAIRS(Le(a, b), a <= b);
}
#undef FOVEA_TEST_PAIRS

// A number that is beyond a limit becomes the limit.
template <class Word, class Beyond>
void TestClamp(ContractLog& log, const char* name, Word word, Beyond is_beyond) {
  log.begin(name);
  for (const uint32_t a : kSpecial) {
    for (const uint32_t limit : kSpecial) {
      if (IsNan(limit)) continue;
      const Lanes got = LanesOf(word(hn::Set(kF, FloatOf(a)), hn::Set(kF, FloatOf(limit))));
      const uint32_t wanted = is_beyond(FloatOf(a), FloatOf(limit)) ? limit : a;
      const uint32_t flushed = BitsOf(Flushed(FloatOf(wanted)));
      const bool alike = Flushed(FloatOf(a)) == Flushed(FloatOf(limit));  // where subnormals count as zeros
      for (const uint32_t bits : got.bits) {
        const bool either = bits == flushed || (alike && (bits == a || bits == limit));
        Compare(log, Same::kValue, 0, bits, either ? bits : wanted);
      }
    }
  }
}

void TestMaxAbs(ContractLog& log) {
  log.begin("Max");
  for (const uint32_t a : kSpecial) {
    for (const uint32_t b : kSpecial) {
      const Lanes got = LanesOf(hn::Max(hn::Set(kF, FloatOf(a)), hn::Set(kF, FloatOf(b))));
      const uint32_t larger = FloatOf(a) > FloatOf(b) ? a : b, flushed = BitsOf(Flushed(FloatOf(larger)));
      for (const uint32_t bits : got.bits) {
        // NaN and a number: either, as the processor has it.
        const uint32_t number = IsNan(a) ? b : a;
        const bool either =
            IsNan(a) != IsNan(b) && (IsNan(bits) || bits == number || bits == BitsOf(Flushed(FloatOf(number))));
        Compare(log, Same::kValue, 0, bits, either ? bits : bits == flushed ? flushed : larger);
      }
    }
  }
  TestClamp(
      log, "ClampMin", [](VF a, VF least) { return hn::ClampMin(a, least); },
      [](float a, float least) { return a < least; });
  TestClamp(
      log, "ClampMax", [](VF a, VF most) { return hn::ClampMax(a, most); },
      [](float a, float most) { return most < a; });
  log.begin("AtLeast");
  for (const uint32_t a : kSpecial) {
    for (const uint32_t least : kSpecial) {
      if (IsNan(least)) continue;
      const float flushed = Flushed(FloatOf(a)), limit = Flushed(FloatOf(least));
      for (const uint32_t bits : LanesOf(hn::AtLeast(hn::Set(kF, FloatOf(a)), hn::Set(kF, FloatOf(least)))).bits) {
        // Where subnormals count as zeros, the processor may give the number, or zero.
        const bool either = bits == BitsOf(flushed < limit ? limit : flushed) || (flushed == limit && bits == a);
        Compare(log, Same::kNumber, 0, bits, either ? bits : FloatOf(a) < FloatOf(least) ? least : a);
      }
    }
  }
  log.begin("Abs");
  for (const uint32_t a : kSpecial) {
    for (const uint32_t bits : LanesOf(hn::Abs(hn::Set(kF, FloatOf(a)))).bits) {
      CompareBits(log, 0, bits, a & 0x7fffffffu);
    }
  }
}

// a * b + c with one rounding or with two.
float MulAddWanted(bool fused, float a, float b, float c) {
  if (fused) return __builtin_fmaf(a, b, c);
  const float product = a * b;
  return product + c;
}
// The same where subnormal numbers are flushed. A fused result is judged before it is rounded: p + c is sum + lost.
float FlushedMulAdd(bool fused, float a, float b, float c) {
  a = Flushed(a), b = Flushed(b), c = Flushed(c);
  if (!fused) return Flushed(Flushed(a * b) + c);
  constexpr double kLeastNormal = 0x1p-126;
  const double p = double(a) * double(b), sum = p + double(c), part = sum - p;
  const double lost = (p - (sum - part)) + (double(c) - part);
  const double size = __builtin_fabs(sum);
  const bool subnormal = sum != 0 && (size < kLeastNormal || (size == kLeastNormal && sum * lost < 0));
  return subnormal ? FloatOf(sum < 0 ? 0x80000000u : 0u) : Flushed(__builtin_fmaf(a, b, c));
}

void TestMulAdd(ContractLog& log, bool fused) {
  log.begin("MulAdd rounds once where it is fused, twice where it is not");
  {
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24; rounded on the way, 0.
    const VF a = hn::Set(kF, 1.000244140625f), c = hn::Set(kF, 1.00048828125f);
    const uint32_t tiny = fused ? BitsOf(5.9604644775390625e-8f) : 0u, sign = fused ? 0x80000000u : 0u;
    for (const uint32_t bits : LanesOf(hn::MulAdd(a, a, hn::Sub(hn::Zero(kF), c))).bits) {
      CompareBits(log, 0, bits, tiny);
    }
    for (const uint32_t bits : LanesOf(hn::NegMulAdd(a, a, c)).bits) CompareBits(log, 0, bits, tiny | sign);
  }

  log.begin("MulAdd, NegMulAdd, MulAddSet, MulAddScalar");
  constexpr size_t kTriples = kSpecials * kSpecials * kSpecials;
  uint32_t state = 11;
  for (size_t t = 0; t < kTriples + 8192; t += kLanes) {
    uint32_t a[kLanes], b[kLanes], c[kLanes], sum[kLanes], difference[kLanes];
    uint32_t flushed_sum[kLanes], flushed_difference[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t triple = (t + i) % kTriples;
      const bool special = t < kTriples;
      a[i] = special ? kSpecial[triple % kSpecials] : (Random(state) & 0x80ffffffu) + 0x3f000000u;
      b[i] = special ? kSpecial[triple / kSpecials % kSpecials] : (Random(state) & 0x80ffffffu) + 0x3f000000u;
      c[i] = special ? kSpecial[triple / kSpecials / kSpecials] : (Random(state) & 0x83ffffffu) + 0x3e000000u;
      sum[i] = BitsOf(MulAddWanted(fused, FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
      difference[i] = BitsOf(MulAddWanted(fused, -FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
      flushed_sum[i] = BitsOf(FlushedMulAdd(fused, FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
      flushed_difference[i] = BitsOf(FlushedMulAdd(fused, -FloatOf(a[i]), FloatOf(b[i]), FloatOf(c[i])));
    }
    const VF x = FromBits(a), y = FromBits(b), z = FromBits(c);
    CompareLanes(log, Same::kNumber, LanesOf(hn::MulAdd(x, y, z)), sum, flushed_sum);
    CompareLanes(log, Same::kNumber, LanesOf(hn::NegMulAdd(x, y, z)), difference, flushed_difference);
    for (size_t i = 0; i < kLanes; ++i) {
      for (const VF v : {hn::MulAddSet(x, y, FloatOf(c[i])), hn::MulAddScalar(x, FloatOf(b[i]), z)}) {
        const uint32_t bits = LanesOf(v).bits[i];
        const bool flushes = kFlushes && Agree(Same::kNumber, bits, flushed_sum[i]);
        Compare(log, Same::kNumber, i, bits, flushes ? flushed_sum[i] : sum[i]);
      }
    }
  }

  log.begin("AddSet, MulSet");
  const float numbers[] = {0.0f, -0.0f, 1.5f, -3e38f, 0x1p-120f, 12582912.0f};
  for (const uint32_t bits : kSpecial) {
    const VF x = hn::BitCast(kF, hn::Set(kI, int32_t(bits)));
    for (const float number : numbers) {
      const Lanes sum = LanesOf(hn::Add(x, hn::Set(kF, number))), product = LanesOf(hn::Mul(x, hn::Set(kF, number)));
      for (size_t i = 0; i < kLanes; ++i) {
        Compare(log, Same::kNumber, i, LanesOf(hn::AddSet(x, number)).bits[i], sum.bits[i]);
        Compare(log, Same::kNumber, i, LanesOf(hn::MulSet(x, number)).bits[i], product.bits[i]);
      }
    }
  }

  log.begin("MulAddUnless");
  const float weights[] = {0.0f, -0.0f, 1.5f, -0.75f};
  for (const uint32_t b : kSpecial) {
    for (const uint32_t c : kSpecial) {
      for (const float a : weights) {
        // Lanes whose number has a bit set are hidden: whatever b is there, c comes out.
        for (uint32_t bit = 1; bit <= 16; bit *= 2) {
          uint32_t hidden[kLanes], wanted[kLanes], flushed[kLanes];
          for (uint32_t i = 0; i < kLanes; ++i) {
            const bool hides = bit == 16 || (i & bit) != 0;
            hidden[i] = BitsOf(hides ? 1.0f : 0.0f);
            wanted[i] = hides ? c : BitsOf(MulAddWanted(fused, a, FloatOf(b), FloatOf(c)));
            flushed[i] = BitsOf(hides ? Flushed(FloatOf(c)) : FlushedMulAdd(fused, a, FloatOf(b), FloatOf(c)));
          }
          const MF m = hn::Eq(FromBits(hidden), hn::Set(kF, 1.0f));
          const VF got = hn::MulAddUnless(m, hn::Set(kF, a), hn::Set(kF, FloatOf(b)), hn::Set(kF, FloatOf(c)));
          CompareLanes(log, Same::kValue, LanesOf(got), wanted, flushed);
        }
      }
    }
  }
}

// ------------------------------------------------------------------------------------- integers and masks

// word(a, b, x) against wanted(a, b, x) of each lane.
template <class Word, class Wanted>
void TestOfIntegers(ContractLog& log, const char* name, Word word, Wanted number) {
  log.begin(name);
  uint32_t state = 3;
  for (size_t p = 0; p < 4096; ++p) {
    const bool special = p < 2 * kSpecials;
    uint32_t a[kLanes], b[kLanes], wanted[kLanes];
    const uint32_t x = special ? kSpecial[p / 2 % kSpecials] : Random(state);
    for (size_t i = 0; i < kLanes; ++i) {
      a[i] = special ? kSpecial[(p + i) % kSpecials] : Random(state) >> p % 32;
      b[i] = special ? kSpecial[(2 * p + i) % kSpecials] : Random(state);
      wanted[i] = number(a[i], b[i], x);
    }
    CompareLanes(log, Same::kBits, LanesOf(word(IntsFromBits(a), IntsFromBits(b), x)), wanted);
  }
}
#define FOVEA_TEST_INTEGERS(word, wanted)                                                        \
  TestOfIntegers(                                                                                \
      log, #word, [](VI a, [[maybe_unused]] VI b, [[maybe_unused]] uint32_t x) { return word; }, \
      [](uint32_t a, [[maybe_unused]] uint32_t b, [[maybe_unused]] uint32_t x) { return uint32_t(wanted); })

VI HighOfProduct(VI a, uint32_t x) {
  VI high;
  (void)hn::MulWide(a, x, high);
  return high;
}
VI LowOfProduct(VI a, uint32_t x) {
  VI high;
  return hn::MulWide(a, x, high);
}

void TestIntegers(ContractLog& log) {
  FOVEA_TEST_INTEGERS(hn::Add(a, b), a + b);
  FOVEA_TEST_INTEGERS(hn::Sub(a, b), a - b);
  FOVEA_TEST_INTEGERS(hn::And(a, b), a & b);
  FOVEA_TEST_INTEGERS(hn::Or(a, b), a | b);
  FOVEA_TEST_INTEGERS(hn::Xor(a, b), a ^ b);
  FOVEA_TEST_INTEGERS(hn::ShiftLeft<23>(a), a << 23);
  FOVEA_TEST_INTEGERS(hn::ShiftLeft<1>(a), a << 1);
  FOVEA_TEST_INTEGERS(hn::ShiftRight<23>(a), a >> 23 | ((a >> 31) != 0 ? 0xfffffe00u : 0u));
  FOVEA_TEST_INTEGERS(hn::ConvertTo(kF, a), BitsOf(float(int32_t(a))));
  FOVEA_TEST_INTEGERS(LowOfProduct(a, x), a * x);
  FOVEA_TEST_INTEGERS(HighOfProduct(a, x), uint64_t(a) * x >> 32);
  FOVEA_TEST_INTEGERS(hn::BitCast(kF, a), a);
  FOVEA_TEST_INTEGERS(hn::BitCast(kI, hn::BitCast(kF, a)), a);
}
#undef FOVEA_TEST_INTEGERS

void TestMasks(ContractLog& log) {
  for (const uint32_t a : kSpecial) {
    uint32_t yes[kLanes], no[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      yes[i] = kSpecial[i % kSpecials];
      no[i] = kSpecial[(i + 13) % kSpecials];
    }
    // Every combination of two lanes that differ in place: lane i against a threshold.
    for (size_t below = 0; below <= kLanes; ++below) {
      const MF first = hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(below)));
      const MF second = hn::Eq(hn::Iota(kF, 0.0f), hn::Set(kF, float(kLanes - 1)));
      uint32_t chosen[kLanes], cleared[kLanes], either[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        chosen[i] = i < below ? yes[i] : no[i];
        cleared[i] = i < below ? 0u : a;
        either[i] = i < below || i == kLanes - 1 ? BitsOf(1.0f) : 0u;
      }
      log.begin("IfThenElse, IfThenZeroElse, Or of masks");
      CompareLanes(log, Same::kBits, LanesOf(hn::IfThenElse(first, FromBits(yes), FromBits(no))), chosen);
      CompareLanes(log, Same::kBits, LanesOf(hn::IfThenZeroElse(first, hn::Set(kF, FloatOf(a)))), cleared);
      CompareLanes(log, Same::kBits, LanesOf(hn::Or(first, second)), either);
    }
    log.begin("SignMask");
    uint32_t signs[kLanes], wanted[kLanes];
    for (size_t i = 0; i < kLanes; ++i) {
      signs[i] = i % 3 == 1 ? a ^ 0x80000000u : a;
      wanted[i] = (signs[i] & 0x80000000u) != 0 ? BitsOf(1.0f) : 0u;
    }
    CompareLanes(log, Same::kBits, LanesOf(hn::SignMask(FromBits(signs))), wanted);
  }
}

// ------------------------------------------------------------------------------------------ across lanes

void TestTranspose(ContractLog& log) {
  log.begin("Transpose");
  VF v[kLanes];
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint32_t bits[kLanes];
    for (uint32_t j = 0; j < kLanes; ++j) bits[j] = 0x7f800000u + 64 * i + j;
    v[i] = FromBits(bits);
  }
  hn::Transpose(v);
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint32_t wanted[kLanes];
    for (uint32_t j = 0; j < kLanes; ++j) wanted[j] = 0x7f800000u + 64 * j + i;
    CompareLanes(log, Same::kBits, LanesOf(v[i]), wanted);
  }
}

// Rows whose last elements lie at the edge of the memory, or whose first ones do.
void TestRowsOfMemory(ContractLog& log, const ContractMemory& memory) {
  constexpr size_t kDim = kLanes + 1, kBytes = 4 * kDim;
  for (size_t n = 0; n <= kLanes; ++n) {
    for (size_t d = 0; d < 2; ++d) {
      uint32_t rows[kLanes][kDim];
      float* at[kLanes];
      const float* from[kLanes];
      // One row ends where d + n elements do, behind which the next byte faults; the others lie where there is room.
      alignas(64) float room[kLanes][kDim];
      for (size_t i = 0; i < kLanes; ++i) {
        at[i] = i + 1 == kLanes ? reinterpret_cast<float*>(memory.last) - (d + n) : room[i];
        from[i] = at[i];
        for (uint32_t e = 0; e < kDim; ++e) rows[i][e] = 0x7f812345u + 64u * uint32_t(i) + e;
        __builtin_memcpy(at[i], rows[i], i + 1 == kLanes ? 4 * (d + n) : kBytes);
      }
      log.begin("LoadTransposed");
      VF v[kLanes];
      for (VF& x : v) x = hn::Zero(kF);
      hn::LoadTransposed(from, d, n, v);
      for (size_t e = 0; e < n; ++e) {
        const Lanes got = LanesOf(v[e]);
        for (size_t i = 0; i < kLanes; ++i) CompareBits(log, i, got.bits[i], rows[i][d + e]);
      }
      log.begin("StoreTransposed");
      for (size_t live = 0; live <= kLanes; ++live) {
        for (size_t i = 0; i < kLanes; ++i) __builtin_memset(at[i], 0, i + 1 == kLanes ? 4 * (d + n) : kBytes);
        for (size_t e = 0; e < kLanes; ++e) {
          uint32_t bits[kLanes];
          for (size_t i = 0; i < kLanes; ++i) bits[i] = e < n ? rows[i][d + e] : 0u;
          v[e] = FromBits(bits);
        }
        hn::StoreTransposed(v, at, live, d, n);
        for (size_t i = 0; i < kLanes; ++i) {
          uint32_t got[kDim] = {};
          __builtin_memcpy(got, at[i], i + 1 == kLanes ? 4 * (d + n) : kBytes);
          for (size_t e = 0; e < kDim; ++e) {
            CompareBits(log, i, got[e], i < live && e >= d && e < d + n ? rows[i][e] : 0u);
          }
        }
      }
    }
  }
}

void TestWords(ContractLog& log, const ContractMemory& memory, bool fused) {
  static_assert(hn::kBlockVectors <= 8, "larger blocks need longer unrolled loops in the kernels");
  TestMemory(log, memory);
  TestNarrow<U16Words>(log, memory, "LoadU16, LoadU16N, StoreU16, StoreU16N");
  TestNarrow<U8Words>(log, memory, "LoadU8, LoadU8N, StoreU8, StoreU8N");
  TestNarrow<I8Words>(log, memory, "LoadI8, LoadI8N, StoreU8, StoreU8N");
  TestHalf(log, memory);
  TestConstants(log);
  TestArithmetic(log);
  TestMaxAbs(log);
  TestMulAdd(log, fused);
  TestIntegers(log);
  TestMasks(log);
  TestTranspose(log);
  TestRowsOfMemory(log, memory);
}
