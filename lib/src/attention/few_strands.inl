// SPDX-License-Identifier: Apache-2.0
//
// Sums of weights in kStrands strands: a key's place in its tile decides which of them gets its weight. So the bits of
// the few-rows kernel are those of the tile kernel.

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
