// SPDX-License-Identifier: Apache-2.0
//
// What integer products do in another way by smlad.
#ifndef FOVEA_SRC_ATTENTION_I8_OWN_SMLAD_INL_
#define FOVEA_SRC_ATTENTION_I8_OWN_SMLAD_INL_

#include "core/attention/i8/bring.inl"
#include "core/attention/i8/products.inl"
#include "core/attention/i8/softmax.inl"
#include "core/attention/i8/whole_block.inl"
#include "ground/math/dot_block.inl"

// The codes of two rows are interleaved, pair by pair.
//   keys    [key / 2][code / 2][2 keys][2 codes], the codes of each four in the order 0, 2, 1, 3
//   values  [key / 2][element][2 keys], for kPieceValues elements
// For a single row of queries, rows of bytes stay where they are.
template <class Dot>
struct I8Bring<Dot, kDotSmlad> {
  using Rows = CodedRows<Dot>;
  template <fovea_dtype kType>
  using Row = typename Rows::template Row<kType>;
  using Pair = typename Dot::Pair;
  static constexpr size_t kReads = Dot::kReads, kPieceValues = DotBlock<Dot>::kPieceValues;

  // Where the codes of key r.at + i begin.
  FOVEA_INLINE Pair* PlaceOfKey(const RowsToBring& r, uint32_t i) {
    const uint32_t done = r.at - r.begin, row = done + i;
    int16_t* const first = static_cast<int16_t*>(r.to) - done * round_up(r.dim, kReads);
    return reinterpret_cast<Pair*>(first + row / 2 * 2 * round_up(r.dim, kReads)) + row % 2;
  }

  FOVEA_INLINE void PutKeys(const RowsToBring& r) {
    const int8_t* row = static_cast<const int8_t*>(r.rows.data);
    for (uint32_t i = 0; i < r.count;) {
      Pair* const to = PlaceOfKey(r, i);
      if ((r.at - r.begin + i) % 2 == 0 && i + 1 < r.count) {
        Dot::PutTwoKeys(row, row + r.rows.stride, r.dim, to);
        row += 2 * r.rows.stride;
        i += 2;
      } else {
        Dot::PutKey(row, r.dim, to);
        row += r.rows.stride;
        i += 1;
      }
    }
  }

