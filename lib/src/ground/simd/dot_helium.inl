// SPDX-License-Identifier: Apache-2.0
//
// The dot words of Helium's vmladava, which multiplies 16 signed bytes by 16 others and adds all products to a general
// register.
#ifndef FOVEA_SRC_SIMD_DOT_HELIUM_INL_
#define FOVEA_SRC_SIMD_DOT_HELIUM_INL_
#include "ground/simd/dot_defaults.inl"

struct Helium : DotDefaults, DotShape<kDotHelium>, FewDefaults<Helium> {
  static constexpr bool kSignedWeights = true;
  using Code = int8_t;
  using RowCode = int8_t;
  using Sum = int32_t;
  using Bytes = int8x16_t;

  // Vectors are loaded as in helium.inl, for the same reason.
  typedef Bytes BytesInMemory __attribute__((aligned(1), may_alias));
  FOVEA_INLINE Bytes LoadBytes(const int8_t* p) { return *reinterpret_cast<const BytesInMemory*>(p); }
  FOVEA_INLINE void StoreBytes(Bytes v, int8_t* p) { *reinterpret_cast<BytesInMemory*>(p) = v; }
  FOVEA_INLINE Bytes LoadSomeBytes(const int8_t* p, size_t n) { return vldrbq_z_s8(p, vctp8q(n)); }
  // The pointer advances past them. g++ 12 would take a separate instruction for that.
  FOVEA_INLINE Bytes NextBytes(const int8_t*& p) {
#if defined(__clang__)
    const Bytes v = LoadBytes(p);
    p += 16;
#else
    Bytes v;
    asm("vldrb.8 %q0, [%1], #16" : "=w"(v), "+r"(p) : "m"(*reinterpret_cast<const BytesInMemory*>(p)));
#endif
    return v;
  }

#if defined(__clang__)
  FOVEA_INLINE Sum Dot(Bytes x, Bytes e) { return vmladavq_s8(x, e); }
  FOVEA_INLINE Sum DotAdd(Bytes x, Bytes e, Sum sum) { return vmladavaq_s8(sum, x, e); }
#else
  FOVEA_INLINE Sum Dot(Bytes x, Bytes e) {
    Sum sum;
    asm("vmladav.s8 %0, %q1, %q2" : "=Te"(sum) : "w"(x), "w"(e));
    return sum;
  }
  FOVEA_INLINE Sum DotAdd(Bytes x, Bytes e, Sum sum) {
    asm("vmladava.s8 %0, %q1, %q2" : "+Te"(sum) : "w"(x), "w"(e));
    return sum;
  }
#endif

  // sums[i] += a row of n > 0 codes times rows[i]. The loop hides the codes past the last one. The pointers to rows advance
  // by whole vectors.
  FOVEA_INLINE void AddFourRows(const int8_t* x, const int8_t* (&rows)[4], size_t n, Sum (&sums)[4]) {
    Bytes a, b;
    asm volatile(
        "dlstp.8 lr, %[n]\n"
        "1:\n\t"
        "vldrb.8 %q[a], [%[x]], #16\n\t"
        "vldrb.8 %q[b], [%[row]], #16\n\t"
        "vmladava.s8 %[s0], %q[a], %q[b]\n\t"
        "vldrb.8 %q[b], [%[second]], #16\n\t"
        "vmladava.s8 %[s1], %q[a], %q[b]\n\t"
        "vldrb.8 %q[b], [%[third]], #16\n\t"
        "vmladava.s8 %[s2], %q[a], %q[b]\n\t"
        "vldrb.8 %q[b], [%[fourth]], #16\n\t"
        "vmladava.s8 %[s3], %q[a], %q[b]\n\t"
        "letp lr, 1b"
        : [s0] "+Te"(sums[0]), [s1] "+Te"(sums[1]), [s2] "+Te"(sums[2]), [s3] "+Te"(sums[3]), [x] "+r"(x),
          [row] "+r"(rows[0]), [second] "+r"(rows[1]), [third] "+r"(rows[2]), [fourth] "+r"(rows[3]), [a] "=&w"(a),
          [b] "=&w"(b)
        : [n] "r"(n)
        : "lr", "memory");
  }
  // The same of the row that begins i strides from `row` on.
  FOVEA_INLINE void AddFourRows(const int8_t* x, const int8_t* row, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
    const int8_t *second = row + stride, *third = second + stride;
    const int8_t* rows[4] = {row, second, third, third + stride};
    AddFourRows(x, rows, n, sums);
  }

