// SPDX-License-Identifier: Apache-2.0
//
// The words for products of halves of Zvfh, whose multiply-adds take the element that all lanes share from a register.
#ifndef FOVEA_SRC_SIMD_HALF_RVV_INL_
#define FOVEA_SRC_SIMD_HALF_RVV_INL_

struct ZvfhHalves {
  static constexpr size_t kLanes = 2 * hn::kLanes;
  static constexpr int kBlockVectors = ::fovea::kHalfVectors, kRows = 8, kReads = 1, kPieces = 2;
  static constexpr bool kByScalars = false, kServesFewRows = false;
  using Element = uint16_t;
  typedef _Float16 V __attribute__((vector_size(2 * kLanes)));
  typedef _Float16 Part __attribute__((vector_size(2 * hn::kLanes)));
  using E = _Float16;
  typedef int16_t M __attribute__((vector_size(2 * kLanes)));

  FOVEA_INLINE V Zero() { return V{}; }
  FOVEA_INLINE V Load(const Element* p) { return hn::raw::Load<V>(p); }
  FOVEA_INLINE E LoadE(const Element* p) { return hn::raw::Load<E>(p); }
  FOVEA_INLINE E LoadOne(const Element* p) { return LoadE(p); }
  FOVEA_INLINE E NextE(const Element*& p, ptrdiff_t step) {
    const E e = LoadE(p);
    p += step;
    return e;
  }
  FOVEA_INLINE void Store(VF v, Element* p) { hn::StoreF16(v, p); }
  FOVEA_INLINE M SignMask(V v) { return M(v) < 0; }
  template <int>
  FOVEA_INLINE V MulAdd(V x, E e, V sum) {
    V all;
    FOVEA_EACH(i, kLanes) all[i] = e;
    return __builtin_elementwise_fma(x, all, sum);
  }
  template <int i>
  FOVEA_INLINE V MulAddUnless(M m, V x, E e, V sum) {
    return m ? sum : MulAdd<i>(x, e, sum);
  }

  FOVEA_INLINE void Widen(V v, VF (&to)[2]) {
    Part parts[2];
    __builtin_memcpy(parts, &v, sizeof v);
    FOVEA_EACH(i, 2) to[i] = __builtin_convertvector(parts[i], VF);
  }
  FOVEA_INLINE void LoadFloats(const float* p, VF (&v)[2]) { __builtin_memcpy(v, p, sizeof v); }
  FOVEA_INLINE void StoreFloats(const VF (&v)[2], float* p) { __builtin_memcpy(p, v, sizeof v); }
};

#endif  // FOVEA_SRC_SIMD_HALF_RVV_INL_