  // Notes the scales of keys of i8, which are stored apart from their codes.
  FOVEA_INLINE void NoteScalesOfKeys(const RowsToBring& r) {
    const float* scale = static_cast<const float*>(*r.rows.scales);
    float* to = r.numbers->key_scale + r.at;
    uint32_t left = r.count;
    for (; r.rows.scale_stride == 1 && left >= 4; left -= 4, scale += 4, to += 4) {
      VF four[4];
      Dot::LoadVectors(scale, four);
      FOVEA_UNROLL(4)
      for (VF& of_key : four) of_key = FiniteOrNaN(of_key);
      Dot::StoreVectors(four, to);
    }
    for (; left > 0; --left, scale += r.rows.scale_stride) hn::StoreU(FiniteOrNaN(hn::LoadU(kF, scale)), kF, to++);
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void BringKeysOf(const RowsToBring& r) {
    if constexpr (kType == FOVEA_I8 && !kSmallText) {
      NoteScalesOfKeys(r);
      if (r.to) PutKeys(r);
      return;
    }
    for (uint32_t i = 0; i < r.count; ++i) {
      const Row<kType> row = Rows::template CodedRowOf<kType>(r, i);
      NoteKeyScale(r, r.at + i, row.Scale());
      if constexpr (kType == FOVEA_I8) continue;
      int16_t* const to = reinterpret_cast<int16_t*>(PlaceOfKey(r, i));
      for (size_t d = 0; d < round_up(r.dim, kReads); ++d) {
        const size_t place = Dot::PlaceOf(d);
        Dot::StoreCodes(row.Codes(d, d < r.dim), to + place / 2 * 4 + place % 2, 1);
      }
    }
    if (kType == FOVEA_I8 && r.to) PutKeys(r);
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void BringKeys(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, BringKeysOf<kType>(r));
  }

  FOVEA_INLINE void PutValues(const RowsToBring& r) {
    const int8_t* row = static_cast<const int8_t*>(r.rows.data) + r.element;
    int16_t* to = static_cast<int16_t*>(r.to) + r.at / 2 * 2 * kPieceValues;
    for (uint32_t i = 0; i < r.count;) {
      if ((r.at + i) % 2 == 0 && i + 1 < r.count) {
        Dot::PutTwoValues(row, row + r.rows.stride, r.elements, reinterpret_cast<Pair*>(to));
        row += 2 * r.rows.stride;
        i += 2;
      } else {
        for (size_t e = 0; e < r.elements; ++e) to[2 * e + (r.at + i) % 2] = row[e];
        row += r.rows.stride;
        i += 1;
      }
      to += 2 * kPieceValues;
    }
  }

  // Notes the scales of rows of i8, which are stored apart from their codes.
  FOVEA_INLINE void NoteScalesOfValues(const RowsToBring& r) {
    if (r.element > 0) return;
    const float* const scales = static_cast<const float*>(*r.rows.scales);
    const ptrdiff_t stride = r.rows.scale_stride;
    float* const to = r.numbers->value_scale + r.at;
    const uint32_t count = r.count;
    uint32_t most = 0;  // compared as bits: the bits of negative numbers are the largest
    uint32_t i = 0;
    for (; !kSmallText && stride == 1 && count - i >= 4; i += 4) {
      VF four[4];
      Dot::LoadVectors(scales + i, four);
      Dot::StoreVectors(four, to + i);
      FOVEA_UNROLL(4)
      for (const VF& of_value : four) {
        const uint32_t bits = uint32_t(hn::BitCast(kI, of_value).raw);
        most = bits > most ? bits : most;
      }
    }
    for (; i < count; ++i) {
      to[i] = scales[ptrdiff_t(i) * stride];
      uint32_t bits;
      __builtin_memcpy(&bits, &to[i], sizeof bits);
      most = bits > most ? bits : most;
    }
    if (most < 0x7f800000u && !r.numbers->any_nan) return;
    for (i = 0; i < count; ++i) NoteValueScale(r, r.at + i, scales[ptrdiff_t(i) * stride]);
  }

  template <fovea_dtype kType>
  FOVEA_INLINE void BringValuesOf(const RowsToBring& r) {
    if (r.at == r.begin && r.element == 0) BeginValueScales(r);
    if constexpr (kType == FOVEA_I8) {
      NoteScalesOfValues(r);
      if (r.to) PutValues(r);
      return;
    }
    for (uint32_t i = 0; i < r.count; ++i) {
      const Row<kType> row = Rows::template CodedRowOf<kType>(r, i);
      const uint32_t key = r.at + i;
      NoteValueScale(r, key, row.Scale());
      int16_t* const to = static_cast<int16_t*>(r.to) + key / 2 * 2 * kPieceValues + key % 2;
      for (size_t e = 0; e < r.elements; ++e) Dot::StoreCodes(row.Codes(r.element + e, 1), to + 2 * e, 1);
    }
  }
  FOVEA_SECTION_OF(Dot) FOVEA_KERNEL void BringValues(const RowsToBring& r) {
    FOVEA_WITH_FORMAT(Rows::kCodedTexts, r.rows.dtype, BringValuesOf<kType>(r));
  }
};

// Sums are stored in `s` until they become floats.
template <class Dot>
struct I8Products<Dot, kDotSmlad> {
  using Block = DotBlock<Dot>;
  using Codes = I8Codes<Dot>;
  using RowCode = typename Dot::RowCode;
  using Sum = typename Dot::Sum;
  using Pair = typename Dot::Pair;
  static constexpr size_t kGroup = Dot::kGroup, kReads = Dot::kReads, kPieceValues = Block::kPieceValues;

