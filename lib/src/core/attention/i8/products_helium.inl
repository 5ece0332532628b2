// SPDX-License-Identifier: Apache-2.0
//
// products.inl for Helium, whose sums are in general registers.
#ifndef FOVEA_SRC_ATTENTION_I8_PRODUCTS_HELIUM_INL_
#define FOVEA_SRC_ATTENTION_I8_PRODUCTS_HELIUM_INL_

#include "core/attention/i8/products.inl"
#include "ground/math/dot_chunks_helium.inl"

template <class Dot>
struct I8Products<Dot, kDotHelium> {
  using Codes = I8Codes<Dot>;
  using Bytes = typename Dot::Bytes;

  // The sums are stored in `s` until they become floats.
  FOVEA_INLINE int32_t* Sums(const QueryTile& t) { return reinterpret_cast<int32_t*>(t.s); }

  // Like ValuesOfVectors called where size counts: Attend and ScoresOut have the same code, and score steps are not
  // called with its registers on the stack.
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void Scores(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns;
    const int8_t* const rows = static_cast<const int8_t*>(keys.keys.data) + ptrdiff_t(keys.begin) * keys.keys.stride;
    int32_t* const sums = Sums(t) + size_t(keys.begin) * columns + column;
    FOVEA_COMMON_NAMESPACE::byte_kernels::multiply_rows(Codes::Queries(t) + 16 * column, columns, rows,
                                                        keys.keys.stride, keys.end - keys.begin, t.head_dim, false,
                                                        sums, kVectors * kLanes);
    VF query_scale[kVectors];
    FOVEA_EACH(v, kVectors) query_scale[v] = hn::LoadU(kF, query_scales(t) + column + v * kLanes);
    float* s = t.s + size_t(keys.begin) * columns + column;
    const float* key_scale = keys.numbers().key_scale + keys.begin;
    for (uint32_t left = keys.end - keys.begin; left > 0; --left, s += columns, ++key_scale) {
      const float scale = *key_scale;
      FOVEA_EACH(v, kVectors) {
        const VF scaled = hn::MulSet(Dot::ToFloat(reinterpret_cast<const int32_t*>(s + v * kLanes)), scale);
        hn::StoreU(hn::Mul(scaled, query_scale[v]), kF, s + v * kLanes);
      }
    }
  }

  // A cursor over elements of packed values.
  struct ValueCursor {
    const int8_t* group[4];
    template <int kChunk>
    FOVEA_MEMBER Bytes Load() {
      return Dot::NextBytes(group[kChunk]);
    }
    FOVEA_MEMBER void Next() {}
  };
  FOVEA_SECTION_OF(Dot)
  FOVEA_CALLED void MultiplyValues(const QueryTile& t, const KeyTile& keys, size_t column, size_t element,
                                   uint32_t count, size_t wanted) {
    const size_t columns = t.columns, group = padded_values(t.value_dim) * 16;
    const size_t first = keys.numbers().begin / 16, end = (keys.numbers().end + 15) / 16;
    const int8_t* const x = Codes::Weights(t) + (first * columns + column) * 16;
    const int8_t* const values = static_cast<const int8_t*>(keys.values.data) + first * group + element * 16;
    const ValueCursor rows = {{values, values + group, values + 2 * group, values + 3 * group}};
    int32_t* const sums = Sums(t) + column;
    if (end - first == 1) return MultiplyChunks<1, false>(x, columns, rows, count, sums, wanted);
    if (end - first == 2) return MultiplyChunks<2, false>(x, columns, rows, count, sums, wanted);
    if (end - first == 3) return MultiplyChunks<3, false>(x, columns, rows, count, sums, wanted);
    MultiplyChunks<4, false>(x, columns, rows, count, sums, wanted);
  }

  // o[e][vector] = o[e][vector] * rescale + factor * sum_j weight[j][vector] * value[j][e].
  template <int kVectors>
  FOVEA_SHARED_TEMPLATE void ValuesOfVectors(const QueryTile& t, const KeyTile& keys, size_t column) {
    const size_t columns = t.columns;
    VF rescale[kVectors], factor[kVectors];
    FOVEA_EACH(v, kVectors) {
      rescale[v] = hn::LoadU(kF, t.rescale + column + v * kLanes);
      factor[v] = hn::LoadU(kF, value_factors(t) + column + v * kLanes);
    }
    float* o = t.o + column;
    for (size_t element = 0; element < t.value_dim; element += kKeyTile) {
      const uint32_t count = t.value_dim - element < kKeyTile ? uint32_t(t.value_dim - element) : kKeyTile;
      MultiplyValues(t, keys, column, element, count, kVectors * kLanes);
      const int32_t *sums = Sums(t) + column, *start = keys.numbers().value_start + element;
      for (uint32_t left = count; left > 0; --left, sums += columns, o += columns, ++start) {
        const int32_t begin = *start;
        FOVEA_EACH(v, kVectors) {
          const VF sum = Dot::ToFloat(sums + v * kLanes, begin);
          const VF old = hn::Mul(hn::LoadU(kF, o + v * kLanes), rescale[v]);
          hn::StoreU(hn::Add(old, hn::Mul(sum, factor[v])), kF, o + v * kLanes);
        }
      }
    }
  }
  template <bool kHides, int kVectors>
  FOVEA_INLINE void Values(const QueryTile& t, const KeyTile& keys, size_t column) {
    ValuesOfVectors<kVectors>(t, keys, column);
  }
};

#endif  // FOVEA_SRC_ATTENTION_I8_PRODUCTS_HELIUM_INL_
