// SPDX-License-Identifier: Apache-2.0
//
// A tile of halves times rows of halves, by register blocks: the product that q.k and a linear layer share, over the
// words of ground/simd/halves.inl. A lane is a query, or a token; rows (keys, or weights) are read as they are stored.
// A chain of multiply-adds in halves has at most kPartialHalves products. Chains are added in f32, in their order. So
// no register block changes bits.
#ifndef FOVEA_SRC_MATH_HALF_BLOCK_INL_
#define FOVEA_SRC_MATH_HALF_BLOCK_INL_

#include "ground/simd/halves.inl"

constexpr size_t kPartialHalves = 32;

template <class Half, bool = Half::kByScalars>
struct HalfBlock {
  using Element = typename Half::Element;
  using V = typename Half::V;
  using E = typename Half::E;
  static constexpr int kPieces = Half::kPieces, kReads = Half::kReads;

  // sums[k] += an element of x, which advances by `step`, times element i of e[k].
  template <int i, int kRows, int kVectors>
  FOVEA_INLINE void AddElement(const Element*& x, size_t step, const E (&e)[kRows], V (&sums)[kRows][kVectors]) {
    V xv[kVectors];  // all at once: one instruction loads two
    FOVEA_EACH(v, kVectors) xv[v] = Half::Load(x + v * Half::kLanes);
    FOVEA_EACH(v, kVectors) {
      FOVEA_EACH(k, kRows) sums[k][v] = Half::template MulAdd<i>(xv[v], e[k], sums[k][v]);
    }
    x += step;
  }
  template <int i, int kRows, int kVectors>
  FOVEA_INLINE void AddElements(const Element*& x, size_t step, const E (&e)[kRows], V (&sums)[kRows][kVectors]) {
    AddElement<i>(x, step, e, sums);
    if constexpr (i + 1 < kReads) AddElements<i + 1>(x, step, e, sums);
  }

  // sums[k][v] += sum_d x[d][v] * at[k][d], d < n. x and `at` advance past what is read.
  template <int kRows, int kVectors>
  FOVEA_INLINE void AddRows(const Element*& x, size_t columns, const Element* (&at)[kRows], size_t n,
                            V (&sums)[kRows][kVectors]) {
    E e[kRows];
    for (; n >= kReads; n -= kReads) {
      FOVEA_EACH(k, kRows) {
        e[k] = Half::LoadE(at[k]);
        at[k] += kReads;
      }
      AddElements<0>(x, columns, e, sums);
    }
    for (; kReads > 1 && n > 0; --n) {
      FOVEA_EACH(k, kRows) e[k] = Half::LoadOne(at[k]++);
      AddElement<0>(x, columns, e, sums);
    }
  }

  // Stores the sums of a chain, or if `adds` adds them to those that are there.
  template <int kRows, int kVectors>
  FOVEA_INLINE void EndChains(const V (&chains)[kRows][kVectors], bool adds, size_t columns, float* s) {
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k, s += columns) {
      FOVEA_EACH(v, kVectors) {
        VF part[kPieces], all[kPieces];
        Half::Widen(chains[k][v], part);
        if (adds) {
          Half::LoadFloats(s + v * Half::kLanes, all);
          for (int i = 0; i < kPieces; ++i) part[i] = hn::Add(all[i], part[i]);
        }
        Half::StoreFloats(part, s + v * Half::kLanes);
      }
    }
  }

  // sums[row][vector] = sum_d x[d][vector] * row[d], d < dim, for the kRows rows that begin at `at`; += if goes_on.
  template <int kVectors, int kRows>
  FOVEA_INLINE void Multiply(const Element* x, size_t columns, size_t dim, const Element* (&at)[kRows], bool goes_on,
                             float* sums) {
    FOVEA_EACH(k, kRows) FOVEA_OPAQUE(at[k]);
    for (size_t n; dim > 0; dim -= n, goes_on = true) {
      n = dim < kPartialHalves ? dim : kPartialHalves;
      V chains[kRows][kVectors];
      SetAll(chains, Half::Zero());
      AddRows(x, columns, at, n, chains);
      if (!kSmallText && goes_on) {  // once for all sums of a block
        EndChains(chains, true, columns, sums);
      } else {
        EndChains(chains, kSmallText && goes_on, columns, sums);
      }
    }
  }
};

#include "ground/math/half_block_helium.inl"

#endif  // FOVEA_SRC_MATH_HALF_BLOCK_INL_