  // sums[row][column] = columns of n pairs times rows, for register blocks of two rows that are `next` pairs apart. A
  // separate function: inlined, g++ 12 has no registers left for the sums.
  template <int kStep, int kVectors>
  FOVEA_CALLED_TEMPLATE void MultiplyBlocks(const Pair* x, size_t columns, const Pair* rows, size_t n, ptrdiff_t next,
                                            size_t blocks, Sum* sums) {
    constexpr int kUnroll = AtOnce(8);
    if constexpr (kVectors == Dot::kBlockVectors) {  // a whole tile's columns are adjacent
      const ptrdiff_t skip = next * ptrdiff_t(sizeof *rows) - kStep * ptrdiff_t(n);
      return Dot::template MultiplyFourColumns<kStep, kUnroll>(x, rows, n, skip, sums, sums + 8 * blocks);
    }
    for (; blocks > 0; --blocks, rows += next, sums += 2 * columns) {
      const Pair *at = x, *row = rows;
      Sum of_block[2][kVectors] = {};
      size_t left = n;
      for (; left >= kUnroll; left -= kUnroll) {
        FOVEA_EACH(i, kUnroll) Block::template AddPairs<kStep>(at, columns, row, of_block);
      }
      for (; left > 0; --left) Block::template AddPairs<kStep>(at, columns, row, of_block);
      FOVEA_EACH(k, 2) {
        FOVEA_EACH(v, kVectors) sums[size_t(k) * columns + v] = of_block[k][v];
      }
    }
  }

  FOVEA_INLINE const Pair* Pairs(const void* codes) { return static_cast<const Pair*>(codes); }
  FOVEA_INLINE Sum* Sums(float* s) { return reinterpret_cast<Sum*>(s); }
  FOVEA_INLINE VF LoadSum(const float* s) { return Dot::ToFloat(hn::LoadU(kF, s)); }

  // Whether rows of bytes are read as they are stored, for a single row of queries. Rows that were brought have no
  // scales.
  FOVEA_INLINE bool IsInPlace(const KeyRows& rows) { return rows.scales; }

  // Adds up to three codes of four rows.
  FOVEA_INLINE void AddRestOfRows(const Pair* x, const int8_t* row, ptrdiff_t stride, size_t n, Sum (&sums)[4]) {
    FOVEA_UNROLL(4)
    for (int k = 0; k < 4; ++k, row += stride) {
      const uint32_t bytes = Dot::FourBytes(row, n);
      sums[k] = Dot::AddPair(Dot::EvenBytes(bytes), x[0], sums[k]);
      sums[k] = Dot::AddPair(Dot::OddBytes(bytes), x[1], sums[k]);
    }
  }

  // Scores of fours of keys, of kUnroll fours of codes a round. A separate loop: it has no registers for anything else.
  template <int kUnroll>
  FOVEA_CALLED_TEMPLATE void ScoresOfFours(const Pair* x, const int8_t* row, ptrdiff_t stride, size_t rounds,
                                           uint32_t count, const float* key_scale, VF query_scale, float* s) {
    for (; count > 0; --count, row += 4 * stride) {
      Sum sums[4] = {};
      Dot::template AddFourRows<4, kUnroll>(x, row, stride, rounds, sums);
      Dot::StoreRowScores(sums, key_scale, query_scale, s);
    }
  }
  // Those of whole fours of codes; returns the first key that has none yet.
  FOVEA_INLINE uint32_t ScoresInPlace(const QueryTile& t, const KeyTile& keys) {
    const uint32_t count = (keys.end - keys.begin) / 4;
    if (kSmallText || t.head_dim % 4 != 0) return keys.begin;
    const Pair* const x = Pairs(Codes::Queries(t));
    const ptrdiff_t stride = keys.keys.stride;
    const int8_t* const row = static_cast<const int8_t*>(keys.keys.data) + ptrdiff_t(keys.begin) * stride;
    const float* const key_scale = keys.numbers().key_scale + keys.begin;
    const VF query_scale = hn::LoadU(kF, query_scales(t));
    if (t.head_dim % 16 == 0) {
      ScoresOfFours<4>(x, row, stride, t.head_dim / 16, count, key_scale, query_scale, t.s + keys.begin);
    } else {
      ScoresOfFours<1>(x, row, stride, t.head_dim / 4, count, key_scale, query_scale, t.s + keys.begin);
    }
    return keys.begin + 4 * count;
  }