  // Sums of four columns. Their initial value is added here, to all at once.
  FOVEA_INLINE VF ToFloat(const int32_t* sums) { return hn::ConvertTo(kF, hn::LoadU(kI, sums)); }
  FOVEA_INLINE VF ToFloat(const int32_t* sums, int32_t start) {
    return hn::ConvertTo(kF, vaddq_n_s32(hn::LoadU(kI, sums), start));
  }

  FOVEA_INLINE VF ToFloat(VI sums) { return hn::ConvertTo(kF, sums); }
  // For sums in general registers.
  FOVEA_INLINE VF ToFloat(Sum a, Sum b, Sum c, Sum d) {
#if defined(__clang__)
    return hn::ConvertTo(kF, VI{a, b, c, d});
#else
    VI v;
    asm("vmov %q0[2], %q0[0], %1, %3\n\tvmov %q0[3], %q0[1], %2, %4" : "=w"(v) : "r"(a), "r"(b), "r"(c), "r"(d));
    return hn::ConvertTo(kF, v);
#endif
  }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU8(hn::BitCast(kI, biased), reinterpret_cast<uint8_t*>(lanes));
  }

  // ---- for rows of queries in f32
  static constexpr bool kPutsQueries = true;

  // Bits of magnitudes have the order of the magnitudes, and those of NaN are last.
  FOVEA_INLINE VF LargestMagnitude(const float* p, size_t n) {
    uint32_t most = 0;
    const auto take = [&most](VF v) { most = vmaxvq_u32(most, vreinterpretq_u32_f32(vabsq_f32(v))); };
    FOVEA_UNROLL_LONG_LOOP(4)
    for (; n >= kLanes; n -= kLanes, p += kLanes) take(hn::LoadU(kF, p));
    if (n > 0) take(hn::LoadN(kF, p, n));
    return hn::BitCast(kF, hn::Set(kI, int32_t(most)));
  }
  // A whole step has 16 codes.
  FOVEA_INLINE size_t PutQueries(const float* p, size_t n, VF scale, VF inverse, Code* x, size_t columns) {
    for (size_t left = n; left >= 16; left -= 16, p += 16, x += 16 * columns) {
      FOVEA_UNROLL(4)
      for (size_t i = 0; i < 16; i += kLanes) {
        vstrbq_s32(x + i, vcvtnq_s32_f32(hn::Mul(hn::Mul(hn::LoadU(kF, p + i), scale), inverse)));
      }
    }
    return n / 16 * 16;
  }

  FOVEA_INLINE float FirstLane(VF v) { return vgetq_lane_f32(v, 0); }
  // y / scale as a vector of floats, rounded as a division rounds. There is no division of vectors, and of scalars it takes
  // five instructions. `inverse` is 1 / scale rounded, and inverse + rest is nearer to 1 / scale. The first quotient is off
  // by less than one unit in the last place. So its remainder is exact, and the remainder times `inverse` corrects it to
  // the nearest float (Markstein's theorem). For scales and numbers that CanDivide takes.
  struct Divider {
    VF inverse;
    float rest, minus_scale;  // general registers: the limits of codes need the vectors
    explicit Divider(float scale) {
      const float one_over = 1.0f / scale;
      inverse = hn::Set(kF, one_over);
      minus_scale = -scale;
      rest = __builtin_fmaf(one_over, -scale, 1.0f) * one_over;
    }
    FOVEA_MEMBER VF operator()(VF y) const {
      const VF first = vfmaq_f32(hn::MulSet(y, rest), y, inverse);
      return vfmaq_f32(first, hn::MulAddScalar(first, minus_scale, y), inverse);
    }
  };
  // How far from the first row of four, which are `stride` bytes apart, each begins; those past `last` are in its place.
  using Places = uint32x4_t;
  FOVEA_INLINE Places PlacesOf(uint32_t first, uint32_t last, ptrdiff_t stride) {
    const uint32x4_t row = vminq_u32(vidupq_n_u32(first, 1), vdupq_n_u32(last));
    return vmulq_n_u32(row, uint32_t(stride));
  }
  // v rounded to the nearest, ties to even, within limits, plus zero, at to[place]. NaN counts as 0.
  FOVEA_INLINE void StoreCodesApart(VF v, VI least, VI most, int32_t zero, Places place, int8_t* to) {
    const VI code = vminq_s32(vmaxq_s32(vcvtnq_s32_f32(v), least), most);
    vstrbq_scatter_offset_s32(to, place, vaddq_n_s32(code, zero));
  }
  FOVEA_INLINE VI NearestInts(VF v) { return vcvtnq_s32_f32(v); }

  // Codes of weights are stored with the top bit flipped, as code - 128. Those of four columns are 16 bytes apart.
  FOVEA_INLINE void StoreWeights(const VF (&biased)[1], Code* to) {
    const uint32x4_t columns = vmulq_n_u32(vidupq_n_u32(0, 1), 16);
    vstrbq_scatter_offset_s32(to, columns, vaddq_n_s32(hn::BitCast(kI, biased[0]), 128));
  }

  // The same for four keys, from weights times `inverse`.
  static constexpr float kTurnedBias = kRoundingBias + 128.0f;
  FOVEA_INLINE void StoreWeights(const float*& w, size_t columns, VF inverse, Code* to) {
    uint32x4_t place = vmulq_n_u32(vidupq_n_u32(0, 1), 16);
    FOVEA_UNROLL(4)
    for (int k = 0; k < 4; ++k, w += columns, place = vaddq_n_u32(place, 1)) {
      const VF turned = hn::AddSet(hn::Mul(hn::LoadU(kF, w), inverse), kTurnedBias);
      vstrbq_scatter_offset_s32(to, place, hn::BitCast(kI, turned));
    }
  }

