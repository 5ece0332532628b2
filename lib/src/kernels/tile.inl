// SPDX-License-Identifier: Apache-2.0
//
// The two matrix products of a tile and the running softmax between them. A lane is a query; keys and values are read
// as they lie in memory, an element at a time, and multiply whole vectors of queries.

using hn::kBlockKeys;
using hn::kBlockVectors;
using hn::kElems;

// Keys, or value elements, of a register block with this many vectors of rows: one vector alone needs more of them, or
// the multiply-adds would wait for one another.
template <int kVectors>
constexpr int kBlockOf = kVectors == 1 ? hn::kRegisters / 2 < 8 ? hn::kRegisters / 2 : 8 : kBlockKeys;

// acc[v] += x[v] * e[0..kElems), for one key or value element block.
template <int kCount, int kVectors, int i = 0>
FOVEA_INLINE void MulAddElems(const VF (&x)[kElems][kVectors], hn::Elems e, VF (&acc)[kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) acc[v] = hn::MulAddElem<i>(x[i][v], e, acc[v]);
  if constexpr (i + 1 < kCount) MulAddElems<kCount, kVectors, i + 1>(x, e, acc);
}

// The same for a block of keys, where elements are scalars: all of them stay in general registers, and a vector of rows
// at a time is loaded for them.
template <int kCount, int kKeys, int kVectors, int i = 0>
FOVEA_INLINE void MulAddScalars(const float* FOVEA_RESTRICT& q, size_t columns, const hn::Elems (&e)[kKeys],
                                VF (&acc)[kKeys][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    const VF x = hn::LoadU(kF, q + v * kLanes);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kKeys; ++k) acc[k][v] = hn::MulAddElem<i>(x, e[k], acc[k][v]);
  }
  q += columns;
  FOVEA_OPAQUE(q);
  if constexpr (i + 1 < kCount) MulAddScalars<kCount, kKeys, kVectors, i + 1>(q, columns, e, acc);
}

// s[key][vector] = sum_d q[d][vector] * key[d], for a block of keys. Each score is one chain of multiply-adds in the
// order of d, whatever the block, so that its bits do not depend on it.
template <int kVectors, int kKeys>
FOVEA_INLINE void ScoreBlock(const float* FOVEA_RESTRICT q, size_t columns, size_t head_dim,
                             const float* const (&key)[kKeys], float* FOVEA_RESTRICT s) {
  VF acc[kKeys][kVectors];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kKeys; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[k][v] = hn::Zero(kF);
  }
  if constexpr (hn::kScalarElems) {
    const float* at[kKeys];
    hn::Elems e[kKeys];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kKeys; ++k) at[k] = key[k];
    for (size_t n = head_dim / kElems; n > 0; --n) {
      FOVEA_UNROLL(8)
      for (int k = 0; k < kKeys; ++k) e[k] = hn::NextElems(at[k]);
      MulAddScalars<kElems>(q, columns, e, acc);
    }
    for (size_t n = head_dim % kElems; n > 0; --n) {
      FOVEA_UNROLL(8)
      for (int k = 0; k < kKeys; ++k) e[k] = hn::LoadElem(at[k]++);
      MulAddScalars<1>(q, columns, e, acc);
    }
  } else {
    VF x[kElems][kVectors];
    size_t d = 0;
    for (; d + kElems <= head_dim; d += kElems) {
      FOVEA_UNROLL(4)
      for (int i = 0; i < kElems; ++i) {
        FOVEA_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) x[i][v] = hn::LoadU(kF, q + (d + i) * columns + v * kLanes);
      }
      FOVEA_UNROLL(8)
      for (int k = 0; k < kKeys; ++k) MulAddElems<kElems>(x, hn::LoadElems(key[k] + d), acc[k]);
    }
    for (; d < head_dim; ++d) {  // never runs where kElems is 1
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) x[0][v] = hn::LoadU(kF, q + d * columns + v * kLanes);
      FOVEA_UNROLL(8)
      for (int k = 0; k < kKeys; ++k) MulAddElems<1>(x, hn::LoadElem(key[k] + d), acc[k]);
    }
  }
  FOVEA_UNROLL(8)
  for (int k = 0; k < kKeys; ++k, s += columns) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[k][v], kF, s + v * kLanes);
  }
}

// Scores of the keys [begin, end), for kVectors vectors of rows from `column` on. A last block that is not full repeats
// key end - 1: blocks tile the key tile, so there is room for its scores, and SoftmaxTile does not look at them.
template <int kVectors>
FOVEA_INLINE void ScoresOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr uint32_t kKeys = kBlockOf<kVectors>;
  static_assert(kKeyTile % kKeys == 0 && kKeyGrain % kKeys == 0, "blocks must tile the key tile");
  for (uint32_t j = keys.begin; j < keys.end; j += kKeys) {
    const float* key[kKeys];
    FOVEA_UNROLL(8)
    for (uint32_t k = 0; k < kKeys; ++k) {
      const uint32_t index = j + k < keys.end ? j + k : keys.end - 1;
      key[k] = keys.keys + ptrdiff_t(index) * keys.key_stride;
    }
    ScoreBlock<kVectors>(t.q + column, t.columns, t.head_dim, key, t.s + size_t(j) * t.columns + column);
  }
}

