// SPDX-License-Identifier: Apache-2.0
//
// The dot words of x86's pmaddubsw for weights of few bits, on processors that have no vpdpbusd. The instruction multiplies unsigned
// bytes by signed ones and adds two products, saturated to 16 bits. Nothing can saturate before a pmaddwd widens a group's sums: a
// lane of 16 bits gets the products of at most 16 inputs, each at most 15 times 128 in magnitude, 30,720 in all. With few tokens a
// group has two sums, and a lane of one the products of 8 inputs, at most 31 times 128, or in q6_k of 4, at most 63 times 128.
#ifndef FOVEA_SRC_SIMD_DOT_MADDUBS_INL_
#define FOVEA_SRC_SIMD_DOT_MADDUBS_INL_
#include "ground/simd/dot_x86_bytes.inl"

struct Maddubs : X86Bytes, DotShape<kDotMaddubs> {
  static constexpr bool kUnsignedRows = true;
  static constexpr int kBlockVectors = 2;  // with three, AVX2 has registers for two rows
  // One of these is for products before they are added to a sum.
  static constexpr int RegistersForLoads(int vectors, int) { return vectors + 2; }
  // Sums of a group: lanes 2i and 2i + 1 of 16 bits are those of lane i.
  struct Sum {
    hn::raw::I pairs;
  };
  using X86Bytes::ToInts;

  FOVEA_INLINE hn::raw::I MulPairs(hn::raw::I codes, hn::raw::I signed_codes) {
    return FOVEA_MM(maddubs_epi16)(codes, signed_codes);
  }
  FOVEA_INLINE VI ToInts(Sum sum) { return VI{FOVEA_MM(madd_epi16)(sum.pairs, FOVEA_MM(set1_epi16)(1))}; }
  FOVEA_INLINE VF ToFloat(Sum sum) { return hn::ConvertTo(kF, ToInts(sum)); }
  FOVEA_INLINE Sum Start(int32_t) { return FewZero(); }  // of 0 alone
  FOVEA_INLINE Sum FewZero() { return {X86Bytes::Start(0)}; }

  template <int i>
  FOVEA_INLINE Sum DotAdd(X x, E e, Sum sum) {
    return {AddInPlace<2>(MulPairs(e, x), sum.pairs)};
  }
  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) { hn::StoreU8(hn::BitCast(kI, biased), lanes); }

  // sum + the products of rows' codes with four codes of a token, which are the same for all lanes.
  FOVEA_INLINE Sum FewSameDot(const FewCode* x, FewX codes, Sum sum) {
    return {AddInPlace<2>(MulPairs(codes, LoadE(x)), sum.pairs)};
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_MADDUBS_INL_
