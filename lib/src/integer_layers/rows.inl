// SPDX-License-Identifier: Apache-2.0
//
// Layers on a row of codes. Lanes run along the row.
#ifndef FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_
#define FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_

#include "simd/integers.inl"

// Calls step(i, n) for each vector of a row: its lanes are the elements from i on, all or the first n.
template <class Step>
FOVEA_INLINE void EachVector(size_t dim, const Step& step) {
  size_t i = 0;
  for (; kIntegerUnroll > 1 && dim - i >= kIntegerUnroll * whole::kLanes; i += kIntegerUnroll * whole::kLanes) {
    FOVEA_UNROLL(4)
    for (size_t v = 0; v < kIntegerUnroll; ++v) step(i + v * whole::kLanes, whole::All());
  }
  for (; dim - i >= whole::kLanes; i += whole::kLanes) step(i, whole::All());
  if constexpr (whole::kLanes > 1) {
    if (i < dim) step(i, whole::Some(dim - i));
  }
}

FOVEA_INLINE void NormaliseCodes(const IntegerNormRow& r) {
  const int8_t* const x = r.x;
  int8_t* const y = r.y;
  const int16_t *const weight = r.weight, *const bias = r.bias;
  const int32_t slope = r.slope, offset = r.offset, base = r.base + whole::kHalf<kNormBits>;
  const auto normalise = [&](size_t i, auto n, whole::V start) {
    const whole::V normal = whole::Scaled(whole::LoadCodes(x + i, n), slope, offset);
    const whole::V sum = whole::AddMulHalf(start, normal, whole::LoadHalves(weight + i, n));
    whole::StoreCodes(whole::CodeOf<kNormBits>(sum), y + i, n);
  };
  if (bias) {
    EachVector(r.dim,
               [&](size_t i, auto n) { normalise(i, n, whole::Scaled(whole::LoadHalves(bias + i, n), 256, base)); });
  } else {
    EachVector(r.dim, [&](size_t i, auto n) { normalise(i, n, whole::Set(base)); });
  }
}

// Calls step(i, n, code_of), where code_of(v) is CodeOf, clamped to what y may be: for all codes, that is CodeOf alone.
template <int kBits, class Step>
FOVEA_INLINE void EachClamped(size_t dim, int32_t least, int32_t most, const Step& step) {
  if (least == INT8_MIN && most == INT8_MAX) {
    EachVector(dim, [&](size_t i, auto n) { step(i, n, [](whole::V v) { return whole::CodeOf<kBits>(v); }); });
  } else {
    const int32_t low = least * (1 << kBits) + whole::kHalf<kBits>, high = most * (1 << kBits) + whole::kHalf<kBits>;
    EachVector(dim, [&](size_t i, auto n) {
      step(i, n, [&](whole::V v) {
        return whole::CodeOf<kBits>(whole::Max(whole::Min(v, whole::Set(high)), whole::Set(low)));
      });
    });
  }
}

FOVEA_INLINE void AddCodes(const IntegerSumRow& r) {
  const int8_t *const a = r.a, *const b = r.b;
  int8_t* const y = r.y;
  const int32_t a_factor = r.a_factor, b_factor = r.b_factor, base = r.base + whole::kHalf<kSumBits>;
  if (b) {
    EachClamped<kSumBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
      const whole::V of_a = whole::Scaled(whole::LoadCodes(a + i, n), a_factor, base);
      const whole::V sum = whole::MulAdd(whole::LoadCodes(b + i, n), b_factor, of_a);
      whole::StoreCodes(code_of(sum), y + i, n);
    });
  } else {
    EachClamped<kSumBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
      const whole::V of_a = whole::Scaled(whole::LoadCodes(a + i, n), a_factor, base);
      whole::StoreCodes(code_of(of_a), y + i, n);
    });
  }
}

FOVEA_INLINE void MultiplyCodes(const IntegerProductRow& r) {
  const int8_t *const a = r.a, *const b = r.b;
  int8_t* const y = r.y;
  const int32_t a_zero = r.a_zero, b_factor = r.b_factor, b_offset = r.b_offset, factor = r.factor;
  const int32_t base = r.base + whole::kHalf<kProductBits>;
  EachClamped<kProductBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
    const whole::V of_a = whole::Sub(whole::LoadCodes(a + i, n), whole::Set(a_zero));
    const whole::V of_b = whole::Scaled(whole::LoadCodes(b + i, n), b_factor, b_offset);
    const whole::V product = whole::AddMulHigh(whole::Set(base), whole::Mul(of_a, of_b), factor);
    whole::StoreCodes(code_of(product), y + i, n);
  });
}

FOVEA_INLINE void HardSwishCodes(const IntegerHardSwishRow& r) {
  const int8_t* const x = r.x;
  int8_t* const y = r.y;
  const int32_t zero = r.x_zero, y_zero = r.y_zero, three = r.three, factor = r.factor;
  const int shift = r.shift;
  const int32_t half = int32_t(1) << (shift - 1);
  EachVector(r.dim, [&](size_t i, auto n) {
    const whole::V d = whole::Sub(whole::LoadCodes(x + i, n), whole::Set(zero));
    const whole::V risen = whole::Scaled(d, 256, three);
    const whole::V gate = whole::Min(whole::Max(risen, whole::Set(0)), whole::Set(2 * three));
    const whole::V product = whole::AddMulHigh(whole::Set(half), whole::Mul(d, gate), factor);
    const whole::V code = whole::Add(whole::ShiftDown(product, shift), whole::Set(y_zero));
    whole::StoreCodes(whole::Saturate(code), y + i, n);
  });
}

// The codes of one vector after its sums over all tokens.
template <class Count>
FOVEA_INLINE void AverageVectors(const IntegerMeanRow& r, size_t first, Count n) {
  whole::V sum = whole::Set(-r.x_total);
  for (size_t t = 0; t < r.tokens; ++t) {  // x may be null where there is no token
    const int8_t* const x = r.x + ptrdiff_t(t) * r.stride + first;
    sum = whole::Add(sum, whole::LoadCodes(x, n));
  }
  int32_t lanes[whole::kLanes];
  whole::Store(sum, lanes);
  for (int32_t& lane : lanes) {
    const int64_t scaled = (int64_t(lane) * r.scale + (int64_t(1) << (r.shift - 1))) >> r.shift;
    const int64_t code = scaled + r.y_zero;
    lane = code < INT8_MIN ? INT8_MIN : code > INT8_MAX ? INT8_MAX : int32_t(code);
  }
  whole::StoreCodes(whole::Load(lanes), r.y + first, n);
}
FOVEA_INLINE void AverageCodes(const IntegerMeanRow& r) {
  size_t i = 0;
  for (; i + whole::kLanes <= r.dim; i += whole::kLanes) AverageVectors(r, i, whole::All());
  if constexpr (whole::kLanes > 1) {
    if (i < r.dim) AverageVectors(r, i, whole::Some(r.dim - i));
  }
}

#endif  // FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_
