// SPDX-License-Identifier: Apache-2.0
//
// Finds the scales and codes of rows of floats, in formats with scales.
#ifndef FOVEA_SRC_FORMATS_FIT_INL_
#define FOVEA_SRC_FORMATS_FIT_INL_

// An infinite scale counts as NaN: otherwise results would depend on whether it multiplies elements or their sum.
FOVEA_INLINE VF FiniteOrNaN(VF scale) { return hn::Add(scale, hn::Sub(scale, scale)); }

FOVEA_INLINE VF Rounded(VF v) { return hn::Sub(hn::Add(v, hn::Set(kF, kRoundingBias)), hn::Set(kF, kRoundingBias)); }

FOVEA_INLINE VF ZeroIfNan(VF v) { return hn::IfThenElse(hn::Eq(v, v), v, hn::Zero(kF)); }

// The largest magnitude of a row counts as at least this.
constexpr float kLeastMaxI8 = 127 * 0x1p-126f;

// i8: scale = max |x| / 127, but at least the smallest normal number, and small enough that 127 times it is finite. A
// search for a better scale would reduce the squared error by less than a hundredth.
struct ScaleI8 {
  VF scale, inverse;  // of one row in all lanes
  VI finite;          // all bits set, or none if an element is NaN or infinite

  // Row: a function of d and n that gives the n <= kLanes elements from d on, and 0 in the other lanes.
  template <class Row>
  FOVEA_INLINE ScaleI8 Of(const Row& row, size_t dim) {
    VF max = hn::Set(kF, kLeastMaxI8), not_finite = hn::Zero(kF);  // NaN if some element is NaN or infinite, else 0
    if constexpr (kLanes == 1) {
      // Compared as integers: bits of magnitudes have the order of the magnitudes, and infinity and NaN are last.
      int32_t most = BitsOf(max);
      for (size_t d = 0; d < dim; ++d) most = Larger(most, BitsOf(hn::Abs(row(d, 1))));
      max = hn::BitCast(kF, hn::Set(kI, most));
      not_finite = hn::Sub(max, max);
    } else {
      size_t d = 0;
      if constexpr (kSmallText) {
        for (; d < dim; d += kLanes) Take(row(d, LanesBefore(d, dim)), max, not_finite);
      } else {
        for (; d + kLanes <= dim; d += kLanes) Take(row(d, kLanes), max, not_finite);
        if (d < dim) Take(row(d, dim - d), max, not_finite);
      }
      max = OverLanes<true>(max);
      not_finite = OverLanes<false>(not_finite);
    }
    return From(max, not_finite);
  }
  // From the largest magnitude, and a number that is NaN if an element is not finite, else 0. Each lane is a row.
  FOVEA_INLINE ScaleI8 From(VF max, VF not_finite) {
    const VF divided = hn::Div(max, hn::Set(kF, 127.0f)), most = hn::Set(kF, 0x1.020406p121f);
    const VF all_bits = hn::BitCast(kF, hn::Set(kI, -1));
    return {hn::Add(hn::IfThenElse(hn::Lt(most, divided), most, divided), not_finite),
            hn::Div(hn::Set(kF, 127.0f), max),
            hn::BitCast(kI, hn::IfThenElse(hn::Eq(not_finite, not_finite), all_bits, hn::Zero(kF)))};
  }
  // x / scale plus kRoundingBias: the low bits are the code. 0 where the scale is NaN.
  FOVEA_MEMBER VF Biased(VF x) const {
    const VI quotient = hn::And(hn::BitCast(kI, hn::Mul(x, inverse)), finite);
    return hn::Add(hn::BitCast(kF, quotient), hn::Set(kF, kRoundingBias));
  }

