// SPDX-License-Identifier: Apache-2.0
//
// What integer products do in another way on Helium, whose sums are in general registers.
#ifndef FOVEA_SRC_ATTENTION_I8_OWN_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_I8_OWN_HELIUM_INL_

#include "core/attention/i8/few_rows.inl"
#include "core/attention/i8/products.inl"
#include "core/attention/i8/softmax.inl"
#include "ground/math/dot_chunks_helium.inl"

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

template <class Dot>
struct I8Products<Dot, kDotHelium> {
  using Codes = I8Codes<Dot>;
  using Bytes = typename Dot::Bytes;

  // The sums are stored in `s` until they become floats.
  FOVEA_INLINE int32_t* Sums(const QueryTile& t) { return reinterpret_cast<int32_t*>(t.s); }

  // Like ValuesOfVectors called where size counts: Attend and ScoresOut have the same code, and score steps are not
  // called with its registers on the stack.
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns;
    const int8_t* const rows = static_cast<const int8_t*>(keys.keys.data) + ptrdiff_t(keys.begin) * keys.keys.stride;
    int32_t* const sums = Sums(t) + size_t(keys.begin) * columns + column;
    FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows(Codes::Queries(t) + 16 * column, columns, rows,
                                                        keys.keys.stride, keys.end - keys.begin, t.head_dim, false,
                                                        sums, kVectors * kLanes);
    VF query_scale[kVectors];
    FOVEA_EACH(v, kVectors) query_scale[v] = hn::LoadU(kF, query_scales(t) + column + v * kLanes);
    float* s = t.s + size_t(keys.begin) * columns + column;
    const float* key_scale = keys.numbers().key_scale + keys.begin;
    for (uint32_t left = keys.end - keys.begin; left > 0; --left, s += columns, ++key_scale) {
      const float scale = *key_scale;
      FOVEA_EACH(v, kVectors) {
        const VF scaled = hn::MulSet(Dot::ToFloat(reinterpret_cast<const int32_t*>(s + v * kLanes)), scale);
        hn::StoreU(hn::Mul(scaled, query_scale[v]), kF, s + v * kLanes);
      }
    }
  }

  // A cursor over elements of packed values.
  struct ValueCursor {
    const int8_t* group[4];
    template <int kChunk>
    FOVEA_MEMBER Bytes Load() {
      return Dot::NextBytes(group[kChunk]);
    }
    FOVEA_MEMBER void Next() {}
  };
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void MultiplyValues(const QueryTile& t, const KeyTile& keys, size_t column, size_t element,
                                   uint32_t count, size_t wanted) {
    const size_t columns = t.columns, group = padded_values(t.value_dim) * 16;
    const size_t first = keys.numbers().begin / 16, end = (keys.numbers().end + 15) / 16;
    const int8_t* const x = Codes::Weights(t) + (first * columns + column) * 16;
    const int8_t* const values = static_cast<const int8_t*>(keys.values.data) + first * group + element * 16;
    const ValueCursor rows = {{values, values + group, values + 2 * group, values + 3 * group}};
    int32_t* const sums = Sums(t) + column;
    if (end - first == 1) return MultiplyChunks<1, false>(x, columns, rows, count, sums, wanted);
    if (end - first == 2) return MultiplyChunks<2, false>(x, columns, rows, count, sums, wanted);
    if (end - first == 3) return MultiplyChunks<3, false>(x, columns, rows, count, sums, wanted);
    MultiplyChunks<4, false>(x, columns, rows, count, sums, wanted);
  }

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e].
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void ValuesOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns;
    VF rescale[kVectors], factor[kVectors];
    FOVEA_EACH(v, kVectors) {
      rescale[v] = hn::LoadU(kF, t.rescale + column + v * kLanes);
      factor[v] = hn::LoadU(kF, value_factors(t) + column + v * kLanes);
    }
    float* o = t.o + column;
    for (size_t element = 0; element < t.value_dim; element += kKeyTile) {
      const uint32_t count = t.value_dim - element < kKeyTile ? uint32_t(t.value_dim - element) : kKeyTile;
      MultiplyValues(t, keys, column, element, count, kVectors * kLanes);
      const int32_t *sums = Sums(t) + column, *start = keys.numbers().value_start + element;
      for (uint32_t left = count; left > 0; --left, sums += columns, o += columns, ++start) {
        const int32_t begin = *start;
        FOVEA_EACH(v, kVectors) {
          const VF sum = Dot::ToFloat(sums + v * kLanes, begin);
          const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale[v]);
          hn::StoreU(hn::Add(old, hn::Mul(sum, factor[v])), kF, o + v * kLanes);
        }
      }
    }
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    ValuesOfVectors<kVectors>(t, keys, column);
  }
};