FOVEA_SHARED void ScoresOfVector(const QueryTile& t, const KeyTile& keys, size_t column) {
  ScoresOfVectors<1>(t, keys, column);
}
FOVEA_SHARED void ScoresOfBlock(const QueryTile& t, const KeyTile& keys, size_t column) {
  ScoresOfVectors<kBlockVectors>(t, keys, column);
}

template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  if constexpr (kVectors == 1) {
    ScoresOfVector(t, keys, column);
  } else if constexpr (kVectors == kBlockVectors) {
    ScoresOfBlock(t, keys, column);
  } else {
    ScoresOfVectors<kVectors>(t, keys, column);
  }
}

// A maximum of kLowest means that no visible score was more than -inf, see Visible.
FOVEA_INLINE VF MinusInfinityIfLowest(VF x) {
  return hn::IfThenElse(hn::Eq(x, hn::Set(kF, kLowest)), hn::Set(kF, -kInfinity), x);
}

// For one vector of rows: row_max and row_sum take in the scores of [begin, end), and s becomes weights. With `hides`,
// scores of -inf become weights of -0: their sign tells Values which values must not be looked at.
FOVEA_SHARED void SoftmaxTile(const QueryTile& t, uint32_t begin, uint32_t end, size_t column, bool hides) {
  constexpr size_t kAtOnce = kPreferSize ? 1 : 4;  // strands
  const size_t rows = t.columns;
  float* FOVEA_RESTRICT s = t.s + column;
  const VF minus_infinity = hn::Set(kF, -kInfinity);
  // Four strands, on a grid that starts with the tile: the order of the sum is the same for every begin and end.
  const uint32_t padded_end = (end + 3) & ~3u;
  for (uint32_t j = end; j < padded_end; ++j) hn::StoreU(minus_infinity, kF, s + j * rows);

  float* const s_begin = s + size_t(begin) * rows;
  float* const s_end = s + size_t(padded_end) * rows;
  const VF old_max = hn::LoadU(kF, t.row_max + column);
  VF max[4] = {old_max, old_max, old_max, old_max};
  for (const float* x = s_begin; x != s_end; x += kAtOnce * rows) {
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kAtOnce; ++i) max[i] = hn::Max(max[i], hn::LoadU(kF, x + i * rows));
  }
  VF new_max = kAtOnce == 1 ? max[0] : hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
  if (hides) new_max = MinusInfinityIfLowest(new_max);
  const VF shift = hn::IfThenZeroElse(hn::Eq(new_max, minus_infinity), new_max);

  VF sums[4];
  for (size_t strand = 0; strand < 4; strand += kAtOnce) {
    VF sum[kAtOnce];
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kAtOnce; ++i) sum[i] = hn::Zero(kF);
    float* row = s_begin + strand * rows;
    for (uint32_t j = begin; j < padded_end; j += 4, row += 4 * rows) {
      VF p[kAtOnce];
      FOVEA_UNROLL(4)
      for (size_t i = 0; i < kAtOnce; ++i) p[i] = hn::Sub(hn::LoadU(kF, row + i * rows), shift);
      Exp2(p);
      FOVEA_UNROLL(4)
      for (size_t i = 0; i < kAtOnce; ++i) {
        if (hides) {
          const MF hidden = hn::Eq(hn::LoadU(kF, row + i * rows), minus_infinity);
          p[i] = hn::IfThenElse(hidden, hn::Set(kF, -0.0f), p[i]);
        }
        hn::StoreU(p[i], kF, row + i * rows);
        sum[i] = hn::Add(sum[i], p[i]);
      }
    }
    FOVEA_UNROLL(4)
    for (size_t i = 0; i < kAtOnce; ++i) sums[strand + i] = sum[i];
  }
  const VF rescale = Exp2(hn::Sub(old_max, shift));
  const VF total = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  hn::StoreU(new_max, kF, t.row_max + column);
  hn::StoreU(hn::MulAdd(hn::LoadU(kF, t.row_sum + column), rescale, total), kF, t.row_sum + column);
  hn::StoreU(rescale, kF, t.rescale + column);
}

// acc[e] += p * value[e] for kElems consecutive elements; rows whose p is -0 do not look at the value.
template <bool kHides, int kCount, int kVectors, int kBlock, int i = 0>
FOVEA_INLINE void AddValueElems(const VF (&p)[kVectors], const MF (&hidden)[kVectors], hn::Elems value, int e,
                                VF (&acc)[kBlock][kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kHides) {
      acc[e + i][v] = hn::MulAddElemUnless<i>(hidden[v], p[v], value, acc[e + i][v]);
    } else {
      acc[e + i][v] = hn::MulAddElem<i>(p[v], value, acc[e + i][v]);
    }
  }
  if constexpr (i + 1 < kCount) AddValueElems<kHides, kCount, kVectors, kBlock, i + 1>(p, hidden, value, e, acc);
}

