// SPDX-License-Identifier: Apache-2.0
//
// i8_steps.inl for Helium.
#include "linear/i8_one_block.inl"

FOVEA_INLINE bool PutColumnOfBytes(const int8_t* row, size_t dim, dot::Code* x, size_t columns) {
  for (; dim >= 16; dim -= 16, x += 16 * columns) dot::StoreBytes(dot::NextBytes(row), x);
  if (dim > 0) dot::StoreBytes(dot::LoadSomeBytes(row, dim), x);
  return true;
}

// Whether nothing overflows, is NaN, or is subnormal where the quotient may be more than a quarter.
FOVEA_CALLED bool CanDivide(const I8TokenTile& t, const I8Rows& w) {
  if (!(w.out.scale >= 0x1p-60f && w.out.scale <= 0x1p60f)) return false;
  VF most = hn::Mul(dot::LargestMagnitude(t.scales, t.columns), dot::LargestMagnitude(RowScales(w), w.outputs));
  most = hn::Mul(most, hn::Set(kF, 0x1p31f));
  if (w.weights.bias) most = hn::Add(most, dot::LargestMagnitude(w.weights.bias, w.outputs));
  return dot::FirstLane(most) <= 0x1p60f;
}

// Four tokens at a time, output by output. The codes are those of EndColumns: a bias of 0 instead of none changes no
// code. Columns past the last token have its codes, and store them in the same place.
FOVEA_INLINE bool EndAsCodes(const I8TokenTile& t, const I8Rows& w) {
  if (w.out.dtype == FOVEA_F32 || ActivatesOutputs(w) || !CanDivide(t, w)) return false;
  const float no_bias = 0.0f;
  const int32_t zero = w.out.zero;
  VI least = hn::Set(kI, -128 - zero), most = hn::Set(kI, 127 - zero);
  if (::fovea::kLimitsOutputs) {
    least = dot::NearestInts(hn::Set(kF, w.out.limits->least));
    most = dot::NearestInts(hn::Set(kF, w.out.limits->most));
  }
  const dot::Divider divide(w.out.scale);
  const size_t columns = t.columns, has_bias = w.weights.bias ? 1 : 0;
  for (size_t column = 0; column < columns; column += kLanes) {
    const dot::Places places = dot::PlacesOf(uint32_t(column), t.live - 1, w.y_stride);
    const VF token_scales = hn::LoadU(kF, t.scales + column);
    const float* sums = t.sums + column;
    const int32_t* start = t.starts;
    const float *scale = RowScales(w), *bias = has_bias ? w.weights.bias : &no_bias;
    int8_t* y = static_cast<int8_t*>(w.y);
    for (uint32_t left = w.outputs; left > 0; --left, sums += columns, bias += has_bias) {
      const VF sum = dot::ToFloat(reinterpret_cast<const int32_t*>(sums), *start++);
      const VF scaled = hn::MulSet(hn::Mul(sum, token_scales), *scale++);
      dot::StoreCodesApart(divide(hn::AddSet(scaled, *bias)), least, most, zero, places, y++);
    }
  }
  return true;
}
