// SPDX-License-Identifier: Apache-2.0
//
// How the few-rows kernel goes through keys. The scores of kKeys keys fill one vector, kRows by kKeys: lane = row *
// kKeys + key. Cursors go through the rows of keys and values, and prefetch the next ones.
#ifndef FOVEA_SRC_ATTENTION_FEW_BLOCK_INL_
#define FOVEA_SRC_ATTENTION_FEW_BLOCK_INL_

#include "core/attention/rows.inl"

constexpr bool kHasFewRows = config::kFewRows && kLanes > 1;  // with one lane the tile kernel has no empty lanes

// The keys that are taken with kRows rows: kRows * kKeys dot products, whose sums fill one vector.
template <int kRows>
struct FewBlock {
  static constexpr uint32_t kKeys = kLanes / kRows;
  static constexpr uint32_t kKeysAtOnce = kKeys < 4 ? kKeys : 4;  // keys multiplied at a time
};

// lane % kKeys, as floats.
template <int kRows>
FOVEA_INLINE VF KeyOffsets() {
  struct Table {
    float lanes[kLanes];
    constexpr Table() : lanes() {
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = float(i % FewBlock<kRows>::kKeys);
    }
  };
  static constexpr Table table;
  return hn::LoadU(kF, table.lanes);
}

// Sum or maximum over the lanes of each row, which are `keys`.
template <bool kMax, uint32_t kStep = kLanes / 2>
FOVEA_INLINE VF ReduceRowsOf(VF v, uint32_t keys) {
  if constexpr (kStep == 0) {
    return v;
  } else {
    if (kStep < keys) v = kMax ? hn::Max(v, hn::SwapLanes<kStep>(v)) : hn::Add(v, hn::SwapLanes<kStep>(v));
    return ReduceRowsOf<kMax, kStep / 2>(v, keys);
  }
}
template <int kRows, bool kMax>
FOVEA_INLINE VF ReduceRows(VF v) {
  return ReduceRowsOf<kMax>(v, FewBlock<kRows>::kKeys);
}

// Where the scores from key j on are stored.
template <int kRows>
FOVEA_INLINE float* BlockScores(const QueryTile& t, const KeyTile& keys, uint32_t j) {
  return t.s + size_t(j - keys.begin) / FewBlock<kRows>::kKeys * kLanes;
}

// Stores the scores from key j on: sums of products, and -inf in the lanes past the last key.
template <int kRows>
FOVEA_INLINE void StoreFewScores(const QueryTile& t, const KeyTile& keys, uint32_t j, VF sums) {
  if (j + FewBlock<kRows>::kKeys > keys.end) {
    const VF past_end = hn::Set(kF, float(keys.end - j));
    sums = hn::IfThenElse(hn::Lt(KeyOffsets<kRows>(), past_end), sums, hn::Set(kF, -kInfinity));
  }
  hn::StoreU(sums, kF, BlockScores<kRows>(t, keys, j));
}

// Goes through the rows of a format, one after the other.
template <fovea_dtype kType>
struct RowCursor {
  const char* data;
  const char* scales;
  ptrdiff_t stride, scale_stride;  // bytes

  FOVEA_INLINE RowCursor At(const KeyRows& rows, ptrdiff_t first) {
    const ptrdiff_t stride = stride_bytes(rows.stride, unit_bytes(kType));
    const ptrdiff_t scale_stride = stride_bytes(rows.scale_stride, scale_bytes(kType));
    const void* const scales = rows.scales;
    return {static_cast<const char*>(rows.data) + first * stride,
            static_cast<const char*>(scales) + first * scale_stride, stride, scale_stride};
  }
  FOVEA_MEMBER FormatRow<kType> Row() const { return FormatRow<kType>::Of(data, scales); }
  FOVEA_MEMBER void Next() {
    data += stride;
    scales += scale_stride;
  }
};

// Prefetches the rows of a tile in the order of addresses, a few lines at a time: the processor's own prefetcher
// expects this order. They go into the second-level cache, which waits for more lines at once than the first and has
// room for a tile. Codes of 8 bits or less are small enough for the first. Rows of f32 in vectors of 16 are not, though
// processors differ: from memory decode into the first level takes 1.5 times as long on a Zen 4, .76 to .91 on a Zen 5.
// Lines past the end of a row may be prefetched, which reads nothing.
template <fovea_dtype kType>
struct LineCursor {
  static constexpr size_t kGroupBytes = format_of(kType).group_bytes;
  static constexpr int kLocality = kGroupBytes <= kScaleGroup ? 3 : 2;
  uintptr_t row;  // may be past the end of the array: only prefetched
  ptrdiff_t stride;
  size_t row_bytes, byte;

  // At element `index` of the rows, counted row by row.
  FOVEA_INLINE LineCursor At(const void* rows, ptrdiff_t stride, size_t dim, size_t index) {
    const ptrdiff_t row_stride = stride_bytes(stride, unit_bytes(kType));
    return {reinterpret_cast<uintptr_t>(rows) + index / dim * uintptr_t(row_stride), row_stride,
            dim * kGroupBytes / kScaleGroup, index % dim * kGroupBytes / kScaleGroup};
  }
  template <size_t kElements>
  FOVEA_MEMBER void Prefetch() {
    constexpr size_t kBytes = (kElements * kGroupBytes + kScaleGroup - 1) / kScaleGroup;
    FOVEA_UNROLL(8)
    for (size_t i = 0; i < kBytes; i += kCacheLine) {
      __builtin_prefetch(reinterpret_cast<const char*>(row + byte + i), 0, kLocality);
    }
    byte += kBytes;
    const bool row_ends = byte >= row_bytes;
    row += row_ends ? uintptr_t(stride) : 0;
    byte = row_ends ? 0 : byte;
  }
};

// Where bits are those of the tile kernel, a sum of weights has strands: a key's place in its tile decides which of
// them gets its weight.

// The sum over the lanes of each row, in all of them: a tree that adds neighbours first.
template <int kKeys, int kStep = 1>
FOVEA_INLINE VF SumOfNeighbours(VF v) {
  if constexpr (kStep == kKeys) {
    return v;
  } else {
    return SumOfNeighbours<kKeys, 2 * kStep>(hn::Add(v, hn::SwapLanes<kStep>(v)));
  }
}
template <int n>
FOVEA_INLINE VF SumOfStrands(VF (&strands)[n]) {
  FOVEA_UNROLL(4)
  for (int half = 1; half < n; half *= 2) {
    FOVEA_UNROLL(8)
    for (int i = 0; i < n; i += 2 * half) strands[i] = hn::Add(strands[i], strands[i + half]);
  }
  return strands[0];
}

// Adds scores of -inf after the last key, to a multiple of kMultiple keys. Returns the end of the scores.
template <int kRows, uint32_t kMultiple>
FOVEA_INLINE float* FewPadScores(const QueryTile& t, const KeyTile& keys) {
  constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
  const uint32_t padded = uint32_t(round_up(keys.end - keys.begin, kMultiple));
  for (uint32_t j = uint32_t(round_up(keys.end - keys.begin, kKeys)); j < padded; j += kKeys) {
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.s + j * kRows);
  }
  return t.s + padded * kRows;
}

#endif  // FOVEA_SRC_ATTENTION_FEW_BLOCK_INL_
