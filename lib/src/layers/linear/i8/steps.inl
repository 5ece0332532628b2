// SPDX-License-Identifier: Apache-2.0
//
// Steps of many tokens that an instruction may do in a way of its own.
#ifndef FOVEA_SRC_LINEAR_I8_STEPS_INL_
#define FOVEA_SRC_LINEAR_I8_STEPS_INL_

#include "layers/linear/i8/outputs.inl"

// The columns that have their codes and sums together.
struct ColumnBlock {
  size_t first, columns;
};
// Tiles of which all columns are one block.
struct OneBlock {
  FOVEA_INLINE ColumnBlock BlockOf(const I8TokenTile& t, size_t) { return {0, t.columns}; }
  FOVEA_INLINE size_t StepOfSums(const I8TokenTile&) { return 0; }
  FOVEA_INLINE bool MultiplyWholeTile(const void*, size_t, const void*, ptrdiff_t, uint32_t, float*) { return false; }
};

// Each step returns whether it was done.
template <class Dot, DotKind kKind = Dot::kKind>
struct TileSteps : OneBlock {
  FOVEA_INLINE bool PutColumnOfBytes(const int8_t*, size_t, typename Dot::Code*, size_t) { return false; }
  FOVEA_INLINE bool EndAsCodes(const I8TokenTile&, const I8Rows&) { return false; }
};

// Where the codes of a column begin.
template <class Dot>
FOVEA_INLINE typename Dot::Code* CodesOf(const I8TokenTile& t, size_t column) {
  const size_t first = TileSteps<Dot>::BlockOf(t, column).first;
  return static_cast<typename Dot::Code*>(t.x) + first * round_up(t.in_dim, Dot::kReads) +
         (column - first) * Dot::kGroup;
}

#include "layers/linear/i8/steps_helium.inl"
#include "layers/linear/i8/steps_smlad.inl"

#endif  // FOVEA_SRC_LINEAR_I8_STEPS_INL_
