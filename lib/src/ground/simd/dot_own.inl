// SPDX-License-Identifier: Apache-2.0
//
// The dot words of the user's instruction: FOVEA_DOT_ADD adds to an integer of 32 bits the products of the signed bytes of
// two FOVEA_DOT_TYPE. Columns have a sum each, so a vector of columns takes the instruction once for each lane.
#ifndef FOVEA_SRC_SIMD_DOT_OWN_INL_
#define FOVEA_SRC_SIMD_DOT_OWN_INL_
#include "ground/simd/dot_defaults.inl"

struct Own : DotDefaults, DotShape<kDotOwn> {
  static constexpr bool kSignedWeights = true;
  using Code = int8_t;     // of a query or a weight
  using RowCode = int8_t;  // of a key or a value

  using E = FOVEA_DOT_TYPE;
  static constexpr size_t kCodes = sizeof(E);
  struct X {
    E lane[kLanes];
  };
  struct Sum {
    int32_t lane[kLanes];
  };

  static constexpr int RegistersForLoads(int vectors, int) { return vectors + 1; }

  FOVEA_INLINE X LoadX(const Code* p) {
    X x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  FOVEA_INLINE E LoadE(const RowCode* p) {
    E e;
    __builtin_memcpy(&e, p, sizeof e);
    return e;
  }
  FOVEA_INLINE E LoadPartOfE(const RowCode* p, size_t n) {
    RowCode codes[kCodes] = {};
    __builtin_memcpy(codes, p, n);
    return LoadE(codes);
  }
  FOVEA_INLINE Sum Start(int32_t sum) {
    Sum all;
    FOVEA_EACH(i, kLanes) all.lane[i] = sum;
    return all;
  }
  template <int i>
  FOVEA_INLINE Sum DotAdd(const X& x, E e, Sum sum) {
    FOVEA_EACH(lane, kLanes) sum.lane[lane] = FOVEA_DOT_ADD(x.lane[lane], e, sum.lane[lane]);
    return sum;
  }
  FOVEA_INLINE VI ToInts(const Sum& sum) { return hn::LoadU(kI, sum.lane); }
  FOVEA_INLINE VF ToFloat(const Sum& sum) { return hn::ConvertTo(kF, ToInts(sum)); }

  FOVEA_INLINE void StoreQueries(VF biased, Code* lanes) {
    hn::StoreU8(hn::BitCast(kI, biased), reinterpret_cast<uint8_t*>(lanes));
  }
  // Weights of some keys of a group, 128 lower: to[lane][kCodes].
  template <size_t n>
  FOVEA_INLINE void StoreWeights(const VF (&biased)[n], Code* to) {
    FOVEA_EACH(i, n) {
      uint8_t lanes[kLanes];
      hn::StoreU8(hn::BitCast(kI, biased[i]), lanes);
      FOVEA_EACH(lane, kLanes) to[lane * kCodes + i] = Code(lanes[lane] ^ 0x80);
    }
  }

  // to[element][kCodes] = the element of each of as many rows. 128 times their sum is added to the start of the element.
  FOVEA_INLINE size_t PackGroup(const int8_t* const (&row)[kCodes], size_t elements, RowCode* to, int32_t* starts) {
    for (size_t e = 0; e < elements; ++e, to += kCodes) {
      int32_t sum = 0;
      FOVEA_EACH(k, kCodes) {
        to[k] = row[k][e];
        sum += row[k][e];
      }
      starts[e] += 128 * sum;
    }
    return elements;
  }
};

#endif  // FOVEA_SRC_SIMD_DOT_OWN_INL_
