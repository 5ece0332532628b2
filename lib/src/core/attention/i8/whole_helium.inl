// SPDX-License-Identifier: Apache-2.0
//
// whole_block.inl for Helium, with one vector of rows after the other: there are eight registers.
#ifndef FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_

#include "core/attention/i8/softmax.inl"

template <class Dot>
struct I8Whole<Dot, kDotHelium> {
  using Block = WholeBlock<Dot>;

  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    if (kSmallText || !Block::IsWhole(keys)) return false;
    for (int v = 0; v < kVectors; ++v) Block::template WeighWhole<1>(t, keys, column + v * kLanes);
    return true;
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_WHOLE_HELIUM_INL_
