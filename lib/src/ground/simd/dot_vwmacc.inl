// SPDX-License-Identifier: Apache-2.0
//
// The dot words of RISC-V's vwmacc: lanes of 16 bits times a number of 16 bits, added to lanes of 32 bits. Codes are
// bytes in memory, and are extended as they are loaded: a load of a scalar does so by itself. No sum is biased, since 16
// bits hold signed codes and weights up to 255 alike.
#ifndef FOVEA_SRC_SIMD_DOT_VWMACC_INL_
#define FOVEA_SRC_SIMD_DOT_VWMACC_INL_
#include "ground/simd/dot_defaults.inl"

// Codes and sums of one, two or four vectors as a group of registers, which one instruction takes.
template <int kVectors>
struct Wide;
#define FOVEA_WIDE_(vectors, codes_type, sums_type, lanes)                                               \
  template <>                                                                                            \
  struct Wide<vectors> {                                                                                 \
    typedef codes_type Codes __attribute__((riscv_rvv_vector_bits(vectors * __riscv_v_fixed_vlen / 2))); \
    typedef sums_type Sums __attribute__((riscv_rvv_vector_bits(vectors * __riscv_v_fixed_vlen)));       \
    FOVEA_INLINE size_t Lanes() { return lanes; }                                                        \
  };
FOVEA_WIDE_(1, vint16mf2_t, vint32m1_t, __riscv_vsetvlmax_e32m1())
FOVEA_WIDE_(2, vint16m1_t, vint32m2_t, __riscv_vsetvlmax_e32m2())
FOVEA_WIDE_(4, vint16m2_t, vint32m4_t, __riscv_vsetvlmax_e32m4())
#undef FOVEA_WIDE_

struct Vwmacc : DotDefaults, DotShape<kDotVwmacc>, FewDefaults<Vwmacc> {
  using Code = int8_t;     // of a query; or of a weight, whose bits are those of a number up to 255
  using RowCode = int8_t;  // of a key or a value

  using Sum = VI;

  template <int kVectors>
  using WideCodes = typename Wide<kVectors>::Codes;
  template <int kVectors>
  using WideSums = typename Wide<kVectors>::Sums;

  // The codes of columns, of which those of weights have no sign.
  template <int kVectors, bool kSigned>
  FOVEA_INLINE WideCodes<kVectors> LoadColumns(const Code* p) {
    typedef int8_t Signed __attribute__((vector_size(kVectors * kLanes)));
    typedef uint8_t Unsigned __attribute__((vector_size(kVectors * kLanes)));
    typedef int16_t X __attribute__((vector_size(2 * kVectors * kLanes)));
    using Codes = hn::raw::Choice<kSigned, Signed, Unsigned>;
    return hn::raw::Cast<WideCodes<kVectors>>(__builtin_convertvector(hn::raw::Load<Codes>(p), X));
  }
  template <int kVectors>
  FOVEA_INLINE WideSums<kVectors> AddColumns(WideCodes<kVectors> x, RowCode code, WideSums<kVectors> sums) {
    return __riscv_vwmacc(sums, int16_t(code), x, Wide<kVectors>::Lanes());
  }

