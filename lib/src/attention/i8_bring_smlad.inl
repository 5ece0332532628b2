// SPDX-License-Identifier: Apache-2.0
//
// What i8_bring.inl does, for smlad: codes of two rows lie pair by pair next to each other.
//   keys    [key / 2][code / 2][2 keys][2 codes], the codes of each four in the order 0, 2, 1, 3
//   values  [key / 2][element][2 keys], for kPieceValues elements

// Up to four bytes, and zeros.
FOVEA_INLINE uint32_t FourBytes(const int8_t* p, size_t n = 4) {
  uint32_t bytes = 0;
  __builtin_memcpy(&bytes, p, n);
  return bytes;
}

// A row whose pairs lie two words apart.
FOVEA_INLINE void PutKey(const int8_t* row, size_t dim, dot::Pair* to) {
  for (size_t d = 0; d < dim; d += 4, row += 4, to += 4) {
    const uint32_t four = FourBytes(row, dim - d < 4 ? dim - d : 4);
    to[0] = dot::EvenBytes(four);
    to[2] = dot::OddBytes(four);
  }
}
FOVEA_INLINE void PutTwoKeys(const int8_t* a, const int8_t* b, size_t dim, dot::Pair* to) {
  size_t left = dim;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; left >= 4; left -= 4, a += 4, b += 4) {
    const uint32_t of_a = FourBytes(a), of_b = FourBytes(b);
    dot::StoreTwo(dot::EvenBytes(of_a), dot::EvenBytes(of_b), to);
    dot::StoreTwo(dot::OddBytes(of_a), dot::OddBytes(of_b), to);
  }
  if (left == 0) return;
  PutKey(a, left, to);
  PutKey(b, left, to + 1);
}

// Where codes of the key `at` + i begin.
FOVEA_INLINE dot::Pair* PlaceOfKey(const RowsToBring& r, uint32_t i) {
  const uint32_t done = r.at - r.begin, row = done + i;
  int16_t* const first = static_cast<int16_t*>(r.to) - done * round_up(r.dim, kReads);
  return reinterpret_cast<dot::Pair*>(first + row / 2 * 2 * round_up(r.dim, kReads)) + row % 2;
}

FOVEA_INLINE void PutKeys(const RowsToBring& r) {
  const int8_t* row = static_cast<const int8_t*>(r.rows.data);
  for (uint32_t i = 0; i < r.count;) {
    dot::Pair* const to = PlaceOfKey(r, i);
    if ((r.at - r.begin + i) % 2 == 0 && i + 1 < r.count) {
      PutTwoKeys(row, row + r.rows.stride, r.dim, to);
      row += 2 * r.rows.stride;
      i += 2;
    } else {
      PutKey(row, r.dim, to);
      row += r.rows.stride;
      i += 1;
    }
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void BringKeysOf(const RowsToBring& r) {
  for (uint32_t i = 0; i < r.count; ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    NoteKeyScale(r, r.at + i, row.Scale());
    if constexpr (kType == FOVEA_I8) continue;
    int16_t* const to = reinterpret_cast<int16_t*>(PlaceOfKey(r, i));
    for (size_t d = 0; d < round_up(r.dim, kReads); ++d) {
      const size_t place = dot::PlaceOf(d);
      dot::StoreCodes(row.Codes(d, d < r.dim), to + place / 2 * 4 + place % 2, 1);
    }
  }
  if constexpr (kType == FOVEA_I8) PutKeys(r);
}
FOVEA_KERNEL void BringKeys(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringKeysOf<kType>(r));
}

// The values of two keys.
FOVEA_INLINE void PutTwoValues(const int8_t* a, const int8_t* b, size_t elements, int16_t* to) {
  dot::Pair* pairs = reinterpret_cast<dot::Pair*>(to);
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; elements >= 4; elements -= 4, a += 4, b += 4) {
    const uint32_t of_a = FourBytes(a), of_b = FourBytes(b);
    const uint32_t low = dot::LowHalves(of_a, of_b), high = dot::HighHalves(of_a, of_b);
    dot::StoreTwo(dot::EvenBytes(low), dot::OddBytes(low), pairs);
    dot::StoreTwo(dot::EvenBytes(high), dot::OddBytes(high), pairs);
  }
  for (; elements > 0; --elements) *pairs++ = dot::LowHalves(uint32_t(*a++), uint32_t(*b++));
}

FOVEA_INLINE void PutValues(const RowsToBring& r) {
  const int8_t* row = static_cast<const int8_t*>(r.rows.data) + r.element;
  int16_t* to = static_cast<int16_t*>(r.to) + r.at / 2 * 2 * kPieceValues;
  for (uint32_t i = 0; i < r.count;) {
    if ((r.at + i) % 2 == 0 && i + 1 < r.count) {
      PutTwoValues(row, row + r.rows.stride, r.elements, to);
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

template <fovea_dtype kType>
FOVEA_INLINE void BringValuesOf(const RowsToBring& r) {
  if (r.at == r.begin && r.element == 0) BeginValueScales(r);
  for (uint32_t i = 0; i < r.count && (kType != FOVEA_I8 || r.element == 0); ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    const uint32_t key = r.at + i;
    NoteValueScale(r, key, row.Scale());
    if constexpr (kType == FOVEA_I8) continue;
    int16_t* const to = static_cast<int16_t*>(r.to) + key / 2 * 2 * kPieceValues + key % 2;
    for (size_t e = 0; e < r.elements; ++e) dot::StoreCodes(row.Codes(r.element + e, 1), to + 2 * e, 1);
  }
  if constexpr (kType == FOVEA_I8) PutValues(r);
}
FOVEA_KERNEL void BringValues(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringValuesOf<kType>(r));
}
