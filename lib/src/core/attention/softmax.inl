// SPDX-License-Identifier: Apache-2.0
//
// The running softmax between two products whose sums are f32.
#ifndef FOVEA_SRC_ATTENTION_SOFTMAX_INL_
#define FOVEA_SRC_ATTENTION_SOFTMAX_INL_

#include "core/attention/rows.inl"
#include "ground/math/math.inl"
#include "ground/math/plain.inl"

// A base of the Parts of a TileKernel, which have the exponential WeightExp2. Where they set kPacksWeights, StorePacked
// stores weights as the second product reads them, and scores that become such weights at once are multiplied by
// ScorePower here, others by ScaleScores.
template <class Parts>
struct TileSoftmax {
  // The largest of old_max and the vectors of scores of [s, end), `rows` floats apart, which if it scales are to be
  // multiplied.
  template <size_t kAtOnce>
  FOVEA_INLINE VF MaxOfScores(const float* s, const float* end, size_t rows, VF old_max, bool scales, VF power) {
    const VF least = scales ? hn::Set(kF, -kInfinity) : old_max;
    VF max[4] = {least, least, least, least};
    for (const float* x = s; x != end; x += kAtOnce * rows) {
      FOVEA_EACH(i, kAtOnce) max[i] = hn::Max(max[i], hn::LoadU(kF, x + i * rows));
    }
    const VF all = kAtOnce == 1 ? max[0] : hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
    return scales ? hn::Max(old_max, hn::Mul(all, power)) : all;
  }
  FOVEA_INLINE MF IsHidden(const float* score) { return hn::Eq(hn::LoadU(kF, score), hn::Set(kF, -kInfinity)); }
  template <size_t n>
  FOVEA_INLINE void LoadShifted(const float* s, size_t rows, bool scales, VF power, VF shift, VF (&p)[n]) {
    FOVEA_EACH(i, n) {
      const VF x = hn::LoadU(kF, s + i * rows);
      p[i] = hn::Sub(scales ? hn::Mul(x, power) : x, shift);
    }
  }

  // For one vector of rows: takes the scores of [begin, end) into row_max and row_sum, and replaces them in s by
  // weights. With `hides`, scores of -inf become weights of -0: their sign tells Values which values must not be read.
  // If `packs`, does what PackWeights does, too.
  FOVEA_SECTION_OF(Parts)
  FOVEA_SHARED
      void SoftmaxTile(const QueryTile& t, const KeySpan& keys, size_t column, bool hides, bool packs = false) {
    const uint32_t begin = keys.begin, end = keys.end;
    constexpr size_t kAtOnce = AtOnce(hn::kRegisters > 8 ? 4 : 2);  // strands, whose vectors stay in registers
    const bool scales = Parts::kPacksWeights && packs;
    const size_t rows = t.columns;
    float* FOVEA_RESTRICT s = t.s + column;
    const VF minus_infinity = hn::Set(kF, -kInfinity);
    // Four strands, on a grid that starts with the tile: the order of the sum is the same for every begin and end.
    const uint32_t padded_end = (end + 3) & ~3u;
    for (uint32_t j = end; j < padded_end; ++j) hn::StoreU(minus_infinity, kF, s + j * rows);

    float *const s_begin = s + size_t(begin) * rows, *const s_end = s + size_t(padded_end) * rows;
    const VF old_max = hn::LoadU(kF, t.row_max + column);
    const VF power = Parts::ScorePower(t, column);
    VF new_max = MaxOfScores<kAtOnce>(s_begin, s_end, rows, old_max, scales, power);
    if (hides) new_max = MinusInfinityIfLowest(new_max);
    const VF shift = ShiftOf(new_max);

    VF sums[4];
    for (size_t strand = 0; strand < 4; strand += kAtOnce) {
      VF sum[kAtOnce];
      FOVEA_EACH(i, kAtOnce) sum[i] = hn::Zero(kF);
      float* row = s_begin + strand * rows;
      for (uint32_t j = begin; j < padded_end; j += 4, row += 4 * rows) {
        VF p[kAtOnce];
        LoadShifted(row, rows, scales, power, shift, p);
        Parts::WeightExp2(p);
        FOVEA_EACH(i, kAtOnce) {
          if (hides) p[i] = hn::IfThenElse(IsHidden(row + i * rows), hn::Set(kF, -0.0f), p[i]);
          if (scales) {
            Parts::StorePacked(p[i], row + i * rows, column);
          } else {
            hn::StoreU(p[i], kF, row + i * rows);
          }
          sum[i] = hn::Add(sum[i], p[i]);
        }
      }
      FOVEA_EACH(i, kAtOnce) sums[strand + i] = sum[i];
    }
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    const VF total = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    hn::StoreU(new_max, kF, t.row_max + column);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum + column), rescale, total), kF, t.row_sum + column);
    hn::StoreU(rescale, kF, t.rescale + column);
  }

  // Makes weights that nothing reads as floats. Whether it did.
  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    if constexpr (Parts::kPacksWeights) {
      if (hides) return false;
      FOVEA_UNROLL_BY(1)
      for (size_t c = column; c < column + kVectors * Parts::kProductLanes; c += kLanes)
        SoftmaxTile(t, keys, c, false, true);
    }
    return Parts::kPacksWeights;
  }
  template <int kVectors>
  FOVEA_INLINE void TakeOutZeros(const QueryTile&, const KeyTile&, size_t) {}
};

#endif  // FOVEA_SRC_ATTENTION_SOFTMAX_INL_
