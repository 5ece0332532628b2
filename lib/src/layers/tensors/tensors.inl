// SPDX-License-Identifier: Apache-2.0
//
// Sums, products and means of rows. Lanes run along the row.
#ifndef FOVEA_SRC_TENSORS_TENSORS_INL_
#define FOVEA_SRC_TENSORS_TENSORS_INL_

#include "ground/formats/rows.inl"

// Rows of f32 have a loop of their own.
template <class Combine>
FOVEA_INLINE void CombineRows(const PairRow& r, const Combine& combine) {
  size_t i = 0;
  if (r.y_dtype == FOVEA_F32 && r.a_dtype == FOVEA_F32 && r.b_dtype == FOVEA_F32) {
    const float *const a = static_cast<const float*>(r.a), *const b = static_cast<const float*>(r.b);
    float* const y = static_cast<float*>(r.y);
    FOVEA_UNROLL_LONG_LOOP(4)
    for (; i + kLanes <= r.dim; i += kLanes) hn::StoreU(combine(hn::LoadU(kF, a + i), hn::LoadU(kF, b + i)), kF, y + i);
  }
  for (; i < r.dim; i += kLanes) {
    const size_t n = LanesBefore(i, r.dim);
    StorePart(r.y_dtype, combine(LoadPart(r.a_dtype, r.a, i, n), LoadPart(r.b_dtype, r.b, i, n)), r.y, i, n);
  }
}
FOVEA_KERNEL void AddRows(const PairRow& r) {
  CombineRows(r, [](VF a, VF b) { return hn::Add(a, b); });
}
FOVEA_KERNEL void MultiplyRows(const PairRow& r) {
  CombineRows(r, [](VF a, VF b) { return hn::Mul(a, b); });
}

FOVEA_KERNEL void MeanOfRows(const MeanRow& r) {
  const VF count = hn::Set(kF, r.tokens > 0 ? float(r.tokens) : 1.0f);
  for (size_t i = 0; i < r.dim; i += kLanes) {
    const size_t n = LanesBefore(i, r.dim);
    VF sum = hn::Zero(kF);
    for (size_t t = 0; t < r.tokens; ++t) {
      const void* const x = static_cast<const char*>(r.x) + ptrdiff_t(t) * r.stride;
      const VF next = LoadPart(r.x_dtype, x, i, n);
      sum = t == 0 ? next : hn::Add(sum, next);
    }
    StorePart(r.y_dtype, hn::Div(sum, count), r.y, i, n);
  }
}

constexpr TensorKernels kTensorKernels = {AddRows, MultiplyRows, MeanOfRows};

#endif  // FOVEA_SRC_TENSORS_TENSORS_INL_
