// SPDX-License-Identifier: Apache-2.0
//
// What i8_bring.inl does, for smlad: codes of two rows lie pair by pair next to each other.
//   keys    [key / 2][code / 2][2 keys][2 codes], the codes of each four in the order 0, 2, 1, 3
//   values  [key / 2][element][2 keys], for kValueGrain elements

FOVEA_INLINE uint32_t FourBytes(const int8_t* p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return bytes;
}

// Where codes of the key `at` + i begin.
FOVEA_INLINE int16_t* PlaceOfKey(const RowsToBring& r, uint32_t i, size_t padded) {
  const uint32_t row = r.at - r.begin + i;
  return static_cast<int16_t*>(r.to) + (ptrdiff_t(row / 2 * 2) - ptrdiff_t(r.at - r.begin)) * ptrdiff_t(padded) +
         row % 2 * 2;
}

FOVEA_INLINE void PutKey(const CodedRow<FOVEA_I8>& row, size_t dim, int16_t* to) {
  const int8_t* codes = row.row.data;
  dot::Pair* pairs = reinterpret_cast<dot::Pair*>(to);
  size_t d = dim;
  FOVEA_UNROLL_LONG_LOOP(2)
  for (; d >= 4; d -= 4, codes += 4, pairs += 4) {
    const uint32_t four = FourBytes(codes);
    pairs[0] = dot::EvenBytes(four);
    pairs[2] = dot::OddBytes(four);
  }
  if (d == 0) return;
  uint32_t four = 0;
  __builtin_memcpy(&four, codes, d);
  pairs[0] = dot::EvenBytes(four);
  pairs[2] = dot::OddBytes(four);
}
FOVEA_INLINE void PutKey(const CodedRow<FOVEA_I4>& row, size_t dim, int16_t* to) {
  for (size_t d = 0; d < round_up(dim, kReads); ++d) {
    const size_t place = dot::PlaceOf(d);
    dot::StoreCodes(row.Codes(d, d < dim), to + place / 2 * 4 + place % 2, 1);
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void BringKeysOf(const RowsToBring& r) {
  for (uint32_t i = 0; i < r.count; ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    NoteKeyScale(r, r.at + i, row.Scale());
    PutKey(row, r.dim, PlaceOfKey(r, i, round_up(r.dim, kReads)));
  }
}
FOVEA_KERNEL void BringKeys(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringKeysOf<kType>(r));
}

// The values of two keys.
FOVEA_INLINE void PutValues(const int8_t* a, const int8_t* b, int16_t* to) {
  dot::Pair* pairs = reinterpret_cast<dot::Pair*>(to);
  FOVEA_UNROLL(2)
  for (size_t e = 0; e < kValueGrain; e += 4, a += 4, b += 4, pairs += 4) {
    const uint32_t of_a = FourBytes(a), of_b = FourBytes(b);
    const uint32_t low = dot::LowHalves(of_a, of_b), high = dot::HighHalves(of_a, of_b);
    pairs[0] = dot::EvenBytes(low);
    pairs[1] = dot::OddBytes(low);
    pairs[2] = dot::EvenBytes(high);
    pairs[3] = dot::OddBytes(high);
  }
}

template <fovea_dtype kType>
FOVEA_INLINE void BringValuesOf(const RowsToBring& r) {
  if (r.at == r.begin && r.element == 0) BeginValueScales(r);
  if (r.at == r.begin && (r.end % 2 != 0 || r.elements < kValueGrain)) {
    int16_t* const values = static_cast<int16_t*>(r.to) + r.begin * kValueGrain;
    __builtin_memset(values, 0, (round_up(r.end, 2) - r.begin) * kValueGrain * sizeof *values);
  }
  for (uint32_t i = 0; i < r.count; ++i) {
    const CodedRow<kType> row = CodedRowOf<kType>(r, i);
    const uint32_t key = r.at + i;
    int16_t* const to = static_cast<int16_t*>(r.to) + key / 2 * 2 * kValueGrain + key % 2;
    NoteValueScale(r, key, row.Scale());
    if constexpr (kType == FOVEA_I8) {
      if (r.elements == kValueGrain && key % 2 == 0 && i + 1 < r.count) {
        const CodedRow<kType> next = CodedRowOf<kType>(r, ++i);
        NoteValueScale(r, key + 1, next.Scale());
        PutValues(row.row.data + r.element, next.row.data + r.element, to);
        continue;
      }
    }
    for (size_t e = 0; e < r.elements; ++e) dot::StoreCodes(row.Codes(r.element + e, 1), to + 2 * e, 1);
  }
}
FOVEA_KERNEL void BringValues(const RowsToBring& r) {
  FOVEA_WITH_FORMAT(kCodedFormats, r.rows.dtype, BringValuesOf<kType>(r));
}