  FOVEA_INLINE Sum Start(int32_t sum) { return hn::Set(kI, sum); }
  FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, sum); }
  FOVEA_INLINE VI ToInts(Sum sum) { return sum; }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU8(hn::BitCast(kI, biased), reinterpret_cast<uint8_t*>(lanes));
  }
  FOVEA_INLINE void StoreWeights(const VF (&biased)[1], Code* to) { StoreQueries(biased[0], to); }

  // In whole rows, by groups of four registers. A number without its sign is an integer that grows with it, up to the NaNs.
  static constexpr bool kPutsQueries = true;
  FOVEA_INLINE VF LargestMagnitude(const float* p, size_t n) {
    vuint32m1_t largest = __riscv_vmv_v_x_u32m1(0, 1);
    for (size_t vl; n > 0; n -= vl, p += vl) {
      vl = __riscv_vsetvl_e32m4(n);
      const vuint32m4_t twice = __riscv_vsll(__riscv_vreinterpret_u32m4(__riscv_vle32_v_f32m4(p, vl)), 1, vl);
      largest = __riscv_vredmaxu(twice, largest, vl);
    }
    return hn::BitCast(kF, hn::Set(kI, int32_t(__riscv_vmv_x(largest) >> 1)));
  }
  FOVEA_INLINE size_t PutQueries(const float* p, size_t n, VF scale, VF inverse, Code* x, size_t columns) {
    for (size_t left = n, vl; left > 0; left -= vl, p += vl, x += vl * columns) {
      vl = __riscv_vsetvl_e32m4(left);
      const vfloat32m4_t scaled = __riscv_vfmul(__riscv_vle32_v_f32m4(p, vl), scale[0], vl);
      const vfloat32m4_t biased = __riscv_vfadd(__riscv_vfmul(scaled, inverse[0], vl), kRoundingBias, vl);
      const vuint16m2_t halves = __riscv_vncvt_x(__riscv_vreinterpret_u32m4(biased), vl);
      __riscv_vsse8(reinterpret_cast<uint8_t*>(x), ptrdiff_t(columns), __riscv_vncvt_x(halves, vl), vl);
    }
    return n;
  }

  // A group is one row.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[1], size_t elements, RowCode* to, int32_t*) {
    for (size_t e = 0, n; e < elements; e += n) {
      n = __riscv_vsetvl_e8m8(elements - e);
      __riscv_vse8_v_i8m8(to + e, __riscv_vle8_v_i8m8(row[0] + e, n), n);
    }
    return elements;
  }

  // ---- for the few-rows kernel

  using FewCode = int8_t;     // of a query
  using FewWeight = uint8_t;  // of a weight
  typedef int16_t FewX __attribute__((vector_size(2 * kLanes)));
  static constexpr size_t FewReads(size_t) { return kLanes; }
  static constexpr size_t kFewXCodes = kLanes;

  template <int kRows>
  FOVEA_INLINE FewX LoadFew(const int8_t* p) {
    return __builtin_convertvector(hn::raw::Load<hn::raw::NarrowSignedBytes>(p), FewX);
  }
  template <int kRows>
  FOVEA_INLINE FewX LoadFewPart(const int8_t* p, size_t n) {
    return __builtin_convertvector(hn::LoadI8N(kI, p, n), FewX);
  }
  FOVEA_INLINE FewX LoadFewX(const FewCode* p) { return LoadFew<1>(p); }
  FOVEA_INLINE Sum FewZero() { return Start(0); }
  FOVEA_INLINE Sum FewAdd(Sum a, Sum b) { return hn::Add(a, b); }
  // Written as an intrinsic, because the compiler would add the products of several steps first, by more instructions.
  FOVEA_INLINE Sum FewScoreDot(FewX x, FewX e, Sum sum) {
    const WideSums<1> sums = __riscv_vwmacc(hn::raw::Cast<WideSums<1>>(sum), hn::raw::Cast<WideCodes<1>>(x),
                                            hn::raw::Cast<WideCodes<1>>(e), Wide<1>::Lanes());
    return hn::raw::Cast<Sum>(sums);
  }
  FOVEA_INLINE Sum FewValueDot(FewX x, FewX e, Sum sum) { return FewScoreDot(x, e, sum); }
  // Lane i is the sum of the lanes of sums[i].
  template <int kRows>
  FOVEA_INLINE VI IntsOfRows(const Sum (&sums)[kLanes]) {
    VF lanes[kLanes];
    FOVEA_EACH(i, kLanes) lanes[i] = hn::BitCast(kF, sums[i]);
    hn::Transpose(lanes);
    VI total = hn::BitCast(kI, lanes[0]);
    FOVEA_UNROLL(16)
    for (size_t i = 1; i < kLanes; ++i) total = hn::Add(total, hn::BitCast(kI, lanes[i]));
    return total;
  }
  template <int kRows>
  FOVEA_INLINE VF SumsOfRows(const Sum (&sums)[kLanes]) {
    return hn::ConvertTo(kF, IntsOfRows<kRows>(sums));
  }

  FOVEA_INLINE void StoreFewWeights(VF biased, FewWeight* lanes) { hn::StoreU8(hn::BitCast(kI, biased), lanes); }
  FOVEA_INLINE FewX SetFewWeights(const FewWeight* p) { return FewX{} + int16_t(*p); }

  // ---- for rows of groups

  static constexpr size_t kFewGroupRows = 1, kFewGroupParts = 32 / kLanes;

  FOVEA_INLINE void LoadFewGroup(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    LoadFewGroupX(reinterpret_cast<const FewCode*>(at[0]), codes);
  }
  // The low halves of 16 bytes, and then their high halves.
  FOVEA_INLINE void LoadFewNibbles(const uint8_t* const (&at)[1], FewX (&codes)[kFewGroupParts]) {
    constexpr size_t kHalf = kFewGroupParts / 2;
    FOVEA_EACH(i, kHalf) {
      const auto bytes = hn::raw::Load<hn::raw::NarrowBytes>(at[0] + i * kLanes);
      codes[i] = __builtin_convertvector(bytes & 15, FewX);
      codes[kHalf + i] = __builtin_convertvector(bytes >> 4, FewX);
    }
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_VWMACC_INL_