 private:
  FOVEA_INLINE void Take(VF v, VF& max, VF& not_finite) {
    max = hn::Max(max, hn::Abs(v));
    not_finite = hn::MulAdd(v, hn::Zero(kF), not_finite);
  }
  FOVEA_INLINE int32_t Larger(int32_t a, int32_t b) { return a < b ? b : a; }
  FOVEA_INLINE int32_t BitsOf(VF v) {
    float lane;
    int32_t bits;
    hn::StoreN(v, kF, &lane, 1);
    __builtin_memcpy(&bits, &lane, 4);
    return bits;
  }
};
struct FloatRow {
  const float* x;
  FOVEA_MEMBER VF operator()(size_t d, size_t n) const { return LoadUpTo(x + d, n); }
};
FOVEA_INLINE void NarrowRowI8(const float* x, size_t dim, int8_t* codes, float* scale) {
  const FloatRow row = {x};
  const ScaleI8 fit = ScaleI8::Of(row, dim);
  hn::StoreN(fit.scale, kF, scale, 1);
  for (size_t d = 0; d < dim; d += kLanes) {
    const size_t n = dim - d < kLanes ? dim - d : kLanes;
    hn::StoreU8N(hn::BitCast(kI, fit.Biased(row(d, n))), reinterpret_cast<uint8_t*>(codes) + d, n);
  }
}

// Vectors in a group, and how far loops over them are unrolled. Vectors then stay in registers; for scalars, unrolling
// would only add code.
constexpr size_t kGroupVectors = kScaleGroup / kLanes;
constexpr int kGroupUnroll = kLanes > 1 ? AtOnce(8) : 1;

// The sum or maximum of a group, in all lanes. Destroys the group.
template <bool kMax>
FOVEA_INLINE VF Total(VF (&group)[kGroupVectors]) {
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t half = kGroupVectors / 2; half > 0; half /= 2) {
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < half; ++i) {
      group[i] = kMax ? hn::Max(group[i], group[i + half]) : hn::Add(group[i], group[i + half]);
    }
  }
  return OverLanes<kMax>(group[0]);
}

// Whether one text reads and writes rows of several formats. That of vectors would have a larger stack frame.
constexpr bool kOneTextOfRows = kSizeCounts && kLanes == 1;

// The numbers of iq4_nl's codes, and of mxfp4's.
FOVEA_IN_DATA_SECTION constexpr int8_t kNumbersOfCodes[2][16] = {
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
    {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12},
};

// The numbers that codes of a format stand for: whole ones from `least` to `most`, or those of a table. And the scales
// that are tried: each makes the element of largest magnitude -tried[k] before rounding and clamping. On normally
// distributed numbers the best of i4's four has 0.90 of the squared error of 8 alone; the best of 80, from -10 to 10,
// has 0.89.
struct Grid {
  fovea_dtype type;
  const float (&tried)[4];
  float least, most;
  const int8_t* numbers;
};
constexpr float kTriedI4[4] = {8.6f, 8.0f, 7.4f, 6.8f}, kTriedQ5[4] = {16.6f, 16.0f, 15.4f, 14.8f},
                kTriedIq4[4] = {137.0f, 127.0f, 117.0f, 107.0f};
template <fovea_dtype kType>
constexpr Grid kGridOf = {FOVEA_I4, kTriedI4, -8.0f, 7.0f, nullptr};
template <>
constexpr Grid kGridOf<FOVEA_Q5_0> = {FOVEA_Q5_0, kTriedQ5, -16.0f, 15.0f, nullptr};
template <>
constexpr Grid kGridOf<FOVEA_IQ4_NL> = {FOVEA_IQ4_NL, kTriedIq4, 0, 0, kNumbersOfCodes[0]};

// For y = x / (element of largest magnitude): the code, and the number that it stands for.
template <bool kCode = false>
FOVEA_INLINE VF NumberAt(const Grid& grid, VF y, VF tried) {
  const VF x = hn::Sub(hn::Zero(kF), hn::Mul(y, tried));
  if (grid.numbers) {
    VF nearest = hn::Set(kF, kCode ? 0.0f : float(grid.numbers[0]));
    FOVEA_UNROLL_FOR_SPEED(15)
    for (int k = 1; k < 16; ++k) {
      const VF middle = hn::Set(kF, 0.5f * float(grid.numbers[k - 1] + grid.numbers[k]));
      nearest = hn::IfThenElse(hn::Lt(middle, x), hn::Set(kF, float(kCode ? k : grid.numbers[k])), nearest);
    }
    return nearest;
  }
  const VF least = hn::Set(kF, grid.least), most = hn::Set(kF, grid.most);
  const VF q = Rounded(x), number = hn::IfThenElse(hn::Lt(most, q), most, hn::ClampMin(q, least));
  return kCode ? hn::Sub(number, least) : number;
}

