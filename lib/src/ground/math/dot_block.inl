// SPDX-License-Identifier: Apache-2.0
//
// Integer products by register blocks: columns of codes times rows of codes, over the dot words of one instruction.
#ifndef FOVEA_SRC_MATH_DOT_BLOCK_INL_
#define FOVEA_SRC_MATH_DOT_BLOCK_INL_

#include "ground/math/block.inl"

// What register blocks share where each vector of columns has a sum for each row.
template <class Dot>
struct DotSums {
  using RowCode = typename Dot::RowCode;
  template <int kRows, int kVectors>
  using Sums = typename Dot::Sum[kRows][kVectors];

  // The sums of row k begin with `start`.
  template <int kRows, int kVectors>
  FOVEA_INLINE void Begin(int k, int32_t start, typename Dot::Sum (&sums)[kRows][kVectors]) {
    FOVEA_EACH(v, kVectors) sums[k][v] = Dot::Start(start);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE VI IntsOf(const typename Dot::Sum (&sums)[kRows][kVectors], int k, int v) {
    return Dot::ToInts(sums[k][v]);
  }
  template <int kRows, int kVectors>
  FOVEA_INLINE VF FloatsOf(const typename Dot::Sum (&sums)[kRows][kVectors], int k, int v) {
    return Dot::ToFloat(sums[k][v]);
  }

  // Rows of bytes are read in place where codes are bytes. Else `count` rows of dim codes are widened into `to`, in
  // whole reads, and *stride becomes the stride of these.
  static constexpr bool kRowsInPlace = sizeof(RowCode) == 1;
  static constexpr bool kHasWhole = false;  // whether there is MultiplyWhole
  FOVEA_INLINE const RowCode* ReachRows(const int8_t* rows, uint32_t count, size_t dim, RowCode* to,
                                        ptrdiff_t* stride) {
    if constexpr (kRowsInPlace) {
      return rows;
    } else {
      const ptrdiff_t step = *stride;
      *stride = ptrdiff_t(::fovea::round_up(dim, Dot::kReads));
      RowCode* row = to;
      for (uint32_t i = 0; i < count; ++i, rows += step, row += *stride) Dot::WidenRow(rows, dim, row);
      return to;
    }
  }
};

// Instructions that need another block have theirs by their kind.
template <class Dot, DotKind kKind = Dot::kKind>
struct DotBlock : DotSums<Dot> {
  using Code = typename Dot::Code;
  using RowCode = typename Dot::RowCode;
  using X = typename Dot::X;
  using E = typename Dot::E;
  using Sum = typename Dot::Sum;
  static constexpr size_t kGroup = Dot::kGroup, kReads = Dot::kReads;
  static constexpr int kElements = int(kReads / kGroup);  // groups that one load of a row reads
  static constexpr bool kHasWhole = kElements == 1 && kLanes >= 8;

  // Rows, or elements of the values, of a register block.
  template <int kVectors, int kCount = 8>
  static constexpr int Rows() {
    if constexpr (kCount <= kElements ||
                  kCount * kVectors + Dot::RegistersForLoads(kVectors, kCount) <= hn::kRegisters) {
      return kCount;
    } else {
      return Rows<kVectors, kCount / 2>();
    }
  }
  template <int kVectors>
  static constexpr int kRows = Rows<kVectors>();

  // A group of kVectors vectors of columns. Those past Dot::HeldVectors have no register: each use reads them again.
  template <int kVectors>
  struct Columns {
    static constexpr int kHeld = Dot::HeldVectors(kVectors);
    X held[kHeld];
    const Code* others;

    FOVEA_MEMBER X operator[](int v) {
      if (v < kHeld) return held[v];
      FOVEA_OPAQUE(others);
      return Dot::LoadX(others + (v - kHeld) * kLanes * kGroup);
    }
  };
  // The next group of columns. x advances past it.
  template <int kVectors>
  FOVEA_INLINE Columns<kVectors> NextGroup(const Code*& x, size_t columns) {
    Columns<kVectors> at;
    FOVEA_EACH(v, at.kHeld) at.held[v] = Dot::LoadX(x + v * kLanes * kGroup);
    at.others = x + at.kHeld * kLanes * kGroup;
    x += columns * kGroup;
    return at;
  }
  // sums[k][v] += codes of row k times as many codes of columns, from x on, which advances past them. A load of a row
  // reads one group, which is used at once.
  template <int kRows, int kVectors>
  FOVEA_INLINE void AddGroup(const Code*& x, size_t columns, const RowCode* const (&row)[kRows], size_t d,
                             Sum (&sums)[kRows][kVectors]) {
    auto at = NextGroup<kVectors>(x, columns);
    FOVEA_EACH(k, kRows) {
      const E e = Dot::LoadE(row[k] + d);
      FOVEA_EACH(v, kVectors) sums[k][v] = Dot::template DotAdd<0>(at[v], e, sums[k][v]);
    }
  }
  // The same if a load e[k] reads several groups.
  template <int i, int kRows, int kVectors>
  FOVEA_INLINE void AddGroups(const Code*& x, size_t columns, const E (&e)[kRows], Sum (&sums)[kRows][kVectors]) {
    auto at = NextGroup<kVectors>(x, columns);
    FOVEA_EACH(k, kRows) {
      FOVEA_EACH(v, kVectors) sums[k][v] = Dot::template DotAdd<i>(at[v], e[k], sums[k][v]);
    }
    if constexpr (i + 1 < kElements) AddGroups<i + 1>(x, columns, e, sums);
  }