// Stores four vectors interleaved, byte by byte or word by word. With intrinsics g++ 12 copies the four through memory.
#if defined(__clang__)
  FOVEA_INLINE void StoreBytesInTurn(const Bytes (&v)[4], int8_t* p) {
    const int8x16x4_t all = {{ v[0], v[1], v[2], v[3] }};
    vst4q_s8(p, all);
  }
  FOVEA_INLINE void StoreWordsInTurn(const Bytes (&v)[4], int8_t* p) {
    const int32x4x4_t all = {
        { vreinterpretq_s32_s8(v[0]),
          vreinterpretq_s32_s8(v[1]),
          vreinterpretq_s32_s8(v[2]),
          vreinterpretq_s32_s8(v[3]) }};
    vst4q_s32(reinterpret_cast<int32_t*>(p), all);
  }
#else
#define FOVEA_STORE_IN_TURN(bits)                                                                    \
  register Bytes q0 asm("q0") = v[0], q1 asm("q1") = v[1], q2 asm("q2") = v[2], q3 asm("q3") = v[3]; \
  asm volatile("vst40." bits " {q0, q1, q2, q3}, [%0]\n\tvst41." bits                                \
               " {q0, q1, q2, q3}, [%0]\n\t"                                                         \
               "vst42." bits " {q0, q1, q2, q3}, [%0]\n\tvst43." bits " {q0, q1, q2, q3}, [%0]"      \
               :                                                                                     \
               : "r"(p), "w"(q0), "w"(q1), "w"(q2), "w"(q3)                                          \
               : "memory")
  FOVEA_INLINE void StoreBytesInTurn(const Bytes (&v)[4], int8_t* p) { FOVEA_STORE_IN_TURN("8"); }
  FOVEA_INLINE void StoreWordsInTurn(const Bytes (&v)[4], int8_t* p) { FOVEA_STORE_IN_TURN("32"); }