// A group's numbers are NumberAt(y, tried), and y is about factor * number.
struct FitI4 {
  VF factor, tried;
};

// With codes q, the squared error is least for the factor sum(y q) / sum(q q), and is then sum(y y) - sum(y q) *
// factor. The array `used` is overwritten.
FOVEA_INLINE FitI4 BestFitI4(const Grid& grid, const VF (&y)[kGroupVectors], size_t count, VF (&used)[kGroupVectors]) {
  // What fills up a group is 0, whose number in iq4_nl is 1: its squares do not count.
  const VF squares_of_rest = hn::Set(kF, grid.numbers ? float(kScaleGroup - count) : 0.0f);
  VF best = hn::Zero(kF);
  FitI4 fit = {hn::Zero(kF), hn::Zero(kF)};
  for (const float tried : grid.tried) {
    VF qq[kGroupVectors];
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kGroupVectors; ++i) {
      const VF q = NumberAt(grid, y[i], hn::Set(kF, tried));
      used[i] = hn::Mul(y[i], q);
      qq[i] = hn::Mul(q, q);
    }
    VF squares = Total<false>(qq);
    if (grid.numbers) squares = hn::Sub(squares, squares_of_rest);
    const VF sum = Total<false>(used), factor = hn::Div(sum, squares);  // NaN, and never better, if all are 0
    const VF gain = hn::Mul(sum, factor);
    const MF better = hn::Lt(best, gain);
    best = hn::IfThenElse(better, gain, best);
    fit.factor = hn::IfThenElse(better, factor, fit.factor);
    fit.tried = hn::IfThenElse(better, hn::Set(kF, tried), fit.tried);
  }
  return fit;
}

FOVEA_INLINE void StoreCodesI4(const VF (&y)[kGroupVectors], VF tried, uint8_t* codes) {
  const VI nibble = hn::Set(kI, 15);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors / 2; ++i) {
    const VF bias = hn::Set(kF, kRoundingBias + 8.0f);
    const VI even = hn::BitCast(kI, hn::Add(NumberAt(kGridOf<FOVEA_I4>, y[i], tried), bias));
    const VI odd = hn::BitCast(kI, hn::Add(NumberAt(kGridOf<FOVEA_I4>, y[i + kGroupVectors / 2], tried), bias));
    hn::StoreU8(hn::Or(hn::And(even, nibble), hn::ShiftLeft<4>(odd)), codes + i * kLanes);
  }
}

// Stores a group's codes as nibbles, and before them their fifth bits if they have five.
FOVEA_INLINE void PackCodes(bool five, const VF (&codes)[kGroupVectors], uint8_t* nibbles) {
  uint8_t u[kScaleGroup];
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    hn::StoreU8(hn::BitCast(kI, hn::Add(codes[i], hn::Set(kF, kRoundingBias))), u + i * kLanes);
  }
  for (size_t i = 0; i < kScaleGroup / 2; ++i) nibbles[i] = uint8_t((u[i] & 15) | u[i + kScaleGroup / 2] << 4);
  if (five) {
    uint32_t high = 0;
    for (size_t i = 0; i < kScaleGroup; ++i) high |= uint32_t{u[i]} >> 4 << i;
    __builtin_memcpy(nibbles - sizeof high, &high, sizeof high);
  }
}