// For a whole key tile, with nothing hidden or dropped and all scales finite: there is no test for each key. What is stored
// is weights times the scales of their values.
template <class Dot>
struct I8Whole<Dot, kDotHelium> {
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;
  static constexpr size_t kGroup = Dot::kGroup;

  // Weights of the keys of one strand, 16 apart. Returns their sum. Two base addresses keep the offset of each load in
  // range.
  FOVEA_INLINE VF WeighStrand(float* s, size_t columns, const float* scales, VF shift, VF& top) {
    float *low = s + 8 * columns, *high = s + 40 * columns;
    FOVEA_OPAQUE(low);
    FOVEA_OPAQUE(high);
    VF sum = hn::Zero(kF);
    FOVEA_EACH(k, 4) {
      float* const at = (k < 2 ? low : high) + (k % 2 ? 8 : -8) * ptrdiff_t(columns);
      VF p[1] = {hn::Sub(hn::LoadU(kF, at), shift)};
      ShortExp2(p);
      sum = k == 0 ? p[0] : hn::Add(sum, p[0]);
      const VF weight = hn::MulSet(p[0], scales[16 * k]);
      hn::StoreU(weight, kF, at);
      top = hn::Max(top, weight);
    }
    return sum;
  }

  // The sum of four vectors, as SoftmaxTile adds strands.
  FOVEA_INLINE VF AddFour(const float* v) {
    const VF low = hn::Add(hn::LoadU(kF, v), hn::LoadU(kF, v + kLanes));
    return hn::Add(low, hn::Add(hn::LoadU(kF, v + 2 * kLanes), hn::LoadU(kF, v + 3 * kLanes)));
  }

  FOVEA_INLINE void WeighWhole(const QueryTile& t, const KeyTile& keys, size_t column) {
    const I8Numbers& numbers = keys.numbers();
    const size_t columns = t.columns;
    float* const s = t.s + column;
    const VF old_max = hn::LoadU(kF, t.row_max + column);
    VF max[2] = {old_max, old_max};
    const float* x = s;
    for (uint32_t j = 0; j < kKeyTile; j += 8, x += 8 * columns) {
      FOVEA_EACH(i, 8) max[i % 2] = hn::Max(max[i % 2], hn::LoadU(kF, x + i * columns));
    }
    max[0] = hn::Max(max[0], max[1]);
    const VF shift = ShiftOf(max[0]);
    VF top = hn::Set(kF, kLeastTop);
    float strands[16 * kLanes];
    for (size_t i = 0; i < 16; ++i) {
      hn::StoreU(WeighStrand(s + i * columns, columns, numbers.value_scale + i, shift, top), kF, strands + i * kLanes);
    }
    for (size_t i = 0; i < 4; ++i) hn::StoreU(AddFour(strands + 4 * i * kLanes), kF, strands + i * kLanes);
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max[0], kF, t.row_max + column);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum + column), rescale, AddFour(strands)), kF, t.row_sum + column);
    hn::StoreU(rescale, kF, t.rescale + column);
    hn::StoreU(hn::MulSet(top, 1.0f / 255), kF, value_factors(t) + column);
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top);
    if (HasZero(keys)) NoteZero(t, keys, column, inverse, true);
    const float* weights = s;
    Code* to = Codes::Weights(t) + column * kGroup;
    for (uint32_t g = 0; g < kKeyTile / kGroup; ++g, to += columns * kGroup) {
      for (size_t k = 0; k < kGroup; k += 4) Dot::StoreWeights(weights, columns, inverse, to + k);
    }
  }

  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool) {
    if (kSmallText || keys.begin != 0 || keys.end != kKeyTile || keys.numbers().any_nan) return false;
    for (int v = 0; v < kVectors; ++v) WeighWhole(t, keys, column + v * kLanes);
    return true;
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_OWN_HELIUM_INL_
