// SPDX-License-Identifier: Apache-2.0
//
// The header of the vocabulary for RISC-V's vector extension (RVV 1.0), for one length of vectors, which the compiler's
// flags name: -march=rv64gcv_zvl256b -mrvv-vector-bits=zvl. Vectors are clang's own, of a size that is known, so that
// arrays of them may stay in registers; intrinsics serve where the number of elements is a variable.

namespace hn {

#if !defined(__clang__) || !defined(__riscv_v_fixed_vlen)
#error \
    "Vectors of RISC-V need clang 16 or later and the processor's length of vectors: -march=rv64gcv_zvl256b -mrvv-vector-bits=zvl"
#endif

template <class T>
struct Tag {};
constexpr Tag<float> kF;
constexpr Tag<int32_t> kI;
constexpr size_t kLanes = __riscv_v_fixed_vlen / 32;
typedef float VF __attribute__((vector_size(4 * kLanes)));
typedef int32_t VI __attribute__((vector_size(4 * kLanes)));
typedef uint32_t VU __attribute__((vector_size(4 * kLanes)));  // whose sums do not overflow
// A load, a product or a sum takes the element that all lanes share from a scalar register.
constexpr int kRegisters = 32, kBlockVectors = 3, kMaskedVectors = 3;

namespace raw {

// The types that intrinsics take and return; halves and quarters of a register hold narrower elements.
typedef vfloat32m1_t F32 __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
typedef vuint32m1_t U32 __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
typedef vuint8m1_t U8 __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
typedef uint8_t Bytes __attribute__((vector_size(4 * kLanes)));
typedef uint8_t NarrowBytes __attribute__((vector_size(kLanes)));
typedef int8_t NarrowSignedBytes __attribute__((vector_size(kLanes)));
typedef uint16_t NarrowHalves __attribute__((vector_size(2 * kLanes)));

template <bool kFirst, class A, class B>
struct ChoiceOf {
  using Type = A;
};
template <class A, class B>
struct ChoiceOf<false, A, B> {
  using Type = B;
};
template <bool kFirst, class A, class B>
using Choice = typename ChoiceOf<kFirst, A, B>::Type;

template <class To, class From>
FOVEA_INLINE To Cast(From v) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}
template <class V, class T>
FOVEA_INLINE V Load(const T* p) {  // also of a T that is part of V
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace raw

#include "ground/simd/rvv_words.inl"

FOVEA_INLINE VF Iota(Tag<float>, float first) {
  VF v;
  FOVEA_EACH(i, kLanes) v[i] = float(i);
  return v + first;
}

// Elements past the first n keep the zeros that they had.
FOVEA_INLINE VF LoadN(Tag<float>, const float* p, size_t n) {
  const raw::F32 v = __riscv_vle32_v_f32m1_tu(raw::Cast<raw::F32>(VF{}), p, n);
  return raw::Cast<VF>(v);
}
FOVEA_INLINE void StoreN(VF v, Tag<float>, float* p, size_t n) { __riscv_vse32_v_f32m1(p, raw::Cast<raw::F32>(v), n); }
FOVEA_INLINE VI LoadU16(Tag<int32_t>, const uint16_t* p) {
  return __builtin_convertvector(raw::Load<raw::NarrowHalves>(p), VI);
}
FOVEA_INLINE VI LoadU8(Tag<int32_t>, const uint8_t* p) {
  return __builtin_convertvector(raw::Load<raw::NarrowBytes>(p), VI);
}
FOVEA_INLINE VI LoadI8(Tag<int32_t>, const int8_t* p) {
  return __builtin_convertvector(raw::Load<raw::NarrowSignedBytes>(p), VI);
}
// The first n elements of 16 or 8 bits, extended. The zeros of the others come from a vector of zeros.
FOVEA_INLINE VI LoadU16N(Tag<int32_t>, const uint16_t* p, size_t n) {
  const raw::U32 zeros = raw::Cast<raw::U32>(VI{});
  const raw::U32 v = __riscv_vzext_vf2_u32m1_tu(zeros, __riscv_vle16_v_u16mf2(p, n), n);
  return raw::Cast<VI>(v);
}
FOVEA_INLINE VI LoadU8N(Tag<int32_t>, const uint8_t* p, size_t n) {
  const raw::U32 zeros = raw::Cast<raw::U32>(VI{});
  const raw::U32 v = __riscv_vzext_vf4_u32m1_tu(zeros, __riscv_vle8_v_u8mf4(p, n), n);
  return raw::Cast<VI>(v);
}
FOVEA_INLINE VI LoadI8N(Tag<int32_t>, const int8_t* p, size_t n) {
  typedef vint32m1_t I32 __attribute__((riscv_rvv_vector_bits(__riscv_v_fixed_vlen)));
  const I32 v = __riscv_vsext_vf4_i32m1_tu(raw::Cast<I32>(VI{}), __riscv_vle8_v_i8mf4(p, n), n);
  return raw::Cast<VI>(v);
}
FOVEA_INLINE void StoreU16(VI v, uint16_t* p) {
  const raw::NarrowHalves halves = __builtin_convertvector(v, raw::NarrowHalves);
  __builtin_memcpy(p, &halves, sizeof halves);
}
FOVEA_INLINE void StoreU8(VI v, uint8_t* p) {
  const raw::NarrowBytes bytes = __builtin_convertvector(v, raw::NarrowBytes);
  __builtin_memcpy(p, &bytes, sizeof bytes);
}
FOVEA_INLINE void StoreU16N(VI v, uint16_t* p, size_t n) {
  __riscv_vse16_v_u16mf2(p, __riscv_vncvt_x_x_w_u16mf2(raw::Cast<raw::U32>(v), kLanes), n);
}
FOVEA_INLINE void StoreU8N(VI v, uint8_t* p, size_t n) {
  const auto halves = __riscv_vncvt_x_x_w_u16mf2(raw::Cast<raw::U32>(v), kLanes);
  __riscv_vse8_v_u8mf4(p, __riscv_vncvt_x_x_w_u8mf4(halves, kLanes), n);
}
FOVEA_INLINE void LoadPairs(Tag<float>, const float* p, VF& a, VF& b) {
  const auto pairs = __riscv_vlseg2e32_v_f32m1x2(p, kLanes);
  const raw::F32 first = __riscv_vget_v_f32m1x2_f32m1(pairs, 0), second = __riscv_vget_v_f32m1x2_f32m1(pairs, 1);
  a = raw::Cast<VF>(first);
  b = raw::Cast<VF>(second);
}
FOVEA_INLINE void StorePairs(VF a, VF b, Tag<float>, float* p) {
  const auto pairs = __riscv_vcreate_v_f32m1x2(raw::Cast<raw::F32>(a), raw::Cast<raw::F32>(b));
  __riscv_vsseg2e32_v_f32m1x2(p, pairs, kLanes);
}

FOVEA_INLINE VI MulWide(VI a, uint32_t b, VI& high) {
  const raw::U32 upper = __riscv_vmulhu_vx_u32m1(raw::Cast<raw::U32>(a), b, kLanes);
  high = raw::Cast<VI>(upper);
  return VI(VU(a) * b);
}
// Consecutive vectors. Two, four or eight are a group of registers, which one instruction loads or multiplies.
namespace raw {
template <int n>
struct Group {
  typedef float Floats __attribute__((vector_size(4 * kLanes * n)));
  typedef int32_t Ints __attribute__((vector_size(4 * kLanes * n)));
};
}  // namespace raw
template <int n>
using Floats = typename raw::Group<n>::Floats;
template <int n>
using Ints = typename raw::Group<n>::Ints;
FOVEA_INLINE void LoadFour(const float* p, Floats<2> (&halves)[2]) {
  const Floats<4> v = raw::Load<Floats<4>>(p);
  __builtin_memcpy(halves, &v, sizeof v);
}
// sums[v] += a * LoadU(kF, p + v * kLanes)
template <int n>
FOVEA_INLINE void MulAddVectors(float a, const float* p, VF (&sums)[n]) {
  Floats<n> all;
  FOVEA_EACH(i, kLanes * n) all[i] = a;
  const Floats<n> sum = __builtin_elementwise_fma(all, raw::Load<Floats<n>>(p), raw::Load<Floats<n>>(sums));
  __builtin_memcpy(sums, &sum, sizeof sum);
}

#if defined(__riscv_zvfhmin)
#define FOVEA_HAS_F16 1
namespace raw {
typedef _Float16 HalfFloats __attribute__((vector_size(2 * kLanes)));
}
FOVEA_INLINE VF FromF16(VI half) {
  const raw::NarrowHalves bits = __builtin_convertvector(half, raw::NarrowHalves);
  return __builtin_convertvector(raw::HalfFloats(bits), VF);
}
FOVEA_INLINE VI ToF16(VF v) {
  const raw::HalfFloats halves = __builtin_convertvector(v, raw::HalfFloats);
  return __builtin_convertvector(raw::NarrowHalves(halves), VI);
}
#else
#define FOVEA_HAS_F16 0
#endif
#include "ground/simd/f16.inl"
#undef FOVEA_HAS_F16

// Stores of segments interleave registers: the first lanes of all, then the second ones, and so on.
FOVEA_INLINE void Transpose(VF (&v)[kLanes]) {
  alignas(4 * kLanes) float columns[kLanes][kLanes];
  raw::F32 r[kLanes];
  FOVEA_EACH(i, kLanes) r[i] = raw::Cast<raw::F32>(v[i]);
  if constexpr (kLanes == 4) {
    __riscv_vsseg4e32_v_f32m1x4(columns[0], __riscv_vcreate_v_f32m1x4(r[0], r[1], r[2], r[3]), kLanes);
  } else {
    FOVEA_UNROLL(2)
    for (size_t i = 0; i < kLanes; i += 8) {
      const raw::F32* const at = r + i;
      const auto eight = __riscv_vcreate_v_f32m1x8(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]);
      __riscv_vssseg8e32_v_f32m1x8(columns[0] + i, 4 * kLanes, eight, kLanes);
    }
  }
  FOVEA_EACH(i, kLanes) v[i] = LoadU(kF, columns[i]);
}
template <int k>
FOVEA_INLINE VF SwapLanes(VF v) {
  VF swapped;
  FOVEA_EACH(i, kLanes) swapped[i] = v[i ^ k];
  return swapped;
}
// The sum of the vectors of a group.
FOVEA_INLINE VF Folded(Floats<2> v) {
  VF halves[2];
  __builtin_memcpy(halves, &v, sizeof v);
  return Add(halves[0], halves[1]);
}
FOVEA_INLINE VF Folded(Floats<4> v) {
  Floats<2> halves[2];
  __builtin_memcpy(halves, &v, sizeof v);
  return Folded(halves[0] + halves[1]);
}
// Lane i is the sum of row i.
FOVEA_INLINE VF SumsOfRows(const float (&rows)[kLanes][kLanes]) {
  raw::F32 c[kLanes];
  if constexpr (kLanes == 4) {
    const auto columns = __riscv_vlseg4e32_v_f32m1x4(rows[0], kLanes);
    c[0] = __riscv_vget_v_f32m1x4_f32m1(columns, 0), c[1] = __riscv_vget_v_f32m1x4_f32m1(columns, 1);
    c[2] = __riscv_vget_v_f32m1x4_f32m1(columns, 2), c[3] = __riscv_vget_v_f32m1x4_f32m1(columns, 3);
  } else {
    FOVEA_UNROLL(2)
    for (size_t i = 0; i < kLanes; i += 8) {
      const auto columns = __riscv_vlsseg8e32_v_f32m1x8(rows[0] + i, 4 * kLanes, kLanes);
      raw::F32* const at = c + i;
      at[0] = __riscv_vget_v_f32m1x8_f32m1(columns, 0), at[1] = __riscv_vget_v_f32m1x8_f32m1(columns, 1);
      at[2] = __riscv_vget_v_f32m1x8_f32m1(columns, 2), at[3] = __riscv_vget_v_f32m1x8_f32m1(columns, 3);
      at[4] = __riscv_vget_v_f32m1x8_f32m1(columns, 4), at[5] = __riscv_vget_v_f32m1x8_f32m1(columns, 5);
      at[6] = __riscv_vget_v_f32m1x8_f32m1(columns, 6), at[7] = __riscv_vget_v_f32m1x8_f32m1(columns, 7);
    }
  }
  VF sums[kLanes];
  FOVEA_EACH(i, kLanes) sums[i] = raw::Cast<VF>(c[i]);
  FOVEA_UNROLL(4)
  for (size_t step = kLanes / 2; step > 0; step /= 2) {
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < step; ++i) sums[i] = Add(sums[i], sums[i + step]);
  }
  return sums[0];
}
FOVEA_INLINE VF SumsOfLanes(const VF (&v)[kLanes]) {
  alignas(4 * kLanes) float rows[kLanes][kLanes];
  FOVEA_EACH(i, kLanes) StoreU(v[i], kF, rows[i]);
  return SumsOfRows(rows);
}