template <bool kAnyGrid>
FOVEA_INLINE void NarrowGroupI4(const Grid& grid, const float* x, size_t count, uint8_t* codes, uint16_t* scale) {
  // On a scalar target each array takes 128 bytes of stack, so one array serves several purposes in turn.
  VF y[kGroupVectors], used[kGroupVectors];
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const size_t first = i * kLanes, left = first < count ? count - first : 0;
    y[i] = left >= kLanes ? hn::LoadU(kF, x + first) : hn::LoadN(kF, x + first, left);
    used[i] = y[i];
  }
  const VF highest = Total<true>(used);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Sub(hn::Zero(kF), y[i]);
  const VF lowest = Total<true>(used);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Mul(y[i], hn::Zero(kF));
  const VF not_finite = Total<false>(used);
  // The inverse of 2^126 or more would be subnormal, which some targets treat as 0. A magnitude above 2^100 is too
  // large for any scale, so it is replaced by 2^100.
  const VF either = hn::Max(highest, lowest), huge = hn::Set(kF, 0x1p100f);
  const VF size = hn::IfThenElse(hn::Lt(huge, either), huge, either);
  const VF largest = hn::IfThenElse(hn::Lt(highest, lowest), hn::Sub(hn::Zero(kF), size), size);
  const MF tiny = hn::Lt(size, hn::Set(kF, 0x1p-100f));
  const VF inverse = hn::Add(hn::IfThenZeroElse(tiny, hn::Div(hn::Set(kF, 1.0f), largest)), not_finite);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) y[i] = ZeroIfNan(hn::Mul(y[i], inverse));

  FitI4 fit = BestFitI4(grid, y, count, used);
  // A scale too large for f16 becomes the largest f16, and codes are the nearest with that scale.
  const VF exact = hn::Mul(fit.factor, largest), most = hn::Set(kF, 65504.0f);
  const MF beyond = hn::Le(hn::Set(kF, 65520.0f), hn::Abs(exact));
  const VF limit = hn::IfThenElse(hn::Lt(exact, hn::Zero(kF)), hn::Sub(hn::Zero(kF), most), most);
  hn::StoreF16N(hn::Add(hn::IfThenElse(beyond, limit, exact), not_finite), scale, 1);
  fit.tried = hn::IfThenElse(beyond, hn::Mul(size, hn::Set(kF, 1 / 65504.0f)), fit.tried);
  if (!kAnyGrid && grid.type == FOVEA_I4) return StoreCodesI4(y, fit.tried, codes);
  if (grid.type != FOVEA_I4) {  // the nearest codes with the scale that was stored
    const VF stored = hn::SetF16(kF, *scale);
    const MF none = hn::Eq(stored, hn::Zero(kF));
    fit.tried =
        hn::Sub(hn::Zero(kF), ZeroIfNan(hn::Div(largest, hn::IfThenElse(none, hn::Set(kF, kInfinity), stored))));
  }
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) y[i] = NumberAt<true>(grid, y[i], fit.tried);
  PackCodes(grid.type == FOVEA_Q5_0, y, codes);
}
template <fovea_dtype kType>
FOVEA_CALLED_TEMPLATE void NarrowGroupAs(const float* x, size_t count, uint8_t* codes, uint16_t* scale) {
  NarrowGroupI4<false>(kGridOf<kType>, x, count, codes, scale);
}

// Where a row's groups go: the codes and the scale of the first, and how many bytes further those of the next.
struct GroupPlaces {
  uint8_t *codes, *scale;
  size_t codes_step, scale_step;
};
// kType F32: to any grid.
template <fovea_dtype kType>
FOVEA_INLINE void NarrowRowTo(const Grid& grid, const float* x, size_t dim, GroupPlaces to) {
  for (size_t count = kScaleGroup; dim > 0; dim -= count, x += count) {
    if (dim < count) count = dim;
    uint16_t scale;
    if constexpr (kType == FOVEA_F32) NarrowGroupI4<true>(grid, x, count, to.codes, &scale);
    if constexpr (kType != FOVEA_F32) NarrowGroupAs<kType>(x, count, to.codes, &scale);
    __builtin_memcpy(to.scale, &scale, sizeof scale);
    to.codes += to.codes_step, to.scale += to.scale_step;
  }
}
FOVEA_CALLED void NarrowRowToAny(const Grid& grid, const float* x, size_t dim, const GroupPlaces& to) {
  NarrowRowTo<FOVEA_F32>(grid, x, dim, to);
}
template <fovea_dtype kType>
FOVEA_INLINE void NarrowRowI4(const float* x, size_t dim, const GroupPlaces& to) {
  if constexpr (kOneTextOfRows && ::fovea::config::kIq) return NarrowRowToAny(kGridOf<kType>, x, dim, to);
  NarrowRowTo<kGridOf<kType>.type>(kGridOf<kType>, x, dim, to);
}

// A 16-bit number of one of ggml's groups, which may be at any address.
FOVEA_INLINE uint16_t HalfAt(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  return bits;
}

