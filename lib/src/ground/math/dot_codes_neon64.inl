// SPDX-License-Identifier: Apache-2.0
//
// dot_codes.inl for AArch64: four rows together, 16 elements of each at a time.
#ifndef FOVEA_SRC_MATH_DOT_CODES_NEON64_INL_
#define FOVEA_SRC_MATH_DOT_CODES_NEON64_INL_

#include "ground/formats/rows.inl"

template <class Dot>
struct NeonCodes {
  using Code = typename Dot::Code;
  static constexpr size_t kReads = Dot::kReads;

  // n elements of a row from d on, followed by 0.
  template <fovea_dtype kType>
  FOVEA_INLINE void LoadElements(const FormatRow<kType>& row, size_t d, size_t n, VF (&v)[4]) {
    if (n < kReads) {
      for (size_t i = 0; i < 4; ++i, d += kLanes, n -= n < kLanes ? n : kLanes) {
        v[i] = n == 0 ? hn::Zero(kF) : row.Part(d, n < kLanes ? n : kLanes);
      }
    } else if constexpr (kType == FOVEA_F32) {
      Dot::LoadVectors(row.data + d, v);
    } else {
      FOVEA_EACH(i, 4) v[i] = row.Whole(d + i * kLanes);
    }
  }

  // The largest magnitude of a row, in one of the lanes. NaN if an element is NaN.
  template <fovea_dtype kType>
  FOVEA_INLINE VF LargestOf(const FormatRow<kType>& row, size_t dim) {
    VF most[4] = {hn::Zero(kF), hn::Zero(kF), hn::Zero(kF), hn::Zero(kF)};
    const auto take = [&](size_t d, size_t n) __attribute__((always_inline)) {
      VF v[4];
      LoadElements(row, d, n, v);
      FOVEA_EACH(i, 4) most[i] = Dot::MaxOrNan(most[i], hn::Abs(v[i]));
    };
    size_t d = 0;
    for (; d + kReads <= dim; d += kReads) take(d, kReads);
    if (d < dim) take(d, dim - d);
    return Dot::MaxOrNan(Dot::MaxOrNan(most[0], most[1]), Dot::MaxOrNan(most[2], most[3]));
  }

  // 16 codes of row r: those of n elements, and then 0.
  template <int r, fovea_dtype kType>
  FOVEA_INLINE typename Dot::E CodesOf(const FormatRow<kType> (&rows)[4], size_t d, size_t n, VF scale, VF inverse) {
    VF v[4];
    LoadElements(rows[r], d, n, v);
    FOVEA_EACH(i, 4) v[i] = hn::Mul(v[i], scale);
    return Dot::template Codes<r>(v, inverse);
  }

  // Finds four rows, and the largest magnitude of each. Rounding keeps the order, so this times the magnitude of a
  // factor is the largest product.
  template <fovea_dtype kType>
  FOVEA_INLINE VF LargestOfRows(const char* const* at, size_t dim, FormatRow<kType> (&rows)[4]) {
    VF most[4];
    FOVEA_EACH(r, 4) {
      rows[r] = FormatRow<kType>::Of(at[r], nullptr);
      most[r] = LargestOf(rows[r], dim);
    }
    return Dot::LargestLanes(most);
  }

  // Turns four rows, times scale and then each times its inverse, into columns of codes.
  template <fovea_dtype kType>
  FOVEA_INLINE void PutColumns(const FormatRow<kType> (&rows)[4], size_t dim, VF scale, VF inverse, Code* x,
                               size_t step) {
    const auto put = [&](size_t d, size_t n) __attribute__((always_inline)) {
      const typename Dot::E codes[4] = {CodesOf<0>(rows, d, n, scale, inverse), CodesOf<1>(rows, d, n, scale, inverse),
                                        CodesOf<2>(rows, d, n, scale, inverse), CodesOf<3>(rows, d, n, scale, inverse)};
      Dot::StoreColumns(codes, x, step);
      x += kReads / Dot::kGroup * step;
    };
    size_t d = 0;
    for (; d + kReads <= dim; d += kReads) put(d, kReads);
    if (d < dim) put(d, dim - d);
  }
};

#endif  // FOVEA_SRC_MATH_DOT_CODES_NEON64_INL_
