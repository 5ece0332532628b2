// SPDX-License-Identifier: Apache-2.0
//
// Rows of keys and values as they lie in memory (convert_table.h), read into registers: FormatRow<dtype>::Of(data,
// scales).
//   Whole(d)    elements d .. d + kLanes - 1, for d a multiple of kLanes
//   Part(d, n)  the first n <= kLanes of them, up to the end of the row; 0 in the lanes behind
// Both leave out a factor, so that elements of i8 and i4 are small integers.
//   kScaled     what has a factor of its own: nothing, the row, or each group of kI4Group elements
//   Scale(d)    the factor of element d, in all lanes
// LoadAs and LoadAsN apply the factor of a group and leave that of a row, which a caller applies to a whole sum.
//
// A loop over i4 that goes by kI4Group elements, with the vectors of a group unrolled, has no branch in it: the
// compiler then knows which half of the group each vector is in, and reads its scale once.

using ::fovea::kI4Group;

enum class Scaled { kNothing, kRow, kGroup };

template <fovea_dtype kType>
struct FormatRow;

// An infinite scale counts as NaN: whether it is applied to elements or to their sum would make a difference.
FOVEA_INLINE VF FiniteOrNaN(VF scale) { return hn::Add(scale, hn::Sub(scale, scale)); }

// The first n lanes, and 0 in those behind.
FOVEA_INLINE VF FirstLanes(VF v, size_t n) {
  return hn::IfThenElse(hn::Lt(hn::Iota(kF, 0.0f), hn::Set(kF, float(n))), v, hn::Zero(kF));
}

template <>
struct FormatRow<FOVEA_F32> {
  static constexpr Scaled kScaled = Scaled::kNothing;
  const float* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const float*>(data)}; }
  inline __attribute__((always_inline)) VF Whole(size_t d) const { return hn::LoadU(kF, data + d); }
  inline __attribute__((always_inline)) VF Part(size_t d, size_t n) const { return hn::LoadN(kF, data + d, n); }
  inline __attribute__((always_inline)) VF Scale(size_t) const { return hn::Set(kF, 1.0f); }
};

template <>
struct FormatRow<FOVEA_F16> {
  static constexpr Scaled kScaled = Scaled::kNothing;
  const uint16_t* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const uint16_t*>(data)}; }
  inline __attribute__((always_inline)) VF Whole(size_t d) const { return hn::LoadF16(kF, data + d); }
  inline __attribute__((always_inline)) VF Part(size_t d, size_t n) const { return hn::LoadF16N(kF, data + d, n); }
  inline __attribute__((always_inline)) VF Scale(size_t) const { return hn::Set(kF, 1.0f); }
};

template <>
struct FormatRow<FOVEA_BF16> {
  static constexpr Scaled kScaled = Scaled::kNothing;
  const uint16_t* data;

  FOVEA_INLINE FormatRow Of(const void* data, const void*) { return {static_cast<const uint16_t*>(data)}; }
  inline __attribute__((always_inline)) VF Whole(size_t d) const {
    return hn::BitCast(kF, hn::ShiftLeft<16>(hn::LoadU16(kI, data + d)));
  }
  inline __attribute__((always_inline)) VF Part(size_t d, size_t n) const {
    return hn::BitCast(kF, hn::ShiftLeft<16>(hn::LoadU16N(kI, data + d, n)));
  }
  inline __attribute__((always_inline)) VF Scale(size_t) const { return hn::Set(kF, 1.0f); }
};

template <>
struct FormatRow<FOVEA_I8> {
  static constexpr Scaled kScaled = Scaled::kRow;
  const int8_t* data;
  const float* scale;

  FOVEA_INLINE FormatRow Of(const void* data, const void* scales) {
    return {static_cast<const int8_t*>(data), static_cast<const float*>(scales)};
  }
  inline __attribute__((always_inline)) VF Whole(size_t d) const { return hn::ConvertTo(kF, hn::LoadI8(kI, data + d)); }
  inline __attribute__((always_inline)) VF Part(size_t d, size_t n) const {
    return hn::ConvertTo(kF, hn::LoadI8N(kI, data + d, n));
  }
  inline __attribute__((always_inline)) VF Scale(size_t) const { return FiniteOrNaN(hn::Set(kF, *scale)); }
};

template <>
struct FormatRow<FOVEA_I4> {
  static constexpr Scaled kScaled = Scaled::kGroup;
  const uint8_t* data;
  const uint16_t* scales;