  // Stores sums of products, or where speed counts scores.
  FOVEA_SECTION_OF(Dot) FOVEA_CALLED void MultiplyKeysInPlace(const QueryTile& t, const KeyTile& keys) {
    const size_t fours = t.head_dim / 4, rest = t.head_dim % 4;
    const Pair* const x = Pairs(Codes::Queries(t));
    const ptrdiff_t stride = keys.keys.stride;
    const uint32_t begin = ScoresInPlace(t, keys);
    const int8_t* row = static_cast<const int8_t*>(keys.keys.data) + ptrdiff_t(begin) * stride;
    const float* key_scale = keys.numbers().key_scale + begin;
    float* s = t.s + begin;
    for (uint32_t left = keys.end - begin; left > 0;) {
      const uint32_t count = left < 4 ? 1 : 4;  // one that is left is read as four: there is room after the scores
      Sum sums[4] = {};
      if (fours > 0) Dot::AddFourRows(x, row, count == 4 ? stride : 0, fours, sums);
      if (rest > 0) AddRestOfRows(x + 2 * fours, row + 4 * fours, count == 4 ? stride : 0, rest, sums);
      __builtin_memcpy(s, sums, sizeof sums);
      for (uint32_t k = 0; !kSmallText && k < count; ++k) {
        const VF product = hn::MulSet(Dot::ToFloat(sums[k]), *key_scale++);
        hn::StoreU(hn::Mul(product, hn::LoadU(kF, query_scales(t))), kF, s + k);
      }
      s += count;
      row += ptrdiff_t(count) * stride;
      left -= count;
    }
  }

  // Sums of the fours of elements from `value` on, of kUnroll fours of keys a round.
  template <int kUnroll>
  FOVEA_CALLED_TEMPLATE void SumsOfFours(const Pair* weights, const int8_t* value, ptrdiff_t stride, size_t rounds,
                                         size_t count, Sum* to) {
    for (; count > 0; --count, value += 4, to += 4) {
      const Pair* x = weights;
      const int8_t* at = value;
      Sum sums[4] = {};
      Dot::template AddFourElements<4, kUnroll>(x, at, stride, rounds, sums);
      __builtin_memcpy(to, sums, sizeof sums);
    }
  }

  // Those of whole fours of keys; returns the first element that has none yet.
  FOVEA_INLINE size_t SumsInPlace(const QueryTile& t, const KeyTile& keys, size_t element, size_t count) {
    const uint32_t first = keys.begin / kGroup * kGroup, read = keys.end - first;
    if (kSmallText || read % 4 != 0) return 0;
    const ptrdiff_t stride = keys.values.stride;
    const Pair* const x = Pairs(Codes::Weights(t)) + first / kGroup;
    const int8_t* const value = static_cast<const int8_t*>(keys.values.data) + ptrdiff_t(first) * stride + element;
    if (read % 16 == 0) {
      SumsOfFours<4>(x, value, stride, read / 16, count / 4, Sums(t.s));
    } else {
      SumsOfFours<1>(x, value, stride, read / 4, count / 4, Sums(t.s));
    }
    return count / 4 * 4;
  }

