// SPDX-License-Identifier: Apache-2.0
//
// The two products of a tile with integer codes, and the softmax between them. A lane is a query row. Written over the
// dot words of one instruction (simd/dot_*.inl):
//   x = query codes [head_dim / group][column][group], rows = keys as they lie          -> scores, f32
//   x = weight codes [key / group][column][group], rows = values [key / group][element][group] -> sums of values
// Between the products Mul and Add are apart and the sums' order is fixed by the keys' places in the tile, so that the
// bits are the same on every target.

using hn::kBlockVectors;
constexpr size_t kGroup = kDotTraits[dot::kKind].group, kReads = kDotTraits[dot::kKind].reads;
constexpr int kElements = int(kReads / kGroup);  // groups that one load of a row brings

FOVEA_INLINE dot::Code* QueryCodes(const QueryTile& t) { return reinterpret_cast<dot::Code*>(t.q); }
FOVEA_INLINE dot::Code* WeightCodes(const QueryTile& t) {
  return reinterpret_cast<dot::Code*>(sizeof(dot::Code) == sizeof(float) ? t.s : t.s + size_t{kKeyTile} * t.columns);
}
FOVEA_INLINE float* QueryScales(const QueryTile& t) { return t.rescale + t.columns; }
FOVEA_INLINE float* ValueFactors(const QueryTile& t) { return t.rescale + 2 * size_t{t.columns}; }

// Rows, or elements of the values, of a register block.
template <int kVectors, int kCount = 8>
constexpr int I8Block() {
  if constexpr (kCount <= kElements || kCount * kVectors + dot::RegistersBeside(kVectors, kCount) <= hn::kRegisters) {
    return kCount;
  } else {
    return I8Block<kVectors, kCount / 2>();
  }
}

// ------------------------------------------------------------------------------------------------------- queries

// A row of queries times scale.
struct ScaledRow {
  fovea_dtype dtype;
  const char* data;
  VF scale;
  inline __attribute__((always_inline)) VF operator()(size_t d, size_t n) const {
    return hn::Mul(LoadPart(dtype, data, d, n), scale);
  }
};

// Puts the codes of `count` elements from d on into a column of x: groups of them lie together.
FOVEA_INLINE void PutCodes(const dot::Code* codes, size_t d, size_t count, dot::Code* x, size_t columns) {
  constexpr size_t kChunk = kGroup < kLanes ? kGroup : kLanes;
  for (size_t i = 0; i < count; i += kChunk) {
    dot::Code* const to = x + (d + i) / kGroup * columns * kGroup + (d + i) % kGroup;
    __builtin_memcpy(to, codes + i, kChunk * sizeof *codes);
  }
}

FOVEA_KERNEL void Begin(const QueryTile& t, const TypedRows& q, float scale) {
  const size_t columns = t.columns, padded = round_up(t.head_dim, kReads);
  const RowArray<char> queries = BytesOf(q);
  for (size_t column = 0; column < columns; ++column) {
    const ptrdiff_t offset = RowOffset(t, column, queries.token_stride, queries.head_stride);
    const ScaledRow row = {q.dtype, queries.data + offset, hn::Set(kF, scale)};
    const ScaleI8 fit = ScaleI8::Of(row, t.head_dim);
    hn::StoreN(fit.scale, kF, QueryScales(t) + column, 1);
    dot::Code* const x = QueryCodes(t) + column * kGroup;
    for (size_t d = 0; d < padded; d += kLanes) {
      const size_t n = d >= t.head_dim ? 0 : t.head_dim - d < kLanes ? t.head_dim - d : kLanes;
      dot::Code codes[kLanes];
      dot::StoreQueries(fit.Biased(row(d, n)), codes);
      PutCodes(codes, d, padded - d < kLanes ? padded - d : kLanes, x, columns);
    }
  }
  for (size_t column = 0; column < columns; column += kLanes) {
    hn::StoreU(hn::Set(kF, -kInfinity), kF, t.row_max + column);
    hn::StoreU(hn::Zero(kF), kF, t.row_sum + column);
  }
  for (size_t i = 0; i < columns * t.value_dim; i += kLanes) hn::StoreU(hn::Zero(kF), kF, t.o + i);
}

// ------------------------------------------------------------------------------------------------------ products

// sums[k][v] += codes of row k times as many codes of columns, from x on, which moves behind them. A load of a row
// brings one group, and is used at once.
template <int kRows, int kVectors>
FOVEA_INLINE void AddGroup(const dot::Code*& x, size_t columns, const dot::RowCode* const (&row)[kRows], size_t d,
                           dot::Sum (&sums)[kRows][kVectors]) {
  dot::X at[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
  x += columns * kGroup;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    const dot::E e = dot::LoadE(row[k] + d);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::DotAdd<0>(at[v], e, sums[k][v]);
  }
}
// The same where a load e[k] brings several.
template <int i, int kRows, int kVectors>
FOVEA_INLINE void AddGroups(const dot::Code*& x, size_t columns, const dot::E (&e)[kRows],
                            dot::Sum (&sums)[kRows][kVectors]) {
  dot::X at[kVectors];
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
  x += columns * kGroup;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::DotAdd<i>(at[v], e[k], sums[k][v]);
  }
  if constexpr (i + 1 < kElements) AddGroups<i + 1>(x, columns, e, sums);
}