  FOVEA_INLINE FormatRow Of(const void* data, const void* scales) {
    return {static_cast<const uint8_t*>(data), static_cast<const uint16_t*>(scales)};
  }
  // u is put into the fraction of a float at the place of its ones: 2^23 + u from a low nibble, and 2^19 + u from a
  // high one where it stands.
  inline __attribute__((always_inline)) VF Whole(size_t d) const {
    constexpr size_t kHalf = kI4Group / 2;
    const VI bytes = hn::LoadU8(kI, data + d / kI4Group * kHalf + d % kHalf);
    if (d % kI4Group < kHalf) {
      const VI u = hn::Or(hn::And(bytes, hn::Set(kI, 0x0f)), hn::BitCast(kI, hn::Set(kF, 0x1p23f)));
      return hn::Sub(hn::BitCast(kF, u), hn::Set(kF, 0x1p23f + 8.0f));
    }
    const VI u = hn::Or(hn::And(bytes, hn::Set(kI, 0xf0)), hn::BitCast(kI, hn::Set(kF, 0x1p19f)));
    return hn::Sub(hn::BitCast(kF, u), hn::Set(kF, 0x1p19f + 8.0f));
  }
  inline __attribute__((always_inline)) VF Part(size_t d, size_t n) const {  // a group is there as a whole
    return FirstLanes(Whole(d), n);
  }
  inline __attribute__((always_inline)) VF Scale(size_t d) const { return hn::SetF16(kF, scales[d / kI4Group]); }
};

template <fovea_dtype kType>
FOVEA_INLINE VF LoadAs(const FormatRow<kType>& row, size_t d) {
  if constexpr (FormatRow<kType>::kScaled != Scaled::kGroup) return row.Whole(d);
  return hn::Mul(row.Whole(d), row.Scale(d));
}

template <fovea_dtype kType>
FOVEA_INLINE VF LoadAsN(const FormatRow<kType>& row, size_t d, size_t n) {
  if constexpr (FormatRow<kType>::kScaled != Scaled::kGroup) return row.Part(d, n);
  return FirstLanes(LoadAs(row, d), n);  // what follows stays 0 where the scale is infinite or NaN
}

// The upper half of a float, rounded, in the low 16 bits of each lane. A carry goes on into the exponent, up to
// infinity.
FOVEA_INLINE VI ToBf16(VF v) {
  const VI bits = hn::BitCast(kI, v);
  const VI odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kI, 1));
  const VI rounded = hn::Add(hn::Add(bits, odd), hn::Set(kI, 0x7fff));
  const VI quiet = hn::Or(bits, hn::Set(kI, 0x400000));
  const VF either = hn::IfThenElse(hn::Eq(v, v), hn::BitCast(kF, rounded), hn::BitCast(kF, quiet));
  return hn::ShiftRight<16>(hn::BitCast(kI, either));
}

template <fovea_dtype kType>
FOVEA_INLINE void StoreAsN(VF v, void* row, size_t d, size_t n) {
  if constexpr (kType == FOVEA_F32) hn::StoreN(v, kF, static_cast<float*>(row) + d, n);
  if constexpr (kType == FOVEA_F16) hn::StoreF16N(v, static_cast<uint16_t*>(row) + d, n);
  if constexpr (kType == FOVEA_BF16) hn::StoreU16N(ToBf16(v), static_cast<uint16_t*>(row) + d, n);
}
template <fovea_dtype kType>
FOVEA_INLINE void StoreAs(VF v, void* row, size_t d) {
  if constexpr (kType == FOVEA_F32) hn::StoreU(v, kF, static_cast<float*>(row) + d);
  if constexpr (kType == FOVEA_F16) hn::StoreF16(v, static_cast<uint16_t*>(row) + d);
  if constexpr (kType == FOVEA_BF16) hn::StoreU16(ToBf16(v), static_cast<uint16_t*>(row) + d);
}

// The first n <= kLanes elements of a row of f16 or bf16, where which of them is known only now.
FOVEA_INLINE VF LoadHalfN(const uint16_t* p, fovea_dtype dtype, size_t n) {
  if (::fovea::config::kBf16 && dtype == FOVEA_BF16) return FormatRow<FOVEA_BF16>{p}.Part(0, n);
  return hn::LoadF16N(kF, p, n);
}
FOVEA_INLINE void StoreHalfN(VF v, uint16_t* p, fovea_dtype dtype, size_t n) {
  if (::fovea::config::kBf16 && dtype == FOVEA_BF16) return hn::StoreU16N(ToBf16(v), p, n);
  hn::StoreF16N(v, p, n);
}