#undef FOVEA_STORE_IN_TURN
#endif

  // to[element][16] = element of each of 16 rows, for the elements of whole vectors of 16. Returns how many these are.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[16], size_t elements, RowCode* to, int32_t* starts) {
    size_t e = 0;
    for (; e + 16 <= elements; e += 16) {
      alignas(16) int8_t quarters[4][64];
      for (int i = 0; i < 4; ++i) {
        const int8_t* const* const four = &row[4 * i];
        const Bytes v[4] = {LoadBytes(four[0] + e), LoadBytes(four[1] + e), LoadBytes(four[2] + e),
                            LoadBytes(four[3] + e)};
        StoreBytesInTurn(v, quarters[i]);
      }
      for (int i = 0; i < 4; ++i, to += 64) {
        const Bytes v[4] = {LoadBytes(quarters[0] + 16 * i), LoadBytes(quarters[1] + 16 * i),
                            LoadBytes(quarters[2] + 16 * i), LoadBytes(quarters[3] + 16 * i)};
        StoreWordsInTurn(v, to);
      }
      const int8_t* element = to - 256;
      for (int i = 0; i < 16; ++i, ++starts) *starts += 128 * vaddvq_s8(NextBytes(element));
    }
    return e;
  }

  // ---- for the few-rows kernel: sums of values have a lane for each element

  using FewCode = int8_t;     // of a query
  using FewWeight = int32_t;  // of a weight
  using FewX = VI;            // values
  static constexpr size_t FewReads(size_t) { return 16; }
  static constexpr size_t kFewXCodes = 16;

  FOVEA_INLINE Bytes LoadFewX(const FewCode* p) { return LoadBytes(p); }
  template <int kRows>
  FOVEA_INLINE Bytes LoadFew(const int8_t* p) {
    return LoadBytes(p);
  }
  template <int kRows>
  FOVEA_INLINE Bytes LoadFewPart(const int8_t* p, size_t n) {
    return LoadSomeBytes(p, n);
  }
  FOVEA_INLINE Sum FewStart(const FewCode*, size_t) { return 0; }
  FOVEA_INLINE Sum FewScoreDot(Bytes x, Bytes e, Sum sum) { return DotAdd(x, e, sum); }
  template <int kRows>
  FOVEA_INLINE VF SumsOfRows(const Sum (&sums)[kLanes]) {
    return ToFloat(sums);
  }
  template <int kRows>
  FOVEA_INLINE VI IntsOfRows(const Sum (&sums)[kLanes]) {
    return hn::LoadU(kI, sums);
  }

  template <int kRows>
  static constexpr int kFewValueVectors = kRows == 1 ? 4 : 2;
  FOVEA_INLINE VI FewZero() { return hn::Set(kI, 0); }
  FOVEA_INLINE VI FewAdd(VI a, VI b) { return hn::Add(a, b); }
  FOVEA_INLINE VI FewValueDot(FewWeight weight, VI value, VI sum) {
#if defined(__clang__)
    return vmlaq_n_s32(sum, value, weight);
#else
    asm("vmla.s32 %q0, %q1, %2" : "+w"(sum) : "w"(value), "r"(weight));
    return sum;
#endif
  }
  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) {
    *reinterpret_cast<hn::VIInMemory*>(lanes) = hn::And(hn::BitCast(kI, biased), hn::Set(kI, 255));
  }
  FOVEA_INLINE FewWeight SetFewWeights(const FewWeight* p) { return *p; }
  FOVEA_INLINE VI LoadOneValue(const int8_t* p) { return hn::LoadI8(kI, p); }
  FOVEA_INLINE VI LoadOneValuePart(const int8_t* p, size_t n) { return hn::LoadI8N(kI, p, n); }
};

#endif  // FOVEA_SRC_SIMD_DOT_HELIUM_INL_
