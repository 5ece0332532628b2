// SPDX-License-Identifier: Apache-2.0
//
// bring.inl for smlad: the codes of two rows are interleaved, pair by pair.
//   keys    [key / 2][code / 2][2 keys][2 codes], the codes of each four in the order 0, 2, 1, 3
//   values  [key / 2][element][2 keys], for kPieceValues elements
// For a single row of queries, rows of bytes stay where they are.
#ifndef FOVEA_SRC_ATTENTION_I8_BRING_SMLAD_INL_
#define FOVEA_SRC_ATTENTION_I8_BRING_SMLAD_INL_

#include "core/attention/i8/bring.inl"
#include "ground/math/dot_block.inl"

template <class Dot>
struct I8Bring<Dot, kDotSmlad> {
  using Rows = CodedRows<Dot>;
  template <fovea_dtype kType>
  using Row = CodedRow<kType, Rows::kOneText>;
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

#endif  // FOVEA_SRC_ATTENTION_I8_BRING_SMLAD_INL_
