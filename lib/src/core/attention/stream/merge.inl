// SPDX-License-Identifier: Apache-2.0
//
// Merges two partial states of the same rows, over different keys.
#ifndef FOVEA_SRC_ATTENTION_STREAM_MERGE_INL_
#define FOVEA_SRC_ATTENTION_STREAM_MERGE_INL_

#include "ground/math/math.inl"

// into += from. The one with the smaller maximum is rescaled first.
FOVEA_INLINE void AddRescaled(float* into, const float* from, size_t count, MF from_larger, VF rescale) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t n = count - i < kLanes ? count - i : kLanes;
    const VF a = hn::LoadN(kF, into + i, n), b = hn::LoadN(kF, from + i, n);
    const VF larger = hn::IfThenElse(from_larger, b, a), smaller = hn::IfThenElse(from_larger, a, b);
    hn::StoreN(hn::MulAdd(smaller, rescale, larger), kF, into + i, n);
  }
}

// Merges `from` into `into`: the state with the smaller maximum is rescaled to the larger. If the two are exchanged,
// the result is the same.
FOVEA_KERNEL void MergeStates(const StateRows& into, const StateRows& from, size_t rows, size_t value_dim) {
  for (size_t r = 0; r < rows; ++r) {
    const VF a = hn::Set(kF, into.max[r]), b = hn::Set(kF, from.max[r]);
    const MF from_larger = hn::Lt(a, b);
    const VF larger = hn::IfThenElse(from_larger, b, a), smaller = hn::IfThenElse(from_larger, a, b);
    const VF shift = hn::IfThenZeroElse(hn::Eq(larger, hn::Set(kF, -kInfinity)), larger);
    const VF rescale = Exp2(hn::Sub(smaller, shift));
    AddRescaled(into.o + r * value_dim, from.o + r * value_dim, value_dim, from_larger, rescale);
    AddRescaled(into.sum + r, from.sum + r, 1, from_larger, rescale);
    // If one of them is NaN, the maximum is NaN.
    hn::StoreN(hn::IfThenElse(hn::Eq(b, b), larger, b), kF, into.max + r, 1);
  }
}

#endif  // FOVEA_SRC_ATTENTION_STREAM_MERGE_INL_