// 128-bit blocks of four lanes.
#define FOVEA_HAS_BLOCKS 1
template <int kRun>
FOVEA_INLINE VI LoadBlocks(Tag<int32_t>, const uint8_t* const (&at)[kLanes / 4]) {
  int32_t lanes[kLanes];
  for (size_t block = 0; block < kLanes / 4; ++block) __builtin_memcpy(lanes + 4 * block, at[block], 16);
  return LoadU(kI, lanes);
}
FOVEA_INLINE void StoreBlockPairs(VI a, VI b, uint8_t* p, uint8_t* q, size_t n) {
  constexpr size_t kHalf = kLanes > 4 ? kLanes / 8 : 1;
  for (size_t block = 0; block < n; ++block) {
    const raw::U8 first = __riscv_vslidedown_vx_u8m1(raw::Cast<raw::U8>(a), 16 * block, 4 * kLanes);
    const raw::U8 second = __riscv_vslidedown_vx_u8m1(raw::Cast<raw::U8>(b), 16 * block, 4 * kLanes);
    uint8_t* const to = block < kHalf ? p + 32 * block : q + 32 * (block - kHalf);
    __riscv_vse8_v_u8m1(to, first, 16);
    __riscv_vse8_v_u8m1(to + 16, second, 16);
  }
}
FOVEA_INLINE void StoreNearestI8(const VF (&v)[4], uint8_t* p) {
  const VF bias = Set(kF, 12582912.0f);  // 1.5 * 2^23: the bits of the sum end with the integer
  FOVEA_EACH(i, 4) StoreU8(BitCast(kI, Add(v[i], bias)), p + i * kLanes);
}
FOVEA_INLINE VF WidenF16Blocks(Tag<float>, const uint64_t (&halves)[4]) {
  static_assert(kLanes <= 16, "64 bits have the halves of four blocks");
  uint16_t lanes[kLanes];
  FOVEA_EACH(i, kLanes) lanes[i] = uint16_t(halves[i % 4] >> (i / 4 * 16));
  return LoadF16(kF, lanes);
}
template <int i>
FOVEA_INLINE VF SpreadLane(VF v) {
  VF spread;
  FOVEA_EACH(lane, kLanes) spread[lane] = v[lane / 4 * 4 + i];
  return spread;
}
// A gather of bytes gives 0 where the place is past the vector, as 255 is. The sum with a block's place saturates there.
FOVEA_INLINE VI LookUp(VI table, VI at) {
  static_assert(kLanes <= 32, "places fit into a byte");
  raw::Bytes block_places;
  FOVEA_EACH(i, 4 * kLanes) block_places[i] = uint8_t(i / 16 * 16);
  const raw::Bytes places = __builtin_elementwise_add_sat(raw::Bytes(at), block_places);
  const raw::U8 bytes = __riscv_vrgather_vv_u8m1(raw::Cast<raw::U8>(table), raw::Cast<raw::U8>(places), 4 * kLanes);
  return raw::Cast<VI>(bytes);
}
FOVEA_INLINE VI MaxU8(VI a, VI b) { return VI(__builtin_elementwise_max(raw::Bytes(a), raw::Bytes(b))); }
FOVEA_INLINE VI SubU8(VI a, VI b) { return VI(raw::Bytes(a) - raw::Bytes(b)); }
FOVEA_INLINE VI AbsI8(VI v) { return VI(__builtin_elementwise_min(raw::Bytes(v), raw::Bytes(VI{}) - raw::Bytes(v))); }
FOVEA_INLINE VI LargestU8(const VI (&v)[4]) {
  VI lanes{};
  FOVEA_EACH(i, 4) {
    VI largest = MaxU8(v[i], BitCast(kI, SwapLanes<2>(BitCast(kF, v[i]))));
    largest = MaxU8(largest, BitCast(kI, SwapLanes<1>(BitCast(kF, largest))));
    FOVEA_EACH(block, kLanes / 4) lanes[4 * block + i] = largest[4 * block + i];
  }
  const VI halves = MaxU8(lanes, ShiftRight<16>(lanes));
  return And(MaxU8(halves, ShiftRight<8>(halves)), Set(kI, 255));
}

#define FOVEA_FEW_ROW "core/attention/few_row_rvv.inl"

#define FOVEA_CLAMP_KEEPS_ZERO 1
#include "ground/simd/derived.inl"

}  // namespace hn
