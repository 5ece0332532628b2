// SPDX-License-Identifier: Apache-2.0
//
// The two inner loops of the products, over a register block of sums. A backend header names another file if its
// processor needs other loops.
#ifndef FOVEA_SRC_MATH_BLOCK_LOOPS_INL_
#define FOVEA_SRC_MATH_BLOCK_LOOPS_INL_

// Registers that a register block needs in addition to its sums: the vectors of x or p, and one element, broadcast.
constexpr int RegistersForRows(int vectors, int) { return vectors + 1; }
constexpr int RegistersForValues(int vectors, int) { return vectors + 1; }

// acc[k][v] += sum_d x[d][v] * at[k][d], d < dim. x and `at` advance past what is read. With kPrefetches, as many
// floats as are read of the rows are prefetched from `ahead` on.
template <bool kPrefetches, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows],
                               const float* ahead, VF (&acc)[kRows][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (size_t d = 0; d < dim; ++d) {
    VF xd[kVectors];
    FOVEA_EACH(v, kVectors) xd[v] = hn::LoadU(kF, x + v * kLanes);
    x += columns;
    if constexpr (kPrefetches) __builtin_prefetch(ahead + d * kRows, 0, 2);
    FOVEA_EACH(k, kRows) {
      const VF element = hn::Set(kF, at[k][d]);
      FOVEA_EACH(v, kVectors) acc[k][v] = hn::MulAdd(xd[v], element, acc[k][v]);
    }
  }
  FOVEA_EACH(k, kRows) at[k] += dim;
}

// acc[e][v] += sum_j p[j][v] * value[j][e], j < n. With kHides, a p of -0 adds nothing, whatever the value.
template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n, value += stride) {
    VF pj[kVectors];
    MF hidden[kVectors];
    FOVEA_EACH(v, kVectors) pj[v] = hn::LoadU(kF, p + v * kLanes);
    p += columns;
    FOVEA_EACH(v, kVectors) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    FOVEA_EACH(e, kBlock) {
      const VF element = hn::Set(kF, value[e]);
      FOVEA_EACH(v, kVectors) {
        VF& sum = acc[e][v];
        sum = kHides ? hn::MulAddUnless(hidden[v], pj[v], element, sum) : hn::MulAdd(pj[v], element, sum);
      }
    }
  }
}

#endif  // FOVEA_SRC_MATH_BLOCK_LOOPS_INL_
