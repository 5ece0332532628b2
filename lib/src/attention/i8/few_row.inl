// SPDX-License-Identifier: Apache-2.0
//
// The softmax and the values of a single row, by the words that an instruction has for that.

#if defined(FOVEA_DOT_WEIGHS_ROW)
// Key tiles that are left to FewSoftmax then have hidden keys, weights that are kept, or a rest of a strand.
template <int kRows>
constexpr bool kMayHideNone = kRows > 1;

FOVEA_CALLED bool WeighRow(const QueryTile& t, const KeyTile& keys, bool hides) {
  const uint32_t count = keys.end - keys.begin;
  if (hides || count % kStrands != 0 || Keeps(keys) || HasZero(keys) || keys.numbers().any_nan) return false;
  const VF old_max = hn::LoadU(kF, t.row_max);
  const VF max = hn::Set(kF, dot::LargestOf(t.s, count / kStrands, dot::FirstLane(old_max))), shift = ShiftOf(max);
  float top = kLeastTop;
  const float* const scale = keys.numbers().value_scale + keys.begin;
  const float total = dot::WeighRow(t.s, count / kStrands, scale, dot::FirstLane(shift), top);
  const VF rescale = Rescale(hn::Sub(old_max, shift));
  hn::StoreU(max, kF, t.row_max);
  hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, hn::Set(kF, total)), kF, t.row_sum);
  hn::StoreU(rescale, kF, t.rescale);
  hn::StoreU(hn::Set(kF, top * (1.0f / 255)), kF, ValueFactors(t));
  dot::StoreRowWeights(t.s, count / kStrands, 255.0f / top, FewWeightCodes<1>(t));
  return true;
}

// False if the key tile is left to FewSoftmax.
template <int kRows>
FOVEA_INLINE bool FewWeighRow(const QueryTile& t, const KeyTile& keys, bool hides) {
  return kRows == 1 && !kPreferSize && WeighRow(t, keys, hides);
}

// Values of whole sixteens of elements; returns the first element that has none yet.
FOVEA_CALLED size_t ValuesOfRow(const QueryTile& t, const KeyTile& keys) {
  const float rescale = t.rescale[0], factor = ValueFactors(t)[0];
  const size_t end = t.value_dim / 16 * 16;
  const int8_t* value = CodesOfRow(keys.values, keys.begin);
  float* o = t.o;
  for (size_t e = 0; e < end; e += 16, value += 16) {
    VI sums[4];
    dot::SumsOfElements(FewWeightCodes<1>(t), value, keys.values.stride, keys.end - keys.begin, sums);
    FOVEA_UNROLL(4)
    for (int v = 0; v < 4; ++v, o += kLanes) {
      const VF sum = hn::MulSet(hn::ConvertTo(kF, sums[v]), factor);
      hn::StoreU(hn::Add(hn::MulSet(hn::LoadU(kF, o), rescale), sum), kF, o);
    }
  }
  return end;
}
template <int kRows>
constexpr bool kHasValuesOfRow = kRows == 1 && !kPreferSize;
template <int kRows>
FOVEA_INLINE size_t FewValuesOfRow(const QueryTile& t, const KeyTile& keys) {
  return ValuesOfRow(t, keys);
}
#else
template <int>
constexpr bool kMayHideNone = true;

template <int>
FOVEA_INLINE bool FewWeighRow(const QueryTile&, const KeyTile&, bool) {
  return false;
}
template <int>
constexpr bool kHasValuesOfRow = false;
template <int>
FOVEA_INLINE size_t FewValuesOfRow(const QueryTile&, const KeyTile&) {
  return 0;
}
#endif