  // For `count` elements of the values, from `element` on.
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void MultiplyValuesInPlace(const QueryTile& t, const KeyTile& keys, size_t element, size_t count) {
    const ptrdiff_t stride = keys.values.stride;
    const uint32_t first = keys.begin / kGroup * kGroup;
    for (size_t e = SumsInPlace(t, keys, element, count); e < count; e += 4) {
      const size_t n = count - e < 4 ? count - e : 4;
      const int8_t* value = static_cast<const int8_t*>(keys.values.data) + ptrdiff_t(first) * stride + element + e;
      const Pair* x = Pairs(Codes::Weights(t)) + first / kGroup;
      uint32_t left = keys.end - first;
      Sum sums[4] = {};
      if (n == 4 && left >= 4) Dot::AddFourElements(x, value, stride, left / 4, sums), left %= 4;
      for (; left > 0; left -= left < 2 ? 1 : 2, value += 2 * stride, ++x) {
        const uint32_t a = Dot::FourBytes(value, n), b = left < 2 ? 0 : Dot::FourBytes(value + stride, n);
        const uint32_t low = Dot::LowHalves(a, b), high = Dot::HighHalves(a, b);
        sums[0] = Dot::AddPair(Dot::EvenBytes(low), *x, sums[0]);
        sums[1] = Dot::AddPair(Dot::OddBytes(low), *x, sums[1]);
        sums[2] = Dot::AddPair(Dot::EvenBytes(high), *x, sums[2]);
        sums[3] = Dot::AddPair(Dot::OddBytes(high), *x, sums[3]);
      }
      __builtin_memcpy(t.s + e, sums, sizeof sums);
    }
  }

  // Like ValuesOfVectors called where size counts: Attend and ScoresOut have the same code, and score steps are not
  // called with its registers on the stack.
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns, pairs = round_up(t.head_dim, kReads) / kGroup;
    const uint32_t count = keys.end - keys.begin;
    float* s = t.s + size_t(keys.begin) * columns + column;
    const char* const rows = static_cast<const char*>(keys.keys.data) + ptrdiff_t(keys.begin) * keys.keys.stride;
    if (kVectors == 1 && IsInPlace(keys.keys)) {
      MultiplyKeysInPlace(t, keys);
      if (!kSmallText) return;
    } else {
      MultiplyBlocks<8, kVectors>(Pairs(Codes::Queries(t) + column * kGroup), columns, Pairs(rows), pairs,
                                  ptrdiff_t(2 * pairs), (count + 1) / 2, Sums(s));
    }
    const float* key_scale = keys.numbers().key_scale + keys.begin;
    VF query_scale[kVectors];
    FOVEA_EACH(v, kVectors) query_scale[v] = hn::LoadU(kF, query_scales(t) + column + v);
    for (const float* const end = key_scale + count; key_scale != end; ++key_scale) {
      if constexpr (kVectors == Dot::kBlockVectors) {
        Dot::ScaleFour(s, *key_scale, query_scale);
      } else {
        FOVEA_EACH(v, kVectors) {
          hn::StoreU(hn::Mul(hn::MulSet(LoadSum(s + v), *key_scale), query_scale[v]), kF, s + v);
        }
        s += columns;
      }
    }
  }

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e].
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void ValuesOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns, first = keys.begin / kGroup, pairs = (keys.end + kGroup - 1) / kGroup - first;
    const RowCode* const values = static_cast<const RowCode*>(keys.values.data) + first * kPieceValues * kGroup;
    VF rescale[kVectors], factor[kVectors];
    FOVEA_EACH(v, kVectors) {
      rescale[v] = hn::LoadU(kF, t.rescale + column + v);
      factor[v] = hn::LoadU(kF, value_factors(t) + column + v);
    }
    float* o = t.o + column;
    for (size_t element = 0; element < t.value_dim; element += kKeyTile) {
      size_t left = t.value_dim - element < kKeyTile ? t.value_dim - element : kKeyTile;
      const float* sums = t.s + column;
      if (kVectors == 1 && IsInPlace(keys.values)) {
        MultiplyValuesInPlace(t, keys, element, left);
      } else {
        MultiplyBlocks<kPieceValues * 4, kVectors>(Pairs(Codes::Weights(t) + (first * columns + column) * kGroup),
                                                   columns, Pairs(values), pairs, 2, (left + 1) / 2,
                                                   Sums(t.s + column));
      }
      if constexpr (kVectors == 1 && !kSmallText) {
        const VF rescales[4] = {rescale[0], rescale[0], rescale[0], rescale[0]};
        const VF factors[4] = {factor[0], factor[0], factor[0], factor[0]};
        for (; columns == 1 && left >= 4; left -= 4) Dot::JoinFour(sums, o, rescales, factors);
      }
      for (; left > 0; --left) {
        if constexpr (kVectors == Dot::kBlockVectors) {
          Dot::JoinFour(sums, o, rescale, factor);
        } else {
          FOVEA_EACH(v, kVectors) {
            const VF old = hn::Mul(hn::LoadU(kF, o + v), rescale[v]);
            hn::StoreU(hn::Add(old, hn::Mul(LoadSum(sums + v), factor[v])), kF, o + v);
          }
          sums += columns;
          o += columns;
        }
      }
    }
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    ValuesOfVectors<kVectors>(t, keys, column);
  }
};