// The same for a block of elements and one vector of rows, where elements are scalars.
template <bool kHides, int kStep, int kVectors, int kBlock, int k = 0>
FOVEA_INLINE void AddValueScalars(VF p, MF hidden, const hn::Elems (&values)[kBlock / kStep], int v,
                                  VF (&acc)[kBlock][kVectors]) {
  VF& sum = acc[k][v];
  if constexpr (kHides) {
    sum = hn::MulAddElemUnless<k % kStep>(hidden, p, values[k / kStep], sum);
  } else {
    sum = hn::MulAddElem<k % kStep>(p, values[k / kStep], sum);
  }
  if constexpr (k + 1 < kBlock) {
    AddValueScalars<kHides, kStep, kVectors, kBlock, k + 1>(p, hidden, values, v, acc);
  }
}

// o_t[e][vector] = o_t[e][vector] * rescale + sum_j p[j][vector] * values[j][e], for kBlock elements of which the first
// `skip` are not stored.
template <bool kHides, int kVectors, int kBlock>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element, int skip) {
  constexpr int kStep = kBlock < kElems ? 1 : kElems;
  const size_t rows = t.columns;
  float* FOVEA_RESTRICT o_t = t.o + element * rows + column;
  VF acc[kBlock][kVectors], rescale[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) rescale[v] = hn::LoadU(kF, t.rescale + column + v * kLanes);
  const float* o = o_t;
  FOVEA_UNROLL(8)
  for (int e = 0; e < kBlock; ++e, o += rows) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) acc[e][v] = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale[v]);
  }
  const float* FOVEA_RESTRICT p_row = t.s + size_t(keys.begin) * rows + column;
  const float* value = keys.values + ptrdiff_t(keys.begin) * keys.value_stride + element;
  for (uint32_t j = keys.begin; j < keys.end; ++j, p_row += rows, value += keys.value_stride) {
    if constexpr (hn::kScalarElems) {
      hn::Elems elems[kBlock / kStep];
      FOVEA_UNROLL(8)
      for (int e = 0; e < kBlock; e += kStep) {
        elems[e / kStep] = kStep == 1 ? hn::LoadElem(value + e) : hn::LoadElems(value + e);
      }
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const VF p = hn::LoadU(kF, p_row + v * kLanes);
        AddValueScalars<kHides, kStep>(p, kHides ? hn::SignMask(p) : MF(), elems, v, acc);
      }
    } else {
      VF p[kVectors];
      MF hidden[kVectors];
      FOVEA_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        p[v] = hn::LoadU(kF, p_row + v * kLanes);
        if constexpr (kHides) hidden[v] = hn::SignMask(p[v]);
      }
      FOVEA_UNROLL(8)
      for (int e = 0; e < kBlock; e += kStep) {
        const hn::Elems elems = kStep == 1 ? hn::LoadElem(value + e) : hn::LoadElems(value + e);
        AddValueElems<kHides, kStep>(p, hidden, elems, e, acc);
      }
    }
  }
  FOVEA_UNROLL(8)
  for (int e = 0; e < kBlock; ++e, o_t += rows) {
    if (e < skip) continue;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[e][v], kF, o_t + v * kLanes);
  }
}

// One element. Which weights are hidden is seen in them.
FOVEA_SHARED void ValueElement(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
  ValueBlock<true, 1, 1>(t, keys, column, element, 0);
}

// All elements of the values: whole blocks, the last of which may overlap the one before it and then leaves its part
// alone.
template <bool kHides, int kVectors>
FOVEA_INLINE void ValuesOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr size_t kBlock = kBlockOf<kVectors>;
  const size_t value_dim = t.value_dim;
  if constexpr (kPreferSize) {  // what does not fill a block, an element at a time
    size_t e = 0;
    for (; e + kBlock <= value_dim; e += kBlock) ValueBlock<kHides, kVectors, kBlock>(t, keys, column, e, 0);
    for (; e < value_dim; ++e) {
      for (size_t v = 0; v < kVectors; ++v) ValueElement(t, keys, column + v * kLanes, e);
    }
    return;
  }
  if (value_dim < kBlock) {
    for (size_t e = 0; e < value_dim; ++e) ValueBlock<kHides, kVectors, 1>(t, keys, column, e, 0);
    return;
  }
  for (size_t e = 0; e < value_dim; e += kBlock) {
    const size_t start = e + kBlock <= value_dim ? e : value_dim - kBlock;
    ValueBlock<kHides, kVectors, kBlock>(t, keys, column, start, int(e - start));
  }
}

FOVEA_SHARED void ValuesOfBlock(const QueryTile& t, const KeyTile& keys, size_t column) {
  ValuesOfVectors<false, kBlockVectors>(t, keys, column);
}

template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  if constexpr (!kHides && kVectors == kBlockVectors) {
    ValuesOfBlock(t, keys, column);
  } else {
    ValuesOfVectors<kHides, kVectors>(t, keys, column);
  }
}
