// SPDX-License-Identifier: Apache-2.0
//
// Turns rows of numbers into columns of codes: [dim / kGroup][column][kGroup].
#ifndef FOVEA_SRC_MATH_DOT_CODES_INL_
#define FOVEA_SRC_MATH_DOT_CODES_INL_

template <class Dot>
struct DotCodes {
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup, kReads = Dot::kReads;

  // Stores the codes of `count` <= kLanes elements, from element d on, in their column, which begins at x: the codes of
  // a group are adjacent.
  FOVEA_INLINE void PutCodes(VF biased, size_t d, size_t count, Code* x, size_t columns) {
    constexpr size_t kChunk = kGroup < kLanes ? kGroup : kLanes;
    Code codes[kLanes];
    Dot::StoreQueries(biased, codes);
    for (size_t i = 0; i < count; i += kChunk) {
      const size_t place = Dot::PlaceOf(d + i);
      __builtin_memcpy(x + place / kGroup * columns * kGroup + place % kGroup, codes + i, kChunk * sizeof *codes);
    }
  }

  // Turns a row of dim numbers into the column that begins at x. row(d, n) returns n <= kLanes elements from d on, and
  // fit.Biased() their codes, biased. Codes of 0 follow the last element, up to the end of a read. The codes before d
  // are stored already.
  template <class Row, class Fit>
  FOVEA_INLINE void PutColumn(const Row& row, const Fit& fit, size_t dim, Code* x, size_t columns, size_t d = 0) {
    constexpr size_t kStep = kReads > kLanes ? kReads : kLanes;
    x += d * columns;
    for (; !kSmallText && d + kStep <= dim; d += kStep, x += kStep * columns) {
      FOVEA_UNROLL_FOR_SPEED(16)
      for (size_t i = 0; i < kStep; i += kLanes) PutCodes(fit.Biased(row(d + i, kLanes)), i, kLanes, x, columns);
    }
    const size_t left = dim - d, padded = ::fovea::round_up(left, kReads);
    for (size_t i = 0; i < padded; i += kLanes) {
      const size_t n = i >= left ? 0 : left - i < kLanes ? left - i : kLanes;
      PutCodes(fit.Biased(row(d + i, n)), i, padded - i < kLanes ? padded - i : kLanes, x, columns);
    }
  }
};

#endif  // FOVEA_SRC_MATH_DOT_CODES_INL_