// whole_block.inl, and the same for a tile of one row on a target of one lane: there the scores of four keys are
// adjacent. Four keys that follow one another belong to four strands.
template <class Dot>
struct I8Whole<Dot, kDotSmlad> {
  using Block = WholeBlock<Dot>;
  using Codes = I8Codes<Dot>;
  using Code = typename Dot::Code;

  // Weighs the keys of four strands, 16 apart. Returns the sum of their weights.
  FOVEA_INLINE VF WeighFourStrands(float* s, const float* scales, VF shift, VF (&top)[4]) {
    const VF shifts[4] = {shift, shift, shift, shift};
    VF sums[4];
    SetAll(sums, hn::Zero(kF));
    for (const float* const end = scales + kKeyTile; scales != end; s += 16, scales += 16) {
      VF scale[4];
      FOVEA_EACH(k, 4) scale[k] = hn::LoadU(kF, scales + k);
      Block::WeighAdjacent(s, scale, shifts, top, sums, false);
    }
    return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  }

  FOVEA_SECTION_OF(Dot) FOVEA_CALLED void WeighWholeRow(const QueryTile& t, const KeyTile& keys) {
    const VF old_max = hn::LoadU(kF, t.row_max);
    VF max[4] = {old_max, old_max, old_max, old_max};
    const float* s = t.s;
    FOVEA_UNROLL_LONG_LOOP(2)
    for (uint32_t j = 0; j < kKeyTile; j += 4) Dot::MaxOfNext(s, max);
    max[0] = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
    const VF shift = ShiftOf(max[0]);
    VF top[4];
    SetAll(top, hn::Set(kF, kLeastTop));
    float quarters[4];
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      const size_t first = 4 * quarter;
      hn::StoreU(WeighFourStrands(t.s + first, keys.numbers().value_scale + first, shift, top), kF, quarters + quarter);
    }
    top[0] = hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]));
    VF of_quarter[4], total;
    Dot::LoadVectors(quarters, of_quarter);
    total = hn::Add(hn::Add(of_quarter[0], of_quarter[1]), hn::Add(of_quarter[2], of_quarter[3]));
    const VF rescale = Exp2(hn::Sub(old_max, shift));
    hn::StoreU(max[0], kF, t.row_max);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum), rescale, total), kF, t.row_sum);
    hn::StoreU(rescale, kF, t.rescale);
    hn::StoreU(hn::MulSet(top[0], 1.0f / 255), kF, value_factors(t));
    const VF inverse = hn::Div(hn::Set(kF, 255.0f), top[0]);
    if (HasZero(keys)) NoteZero(t, keys, 0, inverse, true);
    const float* weights = t.s;
    Code* const codes = Codes::Weights(t);
    FOVEA_UNROLL_LONG_LOOP(4)
    for (uint32_t j = 0; j < kKeyTile; j += 4) Dot::StoreRowWeights(weights, inverse, codes + j);
  }

  template <int kVectors>
  FOVEA_INLINE bool WeighBlock(const QueryTile& t, const KeyTile& keys, size_t column, bool hides) {
    if constexpr (kVectors > 1) {
      return Block::template WeighBlock<kVectors>(t, keys, column, hides);
    } else {
      if (kSmallText || t.columns != 1 || !Block::IsWhole(keys)) return false;
      WeighWholeRow(t, keys);
      return true;
    }
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_OWN_SMLAD_INL_