FOVEA_SHARED void NarrowGroupQ8(const float* x, size_t count, uint8_t* block) {
  VF y[kGroupVectors], used[kGroupVectors];
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const size_t first = i * kLanes, left = first < count ? count - first : 0;
    y[i] = left >= kLanes ? hn::LoadU(kF, x + first) : hn::LoadN(kF, x + first, left);
    used[i] = hn::Abs(y[i]);
  }
  const VF exact = hn::Div(Total<true>(used), hn::Set(kF, 127.0f)), most = hn::Set(kF, 65504.0f);
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Mul(y[i], hn::Zero(kF));
  const VF not_finite = Total<false>(used);
  uint16_t bits;
  hn::StoreF16N(hn::Add(hn::IfThenElse(hn::Lt(most, exact), most, exact), not_finite), &bits, 1);
  __builtin_memcpy(block, &bits, sizeof bits);
  const VF scale = hn::SetF16(kF, bits);
  const VF inverse = hn::IfThenElse(hn::Lt(hn::Zero(kF), scale), hn::Div(hn::Set(kF, 1.0f), scale), hn::Zero(kF));
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const VF least = hn::Set(kF, -127.0f), largest = hn::Set(kF, 127.0f);
    const VF q = ZeroIfNan(hn::Mul(y[i], inverse));
    const VF code = hn::IfThenElse(hn::Lt(largest, q), largest, hn::ClampMin(q, least));
    hn::StoreU8(hn::BitCast(kI, hn::Add(code, hn::Set(kF, kRoundingBias))), block + 2 + i * kLanes);
  }
}

// Groups whose elements are sums: m is the least element, and d the range / the largest code, both rounded to f16.
FOVEA_SHARED void NarrowGroupWithLeast(bool five, const float* x, size_t count, uint8_t* block) {
  const VF most_code = hn::Set(kF, five ? 31.0f : 15.0f), most = hn::Set(kF, 65504.0f);
  VF y[kGroupVectors], used[kGroupVectors];
  float whole[kScaleGroup];
  for (size_t i = 0; i < kScaleGroup; ++i) whole[i] = x[i < count ? i : 0];
  const auto total = [&](bool max, VF factor) __attribute__((always_inline)) {
    FOVEA_UNROLL_BY(kGroupUnroll)
    for (size_t i = 0; i < kGroupVectors; ++i) used[i] = hn::Mul(y[i] = hn::LoadU(kF, whole + i * kLanes), factor);
    return max ? Total<true>(used) : Total<false>(used);
  };
  const VF not_finite = total(false, hn::Zero(kF)), highest = total(true, hn::Set(kF, 1.0f));
  const VF below = total(true, hn::Set(kF, -1.0f));  // minus the least element
  const VF range = hn::Add(hn::Div(highest, most_code), hn::Div(below, most_code));
  uint16_t bits[2];
  hn::StoreF16N(hn::Add(hn::IfThenElse(hn::Lt(most, range), most, range), not_finite), bits, 1);
  const VF limited = hn::IfThenElse(hn::Lt(most, below), most, hn::ClampMin(below, hn::Sub(hn::Zero(kF), most)));
  hn::StoreF16N(hn::Add(hn::Sub(hn::Zero(kF), limited), not_finite), bits + 1, 1);
  __builtin_memcpy(block, bits, sizeof bits);
  const VF scale = hn::SetF16(kF, bits[0]), least = hn::SetF16(kF, bits[1]);
  const VF inverse = hn::IfThenElse(hn::Lt(hn::Zero(kF), scale), hn::Div(hn::Set(kF, 1.0f), scale), hn::Zero(kF));
  FOVEA_UNROLL_BY(kGroupUnroll)
  for (size_t i = 0; i < kGroupVectors; ++i) {
    const VF q = hn::ClampMin(ZeroIfNan(hn::Mul(hn::Sub(y[i], least), inverse)), hn::Zero(kF));
    y[i] = hn::IfThenElse(hn::Lt(most_code, q), most_code, q);
  }
  PackCodes(five, y, block + (five ? 8 : 4));
}

#endif  // FOVEA_SRC_FORMATS_FIT_INL_
