// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of block_loops.inl for AArch64, which multiplies a vector by one lane of another. Registers are many
// and processors may be simple, so vectors are loaded before they are needed.

constexpr int kElems = 4;  // elements of a row that one vector holds

constexpr int RegistersForRows(int vectors, int rows) { return vectors + rows; }
constexpr int RegistersForValues(int vectors, int elements) { return vectors + elements / kElems; }

// acc[k][v] += sum_i x[i][v] * lane i of row[k], kLane <= i < kCount. xi is x[kLane]; x points behind it.
template <int kLane, int kCount, int kRows, int kVectors>
FOVEA_INLINE void MultiplyLanes(const VF (&xi)[kVectors], const float*& x, size_t columns, const VF (&row)[kRows],
                                VF (&acc)[kRows][kVectors]) {
  VF next[kVectors];
  if constexpr (kLane + 1 < kCount) hn::NextVectors(x, ptrdiff_t(columns), next);
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::MulAddLane<kLane>(xi[v], row[k], acc[k][v]);
  }
  if constexpr (kLane + 1 < kCount) MultiplyLanes<kLane + 1, kCount>(next, x, columns, row, acc);
}

// kCount elements of each row: kElems, or 1.
template <int kCount, int kRows, int kVectors>
FOVEA_INLINE void MultiplyElements(const float*& x, size_t columns, const float* (&at)[kRows],
                                   VF (&acc)[kRows][kVectors]) {
  VF row[kRows], xi[kVectors];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    row[k] = kCount == kElems ? hn::LoadU(kF, at[k]) : hn::Set(kF, *at[k]);
    at[k] += kCount;
    FOVEA_OPAQUE(at[k]);
  }
  hn::NextVectors(x, ptrdiff_t(columns), xi);
  MultiplyLanes<0, kCount>(xi, x, columns, row, acc);
}

// Brings nothing from `ahead` on: with 4 lanes arithmetic takes longer than memory does.
template <bool kAsks, int kRows, int kVectors>
FOVEA_INLINE void MultiplyPart(const float*& x, size_t columns, size_t dim, const float* (&at)[kRows], const float*,
                               VF (&acc)[kRows][kVectors]) {
  for (size_t n = dim / kElems; n > 0; --n) MultiplyElements<kElems>(x, columns, at, acc);
  for (size_t n = dim % kElems; n > 0; --n) MultiplyElements<1>(x, columns, at, acc);
}

// acc[e][v] += p[v] * lane e % kElems of value[e / kElems], kFirst <= e < kBlock.
template <bool kHides, int kFirst, int kVectors, int kLoads, int kBlock>
FOVEA_INLINE void AddLanes(const VF (&p)[kVectors], const MF (&hidden)[kVectors], const VF (&value)[kLoads],
                           VF (&acc)[kBlock][kVectors]) {
  constexpr int kLane = kFirst % kElems;
  const VF element = value[kFirst / kElems];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    VF& sum = acc[kFirst][v];
    sum =
        kHides ? hn::MulAddLaneUnless<kLane>(hidden[v], p[v], element, sum) : hn::MulAddLane<kLane>(p[v], element, sum);
  }
  if constexpr (kFirst + 1 < kBlock) AddLanes<kHides, kFirst + 1>(p, hidden, value, acc);
}

template <bool kHides, int kBlock, int kVectors>
FOVEA_INLINE void AddValues(const float* p, size_t columns, const float* value, ptrdiff_t stride, uint32_t n,
                            VF (&acc)[kBlock][kVectors]) {
  static_assert(kBlock == 1 || kBlock % kElems == 0, "a block is of whole vectors, or of one element");
  FOVEA_UNROLL_LONG_LOOP(4)
  for (; n > 0; --n) {
    VF elements[kBlock == 1 ? 1 : kBlock / kElems], pj[kVectors];
    MF hidden[kVectors];
    if constexpr (kBlock == 1) {
      elements[0] = hn::Set(kF, *value);
      value += stride;
    } else {
      hn::NextVectors(value, stride, elements);
    }
    hn::NextVectors(p, ptrdiff_t(columns), pj);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hidden[v] = kHides ? hn::SignMask(pj[v]) : MF();
    AddLanes<kHides, 0>(pj, hidden, elements, acc);
  }
}
