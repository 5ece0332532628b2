// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding: pairs of elements, turned by an angle that each token has for each pair.
#ifndef FOVEA_SRC_ROPE_ROPE_INL_
#define FOVEA_SRC_ROPE_ROPE_INL_

// Polynomials of y in [-1, 1], an eighth of a turn: minimax fits of the absolute error, coefficients rounded to float
// one at a time, lowest first.
FOVEA_INLINE VF SinOfEighth(VF y, VF y2) {
  VF p = hn::Set(kF, -3.55794182e-05f);
  p = hn::MulAdd(p, y2, hn::Set(kF, 0.00248937076f));
  p = hn::MulAdd(p, y2, hn::Set(kF, -0.0807451308f));
  p = hn::MulAdd(p, y2, hn::Set(kF, 0.785398126f));
  return hn::Mul(p, y);
}
FOVEA_INLINE VF CosOfEighth(VF y2) {
  VF p = hn::Set(kF, 3.49051766e-06f);
  p = hn::MulAdd(p, y2, hn::Set(kF, -0.000325863337f));
  p = hn::MulAdd(p, y2, hn::Set(kF, 0.0158542823f));
  p = hn::MulAdd(p, y2, hn::Set(kF, -0.308425128f));
  return hn::MulAdd(p, y2, hn::Set(kF, 1.0f));
}

// 1 or -1: the sign in bit 1 of a quarter's number.
FOVEA_INLINE VF SignOfQuarter(VI quarter) {
  const VI sign = hn::And(hn::ShiftLeft<30>(quarter), hn::Set(kI, int32_t(0x80000000u)));
  return hn::BitCast(kF, hn::Or(sign, hn::Set(kI, 0x3f800000)));
}

// For all angles, in units of 2^-32 turns. Largest error 8.5e-8, 8.8e-8 not fused.
FOVEA_INLINE void SinCos(VI angle, VF& sin, VF& cos) {
  // The nearest quarter of a turn, and what is left, at most an eighth.
  const VI quarter = hn::ShiftRight<30>(hn::Add(angle, hn::Set(kI, 1 << 29)));
  const VI rest = hn::Sub(angle, hn::ShiftLeft<30>(quarter));
  const VF y = hn::Mul(hn::ConvertTo(kF, rest), hn::Set(kF, 1.0f / (1 << 29)));
  const VF y2 = hn::Mul(y, y);
  const VF s = SinOfEighth(y, y2), c = CosOfEighth(y2);
  const MF odd = hn::SignMask(hn::BitCast(kF, hn::ShiftLeft<31>(quarter)));
  sin = hn::Mul(hn::IfThenElse(odd, c, s), SignOfQuarter(quarter));
  cos = hn::Mul(hn::IfThenElse(odd, s, c), SignOfQuarter(hn::Add(quarter, hn::Set(kI, 1))));
}

FOVEA_KERNEL void RopeAngles(const uint64_t* turns, uint64_t position, size_t pairs, float* cos, float* sin) {
  for (size_t i = 0; i < pairs; i += kLanes) {
    const size_t count = pairs - i < kLanes ? pairs - i : kLanes;
    int32_t angles[kLanes] = {};
    for (size_t k = 0; k < count; ++k) {
      angles[k] = int32_t((position * turns[i + k] + (uint64_t(1) << 31)) >> 32);  // rounded, to 2^-33 turns
    }
    VF s, c;
    SinCos(hn::LoadU(kI, angles), s, c);
    hn::StoreN(s, kF, sin + i, count);
    hn::StoreN(c, kF, cos + i, count);
  }
}

// Turns the pairs (a, b) in place.
FOVEA_INLINE void Turn(VF& a, VF& b, VF cos, VF sin) {
  const VF turned = hn::NegMulAdd(b, sin, hn::Mul(a, cos));
  b = hn::MulAdd(a, sin, hn::Mul(b, cos));
  a = turned;
}

FOVEA_INLINE void TurnHalves(const float* in, float* out, size_t distance, size_t pairs, const float* cos,
                             const float* sin) {
  const size_t whole = pairs / kLanes * kLanes, rest = pairs - whole;
  for (size_t i = 0; i < whole; i += kLanes) {
    VF a = hn::LoadU(kF, in + i), b = hn::LoadU(kF, in + distance + i);
    Turn(a, b, hn::LoadU(kF, cos + i), hn::LoadU(kF, sin + i));
    hn::StoreU(a, kF, out + i);
    hn::StoreU(b, kF, out + distance + i);
  }
  if (rest == 0) return;
  VF a = hn::LoadN(kF, in + whole, rest), b = hn::LoadN(kF, in + distance + whole, rest);
  Turn(a, b, hn::LoadN(kF, cos + whole, rest), hn::LoadN(kF, sin + whole, rest));
  hn::StoreN(a, kF, out + whole, rest);
  hn::StoreN(b, kF, out + distance + whole, rest);
}

FOVEA_INLINE void TurnNeighbours(const float* in, float* out, size_t pairs, const float* cos, const float* sin) {
  const size_t whole = pairs / kLanes * kLanes, rest = pairs - whole;
  for (size_t i = 0; i < whole; i += kLanes) {
    VF a, b;
    hn::LoadPairs(kF, in + 2 * i, a, b);
    Turn(a, b, hn::LoadU(kF, cos + i), hn::LoadU(kF, sin + i));
    hn::StorePairs(a, b, kF, out + 2 * i);
  }
  if (rest == 0) return;
  float part[2 * kLanes] = {};
  for (size_t k = 0; k < 2 * rest; ++k) part[k] = in[2 * whole + k];
  VF a, b;
  hn::LoadPairs(kF, part, a, b);
  Turn(a, b, hn::LoadN(kF, cos + whole, rest), hn::LoadN(kF, sin + whole, rest));
  hn::StorePairs(a, b, kF, part);
  for (size_t k = 0; k < 2 * rest; ++k) out[2 * whole + k] = part[k];
}

template <bool kInterleaved>
FOVEA_TEMPLATE void RopeRowsOf(const RopeRows& r) {
  for (size_t head = 0; head < r.heads; ++head) {
    const float* in = r.in + ptrdiff_t(head) * r.in_head_stride;
    float* out = r.out + ptrdiff_t(head) * r.out_head_stride;
    for (size_t token = 0; token < r.tokens; ++token) {
      const float *cos = r.cos + token * r.pairs, *sin = r.sin + token * r.pairs;
      const float* row_in = in + ptrdiff_t(token) * r.in_token_stride;
      float* row_out = out + ptrdiff_t(token) * r.out_token_stride;
      if constexpr (kInterleaved) {
        TurnNeighbours(row_in, row_out, r.pairs, cos, sin);
      } else {
        TurnHalves(row_in, row_out, r.distance, r.pairs, cos, sin);
      }
    }
  }
}

FOVEA_KERNEL void RopeHalfSplit(const RopeRows& rows) { RopeRowsOf<false>(rows); }
FOVEA_KERNEL void RopeInterleaved(const RopeRows& rows) { RopeRowsOf<true>(rows); }

constexpr RopeKernels kRopeKernels = {config::kRopeTurns ? RopeAngles : nullptr,
                                      config::kRopeHalfSplit ? RopeHalfSplit : nullptr,
                                      config::kRopeInterleaved ? RopeInterleaved : nullptr};

#endif  // FOVEA_SRC_ROPE_ROPE_INL_
