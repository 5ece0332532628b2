// SPDX-License-Identifier: Apache-2.0
//
// steps.inl for Helium.
#ifndef FOVEA_SRC_LINEAR_I8_STEPS_HELIUM_INL_
#define FOVEA_SRC_LINEAR_I8_STEPS_HELIUM_INL_

#include "layers/linear/i8/steps.inl"

template <class Dot>
struct TileSteps<Dot, kDotHelium> : OneBlock {
  FOVEA_INLINE bool PutColumnOfBytes(const int8_t* row, size_t dim, typename Dot::Code* x, size_t columns) {
    for (; dim >= 16; dim -= 16, x += 16 * columns) Dot::StoreBytes(Dot::NextBytes(row), x);
    if (dim > 0) Dot::StoreBytes(Dot::LoadSomeBytes(row, dim), x);
    return true;
  }

  // Whether nothing overflows, is NaN, or is subnormal where the quotient may be more than a quarter.
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED bool CanDivide(const I8TokenTile& t, const I8Rows& w) {
    if (!(w.out.scale >= 0x1p-60f && w.out.scale <= 0x1p60f)) return false;
    VF most = hn::Mul(Dot::LargestMagnitude(t.scales, t.columns), Dot::LargestMagnitude(RowScalesOf(w), w.outputs));
    most = hn::Mul(most, hn::Set(kF, 0x1p31f));
    if (w.weights.bias) most = hn::Add(most, Dot::LargestMagnitude(w.weights.bias, w.outputs));
    return Dot::FirstLane(most) <= 0x1p60f;
  }

  // Four tokens at a time, output by output. The codes are those of EndColumns: a bias of 0 instead of none changes no
  // code. Columns past the last token have its codes, and store them in the same place.
  FOVEA_INLINE bool EndAsCodes(const I8TokenTile& t, const I8Rows& w) {
    if (w.out.dtype == FOVEA_F32 || ActivatesOutputs(w) || !CanDivide(t, w)) return false;
    const float no_bias = 0.0f;
    const int32_t zero = w.out.zero;
    VI least = hn::Set(kI, -128 - zero), most = hn::Set(kI, 127 - zero);
    if (::fovea::kLimitsOutputs) {
      least = Dot::NearestInts(hn::Set(kF, w.out.limits->least));
      most = Dot::NearestInts(hn::Set(kF, w.out.limits->most));
    }
    const typename Dot::Divider divide(w.out.scale);
    const size_t columns = t.columns, has_bias = w.weights.bias ? 1 : 0;
    for (size_t column = 0; column < columns; column += kLanes) {
      const typename Dot::Places places = Dot::PlacesOf(uint32_t(column), t.live - 1, w.y_stride);
      const VF token_scales = hn::LoadU(kF, t.scales + column);
      const float* sums = t.sums + column;
      const int32_t* start = t.starts;
      const float *scale = RowScalesOf(w), *bias = has_bias ? w.weights.bias : &no_bias;
      int8_t* y = static_cast<int8_t*>(w.y);
      for (uint32_t left = w.outputs; left > 0; --left, sums += columns, bias += has_bias) {
        const VF sum = Dot::ToFloat(reinterpret_cast<const int32_t*>(sums), *start++);
        const VF scaled = hn::MulSet(hn::Mul(sum, token_scales), *scale++);
        Dot::StoreCodesApart(divide(hn::AddSet(scaled, *bias)), least, most, zero, places, y++);
      }
    }
    return true;
  }
};

#endif  // FOVEA_SRC_LINEAR_I8_STEPS_HELIUM_INL_
