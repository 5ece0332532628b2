// SPDX-License-Identifier: Apache-2.0
//
// Layers on a row of codes. Lanes run along the row.
#ifndef FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_
#define FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_

#include "ground/simd/integers.inl"

// Calls step(i, n) for each vector of a row: its lanes are the elements from i on, all or the first n.
template <class Step>
FOVEA_INLINE void EachVector(size_t dim, const Step& step) {
  size_t i = 0;
  for (; kIntegerUnroll > 1 && dim - i >= kIntegerUnroll * integers::kLanes; i += kIntegerUnroll * integers::kLanes) {
    FOVEA_EACH(v, kIntegerUnroll) step(i + v * integers::kLanes, integers::All());
  }
  for (; dim - i >= integers::kLanes; i += integers::kLanes) step(i, integers::All());
  if constexpr (integers::kLanes > 1) {
    if (i < dim) step(i, integers::Some(dim - i));
  }
}

FOVEA_INLINE void NormaliseCodes(const IntegerNormRow& r) {
  const int8_t* const x = r.x;
  int8_t* const y = r.y;
  const int16_t *const weight = r.weight, *const bias = r.bias;
  const int32_t slope = r.slope, offset = r.offset, base = r.base + integers::kHalf<kNormBits>;
  const auto normalise = [&](size_t i, auto n, integers::V start) {
    const integers::V normal = integers::Scaled(integers::LoadCodes(x + i, n), slope, offset);
    const integers::V sum = integers::AddMulHalf(start, normal, integers::LoadHalves(weight + i, n));
    integers::StoreCodes(integers::CodeOf<kNormBits>(sum), y + i, n);
  };
  if (bias) {
    EachVector(r.dim, [&](size_t i, auto n) {
      normalise(i, n, integers::Scaled(integers::LoadHalves(bias + i, n), 256, base));
    });
  } else {
    EachVector(r.dim, [&](size_t i, auto n) { normalise(i, n, integers::Set(base)); });
  }
}

// Calls step(i, n, code_of), where code_of(v) is CodeOf, clamped to what y may be: for all codes, that is CodeOf alone.
template <int kBits, class Step>
FOVEA_INLINE void EachClamped(size_t dim, int32_t least, int32_t most, const Step& step) {
  if (least == INT8_MIN && most == INT8_MAX) {
    EachVector(dim, [&](size_t i, auto n) { step(i, n, [](integers::V v) { return integers::CodeOf<kBits>(v); }); });
  } else {
    const int32_t low = least * (1 << kBits) + integers::kHalf<kBits>,
                  high = most * (1 << kBits) + integers::kHalf<kBits>;
    EachVector(dim, [&](size_t i, auto n) {
      step(i, n, [&](integers::V v) {
        return integers::CodeOf<kBits>(integers::Max(integers::Min(v, integers::Set(high)), integers::Set(low)));
      });
    });
  }
}

FOVEA_INLINE void AddCodes(const IntegerSumRow& r) {
  const int8_t *const a = r.a, *const b = r.b;
  int8_t* const y = r.y;
  const int32_t a_factor = r.a_factor, b_factor = r.b_factor, base = r.base + integers::kHalf<kSumBits>;
  if (b) {
    EachClamped<kSumBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
      const integers::V of_a = integers::Scaled(integers::LoadCodes(a + i, n), a_factor, base);
      const integers::V sum = integers::MulAdd(integers::LoadCodes(b + i, n), b_factor, of_a);
      integers::StoreCodes(code_of(sum), y + i, n);
    });
  } else {
    EachClamped<kSumBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
      const integers::V of_a = integers::Scaled(integers::LoadCodes(a + i, n), a_factor, base);
      integers::StoreCodes(code_of(of_a), y + i, n);
    });
  }
}

FOVEA_INLINE void MultiplyCodes(const IntegerProductRow& r) {
  const int8_t *const a = r.a, *const b = r.b;
  int8_t* const y = r.y;
  const int32_t a_zero_point = r.a_zero_point, b_factor = r.b_factor, b_offset = r.b_offset, factor = r.factor;
  const int32_t base = r.base + integers::kHalf<kProductBits>;
  EachClamped<kProductBits>(r.dim, r.least, r.most, [&](size_t i, auto n, const auto& code_of) {
    const integers::V of_a = integers::Sub(integers::LoadCodes(a + i, n), integers::Set(a_zero_point));
    const integers::V of_b = integers::Scaled(integers::LoadCodes(b + i, n), b_factor, b_offset);
    const integers::V product = integers::AddMulHigh(integers::Set(base), integers::Mul(of_a, of_b), factor);
    integers::StoreCodes(code_of(product), y + i, n);
  });
}

FOVEA_INLINE void HardSwishCodes(const IntegerHardSwishRow& r) {
  const int8_t* const x = r.x;
  int8_t* const y = r.y;
  const int32_t zero = r.x_zero_point, y_zero_point = r.y_zero_point, three = r.three, factor = r.factor;
  const int shift = r.shift;
  const int32_t half = int32_t(1) << (shift - 1);
  EachVector(r.dim, [&](size_t i, auto n) {
    const integers::V d = integers::Sub(integers::LoadCodes(x + i, n), integers::Set(zero));
    const integers::V risen = integers::Scaled(d, 256, three);
    const integers::V gate = integers::Min(integers::Max(risen, integers::Set(0)), integers::Set(2 * three));
    const integers::V product = integers::AddMulHigh(integers::Set(half), integers::Mul(d, gate), factor);
    const integers::V code = integers::Add(integers::ShiftDown(product, shift), integers::Set(y_zero_point));
    integers::StoreCodes(integers::Saturate(code), y + i, n);
  });
}

// The codes of one vector after its sums over all tokens.
template <class Count>
FOVEA_INLINE void AverageVectors(const IntegerMeanRow& r, size_t first, Count n) {
  integers::V sum = integers::Set(-r.x_total);
  for (size_t t = 0; t < r.tokens; ++t) {  // x may be null where there is no token
    const int8_t* const x = r.x + ptrdiff_t(t) * r.stride + first;
    sum = integers::Add(sum, integers::LoadCodes(x, n));
  }
  int32_t lanes[integers::kLanes];
  integers::Store(sum, lanes);
  for (int32_t& lane : lanes) {
    const int64_t scaled = (int64_t(lane) * r.scale + (int64_t(1) << (r.shift - 1))) >> r.shift;
    const int64_t code = scaled + r.y_zero_point;
    lane = code < INT8_MIN ? INT8_MIN : code > INT8_MAX ? INT8_MAX : int32_t(code);
  }
  integers::StoreCodes(integers::Load(lanes), r.y + first, n);
}
FOVEA_INLINE void AverageCodes(const IntegerMeanRow& r) {
  size_t i = 0;
  for (; i + integers::kLanes <= r.dim; i += integers::kLanes) AverageVectors(r, i, integers::All());
  if constexpr (integers::kLanes > 1) {
    if (i < r.dim) AverageVectors(r, i, integers::Some(r.dim - i));
  }
}

#endif  // FOVEA_SRC_INTEGER_LAYERS_ROWS_INL_
