// SPDX-License-Identifier: Apache-2.0
//
// Where a tile has the halves that its products read, and how its queries are scaled.
#ifndef FOVEA_SRC_ATTENTION_F16_ELEMENTS_INL_
#define FOVEA_SRC_ATTENTION_F16_ELEMENTS_INL_

#include "core/attention/rows.inl"
#include "ground/math/half_block.inl"

// Chains hold what f16 can: a row of queries whose largest element is 1 or more is divided by a power of two that makes
// it less, and its scores are multiplied by that. Elements of 2^64 and more stay large.
template <fovea_dtype kType, size_t kRows>
FOVEA_INLINE void LargestOfRows(char* const (&rows)[kRows], size_t dim, VF (&largest)[kRows]) {
  FormatRow<kType> elements[kRows];
  VF all[kRows];
  FOVEA_EACH(i, kRows) elements[i] = FormatRow<kType>::Of(rows[i], nullptr), all[i] = hn::Zero(kF);
  size_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    FOVEA_EACH(i, kRows) all[i] = hn::Max(all[i], hn::Abs(elements[i].Whole(d)));
  }
  FOVEA_EACH(i, kRows) {
    largest[i] = d < dim ? hn::Max(all[i], hn::Abs(elements[i].Part(d, dim - d))) : all[i];
  }
}
template <size_t kRows>
FOVEA_INLINE void FindLargest(char* const (&rows)[kRows], fovea_dtype dtype, size_t dim, VF (&largest)[kRows]) {
  if constexpr (kSmallText) {
    for (size_t i = 0; i < kRows; ++i) {
      VF all = hn::Zero(kF);
      for (size_t d = 0; d < dim; d += kLanes) {
        all = hn::Max(all, hn::Abs(LoadPart(dtype, rows[i], d, LanesBefore(d, dim))));
      }
      largest[i] = all;
    }
    return;
  }
  FOVEA_WITH_FORMAT(kUnscaledFormats, dtype, LargestOfRows<kType>(rows, dim, largest));
}
// The factors of rows with these largest elements. *powers: those of their scores.
FOVEA_INLINE VF FactorsOfQueries(VF largest, float scale, VF* powers) {
  const VF scales = hn::Set(kF, scale), below = hn::Mul(largest, hn::Abs(scales));
  VF power = hn::BitCast(kF, hn::And(hn::BitCast(kI, below), hn::Set(kI, 0x7f800000)));
  power = hn::IfThenElse(hn::Lt(power, hn::Set(kF, 0x1p63f)), hn::Max(power, hn::Set(kF, 0.5f)), hn::Set(kF, 0x1p63f));
  *powers = hn::Add(power, power);
  return hn::Mul(scales, hn::BitCast(kF, hn::Sub(hn::Set(kI, 0x7f000000), hn::BitCast(kI, *powers))));
}

// A base of the parts of both kernels.
template <class Half>
struct HalfRows {
  using Element = typename Half::Element;
  static constexpr size_t kProductLanes = Half::kLanes;
  static constexpr int kBlockVectors = Half::kBlockVectors, kPieces = Half::kPieces;
  // The weights of a key take the place of its scores, in columns that increase: so they overwrite no score that is
  // needed.
  static constexpr size_t kWeightPitch = sizeof(float) / sizeof(Element);

  FOVEA_INLINE Element* QueryElements(const QueryTile& t) { return static_cast<Element*>(t.q); }
  FOVEA_INLINE Element* WeightElements(const QueryTile& t, uint32_t key, size_t column) {
    return reinterpret_cast<Element*>(t.s) + size_t(key) * t.columns * kWeightPitch + column;
  }
  FOVEA_INLINE const Element* RowOf(const KeyRows& rows, uint32_t key) {
    return static_cast<const Element*>(rows.data) + ptrdiff_t(key) * rows.stride;
  }

  // The columns of a tile of which kVectors vectors are worked on: a constant if these are more than one, for then they
  // are all.
  static_assert(kBlockVectors <= 2 || kBlockVectors == hn::kMaskedVectors,
                "a tile is worked on as a whole, or by single vectors");
  template <int kVectors>
  FOVEA_INLINE size_t ColumnsOf(const QueryTile& t) {
    return kVectors > 1 ? kVectors * kProductLanes : t.columns;
  }

  // Scores of a register block of keys from key j on. Those past the end repeat the last one. kConstant: rows of scores
  // are ColumnsOf apart.
  template <int kVectors, bool kConstant>
  FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
    const size_t columns = ColumnsOf<kVectors>(t);
    const Element* at[Half::kRows];
    FOVEA_EACH(k, Half::kRows) at[k] = RowOf(keys.keys, j + k < keys.end ? j + k : keys.end - 1);
    HalfBlock<Half>::template Multiply<kVectors>(QueryElements(t) + column, columns, t.head_dim, at, false,
                                                 t.s + size_t(j) * (kConstant ? columns : t.columns) + column);
  }

  FOVEA_INLINE VF ScorePower(const QueryTile& t, size_t column) { return hn::LoadU(kF, query_scales(t) + column); }
  // Multiplies the scores of kVectors vectors of rows by the powers of two of these rows.
  template <int kVectors>
  FOVEA_INLINE void ScaleScores(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns;
    VF powers[kVectors * kPieces];
    FOVEA_EACH(v, kVectors * kPieces) powers[v] = ScorePower(t, column + v * kLanes);
    float* s = t.s + size_t(keys.begin) * columns + column;
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t n = keys.end - keys.begin; n > 0; --n, s += columns) {
      FOVEA_EACH(v, kVectors * kPieces) {
        hn::StoreU(hn::Mul(hn::LoadU(kF, s + v * kLanes), powers[v]), kF, s + v * kLanes);
      }
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_F16_ELEMENTS_INL_
