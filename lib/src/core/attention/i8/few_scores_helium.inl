// SPDX-License-Identifier: Apache-2.0
//
// The scores of few_rows.inl for Helium, whose sums are in general registers.
#ifndef FOVEA_SRC_ATTENTION_I8_FEW_SCORES_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_I8_FEW_SCORES_HELIUM_INL_

#include "core/attention/i8/few_rows.inl"

template <class Dot>
struct I8FewScores<Dot, kDotHelium> {
  using Few = I8FewCodes<Dot>;
  using Sum = typename Dot::Sum;
  using Bytes = typename Dot::Bytes;

  // Scores of fours of keys with 16 * kChunks elements, whose query codes stay in registers.
  template <int kChunks>
  FOVEA_CALLED_TEMPLATE void ScoresOfChunks(const int8_t* x, const int8_t* row, ptrdiff_t stride, uint32_t fours,
                                            const float* key_scale, VF query_scale, float* s) {
    Bytes q[kChunks];
    FOVEA_EACH(c, kChunks) q[c] = Dot::LoadBytes(x + 16 * c);
    for (; fours > 0; --fours) {
      Sum sums[4];
      FOVEA_UNROLL(4)
      for (int k = 0; k < 4; ++k, row += stride) {
        FOVEA_OPAQUE(row);  // else each key has an address of its own, of two instructions
        sums[k] = Dot::Dot(q[0], Dot::LoadBytes(row));
        FOVEA_UNROLL(4)
        for (int c = 1; c < kChunks; ++c) sums[k] = Dot::DotAdd(q[c], Dot::LoadBytes(row + 16 * c), sums[k]);
      }
      const VF products = hn::Mul(Dot::ToFloat(sums[0], sums[1], sums[2], sums[3]), hn::NextVector(key_scale));
      hn::StoreNext(hn::Mul(products, query_scale), s);
    }
  }

  // Scores of a row alone with whole fours of keys; returns the first key that has none yet. A separate loop: it has no
  // registers for anything else.
  FOVEA_SECTION_OF(Dot) FOVEA_CALLED uint32_t FewScoresOfFours(const QueryTile& t, const KeyTile& keys) {
    const int8_t* const x = Few::FewQueryCodes(t);
    const size_t dim = t.head_dim;
    const ptrdiff_t stride = keys.keys.stride, skip = 4 * stride - ptrdiff_t(round_up(dim, 16));
    const int8_t* const row = CodesOfRow(keys.keys, keys.begin);
    const int8_t* at[4] = {row, row + stride, row + 2 * stride, row + 3 * stride};
    const uint32_t count = (keys.end - keys.begin) / 4 * 4;
    const float *key_scale = keys.numbers().key_scale + keys.begin, *const end = key_scale + count;
    const VF query_scale = hn::LoadU(kF, query_scales(t));
    float* s = BlockScores<1>(t, keys, keys.begin);
    if (dim == 32 || dim == 64) {
      const auto scores = dim == 32 ? ScoresOfChunks<2> : ScoresOfChunks<4>;
      scores(x, row, stride, count / 4, key_scale, query_scale, s);
      return keys.begin + count;
    }
    for (; key_scale != end; key_scale += 4, s += 4) {
      Sum sums[4] = {};
      Dot::AddFourRows(x, at, dim, sums);
      FOVEA_UNROLL(4)
      for (const int8_t*& p : at) p += skip;
      const VF products = hn::Mul(Dot::ToFloat(sums[0], sums[1], sums[2], sums[3]), hn::LoadU(kF, key_scale));
      hn::StoreU(hn::Mul(products, query_scale), kF, s);
    }
    return keys.begin + count;
  }

  template <int kRows, bool>
  FOVEA_TEMPLATE void FewScores(const QueryTile& t, const KeyTile& keys) {
    constexpr uint32_t kKeys = FewBlock<kRows>::kKeys;
    const size_t steps = t.head_dim / 16, rest = t.head_dim % 16;
    const ptrdiff_t stride = keys.keys.stride;
    const uint32_t begin = kRows == 1 && !kSmallText ? FewScoresOfFours(t, keys) : keys.begin, end = keys.end;
    const int8_t* row = CodesOfRow(keys.keys, begin);
    const float* key_scale = keys.numbers().key_scale + begin;
    const VF query_scale = hn::LoadU(kF, query_scales(t));
    float* s = BlockScores<kRows>(t, keys, begin);
    for (uint32_t j = begin; j < end; j += kKeys, row += kKeys * stride, key_scale += kKeys, s += kLanes) {
      const int8_t *x = Few::FewQueryCodes(t), *at[kKeys] = {row};
      FOVEA_UNROLL(4)
      for (uint32_t k = 1; k < kKeys; ++k)
        at[k] = j + k < end ? at[k - 1] + stride : at[k - 1];  // or the last one again
      Sum sums[kLanes] = {};
      const auto add = [&](auto load) __attribute__((always_inline)) {
        Bytes q[kRows];
        FOVEA_EACH(r, kRows) q[r] = Dot::NextBytes(x);
        FOVEA_EACH(k, kKeys) {
          const Bytes e = load(at[k]);
          FOVEA_EACH(r, kRows) sums[r * kKeys + k] = Dot::DotAdd(q[r], e, sums[r * kKeys + k]);
        }
      };
      for (size_t left = steps; left > 0; --left) add([](const int8_t*& p) { return Dot::NextBytes(p); });
      if (rest > 0) add([rest](const int8_t*& p) { return Dot::LoadSomeBytes(p, rest); });
      const VF products =
          hn::Mul(Dot::ToFloat(sums[0], sums[1], sums[2], sums[3]), Dot::template LoadForEachRow<kRows>(key_scale));
      const VF scores = hn::Mul(products, query_scale);
      if (j + kKeys > end) return StoreFewScores<kRows>(t, keys, j, scores);
      hn::StoreU(scores, kF, s);
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_FEW_SCORES_HELIUM_INL_
