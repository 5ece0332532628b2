// SPDX-License-Identifier: Apache-2.0
//
// The fast Walsh-Hadamard transform: log2(block) steps, in each of which pairs (a, b) of elements become (a + b, a -
// b). The pairs of a step are a distance apart that halves from step to step: first whole vectors, then lanes of a
// vector. Sums and differences are rounded alike everywhere, so bits do not depend on the target.
#ifndef FOVEA_SRC_HADAMARD_HADAMARD_INL_
#define FOVEA_SRC_HADAMARD_HADAMARD_INL_

struct LaneNumbers {
  int32_t lanes[kLanes];
  constexpr LaneNumbers() : lanes() {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = int32_t(i);
  }
};
constexpr LaneNumbers kLaneNumbers;
FOVEA_INLINE VI LaneNumber() { return hn::LoadU(kI, kLaneNumbers.lanes); }
FOVEA_INLINE VI SignBit(VI v) { return hn::And(v, hn::Set(kI, INT32_MIN)); }

// The signs of the elements from d on, in the sign bits: a hash of the seed and of an element's number in its row.
FOVEA_INLINE VI SignsAt(size_t d, uint64_t seed) {
  VI high;
  const VI number = hn::Add(LaneNumber(), hn::Set(kI, int32_t(uint32_t(d) + uint32_t(seed))));
  VI low = hn::MulWide(number, 0x9e3779b1u, high);
  const VI mixed = hn::Add(hn::Xor(low, high), hn::Set(kI, int32_t(uint32_t(seed >> 32))));
  low = hn::MulWide(mixed, 0x85ebca77u, high);
  return SignBit(hn::Xor(low, high));
}
FOVEA_INLINE VF WithSigns(VF v, size_t d, uint64_t seed) {
  return hn::BitCast(kF, hn::Xor(hn::BitCast(kI, v), SignsAt(d, seed)));
}

// The steps within a vector: in the lanes i with i & kStep, a - b is the other lane's number minus the own one.
template <int kStep = int(kLanes) / 2>
FOVEA_INLINE VF StepsInVector(VF v, size_t block) {
  if constexpr (kStep == 0) {
    return v;
  } else {
    if (size_t(kStep) < block) {
      constexpr int kToSign = __builtin_clz(kStep);  // from the bit of the step to the sign bit
      const VI signs = SignBit(hn::ShiftLeft<kToSign>(LaneNumber()));
      v = hn::Add(hn::SwapLanes<kStep>(v), hn::BitCast(kF, hn::Xor(hn::BitCast(kI, v), signs)));
    }
    return StepsInVector<kStep / 2>(v, block);
  }
}

// y = x, after the steps within vectors of a block, times `scale`, with signs or without.
FOVEA_SHARED void PutRow(const HadamardRow& r, const float* x, size_t block, float scale, bool signs) {
  for (size_t d = 0; d < r.dim; d += kLanes) {
    const size_t n = r.dim - d < kLanes ? r.dim - d : kLanes;
    VF v = hn::MulSet(StepsInVector(hn::LoadN(kF, x + d, n), block), scale);
    if (signs) v = WithSigns(v, d, r.seed);
    hn::StoreN(v, kF, r.y + d, n);
  }
}

// The same where a block is kVectors vectors, which stay in registers.
template <int kVectors>
FOVEA_TEMPLATE void HadamardInRegisters(const HadamardRow& r) {
  constexpr size_t kBlock = kVectors * kLanes;
  for (size_t first = 0; first < r.dim; first += kBlock) {
    VF v[kVectors];
    FOVEA_EACH(i, kVectors) {
      v[i] = hn::LoadU(kF, r.x + first + i * kLanes);
      if (r.signs == kSignsFirst) v[i] = WithSigns(v[i], first + i * kLanes, r.seed);
    }
    FOVEA_UNROLL(16)
    for (size_t distance = kVectors / 2; distance > 0; distance /= 2) {
      FOVEA_EACH(i, kVectors / 2) {
        const size_t at = i + (i & (0 - distance));
        const VF a = v[at], b = v[at + distance];
        v[at] = hn::Add(a, b), v[at + distance] = hn::Sub(a, b);
      }
    }
    FOVEA_EACH(i, kVectors) {
      VF y = hn::MulSet(StepsInVector(v[i], kBlock), r.scale);
      if (r.signs == kSignsLast) y = WithSigns(y, first + i * kLanes, r.seed);
      hn::StoreU(y, kF, r.y + first + i * kLanes);
    }
  }
}

FOVEA_KERNEL void HadamardOneRow(const HadamardRow& r) {
  if constexpr (kLanes > 1 && !kSmallText) {
    if (r.block == 4 * kLanes) return HadamardInRegisters<4>(r);
    if (r.block == 8 * kLanes) return HadamardInRegisters<8>(r);
    if (hn::kRegisters >= 32 && r.block == 16 * kLanes) return HadamardInRegisters<16>(r);
  }
  const float* from = r.x;
  if (r.signs == kSignsFirst) {
    PutRow(r, from, 1, 1.0f, true);
    from = r.y;
  }
  for (size_t distance = r.block / 2; distance >= kLanes; distance /= 2) {
    for (size_t i = 0; i < r.dim / 2; i += kLanes) {
      const size_t d = i + (i & (0 - distance));  // pair i: the first of its elements
      const VF a = hn::LoadU(kF, from + d), b = hn::LoadU(kF, from + d + distance);
      hn::StoreU(hn::Add(a, b), kF, r.y + d);
      hn::StoreU(hn::Sub(a, b), kF, r.y + d + distance);
    }
    from = r.y;
  }
  PutRow(r, from, r.block, r.scale, r.signs == kSignsLast);
}

#endif  // FOVEA_SRC_HADAMARD_HADAMARD_INL_