// Scores of the keys j .. j + kRows - 1, of which those behind the end repeat the last one.
template <int kVectors, int kRows>
FOVEA_INLINE void ScoreBlock(const QueryTile& t, const KeyTile& keys, size_t column, uint32_t j) {
  const dot::RowCode* at[kRows];
  const I8Numbers& numbers = *keys.numbers;
  dot::Sum sums[kRows][kVectors];
  uint32_t key[kRows];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    key[k] = j + k < keys.end ? j + k : keys.end - 1;
    const char* const row = static_cast<const char*>(keys.keys.data) + ptrdiff_t(key[k]) * keys.keys.stride;
    at[k] = reinterpret_cast<const dot::RowCode*>(row);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[k][v] = dot::Start(dot::kUnsignedQueries ? numbers.key_start[key[k]] : 0);
  }
  const dot::Code* x = QueryCodes(t) + column * kGroup;
  const size_t columns = t.columns, dim = t.head_dim, whole = dim / kReads * kReads;
  for (size_t d = 0; d < whole; d += kReads) {
    if constexpr (kElements == 1) {
      AddGroup(x, columns, at, d, sums);
      continue;
    }
    dot::E e[kRows];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = dot::LoadE(at[k] + d);
    AddGroups<0>(x, columns, e, sums);
  }
  if (whole < dim) {
    dot::E e[kRows];
    FOVEA_UNROLL(8)
    for (int k = 0; k < kRows; ++k) e[k] = dot::LoadPartOfE(at[k] + whole, dim - whole);
    AddGroups<0>(x, columns, e, sums);
  }
  float* s = t.s + size_t(j) * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, s += columns) {
    const VF key_scale = hn::Set(kF, numbers.key_scale[key[k]]);
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF query_scale = hn::LoadU(kF, QueryScales(t) + column + v * kLanes);
      hn::StoreU(hn::Mul(hn::Mul(dot::ToFloat(sums[k][v]), key_scale), query_scale), kF, s + v * kLanes);
    }
  }
}

template <int kVectors>
FOVEA_INLINE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = I8Block<kVectors>();
  static_assert(kKeyGrain % kRows == 0, "blocks must tile the key tile");
  for (uint32_t j = keys.begin; j < keys.end; j += kRows) ScoreBlock<kVectors, kRows>(t, keys, column, j);
}

// sums[i][v] += the weights of a group of keys times element i of those in e.
template <int i, int kVectors>
FOVEA_INLINE void AddElements(const dot::X (&x)[kVectors], dot::E e, dot::Sum (*sums)[kVectors]) {
  FOVEA_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) sums[i][v] = dot::DotAdd<i>(x[v], e, sums[i][v]);
  if constexpr (i + 1 < kElements) AddElements<i + 1>(x, e, sums);
}

// o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e], for a block of elements.
template <int kVectors, int kRows>
FOVEA_INLINE void ValueBlock(const QueryTile& t, const KeyTile& keys, size_t column, size_t element) {
  constexpr int kLoads = kRows / kElements;
  const I8Numbers& numbers = *keys.numbers;
  const size_t columns = t.columns, padded = round_up(t.value_dim, kValueGrain);
  dot::Sum sums[kRows][kVectors];
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k) {
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      sums[k][v] = dot::Start(dot::kSignedWeights ? numbers.value_start[element + k] : 0);
    }
  }
  const uint32_t first = (dot::kSignedWeights ? numbers.begin : keys.begin) / kGroup;
  const uint32_t end = ((dot::kSignedWeights ? numbers.end : keys.end) + kGroup - 1) / kGroup;
  const dot::Code* x = WeightCodes(t) + (size_t(first) * columns + column) * kGroup;
  const dot::RowCode* value =
      static_cast<const dot::RowCode*>(keys.values.data) + (size_t(first) * padded + element) * kGroup;
  for (uint32_t g = first; g < end; ++g, x += columns * kGroup, value += padded * kGroup) {
    dot::X at[kVectors];
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) at[v] = dot::LoadX(x + v * kLanes * kGroup);
    FOVEA_UNROLL(8)
    for (int k = 0; k < kLoads; ++k) {
      AddElements<0>(at, dot::LoadE(value + k * kReads), &sums[k * kElements]);
    }
  }
  float* o = t.o + element * columns + column;
  FOVEA_UNROLL(8)
  for (int k = 0; k < kRows; ++k, o += columns) {
    if (element + k >= t.value_dim) return;
    FOVEA_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VF rescale = hn::LoadU(kF, t.rescale + column + v * kLanes);
      const VF factor = hn::LoadU(kF, ValueFactors(t) + column + v * kLanes);
      const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale);
      hn::StoreU(hn::Add(old, hn::Mul(dot::ToFloat(sums[k][v]), factor)), kF, o + v * kLanes);
    }
  }
}

template <bool kHides, int kVectors>
FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
  constexpr int kRows = I8Block<kVectors>();
  static_assert(kValueGrain % kRows == 0, "blocks must tile the values");
  for (size_t e = 0; e < t.value_dim; e += kRows) ValueBlock<kVectors, kRows>(t, keys, column, e);
}