  // sums[k][v] += columns times row[k], of kDim codes, whole reads, without a loop.
  template <size_t kDim, int kVectors, int kRows>
  FOVEA_INLINE void MultiplyWhole(const Code* x, size_t columns, const RowCode* const (&row)[kRows],
                                  Sum (&sums)[kRows][kVectors]) {
    FOVEA_UNROLL(8)
    for (size_t d = 0; d < kDim; d += kReads) AddGroup(x, columns, row, d, sums);
  }
  // The same of dim codes.
  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const Code* x, size_t columns, const RowCode* const (&row)[kRows], size_t dim,
                                 Sum (&sums)[kRows][kVectors]) {
    const size_t whole = dim / kReads * kReads;
    for (size_t d = 0; d < whole; d += kReads) {
      if constexpr (kElements == 1) {
        AddGroup(x, columns, row, d, sums);
        continue;
      }
      E e[kRows];
      FOVEA_EACH(k, kRows) e[k] = Dot::LoadE(row[k] + d);
      AddGroups<0>(x, columns, e, sums);
    }
    if (whole < dim) {
      E e[kRows];
      FOVEA_EACH(k, kRows) e[k] = Dot::LoadPartOfE(row[k] + whole, dim - whole);
      AddGroups<0>(x, columns, e, sums);
    }
  }

  // sums[i][v] += the weights of a group of keys times element i of those in e.
  template <int i, int kVectors>
  FOVEA_INLINE void AddElements(Columns<kVectors>& x, E e, Sum (*sums)[kVectors]) {
    FOVEA_EACH(v, kVectors) sums[i][v] = Dot::template DotAdd<i>(x[v], e, sums[i][v]);
    if constexpr (i + 1 < kElements) AddElements<i + 1>(x, e, sums);
  }

  // sums[k][v] += columns of weights times element k of the values from `value` on, of groups of `padded` elements.
  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyValues(const Code* x, size_t columns, const RowCode* value, size_t padded, uint32_t groups,
                                   Sum (&sums)[kRows][kVectors]) {
    constexpr int kLoads = kRows / kElements;
    for (; groups > 0; --groups, value += padded * kGroup) {
      auto at = NextGroup<kVectors>(x, columns);
      FOVEA_EACH(k, kLoads) {
        AddElements<0>(at, Dot::LoadE(value + k * kReads), &sums[k * kElements]);
      }
    }
  }
};

// Where codes are floats: the loops of f32 products, whose sums are exact here.
template <class Dot>
struct DotBlock<Dot, kDotFloats> : DotSums<Dot> {
  template <int kVectors>
  static constexpr int kRows = LargestBlock<kVectors, false>();

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyRows(const float* x, size_t columns, const float* const (&row)[kRows], size_t dim,
                                 VF (&sums)[kRows][kVectors]) {
    const float* at[kRows];
    FOVEA_EACH(k, kRows) {
      at[k] = row[k];
      FOVEA_OPAQUE(at[k]);
    }
    MultiplyPart<false>(x, columns, dim, at, nullptr, sums);
  }

  template <int kVectors, int kRows>
  FOVEA_INLINE void MultiplyValues(const float* x, size_t columns, const float* value, size_t padded, size_t groups,
                                   VF (&sums)[kRows][kVectors]) {
    AddValues<false>(x, columns, value, ptrdiff_t(padded), uint32_t(groups), sums);
  }
};

#include "ground/math/dot_block_neon64.inl"
#include "ground/math/dot_block_rvv.inl"
#include "ground/math/dot_block_smlad.inl"

#endif  // FOVEA_SRC_MATH_DOT_BLOCK_INL_
